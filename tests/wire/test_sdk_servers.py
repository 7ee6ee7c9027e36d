"""Wires over HTTP with the SDK's servers behind them, in each mode, with a peer on top."""

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.wire.recorder import Recorder
from tests.wire.sdk_servers import hanging, running, streamable, with_events

from toolpick.errors import RpcError
from toolpick.wire.http import HttpWire
from toolpick.wire.peer import Peer
from toolpick.wire.sse import SseWire

# what the era of 2026-07-28 deprecates is what servers of the other era are asked for
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

META = "io.modelcontextprotocol/"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
CAPABILITIES = {"sampling": {}, "elicitation": {}}
CLIENT = {"name": "test", "version": "1"}


class Session:
    """A peer after its handshake."""

    def __init__(self, wire: HttpWire | SseWire, version: str) -> None:
        self.listener = Recorder()
        self.peer = Peer(wire, self.listener)
        self.wire = wire
        self.version = version

    async def begin(self) -> None:
        await self.peer.start()
        if self.version == LEGACY:
            params = {"protocolVersion": LEGACY, "capabilities": CAPABILITIES, "clientInfo": CLIENT}
            await self.ask("initialize", params)
        self.wire.version = self.version
        if self.version == LEGACY:
            self.peer.notify("notifications/initialized")

    async def ask(self, method: str, params: dict[str, Any], name: str = "") -> Any:
        if self.wire.version == MODERN:
            params["_meta"] = {
                META + "protocolVersion": MODERN,
                META + "clientInfo": CLIENT,
                META + "clientCapabilities": CAPABILITIES,
                **params.get("_meta", {}),
            }
        answered = anyio.Event()
        replies = []

        def done(reply) -> None:
            replies.append(reply)
            answered.set()

        self.peer.request(method, json.dumps(params).encode(), done, name=name)
        with anyio.fail_after(5):
            await answered.wait()
        [reply] = replies
        if reply.error:
            raise RpcError(reply.ours, bytes(reply.error).decode())
        return json.loads(bytes(reply.result))

    async def call(self, tool: str, token: str = "", **arguments: Any) -> Any:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if token:
            params["_meta"] = {"progressToken": token}
        return (await self.ask("tools/call", params, tool))["content"]


def text(what: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": what}]


MODES: list[tuple[Callable[[], Any], str, type, str]] = [
    (streamable, "/mcp", HttpWire, LEGACY),
    (streamable, "/mcp", HttpWire, MODERN),
    (lambda: streamable(json=True), "/mcp", HttpWire, LEGACY),
    (lambda: streamable(json=True), "/mcp", HttpWire, MODERN),
    (with_events, "/sse", SseWire, LEGACY),
]


@pytest.mark.parametrize(("app", "path", "kind", "version"), MODES)
async def test_a_session_lists_calls_and_ends(app, path: str, kind: type, version: str):
    async with running(app()) as url:
        session = Session(kind(url + path, {}), version)
        await session.begin()
        names = {tool["name"] for tool in (await session.ask("tools/list", {}))["tools"]}
        arguments = {"größe": 1.5, "n": None}
        echoed = await session.ask(
            "tools/call", {"name": "test_echo", "arguments": arguments}, "test_echo"
        )
        for _ in range(5):
            assert await session.call("test_echo") == text("Echoed")
        with pytest.raises(RpcError, match="Unknown tool: nothing"):
            await session.call("nothing")
        await session.peer.close()
    assert {"test_echo", "test_sampling"} <= names
    assert echoed["structuredContent"] == {"arguments": arguments}
    assert session.listener.heard == [("lost", "the connection was closed")]


@pytest.mark.parametrize(
    ("app", "path", "kind", "version", "origin"),
    [(*MODES[0], 2), (*MODES[1], 1), (*MODES[4], None)],
)
async def test_progress_belongs_to_its_call(app, path, kind, version: str, origin: int | None):
    async with running(app()) as url:
        session = Session(kind(url + path, {}), version)
        await session.begin()
        await session.call("test_tool_with_progress", token="t")
        heard = [
            (method, json.loads(params)["progress"], where)
            for _, method, params, where in session.listener.heard
        ]
        await session.peer.close()
    assert heard == [("notifications/progress", n, origin) for n in (0, 50, 100)]


@pytest.mark.parametrize(
    ("app", "path", "kind", "version", "origin"), [(*MODES[0], 2), (*MODES[4], None)]
)
async def test_a_server_can_ask_back(app, path, kind, version: str, origin: int | None):
    asked = []

    class Client(Recorder):
        def on_request(self, id: bytes, method: str, params: bytes, origin: int | None) -> None:
            asked.append((method, origin))
            answer = {"role": "assistant", "content": text("hi")[0], "model": "m"}
            session.peer.respond(id, json.dumps(answer).encode())

    async with running(app()) as url:
        session = Session(kind(url + path, {}), version)
        session.listener = Client()
        session.peer = Peer(session.wire, session.listener)
        await session.begin()
        answer = await session.call("test_sampling", prompt="say hi")
        await session.peer.close()
    assert (asked, answer) == (
        [("sampling/createMessage", origin)],
        text("LLM response: hi"),
    )


async def test_a_stream_that_the_sdk_closes_early_is_resumed():
    async with running(streamable()) as url:
        session = Session(HttpWire(url + "/mcp", {}), LEGACY)
        await session.begin()
        assert await session.call("test_reconnection") == text("Reconnection test completed")
        await session.peer.close()


async def test_list_changes_come_on_the_servers_own_stream():
    async with running(streamable()) as url:
        wire = HttpWire(url + "/mcp", {})
        session = Session(wire, LEGACY)
        await session.begin()
        wire.listen()
        with anyio.fail_after(5):
            # the server drops what it says before the stream is open
            while not session.listener.heard:
                await session.call("test_trigger_tool_change")
        await session.peer.close()
    assert session.listener.heard[0] == (
        "notification",
        "notifications/tools/list_changed",
        b"",
        None,
    )


async def test_a_session_that_the_sdk_does_not_know_is_gone():
    async with running(streamable()) as url:
        session = Session(HttpWire(url + "/mcp", {}), LEGACY)
        await session.begin()
        await session.call("test_echo")
        session.wire._session = "unknown"
        with pytest.raises(RpcError, match=r"-32099.*no longer knows the session"):
            await session.call("test_echo")
        assert session.listener.heard == [("lost", "no longer knows the session")]
        await session.peer.close()


@pytest.mark.parametrize("version", [LEGACY, MODERN])
async def test_a_cancelled_call_is_ended_at_the_server(version: str):
    started, ended = anyio.Event(), anyio.Event()
    async with running(hanging(started, ended)) as url:
        session = Session(HttpWire(url + "/mcp", {}), version)
        await session.begin()
        async with anyio.create_task_group() as group:
            group.start_soon(session.call, "any")
            with anyio.fail_after(5):
                await started.wait()
                assert session.peer.cancel(1 if version == MODERN else 2, "no longer needed")
                await ended.wait()
            group.cancel_scope.cancel()
        await session.peer.close()
