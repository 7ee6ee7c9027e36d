"""HTTP/1.1 as clients of all kinds speak it, over real sockets."""

import json

import anyio
import pytest
from tests.front.fake_engine import (
    FakeEngine,
    call,
    initialize,
    modern,
    post,
    raw,
    request,
    routed,
    serving,
)

from toolpick.front import http, reader

OPEN = json.dumps(initialize()).encode()
BIG = 16 * 1024 * 1024 + 1


async def test_a_connection_serves_one_request_after_the_other() -> None:
    async with serving() as served, raw(served.port) as connection:
        for _ in range(3):
            await connection.send(*post(OPEN), body=OPEN)
            status, headers, body = await connection.response()
            assert (status, json.loads(body)["id"]) == (200, 0)
            assert "connection" not in headers
            assert headers["date"].endswith("GMT")


async def test_a_request_may_come_in_any_pieces() -> None:
    whole = "\r\n".join((*post(OPEN), "Host: localhost", "", "")).encode() + OPEN
    async with serving() as served, raw(served.port) as connection:
        for byte in whole:
            await connection.send_bytes(bytes([byte]))
        assert (await connection.response())[0] == 200


async def test_requests_that_come_at_once_are_answered_in_order() -> None:
    async with serving() as served, raw(served.port) as connection:
        id = await served.open()
        later = json.dumps(call(id=1)).encode()
        many = b""
        for body in (later, *(OPEN,) * 12):
            lines = (*post(body), f"Mcp-Session-Id: {id}", "Host: localhost", "", "")
            many += "\r\n".join(lines).encode() + body
        await connection.send_bytes(many)
        (await served.engine.next()).reply(b"{}")
        ids = [json.loads((await connection.response())[2])["id"] for _ in range(13)]
    assert ids == [1] + [0] * 12


async def test_a_client_that_asks_to_close_is_closed_after_its_answer() -> None:
    async with serving() as served, raw(served.port) as connection:
        await connection.send(*post(OPEN, "Connection: close"), body=OPEN)
        status, headers, _ = await connection.response()
        assert (status, headers["connection"]) == (200, "close")
        assert await connection.rest() == b""


async def test_a_body_may_come_in_chunks() -> None:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (OPEN[:9], OPEN[9:]))
    lines = ("POST /mcp HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked")
    async with serving() as served, raw(served.port) as connection:
        await connection.send(*lines, body=chunks + b"0\r\nX-Trailer: 1\r\n\r\n")
        assert (await connection.response())[0] == 200
        await connection.send(*post(OPEN), body=OPEN)
        assert (await connection.response())[0] == 200


async def test_an_old_client_gets_whole_answers_and_streams_that_end_with_the_connection() -> None:
    async with serving() as served:
        id = await served.open()
        async with raw(served.port) as connection:
            await connection.send(*post(OPEN, version="1.0"), body=OPEN)
            status, headers, _ = await connection.response()
            assert (status, headers["connection"]) == (200, "close")
        async with raw(served.port) as connection:
            body = json.dumps(call()).encode()
            await connection.send(*post(body, f"Mcp-Session-Id: {id}", version="1.0"), body=body)
            exchange = await served.engine.next()
            exchange.notify("n", b"1")
            exchange.reply(b"2")
            head, _, events = (await connection.rest()).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert events == (
        b'event: message\ndata: {"jsonrpc":"2.0","method":"n","params":1}\n\n'
        b'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":2}\n\n'
    )


async def test_a_client_that_waits_for_permission_gets_it() -> None:
    async with serving() as served, raw(served.port) as connection:
        await connection.send(*post(OPEN, "Expect: 100-Continue"))
        assert await connection.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await connection.send_bytes(OPEN)
        assert (await connection.response())[0] == 200


async def test_a_client_that_waits_for_permission_in_vain_is_told_at_once() -> None:
    async with serving(token="t") as served, raw(served.port) as connection:
        await connection.send(*post(OPEN, "Expect: 100-continue"))
        assert (await connection.response())[0] == 401
        assert await connection.rest() == b""


async def test_an_offer_to_upgrade_is_passed_over() -> None:
    async with serving() as served, raw(served.port) as connection:
        offer = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")
        await connection.send(*post(OPEN, *offer), body=OPEN)
        assert (await connection.response())[0] == 200
        await connection.send("GET /health HTTP/1.1", *offer)
        assert (await connection.response())[2] == b'{"status":"ok"}'
        await connection.send(*post(OPEN), body=OPEN)
        assert (await connection.response())[0] == 200


async def test_a_tunnel_is_refused() -> None:
    async with serving() as served, raw(served.port) as connection:
        await connection.send("CONNECT example.org:443 HTTP/1.1")
        assert (await connection.response())[0] == 405
        assert await connection.rest() == b""


async def test_empty_lines_before_a_request_are_passed_over() -> None:
    async with serving() as served, raw(served.port) as connection:
        await connection.send_bytes(b"\r\n")
        await connection.send("GET /health HTTP/1.1")
        assert (await connection.response())[0] == 200


async def test_a_head_of_many_parts_may_be_as_large_as_one_of_one_part() -> None:
    async with serving() as served, raw(served.port) as connection:
        await connection.send_bytes(b"GET /health HTTP/1.1\r\n")
        for number in range(12):
            await connection.send_bytes(b"x-%d: " % number + b"y" * 5000 + b"\r\n")
            await anyio.lowlevel.checkpoint()
        await connection.send_bytes(b"host: localhost\r\n\r\n")
        assert (await connection.response())[0] == 200


async def test_trailers_without_end_are_cut_off() -> None:
    lines = ("POST /mcp HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked")
    async with serving() as served, raw(served.port) as connection:
        await connection.send(*lines, body=b"1\r\n1\r\n0\r\n" + b"x: yyyy\r\n" * 20_000)
        assert (await connection.response())[0] == 431


async def test_a_body_that_says_it_is_too_large_is_not_read() -> None:
    async with serving() as served, raw(served.port) as connection:
        line = f"Content-Length: {BIG}"
        await connection.send("POST /mcp HTTP/1.1", "Content-Type: application/json", line)
        status, headers, body = await connection.response()
    assert (status, headers["connection"]) == (413, "close")
    assert json.loads(body)["error"]["message"] == (
        "the request body is larger than 16777216 bytes; send less in one message"
    )


async def test_a_body_that_turns_out_too_large_is_refused_and_not_kept() -> None:
    async with serving() as served:

        async def chunks() -> object:
            for _ in range(17):
                yield b" " * 1024 * 1024

        response = await served.client.post(
            served.url, content=chunks(), headers={"content-type": "application/json"}
        )
    assert response.status_code == 413


async def test_a_large_argument_passes() -> None:
    engine = FakeEngine()
    async with serving(engine) as served, anyio.create_task_group() as tasks:
        id = await served.open()
        text = "x" * (8 * 1024 * 1024)

        async def play() -> None:
            exchange = await served.engine.next()
            exchange.reply(exchange.params["arguments"])

        tasks.start_soon(play)
        response = await served.post(call("t", {"text": text}), mcp_session_id=id)
    assert response.json()["result"] == {"text": text}


async def test_a_head_without_end_is_cut_off() -> None:
    async with serving() as served:
        for start in (b"GET /" + b"a" * 70_000, b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000):
            async with raw(served.port) as connection:
                await connection.send_bytes(start)
                assert (await connection.response())[0] == 431
                assert await connection.rest() == b""
        lines = b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 40_000
        async with raw(served.port) as connection:
            await connection.send_bytes(lines)
            assert (await connection.response())[0] == 431


@pytest.mark.parametrize(
    "nonsense",
    [b"\x16\x03\x01\x02\x00", b"hello\r\n\r\n", b"GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n"],
)
async def test_what_is_no_http_is_answered_and_closed(nonsense: bytes) -> None:
    async with serving() as served, raw(served.port) as connection:
        await connection.send_bytes(nonsense)
        status, _, body = await connection.response()
        assert (status, await connection.rest()) == (400, b"")
    assert json.loads(body)["error"]["message"] == "this is no HTTP/1.1 request"


async def test_nonsense_behind_a_request_does_not_spoil_its_answer() -> None:
    async with serving() as served, raw(served.port) as connection:
        id = await served.open()
        body = json.dumps(call()).encode()
        await connection.send(*post(body, f"Mcp-Session-Id: {id}"), body=body + b"\x00\x01")
        exchange = await served.engine.next()
        await connection.send_bytes(b"more")
        exchange.reply(b"{}")
        status, headers, _ = await connection.response()
        assert (status, headers["connection"]) == (200, "close")
        assert await connection.rest() == b""


async def test_the_rest_of_a_refused_body_is_read_before_the_next_request() -> None:
    async with serving() as served, raw(served.port) as connection:
        body = b"x" * 200_000
        lines = ("POST /mcp HTTP/1.1", "Content-Type: text/plain", f"Content-Length: {len(body)}")
        await connection.send(*lines)
        assert (await connection.response())[0] == 415
        await connection.send_bytes(body)
        await connection.send(*post(OPEN), body=OPEN)
        assert (await connection.response())[0] == 200


async def test_a_refused_client_may_finish_sending_before_it_is_closed() -> None:
    async with serving(token="t") as served, raw(served.port) as connection:
        await connection.send(*post(b"x" * 20))
        assert (await connection.response())[0] == 401
        await connection.send_bytes(b"x" * 20)
        assert await connection.rest() == b""


async def test_a_bug_costs_one_request_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = FakeEngine()
    monkeypatch.setattr(engine, "open_session", None)
    async with serving(engine) as served, raw(served.port) as connection:
        await connection.send(*post(OPEN), body=OPEN)
        status, _, body = await connection.response()
        assert (status, json.loads(body)["error"]["code"]) == (500, -32603)
        await connection.send("GET /health HTTP/1.1")
        assert (await connection.response())[0] == 200
    assert "event=bug method=POST" in caplog.text


async def test_a_bug_before_the_body_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reader, "Headers", None)
    async with serving() as served, raw(served.port) as connection:
        await connection.send("GET /health HTTP/1.1")
        assert (await connection.response())[0] == 500
    assert "event=bug" in caplog.text


async def test_a_client_that_reads_slowly_loses_old_notifications_and_nothing_else() -> None:
    async with serving() as served:
        id = await served.open()
        async with raw(served.port) as connection:
            body = json.dumps(call()).encode()
            await connection.send(*post(body, f"Mcp-Session-Id: {id}"), body=body)
            exchange = await served.engine.next()
            padding = "x" * 10_000
            for number in range(3000):
                exchange.notify("n", json.dumps({"number": number, "x": padding}).encode())
            exchange.session.ask("roots/list", b"", exchange.channel, lambda *_: None)
            exchange.reply(b"{}")
            read = await connection.until(b"0\r\n\r\n")
    frames = [json.loads(line[6:]) for line in read.split(b"\n") if line.startswith(b"data: ")]
    numbers = [frame["params"]["number"] for frame in frames if frame.get("method") == "n"]
    assert numbers == sorted(numbers)
    assert numbers[0] == 0
    assert len(numbers) < 3000
    assert numbers[-998:] == list(range(2002, 3000))
    assert [frame.get("method", frame.get("id")) for frame in frames[-2:]] == [
        "roots/list",
        1,
    ]


async def test_a_client_that_reads_no_answers_is_served_no_further() -> None:
    engine = FakeEngine(replies={"initialize": {"x": "x" * 20_000_000}})
    async with serving(engine) as served:
        async with raw(served.port) as connection:
            lines = "\r\n".join((*post(OPEN), "Host: localhost", "", "")).encode()
            await connection.send_bytes((lines + OPEN) * 3)
            await engine.until(lambda: engine.sessions)
            assert (await served.client.get(served.url.replace("/mcp", "/health"))).json()
            assert len(engine.sessions) == 1
            for _ in range(3):
                assert (await connection.response())[0] == 200
    assert len(engine.sessions) == 3


async def test_a_silent_connection_is_closed_and_a_busy_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "TICK", 0.0)
    async with serving() as served:
        id = await served.open()
        async with raw(served.port) as silent, raw(served.port) as busy:
            body = json.dumps(call()).encode()
            await busy.send(*post(body, f"Mcp-Session-Id: {id}"), body=body)
            exchange = await served.engine.next()
            monkeypatch.setattr(http, "KEEP_ALIVE", 0.0)
            assert await silent.rest() == b""
            exchange.reply(b"{}")
            assert (await busy.response())[0] == 200


async def test_whitespace_around_header_values_does_not_count() -> None:
    engine = FakeEngine(replies={"tools/call": {}})
    async with serving(engine) as served, raw(served.port) as connection:
        message = call("a")
        body = json.dumps(modern(message)).encode()
        lines = [
            f"{key.replace('_', '-')}: \t {value} \t" for key, value in routed(message).items()
        ]
        await connection.send(*post(body, *lines), body=body)
        assert (await connection.response())[0] == 200


async def test_ping_after_ping_shares_one_connection() -> None:
    engine = FakeEngine()
    engine.replies["ping"] = {}
    async with serving(engine) as served:
        id = await served.open()
        for number in range(5):
            response = await served.post(request("ping", id=number), mcp_session_id=id)
            assert response.json()["id"] == number
        pool = served.client._transport._pool  # what else would say it
        assert len(pool.connections) == 1
