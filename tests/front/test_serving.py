"""Starting and stopping, the cap on sessions, and what happens with time."""

import errno
import json
import signal
import socket
from typing import Any

import anyio
import pytest
from tests.front.fake_engine import (
    Events,
    FakeEngine,
    Served,
    call,
    initialize,
    modern,
    post,
    raw,
    request,
    routed,
    serving,
)

from toolpick.errors import GatewayError
from toolpick.front import http, listening, sessions
from toolpick.front.http import serve_http


async def start(**options: Any) -> None:
    settings = {"host": "127.0.0.1", "port": 0, "token": None, "max_sessions": 1, **options}
    await serve_http(FakeEngine(), **settings)


async def test_a_free_port_is_told() -> None:
    async with serving() as served:
        assert served.url == f"http://127.0.0.1:{served.port}/mcp"
        assert served.port != 0


async def test_a_taken_port_is_an_error_that_says_so() -> None:
    async with serving() as served:
        with pytest.raises(GatewayError) as caught:
            await start(port=served.port)
    assert str(caught.value) == (
        f"http: port {served.port} of '127.0.0.1' is taken by another program; choose another port"
    )


async def test_an_unknown_host_is_an_error_that_says_so() -> None:
    with pytest.raises(GatewayError, match=r"http: 'no\.such\.host\.invalid' is no address"):
        await start(host="no.such.host.invalid", token="t")


async def test_an_address_of_another_machine_is_an_error_that_says_so() -> None:
    with pytest.raises(GatewayError, match=r"http: can't listen on '192\.0\.2\.1', port 0: "):
        await start(host="192.0.2.1", token="t")


async def test_a_port_that_is_not_allowed_is_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(listening, "_bind", refuse)
    with pytest.raises(GatewayError) as caught:
        await start(port=80)
    assert str(caught.value) == (
        "http: port 80 of '127.0.0.1' is not allowed; choose one above 1023"
    )


async def test_a_machine_without_that_address_family_is_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EADDRNOTAVAIL, "no")

    monkeypatch.setattr(listening, "_bind", refuse)
    with pytest.raises(GatewayError, match="no address of '::1' belongs to this machine"):
        await start(host="::1")


async def test_localhost_is_reached_over_both_families() -> None:
    async with serving(host="localhost") as served:
        found = {
            family
            for family, *_ in socket.getaddrinfo("localhost", served.port, type=socket.SOCK_STREAM)
        }
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "[::1]")):
            if family in found:
                url = f"http://{address}:{served.port}/health"
                assert (await served.client.get(url)).status_code == 200


async def test_an_ipv6_address_is_served_and_told_in_brackets() -> None:
    try:
        listening.listen("::1", 0)[0].close()
    except GatewayError:
        pytest.skip("this machine has no IPv6 loopback")
    async with serving(host="::1") as served:
        assert served.url == f"http://[::1]:{served.port}/mcp"
        assert await served.open()


async def test_signals_and_stdout_are_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    async with serving() as served:
        await served.open()
        during = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert during == before
    assert capfd.readouterr().out == ""


async def test_stopping_answers_what_is_open_ends_all_streams_and_closes_all_sessions() -> None:
    results: dict[str, Any] = {}
    listen = request("subscriptions/listen")

    async def ask(served: Served, id: str) -> None:
        results["call"] = (await served.post(call(), mcp_session_id=id)).json()["error"]

    async def stream(served: Served, id: str, task_status: Any) -> None:
        async with served.getting(id) as response:
            events = Events(response)
            await events.comment()
            task_status.started()
            results["stream"] = await events.message()

    async def subscribe(served: Served, task_status: Any) -> None:
        async with served.posting(modern(listen), **routed(listen)) as response:
            events = Events(response)
            results["subscribed"] = (await events.message())["method"]
            task_status.started()
            results["unsubscribed"] = (await events.message())["error"]

    async with serving() as served, raw(served.port) as idle:
        id = await served.open()
        await served.open()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, served, id)
            await served.engine.next()
            await tasks.start(stream, served, id)
            served.engine.replies["subscriptions/listen"] = None
            tasks.start_soon(acknowledge, served)
            await tasks.start(subscribe, served)
            served.stop()
        assert await idle.rest() == b""
        with anyio.fail_after(5):
            await served.stopped.wait()
        with pytest.raises(OSError, match="connect"):
            await anyio.connect_tcp("127.0.0.1", served.port)
        stopping = {"code": -32000, "message": "the gateway is stopping"}
        assert results == {
            "call": stopping,
            "stream": None,
            "subscribed": "acknowledged",
            "unsubscribed": stopping,
        }
        assert sorted(served.engine.cancelled) == [
            ("subscriptions/listen", "the gateway is stopping"),
            ("tools/call", "the gateway is stopping"),
        ]
        assert set(map(id_of, served.engine.closed)) == set(map(id_of, served.engine.sessions))


async def acknowledge(served: Served) -> None:
    (await served.engine.next()).notify("acknowledged", b"{}")


def id_of(session: object) -> int:
    return id(session)


async def test_a_client_that_never_reads_does_not_hold_up_the_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "GRACE", 0.01)
    engine = FakeEngine(replies={"initialize": {"x": "x" * 20_000_000}})
    async with serving(engine) as served, raw(served.port) as connection:
        body = b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'
        await connection.send(*post(body), body=body)
        await engine.until(lambda: engine.sessions)
        served.stop()
        with anyio.fail_after(5):
            await served.stopped.wait()


async def test_requests_that_come_while_stopping_are_refused() -> None:
    engine = FakeEngine(may_close=anyio.Event())
    async with serving(engine) as served, raw(served.port) as connection:
        id = await served.open()
        await connection.send("GET /health HTTP/1.1")
        await connection.response()
        served.stop()
        await engine.until(lambda: engine.closed)
        body = json.dumps(request("ping")).encode()
        await connection.send(*post(body, f"Mcp-Session-Id: {id}"), body=body)
        status, headers, answer = await connection.response()
        engine.may_close.set()
    assert (status, headers["connection"]) == (503, "close")
    assert json.loads(answer)["error"]["message"] == "the gateway is stopping"


async def test_a_client_that_leaves_while_its_session_is_being_ended_harms_nobody() -> None:
    engine = FakeEngine(may_close=anyio.Event())
    async with serving(engine) as served:
        id = await served.open()
        async with raw(served.port) as connection:
            await connection.send("DELETE /mcp HTTP/1.1", f"Mcp-Session-Id: {id}")
            await engine.until(lambda: engine.closed)
        assert (await served.post(request("ping"), mcp_session_id=id)).status_code == 404
        engine.may_close.set()
        assert await served.open()


async def test_a_call_that_is_silent_for_long_becomes_a_stream_with_signs_of_life(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "TICK", 0.0)
    async with serving() as served:
        id = await served.open()
        async with served.posting(call(), mcp_session_id=id) as response:
            events = Events(response)
            await events.comment()
            await events.comment()
            (await served.engine.next()).reply(b"{}")
            assert (await events.message())["result"] == {}


async def test_a_client_without_streams_waits_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TICK", 0.0)
    async with serving() as served, anyio.create_task_group() as tasks:
        id = await served.open()
        responses = []

        async def ask() -> None:
            responses.append(
                await served.post(call(), mcp_session_id=id, accept="application/json")
            )

        tasks.start_soon(ask)
        exchange = await served.engine.next()
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        exchange.reply(b"{}")
    assert responses[0].json()["result"] == {}


async def test_a_silent_stream_of_a_session_gets_signs_of_life(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "TICK", 0.0)
    async with serving() as served:
        async with served.getting(await served.open()) as response:
            events = Events(response)
            for _ in range(3):
                await events.comment()


async def test_an_idle_session_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TICK", 0.0)
    engine = FakeEngine()
    async with serving(engine, idle=0.0) as served:
        id = await served.open()
        await engine.until(lambda: engine.closed)
        assert (await served.post(request("ping"), mcp_session_id=id)).status_code == 404


async def test_when_all_sessions_are_in_use_a_new_client_is_told_to_come_back() -> None:
    async with serving(max_sessions=2) as served:
        for _ in range(2):
            await served.open()
        response = await served.post(initialize(id=5))
    assert (response.status_code, response.headers["retry-after"]) == (503, "30")
    assert response.json()["error"]["message"] == "all 2 sessions are in use; try again later"
    assert response.json()["id"] == 5


async def test_a_session_that_nobody_uses_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "EVICTABLE", 0.0)
    monkeypatch.setattr(sessions, "UNSPOKEN", 0.0)
    engine = FakeEngine()
    async with serving(engine, max_sessions=3) as served:
        ids = [await served.open() for _ in range(3)]
        await served.post({"jsonrpc": "2.0", "method": "n"}, mcp_session_id=ids[1])
        async with served.getting(ids[0]) as stream:
            await Events(stream).comment()
            await served.open()
            await engine.until(lambda: engine.closed)
            assert engine.closed == [engine.sessions[2]]
