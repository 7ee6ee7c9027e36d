"""The ``keyword`` selector: counts the words that query and tool share. Nothing is weighed.

Words are in lower case and of three or more letters, without stop words; synonyms widen the query,
never the tools. A query that shares no word with any tool picks nothing and says so, and whoever
asked goes on with all tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick_selectors.contract import Pick, Selection
from toolpick_selectors.kept import Kept
from toolpick_selectors.lexical import fields, unranked
from toolpick_selectors.patterns import is_named
from toolpick_selectors.synonyms import SHORTEST, Synonyms
from toolpick_selectors.words import clip, squash, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolpick_selectors.contract import SelectionContext, Tool

SYNONYM, IN_NAME = 0.75, 0.5
"""What a word counts that only a synonym found, and what is added when it is in the tool's name."""


class Keyword:
    """Ranks by how many words are shared."""

    def __init__(
        self,
        *,
        synonyms: Sequence[Sequence[str]] = (),
        curated: bool = True,
        core: Sequence[str] = (),
    ) -> None:
        """Set up.

        ``synonyms`` are pairs of words, in addition to the ``curated`` ones; ``core`` names tools,
        as ``patterns`` has them, that join every selection that is not empty.

        Raises:
            ValueError: a pair that could never match.
        """
        self._synonyms = Synonyms(synonyms, curated=curated)
        self._core = tuple(core)
        self._words = Kept(_read)

    def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        """Pick the tools that share most words with the query, and the core tools."""
        if not tools:
            return Selection((), "there are no tools to choose from")
        query = clip(context.query)
        asked = self._asked(query)
        whole = squash(query)
        scores = {
            tool.id: 100.0 if whole and squash(tool.name) == whole else self._score(asked, *known)
            for tool, known in zip(tools, self._words.of(tools), strict=True)
        }
        best = sorted((id for id in scores if scores[id] > 0), key=lambda id: (-scores[id], id))
        if not best:
            return unranked("no tool shares a word with the query")
        core = [tool.id for tool in tools if self._is_core(tool)][: context.limit]
        others = [id for id in best if id not in core][: context.limit - len(core)]
        picks = [Pick(id, scores[id], "words") for id in others]
        picks += [Pick(id, scores[id], "core") for id in core]
        picks.sort(key=lambda pick: (-pick.score, pick.id))
        return Selection(tuple(picks), f"{len(picks)} of {len(tools)} tools by shared words")

    def _asked(self, query: str) -> dict[str, tuple[str, ...]]:
        """The words of the query, each with what else it may be called."""
        asked = {word: self._synonyms.of(word) for word in tokens(query) if _counts(word)}
        for word in self._synonyms.phrases(query):
            asked.setdefault(word, self._synonyms.of(word))
        return asked

    @staticmethod
    def _score(
        asked: dict[str, tuple[str, ...]], said: frozenset[str], named: frozenset[str]
    ) -> float:
        score = 0.0
        for word, others in asked.items():
            if word in said:
                score += 1 + (IN_NAME if word in named else 0)
            elif not said.isdisjoint(others):
                score += SYNONYM + (0 if named.isdisjoint(others) else IN_NAME)
        return score

    def _is_core(self, tool: Tool) -> bool:
        return any(is_named(tool, name) for name in self._core)


def _read(tools: tuple[Tool, ...]) -> list[tuple[frozenset[str], frozenset[str]]]:
    """For each tool all its words, and those of its name."""
    return [
        (
            frozenset(word for text, _ in fields(tool) for word in tokens(text) if _counts(word)),
            frozenset(word for word in tokens(tool.name) if _counts(word)),
        )
        for tool in tools
    ]


def _counts(word: str) -> bool:
    return len(word) >= SHORTEST or not word.isascii()
