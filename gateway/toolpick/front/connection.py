"""One client's connection: requests in, responses out, in order and one at a time.

A request is served in the same turn of the loop in which its last byte comes, and may be answered
there: no task, no queue, no second write stands between a client and a tool (docs/decisions/009).
Knows no MCP.
"""

from __future__ import annotations

# bytes come and go through asyncio's transports: there is no cheaper way
import asyncio  # noqa: TID251
import logging
from collections import deque
from typing import TYPE_CHECKING, cast

from toolpick.front.headers import Headers
from toolpick.front.reader import Reader
from toolpick.front.refusal import Refused, bug
from toolpick.front.request import Request

if TYPE_CHECKING:
    from toolpick.front.connections import Connections

log = logging.getLogger("toolpick.http")

PIPELINED = 8
"""Requests that may wait behind one that is being answered; then no more is read."""


class Connection(asyncio.Protocol):
    """A connection as asyncio drives it."""

    def __init__(self, all: Connections) -> None:
        """Belongs to one server's connections."""
        self.writable = True
        """Whether the client keeps up with what it is sent."""
        self.closing = False
        """Whether the connection ends with the response that is being made."""
        self._all = all
        self._reader = Reader(self)
        self._transport = cast("asyncio.Transport", None)
        self._current: Request | None = None
        self._waiting: deque[Request] = deque()
        self._paused = False
        self._loop = asyncio.get_running_loop()
        self._since = self._read = self._loop.time()
        self._unread = 0

    # -- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._all.made(self)

    def data_received(self, data: bytes) -> None:
        """Read."""
        self._reader.feed(data)
        if self._reader.in_wanted_body:
            self._since = self._loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that is being answered."""
        self._all.lost(self)
        self._reader.close()
        self._waiting.clear()
        current, self._current = self._current, None
        if current is not None:
            current.leave()

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        self.writable = False

    def resume_writing(self) -> None:
        """The client has caught up."""
        self.writable = True
        if self._current is None:
            self._next()
        elif self._current.drained is not None:
            self._current.drained()

    # -- for the reader

    def begins(self) -> None:
        """Take note of a request's first byte. A head that comes in drops wins no time."""
        self._since = self._loop.time()

    def admit(self, request: Request) -> None:
        """Look at a request before its body is read.

        Raises:
            Refused: it is not served.
        """
        self._all.service.admit(request)

    def permit(self) -> None:
        """Tell a client that asked whether it should send the body."""
        if self._current is None:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def line_up(self, request: Request) -> None:
        """Serve a request, or refuse it, after those that came before it."""
        self._waiting.append(request)
        self._next()
        if len(self._waiting) >= PIPELINED:
            self._paused = True
            self._transport.pause_reading()

    def body_passed(self) -> None:
        """Take note that a body which nobody wanted has come to its end."""
        if self.closing and self._current is None:
            self._transport.close()

    def unreadable(self, refused: Refused) -> None:
        """Close; say why, unless something that came before is still being answered."""
        self.closing = True
        if self._current is None and not self._waiting:
            self._current = Request(self, "GET", "/", Headers([]), "1.1", keep_alive=False)
            self._current.refuse(refused)

    # -- for requests

    def date_line(self) -> bytes:
        """The Date header."""
        return self._all.date_line()

    def write(self, data: bytes) -> None:
        """Send bytes of the current response."""
        self._transport.write(data)

    def finished(self, *, keep_alive: bool) -> None:
        """Take note of a complete response, and serve the next request."""
        self._since = self._loop.time()
        self._all.used(self)
        self._current = None
        self.closing = self.closing or not keep_alive
        if not self.closing:
            if self._waiting:
                self._loop.call_soon(self._next)
        elif not self._reader.in_body:
            # else the rest of a refused body is read first: a reset could overtake the response
            self._transport.close()

    # -- for the server

    @property
    def idle(self) -> bool:
        """Whether no response is due, and no wanted body is on its way."""
        return self._current is None and not self._reader.in_wanted_body

    def close_if_idle(self, older: float) -> None:
        """Close it when nothing has come of it since ``older``.

        That is: no request began and no response is due, or nothing was read of what was sent.
        """
        unread = self._transport.get_write_buffer_size()
        if unread != self._unread:
            self._unread, self._read = unread, self._loop.time()
        if unread:
            if self._read < older:
                self._transport.abort()
        elif self._current is None and self._since < older:
            self._transport.close()

    def close_when_done(self) -> None:
        """Close it now, or after the response that is being sent."""
        self.closing = True
        if self._current is None:
            self._transport.close()

    def abort(self) -> None:
        """Close it at once."""
        self._transport.abort()

    # -- own

    def _next(self) -> None:
        """Serve what waits, one after the other, as long as each is answered at once."""
        while self._waiting and self._current is None and self.writable and not self._ended():
            self._current = self._waiting.popleft()
            self._serve(self._current)
        if self._paused and len(self._waiting) < PIPELINED:
            self._paused = False
            self._transport.resume_reading()

    def _ended(self) -> bool:
        return self._transport.is_closing()

    def _serve(self, request: Request) -> None:
        try:
            if request.refusal is not None:
                raise request.refusal
            self._all.service.serve(request)
        except Refused as refused:
            request.refuse(refused)
        except Exception:
            log.exception("event=bug method=%s path=%r", request.method, request.path)
            request.refuse(bug())
