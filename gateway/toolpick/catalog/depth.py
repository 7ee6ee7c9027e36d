"""How deeply a definition may be nested, and what becomes of what is deeper. Knows no schemas."""

from __future__ import annotations

from typing import Any

LEVELS = 100
"""Deepest nesting of a definition as JSON: parsers of some clients give up at 128."""


def cut_deep(value: Any, levels: int) -> bool:
    """Empty what begins more than ``levels`` levels below, in place; whether there was anything.

    ``value`` is on the first level. A list there keeps its length, since combinators must not be
    empty; an object without members accepts anything where it is a schema.
    """
    level = [value]
    for _ in range(levels - 1):
        level = [child for node in level for _, child in _inner(node)]
    found = False
    for node in level:
        for key, child in _inner(node):
            if isinstance(child, dict):
                node[key] = {}
            else:
                node[key] = [_emptied(one) for one in child]
            found = found or node[key] != child
    return found


def _inner(node: Any) -> list[tuple[Any, Any]]:
    """The objects and lists in an object or a list, with their keys or positions."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    return [(key, child) for key, child in items if isinstance(child, (dict, list))]


def _emptied(value: Any) -> Any:
    return type(value)() if isinstance(value, (dict, list)) else value
