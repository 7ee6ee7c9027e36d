"""One HTTP request and the response to it: what is written, not when.

Nothing here waits. A response goes out whole (``reply``) or as a stream of events (``events``, then
``write``); whoever streams heeds ``writable`` and is called when that changes.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.front.connection import Connection
    from toolpick.front.headers import Headers, Pairs
    from toolpick.front.refusal import Refused

JSON = (b"content-type", b"application/json")
EVENTS: Pairs = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
CLOSE = (b"connection", b"close")
_STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode())
    for status in HTTPStatus
}


class Request:
    """What was asked, and the ways to answer it."""

    __slots__ = (
        "_connection",
        "_head",
        "_keep_alive",
        "_version",
        "body",
        "done",
        "drained",
        "headers",
        "left",
        "method",
        "path",
        "principal",
        "profile",
        "refusal",
        "response_headers",
    )

    def __init__(
        self,
        connection: Connection,
        method: str,
        path: str,
        headers: Headers,
        version: str,
        *,
        keep_alive: bool,
    ) -> None:
        """``version`` is that of HTTP. The body is filled in when it has come."""
        self.method = method
        self.path = path
        self.headers = headers
        self.body = b""
        self.refusal: Refused | None = None
        """Why it is not served, when that was clear before its body had come."""
        self.profile = ""
        """The profile that it is for, "" for none."""
        self.principal = ""
        """Whose it is: those with the token of one profile are told apart from the others."""
        self.response_headers: Pairs = []
        """Go into every response to this request."""
        self.left: Callable[[], None] | None = None
        """Called when the client leaves before the response is complete."""
        self.drained: Callable[[], None] | None = None
        """Called when the response becomes writable again."""
        self.done = False
        """Whether the response is complete, or nobody is there to read it."""
        self._connection = connection
        self._version = version
        self._keep_alive = keep_alive
        self._head = b""

    @property
    def writable(self) -> bool:
        """Whether the client keeps up with what it is sent."""
        return self._connection.writable

    def reply(self, status: int, body: bytes = b"", headers: Pairs | None = None) -> None:
        """Send a whole response; a body is JSON."""
        lines = [*self.response_headers, *(headers or ())]
        if body:
            lines.append(JSON)
        if status != 204:
            lines.append((b"content-length", b"%d" % len(body)))
        head = self._start(status, lines)
        self._finish(head if self.method == "HEAD" else head + body)

    def refuse(self, refused: Refused) -> None:
        """Send an error."""
        self.reply(refused.status, refused.body, refused.headers)

    def events(self, headers: Pairs | None = None) -> None:
        """Begin an event stream; nothing is sent before its first part."""
        lines = [*self.response_headers, *(headers or ()), *EVENTS]
        if self._version == "1.0":
            self._keep_alive = False
        else:
            lines.append((b"transfer-encoding", b"chunked"))
        self._head = self._start(200, lines)

    def write(self, data: bytes, *, last: bool) -> None:
        """Send a part of a begun stream."""
        if self.done:
            return
        if self._version != "1.0":
            data = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
            if last:
                data += b"0\r\n\r\n"
        data, self._head = self._head + data, b""
        if last:
            self._finish(data)
        else:
            self._connection.write(data)

    def leave(self) -> None:
        """Take note that the client is gone."""
        if not self.done:
            left = self.left
            self._end()
            if left is not None:
                left()

    def _start(self, status: int, lines: Pairs) -> bytes:
        parts = [_STATUS_LINES[status], self._connection.date_line()]
        for name, value in lines:
            parts += (name, b": ", value, b"\r\n")
        if CLOSE in lines:
            self._keep_alive = False
        elif not self._keep_alive or self._connection.closing:
            parts.append(b"connection: close\r\n")
            self._keep_alive = False
        parts.append(b"\r\n")
        return b"".join(parts)

    def _finish(self, data: bytes) -> None:
        if not self.done:
            self._end()
            self._connection.write(data)
            self._connection.finished(keep_alive=self._keep_alive)

    def _end(self) -> None:
        self.done = True
        # whoever answers knows the request, too: large bodies would wait for the collector
        self.left = self.drained = None
        self.body = b""
