"""What a selector is. Knows nothing of MCP, of the gateway or of its settings.

A selector ranks tools for a query. It is any object with a ``select`` method, sync or async::

    class Longest:
        def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
            best = sorted(tools, key=lambda tool: (-len(tool.description), tool.id))
            picks = tuple(Pick(tool.id, len(tool.description)) for tool in best[: context.limit])
            return Selection(picks, "by length")

Rules, held by ``toolpick_selectors.testing.check_selector``: every pick is the id of a tool that
was handed in, none twice, best first; at most ``context.limit`` picks; a sync selector gives the
same answer for the same input. A selector never answers from Tool objects of an earlier call: the
same id may come back with another text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """What a selector sees of a tool.

    ``id`` is unique in a catalog and opaque; ``name`` is the tool's own name at its server.
    ``server`` is empty when naming it carries no information.
    """

    id: str
    name: str
    server: str = ""
    title: str = ""
    description: str = ""
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectionContext:
    """What the turn is about.

    ``turn`` is an opaque id of the turn; ``query`` the prompt; ``conversation`` bounded excerpts of
    the prompts before it, oldest first; ``limit`` the most picks that may be returned (at least 1).
    ``conversation_id`` is opaque and the same for all turns of a conversation, "" where that is
    unknown; selectors that spend money or time keep their accounts by it. ``used`` are the ids of
    the tools called in the conversation, each once, the last one last; some may be gone.
    ``generous`` means that less likely picks are welcome, too, since they cost the host little.
    """

    turn: str
    query: str
    conversation: tuple[str, ...] = ()
    limit: int = 16
    conversation_id: str = ""
    used: tuple[str, ...] = ()
    generous: bool = False


@dataclass(frozen=True, slots=True)
class Pick:
    """One tool chosen: its id, a score, why, and what the score is made of.

    A higher score is better; scores compare within one selection only.
    """

    id: str
    score: float
    reason: str = ""
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Picks, best first, and one sentence that says how they came about.

    ``degraded`` is empty, or says why a lesser method had to do (a model that could not be loaded)
    or why nothing could be ranked. No picks and no ``degraded`` means: the selector holds that no
    tool is needed. ``topic``: whether the turn goes on with the "same" as the conversation or turns
    to something "new"; "" where the selector can't tell or there was nothing before.
    """

    picks: tuple[Pick, ...]
    reason: str
    degraded: str = ""
    topic: str = ""


class SelectionError(Exception):
    """A selector can't rank. The message is one sentence: what failed, and what to do."""


class TurnRefused(SelectionError):
    """The person who set the selector up wants the turn to fail rather than to go on without it."""


@runtime_checkable
class Selector(Protocol):
    """Ranks tools for a query, without I/O."""

    def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        """Pick at most ``context.limit`` of ``tools``, best first.

        Raises:
            SelectionError: the tools can't be ranked.
        """
        ...


@runtime_checkable
class AsyncSelector(Protocol):
    """Ranks tools for a query, with I/O; may be cancelled at any await."""

    def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Awaitable[Selection]:
        """As ``Selector.select``, awaited."""
        ...


@runtime_checkable
class Prepared(Protocol):
    """What a selector may offer besides ``select`` when work can be done ahead of a query.

    A host calls ``index`` whenever its tools change. ``select`` never waits for it: it answers with
    what there is and says so in ``degraded``.
    """

    def index(self, tools: Sequence[Tool]) -> float:
        """Get ready for queries over these tools. Blocks: call it in a worker thread.

        Returns 0 when ready, or the seconds after which to call again because something failed.
        """
        ...
