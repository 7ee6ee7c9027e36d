"""A server of the official SDK behind the gateway, for clients of both eras."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.engine.scene import Client, Gateway, called, gateway

from toolpick.config.settings import ServerSettings

EVERYTHING = Path(__file__).parents[1] / "servers" / "everything.py"
ALL: dict[str, Any] = {"sampling": {}, "elicitation": {"form": {}}, "roots": {}}
SDK = ServerSettings("sdk", command=sys.executable, args=(str(EVERYTHING),))

both = pytest.mark.parametrize("era", ["legacy", "modern"])


async def opened(scene: Gateway, era: str, **capabilities: Any) -> Client:
    """A client, once the server is up: importing the SDK takes a second or more."""
    client = await scene.client(era, **capabilities)
    await scene.engine.sessions[0].pool.links["sdk"].usable(60)
    return client


async def text_of(client: Client, id: int) -> str:
    result = await client.result(id)
    said: str = result["content"][0]["text"]
    return said


@both
async def test_its_offers_are_listed_and_used(era: str) -> None:
    async with gateway(more=[SDK]) as scene:
        client = await opened(scene, era)

        assert "sdk__test_simple_text" in await client.tools()
        assert [link.greeted.era for link in scene.engine.sessions[0].pool.links.values()] == [era]  # type: ignore[union-attr]
        prompts = (await client.ask("prompts/list"))["prompts"]
        resources = (await client.ask("resources/list"))["resources"]
        assert prompts
        assert resources
        read = await client.ask("resources/read", {"uri": resources[0]["uri"]})
        assert read["contents"][0]["uri"] == resources[0]["uri"]
        assert (await client.call("sdk__test_simple_text"))["content"][0]["type"] == "text"


async def test_it_asks_a_legacy_client_in_the_middle_of_a_call() -> None:
    async with gateway(more=[SDK]) as scene:
        client = await opened(scene, "legacy", **ALL)
        id = client.send("tools/call", called("sdk__test_streaming_elicitation"), progressToken=1)

        question = await client.question("elicitation/create")
        client.reply(question, {"action": "accept", "content": {"name": "Ada"}})

        said = await text_of(client, id)
        assert "Ada" in said
        assert [told["progress"] for told in client.notices("notifications/progress")] == [1]


async def test_it_asks_a_modern_client_in_rounds() -> None:
    async with gateway(more=[SDK]) as scene:
        client = await opened(scene, "modern", **ALL)
        name = "sdk__test_input_required_result_request_state"

        asked = await client.call(name)
        back = {
            **called(name),
            "requestState": asked["requestState"],
            "inputResponses": {"confirm": {"action": "accept", "content": {"ok": True}}},
        }
        result = await client.ask("tools/call", back)

        assert asked["resultType"] == "input_required"
        assert result["content"][0]["text"] == "state-ok: confirmed"


@both
async def test_its_changes_are_told(era: str) -> None:
    async with gateway(more=[SDK]) as scene:
        client = await opened(scene, era)
        await client.tools()
        if era == "modern":
            client.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            await client.notice("notifications/subscriptions/acknowledged")

        await client.call("sdk__test_trigger_tool_change")

        await client.notice("notifications/tools/list_changed")
        assert "sdk__test_dynamic_tool" in await client.tools()
