"""When a client is told that a list has changed, and when not."""

from typing import Any

import pytest
from tests.engine.puppets import META, Puppet, tool
from tests.engine.scene import LIST_CHANGED, Client, Gateway, gateway

PROMPTS_CHANGED = "notifications/prompts/list_changed"
RESOURCES_CHANGED = "notifications/resources/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
STREAM = META + "subscriptionId"
EVERYTHING = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


async def listening(scene: Gateway, era: str, **wanted: Any) -> Client:
    """A client that has seen every list, and hears of changes in the way of its era."""
    client = await scene.client(era)
    for method in ("tools/list", "prompts/list", "resources/list"):
        await client.ask(method)
    if era == "modern":
        client.send("subscriptions/listen", {"notifications": wanted or EVERYTHING})
        await client.notice(ACKNOWLEDGED)
    return client


both = pytest.mark.parametrize("client_era", ["legacy", "modern"])
servers = pytest.mark.parametrize("server_era", ["legacy", "modern"])


@both
@servers
async def test_changed_tools_are_told_and_then_listed(client_era: str, server_era: str) -> None:
    puppet = Puppet("srv", tool("one"), eras=(server_era,))
    async with gateway(puppet) as scene:
        client = await listening(scene, client_era)
        await listened_to(puppet)

        await puppet.changes(tool("two"))

        told = await client.notice(LIST_CHANGED)
        assert (STREAM in told.get("_meta", {})) is (client_era == "modern")
        assert await client.tools() == ["srv__two"]


async def listened_to(puppet: Puppet) -> None:
    """Wait until a modern server has the stream on which it tells changes."""
    if puppet.eras == ("modern",):
        await puppet.until(lambda: bool(puppet.listening))


@both
async def test_changed_prompts_and_resources_are_told_by_kind(client_era: str) -> None:
    puppet = Puppet("srv", eras=("legacy",))
    async with gateway(puppet) as scene:
        client = await listening(scene, client_era)

        puppet.prompts = [{"name": "ask"}]
        await puppet.tells(PROMPTS_CHANGED)
        await client.notice(PROMPTS_CHANGED)
        puppet.templates = [{"uriTemplate": "file:///{a}", "name": "any"}]
        await puppet.tells(RESOURCES_CHANGED)
        await client.notice(RESOURCES_CHANGED)

        assert client.notices(LIST_CHANGED) == []
        assert len((await client.ask("prompts/list"))["prompts"]) == 1
        assert len((await client.ask("resources/templates/list"))["resourceTemplates"]) == 1


@both
async def test_a_change_that_changes_nothing_is_not_told(client_era: str) -> None:
    puppet = Puppet("srv", tool("one"), eras=("legacy",))
    async with gateway(puppet) as scene:
        client = await listening(scene, client_era)
        await puppet.changes(tool("one"))
        await puppet.hears("tools/list", count=2)

        await puppet.changes(tool("two"))

        await client.notice(LIST_CHANGED)
        await client.tools()
        assert len(client.notices(LIST_CHANGED)) == 1


async def test_what_a_client_never_sees_is_not_told() -> None:
    puppet = Puppet("srv", tool("shown"), eras=("legacy",), deny=("hidden*",))
    async with gateway(puppet) as scene:
        client = await listening(scene, "legacy")
        await puppet.changes(tool("shown"), tool("hidden"))
        await puppet.hears("tools/list", count=2)

        await puppet.changes(tool("shown"), tool("hidden_too"), tool("new"))

        await client.notice(LIST_CHANGED)
        assert await client.tools() == ["srv__new", "srv__shown"]
        assert len(client.notices(LIST_CHANGED)) == 1


async def test_a_search_surface_does_not_change_with_the_catalog() -> None:
    puppet = Puppet("srv", tool("one"), eras=("legacy",))
    async with gateway(puppet, surface="search") as scene:
        client = await listening(scene, "legacy")

        await puppet.changes(tool("two"))
        puppet.prompts = [{"name": "ask"}]
        await puppet.tells(PROMPTS_CHANGED)

        await client.notice(PROMPTS_CHANGED)
        assert client.notices(LIST_CHANGED) == []
        assert await client.tools() == ["search_tools", "call_tool"]


async def test_a_client_that_never_listed_is_told_nothing() -> None:
    puppet = Puppet("srv", tool("one"), eras=("legacy",))
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()
        for change in (LIST_CHANGED, PROMPTS_CHANGED, RESOURCES_CHANGED):
            puppet.tools, puppet.prompts = [tool("two")], [{"name": "ask"}]
            puppet.resources = [{"uri": "file:///a", "name": "a"}]
            await puppet.tells(change)
        await puppet.hears("resources/templates/list", count=2)
        await scene.engine.sessions[0].pool.links["srv"].refresh()

        assert await client.tools() == ["srv__two"]
        assert [message for message in client.heard if "method" in message] == []


async def test_many_changes_at_once_are_read_and_told_once() -> None:
    puppets = [Puppet(name, tool("one"), eras=("legacy",)) for name in ("a", "b", "c")]
    async with gateway(*puppets) as scene:
        client = await listening(scene, "legacy")
        for puppet in puppets:
            puppet.tools = [tool("two")]
            for _ in range(5):
                await puppet.connection.notify(LIST_CHANGED)

        await client.notice(LIST_CHANGED)

        assert await client.tools() == ["a__two", "b__two", "c__two"]
        assert len(client.notices(LIST_CHANGED)) == 1
        assert all(puppet.methods().count("tools/list") <= 3 for puppet in puppets)


async def test_a_stream_is_told_only_of_the_kinds_it_was_opened_for() -> None:
    puppet = Puppet("srv", tool("one"), eras=("legacy",))
    async with gateway(puppet) as scene:
        client = await listening(scene, "modern", promptsListChanged=True)

        await puppet.changes(tool("two"))
        puppet.prompts = [{"name": "ask"}]
        await puppet.tells(PROMPTS_CHANGED)

        await client.notice(PROMPTS_CHANGED)
        assert client.notices(LIST_CHANGED) == []


async def test_a_list_never_shows_a_change_before_it_was_told() -> None:
    puppet = Puppet("srv", tool("one"), eras=("legacy",))
    async with gateway(puppet) as scene:
        client = await listening(scene, "legacy")
        await puppet.changes(tool("two"))
        names = await client.tools()
        while names == ["srv__one"]:
            names = await client.tools()

        shown = next(
            index
            for index, message in enumerate(client.heard)
            if "two" in str(message.get("result"))
        )
        told = [message.get("method") for message in client.heard].index(LIST_CHANGED)
        assert told < shown


async def test_a_list_that_can_not_be_read_again_stays_as_it_was() -> None:
    puppet = Puppet("srv", tool("one"), eras=("legacy",))
    listed = puppet.on["tools/list"]
    async with gateway(puppet) as scene:
        client = await listening(scene, "legacy")
        del puppet.on["tools/list"]
        await puppet.changes(tool("two"))
        await puppet.hears("tools/list", count=2)
        assert await client.tools() == ["srv__one"]

        puppet.on["tools/list"] = listed
        await puppet.changes(tool("three"))

        await client.notice(LIST_CHANGED)
        assert await client.tools() == ["srv__three"]
