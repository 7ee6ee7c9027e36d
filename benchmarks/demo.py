"""Three turns through toolpick, in front of real servers: `make demo`.

Starts the servers of `servers.example.toml`, connects to `toolpick serve` as a client would (the
MCP SDK's client, over stdio), and plays three turns: the user's words go along with the request
for the tools, a few tools come back, and one of them is called. Works offline once all is
installed.

Exit status: 1 when toolpick or a turn fails; a server that can't start is only shown.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent, Tool
from programs import ROOT, Broken, toolpick

from toolpick.turns.estimate import estimate_total

QUERY = "io.toolpick/query"
WHOLE = {"break_on_hyphens": False, "break_long_words": False}
PATIENCE = 60.0
"""Seconds that the servers may take to start; the first start of those from npm downloads them."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a user says, and the call that a model would make of it."""

    prompt: str
    server: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The tool's name as toolpick shows it."""
        return f"{self.server}__{self.tool}"


CLOCK = Turn(
    "What time is it in Tokyo right now?", "time", "get_current_time", {"timezone": "Asia/Tokyo"}
)
COMMITS = Turn(
    "Show me the last two commits in the log of this repository.",
    "git",
    "git_log",
    {"repo_path": str(ROOT), "max_count": 2},
)
README = Turn(
    "Read the text file README.md and tell me what this project is.",
    "filesystem",
    "read_text_file",
    {"path": str(ROOT / "README.md"), "head": 3},
)
MEETING = Turn(
    "Our meeting is at 16:30 in Berlin. Convert that to New York time.",
    "time",
    "convert_time",
    {"source_timezone": "Europe/Berlin", "time": "16:30", "target_timezone": "America/New_York"},
)
TURNS = (CLOCK, COMMITS, README, MEETING)
"""The first three whose server is up are played."""


class Failed(Exception):
    """The demo can't go on; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Server:
    """What `toolpick check` says of one server."""

    name: str
    tools: int
    seconds: float
    problem: str

    def line(self) -> str:
        """The server, as the table shows it."""
        if self.problem:
            problem = textwrap.shorten(self.problem, 70, placeholder=" ...")
            return f"  {self.name:12} not there: {problem}"
        return f"  {self.name:12} {self.tools:3} tools, up after {self.seconds:.1f} s"


def say(text: str = "", indent: int = 0) -> None:
    """Print a paragraph."""
    blank = " " * indent
    print(
        textwrap.fill(text, 98, initial_indent=blank, subsequent_indent=blank, **WHOLE), flush=True
    )


def tokens(tools: list[Tool]) -> int:
    """About how many tokens the definitions take in a request."""
    return estimate_total(
        tool.model_dump_json(by_alias=True, exclude_none=True).encode() for tool in tools
    )


def check(config: Path) -> list[Server]:
    """Start every server once and ask how it went."""
    command = [*toolpick(), "check", "--config", str(config), "--json"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=2 * PATIENCE, env=environment()
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"toolpick check did not end within {2 * PATIENCE:.0f} s") from None
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise Failed(f"toolpick check: {done.stderr.strip()[-500:]}") from None
    if not report["servers"]:
        raise Failed("; ".join(map(str, report["problems"])) or f"{config} names no server")
    return [
        Server(one["server"], one["tools"], one["seconds"], one["problem"])
        for one in report["servers"]
    ]


def gateway(config: Path, surface: str, log: Path) -> Any:
    """A client's end of `toolpick serve`, its log in a file."""
    program, *rest = [*toolpick(), "serve", "--config", str(config), "--surface", surface]
    started = StdioServerParameters(command=program, args=rest, env=environment())
    return stdio_client(started, log.open("w"))


def environment() -> dict[str, str]:
    """Our own, in which the programs of this Python's environment are found."""
    here = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": here + os.pathsep + os.environ.get("PATH", "")}


async def everything(config: Path, servers: set[str], log: Path) -> list[Tool]:
    """All tools, as a client without toolpick would be given them."""
    async with Client(gateway(config, "full", log)) as client:
        with anyio.move_on_after(PATIENCE):
            while True:
                tools = (await client.list_tools(cache_mode="bypass")).tools
                if servers <= {tool.name.partition("__")[0] for tool in tools}:
                    return tools
                await anyio.sleep(0.2)
    raise Failed(f"not all of {', '.join(sorted(servers))} came up within {PATIENCE:.0f} s")


async def settle(client: Client, turns: list[Turn]) -> None:
    """Wait until the servers of the turns are up in this session too.

    Asks in other words than the turns will, so that their figures are of a first choice.
    """
    with anyio.move_on_after(PATIENCE):
        for turn in turns:
            while True:
                if turn.name in await shown_for(client, f"{turn.prompt} Please."):
                    break
                await anyio.sleep(0.1)


async def shown_for(client: Client, prompt: str) -> set[str]:
    """The names of the tools that a prompt brings."""
    return {tool.name for tool in (await client.list_tools(meta={QUERY: prompt})).tools}


async def play(client: Client, number: int, turn: Turn, all_tools: list[Tool]) -> None:
    """One turn: the query goes out, tools come back, the right one is called."""
    say()
    say(f'Turn {number}: "{turn.prompt}"')
    begin = time.perf_counter()
    shown = (await client.list_tools(meta={QUERY: turn.prompt})).tools
    listed = 1000 * (time.perf_counter() - begin)
    saved = tokens(all_tools) - tokens(shown)
    say(
        f"{len(shown)} of {len(all_tools)} tools shown in {listed:.0f} ms, {saved:,} tokens saved:",
        2,
    )
    say(", ".join(tool.name for tool in shown), 4)
    if turn.name not in {tool.name for tool in shown}:
        raise Failed(f"{turn.name} was not among the tools shown for {turn.prompt!r}")
    begin = time.perf_counter()
    answer = await client.call_tool(turn.name, turn.arguments)
    called = 1000 * (time.perf_counter() - begin)
    words = " ".join(block.text for block in answer.content if isinstance(block, TextContent))
    if answer.is_error:
        raise Failed(f"{turn.name} answered with an error: {words[:300]}")
    say(f"{turn.name} called, answered in {called:.0f} ms:", 2)
    say(textwrap.shorten(words, 180, placeholder=" ..."), 4)


async def demonstrate(config: Path, folder: Path) -> None:
    """Show the servers, then play the turns."""
    say(f"Starting the servers of {config.name} (npm may have to download some of them) ...")
    servers = await anyio.to_thread.run_sync(check, config)
    for server in servers:
        say(server.line())
    up = {server.name for server in servers if not server.problem}
    turns = [turn for turn in TURNS if turn.server in up][:3]
    if not turns:
        raise Failed("none of the servers that the demo plays with could be started")
    all_tools = await everything(config, up, folder / "full.log")
    say()
    say(
        f"Without toolpick, every request to the model carries {len(all_tools)} tools, about "
        f"{tokens(all_tools):,} tokens. With it, each turn carries those that it needs."
    )
    async with Client(gateway(config, "turn", folder / "turn.log")) as client:
        await settle(client, turns)
        for number, turn in enumerate(turns, start=1):
            await play(client, number, turn, all_tools)


def cause(problem: Exception) -> Exception:
    """What went wrong first; the client's task groups wrap it."""
    while isinstance(problem, ExceptionGroup):
        problem = problem.exceptions[0]
    return problem


def main() -> int:
    """Run the demo; what fails is told in a sentence."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", type=Path, default=ROOT / "servers.example.toml")
    config = parser.parse_args().config
    with tempfile.TemporaryDirectory(prefix="toolpick-demo-") as folder:
        try:
            anyio.run(demonstrate, config, Path(folder))
        except (Failed, Broken, MCPError, OSError, ExceptionGroup) as problem:
            print(f"\nThe demo failed: {cause(problem)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
