"""What a client meets while servers are still starting."""

import re

import anyio
from tests.engine.puppets import Asked, Message, Puppet, Silence, answer_in, tool
from tests.engine.scene import LIST_CHANGED, called, gateway


class Gate:
    """Holds up one kind of answer of a puppet until it is opened."""

    def __init__(self, puppet: Puppet, method: str = "tools/list") -> None:
        self._answer = puppet.on[method]
        self._opened = anyio.Event()
        puppet.on[method] = self._wait

    async def _wait(self, asked: Asked) -> Message:
        await self._opened.wait()
        return await self._answer(asked)

    def open(self) -> None:
        self._opened.set()


def hanging(name: str) -> Puppet:
    """A server that never answers its greeting."""
    puppet = Puppet(name)
    puppet.on["initialize"] = puppet.on["server/discover"] = silence
    return puppet


async def silence(asked: Asked) -> Message:
    raise Silence


async def test_a_client_is_greeted_at_once_while_every_server_hangs() -> None:
    async with gateway(hanging("a"), hanging("b")) as scene:
        legacy = await scene.client("legacy")
        modern = await scene.client("modern")

        assert legacy.heard[0]["result"]["protocolVersion"] == "2025-11-25"
        assert modern.heard[0]["result"]["supportedVersions"] == ["2026-07-28"]


async def test_the_first_list_waits_for_a_server_that_is_still_starting() -> None:
    slow = Puppet("slow", tool("late"))
    gate = Gate(slow)
    async with gateway(slow, Puppet("quick", tool("soon")), list_wait=60) as scene:
        client = await scene.client()
        id = client.send("tools/list")
        await slow.hears("tools/list")
        assert await client.ask("ping") == {}

        gate.open()

        listed = await client.result(id)
        assert [shown["name"] for shown in listed["tools"]] == ["slow__late", "quick__soon"]
        assert client.notices(LIST_CHANGED) == []


async def test_the_first_list_waits_no_longer_than_it_may_and_what_comes_later_is_told_once() -> (
    None
):
    slow, slower = Puppet("slow", tool("late")), Puppet("slower", tool("later"))
    gates = Gate(slow), Gate(slower)
    async with gateway(slow, Puppet("quick", tool("soon")), slower, list_wait=0.1) as scene:
        client = await scene.client()
        await scene.engine.sessions[0].pool.links["quick"].settled()
        assert await client.tools() == ["quick__soon"]

        for gate in gates:
            gate.open()
        await client.notice(LIST_CHANGED)

        assert await client.tools() == ["slow__late", "quick__soon", "slower__later"]
        assert len(client.notices(LIST_CHANGED)) == 1


async def test_only_the_first_list_of_a_session_waits() -> None:
    async with gateway(hanging("a"), Puppet("b"), list_wait=0.05) as scene:
        client = await scene.client()
        await client.ask("tools/list")

        with anyio.fail_after(1):
            for method in ("tools/list", "prompts/list", "resources/list"):
                await client.ask(method)


async def test_prompts_and_resources_wait_as_tools_do() -> None:
    slow = Puppet("slow")
    slow.prompts = [{"name": "ask"}]
    slow.resources = [{"uri": "file:///a", "name": "a"}]
    slow.templates = [{"uriTemplate": "file:///{name}", "name": "any"}]
    gate = Gate(slow)
    async with gateway(slow, list_wait=60) as scene:
        client = await scene.client()
        ids = [
            client.send(method)
            for method in ("prompts/list", "resources/list", "resources/templates/list")
        ]
        await slow.hears("tools/list")

        gate.open()

        assert [await client.result(id) for id in ids] == [
            {"prompts": [{"name": "slow__ask"}]},
            {"resources": [{"uri": "file:///a", "name": "a"}]},
            {"resourceTemplates": [{"uriTemplate": "file:///{name}", "name": "any"}]},
        ]


async def test_a_list_that_was_given_up_is_not_answered_when_servers_are_there() -> None:
    slow = Puppet("slow")
    gate = Gate(slow)
    async with gateway(slow, list_wait=60) as scene:
        client = await scene.client()
        id = client.send("tools/list")
        client.notify("notifications/cancelled", {"requestId": id, "reason": "enough"})
        gate.open()

        assert await client.tools() == ["slow__echo"]
        assert [message for message in client.heard if message.get("id") == id] == []


async def test_a_call_that_was_given_up_while_it_waited_is_never_made() -> None:
    slow = Puppet("slow")
    gate = Gate(slow)
    async with gateway(slow) as scene:
        client = await scene.client()
        id = client.send("tools/call", called("slow__echo"))
        await slow.hears("tools/list")
        client.notify("notifications/cancelled", {"requestId": id, "reason": "enough"})

        gate.open()

        assert await client.tools() == ["slow__echo"]
        assert "tools/call" not in slow.methods()
        assert [message for message in client.heard if message.get("id") == id] == []


async def test_a_call_waits_for_the_server_that_its_name_begins_with() -> None:
    slow = Puppet("slow", tool("late"))
    gate = Gate(slow)
    async with gateway(slow, list_wait=0.01) as scene:
        client = await scene.client()
        id = client.send("tools/call", called("slow__late"))
        await slow.hears("tools/list")

        gate.open()

        assert (await client.result(id))["content"][0]["text"] == "late was called"


async def test_a_call_under_a_bare_name_waits_for_whoever_may_offer_it() -> None:
    slow = Puppet("slow", tool("late"), prefix="")
    gate = Gate(slow)
    async with gateway(slow, list_wait=60) as scene:
        client = await scene.client()
        id = client.send("tools/call", called("late"))
        await slow.hears("tools/list")

        gate.open()

        assert (await client.result(id))["content"][0]["text"] == "late was called"


async def test_prompts_resources_and_completions_wait_for_the_server_that_may_have_them() -> None:
    slow = Puppet("slow")
    slow.prompts = [{"name": "ask"}]
    slow.resources = [{"uri": "file:///a", "name": "a"}]

    async def echo(asked: Asked) -> Message:
        return answer_in(asked, {"asked": asked.params})

    for method in ("prompts/get", "resources/read", "completion/complete"):
        slow.on[method] = echo
    gate = Gate(slow)
    async with gateway(slow, list_wait=60) as scene:
        client = await scene.client()
        reference = {"ref": {"type": "ref/prompt", "name": "slow__ask"}, "argument": {}}
        ids = [
            client.send("prompts/get", {"name": "slow__ask"}),
            client.send("resources/read", {"uri": "file:///a"}),
            client.send("completion/complete", reference),
            client.send("resources/subscribe", {"uri": "file:///a"}),
        ]
        await slow.hears("tools/list")

        gate.open()

        assert [await client.result(id) for id in ids] == [
            {"asked": {"name": "ask"}},
            {"asked": {"uri": "file:///a"}},
            {"asked": {"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {}}},
            {},
        ]


async def test_a_slow_server_is_said_to_be_starting_and_is_not_ended_at_its_first_timeout() -> None:
    slow = Puppet("slow", tool("late"), start_timeout=0.2)
    gate = Gate(slow)
    async with gateway(slow) as scene:
        client = await scene.client()
        link = scene.engine.sessions[0].pool.links["slow"]
        await link.settled()
        assert link.problem == "has not answered for 0.2 s since its start; still waiting"

        gate.open()

        await link.usable(5)
        assert await client.says("slow__late") == "late was called"
        assert len(slow.connections) == 1


async def test_a_server_that_only_writes_noise_is_said_to() -> None:
    noisy = Puppet("noisy", start_timeout=0.2)

    async def greet(asked: Asked) -> Message:
        await asked.connection.line(b"Welcome!")
        raise Silence

    noisy.on["initialize"] = noisy.on["server/discover"] = greet
    async with gateway(noisy) as scene:
        await scene.client()
        link = scene.engine.sessions[0].pool.links["noisy"]
        await link.settled()
        assert link.problem.endswith("; what it writes is no message: 'Welcome!'")


async def test_a_server_that_never_answers_is_ended_and_started_again() -> None:
    dead = hanging("dead")
    dead.settings = {"start_timeout": 0.2}
    async with gateway(dead) as scene:
        await scene.client()

        first = await dead.lives(1)
        await dead.lives(2)

        assert first.lost.is_set()
        link = scene.engine.sessions[0].pool.links["dead"]
        assert "was not ready within 0.3 s and was ended" in link.problem


async def test_a_call_of_a_server_that_is_still_starting_says_so_when_its_time_is_up() -> None:
    slow = hanging("slow")
    slow.settings = {"timeout": 0.05, "start_timeout": 0.3}
    slow.on["initialize"] = Puppet("slow").on["initialize"]
    gate = Gate(slow)
    async with gateway(slow) as scene:
        client = await scene.client()
        await scene.engine.sessions[0].pool.links["slow"].settled()

        error = await client.fails("tools/call", called("slow__late"))

        gate.open()
        assert error["code"] == -32000
        said = (
            r"Tool 'slow__late' can't be called now: server 'slow' is still starting, \d s so far"
        )
        assert re.fullmatch(rf"{said}( \(.*\))?; try again in a moment", error["message"])
