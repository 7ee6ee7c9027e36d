"""Servers that a test plays itself, each behind a real child process and real pipes.

A `Puppet` says what a server would: its defaults answer greetings and lists of both eras, and a
test replaces what it is about. It outlives its process, so a server that is started again goes on
as the same puppet.
"""

import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from toolpick.config.settings import ServerSettings

Message = dict[str, Any]
PATIENCE = 5.0
META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
MAX_LINE = 64 * 2**20
METHOD_NOT_FOUND = -32601
EVERYTHING = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
}


def tool(name: str, description: str = "", **more: Any) -> Message:
    """A definition of a tool without arguments."""
    described = {"description": description} if description else {}
    return {"name": name, **described, "inputSchema": {"type": "object"}, **more}


def text(said: str) -> Message:
    """The result of a call that says one text."""
    return {"content": [{"type": "text", "text": said}]}


class Refusal(Exception):
    """What a handler raises to answer with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


class Silence(Exception):
    """What a handler raises to answer nothing."""


class Asked:
    """One request of the gateway, as a handler sees it."""

    def __init__(self, message: Message, connection: "Connection") -> None:
        self.message = message
        self.id = message["id"]
        self.params: Message = message.get("params") or {}
        self.meta: Message = self.params.get("_meta") or {}
        self.connection = connection

    async def progress(self, value: float, **more: Any) -> None:
        """Report progress under the token that came with the request."""
        token = self.meta.get("progressToken")
        await self.connection.notify(
            "notifications/progress", {"progressToken": token, "progress": value, **more}
        )

    async def ask(self, method: str, params: Message | None = None) -> Message:
        """Ask the client something in the middle of this request; returns its whole answer."""
        return await self.connection.ask(method, params or {})

    async def cancelled(self) -> Message:
        """Wait until the client gives this request up; returns the params of that notice."""
        return await self.connection.puppet.hears(
            "notifications/cancelled", lambda said: said["params"]["requestId"] == self.id
        )


Handler = Callable[[Asked], Awaitable[Message]]


class Connection:
    """One life of a puppet's process."""

    def __init__(self, puppet: "Puppet", stream: SocketStream, tasks: TaskGroup) -> None:
        self.puppet = puppet
        self.lost = anyio.Event()
        self._stream = stream
        self._tasks = tasks
        self._asked: dict[str, tuple[anyio.Event, list[Message]]] = {}
        self._writing = anyio.Lock()

    async def line(self, data: bytes) -> None:
        """Write a line of bytes, whatever they are."""
        async with self._writing:
            await self._stream.send(data + b"\n")

    async def send(self, message: Message) -> None:
        await self.line(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def notify(self, method: str, params: Message | None = None) -> None:
        await self.send({"method": method, **({} if params is None else {"params": params})})

    async def ask(self, method: str, params: Message) -> Message:
        id = f"ask-{len(self._asked)}"
        event, answers = self._asked[id] = (anyio.Event(), [])
        await self.send({"id": id, "method": method, "params": params})
        with anyio.fail_after(PATIENCE):
            await event.wait()
        return answers[0]

    async def exit(self, code: int = 1) -> None:
        """Let the process end by itself, and wait for that."""
        await self.line(b"!exit %d" % code)
        with anyio.fail_after(PATIENCE):
            await self.lost.wait()

    async def stderr(self, said: str) -> None:
        await self.line(b"!stderr " + said.encode())

    async def read(self, lines: BufferedByteReceiveStream) -> None:
        """Hear what the gateway says until the process has ended."""
        try:
            while True:
                line = await lines.receive_until(b"\n", MAX_LINE)
                await self._take(json.loads(line))
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            self.lost.set()
            lost = [one for one in self.puppet.listening if one.connection is self]
            self.puppet.listening = [one for one in self.puppet.listening if one not in lost]

    async def _take(self, message: Message) -> None:
        self.puppet.heard(message)
        if "method" in message and "id" in message:
            self._tasks.start_soon(self._answer, message)
        elif "method" not in message and message["id"] in self._asked:
            event, answers = self._asked[message["id"]]
            answers.append(message)
            event.set()

    async def _answer(self, message: Message) -> None:
        try:
            result = await self.puppet.answer(Asked(message, self))
        except Refusal as refusal:
            await self._say({"id": message["id"], "error": refusal.error})
        except Silence:
            return
        else:
            await self._say({"id": message["id"], "result": result})

    async def _say(self, message: Message) -> None:
        try:
            await self.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


class Puppet:
    """One server. ``on[method]`` is how it answers; ``log`` holds all that it heard."""

    def __init__(
        self,
        name: str,
        *tools: Message,
        eras: tuple[str, ...] = ("legacy", "modern"),
        capabilities: Message | None = None,
        **settings: Any,
    ) -> None:
        """``settings`` go into its ``ServerSettings``."""
        self.name = name
        self.tools = list(tools) or [tool("echo")]
        self.prompts: list[Message] = []
        self.resources: list[Message] = []
        self.templates: list[Message] = []
        self.eras = eras
        self.capabilities = EVERYTHING if capabilities is None else capabilities
        self.settings = settings
        self.log: list[Message] = []
        self.connections: list[Connection] = []
        self.listening: list[Asked] = []
        self.on: dict[str, Handler] = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "ping": _empty,
            "tools/call": _called,
            "resources/subscribe": _empty,
            "resources/unsubscribe": _empty,
            "logging/setLevel": _empty,
            "subscriptions/listen": self._listen,
            "tools/list": self._lists("tools"),
            "prompts/list": self._lists("prompts"),
            "resources/list": self._lists("resources"),
            "resources/templates/list": self._lists("resourceTemplates", "templates"),
        }
        self._news = anyio.Event()

    # -- what a test waits for

    @property
    def connection(self) -> Connection:
        """The youngest life."""
        return self.connections[-1]

    async def lives(self, count: int) -> Connection:
        """Wait until the process has been started so many times."""
        await self.until(lambda: len(self.connections) >= count)
        return self.connections[count - 1]

    async def hears(
        self, method: str, which: Callable[[Message], bool] = lambda _: True, count: int = 1
    ) -> Message:
        """Wait for the ``count``-th message of a method; returns it."""

        def found() -> list[Message]:
            return [m for m in self.log if m.get("method") == method and which(m)]

        await self.until(lambda: len(found()) >= count)
        return found()[count - 1]

    async def until(self, what: Callable[[], bool]) -> None:
        """Wait until something is so that a message may have brought about."""
        with anyio.fail_after(PATIENCE):
            while not what():
                await self._news.wait()

    def streams(self) -> list[Message]:
        """What the open streams of changes are for."""
        return [asked.params["notifications"] for asked in self.listening]

    async def hears_answer(self) -> Message:
        """Wait for an answer to what it asked."""
        await self.until(lambda: any("method" not in message for message in self.log))
        return next(message for message in self.log if "method" not in message)

    def methods(self, *but: str) -> list[str]:
        """The methods that were heard, in order, without those named."""
        return [m["method"] for m in self.log if "method" in m and m["method"] not in but]

    def params(self, method: str) -> list[Message]:
        """The params of all messages of a method."""
        return [m.get("params") or {} for m in self.log if m.get("method") == method]

    # -- what it does

    async def changes(self, *tools: Message) -> None:
        """List these tools from now on, and say so."""
        self.tools = list(tools)
        await self.tells("notifications/tools/list_changed")

    async def tells(self, method: str, params: Message | None = None) -> None:
        """Notify the gateway, in the way of the era that it was greeted in."""
        if not self.listening:
            await self.connection.notify(method, params)
        for asked in self.listening:
            meta = {"_meta": {META + "subscriptionId": asked.id}}
            await asked.connection.notify(method, {**(params or {}), **meta})

    async def answer(self, asked: Asked) -> Message:
        handler = self.on.get(asked.message["method"])
        if handler is None:
            raise Refusal(METHOD_NOT_FOUND, "Method not found")
        return await handler(asked)

    def heard(self, message: Message) -> None:
        self.log.append(message)
        self.wake()

    def wake(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def _initialize(self, asked: Asked) -> Message:
        if "legacy" not in self.eras:
            raise Refusal(METHOD_NOT_FOUND, "Method not found")
        return {
            "protocolVersion": asked.params["protocolVersion"],
            "capabilities": self.capabilities,
            "serverInfo": {"name": self.name, "version": "1"},
        }

    async def _discover(self, asked: Asked) -> Message:
        if "modern" not in self.eras:
            raise Refusal(METHOD_NOT_FOUND, "Method not found")
        return {
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": self.capabilities,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {META + "serverInfo": {"name": self.name, "version": "1"}},
        }

    async def _listen(self, asked: Asked) -> Message:
        stamp = {"_meta": {META + "subscriptionId": asked.id}}
        wanted = {"notifications": asked.params["notifications"], **stamp}
        self.listening.append(asked)
        await asked.connection.notify("notifications/subscriptions/acknowledged", wanted)
        self.wake()
        await asked.cancelled()
        self.listening = [one for one in self.listening if one is not asked]
        self.wake()
        raise Silence

    def _lists(self, key: str, attribute: str = "") -> Handler:
        async def listed(asked: Asked) -> Message:
            return answer_in(asked, {key: getattr(self, attribute or key)})

        return listed


def answer_in(asked: Asked, members: Message) -> Message:
    """A result with what the era of its request demands."""
    if META + "protocolVersion" in asked.meta:
        return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **members}
    return members


async def _empty(asked: Asked) -> Message:
    return answer_in(asked, {})


async def _called(asked: Asked) -> Message:
    return answer_in(asked, text(f"{asked.params['name']} was called"))


@asynccontextmanager
async def played(*puppets: Puppet) -> AsyncIterator[tuple[ServerSettings, ...]]:
    """Stand behind these puppets until the block ends; gives the settings that start them."""
    by_name = {puppet.name: puppet for puppet in puppets}

    async def accept(stream: SocketStream) -> None:
        async with stream:
            lines = BufferedByteReceiveStream(stream)
            try:
                puppet = by_name[(await lines.receive_until(b"\n", 1000)).decode()]
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                return
            connection = Connection(puppet, stream, tasks)
            puppet.connections.append(connection)
            puppet.wake()
            await connection.read(lines)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    [port] = [one.extra(SocketAttribute.local_port) for one in listener.listeners]
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, accept)
        yield tuple(_settings(puppet, port) for puppet in puppets)
        tasks.cancel_scope.cancel()


def _settings(puppet: Puppet, port: int) -> ServerSettings:
    program = str(Path(__file__).with_name("puppet.py"))
    start = {
        "command": sys.executable,
        "args": ("-S", "-E", program, str(port), puppet.name),
        "cwd": os.sep,
    }
    return ServerSettings(puppet.name, **{**start, **puppet.settings})
