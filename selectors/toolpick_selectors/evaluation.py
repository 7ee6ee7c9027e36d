"""How well a selector finds the tools that labelled queries need. Pure figures: no files, no clock.

A query needs one tool of each of its *groups*: a group holds tools that would do equally well.
Recall counts groups found among the first k; a query is complete when none is missing. Gain is
discounted as in Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002).
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolpick_selectors.contract import AsyncSelector, Prepared, SelectionContext, Selector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolpick_selectors.contract import Selection, Tool

DEPTHS = (1, 3, 5, 8, 10)
DEEP = 50
"""How far a ranking is read; the reciprocal rank of what comes later is 0."""
CURVE = 20
"""How many tools the curve of recall against tokens reaches."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A query and what it needs: ids of tools, in groups of alternatives."""

    id: str
    query: str
    groups: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """The figures of one query.

    ``ranks`` has the rank of each group's first tool, None if missed; ``sizes`` the tokens of the
    tools ranked first; ``tokens`` those of what was ``selected``, which is ``whole`` when it has a
    tool of each group.
    """

    ranks: tuple[int | None, ...]
    gain: float
    selected: int
    whole: bool
    tokens: int
    sizes: tuple[int, ...]
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of one selector over a set of queries."""

    selector: str
    tools: int
    judged: tuple[Judged, ...] = field(repr=False)
    index_ms: float = 0.0
    degraded: str = ""

    def recall(self, depth: int) -> float:
        """The mean share of groups with a tool among the first ``depth``."""
        return _mean([_share(one.ranks, depth) for one in self.judged])

    def complete(self, depth: int) -> float:
        """The share of queries with all groups among the first ``depth``."""
        return _mean([float(_share(one.ranks, depth) == 1) for one in self.judged])

    def figures(self) -> dict[str, float | int | str]:
        """All figures by the names under which they are printed."""
        judged = self.judged
        times = sorted(one.milliseconds for one in judged)
        return {
            "selector": self.selector,
            "queries": len(judged),
            "tools": self.tools,
            **{f"recall@{depth}": self.recall(depth) for depth in DEPTHS},
            "completeness@8": self.complete(8),
            "completeness@selected": _mean([one.whole for one in judged]),
            "selected_mean": _mean([one.selected for one in judged]),
            "ndcg@8": _mean([one.gain for one in judged]),
            "mrr": _mean([_reciprocal(one.ranks) for one in judged]),
            "tokens_mean": _mean([one.tokens for one in judged]),
            "p50_ms": _percentile(times, 0.5),
            "p95_ms": _percentile(times, 0.95),
            "index_ms": self.index_ms,
        }

    def curve(self) -> list[tuple[float, float]]:
        """Mean tokens and recall of the first tool, the first two, and so on."""
        return [
            (_mean([sum(one.sizes[:depth]) for one in self.judged]), self.recall(depth))
            for depth in range(1, CURVE + 1)
        ]


async def evaluate(
    name: str,
    selector: Selector | AsyncSelector,
    tools: Sequence[Tool],
    queries: Sequence[Labelled],
    *,
    limit: int,
    tokens: Mapping[str, int],
    clock: Callable[[], float],
    ranker: Selector | AsyncSelector | None = None,
) -> Report:
    """Ask ``selector`` every query and judge what it picks.

    ``ranker`` is the same selector set to cut nothing, for the figures at a depth; without one the
    picks themselves are the ranking. ``tokens`` is the size of each tool's definition by id;
    ``clock`` gives seconds.
    """
    began = clock()
    _index(selector, tools)
    index_ms = (clock() - began) * 1e3
    _index(ranker, tools)
    judged = []
    degraded = ""
    for labelled in queries:
        context = SelectionContext(labelled.id, labelled.query, (), limit)
        asked = clock()
        selection = await _answer(selector, context, tools)
        took = (clock() - asked) * 1e3
        deep = SelectionContext(labelled.id, labelled.query, (), DEEP)
        order = await _answer(ranker, deep, tools) if ranker else selection
        judged.append(judge(labelled, selection, order, tokens, took))
        if selection.picks:
            degraded = degraded or selection.degraded
    return Report(name, len(tools), tuple(judged), index_ms, degraded)


def _index(selector: object, tools: Sequence[Tool]) -> None:
    if isinstance(selector, Prepared):
        selector.index(tools)


async def _answer(
    selector: Selector | AsyncSelector, context: SelectionContext, tools: Sequence[Tool]
) -> Selection:
    answer = selector.select(context, tools)
    return await answer if inspect.isawaitable(answer) else answer


def judge(
    labelled: Labelled,
    selection: Selection,
    order: Selection,
    tokens: Mapping[str, int],
    milliseconds: float,
) -> Judged:
    """The figures of one query, from what was picked and how all tools were ranked."""
    ranked = [pick.id for pick in order.picks]
    selected = {pick.id for pick in selection.picks}
    return Judged(
        ranks=tuple(_rank(ranked, group) for group in labelled.groups),
        gain=_gain(ranked, labelled.groups),
        selected=len(selection.picks),
        whole=not any(selected.isdisjoint(group) for group in labelled.groups),
        tokens=sum(tokens.get(pick.id, 0) for pick in selection.picks),
        sizes=tuple(tokens.get(id, 0) for id in ranked[:CURVE]),
        milliseconds=milliseconds,
    )


def _rank(ranked: Sequence[str], group: frozenset[str]) -> int | None:
    return next((rank for rank, id in enumerate(ranked[:DEEP], 1) if id in group), None)


def _gain(ranked: Sequence[str], groups: Sequence[frozenset[str]]) -> float:
    """Normalised discounted gain of the first eight; one tool counts for one group only."""
    ranks = sorted(rank for group in groups if (rank := _rank(ranked, group)) and rank <= 8)
    gain = sum(1 / math.log2(rank + 1) for rank in dict.fromkeys(ranks))
    return gain / sum(1 / math.log2(at + 2) for at in range(min(len(groups), 8)))


def _share(ranks: Sequence[int | None], depth: int) -> float:
    return sum(rank is not None and rank <= depth for rank in ranks) / len(ranks)


def _reciprocal(ranks: Sequence[int | None]) -> float:
    found = [rank for rank in ranks if rank is not None]
    return 1 / min(found) if found else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Between neighbours in proportion; of no values, 0."""
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
