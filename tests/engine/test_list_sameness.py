"""Whose list may depend on what: modern ones on nothing said before, legacy ones on one session."""

import random
from typing import Any

import pytest
from tests.engine.puppets import Puppet, tool
from tests.engine.scene import LIST_CHANGED, Client, gateway

from toolpick.config.settings import SURFACES, SelectorSettings
from toolpick.engine.hooks import Hooks

LEXICAL = SelectorSettings("lexical", always=("srv__now",), limit=2, minimum=1)
ABOUT = ("rain and wind", "send a letter", "convert euros", "play a song", "rename a file")
QUERY, CONVERSATION = "io.toolpick/query", "io.toolpick/conversation"


def server() -> Puppet:
    made = [tool(f"tool_{n}", f"Can {text}.") for n, text in enumerate(ABOUT)]
    return Puppet("srv", tool("now", "The time."), *made)


def scene(surface: str, **settings: Any) -> Any:
    made = {"selector": LEXICAL, "threshold_tokens": 0, "max_tools": 5, **settings}
    return gateway(server(), surface=surface, **made)


async def something(client: Client, draw: random.Random) -> None:
    """One request that changes nothing but perhaps its own answer."""
    text, name = draw.choice(ABOUT), f"srv__tool_{draw.randrange(len(ABOUT))}"
    match draw.randrange(5):
        case 0:
            await client.call("search_tools", {"query": text})
        case 1:
            await client.call(name)
        case 2:
            await client.call("call_tool", {"name": name})
        case 3:
            await client.tools(**{QUERY: text, CONVERSATION: draw.choice("ab")})
        case _:
            await client.answer(client.send("tools/call", {"name": "srv__missing"}))


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("stability", ["append", "exact"])
async def test_a_modern_list_depends_on_no_earlier_request(surface: str, stability: str) -> None:
    draw = random.Random(surface + stability)
    async with scene(surface, client_environ={}, stability=stability) as gate:
        client, other = await gate.client("modern"), await gate.client("modern")
        plain = await client.ask("tools/list")
        asked = await client.ask("tools/list", **{QUERY: ABOUT[0]})

        for _ in range(25):
            await something(client, draw)

        assert await client.ask("tools/list") == plain
        assert await client.ask("tools/list", **{QUERY: ABOUT[0]}) == asked
        assert await other.ask("tools/list") == plain


async def test_after_a_prompt_a_modern_list_depends_on_no_call_either() -> None:
    draw = random.Random("hook")
    async with scene("turn", client_environ={}) as gate:
        client = await gate.client("modern")
        await client.tools()
        for text in ABOUT:
            await Hooks(gate.engine).prompt({"prompt": text, "wait": 0.01})
        plain = await client.ask("tools/list")

        for _ in range(25):
            await something(client, draw)

        assert await client.ask("tools/list") == plain


async def test_one_legacy_sessions_turns_never_change_anothers_list() -> None:
    async with scene("turn", client_environ=None) as gate:
        client, other = await gate.client(), await gate.client()
        before = await other.ask("tools/list")
        await client.tools()
        for session, whose in zip(gate.engine.sessions, ("mine", "theirs"), strict=True):
            session.host_session = whose

        for text in ABOUT:
            said = {"prompt": text, "session_id": "mine", "wait": 0.01}
            await Hooks(gate.engine).prompt(said)
            await client.call("search_tools", {"query": text})
            await client.call("srv__tool_0")

        assert len(await client.tools()) > len(before["tools"])
        assert await other.ask("tools/list") == before
        assert other.notices(LIST_CHANGED) == []
