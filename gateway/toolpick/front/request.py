"""One HTTP request and the response to it, over ASGI.

Knows HTTP, not what is said over it. That a client leaves while its answer is being made is told by
``toolpick.front.connection``; under another ASGI server nobody would tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolpick.front.headers import Headers, Pairs
from toolpick.front.refusal import Gone, Refused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BODY_LIMIT = 16 * 1024 * 1024
"""Bytes of a request body; large enough for tools that take files as arguments."""
LEAVE = "toolpick.leave"
LEFT = "toolpick.left"
JSON = (b"content-type", b"application/json")
EVENTS: Pairs = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
CLOSE = (b"connection", b"close")


class Request:
    """What was asked, and the ways to answer it: one of ``reply``, ``events`` with ``write``."""

    __slots__ = ("_receive", "_send", "_state", "headers", "method", "path", "response_headers")

    def __init__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        """Of the three arguments of an ASGI application."""
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers = Headers(scope["headers"])
        self.response_headers: Pairs = []
        """Go into every response to this request."""
        self._state: dict[str, Any] = scope.setdefault("state", {})
        self._receive = receive
        self._send = send

    async def body(self, limit: int = BODY_LIMIT) -> bytes:
        """Read the body.

        Raises:
            Refused: it is larger than ``limit`` bytes; nothing more of it is read.
            Gone: the client left.
        """
        said = self.headers.raw(b"content-length")
        if said.isdigit() and int(said) > limit:
            raise _too_large(limit)
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone("the client closed the connection")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            if not message.get("more_body"):
                return b"".join((*chunks, chunk)) if chunks else chunk
            chunks.append(chunk)

    def on_leave(self, what: Callable[[], None]) -> None:
        """Run ``what`` when the client leaves before the response is complete, or has left."""
        if self._state.get(LEFT):
            what()
        else:
            self._state[LEAVE] = what

    async def reply(self, status: int, body: bytes = b"", headers: Pairs | None = None) -> None:
        """Send a whole response; a body is JSON."""
        lines = [*self.response_headers, *(headers or ())]
        if body:
            lines.append(JSON)
        if status != 204:
            lines.append((b"content-length", b"%d" % len(body)))
        await self._send({"type": "http.response.start", "status": status, "headers": lines})
        await self._send({"type": "http.response.body", "body": body})

    async def events(self, headers: Pairs | None = None) -> None:
        """Begin an event stream."""
        lines = [*self.response_headers, *(headers or ()), *EVENTS]
        await self._send({"type": "http.response.start", "status": 200, "headers": lines})

    async def write(self, data: bytes, *, last: bool) -> None:
        """Send a part of a begun stream; waits while the client reads too slowly."""
        await self._send({"type": "http.response.body", "body": data, "more_body": not last})


def _too_large(limit: int) -> Refused:
    text = f"the request body is larger than {limit} bytes; send less in one message"
    return Refused(413, text, headers=[CLOSE])
