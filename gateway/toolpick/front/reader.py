"""Bytes of one connection in, requests out: HTTP/1.1 by llhttp, as httptools wraps it.

Knows limits, and which request's body is worth keeping; writes nothing and serves nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import unquote

import httptools

from toolpick.front.headers import Headers, Pairs
from toolpick.front.refusal import Refused, bug
from toolpick.front.request import CLOSE, Request

if TYPE_CHECKING:
    from toolpick.front.connection import Connection

log = logging.getLogger("toolpick.http")

HEAD_LIMIT = 64 * 1024
"""Bytes of a request line with its headers, and of the trailers behind a chunked body."""
BODY_LIMIT = 16 * 1024 * 1024
"""Bytes of a request body; large enough for tools that take files as arguments."""


class Reader:
    """What a connection reads with. Its ``on_...`` methods are called by httptools."""

    def __init__(self, connection: Connection) -> None:
        """``connection`` takes the requests."""
        self._connection = connection
        self._parser = httptools.HttpRequestParser(self)
        self._deaf = False
        self._in_head = True
        self._url = b""
        self._lines: Pairs = []
        self._head_size = 0
        self._unfinished = 0
        self._incoming: Request | None = None
        self._body: bytes | bytearray = b""

    @property
    def in_body(self) -> bool:
        """Whether the rest of a body is still to come."""
        return self._incoming is not None

    @property
    def in_wanted_body(self) -> bool:
        """Whether the rest of a body is still to come that somebody wants."""
        return self._incoming is not None and self._incoming.refusal is None

    def close(self) -> None:
        """Read no more, and let go of what was read: parser and reader know each other."""
        self._deaf = True
        self._incoming = None
        self._body = b""
        del self._parser

    def feed(self, data: bytes) -> None:
        """Read bytes. After something unreadable nothing more is read."""
        if self._deaf:
            return
        try:
            self._parser.feed_data(data)
            if self._in_head:
                self._unfinished += len(data)
                _check_head(self._unfinished)
            return
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except (httptools.HttpParserError, Refused) as error:
            self._stop(error)
            return
        self._pass_over_upgrade(rest)

    # -- httptools

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head = True
        self._incoming = None
        self._url = b""
        self._lines = []
        self._head_size = self._unfinished = 0
        self._connection.begins()

    def on_url(self, url: bytes) -> None:
        """A part of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header line; after a chunked body, one that nobody reads."""
        self._head_size += len(name) + len(value)
        _check_head(self._head_size)
        if self._in_head:
            self._lines.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Decide whether the body is worth reading."""
        self._in_head = False
        self._head_size = 0
        if self._parser.should_upgrade():
            if self._parser.get_method() == b"CONNECT":
                raise Refused(405, "CONNECT is not allowed here")
            return
        self._body = b""
        version = self._parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise Refused(505, "HTTP/1.1 is spoken here, and HTTP/1.0")
        request = self._incoming = self._request(version)
        # of older clients this says nothing: RFC 9110, 10.1.1
        expects = version == "1.1" and request.headers.raw(b"expect").lower() == b"100-continue"
        try:
            self._connection.admit(request)
            said = request.headers.raw(b"content-length")
            if said.isdigit() and int(said) > BODY_LIMIT:
                raise _too_large()
        except Refused as refused:
            if expects:
                # the body may never come, so what follows could not be told from it
                self._incoming, self._deaf = None, True
                refused.headers = [*refused.headers, CLOSE]
            self._turn_away(request, refused)
        else:
            if expects:
                self._connection.permit()

    def on_body(self, chunk: bytes) -> None:
        """Keep a part of the body, unless its request is refused."""
        request = self._incoming
        if request is None or request.refusal is not None:
            return
        if len(self._body) + len(chunk) > BODY_LIMIT:
            self._body = b""
            self._turn_away(request, _too_large())
        elif not self._body:
            self._body = chunk
        else:
            # one array, not a list of parts: of tiny parts that would be many times the body
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += chunk

    def on_message_complete(self) -> None:
        """Hand the request over, unless it is refused."""
        request, self._incoming = self._incoming, None
        if request is not None and request.refusal is None:
            request.body = bytes(self._body)
            self._body = b""
            self._connection.line_up(request)
        else:
            self._connection.body_passed()

    # -- own

    def _request(self, version: str) -> Request:
        target = httptools.parse_url(self._url)
        lines = self._lines
        if target.host:
            # a whole URL counts for more than the Host header: RFC 9112, 3.2.2
            lines = [line for line in lines if line[0] != b"host"]
            lines.append((b"host", _authority(target.host, target.port)))
        return Request(
            self._connection,
            self._parser.get_method().decode("ascii"),
            _path(target.path or b"/"),
            Headers(lines),
            version,
            keep_alive=version == "1.1" and self._parser.should_keep_alive(),
        )

    def _turn_away(self, request: Request, refused: Refused) -> None:
        request.refusal = refused
        self._connection.line_up(request)

    def _pass_over_upgrade(self, rest: bytes) -> None:
        """Read a request again whose client offered another protocol, as Java's clients do.

        Nobody has to take it, but the parser takes the body for a part of that protocol.
        """
        method, version = self._parser.get_method(), self._parser.get_http_version().encode()
        lines = [line for line in self._lines if line[0] != b"upgrade"]
        head = b"".join(b"%b: %b\r\n" % line for line in lines)
        self._parser = httptools.HttpRequestParser(self)
        self.feed(b"%b %b HTTP/%b\r\n%b\r\n" % (method, self._url, version, head))
        if rest:
            self.feed(rest)

    def _stop(self, error: Exception) -> None:
        self._deaf = True
        self._incoming = None
        self._connection.unreadable(_reason(error))


def _reason(error: Exception) -> Refused:
    """What a client is told for whom no request could be made."""
    cause: BaseException | None = error
    if isinstance(error, httptools.HttpParserCallbackError):
        cause = error.__context__
    if isinstance(cause, Refused):
        return cause
    if isinstance(cause, httptools.HttpParserError):
        return Refused(400, "this is no HTTP/1.1 request")
    log.error("event=bug", exc_info=cause)
    return bug()


def _check_head(size: int) -> None:
    if size > HEAD_LIMIT:
        raise Refused(431, f"the request's head is larger than {HEAD_LIMIT} bytes")


def _authority(host: bytes, port: int | None) -> bytes:
    name = b"[%b]" % host if b":" in host else host
    return name if port is None else b"%b:%d" % (name, port)


def _path(path: bytes) -> str:
    return unquote(path.decode("latin-1")) if b"%" in path else path.decode("latin-1")


def _too_large() -> Refused:
    text = f"the request body is larger than {BODY_LIMIT} bytes; send less in one message"
    return Refused(413, text, headers=[CLOSE])
