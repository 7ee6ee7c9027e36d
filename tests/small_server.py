"""A small stdio server of the handshake era, standard library only, for tests that start toolpick.

`python small_server.py [OPTION...] [TOOL...]` lists these tools and says which one was called.
Options: `--die TEXT` writes TEXT to stderr and exits with code 7; `--hang` never answers; `--print`
writes lines that are no messages; `--roll PORT` answers a roll: the server connects to the test at
PORT, says who it is, and keeps the connection for as long as it lives. `--family PORT` starts two
processes that do the same: `stubborn` ignores SIGTERM; so does `stray`, which left the process
group as well.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from typing import Any


def answer_roll(port: int, name: str) -> socket.socket:
    """Connect to the test, as one of the processes that it counts."""
    call = socket.create_connection(("127.0.0.1", port))
    call.sendall(name.encode() + b"\n")
    return call


def linger(port: int, name: str) -> None:
    """Live on until killed, or until the test itself has ended."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with answer_roll(port, name) as call:
        call.recv(1)


def result(method: str, params: dict[str, Any], tools: list[str]) -> dict[str, Any] | None:
    """What a request is answered with; None for a method that is not there."""
    if method == "initialize":
        about = {"name": "small", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": about,
        }
    if method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        return {
            "tools": [
                {"name": tool, "description": f"Can {tool} things.", "inputSchema": schema}
                for tool in tools
            ]
        }
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"{params['name']} was called"}]}
    return None


def serve(tools: list[str]) -> None:
    """Answer requests until stdin ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        found = result(message["method"], message.get("params") or {}, tools)
        error = {"code": -32601, "message": "Method not found"}
        body = {"error": error} if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)


def main(arguments: list[str]) -> None:
    """Do what the options say, then serve the rest as tools."""
    roll = None
    while arguments and arguments[0].startswith("--"):
        option = arguments.pop(0)
        if option == "--die":
            print(arguments.pop(0), file=sys.stderr, flush=True)
            os._exit(7)
        elif option == "--hang":
            sys.stdin.read()
            return
        elif option == "--print":
            print("a line that is no message", flush=True)
        elif option == "--linger":
            linger(int(arguments.pop(0)), arguments.pop(0))
        elif option == "--roll":
            roll = answer_roll(int(arguments.pop(0)), "server")
        elif option == "--family":
            port = arguments.pop(0)
            started = [sys.executable, "-S", "-E", __file__, "--linger", port]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
            for name, apart in (("stubborn", False), ("stray", True)):
                subprocess.Popen([*started, name], start_new_session=apart, **quiet)  # type: ignore[call-overload]
    serve(arguments)
    del roll


if __name__ == "__main__":
    main(sys.argv[1:])
