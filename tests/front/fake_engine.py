"""An engine that a test plays by hand, and ways to serve it over real sockets."""

import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2

from toolpick.engine.exchange import Channel, Exchange
from toolpick.engine.profile import Profile
from toolpick.engine.session import Session
from toolpick.errors import RpcError
from toolpick.front.http import serve_http
from toolpick.model import Era
from toolpick.wire import envelope as env

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "fake", "version": "1"},
}
BOTH = "application/json, text/event-stream"
MODERN = "2026-07-28"


@dataclass
class FakeEngine:
    """Answers what stands in ``replies``; every other request waits for the test to answer it."""

    replies: dict[str, Any] = field(default_factory=lambda: {"initialize": HELLO})
    schemas: dict[str, Any] = field(default_factory=dict)
    sessions: list[Session] = field(default_factory=list)
    closed: list[Session] = field(default_factory=list)
    told: list[tuple[str, Any]] = field(default_factory=list)
    answers: list[tuple[Any, Any, Any]] = field(default_factory=list)
    cancelled: list[tuple[str, str]] = field(default_factory=list)
    may_close: anyio.Event | None = None
    """Sessions are closed when this is set."""
    _waiting: deque[Exchange] = field(default_factory=deque)
    _changed: anyio.Event = field(default_factory=anyio.Event)

    def open_session(
        self,
        *,
        era: Era,
        version: str,
        capabilities: bytes,
        client: bytes,
        out: Channel | None,
        key: str = "",
        profile: str = "",
    ) -> Session:
        chosen = Profile(profile)
        session = Session(key, era, version, capabilities, client, out, None, None, chosen)
        self.sessions.append(session)
        self._note()
        return session

    async def close_session(self, session: Session) -> None:
        self.closed.append(session)
        self._note()
        if self.may_close is not None:
            await self.may_close.wait()

    def handle(
        self, session: Session, message: env.Envelope, channel: Channel, header_query: str = ""
    ) -> Exchange | None:
        try:
            exchange = Exchange(
                session, bytes(message.id), message.method, message.params, channel, header_query
            )
        except RpcError as error:
            channel.send(env.failure(message.id, env.error_object(error)), final=True)
            return None
        if session.out is not None:
            session.in_flight[exchange.id] = exchange
        exchange.on_cancel(lambda reason: self._cancelled(exchange, reason))
        reply = self.replies.get(message.method)
        if isinstance(reply, RpcError):
            exchange.refuse(reply)
        elif reply is not None:
            exchange.reply(env.encode(reply))
        else:
            self._waiting.append(exchange)
            self._note()
        return exchange

    def notified(self, session: Session, method: str, params: env.Body) -> None:
        self.told.append((method, json.loads(bytes(params) or b"null")))
        if method == "notifications/cancelled":
            exchange = session.in_flight.get(bytes(env.members(params)["requestId"]))
            if exchange is not None:
                exchange.cancel("the client cancelled")
        self._note()

    def answered(self, session: Session, message: env.Envelope) -> None:
        result, error = (
            json.loads(bytes(raw) or b"null") for raw in (message.result, message.error)
        )
        self.answers.append((json.loads(bytes(message.id)), result, error))
        self._note()

    def input_schema(self, session: Session, name: str) -> bytes | None:
        return env.encode(self.schemas[name]) if name in self.schemas else None

    async def next(self) -> Exchange:
        """The next request that the test has to answer."""
        await self.until(lambda: self._waiting)
        return self._waiting.popleft()

    async def until(self, what: Any) -> None:
        """Wait until something is the case."""
        with anyio.fail_after(5):
            while not what():
                self._changed = anyio.Event()
                await self._changed.wait()

    def _cancelled(self, exchange: Exchange, reason: str) -> None:
        self.cancelled.append((exchange.method, reason))
        self._note()

    def _note(self) -> None:
        self._changed.set()


@dataclass
class Served:
    """A served engine and a client of it."""

    url: str
    engine: FakeEngine
    client: httpx2.AsyncClient
    stopped: anyio.Event
    _scope: anyio.CancelScope

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2].partition("/")[0])

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        return await self.client.post(self.url, json=message, headers=named(headers))

    def stop(self) -> None:
        """Begin to stop; ``stopped`` is set at the end."""
        self._scope.cancel()

    async def open(self, version: str = "2025-06-18") -> str:
        """Open a legacy session and return its id."""
        response = await self.post(initialize(version))
        assert response.status_code == 200, response.text
        return str(response.headers["mcp-session-id"])

    @asynccontextmanager
    async def posting(self, message: Any, **headers: str) -> AsyncIterator[httpx2.Response]:
        async with self.client.stream(
            "POST", self.url, json=message, headers=named(headers)
        ) as response:
            yield response

    @asynccontextmanager
    async def getting(self, session: str) -> AsyncIterator[httpx2.Response]:
        headers = {"mcp-session-id": session, "accept": "text/event-stream"}
        async with self.client.stream("GET", self.url, headers=headers) as response:
            yield response


@asynccontextmanager
async def serving(engine: FakeEngine | None = None, **options: Any) -> AsyncIterator[Served]:
    """Serve an engine until the block ends."""
    engine = engine or FakeEngine()
    urls: list[str] = []
    up, stopped, scope = anyio.Event(), anyio.Event(), anyio.CancelScope()

    def ready(url: str) -> None:
        urls.append(url)
        up.set()

    async def serve() -> None:
        settings = {"host": "127.0.0.1", "port": 0, "token": None, "max_sessions": 50, **options}
        with scope:
            await serve_http(engine, ready=ready, **settings)
        stopped.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        with anyio.fail_after(5):
            await up.wait()
        limits = httpx2.Limits(max_connections=200)
        async with httpx2.AsyncClient(
            limits=limits, timeout=5, trust_env=False, verify=False
        ) as client:
            yield Served(urls[0], engine, client, stopped, scope)
        scope.cancel()


def named(headers: Mapping[str, str]) -> dict[str, str]:
    """Header names from names of arguments."""
    return {"accept": BOTH, **{key.replace("_", "-"): value for key, value in headers.items()}}


def initialize(version: str = "2025-06-18", id: Any = 0) -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {"roots": {}}, "clientInfo": client}
    return request("initialize", params, id)


def request(method: str, params: Any = None, id: Any = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def call(name: str = "tool", arguments: Any = None, id: Any = 1) -> dict[str, Any]:
    return request("tools/call", {"name": name, "arguments": arguments or {}}, id)


def modern(message: dict[str, Any], version: str = MODERN, **meta: Any) -> dict[str, Any]:
    """A message with what the modern era wants in its ``_meta``."""
    said = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        **meta,
    }
    return {**message, "params": {**message.get("params", {}), "_meta": said}}


def routed(message: dict[str, Any], version: str = MODERN, **more: str) -> dict[str, str]:
    """The headers that go with a modern message."""
    headers = {"mcp_protocol_version": version, "mcp_method": message["method"], **more}
    name = message.get("params", {}).get("name") or message.get("params", {}).get("uri")
    return {**headers, "mcp_name": name} if name else headers


def messages(text: str) -> list[Any]:
    """What an event stream said."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines]


class Events:
    """Reads an event stream bit by bit."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def comment(self) -> None:
        with anyio.fail_after(5):
            async for line in self._lines:
                if line.startswith(":"):
                    return
        raise AssertionError("the stream ended")

    async def message(self) -> Any:
        """The next message, None when the stream ends."""
        with anyio.fail_after(5):
            async for line in self._lines:
                if line.startswith("data: "):
                    return json.loads(line.removeprefix("data: "))
        return None


@asynccontextmanager
async def raw(port: int) -> AsyncIterator["Raw"]:
    """A connection for a test that writes HTTP itself."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        yield Raw(stream)


class Raw:
    """Bytes out, responses in."""

    def __init__(self, stream: anyio.abc.SocketStream) -> None:
        self._stream = stream
        self._read = bytearray()

    async def send(self, *lines: str, body: bytes = b"") -> None:
        head = "\r\n".join((*lines, "Host: localhost", "", ""))
        await self._stream.send(head.encode() + body)

    async def send_bytes(self, data: bytes) -> None:
        await self._stream.send(data)

    async def until(self, end: bytes) -> bytes:
        """All bytes up to and with ``end``."""
        at, start = -1, 0
        with anyio.fail_after(5):
            while (at := self._read.find(end, start)) < 0:
                start = max(len(self._read) - len(end), 0)
                self._read += await self._stream.receive()
        return self._cut(at + len(end))

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a response with a length."""
        first, *lines = (await self.until(b"\r\n\r\n")).decode().strip().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        size = int(headers.get("content-length", "0"))
        with anyio.fail_after(5):
            while len(self._read) < size:
                self._read += await self._stream.receive()
        return int(first.split()[1]), headers, self._cut(size)

    async def some(self) -> bytes:
        """Whatever bytes are there."""
        return await self._stream.receive()

    async def rest(self) -> bytes:
        """All bytes until the server closes."""
        with anyio.fail_after(5):
            while True:
                try:
                    self._read += await self._stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return bytes(self._read)

    def _cut(self, size: int) -> bytes:
        found = bytes(self._read[:size])
        del self._read[:size]
        return found


def post(body: bytes, *more: str, version: str = "1.1") -> tuple[str, ...]:
    """The lines of a POST with a body of that length."""
    length = f"Content-Length: {len(body)}"
    return (f"POST /mcp HTTP/{version}", "Content-Type: application/json", length, *more)
