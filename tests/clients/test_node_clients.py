"""Clients on node, the TypeScript SDK and the Inspector, list and call through the gateway."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.npm import node
from tests.clients.install import HINT, node_folder
from tests.clients.scene import HERE, Scene, build, over_http, run, visit
from tests.programs import TOOLPICK, listening


@pytest.fixture(scope="module")
def packages() -> Path:
    folder = node_folder()
    if folder is None:
        pytest.skip(f"the TypeScript SDK and the Inspector are not here; {HINT}")
    return folder


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return build(tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module")
def url(scene: Scene) -> Iterator[str]:
    command, port = over_http(scene)
    with listening(command, port, scene.config.parent):
        yield f"http://127.0.0.1:{port}/mcp"


LINES = [
    pytest.param({"line": 1}, id="1.x"),
    pytest.param({"line": 2}, id="2.x"),
    pytest.param({"line": 2, "modern": True}, id="2.x-modern"),
]


@pytest.mark.parametrize("kind", LINES)
def test_the_typescript_sdk_works_over_stdio(
    packages: Path, scene: Scene, kind: dict[str, object]
) -> None:
    program = [node(packages), str(HERE / "visit.mjs"), str(packages)]
    scene.expect(visit(program, {**kind, "command": scene.command, "calls": scene.calls}))


@pytest.mark.parametrize("kind", LINES)
def test_the_typescript_sdk_works_over_http(
    packages: Path, scene: Scene, url: str, kind: dict[str, object]
) -> None:
    program = [node(packages), str(HERE / "visit.mjs"), str(packages)]
    scene.expect(visit(program, {**kind, "url": url, "calls": scene.calls}))


def inspector(packages: Path) -> list[str]:
    launcher = packages / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build"
    return [node(packages), str(launcher / "index.js"), "--cli"]


def test_the_inspector_finds_no_fault_with_the_list(packages: Path, scene: Scene) -> None:
    # The configuration travels in the environment: the Inspector has a --config of its own.
    target = [TOOLPICK, "serve", "-e", f"TOOLPICK_CONFIG={scene.config}"]
    shown = run([*inspector(packages), *target, "--method", "tools/list", "--strict"], clean())
    assert scene.some_tools <= {tool["name"] for tool in json.loads(shown)["tools"]}


def test_the_inspector_calls_a_tool_over_http(packages: Path, url: str) -> None:
    call = ["--method", "tools/call", "--tool-name", "new__test_echo", "--tool-arg", "a=1"]
    shown = json.loads(run([*inspector(packages), url, *call], clean()))
    assert shown["structuredContent"] == {"arguments": {"a": 1}}


def clean() -> dict[str, str]:
    """An environment in which the Inspector opens no browser."""
    return {**os.environ, "MCP_AUTO_OPEN_ENABLED": "false"}
