"""Clients on the Python SDK, both lines, list and call through the gateway."""

from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent
from tests.clients.install import HINT, old_python
from tests.clients.scene import HERE, Scene, build, over_http, visit
from tests.programs import listening


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return build(tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module")
def url(scene: Scene) -> Iterator[str]:
    command, port = over_http(scene)
    with listening(command, port, scene.config.parent):
        yield f"http://127.0.0.1:{port}/mcp"


async def look(client: Client, scene: Scene) -> dict[str, Any]:
    names = [tool.name for tool in (await client.list_tools()).tools]
    answers = {}
    for name, arguments in scene.calls:
        block = (await client.call_tool(name, arguments)).content[0]
        assert isinstance(block, TextContent)
        answers[name] = block.text
    return {"tools": names, "answers": answers}


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_the_current_sdk_works_over_stdio(scene: Scene, mode: str) -> None:
    command, *arguments = scene.command
    async with Client(StdioServerParameters(command=command, args=arguments), mode=mode) as client:
        scene.expect(await look(client, scene))


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_the_current_sdk_works_over_http(scene: Scene, url: str, mode: str) -> None:
    async with Client(url, mode=mode) as client:
        scene.expect(await look(client, scene))


async def test_a_client_that_negotiates_gets_the_newest_version(scene: Scene, url: str) -> None:
    async with Client(url) as client:
        assert client.session.protocol_version == "2026-07-28"


def program() -> list[str]:
    python = old_python()
    if python is None:
        pytest.skip(f"the Python SDK 1.x is not here; {HINT}")
    return [str(python), str(HERE / "old_client.py")]


def test_the_old_sdk_works_over_stdio(scene: Scene) -> None:
    seen = visit(program(), {"command": scene.command, "calls": scene.calls})
    scene.expect(seen)
    assert seen["version"] == "2025-11-25"


def test_the_old_sdk_works_over_http(scene: Scene, url: str) -> None:
    scene.expect(visit(program(), {"url": url, "calls": scene.calls}))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_progress_resources_and_prompts_of_an_old_server_arrive(
    scene: Scene, mode: str
) -> None:
    if old_python() is None:
        pytest.skip(f"the Python SDK 1.x is not here; {HINT}")
    steps: list[float] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    command, *arguments = scene.command
    async with Client(StdioServerParameters(command=command, args=arguments), mode=mode) as client:
        await client.list_tools()
        counted = await client.call_tool("old__count", {"to": 3}, progress_callback=note)
        resource = await client.read_resource("old://greeting")
        prompt = await client.get_prompt("old__summarise", {"topic": "tides"})
    assert counted.content[0].text == "counted to 3"  # type: ignore[union-attr]
    assert steps == [1, 2, 3]
    assert resource.contents[0].text == "hello from the 1.x line"  # type: ignore[union-attr]
    assert prompt.messages[0].content.text == "Summarise tides"  # type: ignore[union-attr]
