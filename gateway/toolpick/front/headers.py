"""Request headers: looking them up, and what MCP writes into them.

Knows header values only; what a wrong one leads to is decided elsewhere.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION = b"mcp-protocol-version"
METHOD = b"mcp-method"
NAME = b"mcp-name"
SESSION = b"mcp-session-id"
QUERY = b"x-toolpick-query"

Pairs = list[tuple[bytes, bytes]]
_JSON = frozenset(("application/json", "application/*", "*/*"))
_EVENTS = frozenset(("text/event-stream", "text/*", "*/*"))
_USUAL_ACCEPT = b"application/json, text/event-stream"


class Headers:
    """Header lines with lower-case names, as ASGI has them. Of repeated ones the last counts."""

    __slots__ = ("_last", "_pairs")

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        """``pairs`` in the order of the request."""
        self._pairs = list(pairs)
        self._last = dict(self._pairs)

    def raw(self, name: bytes) -> bytes:
        """The value without surrounding whitespace; empty when it is missing, too."""
        return self._last.get(name, b"").strip()

    def text(self, name: bytes) -> str | None:
        """The value, or None when it is missing."""
        found = self._last.get(name)
        return None if found is None else found.strip().decode("latin-1")

    def all(self, name: bytes) -> list[str]:
        """Every value of a header."""
        return [value.strip().decode("latin-1") for key, value in self._pairs if key == name]


def unwrapped(value: str | None) -> str | None:
    """What a header says whose value may be wrapped as ``=?base64?...?=``; None when it is damaged.

    Only canonical base64 of UTF-8 counts: two spellings of one value would let an intermediary and
    the server read different things (specification 2026-07-28, transports, value encoding).
    """
    if value is None or not (
        value.startswith("=?base64?") and value.endswith("?=") and len(value) > 10
    ):
        return value
    payload = value[9:-2]
    try:
        found = base64.b64decode(payload, validate=True)
        if base64.b64encode(found).decode() != payload:
            return None
        return found.decode()
    except (binascii.Error, ValueError):
        return None


def accepts(value: bytes) -> tuple[bool, bool]:
    """Whether a client takes JSON, and whether it takes event streams. No header accepts both."""
    if value == _USUAL_ACCEPT or not value:
        return True, True
    kinds = {part.partition(";")[0].strip() for part in value.decode("latin-1").lower().split(",")}
    return bool(kinds & _JSON), bool(kinds & _EVENTS)


def is_json(content_type: bytes) -> bool:
    """Whether a body is said to be JSON."""
    return content_type.partition(b";")[0].strip().lower() == b"application/json"


def query(value: bytes) -> str:
    """The query that a header carries, in UTF-8 as it is or wrapped; damaged bytes are left out."""
    return unwrapped(value.decode("utf-8", "ignore")) or ""
