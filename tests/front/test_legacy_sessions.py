"""Clients of the versions with sessions, over real sockets."""

import json

import anyio
import pytest
from tests.front.fake_engine import (
    HELLO,
    Events,
    FakeEngine,
    call,
    initialize,
    messages,
    request,
    serving,
)

from toolpick.errors import RpcError
from toolpick.model import Era

GONE = "the client closed the connection"
PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}


async def test_initialize_opens_a_session_with_an_id_that_nobody_can_guess() -> None:
    async with serving() as served:
        response = await served.post(initialize())
        second = await served.post(initialize())
    assert response.json() == {"jsonrpc": "2.0", "id": 0, "result": HELLO}
    assert response.headers["content-type"] == "application/json"
    ids = {each.headers["mcp-session-id"] for each in (response, second)}
    assert len(ids) == 2
    assert all(len(id) == 32 for id in ids)
    session = served.engine.sessions[0]
    assert (session.era, session.version) == (Era.LEGACY, "2025-06-18")
    assert json.loads(session.capabilities) == {"roots": {}}
    assert json.loads(session.client) == {"name": "test", "version": "1"}


async def test_an_initialize_that_fails_leaves_no_session() -> None:
    engine = FakeEngine(replies={"initialize": RpcError(-32602, "Invalid params: no")})
    async with serving(engine) as served:
        response = await served.post(request("initialize", [1]))
        assert response.json()["error"]["code"] == -32602
        response = await served.post(initialize())
        assert response.json()["error"] == {"code": -32602, "message": "Invalid params: no"}
        await engine.until(lambda: len(engine.closed) == 2)
        id = response.headers["mcp-session-id"]
        assert (await served.post(request("ping"), mcp_session_id=id)).status_code == 404


async def test_a_client_that_leaves_during_initialize_leaves_no_session() -> None:
    engine = FakeEngine(replies={})
    async with serving(engine) as served:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(served.post, initialize())
            await engine.next()
            tasks.cancel_scope.cancel()
        await engine.until(lambda: engine.closed)
    assert engine.cancelled == [("initialize", GONE)]


async def test_an_answer_that_comes_first_is_plain_json_and_keeps_its_bytes() -> None:
    async with serving() as served, anyio.create_task_group() as tasks:
        id = await served.open()
        responses = []

        async def ask() -> None:
            responses.append(await served.post(call(), mcp_session_id=id))

        tasks.start_soon(ask)
        exchange = await served.engine.next()
        exchange.reply(b'{"b" : 1.0,\n"a":null}')
    (response,) = responses
    assert response.content == b'{"jsonrpc":"2.0","id":1,"result":{"b" : 1.0,\n"a":null}}'
    assert response.headers["content-type"] == "application/json"


async def test_progress_before_the_answer_makes_the_response_an_event_stream() -> None:
    async with serving() as served:
        id = await served.open()
        async with anyio.create_task_group() as tasks:
            exchange = None

            async def play() -> None:
                nonlocal exchange
                exchange = await served.engine.next()
                exchange.notify("notifications/progress", b'{\n"progress": 1\r\n}')

            tasks.start_soon(play)
            async with served.posting(call(), mcp_session_id=id) as response:
                events = Events(response)
                assert response.headers["content-type"] == "text/event-stream"
                assert await events.message() == PROGRESS
                exchange.notify("notifications/progress", b'{"progress": 1}')
                assert await events.message() == PROGRESS
                exchange.reply(b'{"content":[]}')
                assert await events.message() == {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "result": {"content": []},
                }
                assert await events.message() is None
    assert served.engine.cancelled == []


async def test_several_frames_at_once_arrive_in_order() -> None:
    async with serving() as served, anyio.create_task_group() as tasks:
        id = await served.open()

        async def play() -> None:
            exchange = await served.engine.next()
            for number in (1, 2):
                exchange.notify("n", b"%d" % number)
            exchange.fail(b'{"code":-1,"message":"m"}')

        tasks.start_soon(play)
        response = await served.post(call(), mcp_session_id=id)
    assert [message.get("params", message.get("error")) for message in messages(response.text)] == [
        1,
        2,
        {"code": -1, "message": "m"},
    ]


async def test_letters_that_some_clients_take_for_line_ends_are_escaped_in_streams() -> None:
    text = "a\u2028b\u2029c\u0085dé"
    async with serving() as served, anyio.create_task_group() as tasks:
        id = await served.open()

        async def play() -> None:
            exchange = await served.engine.next()
            exchange.notify("n", b"{}")
            exchange.reply(json.dumps({"text": text}, ensure_ascii=False).encode())

        tasks.start_soon(play)
        response = await served.post(call(), mcp_session_id=id)
    assert "\u2028" not in response.text
    assert messages(response.text)[-1]["result"] == {"text": text}


async def test_a_question_on_the_stream_is_answered_by_another_post() -> None:
    async with serving() as served, anyio.create_task_group() as tasks:
        id = await served.open()

        async def play() -> None:
            exchange = await served.engine.next()
            exchange.session.ask("roots/list", b"", exchange.channel, lambda *_: None)
            await served.engine.until(lambda: served.engine.answers)
            exchange.reply(b"{}")

        tasks.start_soon(play)
        async with served.posting(call(), mcp_session_id=id) as response:
            events = Events(response)
            asked = await events.message()
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}}
            accepted = await served.post(answer, mcp_session_id=id)
            assert (accepted.status_code, accepted.content) == (202, b"")
            assert (await events.message())["result"] == {}
    assert asked == {"jsonrpc": "2.0", "id": "toolpick-1", "method": "roots/list"}
    assert served.engine.answers == [("toolpick-1", {"roots": []}, None)]


async def test_a_client_without_streams_gets_the_answer_and_questions_are_refused_for_it() -> None:
    async with serving() as served, anyio.create_task_group() as tasks:
        id = await served.open()

        async def play() -> None:
            exchange = await served.engine.next()
            exchange.notify("notifications/progress", b"{}")
            exchange.channel.send(b"no JSON", final=False)
            exchange.session.ask("roots/list", b"", exchange.channel, lambda *_: None)
            assert served.engine.answers == []
            await served.engine.until(lambda: served.engine.answers)
            exchange.reply(b"{}")

        tasks.start_soon(play)
        response = await served.post(call(), mcp_session_id=id, accept="application/json")
    assert response.json()["result"] == {}
    error = {"code": -32000, "message": "the client takes no questions now"}
    assert served.engine.answers == [("toolpick-1", None, error)]


async def test_a_client_that_takes_only_streams_gets_one() -> None:
    engine = FakeEngine(replies={"initialize": HELLO, "ping": {}})
    async with serving(engine) as served:
        opened = await served.post(initialize(), accept="text/event-stream")
        id = opened.headers["mcp-session-id"]
        response = await served.post(request("ping"), mcp_session_id=id, accept="text/*")
    assert messages(opened.text) == [{"jsonrpc": "2.0", "id": 0, "result": HELLO}]
    assert messages(response.text) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


async def test_notifications_and_answers_are_accepted() -> None:
    async with serving() as served:
        id = await served.open()
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        error = {"jsonrpc": "2.0", "id": "a", "error": {"code": 1, "message": "m"}}
        statuses = [
            (await served.post(message, mcp_session_id=id)).status_code for message in (note, error)
        ]
    assert statuses == [202, 202]
    assert served.engine.told == [("notifications/initialized", None)]
    assert served.engine.answers == [("a", None, {"code": 1, "message": "m"})]


async def test_a_request_that_its_client_cancels_is_answered_with_an_error() -> None:
    async with serving() as served, anyio.create_task_group() as tasks:
        id = await served.open()
        responses = []

        async def ask() -> None:
            responses.append(await served.post(call(id="c"), mcp_session_id=id))

        tasks.start_soon(ask)
        await served.engine.next()
        cancel = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": "c"},
        }
        await served.post(cancel, mcp_session_id=id)
    error = {"code": -32800, "message": "the request was cancelled"}
    assert responses[0].json() == {"jsonrpc": "2.0", "id": "c", "error": error}


async def test_closing_the_connection_cancels_the_call() -> None:
    async with serving() as served:
        id = await served.open()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: served.post(call(), mcp_session_id=id))
            await served.engine.next()
            tasks.cancel_scope.cancel()
        await served.engine.until(lambda: served.engine.cancelled)
        assert (await served.post(initialize(), mcp_session_id=id)).status_code == 200
    assert served.engine.cancelled == [("tools/call", GONE)]


async def test_closing_the_connection_of_a_stream_cancels_the_call() -> None:
    async with serving() as served:
        id = await served.open()
        async with anyio.create_task_group() as tasks:

            async def play() -> None:
                exchange = await served.engine.next()
                exchange.notify("notifications/progress", b'{"progress": 1}')

            tasks.start_soon(play)
            async with served.posting(call(), mcp_session_id=id) as response:
                assert await Events(response).message() == PROGRESS
        await served.engine.until(lambda: served.engine.cancelled)
    assert served.engine.cancelled == [("tools/call", GONE)]


async def test_messages_wait_until_the_client_listens_and_between_two_streams() -> None:
    async with serving() as served:
        id = await served.open()
        out = served.engine.sessions[0].out
        out.send(b'{"jsonrpc":"2.0","method":"one"}', final=False)
        async with served.getting(id) as response:
            events = Events(response)
            assert response.headers["mcp-session-id"] == id
            assert (await events.message())["method"] == "one"
            out.send(b'{"jsonrpc":"2.0","method":"two"}', final=False)
            assert (await events.message())["method"] == "two"
        with anyio.fail_after(5):
            while out.open:
                await anyio.lowlevel.checkpoint()
        out.send(b'{"jsonrpc":"2.0","method":"three"}', final=False)
        async with served.getting(id) as response:
            assert (await Events(response).message())["method"] == "three"


async def test_a_second_stream_replaces_the_first() -> None:
    async with serving() as served:
        id = await served.open()
        out = served.engine.sessions[0].out
        async with served.getting(id) as first:
            old = Events(first)
            await old.comment()
            async with served.getting(id) as second:
                assert await old.message() is None
                new = Events(second)
                out.send(b'{"jsonrpc":"2.0","method":"m"}', final=False)
                assert (await new.message())["method"] == "m"


async def test_what_waits_too_long_is_dropped_and_questions_among_it_refused() -> None:
    async with serving() as served:
        id = await served.open()
        (session,) = served.engine.sessions
        session.ask("roots/list", b"", session.out, lambda *_: None)
        for number in range(1001):
            session.out.send(b'{"jsonrpc":"2.0","method":"n","params":%d}' % number, final=False)
        await served.engine.until(lambda: served.engine.answers)
        async with served.getting(id) as response:
            assert (await Events(response).message())["params"] == 1
    assert [id for id, _, _ in served.engine.answers] == ["toolpick-1"]


async def test_delete_ends_the_session_its_requests_and_its_stream() -> None:
    async with serving() as served, anyio.create_task_group() as tasks:
        id = await served.open()
        responses = []

        async def ask() -> None:
            responses.append(await served.post(call(), mcp_session_id=id))

        tasks.start_soon(ask)
        await served.engine.next()
        async with served.getting(id) as stream:
            events = Events(stream)
            await events.comment()
            response = await served.client.delete(served.url, headers={"mcp-session-id": id})
            assert (response.status_code, response.content) == (204, b"")
            assert await events.message() is None
        again = await served.post(request("ping"), mcp_session_id=id)
        served.engine.sessions[0].out.send(b"{}", final=False)
    assert again.status_code == 404
    assert responses[0].json()["error"] == {"code": -32000, "message": "the session was ended"}
    assert served.engine.cancelled == [("tools/call", "the session was ended")]
    assert served.engine.closed == served.engine.sessions


async def test_a_session_is_bound_to_the_credential_that_opened_it() -> None:
    async with serving() as served:
        opened = await served.post(initialize(), authorization="Bearer one")
        id = opened.headers["mcp-session-id"]
        note = {"jsonrpc": "2.0", "method": "n"}
        statuses = [
            (await served.post(note, mcp_session_id=id, authorization=credential)).status_code
            for credential in ("Bearer one", "Bearer two", "")
        ]
    assert statuses == [202, 404, 404]


async def test_batches_are_served_in_the_one_version_that_has_them() -> None:
    engine = FakeEngine(replies={"initialize": HELLO, "ping": {}})
    async with serving(engine) as served:
        old, new = await served.open("2025-03-26"), await served.open()
        note = {"jsonrpc": "2.0", "method": "n"}
        batch = [request("ping", id=1), note, request("ping", id="b")]
        response = await served.post(batch, mcp_session_id=old)
        assert response.json() == [
            {"jsonrpc": "2.0", "id": 1, "result": {}},
            {"jsonrpc": "2.0", "id": "b", "result": {}},
        ]
        streamed = await served.post(batch, mcp_session_id=old, accept="text/event-stream")
        assert [message["id"] for message in messages(streamed.text)] == [1, "b"]
        assert (await served.post([note], mcp_session_id=old)).status_code == 202
        refused = await served.post(batch, mcp_session_id=new)
        assert (refused.status_code, refused.json()["id"]) == (400, None)
        assert "2025-03-26 only" in refused.json()["error"]["message"]
        for wrong in ([], [initialize()], [1]):
            refused = await served.post(wrong, mcp_session_id=old)
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)
        headers = {"mcp-session-id": old, "content-type": "application/json"}
        torn = await served.client.post(served.url, content=b"[1", headers=headers)
        assert (torn.status_code, torn.json()["error"]["code"]) == (400, -32700)


async def test_a_batch_waits_for_all_its_answers_and_is_cancelled_whole() -> None:
    async with serving() as served:
        id = await served.open("2025-03-26")
        async with anyio.create_task_group() as tasks:
            responses = []

            async def ask() -> None:
                responses.append(
                    await served.post([call(id=1), call(id=2), call(id=3)], mcp_session_id=id)
                )

            tasks.start_soon(ask)
            exchanges = [await served.engine.next() for _ in range(3)]
            exchanges[0].notify("notifications/progress", b"{}")
            exchanges[0].session.ask("roots/list", b"", exchanges[0].channel, lambda *_: None)
            for number in (2, 0, 1):
                exchanges[number].reply(b"%d" % number)
        assert [answer["result"] for answer in responses[0].json()] == [2, 0, 1]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            (await served.engine.next()).reply(b"{}")
            for _ in range(2):
                await served.engine.next()
            tasks.cancel_scope.cancel()
        await served.engine.until(lambda: len(served.engine.cancelled) == 2)


async def test_the_query_header_reaches_the_engine_as_text() -> None:
    async with serving() as served:
        id = await served.open()
        for sent in ("größer ☃".encode(), b"\xff ok", b"=?base64?4piD?="):
            async with anyio.create_task_group() as tasks:
                headers = {"mcp-session-id": id, "x-toolpick-query": sent}
                tasks.start_soon(
                    lambda h: served.client.post(served.url, json=call(), headers=h), headers
                )
                exchange = await served.engine.next()
                exchange.reply(b"{}")
            served.engine.told.append(("query", exchange.header_query))
    assert served.engine.told == [("query", "größer ☃"), ("query", " ok"), ("query", "☃")]


async def test_twenty_sessions_are_served_at_once() -> None:
    async with serving() as served:
        done: dict[int, list[object]] = {}

        async def client(number: int) -> None:
            id = await served.open()
            results = []
            for turn in range(5):
                response = await served.post(call("t", {"n": number}, turn), mcp_session_id=id)
                results.append(response.json()["result"]["n"])
            done[number] = results

        async def play() -> None:
            while True:
                exchange = await served.engine.next()
                exchange.reply(exchange.params["arguments"])

        async with anyio.create_task_group() as player:
            player.start_soon(play)
            async with anyio.create_task_group() as clients:
                for number in range(20):
                    clients.start_soon(client, number)
            player.cancel_scope.cancel()
    assert done == {number: [number] * 5 for number in range(20)}


async def test_a_stream_needs_a_client_that_takes_streams() -> None:
    async with serving() as served:
        headers = {"mcp-session-id": await served.open(), "accept": "application/json"}
        response = await served.client.get(served.url, headers=headers)
    assert response.status_code == 406


@pytest.mark.parametrize("session", ["", "0" * 32])
async def test_without_a_session_nothing_is_served(session: str) -> None:
    async with serving() as served:
        headers = {"mcp-session-id": session} if session else {}
        status = 404 if session else 400
        response = await served.client.post(served.url, json=request("ping", id=7), headers=headers)
        assert (response.status_code, response.json()["id"]) == (status, 7)
        for method in ("GET", "DELETE"):
            response = await served.client.request(method, served.url, headers=headers)
            assert response.status_code == status
