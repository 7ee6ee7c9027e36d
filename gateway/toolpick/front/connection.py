"""One client's connection: HTTP/1.1 in, HTTP/1.1 out, with llhttp as the parser.

Requests are served in order, one at a time. A request is served in the same turn of the loop in
which its last byte comes, and may be answered there: no task, no queue, no second write stands
between a client and a tool (docs/decisions/009). Knows no MCP.
"""

from __future__ import annotations

# bytes come and go through asyncio's transports: there is no cheaper way
import asyncio  # noqa: TID251
import logging
from collections import deque
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

import httptools

from toolpick.errors import INTERNAL_ERROR
from toolpick.front.headers import Headers, Pairs
from toolpick.front.refusal import Refused
from toolpick.front.request import CLOSE, Request

if TYPE_CHECKING:
    from toolpick.front.connections import Connections

log = logging.getLogger("toolpick.http")

HEAD_LIMIT = 64 * 1024
"""Bytes of a request line with its headers."""
BODY_LIMIT = 16 * 1024 * 1024
"""Bytes of a request body; large enough for tools that take files as arguments."""
PIPELINED = 8
"""Requests that may wait behind one that is being answered; then no more is read."""
_UNREADABLE = "this is no HTTP/1.1 request"


class Connection(asyncio.Protocol):
    """A connection as asyncio drives it, and as httptools does."""

    def __init__(self, all: Connections) -> None:
        """Belongs to one server's connections."""
        self.writable = True
        self.closing = False
        """Whether the connection ends with the response that is being made."""
        self._all = all
        self._parser = httptools.HttpRequestParser(self)
        self._transport = cast("asyncio.Transport", None)
        self._current: Request | None = None
        self._waiting: deque[Request] = deque()
        self._incoming: Request | None = None
        self._deaf = False
        self._paused = False
        self._since = 0.0
        self._loop = asyncio.get_running_loop()
        self._url = b""
        self._lines: Pairs = []
        self._head = 0
        self._body: list[bytes] = []
        self._size = 0

    # -- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._since = self._loop.time()
        self._all.open.add(self)

    def data_received(self, data: bytes) -> None:
        """Read."""
        if self._deaf:
            return
        self._since = self._loop.time()
        try:
            self._parser.feed_data(data)
            if self._in_head:
                self._grow(len(data))
            return
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except (httptools.HttpParserError, Refused) as error:
            self._stop_reading(error)
            return
        self._pass_over_upgrade(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that is being answered."""
        self._all.lost(self)
        self._waiting.clear()
        if self._current is not None:
            self._current.leave()

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

    # -- httptools

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head = True
        self._incoming = None
        self._url = b""
        self._lines = []
        self._head = 0

    def on_url(self, url: bytes) -> None:
        """A part of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header line; after a chunked body, one that nobody reads."""
        self._grow(len(name) + len(value))
        if self._in_head:
            self._lines.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Decide whether the body is worth reading."""
        self._in_head = False
        if self._parser.should_upgrade():
            return
        self._body = []
        self._size = 0
        request = self._incoming = self._request()
        expects = request.headers.raw(b"expect").lower() == b"100-continue"
        try:
            self._all.service.admit(request)
            said = request.headers.raw(b"content-length")
            if said.isdigit() and int(said) > BODY_LIMIT:
                raise _too_large()
        except Refused as refused:
            if expects:
                # the body may never come, so what follows could not be told from it
                self.closing, self._deaf, self._incoming = True, True, None
            self._turn_away(request, refused)
            return
        if expects and self._current is None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, chunk: bytes) -> None:
        """Keep a part of the body, unless its request is refused."""
        request = self._incoming
        if request is None or request.refusal is not None:
            return
        self._size += len(chunk)
        if self._size > BODY_LIMIT:
            self._body = []
            self._turn_away(request, _too_large())
        else:
            self._body.append(chunk)

    def on_message_complete(self) -> None:
        """Serve the request, after those that came before it."""
        request, self._incoming = self._incoming, None
        if request is not None and request.refusal is None:
            request.body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
            self._body = []
            self._line_up(request)
        elif self.closing and self._current is None:
            self._transport.close()

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
        self._current = None
        if not keep_alive:
            self.closing = True
        if not self.closing:
            if self._waiting:
                self._loop.call_soon(self._next)
        elif self._incoming is None:
            # else the rest of a refused body is read first: a reset could overtake the response
            self._transport.close()

    # -- for the server

    def close_if_idle(self, older: float) -> None:
        """Close it when it has been silent since ``older`` and no response is due."""
        if self._current is None and self._since < older:
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

    def _request(self) -> Request:
        version = self._parser.get_http_version()
        return Request(
            self,
            self._parser.get_method().decode("ascii"),
            _path(self._url),
            Headers(self._lines),
            version,
            keep_alive=version == "1.1" and self._parser.should_keep_alive(),
        )

    def _pass_over_upgrade(self, rest: bytes) -> None:
        """Read a request again whose client offered another protocol, as Java's clients do.

        Nobody has to take it, but the parser takes the body for a part of that protocol.
        """
        method, version = self._parser.get_method(), self._parser.get_http_version().encode()
        lines = [line for line in self._lines if line[0] != b"upgrade"]
        head = b"".join(b"%b: %b\r\n" % line for line in lines)
        self._parser = httptools.HttpRequestParser(self)
        again = b"%b %b HTTP/%b\r\n%b\r\n" % (method, self._url, version, head)
        self.data_received(again + rest)

    def _line_up(self, request: Request) -> None:
        self._waiting.append(request)
        self._next()
        if len(self._waiting) >= PIPELINED:
            self._paused = True
            self._transport.pause_reading()

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
            request.refuse(Refused(500, "toolpick failed; its log says why", INTERNAL_ERROR))

    def _turn_away(self, request: Request, refused: Refused) -> None:
        request.refusal = refused
        self._line_up(request)

    def _grow(self, size: int) -> None:
        self._head += size
        if self._head > HEAD_LIMIT:
            raise Refused(431, f"the request's head is larger than {HEAD_LIMIT} bytes")

    def _stop_reading(self, error: Exception) -> None:
        """Answer what can't be understood, unless something else is being answered, and close."""
        cause: BaseException | None = error
        if isinstance(error, httptools.HttpParserCallbackError):
            cause = error.__context__
            if not isinstance(cause, (Refused, httptools.HttpParserError)):
                log.error("event=bug", exc_info=cause)
        self._deaf = self.closing = True
        self._incoming = None
        if self._current is None and not self._waiting:
            self._current = Request(self, "GET", "/", Headers([]), "1.1", keep_alive=False)
            self._current.refuse(cause if isinstance(cause, Refused) else Refused(400, _UNREADABLE))


def _path(url: bytes) -> str:
    path = httptools.parse_url(url).path or b"/"
    return unquote(path.decode("latin-1")) if b"%" in path else path.decode("latin-1")


def _too_large() -> Refused:
    text = f"the request body is larger than {BODY_LIMIT} bytes; send less in one message"
    return Refused(413, text, headers=[CLOSE])
