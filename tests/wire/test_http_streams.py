"""Streamable HTTP answers as streams of events: read, resumed, and the server's own stream."""

import json
from typing import Any

import anyio
import pytest
from tests.wire.raw_http import Asked, RawServer, serving
from tests.wire.wires import SESSION, greet, in_session, note, send, wired

from toolpick.wire import events, streams
from toolpick.wire.http import HttpWire

GONE = "no longer knows the session"
PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress"}
SOON = "retry: 1\n"


def received(value: Any, origin: int | None) -> tuple[str, bytes, int | None]:
    return ("received", json.dumps(value).encode(), origin)


async def reached(server: RawServer, count: int) -> None:
    """Wait until the server was asked so often."""
    with anyio.fail_after(5):
        while len(server.asked) < count:
            await anyio.wait_all_tasks_blocked()


async def quiet(wire: HttpWire) -> None:
    """Wait until no request is under way."""
    with anyio.fail_after(5):
        while wire._outbox.requests:
            await anyio.wait_all_tasks_blocked()


async def test_everything_on_the_stream_of_a_request_is_handed_on_with_its_id():
    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.event(PROGRESS)
        await asked.chunk(b': ping\n\nevent: odd\ndata: {"not":"ours"}\n\n')
        await asked.event(asked.reply({}))
        await asked.event({**PROGRESS, "late": True})
        await asked.end()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 4)
        assert await recorder.first(3) == [
            received(PROGRESS, 4),
            received({"jsonrpc": "2.0", "id": 4, "result": {}}, 4),
            received({**PROGRESS, "late": True}, 4),
        ]


async def test_an_answer_in_a_batch_is_an_answer():
    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.event([PROGRESS, asked.reply({})], f"id: 1\n{SOON}")
        await asked.end()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 4)
        both = [PROGRESS, {"jsonrpc": "2.0", "id": 4, "result": {}}]
        assert await recorder.first(1) == [received(both, 4)]
        await quiet(wire)
    assert (server.log(), len(recorder.heard)) == (["tools/call"], 1)


async def test_a_message_may_have_several_data_lines_bad_bytes_and_five_megabytes():
    lines = b'{"jsonrpc":"2.0",\n"id":1,\n"result":{}}'
    bad = b'{"jsonrpc":"2.0","id":2,"result":{"a":"\xff\xe2\x80\xa8"}}'
    huge = b'{"jsonrpc":"2.0","id":3,"result":{"a":"%b"}}' % (b"x" * 5_000_000)

    async def handler(asked: Asked) -> None:
        await asked.stream()
        message = [lines, bad, huge][asked.message["id"] - 1]
        data = b"".join(b"data: %b\n" % line for line in message.split(b"\n"))
        await asked.chunk(data + b"\n")
        await asked.end()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        for id, message in ((1, lines), (2, bad), (3, huge)):
            send(wire, id)
            assert (await recorder.first(id))[-1] == ("received", message, id)


async def test_a_connection_whose_stream_ends_after_the_answer_is_used_again():
    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.event(asked.reply({}))
        await asked.end()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        for id in (1, 2, 3):
            send(wire, id)
            await recorder.first(id)
            await quiet(wire)
        assert len({asked.connection for asked in server.asked}) == 1


async def test_a_stream_that_goes_on_after_the_answer_is_closed(monkeypatch):
    monkeypatch.setattr(streams, "DRAIN", 0.01)
    closed = anyio.Event()

    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.event(asked.reply({}))
        await asked.hang_up()
        closed.set()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1)
        with anyio.fail_after(5):
            await closed.wait()
    assert [call[0] for call in recorder.heard] == ["received"]


@pytest.mark.parametrize(
    ("torn", "reason"),
    [
        (False, "ended the stream without an answer"),
        (
            True,
            "broke the connection: peer closed connection without sending complete message body "
            "(incomplete chunked read)",
        ),
    ],
)
async def test_a_stream_without_ids_that_ends_early_drops_its_request(torn: bool, reason: str):
    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.event(PROGRESS)
        await (asked.tear() if torn else asked.end())

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1)
        assert await recorder.first(2) == [received(PROGRESS, 1), ("dropped", 1, reason, False)]


async def test_an_event_that_is_too_large_drops_its_request(monkeypatch):
    monkeypatch.setattr(events, "MAX_FRAME", 100)

    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.chunk(b"id: 1\n" + SOON.encode() + b"data: \n\ndata: " + b"x" * 200)
        await asked.hang_up()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1)
        reason = "sent an event of more than 100 bytes"
        assert await recorder.first(1) == [("dropped", 1, reason, False)]
        assert server.log() == ["tools/call"]


async def test_a_notification_answered_with_a_stream_has_its_messages_handed_on():
    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.event(PROGRESS)
        await asked.end()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        note(wire, "notifications/odd")
        assert await recorder.first(1) == [received(PROGRESS, None)]


# -- resuming


async def test_a_broken_stream_is_resumed_from_its_last_event():
    answer = {"jsonrpc": "2.0", "id": 2, "result": {}}

    async def handler(asked: Asked) -> None:
        if await greet(asked):
            return
        await asked.stream()
        if asked.method == "POST":
            await asked.event(PROGRESS, f"id: a-1\n{SOON}")
            await asked.chunk(b"id: a-2\ndata: torn")
            await asked.tear()
        elif asked.headers["last-event-id"] == "a-1":
            await asked.event({**PROGRESS, "more": True}, "id: a-3\n")
            await asked.end()
        else:
            await asked.event(answer, "id: a-4\n")
            await asked.end()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        await in_session(wire, recorder)
        send(wire, 2)
        assert await recorder.first(3) == [
            received(PROGRESS, 2),
            received({**PROGRESS, "more": True}, 2),
            received(answer, 2),
        ]
        names = ("accept", "mcp-session-id", "mcp-protocol-version", "last-event-id")
        assert [
            [asked.headers.get(name) for name in names]
            for asked in server.asked
            if asked.method == "GET"
        ] == [
            ["text/event-stream", SESSION, "2025-06-18", "a-1"],
            ["text/event-stream", SESSION, "2025-06-18", "a-3"],
        ]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (200, "ended the stream without an answer"),
        (405, "broke the stream, and to resuming it answered HTTP status 405"),
    ],
)
async def test_resuming_is_given_up_after_three_attempts_in_vain(status: int, reason: str):
    async def handler(asked: Asked) -> None:
        if asked.method == "GET" and status != 200:
            await asked.answer(status)
            return
        await asked.stream()
        if asked.method == "POST":
            await asked.chunk(f"id: 1\n{SOON}data:\n\n".encode())
        await asked.end()

    async with serving(handler) as server, wired(server.url, "2025-06-18") as (wire, recorder):
        send(wire, 1)
        assert await recorder.first(1) == [("dropped", 1, reason, False)]
        assert server.log() == ["tools/call", "GET", "GET", "GET"]


async def test_a_modern_stream_is_not_resumed():
    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.event(PROGRESS, f"id: 1\n{SOON}")
        await asked.end()

    async with serving(handler) as server, wired(server.url, "2026-07-28") as (wire, recorder):
        send(wire, 1)
        assert await recorder.first(2) == [
            received(PROGRESS, 1),
            ("dropped", 1, "ended the stream without an answer", False),
        ]
        assert server.log() == ["tools/call"]


async def test_a_session_that_is_gone_when_a_stream_is_resumed_may_have_run_the_request():
    async def handler(asked: Asked) -> None:
        if await greet(asked):
            return
        if asked.method == "GET":
            await asked.answer(404)
            return
        await asked.stream()
        await asked.chunk(f"id: 1\n{SOON}data:\n\n".encode())
        await asked.end()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        await in_session(wire, recorder)
        send(wire, 2)
        assert await recorder.first(2) == [("dropped", 2, GONE, False), ("lost", GONE)]


async def test_a_server_that_is_down_when_a_stream_is_resumed_is_lost():
    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.chunk(f"id: 1\n{SOON}data:\n\n".encode())
        stopped.set()
        await asked.hang_up()

    stopped = anyio.Event()
    async with serving(handler) as server:
        context = wired(server.url)
        wire, recorder = await context.__aenter__()
        send(wire, 1)
        await stopped.wait()
    reason = f"can't be reached at 127.0.0.1:{server.port}: connection refused"
    assert await recorder.first(2) == [("dropped", 1, reason, False), ("lost", reason)]
    await context.__aexit__(None, None, None)


# -- the server's own stream


async def test_what_the_server_says_unasked_belongs_to_no_request():
    done = anyio.Event()

    async def handler(asked: Asked) -> None:
        if await greet(asked):
            return
        await asked.stream()
        await asked.event(PROGRESS)
        await done.wait()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        await in_session(wire, recorder)
        wire.listen()
        wire.listen()
        assert await recorder.first(1) == [received(PROGRESS, None)]
        done.set()
        [asked] = [asked for asked in server.asked if asked.method == "GET"]
        assert (asked.headers["accept"], asked.headers["mcp-session-id"]) == (
            "text/event-stream",
            SESSION,
        )


async def test_an_answer_may_come_on_the_servers_own_stream():
    stream: list[Asked] = []
    open_ = anyio.Event()

    async def handler(asked: Asked) -> None:
        if asked.method == "GET":
            await asked.stream()
            stream.append(asked)
            open_.set()
            await anyio.sleep_forever()
        await asked.answer(202)
        await stream[0].event(asked.reply({}))

    async with serving(handler) as server, wired(server.url, "2025-06-18") as (wire, recorder):
        wire.listen()
        with anyio.fail_after(5):
            await open_.wait()
        send(wire, 1)
        answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert await recorder.first(1) == [received(answer, None)]


@pytest.mark.parametrize("status", [405, 400, 403, 200])
async def test_a_server_without_a_stream_of_its_own_is_asked_once(status: int):
    async def handler(asked: Asked) -> None:
        if asked.method == "GET":
            await asked.answer(status, b"no", "text/plain")
        else:
            await asked.result({})

    async with serving(handler) as server, wired(server.url, "2025-06-18") as (wire, recorder):
        wire.listen()
        await reached(server, 1)
        with anyio.fail_after(5):
            while wire._listening:
                await anyio.wait_all_tasks_blocked()
        send(wire, 1)
        await recorder.first(1)
        assert server.log() == ["GET", "tools/call"]


async def test_a_dropped_stream_is_opened_again_and_the_gap_is_told(monkeypatch):
    monkeypatch.setattr(streams, "RETRY", 0.002)
    gaps = []

    async def handler(asked: Asked) -> None:
        number = len(server.asked)
        if number == 2:
            await asked.answer(503)
            return
        await asked.stream()
        if number == 1:
            await asked.tear()
        elif number == 3:
            await asked.event(PROGRESS, "id: x\nretry: 2\n")
            await asked.end()
        else:
            await asked.event({**PROGRESS, "last": asked.headers["last-event-id"]})
            await asked.hang_up()

    async with serving(handler) as server, wired(server.url, "2025-06-18") as (wire, recorder):
        wire.listen(lambda: gaps.append(len(server.asked)))
        assert await recorder.first(2) == [
            received(PROGRESS, None),
            received({**PROGRESS, "last": "x"}, None),
        ]
        # with an id to resume from nothing was lost
        assert gaps == [3]


async def test_delays_double_while_streams_do_not_last(monkeypatch):
    slept: list[float] = []
    done = anyio.Event()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 7:
            done.set()
            await anyio.sleep_forever()

    async def handler(asked: Asked) -> None:
        await asked.stream()
        await asked.end()

    monkeypatch.setattr(streams, "sleep", sleep)
    async with serving(handler) as server, wired(server.url, "2025-06-18") as (wire, _):
        wire.listen()
        with anyio.fail_after(5):
            await done.wait()
    assert slept == [1, 2, 4, 8, 16, 30, 30]


NOT_FOUND = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'


@pytest.mark.parametrize(("streams_before", "body"), [(0, NOT_FOUND), (1, b"no")])
async def test_the_servers_own_stream_can_find_the_session_gone(
    monkeypatch, streams_before: int, body: bytes
):
    monkeypatch.setattr(streams, "RETRY", 0.002)

    async def handler(asked: Asked) -> None:
        if await greet(asked):
            return
        if len([one for one in server.asked if one.method == "GET"]) > streams_before:
            await asked.answer(404, body)
        else:
            await asked.stream()
            await asked.end()

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        await in_session(wire, recorder)
        wire.listen()
        assert await recorder.first(1) == [("lost", GONE)]


async def test_a_server_that_does_not_know_of_own_streams_keeps_its_session():
    async def handler(asked: Asked) -> None:
        if await greet(asked):
            return
        if asked.method == "GET":
            await asked.answer(404, b"<html>Cannot GET /mcp</html>", "text/html")
        else:
            await asked.result({})

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        await in_session(wire, recorder)
        wire.listen()
        with anyio.fail_after(5):
            while wire._listening:
                await anyio.wait_all_tasks_blocked()
        send(wire, 2)
        assert [kind for kind, *_ in await recorder.first(1)] == ["received"]


async def test_a_server_can_not_have_its_stream_opened_without_pause(monkeypatch):
    slept: list[float] = []
    done = anyio.Event()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 6:
            done.set()
            await anyio.sleep_forever()

    async def handler(asked: Asked) -> None:
        retry = 0 if len(slept) < 4 else 999_999_999
        await asked.stream()
        if len(slept) == 3:
            await asked.event(PROGRESS, "id: 1\n")
        await asked.chunk(f"retry: {retry}\n\n".encode())
        await asked.end()

    monkeypatch.setattr(streams, "sleep", sleep)
    async with serving(handler) as server, wired(server.url, "2025-06-18") as (wire, _):
        wire.listen()
        with anyio.fail_after(5):
            await done.wait()
    assert slept == [1, 2, 4, 0.05, 300, 300]


async def test_a_server_that_is_down_when_its_stream_is_opened_again_is_lost(monkeypatch):
    monkeypatch.setattr(streams, "RETRY", 0.002)
    open_ = anyio.Event()

    async def handler(asked: Asked) -> None:
        await asked.stream()
        open_.set()
        await asked.hang_up()

    async with serving(handler) as server:
        context = wired(server.url, "2025-06-18")
        wire, recorder = await context.__aenter__()
        wire.listen()
        with anyio.fail_after(5):
            await open_.wait()
    reason = f"can't be reached at 127.0.0.1:{server.port}: connection refused"
    assert await recorder.first(1) == [("lost", reason)]
    await context.__aexit__(None, None, None)
