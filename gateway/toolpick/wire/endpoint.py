"""One HTTP address that a server is spoken to at.

Redirects are followed within the origin only, as headers hold credentials. Proxies and certificates
come from the environment. Whatever goes wrong is a ``HttpFailure``. Knows nothing of JSON-RPC.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolpick import __version__
from toolpick.wire import headers as h
from toolpick.wire.failures import EXCERPT_READ, HttpFailure, Mask, failure
from toolpick.wire.wire import MAX_FRAME

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Mapping

    import httpx2

CONNECT_TIMEOUT = 10.0
"""Seconds that connecting may take."""
NOTE_TIMEOUT = 10.0
"""Seconds that a server may take to acknowledge what needs no answer."""
IDLE_EXPIRY = 4.0
"""Seconds that an idle connection is kept: uvicorn and Node end theirs after 5."""
LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")
"""Where no proxy is asked: it could not reach this machine, whatever the environment says."""
REDIRECTS = 3
"""Redirects that are followed, one after the other."""
KEEP_ALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))
"""After how much silence on a stream the system asks whether the other end lives (seconds), how
often, and how many times in vain before the connection breaks."""


class Endpoint:
    """A client for one URL. ``open`` it once, ``close`` it at the end."""

    def __init__(
        self, url: str, headers: Mapping[str, str], timeout: float = CONNECT_TIMEOUT
    ) -> None:
        """``headers`` go with every request; ``timeout`` is for connecting, in seconds."""
        self.url = url
        self._headers = dict(headers)
        self._timeout = timeout
        self._mask: Mask | None = None
        self._client: httpx2.AsyncClient | None = None

    async def open(self) -> None:
        """Prepare the client; nothing is sent.

        Raises:
            OSError: the URL or the headers can't be used.
        """
        wrong = _unusable(self.url) or h.unusable(self._headers)
        if wrong:
            raise OSError(wrong)
        self._mask = Mask(self.url, self._headers)
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
        if frame is None:
            body = None
        else:
            headers = {**headers, "content-length": str(len(frame))}
            body = _Body(frame, written)
        for _ in range(REDIRECTS + 1):
            response = await self._send_once(method, target, headers, body, patience)
            if not response.has_redirect_location:
                if body is not None and not url:
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
        body: _Body | None,
        patience: float | None,
    ) -> httpx2.Response:
        import httpx2

        if self._client is None:
            raise HttpFailure("is not connected", unreachable=True)
        timeout = {"connect": self._timeout, "read": patience, "write": None, "pool": None}
        try:
            request = self._client.build_request(
                method, _parsed(url), headers=headers, content=body, extensions={"timeout": timeout}
            )
            return await self._client.send(request, stream=True)
        except (httpx2.RequestError, httpx2.InvalidURL, OSError, ValueError) as error:
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

    async def body(self, response: httpx2.Response) -> bytes:
        """The whole body.

        Raises:
            HttpFailure: it ended too early, or is larger than ``MAX_FRAME``.
        """
        chunks: list[bytes] = []
        size = 0
        async for chunk in self.chunks(response):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_FRAME:
                raise HttpFailure(f"sent a message of more than {MAX_FRAME} bytes")
        return b"".join(chunks)

    async def error_body(self, response: httpx2.Response) -> bytes:
        """The body of an error response, as far as there is one; whole only when it is JSON."""
        limit = MAX_FRAME if "json" in response.headers.get("content-type", "") else EXCERPT_READ
        chunks: list[bytes] = []
        size = 0
        with contextlib.suppress(HttpFailure):
            async for chunk in self.chunks(response):
                chunks.append(chunk)
                size += len(chunk)
                if size > limit:
                    break
        return b"".join(chunks)

    def excerpt(self, body: bytes) -> str:
        """The beginning of a body, on one line, fit to be shown."""
        return self._mask.excerpt(body) if self._mask is not None else ""

    def keep_watch(self, response: httpx2.Response) -> None:
        """Have the system notice when the other end of a long stream is gone."""
        stream = response.extensions.get("network_stream")
        sock = stream.get_extra_info("socket") if stream is not None else None
        if sock is None:
            return
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, number in KEEP_ALIVE:
                if hasattr(socket, name):
                    sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), number)

    def _failure(self, error: Exception) -> HttpFailure:
        where = urlsplit(self.url).netloc.rpartition("@")[2]
        assert self._mask is not None
        return failure(error, where, self._timeout, self._mask)


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
        headers={"user-agent": f"toolpick/{__version__}"} | _lower(headers),
        verify=_certificates(),
        mounts=dict.fromkeys(LOOPBACK),
        timeout=httpx2.Timeout(None, connect=timeout),
        # no limit: an answer to a server's question must not wait behind the calls that caused it
        limits=httpx2.Limits(
            max_connections=None, max_keepalive_connections=100, keepalive_expiry=IDLE_EXPIRY
        ),
        follow_redirects=False,
    )


@functools.lru_cache(64)
def _parsed(url: str) -> httpx2.URL:
    """A URL as the client wants it; parsing it for each request would cost a tenth of a call."""
    import httpx2

    return httpx2.URL(url)


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust, as the environment says; read once, as that takes 20 ms."""
    import httpx2

    return httpx2.create_ssl_context()


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _unusable(url: str) -> str:
    """What is wrong with a URL, without quoting it; "" when nothing is."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    return "" if usable else "the URL is no http or https URL"


def _redirected(method: str, url: str, response: httpx2.Response) -> str:
    """Where a redirect leads.

    Raises:
        HttpFailure: to another origin, or in a way that would turn a POST into a GET.
    """
    import httpx2

    old = _parsed(url)
    try:
        new = old.join(response.headers["location"])
    except httpx2.InvalidURL:
        raise HttpFailure("redirects to something that is no URL") from None
    shown = str(new.copy_with(query=None, fragment=None, userinfo=b""))
    if (old.scheme, old.host, old.port) != (new.scheme, new.host, new.port):
        what = f"redirects to {shown}, which is another origin; use that URL if it is the server's"
        raise HttpFailure(what)
    if method != "GET" and response.status_code not in (307, 308):
        status = response.status_code
        what = f"redirects to {shown} with status {status}, which loses the message; use that URL"
        raise HttpFailure(what)
    return str(new)
