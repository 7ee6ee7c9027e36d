"""What is measured: toolpick and the floor, each over pipes and over HTTP, in front of ten servers.

Knows how each is configured and started; what is done with it is `measures`' business.
"""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clients import Client, Http, Pipes
from programs import free_port, toolpick
from synthetic import tools

HERE = Path(__file__).resolve().parent
SERVERS, TOOLS = 10, 50
KINDS = ("floor", "toolpick", "floor-http", "toolpick-http")


@dataclass(frozen=True, slots=True)
class Fault:
    """A server that misbehaves: which one, and the option that makes it."""

    server: int = -1
    options: tuple[str, ...] = ()


NO_FAULT = Fault()


@dataclass(slots=True)
class Target:
    """A running gateway and the names under which it offers the tools."""

    kind: str
    client: Client
    names: list[str] = field(default_factory=list)

    @property
    def pid(self) -> int:
        """The gateway's process."""
        return self.client.process.pid

    def call(self, number: int, **arguments: Any) -> dict[str, Any]:
        """Parameters of the n-th call: round the servers, then round the tools of each."""
        server, tool = number % SERVERS, number // SERVERS % TOOLS
        name = self.names[server * TOOLS + tool]
        return {
            "name": name,
            "arguments": {"text": "how do I merge these", "n": number} | arguments,
        }


def commands(fault: Fault) -> dict[str, list[str]]:
    """How each synthetic server is started; `-S -E` keeps it small and quick."""
    base = [sys.executable, "-S", "-E", str(HERE / "synthetic.py")]
    made = {f"srv{at:02d}": [*base, f"srv{at:02d}", str(TOOLS)] for at in range(SERVERS)}
    if fault.server >= 0:
        made[f"srv{fault.server:02d}"] += fault.options
    return made


def expected_names() -> list[str]:
    """The merged names, in the order of the servers."""
    servers = [f"srv{at:02d}" for at in range(SERVERS)]
    return [f"{server}__{tool['name']}" for server in servers for tool in tools(server, TOOLS)]


def start(kind: str, folder: Path, fault: Fault = NO_FAULT) -> Target:
    """Start a gateway; it has not been greeted yet."""
    folder.mkdir(parents=True)
    port = free_port() if kind.endswith("-http") else None
    command = (
        _floor(folder, fault, port) if kind.startswith("floor") else _ours(folder, fault, port)
    )
    client = Pipes(command, folder) if port is None else Http(command, folder, port)
    return Target(kind, client, expected_names())


def _floor(folder: Path, fault: Fault, port: int | None) -> list[str]:
    config = folder / "servers.json"
    config.write_text(json.dumps(commands(fault)))
    command = [sys.executable, str(HERE / "floor.py"), str(config)]
    return command if port is None else [*command, "--port", str(port)]


def _ours(folder: Path, fault: Fault, port: int | None) -> list[str]:
    config = folder / "servers.toml"
    sections = ['[gateway]\nsurface = "full"\n[selector]\nkind = "lexical"\n']
    for name, (command, *arguments) in commands(fault).items():
        lines = f"command = {json.dumps(command)}\nargs = {json.dumps(arguments)}\n"
        sections.append(f"[servers.{name}]\n{lines}")
    config.write_text("".join(sections))
    command = [*toolpick(), "serve", "--config", str(config)]
    return command if port is None else [*command, "--http", "--port", str(port)]
