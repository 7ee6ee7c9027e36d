"""What selectors see of a catalog's tools, read once per definition."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from toolpick_selectors.contract import Parameter, Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpick.model import ToolEntry

DESCRIPTION_ROOM = 20_000
"""Most characters of a description that a selector sees."""
PARAMETERS = 300
"""Most parameters of a tool that a selector sees."""
PARAMETER_ROOM = 1_000
"""Most characters of a parameter's name or description that it sees."""


class _Shown(msgspec.Struct):
    title: Any = None
    description: Any = None
    inputSchema: Any = None
    annotations: Any = None


_shown = msgspec.json.Decoder(_Shown)


class ToolViews:
    """Keeps one view per definition, for as long as the tool is listed."""

    def __init__(self) -> None:
        """Empty."""
        self._kept: dict[str, tuple[bytes, Tool]] = {}

    def of(self, entries: Iterable[ToolEntry]) -> list[Tool]:
        """The views of these entries, in their order; others are forgotten."""
        kept: dict[str, tuple[bytes, Tool]] = {}
        for entry in entries:
            known = self._kept.get(entry.exposed)
            kept[entry.exposed] = (
                known if known and known[0] == entry.raw else (entry.raw, view(entry))
            )
        self._kept = kept
        return [tool for _, tool in kept.values()]


def view(entry: ToolEntry) -> Tool:
    """What a selector sees of one tool."""
    try:
        shown = _shown.decode(entry.raw)
    except (msgspec.DecodeError, RecursionError):
        return Tool(entry.exposed, entry.name, entry.server)
    title = _text(shown.title)
    if not title and isinstance(shown.annotations, dict):
        title = _text(shown.annotations.get("title"))
    return Tool(
        entry.exposed,
        entry.name,
        entry.server,
        title,
        _text(shown.description)[:DESCRIPTION_ROOM],
        tuple(_parameters(shown.inputSchema)),
    )


def _parameters(schema: Any) -> list[Parameter]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return []
    return [
        Parameter(name[:PARAMETER_ROOM], _described(child))
        for name, child in islice(properties.items(), PARAMETERS)
    ]


def _described(child: Any) -> str:
    return _text(child.get("description"))[:PARAMETER_ROOM] if isinstance(child, dict) else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
