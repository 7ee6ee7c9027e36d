"""However the gateway ends, nothing that it started lives on."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.programs import PATIENCE, Process, end, free_port, serve, wait_for_port

SERVER = Path(__file__).with_name("small_server.py")
CLIENT = """
import subprocess, sys
gateway = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
print(gateway.pid, flush=True)
for line in sys.stdin:
    gateway.stdin.write(line.encode())
    gateway.stdin.flush()
"""

GREETING = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
).encode()

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and sessions")


Mounting = Callable[..., Path]
Start = Callable[..., Process]


class Roll:
    """Who is there: each process holds a connection that ends with it."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE)
        self.port: int = self._listener.getsockname()[1]
        self._calls: list[socket.socket] = []

    def call(self, count: int) -> list[str]:
        """Wait until so many more are there; their names, sorted."""
        names = []
        for _ in range(count):
            call, _ = self._listener.accept()
            call.settimeout(PATIENCE)
            self._calls.append(call)
            names.append(call.makefile("rb").readline().decode().strip())
        return sorted(names)

    def wait_until_all_are_gone(self) -> None:
        for call in self._calls:
            assert call.recv(1) == b""

    def close(self) -> None:
        for call in (*self._calls, self._listener):
            call.close()


EVERYONE = ["server", "stray", "stubborn"]


@pytest.fixture
def roll() -> Iterator[Roll]:
    made = Roll()
    yield made
    made.close()


@pytest.fixture
def mounting(tmp_path: Path, roll: Roll) -> Callable[..., Path]:
    """Write settings with one server, alone or with a family that does not want to end."""

    def written(*, family: bool) -> Path:
        port = str(roll.port)
        arguments = [str(SERVER), *(["--family", port] if family else []), "--roll", port, "echo"]
        path = tmp_path / "servers.toml"
        path.write_text(
            f"[servers.srv]\ncommand = {json.dumps(sys.executable)}\n"
            f"args = {json.dumps(arguments)}\n"
        )
        return path

    return written


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a process that is ended with the test at the latest."""
    started: list[Process] = []

    def started_by(*command: str, **options: Any) -> Process:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
        )
        started.append(process)
        return process

    yield started_by
    for process in started:
        end(process)


def initialize(process: Process) -> None:
    """Greet the gateway, which starts its servers."""
    assert process.stdin is not None
    process.stdin.write(GREETING + b"\n")
    process.stdin.flush()


def close_stdin(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.close()


def terminate(process: Process) -> None:
    process.send_signal(signal.SIGTERM)


@pytest.mark.parametrize("end_it", [close_stdin, terminate])
def test_a_gateway_that_is_asked_to_end_takes_everything_with_it(
    end_it: Callable[[Process], None], roll: Roll, mounting: Mounting, start: Start
) -> None:
    gateway = start(*serve(mounting(family=True)))
    initialize(gateway)
    assert roll.call(3) == EVERYONE

    end_it(gateway)

    roll.wait_until_all_are_gone()
    assert gateway.wait(PATIENCE) == 0


def test_a_gateway_that_is_interrupted_ends_its_servers(
    roll: Roll, mounting: Mounting, start: Start
) -> None:
    gateway = start(*serve(mounting(family=False)))
    initialize(gateway)
    assert roll.call(1) == ["server"]

    gateway.send_signal(signal.SIGINT)

    roll.wait_until_all_are_gone()
    assert gateway.wait(PATIENCE) == 0


def test_a_gateway_that_is_killed_takes_everything_with_it(
    roll: Roll, mounting: Mounting, start: Start
) -> None:
    gateway = start(*serve(mounting(family=True)))
    initialize(gateway)
    assert roll.call(3) == EVERYONE

    gateway.kill()

    roll.wait_until_all_are_gone()


def test_a_client_that_is_killed_takes_everything_with_it(
    roll: Roll, mounting: Mounting, start: Start
) -> None:
    client = start(sys.executable, "-c", CLIENT, *serve(mounting(family=True)))
    initialize(client)
    assert roll.call(3) == EVERYONE

    client.kill()

    roll.wait_until_all_are_gone()


def test_a_gateway_over_http_ends_its_servers(roll: Roll, mounting: Mounting, start: Start) -> None:
    port = free_port()
    gateway = start(*serve(mounting(family=False), "--http", "--port", str(port)))
    wait_for_port(port, gateway)
    post(port)
    assert roll.call(1) == ["server"]

    terminate(gateway)

    roll.wait_until_all_are_gone()
    assert gateway.wait(PATIENCE) == 0


def post(port: int) -> None:
    """Open a session, which starts its servers."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with contextlib.closing(client):
        kinds = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        client.request("POST", "/mcp", GREETING, kinds)
        assert client.getresponse().status == 200


def test_a_server_that_is_started_again_leaves_nothing_of_its_first_life(
    roll: Roll, mounting: Mounting, start: Start
) -> None:
    gateway = start(*serve(mounting(family=True)))
    initialize(gateway)
    assert roll.call(3) == EVERYONE
    [server] = children(gateway.pid, SERVER.name)

    os.kill(server, signal.SIGKILL)

    roll.wait_until_all_are_gone()
    assert roll.call(3) == EVERYONE
    gateway.kill()


def children(parent: int, name: str) -> list[int]:
    """The children of a process whose command line holds a name."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [int(pid) for pid, ppid, args in rows if int(ppid) == parent and name in args]
