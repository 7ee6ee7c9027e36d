"""Raw MCP clients: what is sent and what comes back are bytes, over pipes or over HTTP.

For tests of fidelity, where an SDK's models would hide what was lost. Blocking, with a deadline on
every wait; `Legacy` and `Modern` say what a request of each protocol era looks like.
"""

import contextlib
import http.client
import json
import queue
import socket
import threading
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from tests.programs import PATIENCE, Process

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
LIST_CHANGED = "notifications/tools/list_changed"


class Frame(msgspec.Struct):
    """A JSON-RPC message, its parts as they were written."""

    id: msgspec.Raw = msgspec.Raw(b"")
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


def read(data: bytes) -> Frame:
    """Take a message apart."""
    return msgspec.json.decode(data, type=Frame)


def envelope() -> dict[str, Any]:
    """What a request of 2026-07-28 carries in `_meta`."""
    return {
        META + "protocolVersion": MODERN,
        META + "clientInfo": {"name": "raw", "version": "1"},
        META + "clientCapabilities": {},
    }


def joined(members: dict[str, Any], raw: dict[str, bytes]) -> bytes:
    """A JSON object of values and of members that are bytes already."""
    parts = [
        json.dumps(key).encode() + b":" + json.dumps(value).encode()
        for key, value in members.items()
    ]
    parts += [json.dumps(key).encode() + b":" + value for key, value in raw.items()]
    return b"{" + b",".join(parts) + b"}"


class Client(Protocol):
    """A session with a server, in one era."""

    def request(self, method: str, members: dict[str, Any], **raw: bytes) -> Frame:
        """Send a request and return the answer; `raw` members go out as they are."""

    def wait_for_change(self) -> None:
        """Return when the server has announced a change of its tools."""

    def close(self) -> None:
        """Let go of the connections."""


@dataclass(slots=True)
class Pipes:
    """A child's stdin and stdout."""

    process: Process
    modern: bool
    _answers: "queue.Queue[Frame | None]" = field(default_factory=queue.Queue)
    _changes: "queue.Queue[Frame]" = field(default_factory=queue.Queue)
    _count: int = 0

    def open(self) -> None:
        """Read from the child from now on, and begin the session."""
        threading.Thread(target=self._read, daemon=True).start()
        if self.modern:
            self.request("server/discover", {})
            wanted = {"notifications": {"toolsListChanged": True}}
            self._send("subscriptions/listen", wanted, {})
            self._answer()  # the acknowledgement
        else:
            self.request("initialize", handshake())
            self._write(json.dumps(INITIALIZED).encode())

    def request(self, method: str, members: dict[str, Any], **raw: bytes) -> Frame:
        number = self._send(method, members, raw)
        while True:
            answer = self._answer()
            if bytes(answer.id) == b"%d" % number:
                return answer

    def wait_for_change(self) -> None:
        self._changes.get(timeout=PATIENCE)

    def close(self) -> None:
        """Nothing: the pipes are the process's."""

    def _answer(self) -> Frame:
        answer = self._answers.get(timeout=PATIENCE)
        assert answer is not None, f"{self.process.args!r} has ended"
        return answer

    def _send(self, method: str, members: dict[str, Any], raw: dict[str, bytes]) -> int:
        self._count += 1
        self._write(frame(self._count, method, members, raw, self.modern))
        return self._count

    def _write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = read(line)
            if message.method == LIST_CHANGED:
                self._changes.put(message)
            else:
                self._answers.put(message)
        self._answers.put(None)


def handshake() -> dict[str, Any]:
    """The parameters of `initialize`."""
    about = {"name": "raw", "version": "1"}
    return {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": about}


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def frame(
    number: int, method: str, members: dict[str, Any], raw: dict[str, bytes], modern: bool
) -> bytes:
    """A request as bytes."""
    if modern:
        members = {**members, "_meta": envelope()}
    head = {"jsonrpc": "2.0", "id": number, "method": method}
    return joined(head, {"params": joined(members, raw)})


@dataclass(slots=True)
class Http:
    """Streamable HTTP to a port of the loopback interface."""

    port: int
    modern: bool
    path: str = "/mcp"
    token: str = ""
    _changes: "queue.Queue[Frame]" = field(default_factory=queue.Queue)
    _headers: dict[str, str] = field(default_factory=dict)
    _connections: list[http.client.HTTPConnection] = field(default_factory=list)
    _count: int = 0

    def open(self) -> None:
        """Begin the session and listen for changes."""
        self._connect(PATIENCE)
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN if self.modern else LEGACY,
        }
        if self.token:
            self._headers["Authorization"] = f"Bearer {self.token}"
        if self.modern:
            wanted = {"notifications": {"toolsListChanged": True}}
            body = frame(0, "subscriptions/listen", wanted, {}, True)
            self._listen("POST", body, {"Mcp-Method": "subscriptions/listen"})
        else:
            response = self._post(frame(0, "initialize", handshake(), {}, False), {})
            response.read()
            session = response.getheader("Mcp-Session-Id")
            self._headers |= {"Mcp-Session-Id": session} if session else {}
            self._post(json.dumps(INITIALIZED).encode(), {}).read()
            self._listen("GET", None, {})

    def request(self, method: str, members: dict[str, Any], **raw: bytes) -> Frame:
        self._count += 1
        body = frame(self._count, method, members, raw, self.modern)
        named = {"Mcp-Name": members["name"]} if "name" in members else {}
        response = self._post(body, {"Mcp-Method": method, **named})
        messages = [read(data) for data in events(response)]
        answers = [message for message in messages if not message.method]
        assert len(answers) == 1, f"{method} was answered {messages}, HTTP {response.status}"
        return answers[0]

    def wait_for_change(self) -> None:
        self._changes.get(timeout=PATIENCE)

    def close(self) -> None:
        for connection in self._connections:
            # A thread may be reading; a close alone would wait for it.
            with contextlib.suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _connect(self, timeout: float | None) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        self._connections.append(connection)
        return connection

    def _post(self, body: bytes, headers: dict[str, str]) -> http.client.HTTPResponse:
        connection = self._connections[0]
        connection.request("POST", self.path, body, {**self._headers, **headers})
        return connection.getresponse()

    def _listen(self, verb: str, body: bytes | None, headers: dict[str, str]) -> None:
        connection = self._connect(None)
        connection.request(verb, self.path, body, {**self._headers, **headers})
        response = connection.getresponse()

        def follow() -> None:
            with contextlib.suppress(
                OSError, ValueError, AttributeError, http.client.HTTPException
            ):
                for data in events(response):
                    if read(data).method == LIST_CHANGED:
                        self._changes.put(read(data))

        threading.Thread(target=follow, daemon=True).start()


def events(response: http.client.HTTPResponse) -> Any:
    """The messages of a response: its body, or the data of its events as they arrive."""
    if "text/event-stream" not in (response.getheader("Content-Type") or ""):
        yield response.read()
        return
    while line := response.readline():
        if line.startswith(b"data:") and line[5:].strip():
            yield line[5:].strip()
