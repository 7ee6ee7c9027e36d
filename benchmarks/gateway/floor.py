"""The floor: as little as a gateway in Python can do between a client and its servers.

`python floor.py SERVERS.json [--port N]`, the file being `{name: [command, ...]}`. A message is
looked at with two regular expressions and passed on as bytes, its id and its tool name replaced.
No deadlines, no restarts, no notifications, no sessions: a ruler to measure toolpick with, not a
product. It understands only what `clients` writes.
"""

# ruff: noqa: TID251
import argparse
import asyncio
import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

HEAD = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),')
CALL = re.compile(rb'"method":"tools/call","params":\{"name":"(\w+?)__')
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "floor", "version": "0"},
}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "floor", "version": "0"},
}

Reply = Callable[[bytes], None]


def to_json(value: Any) -> bytes:
    """Compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


class Lines:
    """Joins what a pipe gives into lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines


class Server(asyncio.SubprocessProtocol):
    """One server and who waits for its answers."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._waiting: dict[int, Reply] = {}
        self._count = 0
        self._pipe: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._pipe = transport.get_pipe_transport(0)  # type: ignore[attr-defined]

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        for line in self._lines.feed(data):
            head = HEAD.match(line)
            if head:
                self._waiting.pop(int(head[1]))(line[head.end() :])

    def send(self, rest: bytes, reply: Reply) -> None:
        """Send a request, `rest` being all after its id; the reply gets all after the answer's."""
        self._count += 1
        self._waiting[self._count] = reply
        self._pipe.write(b'{"jsonrpc":"2.0","id":%d,%b\n' % (self._count, rest))

    async def ask(self, method: str, params: Any) -> Any:
        """Send a request and wait for its result."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.send(to_json({"method": method, "params": params})[1:], answer.set_result)
        return json.loads(b"{" + await answer)["result"]


class Floor:
    """The servers, and the merged list as bytes."""

    def __init__(self) -> None:
        self._servers: dict[bytes, Server] = {}
        self._listed = b""

    async def start(self, commands: dict[str, list[str]]) -> None:
        """Start all servers side by side and merge their lists."""
        lists = await asyncio.gather(*(self._mount(*item) for item in commands.items()))
        self._listed = to_json({"tools": [tool for tools in lists for tool in tools]})

    async def _mount(self, name: str, command: list[str]) -> list[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        _, server = await loop.subprocess_exec(Server, *command, stderr=None)
        self._servers[name.encode()] = server
        await server.ask("initialize", HELLO)
        listed = await server.ask("tools/list", {})
        return [{**tool, "name": f"{name}__{tool['name']}"} for tool in listed["tools"]]

    def handle(self, message: bytes, reply: Callable[[bytes | None], None]) -> None:
        """Route one message; a notification is answered with None."""
        head = HEAD.match(message)
        if head is None:
            return reply(None)
        start = b'{"jsonrpc":"2.0","id":%b,' % head[1]
        call = CALL.match(message, head.end())
        if call:
            rest = b'"method":"tools/call","params":{"name":"' + message[call.end() :]
            return self._servers[call[1]].send(rest, lambda answer: reply(start + answer))
        method = json.loads(message)["method"]
        result = self._listed if method == "tools/list" else to_json(GREETING)
        return reply(start + b'"result":' + result + b"}")


class Stdio(asyncio.Protocol):
    """A client over our own pipes."""

    def __init__(self, floor: Floor, out: asyncio.WriteTransport, done: asyncio.Event) -> None:
        self._floor, self._out, self._done = floor, out, done
        self._lines = Lines()

    def data_received(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            self._floor.handle(line, self._reply)

    def _reply(self, answer: bytes | None) -> None:
        if answer is not None:
            self._out.write(answer + b"\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self._done.set()


class Http(asyncio.Protocol):
    """A keep-alive connection of an HTTP client, one request at a time."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._rest = b""
        self._out: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._out = transport

    def data_received(self, data: bytes) -> None:
        self._rest += data
        head, blank, body = self._rest.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if blank and length and len(body) >= int(length[1]):
            self._rest = b""
            self._floor.handle(body, self._reply)

    def _reply(self, answer: bytes | None) -> None:
        if answer is None:
            self._out.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
        else:
            head = (
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            )
            self._out.write(head % len(answer) + answer)


async def serve(commands: dict[str, list[str]], port: int | None) -> None:
    """Mount the servers, then serve until the client goes."""
    loop = asyncio.get_running_loop()
    floor = Floor()
    await floor.start(commands)
    if port is not None:
        listener = await loop.create_server(partial(Http, floor), "127.0.0.1", port)
        await listener.serve_forever()
    out, _ = await loop.connect_write_pipe(asyncio.Protocol, sys.stdout.buffer)
    done = asyncio.Event()
    await loop.connect_read_pipe(partial(Stdio, floor, out, done), sys.stdin.buffer)
    await done.wait()


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(description="The least that a gateway can do.")
    parser.add_argument("servers", type=Path)
    parser.add_argument("--port", type=int)
    options = parser.parse_args()
    asyncio.run(serve(json.loads(options.servers.read_text()), options.port))


if __name__ == "__main__":
    main()
