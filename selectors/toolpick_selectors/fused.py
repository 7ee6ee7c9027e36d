"""Ranks by shared words and by vectors at once: the heart of ``hybrid`` and ``embedding``.

Both scores are brought to one scale by their best and added with fixed weights (a convex sum: Bruch
et al., "An Analysis of Fusion Functions for Hybrid Retrieval", 2023). Tools whose vectors are not
there yet compete by their words alone, and the selection says so. Tools that the query names
exactly come first in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from anyio.to_thread import run_sync

from toolpick_selectors import adaptive
from toolpick_selectors.contract import Pick, Selection, SelectionError
from toolpick_selectors.kept import Kept
from toolpick_selectors.lexical import LexicalIndex, ranked, unranked
from toolpick_selectors.words import squash

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from numpy.typing import NDArray

    from toolpick_selectors.contract import SelectionContext, Tool
    from toolpick_selectors.vectors import Vectors

    class Expander(Protocol):
        """Adds words to a prompt."""

        def expand(self, text: str) -> str: ...


FLOOR = 0.2
"""A best cosine below this says nothing when no word is shared either."""


class Fused:
    """Words and vectors, where a query's vector costs next to nothing."""

    def __init__(
        self,
        vectors: Vectors,
        *,
        words: float,
        ratio: float,
        minimum: int = adaptive.MINIMUM,
        lexicon: Expander | None = None,
    ) -> None:
        """``words``: the weight of shared words, from 0 to 1; the vectors' is the rest."""
        if not 0 <= words < 1:
            raise ValueError(f"the weight of words, {words}, is not between 0 and 1")
        self._vectors = vectors
        self._words, self._ratio, self._minimum = words, ratio, minimum
        self._lexicon = lexicon
        self._indexes = Kept(LexicalIndex)

    def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        """Pick the tools that fit the query best."""
        query = self._query(context)
        if not tools or not query:
            return _nothing(tools)
        try:
            vector = self._vectors.embedder.embed_queries([query])[0]
        except SelectionError as error:
            return self._ranked(context, query, tools, None, str(error))
        return self._ranked(context, query, tools, vector)

    def index(self, tools: Sequence[Tool]) -> float:
        """Embed ahead of a query what is new in ``tools``; see ``contract.Prepared``."""
        self._indexes.of(tools)
        return self._vectors.index(tools)

    def _query(self, context: SelectionContext) -> str:
        """The query, with English words added to a foreign one; "" without any word."""
        if not squash(context.query):
            return ""
        return self._lexicon.expand(context.query) if self._lexicon else context.query

    def _ranked(
        self,
        context: SelectionContext,
        query: str,
        tools: Sequence[Tool],
        vector: NDArray[np.float32] | None,
        problem: str = "",
    ) -> Selection:
        index = self._indexes.of(tools)
        words = _scaled(index.scores(query))
        meaning, there = self._meaning(tools, vector)
        if meaning.max(initial=0) < FLOOR and not words.any():
            return unranked("no tool fits the query")
        fits = _scaled(meaning)
        if fits.any():
            fits[~there] = words[~there]
            share = self._words if words.any() else 0.0
            scores = share * words + (1 - share) * fits
        else:
            scores = words.copy()
        named = index.named(context.query)
        order = ranked(scores, tools, named, context.limit)
        size = adaptive.size(
            scores[order], ratio=self._ratio, minimum=self._minimum, limit=context.limit
        )
        picks = tuple(
            Pick(
                tools[at].id,
                float(scores[at]),
                "named" if at in named else "",
                (("words", float(words[at])), ("meaning", float(fits[at]))),
            )
            for at in order[:size]
        )
        reason = f"{len(picks)} of {len(tools)} tools by shared words and meaning"
        return Selection(picks, reason, self._degraded(there, problem))

    def _meaning(
        self, tools: Sequence[Tool], vector: NDArray[np.float32] | None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The cosine of each tool, and whether it is known."""
        rows, there = self._vectors.of(tools)
        if vector is None or rows.shape[1] != len(vector):
            return np.zeros(len(tools), np.float32), np.zeros(len(tools), np.bool_)
        return rows @ vector, there

    def _degraded(self, there: NDArray[np.bool_], problem: str) -> str:
        missing = int(len(there) - there.sum())
        why = problem or (self._vectors.problem if missing else "")
        if why:
            return f"{why}; ranked by shared words"
        if missing:
            return f"{missing} of {len(there)} tools have no vector yet: ranked by shared words"
        return ""


class AsyncFused(Fused):
    """The same, where a query's vector takes I/O or a while."""

    async def select(  # type: ignore[override]
        self, context: SelectionContext, tools: Sequence[Tool]
    ) -> Selection:
        """Pick the tools that fit the query best; waits for the query's vector only."""
        query = self._query(context)
        if not tools or not query:
            return _nothing(tools)
        problem, vector = "", None
        try:
            embed = self._vectors.embedder.embed_queries
            vector = (await run_sync(embed, [query], abandon_on_cancel=True))[0]
        except SelectionError as error:
            problem = str(error)
        return self._ranked(context, query, tools, vector, problem)


def _scaled(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    best = scores.max(initial=0)
    return scores / best if best > 0 else np.zeros_like(scores)


def _nothing(tools: Sequence[Tool]) -> Selection:
    if not tools:
        return Selection((), "there are no tools to choose from")
    return unranked("the query has no words")
