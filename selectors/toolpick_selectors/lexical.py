"""The ``lexical`` selector: BM25 over the words of a tool. Knows no vectors.

A tool's words are its server's name, its own name (twice), title, description and parameter names.
An index is built once for a list of tools and kept for lists that are equal; picks always come from
the tools handed in. Whoever writes a tool's exact name gets that tool first, however it ranks.

BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), in
the form that Lucene uses, which has no (k1 + 1) factor and never a negative weight.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from toolpick_selectors import adaptive
from toolpick_selectors.contract import Pick, Selection
from toolpick_selectors.words import spaced, squash, terms, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from toolpick_selectors.contract import SelectionContext, Tool

K1, B = 1.2, 0.75
DESCRIPTION_CHARS = 4_000
PARAMETERS = 100
QUERY_CHARS = 8_000
RATIO = 0.3
KEPT = 4
"""Indexes kept at once: sessions with different tool lists take turns."""

_NAME = re.compile(r"[\w.:/-]+")


class LexicalIndex:
    """The words of a list of tools, ready to be scored."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Read every tool once; the tools are kept only to tell whether another list is equal."""
        self.tools = tuple(tools)
        self._places: dict[str, int] = {}
        self._named: dict[str, list[int]] = {}
        documents = [
            Counter(self._place(term) for term in terms(searchable(tool))) for tool in self.tools
        ]
        self._weigh(documents)
        for at, tool in enumerate(self.tools):
            for key in {squash(tool.name), squash(tool.server + tool.name), squash(tool.id)} - {""}:
                self._named.setdefault(key, []).append(at)

    def _place(self, term: str) -> int:
        return self._places.setdefault(term, len(self._places))

    def _weigh(self, documents: list[Counter[int]]) -> None:
        """Turn counts into the score that each word gives each tool, ordered by word."""
        lengths = np.array([document.total() for document in documents], np.float32)
        rows = np.repeat(
            np.arange(len(documents), dtype=np.int32), [len(document) for document in documents]
        )
        columns = np.array([place for document in documents for place in document], np.int32)
        counts = np.array(
            [count for document in documents for count in document.values()], np.float32
        )
        order = np.argsort(columns, kind="stable")
        columns, self._rows, counts = columns[order], rows[order], counts[order]
        found = (
            np.bincount(columns, minlength=len(self._places))
            if len(columns)
            else np.zeros(0, np.int64)
        )
        self._ends = np.concatenate([[0], np.cumsum(found)])
        rarity = np.log1p((len(documents) - found + 0.5) / (found + 0.5)).astype(np.float32)
        mean = max(float(lengths.mean()), 1.0) if len(documents) else 1.0
        damping = K1 * (1 - B + B * lengths / mean)
        self._weights = rarity[columns] * counts / (counts + damping[self._rows])

    def scores(self, query: str) -> NDArray[np.float32]:
        """One score a tool, 0 where no word is shared."""
        scores = np.zeros(len(self.tools), np.float32)
        for term, times in Counter(terms(clip(query))).items():
            place = self._places.get(term)
            if place is not None:
                held = slice(self._ends[place], self._ends[place + 1])
                scores[self._rows[held]] += times * self._weights[held]
        return scores

    def named(self, query: str) -> list[int]:
        """The places of tools whose exact name the query writes, in any style of identifier.

        A name of one plain word counts only when it is the whole query: "search for flights" does
        not ask for a tool called ``search``.
        """
        whole = self._named.get(squash(query[:200]), [])
        found = dict.fromkeys(whole)
        for match in _NAME.findall(clip(query)):
            if len(words(match)) > 1:
                found.update(dict.fromkeys(self._named.get(squash(match), [])))
        return list(found)


class Lexical:
    """Ranks by shared words."""

    def __init__(self, *, minimum: int = adaptive.MINIMUM, ratio: float = RATIO) -> None:
        """``ratio``: the share of the best score that a tool beyond the ``minimum`` must reach."""
        self._minimum, self._ratio = minimum, ratio
        self._kept: list[LexicalIndex] = []

    def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        """Pick the tools that share words with the query."""
        if not tools:
            return Selection((), "there are no tools to choose from")
        if not squash(context.query[:QUERY_CHARS]):
            return unranked("the query has no words")
        index = self.index(tools)
        scores = index.scores(context.query)
        named = index.named(context.query)
        order = ranked(scores, tools, named)
        chosen = order[
            : adaptive.size(
                scores[order], ratio=self._ratio, minimum=self._minimum, limit=context.limit
            )
        ]
        if not chosen:
            return unranked("no tool shares a word with the query")
        picks = tuple(
            Pick(tools[at].id, float(scores[at]), "named" if at in named else "words")
            for at in chosen
        )
        return Selection(picks, f"{len(picks)} of {len(tools)} tools by shared words")

    def index(self, tools: Sequence[Tool]) -> LexicalIndex:
        """The index of exactly these tools, built now if they are new."""
        wanted = tuple(tools)
        for at, index in enumerate(self._kept):
            if index.tools == wanted:
                if at:
                    self._kept = [index, *self._kept[:at], *self._kept[at + 1 :]]
                return index
        index = LexicalIndex(wanted)
        self._kept = [index, *self._kept[: KEPT - 1]]
        return index


def searchable(tool: Tool) -> str:
    """The text of a tool that is searched, bounded."""
    name = spaced(tool.name)
    parameters = " ".join(parameter.name for parameter in tool.parameters[:PARAMETERS])
    description = tool.description[:DESCRIPTION_CHARS]
    return "\n".join((tool.server, name, tool.name, tool.title, description, parameters))


def clip(query: str) -> str:
    """The beginning and the end of a very long prompt, where people say what they want."""
    if len(query) <= QUERY_CHARS:
        return query
    half = QUERY_CHARS // 2
    return f"{query[:half]}\n{query[-half:]}"


def ranked(scores: NDArray[np.float32], tools: Sequence[Tool], named: Sequence[int]) -> list[int]:
    """Places of the tools with a score, best first, equal scores by id.

    Tools that were ``named`` are lifted, in ``scores`` itself, just above the best of the others.
    """
    if named:
        best = max(float(scores.max()), 1e-6)
        for at in named:
            scores[at] = best * (1.01 + 0.01 * scores[at] / best)
    places = np.flatnonzero(scores > 0)
    return sorted(places.tolist(), key=lambda at: (-scores[at], tools[at].id))


def unranked(why: str) -> Selection:
    """No picks, because nothing could be ranked: the caller decides what to show instead."""
    return Selection((), why, degraded=why)
