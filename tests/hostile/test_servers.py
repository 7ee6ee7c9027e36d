"""Servers that mean harm, or are careless: each hurts nobody but itself.

Each test puts a well-behaved server beside the one that misbehaves, or looks at what it costs.
"""

from typing import Any

import anyio
import pytest
from tests.engine.puppets import Asked, Message, Puppet, Silence, text, tool
from tests.engine.scene import called, gateway
from tests.wire.raw_http import Asked as Request
from tests.wire.raw_http import serving

from toolpick.downstream import link as links
from toolpick.downstream import lists, pulse
from toolpick.downstream import restarts as schedule
from toolpick.downstream.life import Life

LIST_CHANGED = "notifications/tools/list_changed"


def odd(*tools: Message, **settings: Any) -> Puppet:
    return Puppet("odd", *tools, **{"eras": ("legacy",), **settings})


def well() -> Puppet:
    return Puppet("well", eras=("legacy",))


async def answers_raw(puppet: Puppet, method: str, result: bytes) -> None:
    """Have requests of a method answered with these bytes as the result."""

    async def answer(asked: Asked) -> Message:
        await asked.connection.line(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (asked.id, result))
        raise Silence

    puppet.on[method] = answer


# -- what must not take the gateway along


async def test_a_bug_that_one_server_brings_about_is_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = Life.close

    async def close(life: Life) -> None:
        await closed(life)
        if life._server == "odd":
            raise KeyError("surprise")

    monkeypatch.setattr(Life, "close", close)
    puppet = odd()
    async with gateway(puppet, well()) as scene:
        client = await scene.client()
        await client.tools()

        await puppet.connection.exit(1)

        await puppet.lives(2)
        assert await client.says("well__echo") == "echo was called"
        assert await client.says("odd__echo") == "echo was called"


@pytest.mark.parametrize("id", ["caf\u00e9", "a\x7f", "\u2603"])
async def test_a_session_id_that_no_header_can_carry_fails_one_server(id: str) -> None:
    async def handler(asked: Request) -> None:
        await asked.answer(
            200,
            b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}',
            mcp_session_id=id,
        )

    async with serving(handler) as server:
        puppet = Puppet("odd", transport="http", url=server.url, command="", args=(), cwd="")
        async with gateway(puppet, well()) as scene:
            client = await scene.client()

            assert await client.says("well__echo") == "echo was called"
            error = await client.fails("tools/call", called("odd__echo"))
            assert "gave a session id that no header can carry" in error["message"]


async def test_calls_do_not_wait_long_for_a_server_whose_starts_come_to_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schedule, "DELAYS", (0.01,))
    monkeypatch.setattr(links, "SHORT_WAIT", 0.05)
    starts = 0

    async def hang(asked: Asked) -> Message:
        nonlocal starts
        starts += 1
        if starts < 3:
            await asked.connection.exit(3)
        raise Silence

    puppet = odd()
    puppet.on["initialize"] = hang
    async with gateway(puppet) as scene:
        client = await scene.client()
        await puppet.lives(3)
        await puppet.hears("initialize", count=3)

        error = await client.fails("tools/call", called("odd__echo"))

        assert "still starting" in error["message"]
        assert "the last start: it exited with code 3" in error["message"]


# -- what must not run without pause


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_that_ends_at_once_is_started_with_growing_pauses(
    monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    waits: list[float] = []
    done = anyio.Event()

    class Noted(schedule.Restarts):
        def ended(self, now: float, lived: float) -> None:
            super().ended(now, lived)
            waits.append(round(self.next_start - now, 2))
            self.next_start = now
            if len(waits) == 4:
                done.set()

    monkeypatch.setattr("toolpick.downstream.supervision.Restarts", Noted)
    monkeypatch.setattr(schedule, "JITTER", 0.0)
    puppet = odd(args=("-c", "raise SystemExit(3)"))
    async with gateway(puppet) as scene:
        await scene.client(era)
        with anyio.fail_after(5):
            await done.wait()
    assert waits[:4] == [0.05, 0.5, 1.0, 2.0]


def test_a_server_that_never_stops_telling_changes_is_read_with_growing_pauses() -> None:
    pauses = [lists.SETTLE]
    for _ in range(8):
        pauses.append(lists.settling(pauses[-1], 0.001))
    assert pauses == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0, 1.0]
    assert lists.settling(1.0, lists.QUIET + 0.1) == lists.SETTLE


async def test_a_search_does_not_wait_for_the_pauses_of_a_restless_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lists, "SETTLE", 3600.0)
    monkeypatch.setattr(lists, "SETTLE_CAP", 3600.0)
    puppet = odd()
    async with gateway(puppet) as scene:
        await scene.client()
        await scene.settled()
        [link] = scene.engine.sessions[0].pool.links.values()
        puppet.tools = [tool("later")]
        await puppet.tells(LIST_CHANGED)

        with anyio.fail_after(5):
            await link.refresh()

        assert list(scene.engine.sessions[0].pool.generation.tools) == ["odd__later"]


async def test_a_server_that_forgets_every_session_is_greeted_with_growing_pauses() -> None:
    greetings = 0

    async def handler(asked: Request) -> None:
        nonlocal greetings
        if asked.rpc == "initialize":
            greetings += 1
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            await asked.result(result, mcp_session_id="s")
        elif asked.rpc == "tools/list":
            await asked.result({"tools": [tool("echo")]})
        elif not asked.body:
            await asked.answer(405)
        elif "id" in asked.message:
            await asked.answer(404)
        else:
            await asked.answer(202)

    async with serving(handler) as server:
        puppet = Puppet("odd", transport="http", url=server.url, command="", args=(), cwd="")
        async with gateway(puppet) as scene:
            client = await scene.client()
            await client.tools()
            first = await client.fails("tools/call", called("odd__echo"))
            for _ in range(20):
                await client.fails("tools/call", called("odd__echo"))

        what = "server 'odd' no longer knows the session, though it is a new one"
        assert first["message"] == what
        assert greetings < 12


# -- what callers get whatever comes back


@pytest.mark.parametrize("client_era", ["legacy", "modern"])
@pytest.mark.parametrize("result", [b"null", b'"done"', b"[1]", b"true", b"17"])
async def test_a_result_that_is_no_object_is_an_error(client_era: str, result: bytes) -> None:
    puppet = odd()
    await answers_raw(puppet, "tools/call", result)
    async with gateway(puppet) as scene:
        client = await scene.client(client_era)

        error = await client.fails("tools/call", called("odd__echo"))

        assert error == {
            "code": -32603,
            "message": "server 'odd' answered tools/call with a result that is no object",
            "data": {"server": "odd"},
        }


async def test_a_resource_that_nobody_announced_is_not_answered_with_nonsense() -> None:
    capabilities = {"tools": {}, "resources": {}}
    puppet, second = odd(capabilities=capabilities), well()
    await answers_raw(puppet, "resources/read", b"null")

    async def read(asked: Asked) -> Message:
        return {"contents": [{"uri": asked.params["uri"], "text": "found"}]}

    second.on["resources/read"] = read
    async with gateway(puppet, second) as scene:
        client = await scene.client()
        await scene.settled()

        result = await client.ask("resources/read", {"uri": "x://hidden"})

        assert result["contents"][0]["text"] == "found"


async def test_a_result_that_toolpick_trips_over_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def trip(*_: object) -> bytes:
        raise RecursionError

    monkeypatch.setattr("toolpick.engine.tools.rewrite_links", trip)
    async with gateway(odd()) as scene:
        client = await scene.client()

        error = await client.fails("tools/call", called("odd__echo"))

        what = "answered tools/call with something that toolpick can't handle"
        assert error["message"] == f"server 'odd' {what}"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (b'"boom"', {"code": -32603, "message": "boom"}),
        (b"{}", {"code": -32603, "message": "the server gave no reason"}),
        (b'{"code":-7,"message":"m","data":{"n":1.0}}', {"code": -7, "message": "m"}),
    ],
)
async def test_an_error_of_any_shape_reaches_the_client_as_one(error: bytes, told: Message) -> None:
    puppet = odd()

    async def answer(asked: Asked) -> Message:
        await asked.connection.line(b'{"jsonrpc":"2.0","id":%d,"error":%b}' % (asked.id, error))
        raise Silence

    puppet.on["tools/call"] = answer
    async with gateway(puppet) as scene:
        client = await scene.client()

        heard = await client.fails("tools/call", called("odd__echo"))

        assert {key: heard[key] for key in ("code", "message")} == told


async def test_one_tool_that_is_nested_without_end_takes_no_other_with_it() -> None:
    puppet = odd()
    deep = b'{"type":"object","properties":{"a":' * 2_000 + b"{}" + b"}}" * 2_000
    tools = b'{"tools":[{"name":"deep","inputSchema":%b},{"name":"echo","inputSchema":{}}]}' % deep
    await answers_raw(puppet, "tools/list", tools)
    async with gateway(puppet) as scene:
        client = await scene.client()

        assert await client.tools() == ["odd__deep", "odd__echo"]
        assert await client.says("odd__deep") == "deep was called"


# -- servers that say nothing more


async def test_a_server_that_hangs_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "SILENCE", 0.1)
    puppet = odd(timeout=0.3)
    hung = True

    async def hang(asked: Asked) -> Message:
        if hung:
            raise Silence
        return text("well again")

    puppet.on["tools/call"] = puppet.on["ping"] = hang
    monkeypatch.setattr(schedule, "DELAYS", (0.01,))
    async with gateway(puppet) as scene:
        client = await scene.client()
        error = await client.fails("tools/call", called("odd__echo"))
        assert error["message"] == "server 'odd' did not answer tools/call within 0.3 s"

        await puppet.lives(2)

        hung = False
        await scene.settled()
        assert await client.says("odd__echo") == "well again"


async def test_a_server_that_is_slow_but_there_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pulse, "SILENCE", 0.1)
    puppet = odd(timeout=0.3)

    async def silence(asked: Asked) -> Message:
        raise Silence

    puppet.on["tools/call"] = silence
    async with gateway(puppet) as scene:
        client = await scene.client()
        for count in range(1, 3):
            await client.fails("tools/call", called("odd__echo"))
            await puppet.hears("ping", count=count)

        assert len(puppet.connections) == 1


async def test_a_server_that_waits_for_an_answer_of_its_client_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pulse, "SILENCE", 0.1)
    puppet = odd(tool("ask"), tool("hang"), timeout=0.3)

    async def asks(asked: Asked) -> Message:
        if asked.params["name"] == "hang":
            raise Silence
        answer = await asked.ask("sampling/createMessage")
        return text(str(answer["result"]))

    async def silence(asked: Asked) -> Message:
        raise Silence

    puppet.on["tools/call"] = asks
    puppet.on["ping"] = silence
    async with gateway(puppet) as scene:
        client = await scene.client(sampling={})
        first = client.send("tools/call", called("odd__ask"))
        question = await client.question("sampling/createMessage")
        await client.fails("tools/call", called("odd__hang"))
        await puppet.hears(
            "notifications/cancelled", lambda m: m["params"]["reason"] == "timeout", 2
        )

        client.reply(question, {"yes": 1})

        assert (await client.result(first))["content"][0]["text"] == "{'yes': 1}"
        assert len(puppet.connections) == 1


# -- servers that ask or tell without end


async def test_questions_without_end_are_refused_beyond_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolpick.engine.relay.MOST_OPEN", 2)
    puppet = odd()
    refused: list[Message] = []

    async def asks(asked: Asked) -> Message:
        for _ in range(2):
            await asked.connection.send(
                {"id": f"open-{_}", "method": "sampling/createMessage", "params": {}}
            )
        refused.append(await asked.ask("sampling/createMessage"))
        return text("done")

    puppet.on["tools/call"] = asks
    async with gateway(puppet) as scene:
        client = await scene.client(sampling={})

        assert await client.says("odd__echo") == "done"
        assert len([m for m in client.heard if m.get("method") == "sampling/createMessage"]) == 2
        assert "questions are open" in refused[0]["error"]["message"]


async def test_an_update_of_no_resource_is_not_told() -> None:
    puppet = odd()
    async with gateway(puppet) as scene:
        client = await scene.client()
        await client.tools()
        updated = "notifications/resources/updated"
        for uri in (5, None, "", "x://1"):
            await puppet.tells(updated, {"uri": uri})

        assert await client.notice(updated) == {"uri": "x://1"}


async def test_a_change_that_was_not_told_is_found_when_a_client_lists_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    puppet = odd(tool("one"))
    async with gateway(puppet) as scene:
        client = await scene.client()
        await client.tools()
        puppet.tools = [tool("two")]
        assert await client.tools() == ["odd__one"]

        monkeypatch.setattr(links, "OLD", 0.0)
        await client.tools()

        await client.notice(LIST_CHANGED)
        assert await client.tools() == ["odd__two"]


async def test_a_server_that_is_busy_is_not_asked_for_its_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(links, "OLD", 0.0)
    marked: list[set[str] | None] = []
    monkeypatch.setattr(lists.Lists, "mark_stale", lambda _, kinds=None: marked.append(kinds))
    puppet = odd()

    async def hang(asked: Asked) -> Message:
        raise Silence

    puppet.on["tools/call"] = hang
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()
        client.send("tools/call", called("odd__echo"))
        await puppet.hears("tools/call")

        await client.tools()

        assert marked == []


# -- what servers say of what they were given


async def test_what_a_server_was_given_in_confidence_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    given = {"env": {"KEY": "env-key-1"}, "secrets": ("arg-key-1", "arg-key-1-long")}
    puppet = odd(**given)

    async def tell(asked: Asked) -> Message:
        await asked.connection.line(b"my keys: env-key-1 arg-key-1 arg-key-1-long")
        await asked.connection.stderr("no good: env-key-1 arg-key-1 arg-key-1-long")
        await asked.connection.exit(3)
        raise Silence

    puppet.on["initialize"] = tell
    async with gateway(puppet) as scene:
        client = await scene.client()
        await puppet.lives(2)
        await scene.settled()

        error = await client.fails("tools/call", called("odd__echo"))

    told = [error["message"], *(record.getMessage() for record in caplog.records)]
    assert "no good: *** *** ***" in " ".join(told)
    assert "my keys: *** *** ***" in " ".join(told)
    assert [one for one in told if "key-1" in one] == []
