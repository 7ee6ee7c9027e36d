"""A real HTTP server on loopback that answers what a test has written down, one reply a request."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass(frozen=True)
class Reply:
    """``body`` is sent as it is when it is bytes, else as JSON; ``hang`` never answers."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: Any


class Script:
    """What the server says next, and what it was asked. The last reply is repeated."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self.arrived = threading.Event()
        self.left = threading.Event()
        self._over = threading.Event()
        self._replies: list[Reply] = []
        self._responder: Callable[[Request], Reply] | None = None
        self._lock = threading.Lock()

    def say(self, *replies: Reply) -> None:
        self._replies = list(replies)

    def answer(self, responder: Callable[[Request], Reply]) -> None:
        """Make each reply from its request."""
        self._responder = responder

    def next(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if self._responder is not None:
                return self._responder(request)
            reply = self._replies[0]
            if len(self._replies) > 1:
                del self._replies[0]
        self.arrived.set()
        return reply

    def hang(self, connection: Any) -> None:
        """Wait until the other side goes away, or the test is over."""
        connection.settimeout(0.05)
        while not self._over.is_set():
            try:
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.left.set()

    def end(self) -> None:
        self._over.set()


@contextmanager
def serve() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = script.next(Request(self.path, headers, json.loads(raw)))
            if reply.hang:
                script.hang(self.connection)
                self.close_connection = True
                return
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield script
    finally:
        script.end()
        server.shutdown()
        server.server_close()
        thread.join()
