"""One HTTP address that a server is spoken to at, and the failures of speaking to it, put in words.

Every failure becomes a ``HttpFailure`` whose text continues a sentence about the server, and holds
no header value and no secret of the URL. Redirects are followed within the origin only, as headers
hold credentials. Knows nothing of JSON-RPC.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import socket
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from toolpick.errors import GatewayError
from toolpick.wire import headers as http_headers
from toolpick.wire.wire import MAX_FRAME

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Mapping

    import httpx2

CONNECT_TIMEOUT = 10.0
"""Seconds that connecting may take."""
NOTE_TIMEOUT = 30.0
"""Seconds that a server may take to acknowledge what needs no answer."""
IDLE_EXPIRY = 4.0
"""Seconds that an idle connection is kept: uvicorn and Node end theirs after 5."""
REDIRECTS = 3
EXCERPT = 200
"""Characters of an error body that are quoted."""
EXCERPT_READ = 65_536


class HttpFailure(GatewayError):
    """A request that got no usable response. ``unreachable``: no connection came about."""

    def __init__(self, what: str, *, unreachable: bool = False) -> None:
        """``what`` continues the sentence that begins with the server's name."""
        super().__init__(what)
        self.unreachable = unreachable


class Endpoint:
    """A client for one URL. ``open`` it once, ``close`` it at the end."""

    def __init__(
        self, url: str, headers: Mapping[str, str], timeout: float = CONNECT_TIMEOUT
    ) -> None:
        """``headers`` go with every request; ``timeout`` is for connecting, in seconds."""
        self.url = url
        self._headers = dict(headers)
        self._timeout = timeout
        self._secrets = sorted(_secrets(url, headers), key=len, reverse=True)
        self._client: httpx2.AsyncClient | None = None

    async def open(self) -> None:
        """Prepare the client; nothing is sent.

        Raises:
            OSError: the URL or the headers can't be used.
        """
        wrong = http_headers.unusable(self._headers) or _unusable(self.url)
        if wrong:
            raise OSError(wrong)
        # importing the client and reading the certificates takes 0.1 s: too long for the loop
        self._client = await asyncio.to_thread(_client, self._headers, self._timeout)

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()

    async def send(
        self,
        method: str,
        headers: Mapping[str, str],
        frame: bytes | None = None,
        written: Callable[[], None] | None = None,
        *,
        url: str = "",
        patience: float | None = None,
    ) -> httpx2.Response:
        """Send a request; the response's body is still to be read, and the response to be closed.

        ``written`` is called once the whole frame is on the wire. ``patience`` bounds the wait for
        each piece of the response, in seconds.

        Raises:
            HttpFailure: there is no response, or it is a redirect that is not followed.
        """
        target = url or self.url
        for _ in range(REDIRECTS + 1):
            response = await self._send_once(method, target, headers, frame, written, patience)
            if not response.has_redirect_location:
                if frame is not None and not url:
                    # a slash that is missing in the settings need not cost every call a round trip
                    self.url = target
                return response
            await response.aclose()
            target = _redirected(method, target, response)
        raise HttpFailure(f"redirects more than {REDIRECTS} times")

    async def _send_once(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        frame: bytes | None,
        written: Callable[[], None] | None,
        patience: float | None,
    ) -> httpx2.Response:
        import httpx2

        if self._client is None:
            raise HttpFailure("is not connected", unreachable=True)
        timeout = {"connect": self._timeout, "read": patience, "write": None, "pool": None}
        try:
            request = self._client.build_request(
                method,
                url,
                headers=headers
                if frame is None
                else {**headers, "content-length": str(len(frame))},
                content=None if frame is None else _Body(frame, written),
                extensions={"timeout": timeout},
            )
            return await self._client.send(request, stream=True)
        except (httpx2.RequestError, httpx2.InvalidURL, OSError) as error:
            raise self._failure(error) from None

    async def chunks(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """Pieces of the body as they come.

        Raises:
            HttpFailure: the body ended too early, or can't be decoded.
        """
        import httpx2

        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except (httpx2.RequestError, httpx2.StreamError, OSError) as error:
            raise self._failure(error) from None

    async def body(self, response: httpx2.Response, limit: int = MAX_FRAME) -> bytes:
        """The whole body.

        Raises:
            HttpFailure: it ended too early, or is larger than ``limit``.
        """
        chunks: list[bytes] = []
        size = 0
        async for chunk in self.chunks(response):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise HttpFailure(f"sent a message of more than {limit} bytes")
        return b"".join(chunks)

    async def error_body(self, response: httpx2.Response) -> bytes:
        """The body of an error response, as far as there is one; whole only when it is JSON."""
        is_json = "json" in response.headers.get("content-type", "")
        chunks: list[bytes] = []
        size = 0
        with contextlib.suppress(HttpFailure):
            async for chunk in self.chunks(response):
                chunks.append(chunk)
                size += len(chunk)
                if size > (MAX_FRAME if is_json else EXCERPT_READ):
                    break
        return b"".join(chunks)

    def keep_watch(self, response: httpx2.Response) -> None:
        """Have the system notice within minutes when the other end of a long stream is gone."""
        stream = response.extensions.get("network_stream")
        sock = stream.get_extra_info("socket") if stream is not None else None
        if sock is None:
            return
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, number in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
                if hasattr(socket, name):
                    sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), number)

    def excerpt(self, body: bytes) -> str:
        """The beginning of a body, on one line, without secrets."""
        return self.masked(" ".join(body[:EXCERPT_READ].decode("utf-8", "replace").split()))[
            :EXCERPT
        ]

    def masked(self, text: str) -> str:
        """The text without any value of a header and any password or parameter of the URL."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _failure(self, error: Exception) -> HttpFailure:
        import httpx2

        cause = _os_error(error)
        why = self.masked(_told(cause or error))
        where = urlsplit(self.url).netloc.rpartition("@")[2]
        if isinstance(error, (httpx2.ConnectTimeout, httpx2.PoolTimeout)):
            what = f"can't be reached at {where} within {self._timeout:g} s"
        elif isinstance(
            error, (httpx2.ConnectError, httpx2.ProxyError, httpx2.UnsupportedProtocol)
        ):
            what = f"can't be reached at {where}: {why}"
        elif isinstance(error, httpx2.ReadTimeout):
            return HttpFailure("did not acknowledge what it was sent")
        elif isinstance(error, httpx2.LocalProtocolError):
            # its text quotes the header that h11 refused
            return HttpFailure("was sent a request that HTTP can't carry")
        else:
            return HttpFailure(f"broke the connection: {why}")
        return HttpFailure(what, unreachable=True)


class _Body:
    """A frame as a request body that tells when it has been written."""

    def __init__(self, frame: bytes, written: Callable[[], None] | None) -> None:
        self._frame = frame
        self._written = written

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._frame
        if self._written is not None:
            self._written()


def _client(headers: Mapping[str, str], timeout: float) -> httpx2.AsyncClient:
    import httpx2

    return httpx2.AsyncClient(
        headers=dict(headers),
        verify=_certificates(),
        timeout=httpx2.Timeout(None, connect=timeout),
        # no limit: an answer to a server's question must not wait behind the calls that caused it
        limits=httpx2.Limits(
            max_connections=None, max_keepalive_connections=100, keepalive_expiry=IDLE_EXPIRY
        ),
        follow_redirects=False,
    )


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust, as the environment says; read once, as that takes 20 ms."""
    import httpx2

    return httpx2.create_ssl_context()


def _unusable(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    return "" if usable else "the URL is no http or https URL"


def _secrets(url: str, headers: Mapping[str, str]) -> set[str]:
    """What must not be quoted. Words of fewer than four letters are no secrets."""
    try:
        parts = urlsplit(url)
        found = [
            parts.username or "",
            parts.password or "",
            *(v for _, v in parse_qsl(parts.query)),
        ]
    except ValueError:
        found = []
    for value in headers.values():
        found += [value, *value.split()]
    return {word for one in found for word in (one, unquote(one)) if len(word) >= 4}


def _redirected(method: str, url: str, response: httpx2.Response) -> str:
    """Where a redirect leads.

    Raises:
        HttpFailure: to another origin, or in a way that would turn a POST into a GET.
    """
    import httpx2

    old = httpx2.URL(url)
    try:
        new = old.join(response.headers["location"])
    except httpx2.InvalidURL:
        raise HttpFailure("redirects to something that is no URL") from None
    shown = str(new.copy_with(query=None, fragment=None, userinfo=b""))
    if (old.scheme, old.host, old.port) != (new.scheme, new.host, new.port):
        raise HttpFailure(
            f"redirects to {shown}, which is another origin; use that URL if it is the server's"
        )
    if method != "GET" and response.status_code not in (307, 308):
        raise HttpFailure(
            f"redirects to {shown} with status {response.status_code}, "
            "which would lose the message; use that URL"
        )
    return str(new)


def _told(error: Exception) -> str:
    """What an error says of itself, in a few words."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if isinstance(error, OSError) and text.startswith("Connect call failed"):
        # asyncio names the address there, but not the reason
        return os.strerror(error.errno or 0).lower()
    return str(text)


def _os_error(error: BaseException | None) -> OSError | None:
    """The system's own error below a client's error, if there is one."""
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, OSError) and error.strerror:
            return error
        if isinstance(error, BaseExceptionGroup):
            found = (_os_error(one) for one in error.exceptions)
            return next((one for one in found if one is not None), None)
        error = error.__cause__ or error.__context__
        seen += 1
    return None
