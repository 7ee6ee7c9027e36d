"""Who may talk to the gateway: Host and Origin against DNS rebinding, a bearer token, CORS.

A page in a browser can make the browser send requests to a server on the same machine, under any
host name that it controls. So a gateway on a loopback address answers only to loopback names, and
to pages that were served from there. On any other address a bearer token is required.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolpick.errors import GatewayError
from toolpick.front.refusal import Refused
from toolpick.front.request import CLOSE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from toolpick.front.headers import Headers, Pairs

_REALM = b'Bearer realm="toolpick"'
_EXPOSED = b"mcp-session-id, mcp-protocol-version, www-authenticate"
_ALLOWED = (
    b"content-type, accept, authorization, last-event-id, mcp-session-id, mcp-protocol-version, "
    b"mcp-method, mcp-name, x-toolpick-query"
)
METHODS = b"GET, POST, DELETE, OPTIONS"
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:]+))(?::[0-9]{1,5})?")
_SALT = secrets.token_bytes(16)


@dataclass(frozen=True, slots=True)
class Guard:
    """The checks that every request passes before anything of it is read."""

    local: bool
    """Bound to a loopback address: only loopback names and ``hosts`` are answered."""
    tokens: tuple[tuple[bytes, str], ...] = field(default=(), repr=False)
    """What clients must present one of, each with the profile that it is for; empty for none.

    The profile of a token that opens every profile is "".
    """
    hosts: frozenset[str] = frozenset()
    """Further names under which clients reach this gateway, without a port."""
    origins: frozenset[str] = frozenset()
    """Further origins of pages that may talk to it."""

    def check_host(self, headers: Headers) -> None:
        """Check where a request thinks that it goes, and which page sent it.

        Raises:
            Refused: a foreign host (421) or origin (403).
        """
        if len(headers.all(b"host")) > 1:
            # whoever reads the first and whoever reads the last one would disagree
            raise Refused(400, "the Host header appears more than once", headers=[CLOSE])
        host = headers.raw(b"host")
        if not self._host_fits(host):
            text = "the Host header names another server than this one"
            raise Refused(421, text, headers=[CLOSE])
        origin = headers.raw(b"origin")
        if origin and not self._origin_fits(origin, host):
            raise Refused(403, "pages of this origin may not use this server", headers=[CLOSE])

    def check_token(self, headers: Headers) -> str:
        """The profile that a request's bearer token is for, "" for one that opens all.

        Where no token is set at all, everybody has one that opens all. Takes as long for every
        token.

        Raises:
            Refused: it is missing or wrong (401).
        """
        if not self.tokens:
            return ""
        scheme, _, token = headers.raw(b"authorization").partition(b" ")
        given = token.strip() if scheme.lower() == b"bearer" else b""
        owners = [owner for known, owner in self.tokens if hmac.compare_digest(given, known)]
        if owners:
            return owners[0]
        challenge = _REALM + (b', error="invalid_token"' if token else b"")
        text = "a bearer token is required; send the header Authorization: Bearer TOKEN"
        raise Refused(401, text, headers=[(b"www-authenticate", challenge), CLOSE])

    def cors(self, headers: Headers) -> Pairs:
        """What lets the page that sent a checked request read the response."""
        origin = headers.raw(b"origin")
        if not origin:
            return []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _EXPOSED),
            (b"vary", b"origin"),
        ]

    def _host_fits(self, host: bytes) -> bool:
        if not self.local and not self.hosts:
            return True
        return (self.local and _names_loopback(host)) or _host_name(host) in self.hosts

    def _origin_fits(self, origin: bytes, host: bytes) -> bool:
        if origin.decode("latin-1").rstrip("/").lower() in self.origins:
            return True
        page = _host_of_page(origin)
        return bool(page) and (_names_loopback(page) or (not self.local and page == host.lower()))


def guard(
    host: str,
    token: str | None,
    hosts: Collection[str] = (),
    origins: Collection[str] = (),
    profile_tokens: Mapping[str, str] | None = None,
) -> Guard:
    """The checks for a gateway that listens on ``host``; ``profile_tokens`` go by profile.

    Raises:
        GatewayError: ``host`` can be reached from other machines and there is no token.
    """
    local = _is_loopback(host)
    tokens = [(token or "", ""), *((each, name) for name, each in (profile_tokens or {}).items())]
    accepted = tuple((each.encode(), name) for each, name in tokens if each)
    if not local and not accepted:
        raise GatewayError(
            f"http: {host!r} can be reached from other machines; set token in [gateway], or listen "
            "on 127.0.0.1"
        )
    names = frozenset(name.lower() for name in hosts)
    pages = frozenset(origin.rstrip("/").lower() for origin in origins)
    return Guard(local, accepted, names, pages)


def credential(headers: Headers) -> bytes:
    """Stands for what a client presented, without being it."""
    return hashlib.blake2b(headers.raw(b"authorization"), digest_size=16, key=_SALT).digest()


def preflight(headers: Headers) -> Pairs:
    """What a browser is told that asks what a page may send; it may repeat arguments in headers."""
    asked = headers.raw(b"access-control-request-headers").lower()
    params = [name.strip() for name in asked.split(b",") if name.strip().startswith(b"mcp-param-")]
    return [
        (b"allow", METHODS),
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", b", ".join((_ALLOWED, *params[:50]))),
        (b"access-control-max-age", b"600"),
    ]


@lru_cache(maxsize=64)
def _names_loopback(host: bytes) -> bool:
    return _is_loopback(_host_name(host))


def _host_name(host: bytes) -> str:
    """The name in a Host header, without the port and without brackets; "" where it is none."""
    found = _HOST.fullmatch(host.decode("latin-1").lower())
    return (found[1] or found[2]) if found else ""


def _is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=64)
def _host_of_page(origin: bytes) -> bytes:
    """Host and port of an http or https origin; empty for any other."""
    try:
        parts = urlsplit(origin.decode("latin-1").lower())
    except ValueError:
        return b""
    return parts.netloc.encode("latin-1") if parts.scheme in ("http", "https") else b""
