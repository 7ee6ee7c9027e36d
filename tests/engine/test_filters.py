"""Allow and deny hold on every path to a tool."""

from typing import Any

import pytest
from tests.engine.puppets import Puppet, tool
from tests.engine.scene import Client, called, gateway

from toolpick.config.settings import SelectorSettings

pytestmark = pytest.mark.parametrize("era", ["legacy", "modern"])


def server(**settings: Any) -> Puppet:
    tools = [tool(name, f"Deals with secret plans, {name}") for name in ("read_it", "write_it")]
    return Puppet("srv", *tools, **settings)


async def refused(client: Client, name: str) -> str:
    """The message with which a call by name is refused."""
    error = await client.fails("tools/call", called(name))
    assert error["code"] == -32602
    message: str = error["message"]
    return message


@pytest.mark.parametrize("settings", [{"deny": ("write_*",)}, {"allow": ("read_*",)}])
async def test_what_is_not_allowed_is_not_listed_found_or_called(
    era: str, settings: dict[str, Any]
) -> None:
    puppet = server(**settings)
    async with gateway(puppet, surface="search") as scene:
        client = await scene.client(era)
        await scene.settled()

        found = await client.says("search_tools", {"query": "secret plans write_it"})
        assert "srv__read_it" in found
        assert "write_it" not in found

        unknown = "Unknown tool: {!r}; search_tools finds tools by what they do"
        for name in ("srv__write_it", "write_it"):
            assert await refused(client, name) == unknown.format(name)
            through = await client.call("call_tool", {"name": name, "arguments": {}})
            assert through["isError"] is True
            assert through["content"][0]["text"] == unknown.format(name)
        assert "tools/call" not in puppet.methods()


@pytest.mark.parametrize("surface", ["full", "turn", "stubs", "provider", "search"])
async def test_no_surface_shows_what_is_denied(era: str, surface: str) -> None:
    always = SelectorSettings(always=("srv__write_it", "srv__read_it"))
    async with gateway(server(deny=("write_*",)), surface=surface, selector=always) as scene:
        client = await scene.client(era)

        names = await client.tools(**{"io.toolpick/query": "write_it secret plans"})

        assert "srv__write_it" not in names
        assert "srv__read_it" in names


async def test_a_filter_that_leaves_nothing_leaves_nothing(era: str) -> None:
    async with gateway(server(deny=("*",))) as scene:
        client = await scene.client(era)

        assert await client.tools() == []


async def test_a_denied_tool_that_changes_its_name_case_is_another_tool(era: str) -> None:
    puppet = server(deny=("write_*",))
    async with gateway(puppet) as scene:
        client = await scene.client(era)
        await scene.settled()

        assert "Unknown tool" in await refused(client, "SRV__WRITE_IT")
        assert "Unknown tool" in await refused(client, "srv__WRITE_IT")
        assert "tools/call" not in puppet.methods()
