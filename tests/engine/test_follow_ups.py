"""Turns of one conversation: what the next one is chosen by, and who never hears of it."""

from typing import Any

import anyio
from tests.engine.puppets import PATIENCE, Message, Puppet, tool
from tests.engine.scene import LIST_CHANGED, Client, Gateway, gateway

from toolpick.config.settings import SelectorSettings
from toolpick.engine.hooks import Hooks
from toolpick.model import META_TOOLS
from toolpick.turns import Past

CODEX = "codex-mcp-client"
RAIN, SAME, MONEY = "Will it rain in Oslo?", "and in Porto", "Convert euros into another currency."


def puppets() -> list[Puppet]:
    gizmos = (tool(f"part_{n}", f"Measures the gizmo number {n}.") for n in range(30))
    return [
        Puppet("sky", tool("forecast", "Rain and wind in a city."), tool("alerts", "Storms.")),
        Puppet("money", tool("convert", "Convert euros into another currency.")),
        Puppet("other", *gizmos),
    ]


def scene(**settings: Any) -> Any:
    made = {"selector": SelectorSettings(), "client_environ": {}, "threshold_tokens": 0}
    return gateway(*puppets(), surface="turn", **{**made, **settings})


async def prompt(gate: Gateway, text: str, conversation: str = "c") -> Message:
    request = {"prompt": text, "host": "codex", "session_id": conversation, "wait": PATIENCE}
    with anyio.fail_after(PATIENCE):
        return await Hooks(gate.engine).prompt(request)


async def opened(gate: Gateway, era: str = "legacy") -> Client:
    client = await gate.client(era, name=CODEX)
    await gate.settled()
    tools = gate.engine.sessions[0].pool.generation.tools
    await gate.engine.turns.selections.prepare(tuple(tools.values()))
    await client.tools()
    return client


async def test_a_follow_up_is_served_by_what_was_called_and_the_list_stays() -> None:
    async with scene() as gate:
        client = await opened(gate)
        await prompt(gate, RAIN)
        listed = await client.tools()
        assert listed[:3] == [*META_TOOLS, "sky__forecast"]
        await client.call("sky__forecast")

        answer = await prompt(gate, SAME)

        assert set(answer["selected"]) >= {"sky__forecast", "sky__alerts"}
        assert await client.tools() == listed
        unlisted = [name for name in answer["selected"] if name not in listed]
        assert all(f"- {name}(" in answer["context"] for name in unlisted)


async def test_another_topic_is_listed() -> None:
    async with scene() as gate:
        client = await opened(gate)
        await prompt(gate, RAIN)
        before = await client.tools()
        await client.call("sky__forecast")

        answer = await prompt(gate, MONEY)

        assert answer["selected"][0] == "money__convert"
        after = await client.tools()
        assert after[: len(before)] == before
        assert "money__convert" in after
        assert len(client.notices(LIST_CHANGED)) >= 1


async def test_another_conversation_of_the_client_starts_afresh() -> None:
    async with scene() as gate:
        client = await opened(gate)
        await prompt(gate, RAIN, "one")
        await client.call("sky__forecast")

        await prompt(gate, SAME, "two")

        pasts = gate.engine.sessions[0].pasts
        assert pasts.of("one") == Past((RAIN,), ("sky__forecast",))
        assert pasts.of("two") == Past((SAME,))


async def test_what_one_session_called_never_reaches_another() -> None:
    async with scene() as gate:
        client = await opened(gate)
        other = await gate.client(name="somebody else")
        await prompt(gate, RAIN)
        await client.call("sky__forecast")
        await other.call("money__convert")

        one, two = gate.engine.sessions
        assert one.pasts.of("c") == Past((RAIN,), ("sky__forecast",))
        assert two.pasts.of("c") == Past((RAIN,), ("money__convert",))


async def test_a_modern_clients_calls_are_not_remembered() -> None:
    async with scene() as gate:
        client = await opened(gate, "modern")
        await prompt(gate, RAIN)
        await client.call("sky__forecast")

        assert [s.pasts.of("c") for s in gate.engine.sessions] == [Past((RAIN,))]
