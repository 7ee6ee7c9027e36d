"""HTTP with server-sent events as in 2024-11-05."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from tests.wire.raw_http import Asked, RawServer, serving, unused_port
from tests.wire.recorder import Recorder
from tests.wire.wires import INITIALIZED, note, send

from toolpick.wire import events
from toolpick.wire.sse import SseWire

GONE = "no longer knows the session"


class OldServer:
    """Names an address, and keeps its stream for what the test wants to say there."""

    def __init__(self, post: Callable[[Asked], Awaitable[None]], address: str = "/post?s=1"):
        self.post = post
        self.address = address
        self.stream: Asked | None = None

    async def __call__(self, asked: Asked) -> None:
        if asked.method == "POST":
            await self.post(asked)
            return
        self.stream = asked
        await asked.stream()
        await asked.chunk(f"event: endpoint\ndata: {self.address}\n\n".encode())
        await asked.hang_up()

    async def say(self, value: object) -> None:
        assert self.stream is not None
        await self.stream.event(value)


@asynccontextmanager
async def connected(
    old: OldServer, headers: dict[str, str] | None = None
) -> AsyncIterator[tuple[SseWire, Recorder, RawServer]]:
    recorder = Recorder()
    async with serving(old) as server:
        wire = SseWire(server.url, headers or {})
        await wire.start(recorder)
        try:
            yield wire, recorder, server
        finally:
            await wire.close()


async def accept(asked: Asked) -> None:
    await asked.answer(202, b"Accepted", "text/plain")


async def test_messages_are_posted_to_the_named_address_and_answers_come_on_the_stream():
    async def post(asked: Asked) -> None:
        await accept(asked)
        if "id" in asked.message:
            await old.say(asked.reply({"ok": True}))

    old = OldServer(post)
    async with connected(old, {"Authorization": "Bearer x"}) as (wire, recorder, server):
        send(wire, 1)
        await recorder.first(1)
        wire.version = "2024-11-05"
        wire.send(INITIALIZED)
        send(wire, 2)
        answers = [
            json.dumps({"jsonrpc": "2.0", "id": id, "result": {"ok": True}}) for id in (1, 2)
        ]
        assert await recorder.first(2) == [("received", one.encode(), None) for one in answers]
        names = ("authorization", "mcp-protocol-version", "accept")
        assert [
            (
                asked.rpc,
                asked.path,
                *(asked.headers[name] for name in names if name in asked.headers),
            )
            for asked in server.asked
        ] == [
            ("GET", "/mcp", "Bearer x", "text/event-stream"),
            ("tools/call", "/post?s=1", "Bearer x", "*/*"),
            ("notifications/initialized", "/post?s=1", "Bearer x", "2024-11-05", "*/*"),
            ("tools/call", "/post?s=1", "Bearer x", "2024-11-05", "*/*"),
        ]


@pytest.mark.parametrize("address", ["http://other.invalid/post", "//other.invalid/post"])
async def test_an_address_at_another_origin_is_refused(address: str):
    async with serving(OldServer(accept, address)) as server:
        with pytest.raises(
            OSError, match=r"^wants messages posted to another origin, http://other"
        ):
            await SseWire(server.url, {}).start(Recorder())


async def test_an_address_that_is_none_is_refused():
    async with serving(OldServer(accept, "http://[::1")) as server:
        with pytest.raises(OSError, match=r"posted to 'http://\[::1', which is no URL$"):
            await SseWire(server.url, {}).start(Recorder())


async def test_a_whole_address_at_the_same_origin_is_taken():
    async def post(asked: Asked) -> None:
        await accept(asked)
        await old.say(asked.reply({}))

    port = await unused_port()
    old = OldServer(post, f"http://127.0.0.1:{port}/there")
    recorder = Recorder()
    async with serving(old, port) as server:
        wire = SseWire(server.url, {})
        await wire.start(recorder)
        send(wire, 1)
        await recorder.first(1)
        await wire.close()
        assert [asked.path for asked in server.asked] == ["/mcp", "/there"]


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (404, "text/plain", "answered with HTTP status 404: no; check the url and the transport"),
        (200, "text/html", "answered with HTTP status 200: no"),
    ],
)
async def test_a_server_without_a_stream_fails_the_start(status: int, kind: str, reason: str):
    async def handler(asked: Asked) -> None:
        await asked.answer(status, b"no", kind)

    async with serving(handler) as server:
        with pytest.raises(OSError, match=f"^{reason}"):
            await SseWire(server.url, {}).start(Recorder())


async def test_a_stream_that_ends_before_it_names_an_address_fails_the_start():
    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.end()

    async with serving(handler) as server:
        with pytest.raises(OSError, match=r"^closed the stream of events$"):
            await SseWire(server.url, {}).start(Recorder())


async def test_a_stream_that_never_names_an_address_fails_the_start_in_time():
    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.hang_up()

    async with serving(handler) as server:
        with pytest.raises(OSError, match=r"^opened a stream but named no address to post to$"):
            await SseWire(server.url, {}, timeout=0.02).start(Recorder())


async def test_a_refused_connection_fails_the_start():
    port = await unused_port()
    with pytest.raises(
        OSError, match=f"^can't be reached at 127.0.0.1:{port}: connection refused$"
    ):
        await SseWire(f"http://127.0.0.1:{port}/sse", {}).start(Recorder())


async def test_a_start_that_is_cancelled_leaves_nothing_open():
    opened, closed = anyio.Event(), anyio.Event()

    async def handler(asked: Asked) -> None:
        await asked.stream()
        opened.set()
        await asked.hang_up()
        closed.set()

    async with serving(handler) as server:
        async with anyio.create_task_group() as group:
            group.start_soon(SseWire(server.url, {}).start, Recorder())
            with anyio.fail_after(5):
                await opened.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            await closed.wait()


@pytest.mark.parametrize(
    ("tear", "reason"),
    [
        (False, "closed the stream of events"),
        (
            True,
            "broke the connection: peer closed connection without sending complete message body "
            "(incomplete chunked read)",
        ),
    ],
)
async def test_a_lost_stream_is_a_lost_wire(tear: bool, reason: str):
    async def post(asked: Asked) -> None:
        await accept(asked)
        assert old.stream is not None
        await (old.stream.tear() if tear else old.stream.end())

    old = OldServer(post)
    async with connected(old) as (wire, recorder, _):
        send(wire, 1)
        assert await recorder.first(1) == [("lost", reason)]
        send(wire, 2)
    assert len(recorder.heard) == 1


async def test_an_event_that_is_too_large_loses_the_wire(monkeypatch):
    async def post(asked: Asked) -> None:
        await accept(asked)
        assert old.stream is not None
        await old.stream.chunk(b"data: " + b"x" * 2000)

    old = OldServer(post)
    async with connected(old) as (wire, recorder, _):
        monkeypatch.setattr(events, "MAX_FRAME", 1000)
        note(wire, "notifications/odd")
        assert await recorder.first(1) == [("lost", "sent an event of more than 1000 bytes")]


async def test_a_refused_message_drops_its_request_only():
    async def post(asked: Asked) -> None:
        if asked.message["id"] == 1:
            await asked.answer(400, b"Could not parse Bearer", "text/plain")
        else:
            await accept(asked)
            await old.say(asked.reply({}))

    old = OldServer(post)
    async with connected(old, {"Authorization": "Bearer s3cret"}) as (wire, recorder, _):
        send(wire, 1)
        reason = "answered with HTTP status 400: Could not parse ***"
        assert await recorder.first(1) == [("dropped", 1, reason, False)]
        send(wire, 2)
        assert (await recorder.first(2))[1][0] == "received"


async def test_a_session_that_is_not_known_is_gone():
    async def post(asked: Asked) -> None:
        await asked.answer(404, b"Could not find session", "text/plain")

    async with connected(OldServer(post)) as (wire, recorder, _):
        send(wire, 1)
        assert await recorder.first(2) == [("dropped", 1, GONE, True), ("lost", GONE)]


async def test_only_a_request_that_was_not_sent_yet_can_be_taken_back():
    async def post(asked: Asked) -> None:
        await accept(asked)
        await old.say(asked.reply({}))

    old = OldServer(post)
    async with connected(old) as (wire, recorder, server):
        send(wire, 1)
        assert wire.abandon(1)
        send(wire, 2)
        await recorder.first(1)
        assert not wire.abandon(2)
        assert [asked.message["id"] for asked in server.asked if asked.body] == [2]
