"""What every client of these tests finds: servers of three kinds behind one gateway.

`new` is on the Python SDK's 2.x line, `old` on its 1.x line (where that could be fetched), `raw` on
no SDK at all. A client lists all their tools and calls one of each.
"""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.gateway.synthetic import tools as synthetic_tools
from tests.clients.install import old_python
from tests.programs import SERVERS, free_port, mounting, serve

HERE = Path(__file__).parent
SYNTHETIC = HERE.parents[1] / "benchmarks" / "gateway" / "synthetic.py"
PATIENCE = 60.0
"""Seconds that a client program may take; they start slowly on a busy machine."""

RAW_TOOLS = [tool["name"] for tool in synthetic_tools("raw", 3)]


@dataclass(frozen=True, slots=True)
class Scene:
    """A configuration, and what a client must see through it."""

    config: Path
    calls: list[list[Any]]
    answers: dict[str, str]
    some_tools: set[str] = field(default_factory=set)

    @property
    def command(self) -> list[str]:
        """The gateway over stdio."""
        return serve(self.config)

    def expect(self, seen: dict[str, Any]) -> None:
        """Assert that a client saw the tools and got the answers."""
        assert self.some_tools <= set(seen["tools"])
        assert seen["answers"] == self.answers


def build(folder: Path) -> Scene:
    """Configure the servers that can be had here."""
    servers = {
        "new": [sys.executable, str(SERVERS / "everything.py")],
        "raw": [sys.executable, str(SYNTHETIC), "raw", "3"],
    }
    calls: list[list[Any]] = [
        ["new__test_simple_text", {}],
        [f"raw__{RAW_TOOLS[0]}", {"owner": "me"}],
    ]
    answers = ["This is a simple text response for testing.", '{"owner": "me"}']
    old = old_python()
    if old is not None:
        servers["old"] = [str(old), str(HERE / "old_server.py")]
        calls.append(["old__add", {"a": 2, "b": 3}])
        answers.append("5")
    names = [call[0] for call in calls]
    listed = {"new__test_echo", *names, *(f"raw__{name}" for name in RAW_TOOLS)}
    return Scene(mounting(folder, servers), calls, dict(zip(names, answers, strict=True)), listed)


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """The output of a client program; its errors are the assertion's."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def visit(program: list[str], task: dict[str, Any]) -> dict[str, Any]:
    """What a visiting program of this folder saw."""
    seen: dict[str, Any] = json.loads(run([*program, json.dumps(task)]))
    return seen


def over_http(scene: Scene) -> tuple[list[str], int]:
    """The command of a gateway over HTTP, and its port."""
    port = free_port()
    return serve(scene.config, "--http", "--port", str(port)), port
