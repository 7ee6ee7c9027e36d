"""Starting toolpick as its users do, as a process, and ending it."""

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 10.0
"""Seconds until a wait fails; far above what is ever needed."""

TOOLPICK = str(Path(sys.executable).with_name("toolpick"))
SERVERS = Path(__file__).parent / "servers"

Process = subprocess.Popen[bytes]


def serve(config: Path, *options: str) -> list[str]:
    """The command of a gateway with this configuration."""
    return [TOOLPICK, "serve", "--config", str(config), *options]


def mounting(folder: Path, servers: dict[str, Sequence[str]], settings: str = "") -> Path:
    """Write a configuration of stdio servers; `settings` holds more lines for each of them."""
    parts = ['[gateway]\nsurface = "full"\nlist_wait = 30\n']
    for name, (command, *arguments) in servers.items():
        # A JSON string or list of strings is one in TOML as well.
        started = f"command = {json.dumps(command)}\nargs = {json.dumps(arguments)}\n"
        parts.append(f"[servers.{name}]\n{started}{settings}\n")
    config = folder / "servers.toml"
    config.write_text("".join(parts))
    return config


@contextmanager
def listening(command: Sequence[str], port: int, folder: Path) -> Iterator[None]:
    """Run a server that listens on a port, until the block ends."""
    with (folder / f"{port}.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for_port(port, process)
        yield
    finally:
        end(process)


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int, process: Process) -> None:
    """Return when a process listens on a port."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise AssertionError(f"{process.args!r} does not listen on port {port}")


def end(process: Process) -> None:
    """End a child and close its pipes."""
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
