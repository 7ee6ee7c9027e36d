"""A catalog as model APIs take it in a request, for people who call one themselves.

Sources: the types of the vendors' own clients (``anthropic`` 2.14, ``openai`` 3.57), and their
guides to tool search. A deferred tool takes no room in the prompt until the API's search finds it;
where nothing is deferred there is nothing to search.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from toolpick.model import ToolEntry

FORMATS = ("anthropic", "openai")
ABOUT = 300
"""Most characters that the names of a namespace's tools take in its description."""


def fragment(
    format: str,
    tools: Mapping[str, ToolEntry],
    shown: Collection[str],
    *,
    namespaces: bool = False,
) -> dict[str, Any]:
    """The ``tools`` of a request: those in ``shown`` at once, in that order, the others deferred.

    With ``namespaces`` the deferred tools of each server stand in a namespace of its own, where the
    format has such.
    """
    first = [tools[name] for name in shown if name in tools]
    rest = [entry for name, entry in tools.items() if name not in shown]
    if format == "anthropic":
        return {"tools": _anthropic(first, rest)}
    return {"tools": _openai(first, rest, namespaces=namespaces)}


def _anthropic(first: list[ToolEntry], rest: list[ToolEntry]) -> list[dict[str, Any]]:
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    return [
        *([search] if rest else []),
        *(_messages_tool(entry) for entry in first),
        *({**_messages_tool(entry), "defer_loading": True} for entry in rest),
    ]


def _messages_tool(entry: ToolEntry) -> dict[str, Any]:
    definition = json.loads(entry.raw)
    return {
        "name": entry.exposed,
        "description": _description(definition),
        "input_schema": definition["inputSchema"],
    }


def _openai(
    first: list[ToolEntry], rest: list[ToolEntry], *, namespaces: bool
) -> list[dict[str, Any]]:
    deferred = [{**_function(entry), "defer_loading": True} for entry in rest]
    if namespaces:
        deferred = _by_server(rest, deferred)
    search = [{"type": "tool_search"}] if rest else []
    return [*search, *map(_function, first), *deferred]


def _function(entry: ToolEntry) -> dict[str, Any]:
    definition = json.loads(entry.raw)
    return {
        "type": "function",
        "name": entry.exposed,
        "description": _description(definition),
        "parameters": definition["inputSchema"],
        "strict": False,
    }


def _by_server(entries: list[ToolEntry], functions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The functions of each server in a namespace, which the model sees in their place."""
    from toolpick.turns.excerpts import one_line

    grouped: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for entry, function in zip(entries, functions, strict=True):
        grouped.setdefault(entry.server, []).append((entry.name, function))
    return [
        {
            "type": "namespace",
            "name": server,
            "description": f"Tools of {server}: {one_line(', '.join(n for n, _ in pairs), ABOUT)}",
            "tools": [function for _, function in pairs],
        }
        for server, pairs in grouped.items()
    ]


def _description(definition: Mapping[str, Any]) -> str:
    return str(definition.get("description") or definition.get("title") or "")
