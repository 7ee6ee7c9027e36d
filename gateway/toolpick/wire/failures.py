"""Failures of speaking HTTP, in words that may be shown: no header value, no secret of a URL.

Their texts continue a sentence that begins with the server's name.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from toolpick.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Mapping

EXCERPT = 200
"""Characters of a body that are quoted."""
EXCERPT_READ = 65_536
"""Bytes of a body that are read in order to quote it."""
PAGE_READ = 16_384
"""Characters of a web page that are searched for text: the search may take their square."""
SHORTEST_SECRET = 4
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)


class HttpFailure(GatewayError):
    """A request that got no usable response. ``unreachable``: no connection came about."""

    def __init__(self, what: str, *, unreachable: bool = False) -> None:
        """``what`` continues the sentence that begins with the server's name."""
        super().__init__(what)
        self.unreachable = unreachable


class Mask:
    """Hides the values of headers, and the user, password and parameters of a URL."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """Values of fewer than ``SHORTEST_SECRET`` characters are no secrets."""
        self._secrets = sorted(_secrets(url, headers), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without any of them."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def excerpt(self, body: bytes) -> str:
        """The beginning of a body, on one line; of a web page the text."""
        text = body[:EXCERPT_READ].decode("utf-8", "replace").lstrip()
        if text.startswith("<"):
            text = _TAGS.sub(" ", text[:PAGE_READ])
        words = text.split()
        return self(" ".join(words))[:EXCERPT]


def _secrets(url: str, headers: Mapping[str, str]) -> set[str]:
    parts = urlsplit(url)
    found = [parts.username or "", parts.password or "", *(v for _, v in parse_qsl(parts.query))]
    for value in headers.values():
        found += [value, *value.split()]
    either = {word for one in found for word in (one, unquote(one))}
    return {word for word in either if len(word) >= SHORTEST_SECRET}


def failure(error: Exception, where: str, seconds: float, mask: Mask) -> HttpFailure:
    """What an error of the client means; ``where`` it was to connect to, and within how long."""
    import httpx2

    why = mask(_told(_os_error(error) or error))
    if isinstance(error, httpx2.ConnectTimeout):
        return HttpFailure(f"can't be reached at {where} within {seconds:g} s", unreachable=True)
    if isinstance(error, (httpx2.ConnectError, httpx2.ProxyError, httpx2.UnsupportedProtocol)):
        return HttpFailure(f"can't be reached at {where}: {why}", unreachable=True)
    if isinstance(error, httpx2.ReadTimeout):
        return HttpFailure("did not acknowledge a message")
    if isinstance(error, (httpx2.LocalProtocolError, ValueError)):
        # its text quotes the header that was refused
        return HttpFailure("was sent a request that HTTP can't carry")
    return HttpFailure(f"broke the connection: {why}")


def _told(error: Exception) -> str:
    """What an error says of itself, in a few words."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if isinstance(error, OSError) and text.startswith("Connect call failed"):
        # asyncio names the address there, but not the reason
        return os.strerror(error.errno or 0).lower()
    return str(text)


def _os_error(error: BaseException | None) -> OSError | None:
    """The system's own error below a client's error, if there is one."""
    if error is None or (isinstance(error, OSError) and error.strerror):
        return error
    if isinstance(error, BaseExceptionGroup):
        found = [one for one in map(_os_error, error.exceptions) if one is not None]
        return found[0] if found else None
    return _os_error(error.__cause__ or error.__context__)
