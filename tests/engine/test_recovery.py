"""Servers that end, and come back: what their callers are told, and what is tried again."""

from typing import Any

import anyio
import pytest
from tests.engine.puppets import Asked, Connection, Message, Puppet, Silence, text, tool
from tests.engine.scene import LIST_CHANGED, called, gateway

from toolpick.downstream import restarts, supervision


def server(*tools: Message, **settings: Any) -> Puppet:
    return Puppet("srv", *tools, eras=("legacy",), **settings)


async def dying(asked: Asked) -> Message:
    """Exit with code 3 at the first call, and work at the next."""
    if len(asked.connection.puppet.connections) == 1:
        await asked.connection.exit(3)
        raise Silence
    return text("back again")


async def test_a_call_in_flight_fails_and_names_the_server_that_was_lost() -> None:
    puppet = server()
    puppet.on["tools/call"] = dying
    async with gateway(puppet) as scene:
        client = await scene.client()

        error = await client.fails("tools/call", called("srv__echo"))

        assert error == {
            "code": -32000,
            "message": "server 'srv' exited with code 3",
            "data": {"server": "srv"},
        }
        assert puppet.methods().count("tools/call") == 1


async def test_the_next_call_waits_for_the_server_to_be_back() -> None:
    puppet = server()
    puppet.on["tools/call"] = dying
    async with gateway(puppet) as scene:
        client = await scene.client()
        await client.fails("tools/call", called("srv__echo"))

        assert await client.says("srv__echo") == "back again"


@pytest.mark.parametrize("hint", ["idempotentHint", "readOnlyHint"])
async def test_a_call_that_does_no_harm_twice_is_made_again(hint: str) -> None:
    puppet = server(tool("echo", annotations={hint: True}))
    puppet.on["tools/call"] = dying
    async with gateway(puppet) as scene:
        client = await scene.client()

        assert await client.says("srv__echo", {"a": 1}) == "back again"
        assert puppet.params("tools/call") == [called("echo", {"a": 1})] * 2


@pytest.mark.parametrize(
    "annotations", [{}, {"readOnlyHint": False}, {"idempotentHint": "true"}, {"title": "readOnly"}]
)
async def test_a_call_that_may_do_harm_is_never_made_twice(annotations: Message) -> None:
    puppet = server(tool("echo", annotations=annotations))
    puppet.on["tools/call"] = dying
    async with gateway(puppet) as scene:
        client = await scene.client()

        await client.fails("tools/call", called("srv__echo"))

        assert puppet.methods().count("tools/call") == 1


async def test_a_call_is_made_again_only_once() -> None:
    puppet = server(tool("echo", annotations={"readOnlyHint": True}))

    async def always_dying(asked: Asked) -> Message:
        await asked.connection.exit(3)
        raise Silence

    puppet.on["tools/call"] = always_dying
    async with gateway(puppet) as scene:
        client = await scene.client()

        error = await client.fails("tools/call", called("srv__echo"))

        assert error["data"] == {"server": "srv"}
        assert puppet.methods().count("tools/call") == 2


async def test_the_last_words_of_a_server_are_in_the_error() -> None:
    puppet = server()

    async def complain(asked: Asked) -> Message:
        await asked.connection.stderr("cannot open /etc/secret: TOKENTOKEN is wrong")
        await asked.connection.exit(1)
        raise Silence

    puppet.on["tools/call"] = complain
    puppet.settings = {"env": {"KEY": "TOKENTOKEN"}}
    async with gateway(puppet) as scene:
        client = await scene.client()
        await client.fails("tools/call", called("srv__echo"))
        link = scene.engine.sessions[0].pool.links["srv"]

        assert link.stderr_tail == ["cannot open /etc/secret: *** is wrong"]


async def test_a_server_that_dies_keeps_its_siblings_listed_and_working() -> None:
    puppet, sibling = server(), Puppet("sibling", eras=("legacy",))
    together = anyio.Event()

    async def slow(asked: Asked) -> Message:
        together.set()
        await puppet.lives(2)
        return text("undisturbed")

    sibling.on["tools/call"] = slow
    async with gateway(puppet, sibling) as scene:
        client = await scene.client()
        assert await client.tools() == ["srv__echo", "sibling__echo"]
        id = client.send("tools/call", called("sibling__echo"))
        await together.wait()

        await puppet.connection.exit()

        assert (await client.result(id))["content"] == text("undisturbed")["content"]
        assert await client.tools() == ["srv__echo", "sibling__echo"]
        assert client.notices(LIST_CHANGED) == []


async def test_tools_stay_listed_while_their_server_is_started_again() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        client = await scene.client()
        await client.tools()
        puppet.on["initialize"] = silent
        await puppet.connection.exit()
        await puppet.lives(2)

        assert await client.tools() == ["srv__echo"]
        assert client.notices(LIST_CHANGED) == []


async def silent(asked: Asked) -> Message:
    raise Silence


async def test_what_changed_while_a_server_was_away_is_told() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        client = await scene.client()
        await client.tools()
        puppet.tools = [tool("other")]

        await puppet.connection.exit()

        await client.notice(LIST_CHANGED)
        assert await client.tools() == ["srv__other"]


async def test_tools_of_a_server_that_stays_away_leave_the_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervision, "GRACE", 0.1)
    monkeypatch.setattr(restarts, "DELAYS", (0.01, 60.0))
    puppet = server()
    async with gateway(puppet) as scene:
        client = await scene.client()
        await client.tools()
        puppet.on["initialize"] = exiting
        await puppet.connection.exit()

        await client.notice(LIST_CHANGED)

        assert await client.tools() == []
        error = await client.fails("tools/call", called("srv__echo"))
        assert error["code"] == -32000
        assert "server 'srv' is down: exited with code 1; next start in" in error["message"]


async def exiting(asked: Asked) -> Message:
    await asked.connection.exit()
    raise Silence


async def test_a_server_that_keeps_failing_is_started_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[int] = []

    def delay(failures: int) -> float:
        waited.append(failures)
        return 0.01

    monkeypatch.setattr(restarts, "delay", delay)
    puppet = server()
    puppet.on["initialize"] = exiting
    async with gateway(puppet) as scene:
        await scene.client()

        await puppet.lives(5)

        assert waited[:4] == [1, 2, 3, 4]


async def test_a_server_that_floods_noise_is_only_noise() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()

        await flood(puppet.connection)

        assert await client.says("srv__echo") == "echo was called"


async def flood(connection: Connection) -> None:
    for number in range(300):
        await connection.line(b"%d bottles of beer" % number)


async def test_a_message_of_megabytes_passes() -> None:
    puppet = server()
    long = "x" * 3_000_000

    async def talk(asked: Asked) -> Message:
        return text(asked.params["arguments"]["said"] + "!")

    puppet.on["tools/call"] = talk
    async with gateway(puppet) as scene:
        client = await scene.client()

        assert await client.says("srv__echo", {"said": long}) == long + "!"


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (
            {"protocolVersion": "2099-01-01", "capabilities": {}},
            "speaks protocol version '2099-01-01'; toolpick speaks ",
        ),
        ({"capabilities": {}}, "speaks protocol version None; toolpick speaks "),
        (
            {"protocolVersion": "2025-06-18", "capabilities": [1]},
            "announced capabilities that are no object",
        ),
    ],
)
async def test_a_server_with_an_impossible_greeting_fails_alone(
    reply: Message, problem: str
) -> None:
    puppet = server()

    async def odd(asked: Asked) -> Message:
        return reply

    puppet.on["initialize"] = odd
    async with gateway(puppet, Puppet("well")) as scene:
        client = await scene.client()

        assert await client.tools() == ["well__echo"]
        assert problem in scene.engine.sessions[0].pool.links["srv"].problem


@pytest.mark.parametrize("offered", [5, "2026-07-28", {"a": 1}, None, [5], []])
async def test_a_server_that_discovers_nonsense_is_greeted_the_old_way(offered: Any) -> None:
    puppet = Puppet("srv")

    async def odd(asked: Asked) -> Message:
        return {"resultType": "complete", "supportedVersions": offered, "capabilities": {}}

    puppet.on["server/discover"] = odd
    async with gateway(puppet) as scene:
        client = await scene.client("modern")

        assert await client.says("srv__echo") == "echo was called"
        assert puppet.methods()[:2] == ["server/discover", "initialize"]


@pytest.mark.parametrize(
    "listed", [{}, {"tools": {}}, {"tools": None}, {"tools": "none"}, {"tools": 5}]
)
async def test_a_server_without_a_list_of_tools_fails_alone(listed: Message) -> None:
    puppet = server()

    async def odd(asked: Asked) -> Message:
        return listed

    puppet.on["tools/list"] = odd
    async with gateway(puppet, Puppet("well")) as scene:
        client = await scene.client()

        assert await client.tools() == ["well__echo"]
        assert "answered tools/list with" in scene.engine.sessions[0].pool.links["srv"].problem


async def test_a_definition_that_is_garbage_hides_no_other() -> None:
    puppet = server()
    puppet.tools = [5, None, {"no": "name"}, tool("good")]  # type: ignore[list-item]
    async with gateway(puppet) as scene:
        client = await scene.client()

        assert await client.tools() == ["srv__good"]


async def test_prompts_that_can_not_be_listed_cost_no_tools() -> None:
    puppet = server()
    del puppet.on["prompts/list"]
    async with gateway(puppet) as scene:
        client = await scene.client()

        assert await client.tools() == ["srv__echo"]
        assert await client.ask("prompts/list") == {"prompts": []}


async def test_an_unforeseen_answer_ends_one_server_and_not_the_gateway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    puppet = server()
    async with gateway(puppet, Puppet("well")) as scene:
        monkeypatch.setattr("toolpick.downstream.listing.offered", broken)
        client = await scene.client()
        await scene.settled()
        link = scene.engine.sessions[0].pool.links["srv"]

        assert link.problem == "said something that toolpick can't handle (ZeroDivisionError)"
        assert await client.tools() == []


async def test_a_required_server_that_can_not_be_started_is_reported() -> None:
    puppet = server(required=True)
    puppet.on["initialize"] = exiting
    async with gateway(puppet) as scene:
        await scene.client()

        with anyio.fail_after(5):
            await scene.engine.required_failed.wait()

        assert scene.engine.required_problem == "required server 'srv' exited with code 1"


async def test_a_required_server_that_is_lost_later_is_just_started_again() -> None:
    puppet = server(required=True)
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()
        await puppet.connection.exit()
        await puppet.lives(2)

        assert await client.says("srv__echo") == "echo was called"
        assert not scene.engine.required_failed.is_set()


async def test_a_command_that_does_not_exist_is_said_to_be_missing() -> None:
    puppet = server(command="no-such-command-anywhere")
    async with gateway(puppet, Puppet("well")) as scene:
        client = await scene.client()

        assert await client.tools() == ["well__echo"]
        problem = scene.engine.sessions[0].pool.links["srv"].problem
        assert problem.startswith("could not be started: ")
        assert "no-such-command-anywhere" in problem


async def test_a_broken_entry_of_the_settings_is_never_started() -> None:
    puppet = server(problem="servers.toml:3: servers.srv.command: is missing")
    async with gateway(puppet, Puppet("well")) as scene:
        client = await scene.client()

        assert await client.tools() == ["well__echo"]
        error = await client.fails("tools/call", called("srv__echo"))
        assert error["message"] == (
            "Tool 'srv__echo' can't be called now: server 'srv' is down: "
            "servers.toml:3: servers.srv.command: is missing"
        )


async def test_a_disabled_server_is_not_there() -> None:
    puppet = server(enabled=False)
    async with gateway(puppet, Puppet("well")) as scene:
        client = await scene.client()

        assert await client.tools() == ["well__echo"]
        assert puppet.connections == []


async def test_an_empty_list_is_read_again_by_and_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolpick.downstream.lists.EMPTY_AGAIN", (0.05, 0.05))
    puppet = server()
    puppet.tools = []
    async with gateway(puppet) as scene:
        client = await scene.client()
        assert await client.tools() == []

        puppet.tools = [tool("ready")]

        await client.notice(LIST_CHANGED)
        assert await client.tools() == ["srv__ready"]


async def test_a_server_of_prompts_only_is_never_asked_for_tools(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolpick.downstream.lists.EMPTY_AGAIN", (0.01, 0.01))
    puppet = server(capabilities={"prompts": {"listChanged": True}})
    puppet.prompts = [{"name": "ask"}]
    async with gateway(puppet) as scene:
        client = await scene.client()
        assert (await client.ask("prompts/list"))["prompts"] == [{"name": "srv__ask"}]
        puppet.prompts = [{"name": "other"}]
        await puppet.tells("notifications/prompts/list_changed")
        await client.notice("notifications/prompts/list_changed")

        assert "tools/list" not in puppet.methods()


async def test_a_server_that_dies_at_the_probe_is_started_again_without() -> None:
    puppet = Puppet("srv", eras=("legacy",))
    puppet.on["server/discover"] = exiting
    async with gateway(puppet) as scene:
        client = await scene.client("modern")

        assert await client.says("srv__echo") == "echo was called"
        assert len(puppet.connections) == 2
        await scene.client("modern")
        await puppet.lives(3)
        assert puppet.methods().count("server/discover") == 1


async def test_a_server_that_dies_whatever_it_is_asked_is_probed_again_later() -> None:
    puppet = Puppet("srv")
    greet = puppet.on["server/discover"]
    puppet.on["server/discover"] = puppet.on["initialize"] = exiting
    async with gateway(puppet) as scene:
        client = await scene.client("modern")
        await puppet.lives(2)
        puppet.on["server/discover"] = greet

        assert await client.says("srv__echo") == "echo was called"
        assert scene.engine.sessions[0].pool.links["srv"].greeted.era == "modern"  # type: ignore[union-attr]


async def test_a_server_that_is_set_to_be_modern_and_dies_is_not_started_in_haste() -> None:
    puppet = Puppet("srv", era="modern")
    puppet.on["server/discover"] = exiting
    async with gateway(puppet) as scene:
        await scene.client("modern")
        await scene.settled()

        assert len(puppet.connections) == 1
        assert "initialize" not in puppet.methods()


async def test_a_server_that_says_nothing_to_the_probe_is_greeted_the_old_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolpick.downstream.greeting.PROBE_WAIT", 0.05)
    puppet = Puppet("srv", eras=("legacy",))
    puppet.on["server/discover"] = silent
    async with gateway(puppet) as scene:
        client = await scene.client("modern")

        assert await client.says("srv__echo") == "echo was called"
        assert len(puppet.connections) == 1


@pytest.mark.parametrize(
    ("era", "first"), [("legacy", "initialize"), ("modern", "server/discover")]
)
async def test_the_settings_may_say_which_era_a_server_is_greeted_in(era: str, first: str) -> None:
    puppet = Puppet("srv", era=era)
    async with gateway(puppet) as scene:
        other = {"legacy": "modern", "modern": "legacy"}[era]
        client = await scene.client(other)

        assert await client.says("srv__echo") == "echo was called"
        assert puppet.methods()[0] == first
        assert scene.engine.sessions[0].pool.links["srv"].greeted.era == era  # type: ignore[union-attr]
