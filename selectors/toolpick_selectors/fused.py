"""Ranks by shared words and by vectors at once: the heart of ``hybrid`` and ``embedding``.

Both scores are brought to one scale by their best and added with fixed weights (a convex sum: Bruch
et al., "An Analysis of Fusion Functions for Hybrid Retrieval", 2023). Tools whose vectors are not
there yet compete by their words alone, and the selection says so. Tools that the query names
exactly come first in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
from anyio.to_thread import run_sync

from toolpick_selectors import adaptive, conversation
from toolpick_selectors.contract import Pick, Selection, SelectionError
from toolpick_selectors.kept import Kept
from toolpick_selectors.lexical import LexicalIndex, ranked, unranked
from toolpick_selectors.recent import Recent
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


LOOSE = 0.5
"""How much of the ratio less likely picks must reach, where these are welcome."""
FLOOR = 0.2
"""A best cosine below this says nothing when no word is shared either."""
MATCHING = 0.05
"""The share of the best score below which nothing matches: any two texts are a little alike."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """What one prompt says of each tool."""

    words: NDArray[np.float32]
    meaning: NDArray[np.float32]
    total: NDArray[np.float32]


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
        self._recent = Recent(vectors.embedder)

    def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        """Pick the tools that fit the query best, and what the conversation makes likely."""
        queries = self._queries(context)
        if not tools or not (any(queries) or context.used):
            return _nothing(tools)
        try:
            vectors = self._recent.of(queries[0], queries[1:])
        except SelectionError as error:
            return self._ranked(context, queries, tools, (), str(error))
        return self._ranked(context, queries, tools, vectors)

    def index(self, tools: Sequence[Tool]) -> float:
        """Embed ahead of a query what is new in ``tools``; see ``contract.Prepared``."""
        self._indexes.of(tools)
        return self._vectors.index(tools)

    def _queries(self, context: SelectionContext) -> list[str]:
        """The query and the prompts before it, the last first; "" for one without any word."""
        earlier = context.conversation[: -conversation.EARLIER - 1 : -1]
        return [self._query(text) for text in (context.query, *earlier)]

    def _query(self, text: str) -> str:
        """A prompt, with English words added to a foreign one; "" without any word."""
        if not squash(text):
            return ""
        return self._lexicon.expand(text) if self._lexicon else text

    def _ranked(
        self,
        context: SelectionContext,
        queries: Sequence[str],
        tools: Sequence[Tool],
        vectors: Sequence[NDArray[np.float32] | None],
        problem: str = "",
    ) -> Selection:
        index = self._indexes.of(tools)
        rows, there = self._vectors.of(tools)
        now, *earlier = (
            self._fit(index.scores(query), _cosines(rows, vector), there)
            for query, vector in zip_longest(queries, vectors)
        )
        named = index.named(context.query)
        degraded = self._degraded(there, problem)
        if context.conversation or context.used:
            before = [fit.total for fit in earlier]
            return self._carried_on(context, tools, now, before, named, degraded)
        if not now.total.any():
            return unranked("no tool fits the query")
        scores = now.total
        ratio = self._ratio * (LOOSE if context.generous else 1)
        order = self._best(scores, tools, named, ratio, context.limit)
        picks = tuple(self._pick(tools, at, float(scores[at]), now, named) for at in order)
        reason = f"{len(picks)} of {len(tools)} tools by shared words and meaning"
        return Selection(picks, reason, degraded)

    def _carried_on(
        self,
        context: SelectionContext,
        tools: Sequence[Tool],
        now: _Fit,
        before: Sequence[NDArray[np.float32]],
        named: Sequence[int],
        degraded: str,
    ) -> Selection:
        """Let what the prompt asks for and what the conversation makes likely take turns."""
        carried = conversation.carried(now.total, before, tools, context.used)
        if not carried.any():
            return unranked("no tool fits the query or the conversation")
        topic = conversation.topic(now.total, tools, context.used)
        most = min(context.limit, conversation.OWN)
        own = self._best(now.total, tools, named, self._ratio, most)
        likely = self._best(carried.copy(), tools, (), self._ratio * LOOSE, context.limit)
        order = conversation.in_turns(own, likely)[: context.limit]
        picks = tuple(
            self._pick(tools, at, 1 / place, now, named, ("conversation", float(carried[at])))
            for place, at in enumerate(order, 1)
        )
        what = "shared words, meaning and the conversation"
        return Selection(picks, f"{len(picks)} of {len(tools)} tools by {what}", degraded, topic)

    def _best(
        self,
        scores: NDArray[np.float32],
        tools: Sequence[Tool],
        named: Sequence[int],
        ratio: float,
        limit: int,
    ) -> list[int]:
        """The places of the best tools, as many as the scores are worth; lifts those ``named``."""
        order = ranked(scores, tools, named, limit)
        size = adaptive.size(
            scores[order], ratio=ratio, minimum=self._minimum, limit=limit, floor=MATCHING
        )
        return order[:size]

    @staticmethod
    def _pick(
        tools: Sequence[Tool],
        at: int,
        score: float,
        fit: _Fit,
        named: Sequence[int],
        *more: tuple[str, float],
    ) -> Pick:
        parts = (("words", float(fit.words[at])), ("meaning", float(fit.meaning[at])), *more)
        return Pick(tools[at].id, score, "named" if at in named else "", parts)

    def _fit(
        self, words: NDArray[np.float32], meaning: NDArray[np.float32], there: NDArray[np.bool_]
    ) -> _Fit:
        """Fuse the words' scores and the cosines of one prompt."""
        if meaning.max(initial=0) < FLOOR and not words.any():
            nothing = np.zeros(len(there), np.float32)
            return _Fit(nothing, nothing, nothing)
        words, meaning = _scaled(words), _scaled(meaning)
        if not meaning.any():
            return _Fit(words, meaning, words.copy())
        meaning[~there] = words[~there]
        share = self._words if words.any() else 0.0
        return _Fit(words, meaning, share * words + (1 - share) * meaning)

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
        queries = self._queries(context)
        if not tools or not (any(queries) or context.used):
            return _nothing(tools)
        try:
            vectors = await run_sync(
                self._recent.of, queries[0], queries[1:], abandon_on_cancel=True
            )
        except SelectionError as error:
            return self._ranked(context, queries, tools, (), str(error))
        return self._ranked(context, queries, tools, vectors)


def _cosines(rows: NDArray[np.float32], vector: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """The cosine of each tool; zeros where the query has no vector, or one of another model."""
    if vector is None or rows.shape[1] != len(vector):
        return np.zeros(len(rows), np.float32)
    return rows @ vector


def _scaled(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    best = scores.max(initial=0)
    return scores / best if best > 0 else np.zeros_like(scores)


def _nothing(tools: Sequence[Tool]) -> Selection:
    if not tools:
        return Selection((), "there are no tools to choose from")
    return unranked("the query has no words")
