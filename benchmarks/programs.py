"""Starting the programs that are measured: toolpick itself, and servers that listen on a port.

Knows nothing of MCP; whoever uses it speaks the protocol.
"""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START = 30.0
"""Seconds a server may take until its port answers."""


class Broken(Exception):
    """A program did not start; the message holds its last words."""


def toolpick() -> list[str]:
    """The command that starts the toolpick of the running environment.

    Raises:
        Broken: It is not installed there.
    """
    folder = Path(sys.executable).parent
    found = shutil.which("toolpick", path=str(folder))
    if found is None:
        raise Broken(f"toolpick is not installed beside {sys.executable}")
    return [found]


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def listening(
    command: Sequence[str], port: int, folder: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a server until the block ends; enter the block when its port answers.

    Raises:
        Broken: It ended, or its port did not answer in time. Its output is in `folder`.
    """
    log = folder / f"{port}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        _await_port(process, port, log)
        yield process
    finally:
        stop(process)


def stop(process: "subprocess.Popen[bytes]", grace: float = 10.0) -> None:
    """End a process: asked first, killed after `grace` seconds."""
    process.terminate()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await_port(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + START
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    words = log.read_text(errors="replace").strip().splitlines()[-5:]
    raise Broken(f"{process.args!r} does not listen on port {port}: {' / '.join(words)}")
