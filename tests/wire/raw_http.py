"""An HTTP server whose every byte the test decides: for answers that no framework would give."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

EVENTS = "text/event-stream"


@dataclass
class Asked:
    """A request as it came, and the means to answer it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    _stream: SocketStream
    closed: bool = False

    @property
    def message(self) -> Any:
        """The JSON-RPC message in the body."""
        return json.loads(self.body)

    @property
    def connection(self) -> int:
        """The client's port: which connection it came by."""
        port: int = self._stream.extra(SocketAttribute.remote_port)
        return port

    @property
    def rpc(self) -> str:
        """What a log of requests shows: the method of the message, else that of HTTP."""
        return self.message.get("method", "response") if self.body else self.method

    async def write(self, data: bytes) -> None:
        await self._stream.send(data)

    async def head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
        await self.write("\r\n".join([*lines, "", ""]).encode())

    async def answer(
        self, status: int, body: bytes = b"", kind: str = "application/json", **headers: str
    ) -> None:
        """A whole response; underscores in header names stand for hyphens."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        length = str(len(body))
        await self.head(status, {"content-type": kind, "content-length": length, **more})
        await self.write(body)

    async def result(self, value: Any, **headers: str) -> None:
        """The JSON answer to this request."""
        await self.answer(200, json.dumps(self.reply(value)).encode(), **headers)

    def reply(self, value: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": self.message["id"], "result": value}

    async def stream(self, **headers: str) -> None:
        """Begin a stream of events."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        await self.head(200, {"content-type": EVENTS, "transfer-encoding": "chunked", **more})

    async def chunk(self, data: bytes) -> None:
        await self.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def event(self, value: Any, before: str = "") -> None:
        """One event; ``before`` holds the fields before its data."""
        await self.chunk(f"{before}data: {json.dumps(value)}\n\n".encode())

    async def end(self) -> None:
        """End a stream as HTTP wants it ended."""
        await self.write(b"0\r\n\r\n")

    async def tear(self) -> None:
        """Cut the connection."""
        self.closed = True
        await self._stream.aclose()

    async def hang_up(self) -> None:
        """Wait until the client has closed the connection."""
        try:
            while True:
                await self._stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            self.closed = True


Handler = Callable[[Asked], Awaitable[None]]


@dataclass
class RawServer:
    """A running server; ``asked`` grows with each request."""

    handler: Handler
    port: int
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def log(self) -> list[str]:
        """What was asked, in the order of arrival."""
        return [asked.rpc for asked in self.asked]

    async def connection(self, stream: SocketStream) -> None:
        buffered = BufferedByteReceiveStream(stream)
        async with stream:
            try:
                while await self._one(stream, buffered):
                    pass
            except (
                anyio.EndOfStream,
                anyio.IncompleteRead,
                anyio.BrokenResourceError,
                anyio.ClosedResourceError,
            ):
                return

    async def _one(self, stream: SocketStream, buffered: BufferedByteReceiveStream) -> bool:
        head = (await buffered.receive_until(b"\r\n\r\n", 65_536)).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, path, _ = first.split(" ")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
        body = await buffered.receive_exactly(int(headers.get("content-length", "0")))
        asked = Asked(method, path, headers, body, stream)
        self.asked.append(asked)
        await self.handler(asked)
        return not asked.closed


@asynccontextmanager
async def serving(handler: Handler, port: int = 0) -> AsyncIterator[RawServer]:
    """Serve on the loopback interface until the block ends; that cuts what is open."""
    server = RawServer(handler, port)
    async with listening(server.connection, port) as server.port:
        yield server


@asynccontextmanager
async def listening(
    connection: Callable[[SocketStream], Awaitable[None]], port: int = 0
) -> AsyncIterator[int]:
    """Listen on the loopback interface until the block ends; gives the port."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    [found] = [one.extra(SocketAttribute.local_port) for one in listener.listeners]
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, connection)
        yield found
        group.cancel_scope.cancel()


async def unused_port() -> int:
    """A port that refuses connections."""
    async with serving(_nothing) as server:
        return server.port


async def _nothing(asked: Asked) -> None:
    return
