"""Clients that mean harm or are badly made, in front of a gateway over HTTP."""

import gc
import json
import tracemalloc
from collections.abc import Iterator

import anyio
import pytest
from tests.front.fake_engine import (
    FakeEngine,
    Raw,
    call,
    initialize,
    post,
    raw,
    request,
    serving,
)

from toolpick.front import http
from toolpick.front.backlog import BYTES, Backlog
from toolpick.front.connection import Connection
from toolpick.front.connections import Connections
from toolpick.front.descriptors import most_connections

OPEN = json.dumps(initialize()).encode()
MEGABYTE = 1024 * 1024


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Memory is measured, and freed only where nothing refers to it any more."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.enable()


# -- who a request is for


@pytest.mark.parametrize("hosts", [("localhost", "evil.example"), ("evil.example", "localhost")])
async def test_a_request_for_two_hosts_is_refused(hosts: tuple[str, str]) -> None:
    async with serving() as served, raw(served.port) as connection:
        lines = (*post(OPEN), *(f"Host: {host}" for host in hosts), "", "")
        await connection.send_bytes("\r\n".join(lines).encode() + OPEN)
        assert (await connection.response())[0] == 400
    assert served.engine.sessions == []


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://localhost:80/mcp", 200),
        ("http://[::1]/mcp", 200),
        ("http://evil.example/mcp", 421),
        ("http://localhost@evil.example/mcp", 421),
    ],
)
async def test_a_whole_url_counts_for_more_than_the_host_header(target: str, status: int) -> None:
    first, *lines = post(OPEN)
    async with serving() as served, raw(served.port) as connection:
        await connection.send(first.replace("/mcp", target), *lines, body=OPEN)
        assert (await connection.response())[0] == status


@pytest.mark.parametrize(
    "host", ["[::1].evil.example", "[::1", "[::1]x:80", "[::1]:", "localhost:x", "::1", "[]", ":80"]
)
async def test_what_only_begins_like_a_loopback_address_is_none(host: str) -> None:
    async with serving() as served, raw(served.port) as connection:
        lines = (*post(OPEN), f"Host: {host}", "", "")
        await connection.send_bytes("\r\n".join(lines).encode() + OPEN)
        assert (await connection.response())[0] == 421


async def test_a_page_at_what_only_begins_like_a_loopback_address_is_refused() -> None:
    async with serving() as served:
        response = await served.post(initialize(), origin="http://[::1].evil.example")
        assert response.status_code == 403


@pytest.mark.parametrize("version", ["0.9", "2.0"])
async def test_versions_of_http_that_are_not_spoken_are_refused(version: str) -> None:
    async with serving() as served, raw(served.port) as connection:
        await connection.send(*post(OPEN, version=version), body=OPEN)
        assert (await connection.response())[0] == 505
        assert await connection.rest() == b""


async def test_an_old_client_is_sent_nothing_but_its_answer() -> None:
    async with serving() as served, raw(served.port) as connection:
        await connection.send(*post(OPEN, "Expect: 100-continue", version="1.0"), body=OPEN)
        assert (await connection.response())[0] == 200
        assert await connection.rest() == b""


# -- what they send


async def test_a_batch_that_would_keep_all_others_waiting_is_refused() -> None:
    engine = FakeEngine(replies={"initialize": {}, "ping": {}})
    async with serving(engine) as served:
        id = await served.open("2025-03-26")
        pings = [request("ping", id=number) for number in range(501)]
        refused = await served.post(pings, mcp_session_id=id)
        assert refused.status_code == 400
        assert "more than 500 messages" in refused.json()["error"]["message"]
        assert len((await served.post(pings[1:], mcp_session_id=id)).json()) == 500


async def test_a_batch_that_is_nested_too_deeply_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as served:
        id = await served.open("2025-03-26")
        headers = {
            "mcp-session-id": id,
            "content-type": "application/json",
            "accept": "application/json",
        }
        for body in (b"[" * 100_000, b'[{"id":1,"method":"m","params":%b}]' % (b"[" * 100_000)):
            response = await served.client.post(served.url, content=body, headers=headers)
            assert response.status_code == 400
            assert response.json()["error"]["code"] == -32600
    assert "event=bug" not in caplog.text


async def test_a_request_that_is_nested_too_deeply_is_refused_under_its_id() -> None:
    async with serving() as served:
        headers = {"mcp-session-id": await served.open(), "content-type": "application/json"}
        deep = b"[" * 100_000 + b"]" * 100_000
        body = b'{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":%b}}' % deep
        response = await served.client.post(served.url, content=body, headers=headers)
        assert (response.status_code, response.json()["id"]) == (400, "a")


# -- connections without end


async def drip(connection: Raw, byte: bytes) -> None:
    with anyio.fail_after(5):
        while True:
            try:
                await connection.send_bytes(byte)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            await anyio.sleep(0.01)


async def test_a_head_that_comes_in_drops_wins_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TICK", 0.01)
    monkeypatch.setattr(http, "KEEP_ALIVE", 0.1)
    async with serving() as served, raw(served.port) as connection:
        await connection.send_bytes(b"POST /mcp HTTP/1.1\r\nX-Slow: ")
        await drip(connection, b"x")


async def test_a_refused_body_that_comes_in_drops_wins_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "TICK", 0.01)
    monkeypatch.setattr(http, "KEEP_ALIVE", 0.1)
    async with serving(token="t") as served, raw(served.port) as connection:
        await connection.send(*post(b"x" * 1000))
        assert (await connection.response())[0] == 401
        await drip(connection, b"x")


async def test_a_wanted_body_may_come_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TICK", 0.01)
    monkeypatch.setattr(http, "KEEP_ALIVE", 0.3)
    async with serving() as served, raw(served.port) as connection:
        await connection.send(*post(OPEN))
        for byte in OPEN:
            await connection.send_bytes(bytes([byte]))
            await anyio.sleep(0.005)
        assert (await connection.response())[0] == 200


async def test_of_too_many_connections_those_give_way_that_nothing_is_due_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "most_connections", lambda: 4)
    async with serving() as served:
        id = await served.open()
        await served.client.aclose()
        async with (
            raw(served.port) as busy,
            raw(served.port) as used,
            raw(served.port) as silent,
            raw(served.port) as fourth,
        ):
            body = json.dumps(call()).encode()
            await busy.send(*post(body, f"Mcp-Session-Id: {id}"), body=body)
            exchange = await served.engine.next()
            for each in (silent, fourth, used):
                await each.send("GET /health HTTP/1.1")
                assert (await each.response())[0] == 200
            async with raw(served.port) as fifth:
                await fifth.send("GET /health HTTP/1.1")
                assert (await fifth.response())[0] == 200
                assert await silent.rest() == b""
                exchange.reply(b"{}")
                for each in (fourth, used, busy):
                    await each.send("GET /health HTTP/1.1")
                    assert (await each.response())[0] == 200


async def test_when_all_connections_are_busy_a_new_one_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "most_connections", lambda: 1)
    async with serving() as served:
        id = await served.open()
        await served.client.aclose()
        async with raw(served.port) as busy:
            body = json.dumps(call()).encode()
            await busy.send(*post(body, f"Mcp-Session-Id: {id}"), body=body)
            exchange = await served.engine.next()
            async with raw(served.port) as late:
                assert await late.rest() == b""
            exchange.reply(b"{}")
            assert (await busy.response())[0] == 200


def test_connections_leave_descriptors_for_servers() -> None:
    resource = pytest.importorskip("resource")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert 1 <= most_connections() <= max(soft // 2, 1)


async def test_a_client_that_reads_no_more_of_a_stream_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "TICK", 0.01)
    async with serving() as served, raw(served.port) as connection:
        body = json.dumps(call()).encode()
        await connection.send(*post(body, f"Mcp-Session-Id: {await served.open()}"), body=body)
        exchange = await served.engine.next()
        for _ in range(100):
            exchange.notify("n", b'"%b"' % (b"x" * 100_000))
        monkeypatch.setattr(http, "KEEP_ALIVE", 0.1)
        await served.engine.until(lambda: served.engine.cancelled)
        assert served.engine.cancelled == [("tools/call", "the client closed the connection")]


async def test_a_client_that_reads_no_answers_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TICK", 0.01)
    monkeypatch.setattr(http, "KEEP_ALIVE", 0.1)
    lost = anyio.Event()
    plain = Connections.lost

    def noted(self: Connections, connection: Connection) -> None:
        plain(self, connection)
        lost.set()

    monkeypatch.setattr(Connections, "lost", noted)
    engine = FakeEngine(replies={"initialize": {"x": "x" * 20 * MEGABYTE}})
    async with serving(engine) as served, raw(served.port) as connection:
        await connection.send(*post(OPEN), body=OPEN)
        with anyio.fail_after(5):
            await lost.wait()
        assert len(await connection.rest()) < 20 * MEGABYTE


async def test_a_client_that_reads_slowly_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TICK", 0.01)
    monkeypatch.setattr(http, "KEEP_ALIVE", 0.2)
    engine = FakeEngine(replies={"initialize": {"x": "x" * 10 * MEGABYTE}})
    async with serving(engine) as served, raw(served.port) as connection:
        await connection.send(*post(OPEN), body=OPEN)
        read = 0
        with anyio.fail_after(5):
            while read < 10 * MEGABYTE:
                read += len(await connection.some())
                await anyio.sleep(0.003)


# -- memory


@pytest.mark.usefixtures("uncollected")
async def test_a_client_that_leaves_in_the_middle_of_a_body_leaves_nothing_behind() -> None:
    part = b" " * 3 * MEGABYTE
    async with serving() as served:
        for _ in range(4):
            async with raw(served.port) as connection:
                await connection.send(*post(b"x" * 4 * MEGABYTE), body=part)
            async with raw(served.port) as connection:
                await connection.send("GET /health HTTP/1.1")
                assert (await connection.response())[0] == 200
        held, _ = tracemalloc.get_traced_memory()
    assert held < 7 * MEGABYTE


@pytest.mark.usefixtures("uncollected")
async def test_a_served_body_is_let_go_with_its_answer() -> None:
    engine = FakeEngine(replies={"initialize": {}, "ping": {}})
    async with serving(engine) as served:
        id = await served.open()
        body = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "x" * MEGABYTE}}
        )
        async with raw(served.port) as connection:
            for _ in range(10):
                data = body.encode()
                await connection.send(*post(data, f"Mcp-Session-Id: {id}"), body=data)
                assert (await connection.response())[0] == 200
            held, _ = tracemalloc.get_traced_memory()
    assert held < 7 * MEGABYTE


@pytest.mark.usefixtures("uncollected")
async def test_a_body_in_tiny_parts_takes_no_more_memory_than_its_size() -> None:
    lines = ("POST /mcp HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked")
    parts = b"3\r\n   \r\n" * 10_000
    async with serving() as served, raw(served.port) as connection:
        await connection.send(*lines)
        tracemalloc.reset_peak()
        for _ in range(20):
            await connection.send_bytes(parts)
        await connection.send_bytes(b"0\r\n\r\n")
        assert (await connection.response())[0] == 400
        _, peak = tracemalloc.get_traced_memory()
    assert peak < 8 * MEGABYTE


def test_frames_that_wait_are_bounded_in_bytes_and_the_newest_stays() -> None:
    lost: list[bytes] = []
    backlog = Backlog(lost.append)
    large = [bytes([number]) * (BYTES // 3) for number in range(6)]
    for frame in large:
        backlog.put(frame)
    huge = b"h" * (2 * BYTES)

    assert backlog.take() == large[3:]
    assert lost == large[:3]

    backlog.put(large[0])
    backlog.put(huge)
    assert backlog.take() == [huge]
