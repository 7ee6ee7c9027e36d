"""Asks the model of whoever is connected, through a function that the host lends.

Knows nothing of MCP: the host's function takes the question, finds the client that the conversation
belongs to, and returns the text of the answer or an ``Answer``.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeAlias

from toolpick_selectors.providers import Answer, ProviderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolpick_selectors.providers import Question

log = logging.getLogger(__name__)

Sample: TypeAlias = "Callable[[Question], Awaitable[Answer | str]]"


class SamplingProvider:
    """``sample`` is the host's function; it should raise ``ProviderError`` where it can't."""

    def __init__(self, sample: Sample) -> None:
        """Keep the function."""
        self.name = "the client's own model"
        self._sample = sample

    async def ask(self, question: Question) -> Answer:
        """Hand the question on; see ``Provider.ask``."""
        try:
            reply = await self._sample(question)
        except ProviderError:
            raise
        except Exception as error:
            # The host's code: whatever it raises, the turn goes on.
            log.warning("sampling failed: %s", type(error).__name__, exc_info=error)
            raise ProviderError(f"{self.name} can't be asked: {type(error).__name__}") from None
        return reply if isinstance(reply, Answer) else Answer(reply)

    async def aclose(self) -> None:
        """Keeps nothing open."""
