"""Calls on their way: progress, cancellation, log messages, errors, deadlines, odd answers."""

import json
from typing import Any

import anyio
import pytest
from tests.engine.puppets import META, Asked, Message, Puppet, Refusal, Silence, answer_in, text
from tests.engine.scene import Client, called, gateway

PROGRESS = "notifications/progress"
MESSAGE = "notifications/message"
CANCELLED = "notifications/cancelled"
ERAS = [("legacy", "legacy"), ("legacy", "modern"), ("modern", "legacy"), ("modern", "modern")]
both_sides = pytest.mark.parametrize(("client_era", "server_era"), ERAS)


def server(era: str = "legacy", **settings: Any) -> Puppet:
    return Puppet("srv", eras=(era,), **settings)


async def silent(asked: Asked) -> Message:
    raise Silence


# -- progress


@both_sides
@pytest.mark.parametrize("token", ["a token", 7, "7"])
async def test_progress_arrives_in_order_under_the_clients_own_token(
    client_era: str, server_era: str, token: str | int
) -> None:
    puppet = server(server_era)

    async def work(asked: Asked) -> Message:
        for step in (0.5, 1, 3):
            await asked.progress(step, total=3, message=f"step {step}", _meta={"theirs": step})
        return answer_in(asked, text("done"))

    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client(client_era)

        await client.call("srv__echo", progressToken=token)

        assert client.notices(PROGRESS) == [
            {
                "progressToken": token,
                "progress": step,
                "total": 3,
                "message": f"step {step}",
                "_meta": {"theirs": step},
            }
            for step in (0.5, 1, 3)
        ]
        assert [message.get("method", "answer") for message in client.heard[-4:]] == [
            *(PROGRESS, PROGRESS, PROGRESS, "answer")
        ]


@both_sides
async def test_no_progress_reaches_a_client_that_asked_for_none(
    client_era: str, server_era: str
) -> None:
    puppet = server(server_era)

    async def work(asked: Asked) -> Message:
        assert "progressToken" not in asked.meta
        for token in (asked.id, 1, "1", None):
            report = {"progressToken": token, "progress": 1}
            await asked.connection.notify(PROGRESS, report)
        return answer_in(asked, text("done"))

    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client(client_era)

        await client.call("srv__echo")
        await client.call("srv__echo")

        assert client.notices(PROGRESS) == []


async def test_late_and_invented_progress_is_dropped() -> None:
    puppet = server()
    late: list[Any] = []

    async def work(asked: Asked) -> Message:
        for token in late:
            await asked.connection.notify(PROGRESS, {"progressToken": token, "progress": 9})
        await asked.connection.notify(PROGRESS, {"progressToken": 99_999, "progress": 9})
        await asked.connection.notify(PROGRESS, {"progressToken": {}, "progress": 9})
        await asked.connection.notify(PROGRESS, {"progress": 9})
        await asked.connection.notify(PROGRESS)
        await asked.connection.send({"method": PROGRESS, "params": [1]})
        await asked.progress(1)
        late.append(asked.meta["progressToken"])
        return text("done")

    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client()

        await client.call("srv__echo", progressToken="first")
        await client.call("srv__echo", progressToken="second")

        assert client.notices(PROGRESS) == [
            {"progressToken": "first", "progress": 1},
            {"progressToken": "second", "progress": 1},
        ]
        assert len(puppet.connections) == 1


async def test_progress_of_two_calls_is_kept_apart() -> None:
    puppet = server()
    together = anyio.Event()

    async def work(asked: Asked) -> Message:
        if asked.params["arguments"]["n"] == 1:
            await together.wait()
        await asked.progress(asked.params["arguments"]["n"])
        together.set()
        return text("done")

    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client()
        params = [{**called("srv__echo", {"n": n})} for n in (1, 2)]
        ids = [
            client.send("tools/call", given, progressToken=f"t{index}")
            for index, given in enumerate(params, 1)
        ]
        for id in ids:
            await client.result(id)

        assert client.notices(PROGRESS) == [
            {"progressToken": "t2", "progress": 2},
            {"progressToken": "t1", "progress": 1},
        ]


async def test_progress_puts_the_deadline_of_a_call_off() -> None:
    puppet = server(timeout=0.6)

    async def work(asked: Asked) -> Message:
        for step in range(4):
            with anyio.move_on_after(0.3):
                await asked.cancelled()
            await asked.progress(step)
        return text("done")

    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()

        assert (await client.call("srv__echo", progressToken=1))["content"] == text("done")[
            "content"
        ]


# -- cancellation


@both_sides
async def test_a_cancelled_call_is_cancelled_at_its_server_and_never_answered(
    client_era: str, server_era: str
) -> None:
    puppet = server(server_era)

    async def work(asked: Asked) -> Message:
        await asked.cancelled()
        return answer_in(asked, text("too late"))

    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client(client_era)
        id = client.send("tools/call", called("srv__echo"))
        arrived = await puppet.hears("tools/call")

        client.notify(CANCELLED, {"requestId": id, "reason": "changed my mind"})

        assert (await puppet.hears(CANCELLED))["params"] == {
            "requestId": arrived["id"],
            "reason": "changed my mind",
        }
        await client.ask("tools/list")
        assert [message for message in client.heard if message.get("id") == id] == []


async def test_cancelling_what_is_unknown_or_has_ended_does_nothing() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        client = await scene.client()
        id = client.send("tools/call", called("srv__echo"))
        await client.result(id)

        for params in ({"requestId": id}, {"requestId": "other"}, {}, None):
            client.notify(CANCELLED, params)
        client.write({"method": CANCELLED, "params": [1]})

        assert await client.says("srv__echo") == "echo was called"
        assert CANCELLED not in puppet.methods()


async def test_a_call_without_an_answer_in_time_fails_and_its_server_is_told() -> None:
    puppet = server(timeout=0.1)
    puppet.on["tools/call"] = silent
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()

        error = await client.fails("tools/call", called("srv__echo"))

        assert error == {
            "code": -32001,
            "message": "server 'srv' did not answer tools/call within 0.1 s",
            "data": {"server": "srv"},
        }
        arrived = await puppet.hears("tools/call")
        assert (await puppet.hears(CANCELLED))["params"] == {
            "requestId": arrived["id"],
            "reason": "timeout",
        }


# -- what servers answer


@both_sides
async def test_a_servers_error_passes_with_its_code_and_data(
    client_era: str, server_era: str
) -> None:
    puppet = server(server_era)

    async def refuse(asked: Asked) -> Message:
        raise Refusal(-32042, "not today", {"why": [1, None]})

    puppet.on["tools/call"] = refuse
    async with gateway(puppet) as scene:
        client = await scene.client(client_era)

        assert await client.fails("tools/call", called("srv__echo")) == {
            "code": -32042,
            "message": "not today",
            "data": {"why": [1, None]},
        }


@both_sides
@pytest.mark.parametrize("body", ["5", "[1]", '"text"', "true"])
async def test_a_result_that_is_no_object_harms_nobody(
    client_era: str, server_era: str, body: str
) -> None:
    puppet = server(server_era)

    async def odd(asked: Asked) -> Message:
        await asked.connection.line(
            b'{"jsonrpc":"2.0","id":%b,"result":%b}'
            % (json.dumps(asked.id).encode(), body.encode())
        )
        raise Silence

    puppet.on["tools/call"] = odd
    async with gateway(puppet) as scene:
        client = await scene.client(client_era)

        answer = await client.answer(client.send("tools/call", called("srv__echo")))

        assert answer["error"] == {
            "code": -32603,
            "message": "server 'srv' answered tools/call with a result that is no object",
            "data": {"server": "srv"},
        }
        assert len(puppet.connections) == 1


async def test_an_answer_to_nothing_and_noise_harm_nobody() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()

        for line in (
            b'{"jsonrpc":"2.0","id":4711,"result":{}}',
            b'{"jsonrpc":"2.0","id":"x","result":{}}',
            b"just some text",
            b"\xff\xfe",
            b"[]",
            b'{"jsonrpc":"2.0","method":"notifications/unknown","params":5}',
            b'{"jsonrpc":"2.0","method":"notifications/message","params":"loud"}',
            b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":[]}',
        ):
            await puppet.connection.line(line)

        assert await client.says("srv__echo") == "echo was called"
        assert len(puppet.connections) == 1


async def test_a_question_that_nobody_understands_is_refused() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        await scene.client()
        await scene.settled()

        answer = await puppet.connection.ask("something/else", {})

        assert answer["error"] == {
            "code": -32601,
            "message": "no client to ask for something/else now",
        }


async def test_a_server_that_pings_is_answered() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        await scene.client()
        await scene.settled()

        assert (await puppet.connection.ask("ping", {}))["result"] == {}


# -- what clients ask

CURSOR = "Invalid params: unknown cursor; the list has one page"
VERSION, CAPABILITIES = META + "protocolVersion", META + "clientCapabilities"


@pytest.mark.parametrize(
    ("method", "params", "error"),
    [
        ("tools/call", {}, (-32602, "Invalid params: 'name' must be a string")),
        ("tools/call", {"name": 5}, (-32602, "Invalid params: 'name' must be a string")),
        ("prompts/get", {"name": "srv__no"}, (-32602, "Unknown prompt: 'srv__no'")),
        ("tools/list", {"cursor": "x"}, (-32602, CURSOR)),
        ("prompts/list", {"cursor": "x"}, (-32602, CURSOR)),
        ("no/such", {}, (-32601, "Method not found: no/such")),
        ("completion/complete", {"ref": {"name": "x"}}, (-32602, "Unknown reference: 'x'")),
        ("completion/complete", {}, (-32602, "Unknown reference: None")),
    ],
)
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_request_that_makes_no_sense_is_answered_with_what_is_wrong(
    era: str, method: str, params: Message, error: tuple[int, str]
) -> None:
    async with gateway(server()) as scene:
        client = await scene.client(era)
        await scene.settled()

        failed = await client.fails(method, params)

        assert (failed["code"], failed["message"]) == error


@pytest.mark.parametrize("params", [b"[1]", b"5", b'{"_meta":5}'])
async def test_params_that_are_no_object_are_refused(params: bytes) -> None:
    async with gateway(server()) as scene:
        client = await scene.client()

        client.line(b'{"jsonrpc":"2.0","id":"odd","method":"tools/list","params":%b}' % params)

        answer = await client.hears(lambda message: message.get("id") == "odd")
        assert answer["error"] == {
            "code": -32602,
            "message": "Invalid params: an object is expected",
        }


async def test_a_first_page_may_be_asked_for_with_a_null_cursor() -> None:
    async with gateway(server()) as scene:
        client = await scene.client()

        for method, key in (("tools/list", "tools"), ("prompts/list", "prompts")):
            assert key in await client.ask(method, {"cursor": None})


@pytest.mark.parametrize(
    ("meta", "code", "message"),
    [
        ({VERSION: None}, -32602, f"Invalid params: _meta[{VERSION!r}] is missing"),
        ({CAPABILITIES: None}, -32602, f"Invalid params: _meta[{CAPABILITIES!r}] is missing"),
        ({VERSION: "2099-01-01"}, -32022, "Unsupported protocol version: 2099-01-01"),
    ],
)
async def test_a_modern_request_without_its_envelope_is_refused(
    meta: Message, code: int, message: str
) -> None:
    async with gateway(server()) as scene:
        client = await scene.client("modern")

        error = await client.fails("tools/list", **meta)

        assert error["code"] == code
        assert error["message"] == message
        if code == -32022:
            assert error["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


# -- log messages


async def tell(asked: Asked) -> None:
    for level in ("debug", "info", "error", "odd"):
        await asked.connection.notify(MESSAGE, {"level": level, "data": f"{level} said"})


async def logging_call(asked: Asked) -> Message:
    await tell(asked)
    return answer_in(asked, text("done"))


def levels(client: Client) -> list[str]:
    return [said["level"] for said in client.notices(MESSAGE)]


async def test_a_legacy_client_hears_the_levels_that_it_set() -> None:
    puppet = server()
    puppet.on["tools/call"] = logging_call
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()
        await client.call("srv__echo")
        assert levels(client) == ["debug", "info", "error", "odd"]
        client.heard.clear()

        assert await client.ask("logging/setLevel", {"level": "warning"}) == {}
        await client.call("srv__echo")

        assert levels(client) == ["error", "odd"]
        assert puppet.params("logging/setLevel") == [{"level": "warning"}]


async def test_what_a_server_logs_outside_of_calls_reaches_a_legacy_client() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        client = await scene.client()
        modern = await scene.client("modern")
        await scene.settled()
        await client.ask("logging/setLevel", {"level": "error"})

        for level in ("info", "error"):
            for connection in puppet.connections:
                await connection.notify(MESSAGE, {"level": level, "data": 1})

        assert await client.notice(MESSAGE) == {"level": "error", "data": 1}
        await modern.ask("tools/list")
        assert modern.notices(MESSAGE) == []


async def test_a_server_that_comes_up_later_is_told_the_level() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        client = await scene.client()

        await client.ask("logging/setLevel", {"level": "debug"})

        assert (await puppet.hears("logging/setLevel"))["params"] == {"level": "debug"}


async def test_a_server_without_logging_is_not_told_a_level() -> None:
    puppet = server(capabilities={"tools": {}})
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()
        await client.ask("logging/setLevel", {"level": "debug"})
        await client.call("srv__echo")

        assert "logging/setLevel" not in puppet.methods()


@pytest.mark.parametrize("level", ["loud", 3, None])
async def test_a_level_that_does_not_exist_is_refused(level: Any) -> None:
    async with gateway(server()) as scene:
        client = await scene.client()

        assert (await client.fails("logging/setLevel", {"level": level}))["code"] == -32602


@pytest.mark.parametrize("server_era", ["legacy", "modern"])
async def test_a_modern_client_hears_only_what_its_request_asked_for(server_era: str) -> None:
    puppet = server(server_era)
    puppet.on["tools/call"] = logging_call
    async with gateway(puppet) as scene:
        client = await scene.client("modern")

        await client.call("srv__echo")
        assert levels(client) == []
        await client.call("srv__echo", **{META + "logLevel": "error"})

        assert levels(client) == ["error", "odd"]
        carried = [asked["_meta"] for asked in puppet.params("tools/call") if "_meta" in asked]
        asked_for = [meta.get(META + "logLevel") for meta in carried]
        assert asked_for == ([None, "error"] if server_era == "modern" else [])


async def test_a_legacy_clients_level_goes_to_a_modern_server_with_each_call() -> None:
    puppet = server("modern")
    async with gateway(puppet) as scene:
        client = await scene.client()
        await client.ask("logging/setLevel", {"level": "notice"})

        await client.call("srv__echo")

        [params] = puppet.params("tools/call")
        assert params["_meta"][META + "logLevel"] == "notice"
        assert "logging/setLevel" not in puppet.methods()
