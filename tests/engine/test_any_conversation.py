"""Whatever happens in a conversation, these hold for every list (hypothesis, 1,000 turns).

Servers come, change and go; selectors work, fail, and answer nonsense; clients list, search and
call. Servers are fakes, so that a turn takes a millisecond; everything else is the engine.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.engine.puppets import META, MODERN
from tests.fakes import FakeLink, FakeSelector, install, naming, picks

from toolpick.config.settings import GatewaySettings, SelectorSettings, ServerSettings, Settings
from toolpick.engine.engine import Engine
from toolpick.engine.session import Session
from toolpick.model import META_TOOLS, Era
from toolpick.wire import envelope as env
from toolpick_selectors.contract import Selection, SelectionContext, SelectionError, Tool

SERVERS = ("alpha", "beta", "gamma")
NAMES = ("read", "write", "send", "find", "plan", "secret_one", "secret_two")
ALWAYS = ("alpha__read", "gamma__plan")
WORDS = st.lists(st.sampled_from([*NAMES, "nothing"]), min_size=1, max_size=3).map(" ".join)
TOOLS = st.lists(st.sampled_from(NAMES), max_size=len(NAMES), unique=True)


def wrong(context: SelectionContext, tools: Sequence[Tool]) -> Selection:
    """Break the contract: strangers, doubles, denied tools, and one good pick, if there is any."""
    return picks("stranger", *(tool.id for tool in tools[:1]), "alpha__secret_one", "stranger")


def failing(context: SelectionContext, tools: Sequence[Tool]) -> Selection:
    raise SelectionError("the model is away")


def crashing(context: SelectionContext, tools: Sequence[Tool]) -> Selection:
    raise ZeroDivisionError


def answering_nothing(context: SelectionContext, tools: Sequence[Tool]) -> Any:
    return None


WAYS: dict[str, Any] = {
    "naming": naming,
    "wrong": wrong,
    "failing": failing,
    "crashing": crashing,
    "answering nothing": answering_nothing,
}
FAILURES = ("failing", "crashing", "answering nothing")


class Client:
    """One session, and what it was shown last."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.answers: list[dict[str, Any]] = []
        self.shown: list[str] = []
        self.turn = ""
        self.count = 0
        self._news = anyio.Event()

    def send(self, frame: bytes, *, final: bool) -> None:
        if final:
            self.answers.append(json.loads(frame))
            self._news.set()

    async def ask(
        self, engine: Engine, method: str, params: dict[str, Any], query: str = ""
    ) -> dict[str, Any]:
        meta = {"io.toolpick/query": query} if query else {}
        if self.session.era is Era.MODERN:
            meta |= {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
        self.count += 1
        frame = {"id": self.count, "method": method, "params": {**params, "_meta": meta}}
        engine.handle(self.session, env.decode(json.dumps(frame).encode()), self)
        with anyio.fail_after(5):
            while len(self.answers) < self.count:
                self._news = anyio.Event()
                await self._news.wait()
        return self.answers[-1]

    async def list(self, engine: Engine, query: str = "") -> list[str]:
        answer = await self.ask(engine, "tools/list", {}, query)
        return [tool["name"] for tool in answer["result"]["tools"]]


class AnyConversation(RuleBasedStateMachine):
    """Two legacy clients and a modern one before three servers that come and go."""

    max_tools: ClassVar[int] = 200
    turns: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self._patch = self._stack.enter_context(pytest.MonkeyPatch.context())
        self._portal = self._stack.enter_context(start_blocking_portal())

    @initialize()
    def open(self) -> None:
        self.selector = FakeSelector()
        install(self._patch, self.selector)
        self.links = {
            name: FakeLink(ServerSettings(name, deny=("secret*",), scope="shared"))
            for name in SERVERS
        }
        self._patch.setattr(Engine, "_new_link", lambda _, server, *__: self.links[server.name])
        made = Settings(
            "",
            GatewaySettings(surface="turn", max_tools=self.max_tools),
            SelectorSettings(kind="fake", always=ALWAYS),
            tuple(link.settings for link in self.links.values()),
        )
        self.engine = self._portal.call(Engine, made, {})
        self._stack.enter_context(self._portal.wrap_async_context_manager(self.engine))
        self.clients = [
            self._portal.call(self._client, era) for era in ("legacy",) * 2 + ("modern",)
        ]

    async def _client(self, era: str) -> Client:
        out: list[Client] = []
        session = self.engine.open_session(era=Era(era), out=_Out(lambda: out[0]))
        out.append(Client(session))
        return out[0]

    def teardown(self) -> None:
        self._stack.close()

    # -- what happens

    @rule(server=st.sampled_from(SERVERS), tools=TOOLS)
    def a_server_lists(self, server: str, tools: list[str]) -> None:
        self._portal.call(self.links[server].lists, *tools)
        self._forget()

    @rule(server=st.sampled_from(SERVERS))
    def a_server_vanishes(self, server: str) -> None:
        self._portal.call(self.links[server].vanishes)
        self._forget()

    @rule(who=st.integers(0, 1), query=WORDS)
    def a_client_searches(self, who: int, query: str) -> None:
        client = self.clients[who]
        self.selector.rank = naming
        arguments = {"name": "search_tools", "arguments": {"query": query}}
        answer = self._portal.call(client.ask, self.engine, "tools/call", arguments)

        assert "secret" not in json.dumps(answer["result"]).replace(json.dumps(query)[1:-1], "")
        self._holds(client, self._list(client), same_turn=True)

    @precondition(lambda self: self.allowed)
    @rule(data=st.data(), who=st.integers(0, 2))
    def a_client_calls(self, data: st.DataObject, who: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.allowed)))
        answer = self._portal.call(
            self.clients[who].ask, self.engine, "tools/call", {"name": name, "arguments": {}}
        )

        assert answer["error"]["code"] == -32000

    @rule(who=st.integers(0, 2), server=st.sampled_from(SERVERS))
    def a_denied_tool_is_never_called(self, who: int, server: str) -> None:
        params = {"name": f"{server}__secret_one", "arguments": {}}
        answer = self._portal.call(self.clients[who].ask, self.engine, "tools/call", params)

        assert "error" in answer

    @rule(who=st.integers(0, 1), query=WORDS, way=st.sampled_from(list(WAYS)))
    def a_legacy_turn(self, who: int, query: str, way: str) -> None:
        client = self.clients[who]
        before = list(client.shown)
        new = query != client.turn
        asked = self._asks(way)

        names = self._list(client, query)

        client.turn = query
        type(self).turns += 1
        assert len(self.selector.asked) - asked <= new
        self._holds(client, names, same_turn=not new)
        if new and way in FAILURES:
            self._failed_open(names, before)
        elif new and self.allowed:
            assert len(names) <= max(self.max_tools, 2 + len(ALWAYS))
        again = self._list(client)
        assert again == names
        assert len(self.selector.asked) - asked <= new

    @rule(query=WORDS, way=st.sampled_from(list(WAYS)))
    def a_modern_turn(self, query: str, way: str) -> None:
        client = self.clients[2]
        others = [list(one.shown) for one in self.clients[:2]]
        asked = self._asks(way)

        names = self._list(client, query)

        type(self).turns += 1
        assert set(names) <= {*META_TOOLS, *self.allowed}
        if way == "failing" and len(self.selector.asked) > asked:
            self._failed_open(names, [])
        assert self._list(client, query) == names
        assert len(self.selector.asked) - asked <= 1
        assert [one.shown for one in self.clients[:2]] == others

    # -- what always holds

    def _forget(self) -> None:
        """What left the catalog left every list, even if it should come back."""
        for client in self.clients:
            client.shown = [name for name in client.shown if name in self.allowed]

    def _asks(self, way: str) -> int:
        self.selector.rank = WAYS[way]
        return len(self.selector.asked)

    def _list(self, client: Client, query: str = "") -> list[str]:
        return self._portal.call(client.list, self.engine, query)

    @property
    def allowed(self) -> set[str]:
        """What may be listed now."""
        return {
            f"{link.name}__{name}"
            for link in self.links.values()
            for name in (
                json.loads(raw)["name"] for raw in (link.snapshot.tools if link.snapshot else ())
            )
            if not name.startswith("secret")
        }

    def _holds(self, client: Client, names: list[str], *, same_turn: bool) -> None:
        pinned = [name for name in ALWAYS if name in self.allowed]
        head = [*META_TOOLS, *pinned]
        assert names[: len(head)] == head
        shown = names[len(head) :]
        assert len(set(names)) == len(names)
        assert set(names) <= {*META_TOOLS, *self.allowed}
        kept = client.shown
        if same_turn or self.max_tools > 100:
            assert shown[: len(kept)] == kept
        else:
            common = [name for name in kept if name in shown]
            assert [name for name in shown if name in kept] == common
        client.shown = shown

    def _failed_open(self, names: list[str], before: list[str]) -> None:
        """After a failure there is what was shown, else everything, else the search for it."""
        listed = set(names) - set(META_TOOLS) - set(ALWAYS)
        everything = self.allowed - set(ALWAYS)
        room = self.max_tools - len(META_TOOLS) - len(self.allowed & set(ALWAYS))
        assert listed >= set(before)
        if len(everything) <= room:
            assert bool(listed) == bool(everything)


class _Out:
    """The channel of a client that is made after its session."""

    def __init__(self, client: Callable[[], Client]) -> None:
        self._client = client

    def send(self, frame: bytes, *, final: bool) -> None:
        self._client().send(frame, final=final)


class NarrowConversation(AnyConversation):
    """The same where there is not room for all."""

    max_tools: ClassVar[int] = 7


@pytest.mark.parametrize("machine", [AnyConversation, NarrowConversation])
def test_every_list_of_any_conversation_keeps_the_rules(machine: type[AnyConversation]) -> None:
    machine.turns = 0
    many = settings(
        max_examples=60,
        stateful_step_count=50,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )

    while machine.turns < 1_000:
        run_state_machine_as_test(machine, settings=many)
