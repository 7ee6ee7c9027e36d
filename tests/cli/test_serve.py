"""``toolpick serve`` as clients start it: its options, its output, its exit codes."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.programs import PATIENCE, TOOLPICK, end

SERVER = Path(__file__).parents[1] / "small_server.py"
Settings = Callable[..., Path]


def server(*arguments: str, name: str = "srv", more: str = "") -> str:
    """The settings of one small server."""
    args = json.dumps([str(SERVER), *arguments])
    return f"[servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n{more}\n"


class Serving:
    """A gateway that a test speaks to; ``lines`` is everything that it wrote to stdout."""

    def __init__(self, *options: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [TOOLPICK, "serve", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self.lines: list[bytes] = []
        self._answers: queue.Queue[Any] = queue.Queue()
        self._count = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            message = json.loads(line)
            if "method" not in message:
                self._answers.put(message)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its result."""
        self._count += 1
        request = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params or {}}
        self.write(json.dumps(request).encode())
        while True:
            answer = self._answers.get(timeout=PATIENCE)
            if answer["id"] == self._count:
                result: dict[str, Any] = answer["result"]
                return result

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def tools(self) -> list[str]:
        """The names that are listed to a client of the handshake."""
        about = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}
        self.ask("initialize", params)
        return [tool["name"] for tool in self.ask("tools/list")["tools"]]

    def stop(self) -> tuple[int, str]:
        """Close stdin; the exit code and what was written to stderr."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        said = self.process.stderr.read().decode()
        return self.process.wait(PATIENCE), said


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    def written(*parts: str) -> Path:
        path = tmp_path / "servers.toml"
        path.write_text("".join(parts), encoding="utf-8")
        return path

    return written


@pytest.fixture
def serving() -> Iterator[Callable[..., Serving]]:
    started: list[Serving] = []

    def start(*options: str, **more: Any) -> Serving:
        started.append(Serving(*options, **more))
        return started[-1]

    yield start
    for one in started:
        end(one.process)
        if one.process.stderr is not None:
            one.process.stderr.close()


def test_stdout_carries_frames_and_nothing_else(
    settings: Settings, serving: Callable[..., Serving]
) -> None:
    config = settings(server("--print", "one"), server("--die", "no luck", name="bad"))
    gateway = serving("--config", str(config), "--log-level", "debug")

    assert gateway.tools() == ["srv__one"]
    gateway.write(b"this is no message")
    assert gateway.ask("ping") == {}

    code, said = gateway.stop()
    assert code == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in gateway.lines)
    assert "a line that is no message" in said
    assert "no luck" in said


def test_the_client_that_leaves_ends_it_with_exit_code_0(
    settings: Settings, serving: Callable[..., Serving]
) -> None:
    gateway = serving("--config", str(settings(server("one"))))
    gateway.ask("ping")

    assert gateway.stop() == (0, "")


def test_a_required_server_that_fails_ends_it_with_exit_code_2(
    settings: Settings, serving: Callable[..., Serving]
) -> None:
    config = settings(server("--die", "no luck", more="required = true"))
    gateway = serving("--config", str(config), "--log-level", "error")
    gateway.write(b'{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}')

    assert gateway.process.wait(PATIENCE) == 2
    assert gateway.process.stderr is not None
    said = gateway.process.stderr.read().decode()
    assert (
        "toolpick: required server 'srv' exited with code 7; its last stderr line: 'no luck'"
        in (said)
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gateway", "servers.toml:1: "),
        ('[gateway]\nsurfaces = "full"\n', "servers.toml:2: gateway.surfaces: "),
        ("[servers.a]\nrequired = true\n", "servers.toml:1: servers.a: "),
    ],
)
def test_settings_that_can_not_be_used_end_it_with_exit_code_3(
    text: str, said: str, settings: Settings, serving: Callable[..., Serving]
) -> None:
    gateway = serving("--config", str(settings(text)))

    code, heard = gateway.stop()

    assert code == 3
    assert said in heard
    assert "Traceback" not in heard


def test_a_file_that_is_not_there_ends_it_with_exit_code_3(
    tmp_path: Path, serving: Callable[..., Serving]
) -> None:
    code, said = serving("--config", str(tmp_path / "none.toml")).stop()

    assert code == 3
    assert "none.toml" in said


@pytest.mark.parametrize(
    ("surface", "listed"),
    [
        ("full", ["srv__one", "srv__two"]),
        ("search", ["search_tools", "call_tool"]),
        ("stubs", ["search_tools", "call_tool", "srv__one", "srv__two"]),
    ],
)
def test_the_surface_may_be_chosen_on_the_command_line(
    surface: str, listed: list[str], settings: Settings, serving: Callable[..., Serving]
) -> None:
    config = settings('[gateway]\nsurface = "turn"\n', server("one", "two"))

    assert serving("--config", str(config), "--surface", surface).tools() == listed


@pytest.mark.parametrize("way", ["option", "file", "environment"])
def test_a_headless_run_is_told_what_it_is_about(
    way: str, settings: Settings, serving: Callable[..., Serving], tmp_path: Path
) -> None:
    config = settings(
        '[gateway]\nsurface = "turn"\n[selector]\nkind = "lexical"\nminimum = 1\n',
        server("rename", "weather"),
    )
    file = tmp_path / "prompt.txt"
    file.write_text("What will the weather be?\n", encoding="utf-8")
    options, env = {
        "option": (["--query", "What will the weather be?"], {}),
        "file": (["--query-file", str(file)], {}),
        "environment": ([], {"TOOLPICK_QUERY": "What will the weather be?"}),
    }[way]

    gateway = serving("--config", str(config), *options, env=env)

    assert gateway.tools() == ["search_tools", "call_tool", "srv__weather"]


def test_a_query_file_that_can_not_be_read_is_said(
    settings: Settings, serving: Callable[..., Serving], tmp_path: Path
) -> None:
    missing = tmp_path / "none.txt"
    gateway = serving("--config", str(settings(server())), "--query-file", str(missing))

    code, said = gateway.stop()

    assert code == 1
    assert said.startswith(f"toolpick: --query-file {str(missing)!r} can't be read: ")


def test_a_broken_entry_stops_no_other_server(
    settings: Settings, serving: Callable[..., Serving]
) -> None:
    config = settings(server("one"), "[servers.bad]\ncommand = 5\n")
    gateway = serving("--config", str(config))

    assert gateway.tools() == ["srv__one"]
    _, said = gateway.stop()
    assert "servers.toml:4: servers.bad.command: " in said or "servers.bad" in said


def test_a_profile_that_there_is_not_is_said(
    settings: Settings, serving: Callable[..., Serving]
) -> None:
    code, said = serving("--config", str(settings(server())), "--profile", "no").stop()

    assert code == 1
    assert said.startswith("toolpick: ")
    assert "'no'" in said


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_person_who_starts_it_is_told_that_it_waits_for_a_client(settings: Settings) -> None:
    import pty

    ours, terminal = pty.openpty()
    command = [TOOLPICK, "serve", "--config", str(settings(server()))]
    process = subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"toolpick waits for a client's messages here")
        process.stderr.close()
    finally:
        end(process)
        os.close(ours)
        os.close(terminal)


def test_a_port_that_is_taken_is_said(settings: Settings, serving: Callable[..., Serving]) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, said = serving("--config", str(settings(server())), "--http", "--port", port).stop()

    assert code == 1
    assert port in said
    assert "Traceback" not in said
