"""Calls that are looked at first: of stubs, and of what a turn was not shown. And quotas."""

import json
from typing import Any

import pytest
from tests.engine.puppets import Message, Puppet, tool
from tests.engine.scene import LIST_CHANGED, Client, gateway

from toolpick.config.settings import SelectorSettings
from toolpick.engine.hooks import Hooks
from toolpick.model import META_TOOLS

LEXICAL = SelectorSettings("lexical", always=("srv__now",))
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where."},
        "days": {"type": "integer"},
    },
    "required": ["city"],
}
EXPECTED = "expected (city: string, days?: integer)"
both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])


def server() -> Puppet:
    return Puppet(
        "srv",
        tool("now", "The time."),
        tool("forecast", "Rain and wind. Of the week.", inputSchema=SCHEMA),
        tool("send", "Send a letter."),
    )


def scene(puppet: Puppet, surface: str, **settings: Any) -> Any:
    return gateway(puppet, surface=surface, selector=LEXICAL, client_environ={}, **settings)


async def listed(client: Client, name: str) -> Message:
    shown = (await client.ask("tools/list"))["tools"]
    [found] = [one for one in shown if one["name"] == name]
    return found  # type: ignore[no-any-return]


def calls(puppet: Puppet) -> list[str]:
    return [said["name"] for said in puppet.params("tools/call")]


async def refused(client: Client, name: str, arguments: Message | None = None) -> str:
    """The text of a result that says what was wrong."""
    result = await client.call(name, arguments)
    assert result["isError"] is True
    text: str = result["content"][0]["text"]
    return text


# -- stubs


@both_eras
async def test_a_stub_has_no_arguments_and_can_be_called_all_the_same(era: str) -> None:
    puppet = server()
    async with scene(puppet, "stubs") as gate:
        client = await gate.client(era)

        stub = await listed(client, "srv__forecast")
        result = await client.call("srv__forecast", {"city": "Oslo", "days": 1})

        assert stub["inputSchema"] == {"type": "object"}
        assert stub["description"].startswith("Rain and wind. Arguments are shown by search_tools")
        assert result["content"][0] == {"type": "text", "text": "forecast was called"}
        assert calls(puppet) == ["forecast"]


@both_eras
async def test_a_wrong_call_of_a_stub_is_answered_with_what_was_expected(era: str) -> None:
    puppet = server()
    async with scene(puppet, "stubs") as gate:
        client = await gate.client(era)
        await client.tools()

        said = await refused(client, "srv__forecast", {"town": "Oslo"})

        assert said == (f"srv__forecast was not called: arguments must have 'city'; {EXPECTED}")
        assert calls(puppet) == []


async def test_once_called_a_stub_is_shown_whole_to_its_session_alone() -> None:
    async with scene(server(), "stubs") as gate:
        client, other = await gate.client(), await gate.client()
        await client.tools()
        await other.tools()

        await client.call("srv__forecast", {"city": "Oslo"})
        await client.notice(LIST_CHANGED)

        assert (await listed(client, "srv__forecast"))["inputSchema"] == SCHEMA
        assert (await listed(other, "srv__forecast"))["inputSchema"] == {"type": "object"}
        assert other.notices(LIST_CHANGED) == []
        await client.call("srv__forecast", {"city": "Bergen"})
        assert len(client.notices(LIST_CHANGED)) == 1


async def test_for_a_modern_client_a_stub_stays_and_its_arguments_come_with_the_first_answer() -> (
    None
):
    async with scene(server(), "stubs") as gate:
        client = await gate.client("modern")
        before = await client.ask("tools/list")

        first = await client.call("srv__forecast", {"city": "Oslo"})
        second = await client.call("srv__forecast", {"city": "Oslo"})

        assert [block["text"] for block in first["content"]] == [
            "forecast was called",
            "Arguments of srv__forecast: (city: string, days?: integer)\n    city: Where.",
        ]
        assert [block["text"] for block in second["content"]] == ["forecast was called"]
        assert await client.ask("tools/list") == before


async def test_an_always_tool_is_no_stub() -> None:
    puppet = server()
    async with scene(puppet, "stubs") as gate:
        client = await gate.client("modern")

        assert (await listed(client, "srv__now"))["description"] == "The time."
        assert await client.says("srv__now") == "now was called"


async def test_a_session_whose_changes_are_used_up_keeps_its_stubs() -> None:
    async with scene(server(), "stubs", list_changes=1) as gate:
        client = await gate.client()
        await client.tools()
        await client.call("srv__forecast", {"city": "Oslo"})
        await client.notice(LIST_CHANGED)

        await client.call("srv__send")

        assert (await listed(client, "srv__send"))["description"].startswith("Send a letter. Arg")


# -- enforce = "selected"


@both_eras
async def test_what_the_turn_was_not_shown_is_refused_with_what_to_do(era: str) -> None:
    puppet = server()
    async with scene(puppet, "search", enforce="selected") as gate:
        client = await gate.client(era)
        await client.tools()
        why = (
            "srv__send was not called: only this turn's tools can be called here, and it is none "
            "of them; find it with search_tools first"
        )

        assert await refused(client, "srv__send") == why
        assert await refused(client, "call_tool", {"name": "srv__send"}) == why
        assert calls(puppet) == []
        assert await client.says("srv__now") == "now was called"


async def test_what_was_found_or_selected_can_be_called() -> None:
    puppet = server()
    async with scene(puppet, "search", enforce="selected") as gate:
        client = await gate.client()
        await client.tools()

        await client.call("search_tools", {"query": "send a letter"})
        await Hooks(gate.engine).prompt({"prompt": "Will there be rain and wind?", "wait": 5})

        assert await client.says("srv__send") == "send was called"
        arguments = {"name": "srv__forecast", "arguments": {"city": "Oslo"}}
        assert await client.says("call_tool", arguments) == "forecast was called"


async def test_by_default_any_allowed_tool_can_be_called() -> None:
    async with scene(server(), "search") as gate:
        client = await gate.client()
        assert await client.tools() == [*META_TOOLS, "srv__now"]

        assert await client.says("srv__send") == "send was called"


# -- provider


async def test_a_provider_is_given_everything_with_hints_for_its_own_search() -> None:
    bare = tool("list_all")
    puppet = Puppet("srv", tool("now", "The time."), bare, tool("send", "Send.", _meta={"a": 1}))
    async with scene(puppet, "provider") as gate:
        client = await gate.client()

        shown = (await client.ask("tools/list"))["tools"]

        assert {one["name"]: one.get("_meta") for one in shown} == {
            "search_tools": {"anthropic/alwaysLoad": True},
            "call_tool": {"anthropic/alwaysLoad": True},
            "srv__now": {"anthropic/alwaysLoad": True},
            "srv__list_all": {"anthropic/searchHint": "srv list all"},
            "srv__send": {"a": 1},
        }
        assert json.dumps(shown).count("alwaysLoad") == 3


# -- quota


async def test_one_big_server_does_not_crowd_out_the_rest() -> None:
    big = Puppet("big", *(tool(f"letter_{n}", "Send a letter.") for n in range(30)))
    small = Puppet("small", tool("post", "Send one letter by post today, please."))
    picked = SelectorSettings("lexical", limit=10, minimum=10)
    async with gateway(big, small, surface="turn", selector=picked) as gate:
        client = await gate.client("modern")

        names = await client.tools(**{"io.toolpick/query": "send a letter"})

        servers = [name.partition("__")[0] for name in names if "__" in name]
        assert sorted(servers) == ["big"] * 9 + ["small"]
        assert gate.engine.settings.selector.per_server == 0
