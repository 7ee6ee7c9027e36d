"""The control socket: where it lies, who may ask, what is answered."""

import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
from tests.engine.puppets import PATIENCE, Puppet, tool
from tests.engine.scene import Gateway, gateway

from toolpick.config.settings import SelectorSettings
from toolpick.front import control as module
from toolpick.front.control import Control, sweep
from toolpick.hook import beacons
from toolpick.hook.beacons import Beacon

LEXICAL = SelectorSettings("lexical")


@asynccontextmanager
async def controlled(
    folder: Path,
    *,
    tcp: bool = False,
    client_environ: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[tuple[Gateway, Control]]:
    """A gateway whose control socket lies in a folder."""
    variables = {"TOOLPICK_RUNTIME_DIR": str(folder / "run"), **(environ or {})}
    weather = Puppet("weather", tool("forecast", "Rain and wind tomorrow."))
    async with gateway(
        weather, selector=LEXICAL, surface="search", client_environ=client_environ
    ) as gate:
        async with anyio.create_task_group() as tasks:
            control = Control(gate.engine, variables, tcp=tcp)
            await tasks.start(control.run)
            yield gate, control
            tasks.cancel_scope.cancel()


def beacon(folder: Path) -> Beacon:
    """The only beacon in a folder."""
    [found] = beacons.read_all({"TOOLPICK_RUNTIME_DIR": str(folder / "run")})
    return found


def rights(path: str) -> int:
    return Path(path).stat().st_mode & 0o777


async def connect(found: Beacon) -> anyio.abc.SocketStream:
    if found.tcp:
        return await anyio.connect_tcp("127.0.0.1", found.tcp)
    return await anyio.connect_unix(found.socket)


async def say(found: Beacon, line: bytes) -> bytes:
    """Send a line; what comes back until the gateway hangs up."""
    heard = b""
    with anyio.fail_after(PATIENCE):
        async with await connect(found) as stream:
            await stream.send(line)
            try:
                while True:
                    heard += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return heard


async def ask(found: Beacon, **request: Any) -> Any:
    return json.loads(await say(found, json.dumps(request).encode() + b"\n"))


async def test_a_beacon_says_whose_gateway_it_is(tmp_path: Path) -> None:
    environ = {"CLAUDE_CODE_SESSION_ID": "s-1"}
    async with controlled(tmp_path, client_environ={"A": "b"}, environ=environ):
        found = beacon(tmp_path)

        assert (found.pid, found.cwd, found.session) == (os.getpid(), os.getcwd(), "s-1")  # noqa: PTH109
        assert (found.transport, found.port, found.tcp, found.secret) == ("stdio", 0, 0, "")
        assert found.parents[0][0] == os.getppid()
        assert rights(found.socket) == 0o600


async def test_a_gateway_over_http_belongs_to_no_conversation_and_names_its_port(
    tmp_path: Path,
) -> None:
    async with controlled(tmp_path, environ={"CLAUDE_CODE_SESSION_ID": "s-1"}) as (_, control):
        control.serves_http(8931)
        found = beacon(tmp_path)

        assert (found.transport, found.port, found.session) == ("http", 8931, "")


async def test_a_prompt_is_answered_with_the_turns_tools(tmp_path: Path) -> None:
    async with controlled(tmp_path, client_environ={"A": "b"}) as (gate, _):
        client = await gate.client(name="codex-mcp-client")
        await client.tools()

        answer = await ask(
            beacon(tmp_path),
            command="prompt",
            prompt="Will there be rain?",
            host="codex",
            session_id="s-2",
            wait=PATIENCE,
        )

        assert answer["selected"] == ["weather__forecast"]
        assert "- weather__forecast()" in answer["context"]
        assert beacon(tmp_path).session == "s-2"


async def test_status_tells_of_every_session_and_server(tmp_path: Path) -> None:
    async with controlled(tmp_path, client_environ={"A": "b"}) as (gate, _):
        client = await gate.client(name="codex-mcp-client")
        await client.tools()
        await ask(beacon(tmp_path), command="prompt", prompt="rain", host="codex", wait=PATIENCE)

        said = await ask(beacon(tmp_path), command="status")

        [session] = said.pop("sessions")
        assert said == {
            "pid": os.getpid(),
            "cwd": os.getcwd(),  # noqa: PTH109
            "port": 0,
            "transport": "stdio",
            "settings": "servers.toml",
            "selector": "lexical",
            "tokens_are": "estimated from character classes",
        }
        [server] = session.pop("servers")
        started_in, shown = server.pop("started_in"), session.pop("tokens_shown")
        total = session.pop("tokens_total")
        assert started_in > 0
        assert 0 < total < shown  # the meta-tools alone take more than this one tool
        assert server == {
            "name": "weather",
            "state": "up",
            "problem": "",
            "tools": 1,
            "starts": 1,
        }
        assert session == {
            "client": "codex-mcp-client",
            "client_version": "1",
            "known_as": "codex",
            "profile": "",
            "era": "legacy",
            "version": "2025-11-25",
            "shared": False,
            "surface": "search",
            "why": 'surface = "search" is set',
            "list": 'surface = "search" is set',
            "query_source": "hook",
            "turns": 1,
            "selected": 1,
            "listed": True,
            "tools_shown": 2,
            "tools_total": 1,
            "list_changes": 0,
            "tokens_reread": 0,
        }
        assert "rain" not in json.dumps(said)


async def test_the_functions_of_a_turn_can_be_asked_for(tmp_path: Path) -> None:
    async with controlled(tmp_path, client_environ={"A": "b"}):
        answer = await ask(beacon(tmp_path), command="selection", session_id="s")

        assert answer == {"names": [], "called": False}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"garbage\n", "a request is one JSON object on a line"),
        (b"[1]\n", "a request is one JSON object on a line"),
        (b"[" * 100_000 + b"\n", "a request is one JSON object on a line"),
        (b"{}\n", "there is no such command; there are prompt, selection, status"),
        (b'{"command": []}\n', "there is no such command; there are prompt, selection, status"),
    ],
)
async def test_what_can_not_be_understood_is_answered_with_what_can(
    tmp_path: Path, line: bytes, error: str
) -> None:
    async with controlled(tmp_path):
        assert json.loads(await say(beacon(tmp_path), line)) == {"error": error}


async def test_a_line_without_an_end_is_given_up(tmp_path: Path) -> None:
    async with controlled(tmp_path):
        heard = await say(beacon(tmp_path), b"x" * (module.LARGEST + 70_000))

        assert heard == b""


async def test_a_caller_who_says_nothing_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    async with controlled(tmp_path):
        assert await say(beacon(tmp_path), b"half a line") == b""


async def test_a_caller_who_leaves_harms_nobody(tmp_path: Path) -> None:
    async with controlled(tmp_path):
        for _ in range(3):
            async with await connect(beacon(tmp_path)) as stream:
                await stream.send(b"{")

        assert "sessions" in await ask(beacon(tmp_path), command="status")


async def test_a_failure_of_ours_is_answered_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "status", lambda engine: 1 // 0)
    async with controlled(tmp_path):
        answer = await ask(beacon(tmp_path), command="status")

    assert answer == {"error": "toolpick failed at this; its log says why"}
    assert "ZeroDivisionError" in caplog.text


async def test_without_unix_sockets_a_port_answers_those_who_know_the_secret(
    tmp_path: Path,
) -> None:
    async with controlled(tmp_path, tcp=True):
        found = beacon(tmp_path)

        assert found.tcp
        assert len(found.secret) == 32
        assert await ask(found, command="status") == {"error": "the secret is missing or wrong"}
        assert await ask(found, command="status", secret="é") == {
            "error": "the secret is missing or wrong"
        }
        assert "sessions" in await ask(found, command="status", secret=found.secret)


@pytest.mark.parametrize("tcp", [False, True])
async def test_nothing_is_left_behind(tmp_path: Path, tcp: bool) -> None:
    async with controlled(tmp_path, tcp=tcp):
        assert list((tmp_path / "run").iterdir())

    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no owner there")
async def test_without_a_folder_of_its_own_the_gateway_runs_without_hooks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")

    async with controlled(tmp_path) as (gate, _):
        assert await (await gate.client()).tools() == ["search_tools", "call_tool"]

    assert "no hook can reach this gateway" in caplog.text
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_dead_gateways_left_behind_is_swept_away(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead, socket.socket(socket.AF_UNIX) as alive:
        dead.bind(str(tmp_path / "1-dead.sock"))
        alive.bind(str(tmp_path / "2-alive.sock"))
        alive.listen()
        dead.close()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            beacons.write(str(tmp_path / "1-dead.json"), {"pid": 1})
            beacons.write(str(tmp_path / "2-alive.json"), {"pid": 2})
            beacons.write(str(tmp_path / "3-port.json"), {"pid": 3, "tcp": port})
            (tmp_path / "4-odd.json").write_text("?")
            sweep(str(tmp_path))
            kept = sorted(path.name for path in tmp_path.iterdir())
        sweep(str(tmp_path))

        left = sorted(path.name for path in tmp_path.iterdir())

    assert kept == ["2-alive.json", "2-alive.sock", "3-port.json", "4-odd.json"]
    assert left == ["2-alive.json", "2-alive.sock", "4-odd.json"]
