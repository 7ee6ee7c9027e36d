"""Raw MCP clients to measure with: pipes and HTTP, standard library, no SDK.

Both offer `request` for one exchange and `load` for calls in a closed loop: a number of them is
kept in flight, the next one sent when one is answered. Messages are written in the one shape that
`floor` understands: compact, `id` second.
"""

import json
import os
import re
import select
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

VERSION = "2025-06-18"
HELLO = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
SESSION = re.compile(rb"\r\nmcp-session-id: *([^\r\n]+)", re.IGNORECASE)
PATIENCE = 60.0
"""Seconds any answer may take."""

Params = Callable[[int], dict[str, Any]]


class Silent(Exception):
    """No answer came in time, or the other side is gone."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a closed loop gave: seconds per call, the seconds in all, and how many calls failed."""

    seconds: tuple[float, ...]
    wall: float
    failed: int

    @property
    def p50(self) -> float:
        """Median milliseconds per call."""
        return 1000 * sorted(self.seconds)[len(self.seconds) // 2]

    @property
    def rate(self) -> float:
        """Calls per second."""
        return len(self.seconds) / self.wall


class Client(Protocol):
    """A session with a gateway."""

    process: "subprocess.Popen[bytes]"
    started: float

    def greet(self, timeout: float = PATIENCE) -> None:
        """Shake hands."""

    def request(
        self, method: str, params: dict[str, Any] | None = None, timeout: float = PATIENCE
    ) -> dict[str, Any]:
        """One request and its answer."""

    def load(self, params: Params, in_flight: int, calls: int) -> Load:
        """This many calls, `in_flight` at a time; `params` gives those of the n-th."""

    def close(self) -> None:
        """End the gateway."""


def frame(number: int, method: str, params: dict[str, Any]) -> bytes:
    """A request as bytes."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


def note(method: str) -> bytes:
    """A notification as bytes."""
    return json.dumps({"jsonrpc": "2.0", "method": method}, separators=(",", ":")).encode()


def failed(answer: dict[str, Any]) -> bool:
    """Whether a call was answered with an error of either kind."""
    return "error" in answer or bool(answer["result"].get("isError"))


def spawn(command: list[str], folder: Path, stdin: int) -> "subprocess.Popen[bytes]":
    """Start a gateway in a group of its own, its log in the folder."""
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE if stdin == subprocess.PIPE else log,
            stderr=log,
            bufsize=0,
            cwd=folder,
            start_new_session=True,
        )


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a gateway: stdin closed, asked, killed."""
    if process.stdin is not None:
        process.stdin.close()
    for action in (lambda: None, process.terminate, process.kill):
        action()
        try:
            process.wait(3)
            break
        except subprocess.TimeoutExpired:
            continue
    if process.stdout is not None:
        process.stdout.close()


class Pipes:
    """A session over a child's stdin and stdout."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.started = time.perf_counter()
        self.process = spawn(command, folder, subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN | select.POLLHUP)
        self._rest = b""
        self._lines: list[bytes] = []
        self._count = 0

    def greet(self, timeout: float = PATIENCE) -> None:
        self.request("initialize", HELLO, timeout)
        os.write(self._in, note("notifications/initialized") + b"\n")

    def request(
        self, method: str, params: dict[str, Any] | None = None, timeout: float = PATIENCE
    ) -> dict[str, Any]:
        number = self._send(method, params or {})
        while True:
            answer = self._answer(timeout)
            if answer["id"] == number:
                return answer

    def load(self, params: Params, in_flight: int, calls: int) -> Load:
        sent: dict[int, float] = {}
        seconds: list[float] = []
        wrong = 0
        begin = time.perf_counter()

        def call() -> None:
            now = time.perf_counter()
            sent[self._send("tools/call", params(len(seconds) + len(sent)))] = now

        for _ in range(min(in_flight, calls)):
            call()
        while sent:
            answer = self._answer(PATIENCE)
            seconds.append(time.perf_counter() - sent.pop(answer["id"]))
            wrong += failed(answer)
            if len(seconds) + len(sent) < calls:
                call()
        return Load(tuple(seconds), time.perf_counter() - begin, wrong)

    def close(self) -> None:
        end(self.process)

    def _send(self, method: str, params: dict[str, Any]) -> int:
        self._count += 1
        try:
            os.write(self._in, frame(self._count, method, params) + b"\n")
        except BrokenPipeError:
            raise Silent("the gateway closed its stdin") from None
        return self._count

    def _answer(self, timeout: float) -> dict[str, Any]:
        """The next answer; requests and notifications of the other side are passed over."""
        while True:
            while not self._lines:
                self._read(timeout)
            message: dict[str, Any] = json.loads(self._lines.pop(0))
            if "method" not in message:
                return message

    def _read(self, timeout: float) -> None:
        if not self._poll.poll(timeout * 1000):
            raise Silent(f"no answer within {timeout:.0f} s")
        data = os.read(self._out, 1 << 18)
        if not data:
            raise Silent("the gateway closed its stdout")
        *self._lines, self._rest = (self._rest + data).split(b"\n")


class Connection:
    """One keep-alive connection, one exchange at a time."""

    def __init__(self, port: int) -> None:
        self._host = f"127.0.0.1:{port}".encode()
        self.socket = socket.create_connection(("127.0.0.1", port), 5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""
        self.head = b""

    def send(self, body: bytes, session: bytes) -> None:
        """Post a message to `/mcp`."""
        head = b"POST /mcp HTTP/1.1\r\nHost: " + self._host + b"\r\nContent-Type: application/json"
        head += b"\r\nAccept: application/json, text/event-stream\r\n" + session
        self.socket.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self) -> bytes | None:
        """The body of the response when it is complete, else None."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise Silent("the gateway closed a connection")
        self._rest += data
        head, blank, body = self._rest.partition(b"\r\n\r\n")
        if not blank:
            return None
        whole = unchunked(body) if CHUNKED.search(head) else sized(head, body)
        if whole is not None:
            self.head, self._rest = head, b""
        return whole

    def wait(self, timeout: float) -> bytes:
        """The body of the response."""
        deadline = time.perf_counter() + timeout
        while True:
            left = max(0.0, deadline - time.perf_counter())
            if not select.select([self.socket], [], [], left)[0]:
                raise Silent(f"no answer within {timeout:.0f} s")
            body = self.receive()
            if body is not None:
                return body


def sized(head: bytes, body: bytes) -> bytes | None:
    """A body with a content-length, if complete."""
    length = LENGTH.search(head)
    return body if len(body) >= (int(length[1]) if length else 0) else None


def unchunked(body: bytes) -> bytes | None:
    """A chunked body put together, if complete."""
    parts, at = [], 0
    while (end_of_size := body.find(b"\r\n", at)) >= 0:
        size = int(body[at:end_of_size], 16)
        start = end_of_size + 2
        if len(body) < start + size + 2:
            return None
        if size == 0:
            return b"".join(parts)
        parts.append(body[start : start + size])
        at = start + size + 2
    return None


def answer_in(body: bytes) -> dict[str, Any]:
    """The JSON-RPC answer in a body: the body itself, or the last event of a stream."""
    if body.startswith(b"{"):
        answer: dict[str, Any] = json.loads(body)
        return answer
    lines = [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
    messages = [json.loads(line) for line in lines if line.strip()]
    return next(message for message in messages if "method" not in message)


class Http:
    """A session over streamable HTTP with a gateway that this starts."""

    def __init__(self, command: list[str], folder: Path, port: int) -> None:
        self.started = time.perf_counter()
        self.process = spawn(command, folder, subprocess.DEVNULL)
        self._port = port
        self._session = b""
        self._count = 0
        self._main: Connection | None = None
        self._others: list[Connection] = []

    def greet(self, timeout: float = PATIENCE) -> None:
        self._main = self._connect(timeout)
        self.request("initialize", HELLO, timeout)
        given = SESSION.search(self._main.head)
        version = f"MCP-Protocol-Version: {VERSION}\r\n".encode()
        self._session = (b"Mcp-Session-Id: " + given[1] + b"\r\n" if given else b"") + version
        self._main.send(note("notifications/initialized"), self._session)
        self._main.wait(timeout)

    def request(
        self, method: str, params: dict[str, Any] | None = None, timeout: float = PATIENCE
    ) -> dict[str, Any]:
        assert self._main is not None
        self._main.send(self._frame(method, params or {}), self._session)
        return answer_in(self._main.wait(timeout))

    def load(self, params: Params, in_flight: int, calls: int) -> Load:
        while len(self._others) < in_flight:
            self._others.append(Connection(self._port))
        by_file = {lane.socket.fileno(): lane for lane in self._others[:in_flight]}
        poll, sent = select.poll(), {}
        seconds: list[float] = []
        wrong = 0
        begin = time.perf_counter()

        def call(file: int) -> None:
            sent[file] = time.perf_counter()
            body = self._frame("tools/call", params(len(seconds) + len(sent) - 1))
            by_file[file].send(body, self._session)

        for file in list(by_file)[:calls]:
            poll.register(file, select.POLLIN)
            call(file)
        while sent:
            ready = poll.poll(PATIENCE * 1000)
            if not ready:
                raise Silent(f"no answer within {PATIENCE:.0f} s")
            for file, _ in ready:
                body = by_file[file].receive()
                if body is not None:
                    seconds.append(time.perf_counter() - sent.pop(file))
                    wrong += failed(answer_in(body))
                    if len(seconds) + len(sent) < calls:
                        call(file)
        return Load(tuple(seconds), time.perf_counter() - begin, wrong)

    def close(self) -> None:
        for lane in [self._main, *self._others]:
            if lane is not None:
                lane.socket.close()
        end(self.process)

    def _frame(self, method: str, params: dict[str, Any]) -> bytes:
        self._count += 1
        return frame(self._count, method, params)

    def _connect(self, timeout: float) -> Connection:
        deadline = self.started + timeout
        while True:
            try:
                return Connection(self._port)
            except OSError:
                if time.perf_counter() > deadline or self.process.poll() is not None:
                    raise Silent("the gateway does not listen") from None
                time.sleep(0.005)
