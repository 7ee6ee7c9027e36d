"""The values that every room speaks of. All frozen; none does I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Era(StrEnum):
    """The two eras of the protocol: sessions with a handshake, or self-contained requests."""

    LEGACY = "legacy"
    MODERN = "modern"


LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)

META_TOOLS = ("search_tools", "call_tool")
"""The gateway's own tools, in listing order."""


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One tool of the catalog.

    ``exposed`` is the name that clients see, ``name`` the server's own. ``raw`` is the definition
    as it is listed: a JSON object in UTF-8 that carries the exposed name.
    """

    server: str
    name: str
    exposed: str
    raw: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PromptEntry:
    """One prompt of the catalog; fields as in ``ToolEntry``."""

    server: str
    name: str
    exposed: str
    raw: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """One resource or template; ``uri`` is the server's own, ``exposed`` what clients use."""

    server: str
    uri: str
    exposed: str
    raw: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a server listed: each list entry as the JSON it came in, garbage included."""

    tools: tuple[bytes, ...] = field(default=(), repr=False)
    prompts: tuple[bytes, ...] = field(default=(), repr=False)
    resources: tuple[bytes, ...] = field(default=(), repr=False)
    templates: tuple[bytes, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Query:
    """Text that says what a turn is about, and which source it was had from."""

    text: str
    source: str
    conversation: str = ""
