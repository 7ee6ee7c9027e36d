"""A gateway in this process, clients before it and puppets behind it.

A client is a `StdioFront` on a wire in memory: what it sends is what a client writes, what comes
back is what a client reads.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskGroup
from sniffio import current_async_library_cvar
from tests.engine.puppets import LEGACY, META, MODERN, PATIENCE, Message, Puppet, played

from toolpick.config.settings import (
    GatewaySettings,
    SelectorSettings,
    ServerSettings,
    Settings,
)
from toolpick.engine.engine import Engine
from toolpick.front.stdio import StdioFront
from toolpick.model import Query
from toolpick.wire.wire import Outgoing, Receiver

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nowhere"}
LIST_CHANGED = "notifications/tools/list_changed"


class MemoryWire:
    """A wire whose other end is the test."""

    behind = False

    def __init__(self, take: Callable[[Message], None]) -> None:
        self._take = take
        self.receiver: Receiver | None = None
        self.closed = False

    async def start(self, receiver: Receiver) -> None:
        self.receiver = receiver

    def send(self, frame: bytes, about: Outgoing | None = None) -> None:
        self._take(json.loads(frame))

    def abandon(self, id: int) -> bool:
        return False

    async def close(self) -> None:
        self.closed = True


class Client:
    """One client; ``heard`` holds every message that it was sent, in order."""

    def __init__(
        self, engine: Engine, era: str, capabilities: Message, name: str = "scene"
    ) -> None:
        self.heard: list[Message] = []
        self.wire = MemoryWire(self._take)
        self.front = StdioFront(engine, self.wire)
        self.era = era
        self.capabilities = capabilities
        self.name = name
        self._last = 0
        self._news = anyio.Event()

    # -- what it says

    def line(self, data: bytes) -> None:
        """Write a line, whatever it is."""
        assert self.wire.receiver is not None
        self.wire.receiver.received(data, None)

    def write(self, message: Message) -> None:
        self.line(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send(self, method: str, params: Message | None = None, **meta: Any) -> int:
        """Send a request; returns its id. ``meta`` has underscores for slashes' sake: see _meta."""
        self._last += 1
        given = dict(params or {})
        members = {**given.pop("_meta", {}), **meta}
        if self.era == "modern":
            members = {**self.envelope(), **members}
        if members:
            given["_meta"] = members
        self.write({"id": self._last, "method": method, **({"params": given} if given else {})})
        return self._last

    def envelope(self) -> Message:
        return {
            META + "protocolVersion": MODERN,
            META + "clientInfo": {"name": self.name, "version": "1"},
            META + "clientCapabilities": self.capabilities,
        }

    def notify(self, method: str, params: Message | None = None) -> None:
        self.write({"method": method, **({} if params is None else {"params": params})})

    def reply(self, question: Message, result: Message) -> None:
        """Answer what the gateway asked."""
        self.write({"id": question["id"], "result": result})

    # -- what it hears

    async def answer(self, id: int) -> Message:
        """Wait for the answer to a request."""
        return await self.hears(lambda m: "method" not in m and m.get("id") == id)

    async def result(self, id: int) -> Message:
        answer = await self.answer(id)
        assert "result" in answer, answer
        result: Message = answer["result"]
        return result

    async def ask(self, method: str, params: Message | None = None, **meta: Any) -> Message:
        """Send a request and return its result."""
        return await self.result(self.send(method, params, **meta))

    async def fails(self, method: str, params: Message | None = None, **meta: Any) -> Message:
        """Send a request and return the error that answers it."""
        answer = await self.answer(self.send(method, params, **meta))
        assert "error" in answer, answer
        error: Message = answer["error"]
        return error

    async def call(self, name: str, arguments: Message | None = None, **meta: Any) -> Message:
        return await self.ask("tools/call", called(name, arguments), **meta)

    async def says(self, name: str, arguments: Message | None = None) -> str:
        """The text that a call is answered with."""
        result = await self.call(name, arguments)
        assert len(result["content"]) == 1
        said: str = result["content"][0]["text"]
        return said

    async def tools(self, **meta: Any) -> list[str]:
        """The names that tools/list shows now."""
        return [shown["name"] for shown in (await self.ask("tools/list", **meta))["tools"]]

    async def question(self, method: str, count: int = 1) -> Message:
        """Wait until the gateway asks something; returns the request."""
        return await self.hears(lambda m: m.get("method") == method and "id" in m, count)

    async def notice(self, method: str, count: int = 1) -> Message:
        """Wait for the ``count``-th notification of a method; returns its params."""
        found = await self.hears(lambda m: m.get("method") == method and "id" not in m, count)
        params: Message = found.get("params", {})
        return params

    def notices(self, method: str) -> list[Message]:
        """The params of all notifications of a method so far."""
        return [m.get("params", {}) for m in self.heard if m.get("method") == method]

    async def hears(self, which: Callable[[Message], bool], count: int = 1) -> Message:
        await anyio.lowlevel.checkpoint()
        with anyio.fail_after(PATIENCE):
            while True:
                found = [message for message in self.heard if which(message)]
                if len(found) >= count:
                    return found[count - 1]
                await self._news.wait()

    def _take(self, message: Message) -> None:
        self.heard.append(message)
        news, self._news = self._news, anyio.Event()
        news.set()


def called(name: str, arguments: Message | None = None) -> Message:
    """The params of a call."""
    return {"name": name, **({} if arguments is None else {"arguments": arguments})}


@dataclass
class Gateway:
    """A running engine; ``client`` opens sessions with it."""

    engine: Engine
    _tasks: TaskGroup

    async def client(self, era: str = "legacy", name: str = "scene", **capabilities: Any) -> Client:
        """A client of this name that has greeted the gateway."""
        client = Client(self.engine, era, capabilities, name)
        self._tasks.start_soon(client.front.run)
        with anyio.fail_after(PATIENCE):
            while client.wire.receiver is None:
                await anyio.lowlevel.checkpoint()
        if era == "modern":
            await client.ask("server/discover")
            return client
        await client.ask("initialize", greeting(capabilities, name=name))
        client.notify("notifications/initialized")
        return client

    async def begin(self, client: Client) -> None:
        """Serve a client that has not greeted the gateway."""
        self._tasks.start_soon(client.front.run)
        await self.until(lambda: client.wire.receiver is not None)

    async def until(self, what: Callable[[], bool]) -> None:
        """Wait until something inside of the engine has come about."""
        with anyio.fail_after(PATIENCE):
            while not what():
                await anyio.lowlevel.checkpoint()

    async def settled(self) -> None:
        """Wait until every server's first start has come to an end."""
        with anyio.fail_after(PATIENCE):
            for session in self.engine.sessions:
                await session.pool.settled(PATIENCE)


def greeting(capabilities: Message, version: str = LEGACY, name: str = "scene") -> Message:
    """The params of initialize."""
    about = {"name": name, "version": "1"}
    return {"protocolVersion": version, "capabilities": capabilities, "clientInfo": about}


@asynccontextmanager
async def gateway(
    *puppets: Puppet,
    selector: SelectorSettings | None = None,
    query: Query | None = None,
    surface: str = "full",
    client_environ: Mapping[str, str] | None = None,
    more: Sequence[ServerSettings] = (),
    **settings: Any,
) -> AsyncIterator[Gateway]:
    """Run a gateway over these puppets until the block ends; ``settings`` are the gateway's.

    ``more`` are servers that the test runs itself.
    """
    # anyio.run leaves this behind for callbacks of the loop, which pytest's plugin does not
    token = current_async_library_cvar.set("asyncio")
    async with played(*puppets) as servers:
        made = Settings(
            "servers.toml",
            GatewaySettings(surface=surface, **settings),
            selector or SelectorSettings(),
            (*servers, *more),
        )
        async with (
            Engine(made, ENVIRON, query, client_environ) as engine,
            anyio.create_task_group() as tasks,
        ):
            yield Gateway(engine, tasks)
            tasks.cancel_scope.cancel()
    current_async_library_cvar.reset(token)
