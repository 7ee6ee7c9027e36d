"""Words that people say for the words that tools use. Knows no tools.

Pairs work in both directions and only on the side of the query. A phrase counts where it stands as
whole words: "look up" is a search, "look upon" is not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolpick_selectors.words import STOP, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHORTEST = 3

_GROUPS = """
check verify search; open read; show read; view read; see read; display show; print show
fix edit; change edit; modify edit; update edit; adjust edit; rename edit move; replace edit
find search; seek search; query search; discover search; browse search list; explore search
remove delete; erase delete; drop delete; clear delete; wipe delete; trash delete
make create; build create; generate create; new create; add create; insert add; append add
fetch read; load read; retrieve read; obtain read; inspect read; examine read; download fetch
save write; store write; record write; put write; dump write export
send deliver; mail email; message send; notify alert; tell send; forward send; share send
run execute; launch start; begin start; invoke execute; call execute; trigger execute start
stop cancel; halt stop; abort cancel; kill stop; terminate stop; close stop; disable stop
copy duplicate; clone copy; backup copy; transfer move; relocate move; upload send
folder directory; picture image; photo image; pic image; drawing image; screenshot image capture
document file; doc document; spreadsheet sheet excel; slide presentation; pdf document
meeting event; appointment event; calendar event; schedule calendar; remind reminder; todo task
ticket issue; bug issue; task issue; repository repo; commit change; branch repository
money payment; pay payment; invoice bill; price cost; buy purchase; order purchase; shop store
weather forecast; temperature weather; rain weather; translate language; convert transform
site website; page website; url link; internet web; address location; place location; map location
route directions; trip travel; flight travel; hotel travel; time clock; date calendar
person contact; people contact user; member user; account user; customer client
chart graph; plot graph; diagram graph; table database; sum calculate; compute calculate
count number; summary summarize; explain describe; compare diff; difference diff; sort order
merge combine; install setup; configure setup; login authenticate; password secret; error log
video movie; song music; track music; audio sound; speak speech; word text; note text
"""

_PHRASES = {
    "look up": "search",
    "look for": "search",
    "find out": "search",
    "search for": "search",
    "look at": "read",
    "go through": "read",
    "pull up": "read",
    "open up": "read",
    "bring up": "read",
    "write down": "write",
    "fill in": "write",
    "jot down": "note",
    "set up": "create",
    "put together": "create",
    "come up with": "create",
    "get rid of": "delete",
    "throw away": "delete",
    "take out": "delete",
    "clean up": "delete",
    "kick off": "start",
    "turn on": "start",
    "switch on": "start",
    "turn off": "stop",
    "switch off": "stop",
    "shut down": "stop",
    "log in": "login",
    "sign in": "login",
    "sign up": "register",
    "reach out": "send",
    "get back to": "reply",
    "work out": "calculate",
    "add up": "calculate",
    "how much": "price",
    "how many": "count",
    "what time": "time",
    "make sure": "check",
    "roll back": "revert",
}


class Synonyms:
    """Pairs of words, and phrases that stand for a word."""

    def __init__(self, pairs: Iterable[Sequence[str]] = (), *, curated: bool = True) -> None:
        """``pairs`` come in addition to the ``curated`` ones.

        Raises:
            ValueError: a side is not one word that could ever match.
        """
        self._pairs: dict[str, dict[str, None]] = {}
        for pair in [*(_curated() if curated else ()), *map(_checked, pairs)]:
            for here, there in (pair, pair[::-1]):
                self._pairs.setdefault(here, {})[there] = None
        phrases = _PHRASES if curated else {}
        self._phrases = {re.compile(rf"\b{phrase}\b"): word for phrase, word in phrases.items()}

    def of(self, word: str) -> tuple[str, ...]:
        """What else ``word``, in lower case, may be called."""
        return tuple(self._pairs.get(word, ()))

    def phrases(self, text: str) -> list[str]:
        """The words that the phrases in ``text`` stand for."""
        plain = " ".join(text.casefold().split())
        return [word for phrase, word in self._phrases.items() if phrase.search(plain)]


def _curated() -> list[tuple[str, str]]:
    groups = [group.split() for line in _GROUPS.strip().splitlines() for group in line.split(";")]
    return [(first, other) for first, *others in groups for other in others]


def _checked(pair: Sequence[str]) -> tuple[str, str]:
    if isinstance(pair, str) or len(pair) != 2:
        raise ValueError(f"synonyms: {pair!r} is not a pair of words")
    return _one_word(pair[0]), _one_word(pair[1])


def _one_word(side: object) -> str:
    found = words(side) if isinstance(side, str) else []
    if len(found) != 1:
        raise ValueError(f"synonyms: {side!r} is not one word; give each side as a single word")
    word = found[0]
    if word in STOP:
        raise ValueError(f"synonyms: {side!r} is left out of every query, so it can never match")
    if len(word) < SHORTEST and word.isascii():
        raise ValueError(f"synonyms: {side!r} has fewer than {SHORTEST} letters and never matches")
    return word
