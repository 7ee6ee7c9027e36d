"""What the era of self-contained requests asks of every request and of every result.

Source: the MCP specification, revision 2026-07-28, basic/index and server/utilities/caching.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.downstream.greeting import OURSELVES
from toolpick.engine.exchange import CAPABILITIES_KEY, SERVER_KEY, VERSION_KEY
from toolpick.errors import INTERNAL_ERROR, INVALID_PARAMS, UNSUPPORTED_VERSION, RpcError
from toolpick.model import MODERN_VERSIONS
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from toolpick.engine.exchange import Exchange

_STAMP = b'"_meta":{%b:%b}' % (env.encode(SERVER_KEY), bytes(OURSELVES))
PRIVATE = b'"ttlMs":0,"cacheScope":"private"'
"""Our lists depend on who asks and what for, so nobody may share or keep them."""


def check(exchange: Exchange) -> None:
    """Hold a modern request's ``_meta`` against the specification.

    Raises:
        RpcError: the version is missing or not spoken here, or the capabilities are missing.
    """
    version = env.text(exchange.meta.get(VERSION_KEY, b""))
    if version is None:
        raise RpcError(INVALID_PARAMS, f"Invalid params: _meta[{VERSION_KEY!r}] is missing")
    if version not in MODERN_VERSIONS:
        raise unsupported(version)
    if bytes(exchange.meta.get(CAPABILITIES_KEY, b""))[:1] != b"{":
        raise RpcError(INVALID_PARAMS, f"Invalid params: _meta[{CAPABILITIES_KEY!r}] is missing")


def unsupported(version: str) -> RpcError:
    """The error for a version that is not spoken here, naming those that are."""
    text = f"Unsupported protocol version: {version}"
    body = {
        "code": UNSUPPORTED_VERSION,
        "message": text,
        "data": {"supported": list(MODERN_VERSIONS), "requested": version},
    }
    return RpcError(UNSUPPORTED_VERSION, text, env.encode(body))


def complete(body: bytes) -> bytes:
    """A legacy server's result as the modern era wants it; its bytes stay as they are.

    Raises:
        RpcError: it is no object.
    """
    if body[:1] != b"{":
        raise RpcError(INTERNAL_ERROR, "a result that is no object")
    if b'"resultType"' in body:
        members = env.members(body)
        if "resultType" in members:
            return body
    rest = body[1:]
    return b'{"resultType":"complete"%b%b' % (b"" if rest.lstrip()[:1] == b"}" else b",", rest)


def ours(members: bytes, *, cacheable: bool = False) -> bytes:
    """A result that we make ourselves: its members as JSON without braces, may be empty."""
    parts = [b'"resultType":"complete"', *([members] if members else [])]
    if cacheable:
        parts.append(PRIVATE)
    return b"{%b,%b}" % (b",".join(parts), _STAMP)


def cacheable(body: bytes) -> bytes:
    """A server's result of a kind that must carry cache hints, with hints where it has none."""
    members = env.members(body)
    if "ttlMs" in members and "cacheScope" in members:
        return body
    if env.text(members.get("resultType", b"")) == "input_required":
        return body
    members.setdefault("ttlMs", env.raw(0))
    members.setdefault("cacheScope", env.raw("private"))
    return env.encode(members)


def plain(body: bytes) -> bytes:
    """A modern server's result as a legacy client wants it: without what its era does not know."""
    members = env.members(body)
    dropped = [members.pop(key, None) for key in ("resultType", "ttlMs", "cacheScope")]
    meta = members.get("_meta")
    if meta is not None:
        kept = {
            key: value
            for key, value in env.members(meta).items()
            if not key.startswith("io.modelcontextprotocol/")
        }
        if kept:
            members["_meta"] = env.raw(kept)
        else:
            members.pop("_meta")
        return env.encode(members)
    return env.encode(members) if any(item is not None for item in dropped) else body
