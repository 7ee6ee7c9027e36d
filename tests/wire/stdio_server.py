"""A server on stdin and stdout that does what each request's method says, to the byte.

Standard library only. A line is answered unless a method below says otherwise.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

RECEIVED: list[object] = []


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def reply(id: int, result: object) -> None:
    write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n")


def handle(id: int, method: str, params: dict) -> None:  # noqa: C901 - a list of tricks
    """Act on one request."""
    if method == "raw":
        write(params["bytes"].encode("latin-1"))
    elif method == "silence":
        return
    elif method == "say":
        sys.stderr.buffer.write(params["bytes"].encode("latin-1"))
        sys.stderr.buffer.flush()
        reply(id, {})
    elif method == "exit":
        write(params.get("last", "").encode())
        os._exit(params["code"])
    elif method == "kill":
        os.kill(os.getpid(), params["signal"])
    elif method == "close":
        os.close(1)
        time.sleep(60)
    elif method == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        reply(id, {})
    elif method == "spawn":
        child = [sys.executable, "-c", "import time; time.sleep(60)"]
        pipes = None if params.get("hold") else subprocess.DEVNULL
        process = subprocess.Popen(
            child, start_new_session=params["leave"], stdin=pipes, stdout=pipes, stderr=pipes
        )
        reply(id, process.pid)
    elif method == "daemon":
        reply(id, daemon())
    elif method == "flood":
        flood(id)
    elif method == "deaf":
        reply(id, {})
        time.sleep(60)
    elif method == "received":
        reply(id, RECEIVED)
    else:
        where = {"cwd": str(Path.cwd()), "env": dict(os.environ)}
        reply(id, {"method": method, "params": params, **where})


def flood(id: int) -> None:
    """Write without end, whatever signal comes."""
    reply(id, {})
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        write(b"x" * 65_536)


def daemon() -> int:
    """Start a process that leaves group, session and parent, as daemons do; its pid."""
    out, into = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if pid := os.fork():
            os.write(into, b"%d" % pid)
            os._exit(0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for pipe in (0, 1, 2):
            os.dup2(nowhere, pipe)
        time.sleep(60)
        os._exit(0)
    os.wait()
    return int(os.read(out, 20))


def main() -> None:
    """Serve until stdin ends; with ``linger`` go on after that."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        RECEIVED.append(message)
        if "method" in message and "id" in message:
            handle(message["id"], message["method"], message.get("params", {}))
    if "linger" in sys.argv:
        time.sleep(60)


main()
