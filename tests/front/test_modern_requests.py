"""Clients whose requests stand alone, over real sockets."""

import json
from typing import Any

import anyio
import pytest
from tests.front.fake_engine import (
    MODERN,
    Events,
    FakeEngine,
    call,
    initialize,
    messages,
    modern,
    request,
    routed,
    serving,
)

from toolpick.errors import RpcError
from toolpick.model import Era

LIST = request("tools/list")
KEY = "io.modelcontextprotocol/"


async def test_a_request_is_answered_without_a_session() -> None:
    engine = FakeEngine(replies={"tools/list": {"tools": []}})
    async with serving(engine) as served:
        message = modern(LIST, **{KEY + "clientInfo": {"name": "c"}})
        responses = [await served.post(message, **routed(LIST)) for _ in range(2)]
    for response in responses:
        assert response.json() == {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}
        assert "mcp-session-id" not in response.headers
    (session,) = engine.sessions
    assert (session.era, session.version, session.out, session.key) == (
        Era.MODERN,
        MODERN,
        None,
        "",
    )
    assert json.loads(session.client) == {"name": "c"}
    assert engine.closed == [session]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-32601, 404),
        (-32602, 400),
        (-32600, 400),
        (-32021, 400),
        (-32603, 200),
        (-32000, 200),
        (7, 200),
    ],
)
async def test_the_code_of_an_error_decides_the_status(code: int, status: int) -> None:
    error = RpcError(code, "m", b'{"code":%d,"message":"m","data":[1]}' % code)
    async with serving(FakeEngine(replies={"x/y": error})) as served:
        message = request("x/y", id="i")
        response = await served.post(modern(message), **routed(message))
    assert response.status_code == status
    wanted = {"code": code, "message": "m", "data": [1]}
    assert response.json() == {"jsonrpc": "2.0", "id": "i", "error": wanted}


async def refusal(message: Any, **headers: str) -> tuple[int, Any]:
    engine = FakeEngine(replies={"tools/list": {}, "tools/call": {}, "resources/read": {}})
    async with serving(engine) as served:
        response = await served.post(message, **headers)
    if response.status_code == 200:
        return 200, None
    assert response.json()["id"] == (message["id"] if "method" in message else None)
    return response.status_code, response.json()["error"]


@pytest.mark.parametrize(
    ("message", "headers"),
    [
        (modern(LIST), {"mcp_protocol_version": MODERN}),
        (modern(LIST), {"mcp_method": "tools/list"}),
        (modern(LIST), {"mcp_method": "tools/list", "mcp_protocol_version": "2025-11-25"}),
        (modern(LIST, "1999-01-01"), routed(LIST)),
        (modern(LIST, 5), routed(LIST)),
        (modern(LIST), {**routed(LIST), "mcp_method": "TOOLS/LIST"}),
        (modern(call("a")), routed(request("tools/call"))),
        (modern(call("a")), {**routed(call("a")), "mcp_name": "b"}),
        (modern(call("a")), {**routed(call("a")), "mcp_name": "=?base64?YQ?="}),
        (
            modern(request("resources/read", {"uri": 5})),
            routed(request("resources/read"), mcp_name="5"),
        ),
    ],
)
async def test_headers_that_differ_from_the_body_are_refused(
    message: Any, headers: dict[str, str]
) -> None:
    status, error = await refusal(message, **headers)
    assert (status, error["code"]) == (400, -32020)
    assert error["message"].startswith("Header mismatch: ")


@pytest.mark.parametrize(
    ("message", "headers"),
    [
        (modern(LIST), routed(LIST)),
        (modern(call("a")), {**routed(call("a")), "mcp_name": "=?base64?YQ==?="}),
        (modern(request("tools/call", {"name": None})), routed(request("tools/call"))),
        (
            modern(request("resources/read", {"uri": "x:/y"})),
            routed(request("resources/read", {"uri": "x:/y"})),
        ),
    ],
)
async def test_headers_that_repeat_the_body_are_accepted(
    message: Any, headers: dict[str, str]
) -> None:
    assert await refusal(message, **headers) == (200, None)


async def test_a_header_that_appears_twice_is_refused() -> None:
    async with serving() as served:
        pairs = [(key.replace("_", "-"), value) for key, value in routed(LIST).items()]
        response = await served.client.post(
            served.url, json=modern(LIST), headers=[*pairs, ("mcp-method", "tools/list")]
        )
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32020


async def test_an_unknown_version_is_told_which_are_served() -> None:
    status, error = await refusal(modern(LIST, "2031-01-01"), **routed(LIST, "2031-01-01"))
    assert status == 400
    assert error == {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": [MODERN], "requested": "2031-01-01"},
    }


@pytest.mark.parametrize(
    ("params", "missing"),
    [
        (None, "clientCapabilities"),
        ({"_meta": [1]}, "clientCapabilities"),
        ([1], "clientCapabilities"),
        ({"_meta": {KEY + "clientCapabilities": {}}}, "protocolVersion"),
    ],
)
async def test_what_is_missing_in_meta_is_named(params: Any, missing: str) -> None:
    status, error = await refusal(request("tools/list", params), **routed(LIST))
    assert (status, error["code"]) == (400, -32602)
    assert KEY + missing in error["message"]


async def test_notifications_are_accepted_and_go_nowhere() -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    async with serving() as served:
        good = await served.post(note, mcp_protocol_version=MODERN)
        bad = await served.post(note, mcp_protocol_version="2031-01-01")
    assert (good.status_code, good.content, served.engine.told) == (202, b"", [])
    assert (bad.status_code, bad.json()["error"]["code"]) == (400, -32022)


async def test_answers_are_refused_as_nothing_is_ever_asked() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    status, error = await refusal(answer, mcp_protocol_version=MODERN)
    assert (status, error["code"]) == (400, -32600)


async def test_closing_the_response_cancels_the_request() -> None:
    async with serving() as served:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: served.post(modern(call("a")), **routed(call("a"))))
            await served.engine.next()
            tasks.cancel_scope.cancel()
        await served.engine.until(lambda: served.engine.cancelled)
    assert served.engine.cancelled == [("tools/call", "the client closed the connection")]


async def test_a_subscription_is_a_stream_that_lives_until_it_is_closed() -> None:
    listen = request("subscriptions/listen", id="s")
    async with serving() as served:
        async with anyio.create_task_group() as tasks:

            async def play() -> None:
                exchange = await served.engine.next()
                exchange.notify("notifications/subscriptions/acknowledged", b"{}")
                exchange.notify("notifications/tools/list_changed", b"{}")

            tasks.start_soon(play)
            async with served.posting(modern(listen), **routed(listen)) as response:
                events = Events(response)
                heard = [(await events.message())["method"] for _ in range(2)]
        await served.engine.until(lambda: served.engine.cancelled)
    assert heard == [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ]


async def test_a_subscription_needs_a_client_that_takes_streams() -> None:
    listen = request("subscriptions/listen")
    status, error = await refusal(modern(listen), **routed(listen), accept="application/json")
    assert status == 406
    assert "text/event-stream" in error["message"]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_are_no_sessions_to_listen_to_or_to_end(method: str) -> None:
    async with serving() as served:
        headers = {"mcp-protocol-version": MODERN}
        response = await served.client.request(method, served.url, headers=headers)
    assert (response.status_code, response.headers["allow"]) == (405, "POST, OPTIONS")


async def test_both_eras_are_served_side_by_side() -> None:
    engine = FakeEngine()
    engine.replies["ping"] = {}
    async with serving(engine) as served:
        id = await served.open()
        assert (
            await served.post(modern(LIST), **routed(LIST), accept="text/html")
        ).status_code == 406
        old = await served.post(
            request("ping"), mcp_session_id=id, mcp_protocol_version="2025-06-18"
        )
        hello = modern(initialize("2025-11-25"), "2025-11-25")
        # a legacy client that says its version in _meta, too, is no modern one
        assert (await served.post(hello, mcp_protocol_version="2025-11-25")).status_code == 200
    assert old.json()["result"] == {}


SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "where": {"properties": {"shard": {"type": "integer", "x-mcp-header": "Shard"}}},
    },
}


@pytest.mark.parametrize(
    ("arguments", "headers", "status"),
    [
        ({"region": "eu"}, {"mcp_param_region": "eu"}, 200),
        ({"region": "eu"}, {}, 400),
        ({"region": "eu"}, {"mcp_param_region": "us"}, 400),
        ({}, {"mcp_param_region": "us"}, 400),
        ({"where": {"shard": 4}}, {"mcp_param_shard": "4"}, 200),
    ],
)
async def test_arguments_are_held_against_their_headers(
    arguments: Any, headers: dict[str, str], status: int
) -> None:
    engine = FakeEngine(replies={"tools/call": {}}, schemas={"t": SCHEMA})
    message = call("t", arguments)
    async with serving(engine) as served:
        response = await served.post(modern(message), **routed(message, **headers))
    assert response.status_code == status
    if status == 400:
        assert response.json()["error"]["code"] == -32020


async def test_a_stream_carries_errors_with_status_200() -> None:
    async with serving() as served, anyio.create_task_group() as tasks:

        async def play() -> None:
            exchange = await served.engine.next()
            exchange.notify("n", b"{}")
            exchange.refuse(RpcError(-32602, "m"))

        tasks.start_soon(play)
        response = await served.post(modern(call("a")), **routed(call("a")))
    assert response.status_code == 200
    assert messages(response.text)[1]["error"] == {"code": -32602, "message": "m"}


async def test_params_that_the_engine_refuses_are_an_error() -> None:
    async with serving() as served:
        id = await served.open()
        response = await served.post(request("tools/call", [1]), mcp_session_id=id)
    assert response.json()["error"]["code"] == -32602
