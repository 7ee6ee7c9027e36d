"""Streamable HTTP: what is posted, what is handed on, what is said when there is no answer."""

import json

import anyio
import pytest
from anyio.abc import SocketStream
from tests.wire.raw_http import Asked, listening, serving, unused_port
from tests.wire.recorder import Recorder
from tests.wire.wires import INITIALIZED, SESSION, greet, in_session, note, send, wired

from toolpick import __version__
from toolpick.wire import endpoint, http
from toolpick.wire.http import HttpWire
from toolpick.wire.wire import Outgoing

GONE = "no longer knows the session"


def only(headers: dict[str, str]) -> dict[str, str]:
    """The headers that say something; those of every HTTP client left out."""
    usual = {"host", "accept-encoding", "connection", "user-agent", "content-length"}
    return {name: value for name, value in headers.items() if name not in usual}


# -- what is sent


async def test_a_request_is_posted_as_it_is_and_its_answer_handed_on_as_it_came():
    answer = b'{"jsonrpc":"2.0",  "id":7,"result":{"n":1.0,"big":123456789012345678901,"z":null}}'

    async def handler(asked: Asked) -> None:
        await asked.answer(200, answer, "application/json; charset=utf-8")

    frame = b'{"jsonrpc":"2.0", "id":7, "method":"tools/call","params":{"x":1e2}}'
    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        wire.send(frame, Outgoing(7, "tools/call"))
        assert await recorder.first(1) == [("received", answer, 7)]
        assert [asked.body for asked in server.asked] == [frame]


async def test_legacy_requests_carry_session_and_version_once_they_are_known():
    async def handler(asked: Asked) -> None:
        if not await greet(asked):
            await asked.result({})

    async with serving(handler) as server:
        async with wired(server.url, headers={"Authorization": "Bearer x"}) as (wire, recorder):
            await in_session(wire, recorder)
            send(wire, 2, name="tool", Mcp_Param_Region="eu")
            await recorder.first(1)
        every = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "authorization": "Bearer x",
        }
        later = {**every, "mcp-session-id": SESSION, "mcp-protocol-version": "2025-06-18"}
        assert [(asked.rpc, only(asked.headers)) for asked in server.asked] == [
            ("initialize", every),
            ("notifications/initialized", later),
            ("tools/call", {**later, "mcp-param-region": "eu"}),
            ("DELETE", later),
        ]


async def test_modern_requests_carry_method_and_name_and_no_session():
    async def handler(asked: Asked) -> None:
        await asked.result({}, mcp_session_id="not-now")

    async with serving(handler) as server:
        async with wired(server.url, "2026-07-28") as (wire, recorder):
            send(wire, 1, name="größe")
            send(wire, 2, "tools/list")
            await recorder.first(2)
        every = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": "2026-07-28",
        }
        found = sorted(
            ((asked.message["id"], only(asked.headers)) for asked in server.asked),
            key=lambda one: one[0],
        )
        assert found == [
            (1, {**every, "mcp-method": "tools/call", "mcp-name": "=?base64?Z3LDtsOfZQ==?="}),
            (2, {**every, "mcp-method": "tools/list"}),
        ]


async def test_the_version_may_come_with_the_request_and_initialize_never_has_that_of_a_probe():
    async def handler(asked: Asked) -> None:
        await asked.result({})

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1, "server/discover", MCP_Protocol_Version="2026-07-28")
        await recorder.first(1)
        wire.version = "2026-07-28"
        send(wire, 2, "initialize")
        await recorder.first(2)
        sent = [
            (asked.rpc, asked.headers.get("mcp-protocol-version"), asked.headers.get("mcp-method"))
            for asked in server.asked
        ]
        assert sent == [
            ("server/discover", "2026-07-28", "server/discover"),
            ("initialize", None, None),
        ]


async def test_requests_wait_until_the_server_has_taken_the_initialized_notification():
    asked_for, gate = anyio.Event(), anyio.Event()

    async def handler(asked: Asked) -> None:
        if asked.rpc == "tools/call":
            await asked.result({})
        else:
            asked_for.set()
            await gate.wait()
            await asked.answer(202)

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        wire.send(INITIALIZED)
        send(wire, 1)
        with anyio.fail_after(5):
            await asked_for.wait()
        await anyio.wait_all_tasks_blocked()
        before = server.log()
        gate.set()
        await recorder.first(1)
        assert (before, server.log()) == (
            ["notifications/initialized"],
            ["notifications/initialized", "tools/call"],
        )


async def test_notifications_keep_their_order_and_do_not_overtake_requests():
    done = anyio.Event()
    expected = ["tools/call", *(f"notifications/n{number}" for number in range(20))]

    async def handler(asked: Asked) -> None:
        if asked.rpc == "tools/call":
            await done.wait()
            await asked.result({})
        else:
            await asked.answer(202)

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1)
        for method in expected[1:]:
            note(wire, method)
        with anyio.fail_after(5):
            while len(server.asked) < len(expected):
                await anyio.wait_all_tasks_blocked()
        done.set()
        await recorder.first(1)
        assert server.log() == expected


async def test_a_notification_that_nobody_takes_does_not_hold_the_next_one_for_ever(monkeypatch):
    monkeypatch.setattr("toolpick.wire.outbox.ORDERLY", 0.01)
    came = anyio.Event()

    async def handler(asked: Asked) -> None:
        if asked.rpc == "notifications/cancelled":
            came.set()
        await anyio.sleep_forever()

    async with serving(handler) as server, wired(server.url) as (wire, _):
        note(wire, "notifications/progress")
        note(wire, "notifications/cancelled")
        with anyio.fail_after(5):
            await came.wait()
        assert server.log() == ["notifications/progress", "notifications/cancelled"]


async def test_a_hundred_calls_run_at_once():
    everyone = anyio.Event()
    waiting = 0

    async def handler(asked: Asked) -> None:
        nonlocal waiting
        waiting += 1
        if waiting == 100:
            everyone.set()
        await everyone.wait()
        await asked.result({})

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        for id in range(100):
            send(wire, id)
        heard = await recorder.first(100)
        expected = [
            ("received", b'{"jsonrpc": "2.0", "id": %d, "result": {}}' % id, id)
            for id in range(100)
        ]
        assert sorted(heard, key=lambda call: call[2]) == expected


# -- what comes back that is no answer


@pytest.mark.parametrize(
    ("status", "kind", "body", "reason"),
    [
        (202, "text/plain", b"", "answered with HTTP status 202 and nothing else"),
        (200, "text/html", b"<p>Hi\n there", "sent text/html that is no answer: Hi there"),
        (200, "", b"", "sent something that is no answer: "),
        (500, "text/plain", b"", "answered with HTTP status 500"),
        (
            502,
            "text/html",
            b"<!doctype html>\n<style>p {}</style><h1>Bad\ngateway</h1><p>Sorry.</p>",
            "answered with HTTP status 502: Bad gateway Sorry.",
        ),
        (502, "text/html", b"x" * 999, f"answered with HTTP status 502: {'x' * 200}"),
        (502, "text/html", b"x" * 99_999, f"answered with HTTP status 502: {'x' * 200}"),
        (
            401,
            "text/plain",
            b"who?",
            "answered with HTTP status 401: who?; check the headers in the settings",
        ),
        (
            404,
            "text/plain",
            b"",
            "answered with HTTP status 404; check the url and the transport in the settings",
        ),
        (304, "text/plain", b"", "answered with HTTP status 304"),
    ],
)
async def test_a_request_without_an_answer_is_dropped_with_what_was_said(
    status: int, kind: str, body: bytes, reason: str
):
    async def handler(asked: Asked) -> None:
        await asked.answer(status, body, kind)

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 3)
        assert await recorder.first(1) == [("dropped", 3, reason, False)]


async def test_json_that_is_another_answer_is_handed_on_and_the_request_dropped():
    other = b'{"jsonrpc":"2.0","id":99,"result":{}}'

    async def handler(asked: Asked) -> None:
        await asked.answer(200, other)

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 3)
        reason = f"sent application/json that is no answer: {other.decode()}"
        assert await recorder.first(2) == [
            ("received", other, 3),
            ("dropped", 3, reason, False),
        ]


@pytest.mark.parametrize("status", [200, 400, 404, 500])
@pytest.mark.parametrize("id", [b"null", b'"server-error"', b"5", b'"5"'])
async def test_an_error_is_handed_on_as_the_answer_whatever_the_status(status: int, id: bytes):
    error = b'{"code":-32601,"message":"no","data":{"x":1.0}}'

    async def handler(asked: Asked) -> None:
        await asked.answer(status, b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id, error))

    async with serving(handler) as server, wired(server.url, "2026-07-28") as (wire, recorder):
        send(wire, 5)
        [(name, frame, origin)] = await recorder.first(1)
        assert (name, origin, json.loads(frame)) == (
            "received",
            5,
            {
                "jsonrpc": "2.0",
                "id": 5 if status > 200 or id != b'"5"' else "5",
                "error": json.loads(error),
            },
        )
        assert error in frame


async def test_bad_utf8_and_text_in_front_are_left_to_the_peer():
    body = b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}'

    async def handler(asked: Asked) -> None:
        await asked.answer(200, body)

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1)
        assert await recorder.first(1) == [("received", body, 1)]


async def test_a_body_that_is_too_large_drops_its_request(monkeypatch):
    monkeypatch.setattr(endpoint, "MAX_FRAME", 100)

    async def handler(asked: Asked) -> None:
        await asked.answer(200, b"[" + b"1," * 100)

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1)
        reason = "sent a message of more than 100 bytes"
        assert await recorder.first(1) == [("dropped", 1, reason, False)]


async def test_what_answers_a_notification_is_not_waited_for_nor_believed():
    async def handler(asked: Asked) -> None:
        if asked.rpc == "notifications/odd":
            await asked.answer(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}')
        elif asked.rpc == "notifications/empty":
            await asked.answer(200, b"")
        else:
            await asked.result({})

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        note(wire, "notifications/odd")
        note(wire, "notifications/empty")
        send(wire, 1)
        await recorder.first(1)
        with anyio.fail_after(5):
            while len(server.asked) < 3:
                await anyio.wait_all_tasks_blocked()
    assert [call[0] for call in recorder.heard] == ["received"]


# -- when the connection fails


async def test_a_refused_connection_drops_the_request_and_loses_the_wire():
    port = await unused_port()
    async with wired(f"http://127.0.0.1:{port}/mcp?key=s3cret") as (wire, recorder):
        send(wire, 1)
        reason = f"can't be reached at 127.0.0.1:{port}: connection refused"
        heard = await recorder.first(2)
        send(wire, 2)
    assert heard == [("dropped", 1, reason, False), ("lost", reason)]


async def test_a_name_that_does_not_exist_is_told():
    async with wired("http://nowhere.invalid/mcp") as (wire, recorder):
        send(wire, 1)
        heard = await recorder.first(2)
    assert [call[0] for call in heard] == ["dropped", "lost"]
    assert heard[1][1].startswith("can't be reached at nowhere.invalid: ")


async def test_a_server_that_speaks_no_tls_is_told():
    async def plain(stream: SocketStream) -> None:
        async with stream:
            await stream.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with listening(plain) as port, wired(f"https://127.0.0.1:{port}/") as (wire, recorder):
        send(wire, 1)
        [(_, id, reason, gone), loss] = await recorder.first(2)
        assert (id, gone, loss) == (1, False, ("lost", reason))
        assert reason.startswith(f"can't be reached at 127.0.0.1:{port}: [SSL")


async def test_a_server_that_accepts_and_says_nothing_cannot_be_reached_in_time():
    async def silent(stream: SocketStream) -> None:
        async with stream:
            await anyio.sleep_forever()

    recorder = Recorder()
    async with listening(silent) as port:
        wire = HttpWire(f"https://127.0.0.1:{port}/", {}, timeout=0.05)
        await wire.start(recorder)
        send(wire, 1)
        heard = await recorder.first(2)
        await wire.close()
    reason = f"can't be reached at 127.0.0.1:{port} within 0.05 s"
    assert heard == [("dropped", 1, reason, False), ("lost", reason)]


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"", "broke the connection: Server disconnected without sending a response."),
        (
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
            "broke the connection: peer closed connection without sending complete message body "
            "(received 1 bytes, expected 9)",
        ),
        (b"what is this\r\n\r\n", "broke the connection: illegal status line: "),
    ],
)
async def test_a_torn_connection_drops_its_request_and_nothing_else(head: bytes, reason: str):
    async def handler(asked: Asked) -> None:
        if asked.message["id"] == 1:
            await asked.write(head)
            await asked.tear()
        else:
            await asked.result({})

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1)
        [(name, id, said, gone)] = await recorder.first(1)
        send(wire, 2)
        heard = await recorder.first(2)
        assert (name, id, said[: len(reason)], gone) == ("dropped", 1, reason, False)
        assert heard[1:] == [("received", b'{"jsonrpc": "2.0", "id": 2, "result": {}}', 2)]


async def test_no_header_value_or_secret_of_the_url_is_ever_quoted():
    headers = {"Authorization": "Bearer t0ken-abc", "X-Key": "s3cret-key"}

    async def handler(asked: Asked) -> None:
        echo = json.dumps([asked.headers, asked.path]).encode()
        await asked.answer(403, echo, "text/plain")

    async with serving(handler) as server:
        url = f"http://user:passw0rd@127.0.0.1:{server.port}/mcp?api_key=qu3ry%21"
        async with wired(url, headers=headers) as (wire, recorder):
            send(wire, 1)
            [(*_, reason, _)] = await recorder.first(1)
    secrets = ["t0ken-abc", "s3cret-key", "passw0rd", "qu3ry%21", "qu3ry!", "Bearer"]
    assert [secret for secret in secrets if secret in reason] == []
    assert reason.startswith("answered with HTTP status 403: [{")


async def test_a_value_that_http_cannot_carry_is_not_quoted_either():
    async def handler(asked: Asked) -> None:
        await asked.result({})

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1, X_Odd="line\nend")
        send(wire, 2)
        heard = sorted(await recorder.first(2), key=lambda call: call[0])
        assert heard == [
            ("dropped", 1, "was sent a request that HTTP can't carry", False),
            ("received", b'{"jsonrpc": "2.0", "id": 2, "result": {}}', 2),
        ]


async def test_a_bug_on_the_way_fails_one_request_and_is_logged(caplog):
    class Broken(Recorder):
        def received(self, frame: bytes, origin: int | None) -> None:
            raise KeyError("a bug")

    async def handler(asked: Asked) -> None:
        await asked.result({})

    recorder = Broken()
    async with serving(handler) as server:
        wire = HttpWire(server.url, {})
        await wire.start(recorder)
        send(wire, 1)
        with anyio.fail_after(5):
            while wire._outbox.requests:
                await anyio.wait_all_tasks_blocked()
        await wire.close()
    assert [record.getMessage() for record in caplog.records if record.exc_info] == [
        "event=bug bytes=46"
    ]


@pytest.mark.parametrize(
    ("url", "headers", "reason"),
    [
        ("ftp://host/mcp", {}, "the URL is no http or https URL"),
        ("http://", {}, "the URL is no http or https URL"),
        ("http://[::1/mcp", {}, "the URL is no http or https URL"),
        ("http://host:99999/", {}, "the URL is no http or https URL"),
        ("http://host/", {"X Y": "a"}, "header name 'X Y' is no HTTP token"),
        (
            "http://host/",
            {"X-Y": "s3cret\n"},
            "the value of header 'X-Y' holds what HTTP can't carry, such as a line end",
        ),
        (
            "http://host/",
            {"X-Y": "schlüssel"},
            "the value of header 'X-Y' holds what HTTP can't carry, such as a line end",
        ),
    ],
)
async def test_settings_that_cannot_work_fail_the_start(url: str, headers, reason: str):
    with pytest.raises(OSError, match=r".") as caught:
        await HttpWire(url, headers).start(Recorder())
    assert str(caught.value) == reason


async def test_a_proxy_from_the_environment_is_used(monkeypatch):
    async def handler(asked: Asked) -> None:
        await asked.result({})

    async with serving(handler) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with wired("http://server.invalid/mcp") as (wire, recorder):
            send(wire, 1)
            await recorder.first(1)
        assert [asked.path for asked in proxy.asked] == ["http://server.invalid/mcp"]


async def test_no_proxy_is_asked_for_this_machine(monkeypatch):
    async def handler(asked: Asked) -> None:
        await asked.result({})

    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{await unused_port()}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with serving(handler) as server:
        for host in ("127.0.0.1", "localhost"):
            async with wired(f"http://{host}:{server.port}/mcp") as (wire, recorder):
                send(wire, 1)
                assert [call[0] for call in await recorder.first(1)] == ["received"]
        assert [asked.path for asked in server.asked] == ["/mcp", "/mcp"]


@pytest.mark.parametrize(
    ("headers", "expected"), [({}, f"toolpick/{__version__}"), ({"User-Agent": "mine"}, "mine")]
)
async def test_servers_are_told_who_asks(headers: dict[str, str], expected: str):
    async def handler(asked: Asked) -> None:
        await asked.result({})

    async with serving(handler) as server, wired(server.url, headers=headers) as (wire, recorder):
        send(wire, 1)
        await recorder.first(1)
        assert [asked.headers["user-agent"] for asked in server.asked] == [expected]


# -- redirects


async def test_a_redirect_within_the_origin_is_followed_and_remembered():
    async def handler(asked: Asked) -> None:
        if asked.path == "/mcp":
            await asked.answer(307, location="/mcp/")
        else:
            await asked.result({})

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1)
        await recorder.first(1)
        send(wire, 2)
        await recorder.first(2)
        assert [(asked.path, asked.rpc) for asked in server.asked] == [
            ("/mcp", "tools/call"),
            ("/mcp/", "tools/call"),
            ("/mcp/", "tools/call"),
        ]


@pytest.mark.parametrize(
    ("status", "location", "reason"),
    [
        (
            308,
            "http://other.invalid:81/mcp?key=s3cret",
            "redirects to http://other.invalid:81/mcp, which is another origin; "
            "use that URL if it is the server's",
        ),
        (
            302,
            "http://127.0.0.1:{port}/login",
            "redirects to http://127.0.0.1:{port}/login with status 302, which loses the message; "
            "use that URL",
        ),
        (307, "/mcp", "redirects more than 3 times"),
        (307, "http://host:port/", "redirects to something that is no URL"),
    ],
)
async def test_other_redirects_are_refused(status: int, location: str, reason: str):
    async def handler(asked: Asked) -> None:
        await asked.answer(status, location=location.format(port=server.port))

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        send(wire, 1)
        expected = reason.format(port=server.port)
        assert await recorder.first(1) == [("dropped", 1, expected, False)]


# -- the end of a session


def forgetful(status: int, body: bytes = b"", kind: str = "text/plain"):
    async def handler(asked: Asked) -> None:
        if not await greet(asked):
            await asked.answer(status, body, kind)

    return handler


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b""),
        (404, b'{"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"session not found"}}'),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid Session"}}'),
        (400, b"Bad Request: Server not initialized"),
    ],
)
async def test_a_forgotten_session_loses_the_wire_once_for_all_requests(status: int, body: bytes):
    async with serving(forgetful(status, body)) as server:
        async with wired(server.url) as (wire, recorder):
            await in_session(wire, recorder)
            for id in range(2, 7):
                send(wire, id)
            heard = sorted(await recorder.first(6), key=str)
        assert [*(("dropped", id, GONE, True) for id in range(2, 7)), ("lost", GONE)] == heard
        assert server.log().count("DELETE") == 0
    assert len(recorder.heard) == 6


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (404, -32601, "no such method: session/what"),
        (400, -32602, "the argument session is missing"),
        (400, -32000, "something else"),
        (500, -32603, "no session"),
    ],
)
async def test_an_error_of_the_method_is_no_forgotten_session(status: int, code: int, message: str):
    error = {"code": code, "message": message}
    body = json.dumps({"jsonrpc": "2.0", "id": 2, "error": error}).encode()
    async with serving(forgetful(status, body)) as server:
        async with wired(server.url) as (wire, recorder):
            await in_session(wire, recorder)
            send(wire, 2)
            [(name, frame, origin)] = await recorder.first(1)
            assert (name, json.loads(frame)["error"], origin) == ("received", error, 2)


async def test_requests_whose_fate_is_unknown_delay_the_loss_for_a_bounded_time(monkeypatch):
    monkeypatch.setattr(http, "GONE_GRACE", 0.01)
    hanging = anyio.Event()

    async def handler(asked: Asked) -> None:
        if await greet(asked):
            return
        if asked.message["id"] == 2:
            hanging.set()
            await asked.hang_up()
        else:
            await asked.answer(404)

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        await in_session(wire, recorder)
        send(wire, 2)
        with anyio.fail_after(5):
            await hanging.wait()
        send(wire, 3)
        assert await recorder.first(2) == [("dropped", 3, GONE, True), ("lost", GONE)]


async def test_a_request_after_the_session_is_gone_is_not_sent(monkeypatch):
    hanging = anyio.Event()

    async def handler(asked: Asked) -> None:
        if await greet(asked):
            return
        if asked.message["id"] == 2:
            hanging.set()
            await asked.hang_up()
        else:
            await asked.answer(404)

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        await in_session(wire, recorder)
        send(wire, 2)
        with anyio.fail_after(5):
            await hanging.wait()
        send(wire, 3)
        await recorder.first(1)
        send(wire, 4)
        assert (await recorder.first(2))[:2] == [
            ("dropped", 3, GONE, True),
            ("dropped", 4, GONE, True),
        ]
        assert [asked.message["id"] for asked in server.asked if asked.rpc == "tools/call"] == [
            2,
            3,
        ]


async def test_a_notification_can_find_the_session_gone():
    async def handler(asked: Asked) -> None:
        if asked.rpc == "notifications/progress":
            await asked.answer(404)
        else:
            await greet(asked)

    async with serving(handler) as server, wired(server.url) as (wire, recorder):
        await in_session(wire, recorder)
        note(wire, "notifications/progress")
        assert await recorder.first(1) == [("lost", GONE)]


# -- giving up, and closing


@pytest.mark.parametrize(("version", "told"), [("2026-07-28", True), ("2025-06-18", False)])
async def test_an_abandoned_request_has_its_stream_closed(monkeypatch, version: str, told: bool):
    monkeypatch.setattr(http, "ABANDON_GRACE", 0.01)
    started, closed = anyio.Event(), anyio.Event()

    async def handler(asked: Asked) -> None:
        await asked.stream()
        started.set()
        await asked.hang_up()
        closed.set()

    async with serving(handler) as server, wired(server.url, version) as (wire, recorder):
        send(wire, 1)
        with anyio.fail_after(5):
            await started.wait()
        assert wire.abandon(1) is told
        with anyio.fail_after(5):
            await closed.wait()
        assert wire.abandon(1) is told
    assert recorder.heard == []


async def test_a_request_that_was_not_sent_yet_is_taken_back():
    async def handler(asked: Asked) -> None:
        await asked.result({})

    async with serving(handler) as server, wired(server.url, "2025-06-18") as (wire, recorder):
        send(wire, 1)
        assert wire.abandon(1)
        send(wire, 2)
        await recorder.first(1)
        assert [asked.message["id"] for asked in server.asked] == [2]


async def test_closing_ends_the_session_but_does_not_wait_long_for_that(monkeypatch):
    monkeypatch.setattr(http, "FAREWELL", 0.01)

    async def handler(asked: Asked) -> None:
        if asked.rpc == "DELETE":
            await anyio.sleep_forever()
        await greet(asked)

    async with serving(handler) as server:
        async with wired(server.url) as (wire, recorder):
            await in_session(wire, recorder)
            with anyio.fail_after(5):
                await wire.close()
                await wire.close()
        assert server.log()[-1] == "DELETE"


async def test_closing_while_cancelled_still_ends_what_runs():
    started, closed = anyio.Event(), anyio.Event()

    async def handler(asked: Asked) -> None:
        started.set()
        await asked.hang_up()
        closed.set()

    async with serving(handler) as server:
        wire = HttpWire(server.url, {})
        await wire.start(Recorder())
        send(wire, 1)
        with anyio.fail_after(5):
            await started.wait()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await wire.close()
        with anyio.fail_after(5):
            await closed.wait()


async def test_nothing_is_sent_before_the_start_or_after_the_end():
    async def handler(asked: Asked) -> None:
        await asked.result({})

    async with serving(handler) as server:
        wire = HttpWire(server.url, {})
        send(wire, 1)
        recorder = Recorder()
        await wire.start(recorder)
        await wire.close()
        send(wire, 2)
        wire.listen()
        assert (server.log(), recorder.heard) == ([], [])
