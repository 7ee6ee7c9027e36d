"""The ``lexical`` selector: BM25 over the words of a tool. Knows no vectors.

A tool's words are its server's name, its own name, title, description and parameters. An index is
built once for a list of tools and kept for lists that are equal. Whoever writes a tool's exact name
gets that tool first, however it ranks.

BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), in
the form that Lucene uses, which has no (k1 + 1) factor and never a negative weight.
"""

from __future__ import annotations

import re
from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np

from toolpick_selectors import adaptive
from toolpick_selectors.contract import Pick, Selection
from toolpick_selectors.kept import Kept
from toolpick_selectors.literals import kinds_of_files
from toolpick_selectors.words import clip, squash, terms, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from toolpick_selectors.contract import SelectionContext, Tool

K1, B = 1.2, 0.75
DESCRIPTION_CHARS = 4_000
PARAMETERS = 100
PARAMETER_CHARS = 300
NAME, PARAMETER_TEXT = 2.0, 0.25
"""How much a word counts in a name and in a parameter's description; elsewhere it counts once."""
RATIO = 0.35

TYPO_CHARS, TYPO_LONGEST, TYPOS, TYPO_WEIGHT = 5, 30, 4, 0.5
"""Unknown words of so many letters, so many a query, are looked for with one letter changed.

There are 54 for each letter of a word: a key or an encoded file in a prompt must not be tried.
"""

_IDENTIFIER = re.compile(r"[\w.:/-]+")


class LexicalIndex:
    """The words of a list of tools, ready to be scored."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Read every tool once; none is kept."""
        self._places: dict[str, int] = {}
        self._named: dict[str, list[int]] = {}
        self._weigh([self._counted(tool) for tool in tools])
        for at, tool in enumerate(tools):
            for key in {squash(tool.name), squash(tool.server + tool.name), squash(tool.id)} - {""}:
                self._named.setdefault(key, []).append(at)

    def _counted(self, tool: Tool) -> dict[int, float]:
        """How much of each word, by its place, the tool has."""
        counts: dict[int, float] = {}
        places = self._places
        for text, weight in fields(tool):
            for term in terms(text):
                place = places.setdefault(term, len(places))
                counts[place] = counts.get(place, 0.0) + weight
        return counts

    def _weigh(self, documents: list[dict[int, float]]) -> None:
        """Turn counts into the score that each word gives each tool, ordered by word."""
        sizes = [len(document) for document in documents]
        rows = np.repeat(np.arange(len(documents), dtype=np.int32), sizes)
        columns = np.array([place for document in documents for place in document], np.int32)
        counts = np.array([n for document in documents for n in document.values()], np.float32)
        lengths = np.bincount(rows, counts, len(documents)).astype(np.float32)
        order = np.argsort(columns, kind="stable")
        columns, self._rows, counts = columns[order], rows[order], counts[order]
        found = np.bincount(columns, minlength=len(self._places))
        self._ends = np.concatenate([[0], np.cumsum(found)])
        rarity = np.log1p((len(documents) - found + 0.5) / (found + 0.5)).astype(np.float32)
        mean = max(float(lengths.mean()), 1.0) if documents else 1.0
        damping = K1 * (1 - B + B * lengths / mean)
        self._weights = rarity[columns] * counts / (counts + damping[self._rows])
        self._count = len(documents)

    def scores(self, query: str) -> NDArray[np.float32]:
        """One score a tool, 0 where no word is shared."""
        scores = np.zeros(self._count, np.float32)
        for place, weight in self._sought(query):
            held = slice(self._ends[place], self._ends[place + 1])
            scores[self._rows[held]] += weight * self._weights[held]
        return scores

    def _sought(self, query: str) -> list[tuple[int, float]]:
        """The places of the query's words, each once, and how much each counts."""
        found: list[tuple[int, float]] = []
        tried = 0
        query = clip(query)
        for term in dict.fromkeys(terms(query)):
            place = self._places.get(term)
            if place is not None:
                found.append((place, 1.0))
            elif tried < TYPOS and _may_be_misspelt(term):
                tried += 1
                near = [self._places[word] for word in misspelt(term) if word in self._places]
                found += [(place, TYPO_WEIGHT / len(near)) for place in near]
        for term in terms(kinds_of_files(query)):
            if term in self._places:
                found.append((self._places[term], 1.0))
        return found

    def named(self, query: str) -> list[int]:
        """The places of tools whose exact name the query writes, in any style of identifier.

        A name of one plain word counts only when it is the whole query: "search for flights" does
        not ask for a tool called ``search``.
        """
        whole = self._named.get(squash(query[:200]), [])
        found = dict.fromkeys(whole)
        for match in _IDENTIFIER.findall(clip(query)):
            if len(words(match)) > 1:
                found.update(dict.fromkeys(self._named.get(squash(match), [])))
        return list(found)


class Lexical:
    """Ranks by shared words."""

    def __init__(self, *, minimum: int = adaptive.MINIMUM, ratio: float = RATIO) -> None:
        """``ratio``: the share of the best score that a tool beyond the ``minimum`` must reach."""
        self._minimum, self._ratio = minimum, ratio
        self._indexes = Kept(LexicalIndex)

    def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        """Pick the tools that share words with the query."""
        if not tools:
            return Selection((), "there are no tools to choose from")
        if not squash(context.query):
            return unranked("the query has no words")
        index = self._indexes.of(tools)
        scores = index.scores(context.query)
        named = index.named(context.query)
        order = ranked(scores, tools, named, context.limit)
        size = adaptive.size(
            scores[order], ratio=self._ratio, minimum=self._minimum, limit=context.limit
        )
        if not size:
            return unranked("no tool shares a word with the query")
        picks = tuple(
            Pick(tools[at].id, float(scores[at]), "named" if at in named else "")
            for at in order[:size]
        )
        return Selection(picks, f"{len(picks)} of {len(tools)} tools by shared words")

    def index(self, tools: Sequence[Tool]) -> float:
        """Read the tools ahead of a query; see ``contract.Prepared``."""
        self._indexes.of(tools)
        return 0.0


def fields(tool: Tool) -> list[tuple[str, float]]:
    """The texts of a tool that are searched, bounded, and how much a word in each counts."""
    parameters = tool.parameters[:PARAMETERS]
    return [
        (tool.server, 1.0),
        (tool.name, NAME),
        (tool.title, 1.0),
        (tool.description[:DESCRIPTION_CHARS], 1.0),
        (" ".join(parameter.name for parameter in parameters), 1.0),
        *((parameter.description[:PARAMETER_CHARS], PARAMETER_TEXT) for parameter in parameters),
    ]


def _may_be_misspelt(term: str) -> bool:
    return TYPO_CHARS <= len(term) <= TYPO_LONGEST and term.isascii() and term.isalpha()


def misspelt(word: str) -> list[str]:
    """Words that begin like ``word`` and differ in one letter, or in two that swapped places."""
    found: dict[str, None] = {}
    for at in range(1, len(word) + 1):
        head, tail = word[:at], word[at:]
        found[head + tail[1:]] = None
        found[head + tail[1:2] + tail[:1] + tail[2:]] = None
        for letter in ascii_lowercase:
            found[head + letter + tail] = None
            found[head + letter + tail[1:]] = None
    return list(found)


def ranked(
    scores: NDArray[np.float32], tools: Sequence[Tool], named: Sequence[int], limit: int
) -> list[int]:
    """Places of the ``limit`` best tools with a score, best first, equal scores by id.

    Tools that were ``named`` are lifted, in ``scores`` itself, just above the best of the others.
    """
    if named:
        best = max(float(scores.max()), 1e-6)
        for at in named:
            scores[at] = best * (1.01 + 0.01 * scores[at] / best)
    bar = 0.0
    if limit < len(scores):
        bar = float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
    places = np.flatnonzero((scores > 0) & (scores >= bar)).tolist()
    return sorted(places, key=lambda at: (-scores[at], tools[at].id))[:limit]


def unranked(why: str) -> Selection:
    """No picks, because nothing could be ranked: the caller decides what to show instead."""
    return Selection((), why, degraded=why)
