"""Stand-ins for what a test can't have for real: selectors and servers that do as they are told."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from toolpick.config.settings import ServerSettings
from toolpick.downstream.state import State
from toolpick.errors import ServerError, ServerLost
from toolpick.model import Snapshot
from toolpick.wire.peer import Peer
from toolpick_selectors import registry
from toolpick_selectors.contract import Pick, Selection, SelectionContext, Tool

if TYPE_CHECKING:
    from toolpick.downstream.asking import Calls
    from toolpick.downstream.link import Owner

Ranking = Callable[[SelectionContext, Sequence[Tool]], Selection]


def picks(*ids: str, reason: str = "as told", degraded: str = "") -> Selection:
    """A selection of these tools, best first."""
    ranked = (Pick(id, float(len(ids) - at)) for at, id in enumerate(ids))
    return Selection(tuple(ranked), reason, degraded)


def naming(context: SelectionContext, tools: Sequence[Tool]) -> Selection:
    """Pick the tools whose own names are words of the query, in the order of the query."""
    by_name = {tool.name: tool.id for tool in tools}
    named = [by_name[word] for word in context.query.split() if word in by_name]
    return picks(*list(dict.fromkeys(named))[: context.limit])


class FakeSelector:
    """A selector that ranks as a function does, and remembers what it was asked."""

    def __init__(self, rank: Ranking = naming) -> None:
        self.rank = rank
        self.asked: list[SelectionContext] = []
        self.indexed: list[tuple[str, ...]] = []
        self.built: list[tuple[str, Mapping[str, Any]]] = []

    def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        self.asked.append(context)
        return self.rank(context, tools)

    @property
    def queries(self) -> list[str]:
        """The queries that were ranked for."""
        return [context.query for context in self.asked]


class Indexing(FakeSelector):
    """One that wants to see tools ahead of queries; ``again`` are the waits that it asks for."""

    def __init__(self, *again: float, error: Exception | None = None) -> None:
        super().__init__()
        self._again = [*again, 0.0]
        self._error = error
        self.threads: set[int] = set()

    def index(self, tools: Sequence[Tool]) -> float:
        self.threads.add(threading.get_ident())
        self.indexed.append(tuple(tool.id for tool in tools))
        if self._error is not None:
            raise self._error
        return self._again.pop(0)


class Awaited(FakeSelector):
    """One that ranks in a coroutine, once ``wait`` lets it."""

    def __init__(self, wait: Callable[[], Any], rank: Ranking = naming) -> None:
        super().__init__(rank)
        self._wait = wait

    async def select(  # type: ignore[override]
        self, context: SelectionContext, tools: Sequence[Tool]
    ) -> Selection:
        self.asked.append(context)
        await self._wait()
        return self.rank(context, tools)


def install(monkeypatch: pytest.MonkeyPatch, selector: Any, kind: str = "fake") -> None:
    """Let settings that name this kind of selector find this one."""
    build, options = registry.build, registry.options

    def built(wanted: str, given: Mapping[str, Any] | None = None, parts: Any = None) -> Any:
        if wanted != kind:
            return build(wanted, given, parts)
        if isinstance(selector, Exception):
            raise selector
        selector.built.append((wanted, dict(given or {})))
        return selector

    monkeypatch.setattr(registry, "build", built)
    monkeypatch.setattr(
        registry, "options", lambda wanted: ("minimum",) if wanted == kind else options(wanted)
    )


class FakeLink:
    """A server without a process: a test says what it lists, and calls of it fail."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.name = settings.name
        self.owners: list[Owner] = []
        self.calls: Calls = {}
        self.state = State.WAITING
        self.snapshot: Snapshot | None = None
        self.peer = self.greeted = None
        self.problem = "it is a fake"
        self.starts, self.started_in, self.list_age = 1, 0.0, 0.0
        self.tried, self.coming = True, False

    def lists(self, *names: str) -> None:
        """Come up with these tools, or change to them."""
        definition = {"inputSchema": {"type": "object"}}
        tools = [msgspec.json.encode({"name": name, **definition}) for name in names]
        self.state = State.UP
        self._now(Snapshot(tools=tuple(tools)))

    def vanishes(self) -> None:
        """Go down for so long that its tools are gone."""
        self.state = State.WAITING
        self._now(None)

    def _now(self, snapshot: Snapshot | None) -> None:
        self.snapshot = snapshot
        for owner in list(self.owners):
            owner.link_changed(self)  # type: ignore[arg-type]

    def adopt(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def look_again(self) -> None:
        return

    async def usable(self, seconds: float) -> Peer:
        raise self.unavailable()

    def unavailable(self) -> ServerError:
        return ServerLost(self.name, "is a fake")

    async def settled(self) -> None:
        return

    async def stop(self) -> None:
        return
