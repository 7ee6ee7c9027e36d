"""What a self-contained request must say before it is served (specification 2026-07-28).

One rung after another; the first that breaks decides the error. Whether a method exists is no rung:
that is known where it would be carried out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolpick.engine.exchange import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY
from toolpick.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    RpcError,
)
from toolpick.front import headers as head
from toolpick.front.refusal import Refused
from toolpick.model import LEGACY_VERSIONS, MODERN_VERSIONS
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from toolpick.front.headers import Headers

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}


@dataclass(frozen=True, slots=True)
class Declared:
    """What a request says of its client; ``capabilities`` and ``client`` are JSON."""

    version: str
    capabilities: bytes
    client: bytes


def is_modern(message: env.Envelope, headers: Headers) -> bool:
    """Whether a message belongs to the modern era.

    The version header decides; an unknown version is a modern client's, who gets a list of those
    that are served. Without the header, and with a legacy one outside of a session, the body is
    asked.
    """
    said = headers.text(head.VERSION)
    if said is not None and said not in LEGACY_VERSIONS:
        return True
    if headers.raw(head.SESSION) or VERSION_KEY.encode() not in bytes(message.params):
        return False
    version = env.text(_meta(message).get(VERSION_KEY))
    return version is not None and version not in LEGACY_VERSIONS


def climb(message: env.Envelope, headers: Headers) -> Declared:
    """Check a request.

    Raises:
        Refused: with the status and the code that the specification assigns.
    """
    meta = _meta(message)
    _check_repeated(headers)
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise _refused(INVALID_PARAMS, f"Invalid params: _meta lacks {', '.join(missing)}")
    version = env.text(meta[VERSION_KEY])
    if version is None or headers.text(head.VERSION) != version:
        raise _mismatch("MCP-Protocol-Version", "the protocol version in _meta")
    if headers.text(head.METHOD) != message.method:
        raise _mismatch("Mcp-Method", "the method")
    _check_name(message, headers)
    check_version(version)
    client = meta.get(CLIENT_KEY, b"{}")
    return Declared(version, bytes(meta[CAPABILITIES_KEY]), bytes(client))


def check_version(version: str | None) -> None:
    """Check that a version of the modern era is served.

    Raises:
        Refused: it isn't; the error lists those that are.
    """
    if version not in MODERN_VERSIONS:
        data = {"supported": list(MODERN_VERSIONS), "requested": version or ""}
        text = "Unsupported protocol version"
        raise Refused(400, text, UNSUPPORTED_VERSION, data=data)


def status_of(frame: bytes) -> int:
    """The HTTP status of a final frame that is an error."""
    return _STATUS.get(env.rpc_error(env.decode(frame).error).code, 200)


def _meta(message: env.Envelope) -> env.Members:
    try:
        return env.members(env.members(message.params).get("_meta", b""))
    except RpcError:
        return {}


def _check_repeated(headers: Headers) -> None:
    # whoever reads the first and whoever reads the last copy would disagree
    for name in (head.VERSION, head.METHOD, head.NAME):
        if len(headers.all(name)) > 1:
            text = f"Header mismatch: {name.decode()} appears more than once"
            raise _refused(HEADER_MISMATCH, text)


def _check_name(message: env.Envelope, headers: Headers) -> None:
    key = _NAMED.get(message.method)
    if key is None:
        return
    named = bytes(env.members(message.params).get(key, b"null"))
    if named == b"null":
        return
    name = env.text(named)
    if name is None or head.unwrapped(headers.text(head.NAME)) != name:
        raise _mismatch("Mcp-Name", f"the param {key!r}")


def _mismatch(header: str, body: str) -> Refused:
    text = f"Header mismatch: {header} must be {body}"
    return _refused(HEADER_MISMATCH, text)


def _refused(code: int, text: str) -> Refused:
    return Refused(_STATUS[code], text, code)
