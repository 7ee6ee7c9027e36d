"""Writes a tool's arguments as a model reads them fastest: ``(id: string, limit?: integer = 10)``.

Knows JSON Schemas and nothing else. A ``?`` marks what is not required. References and nesting are
followed a few levels only, so recursive schemas end.
"""

from __future__ import annotations

from typing import Any

import msgspec

from toolpick.catalog.flat import flatten, needs_flattening
from toolpick.turns.excerpts import one_line

DEPTH = 3
VALUES = 6
VALUE_ROOM = 40
TYPE_ROOM = 200
NAME_ROOM = 64

Schema = dict[str, Any]


def signature(schema: Schema, room: int = 400) -> str:
    """The arguments of an input schema in at most about ``room`` characters, required first."""
    root = flattened(schema)
    parts: list[str] = []
    ordered = arguments(root)
    for index, (name, child, required) in enumerate(ordered):
        kind = one_line(_type(child, schema, DEPTH), TYPE_ROOM)
        part = f"{one_line(name, NAME_ROOM)}{'' if required else '?'}: {kind}{_default(child)}"
        room -= len(part) + 2
        if room < 0 and parts:
            parts.append(f"and {len(ordered) - index} more")
            break
        parts.append(part)
    return f"({', '.join(parts)})"


def arguments(root: Schema) -> list[tuple[str, Any, bool]]:
    """Name, schema and whether it is required, for each argument; required ones first."""
    properties = root.get("properties")
    if not isinstance(properties, dict):
        return []
    names = root.get("required")
    required = {name for name in names if isinstance(name, str)} if isinstance(names, list) else ()
    listed = [(name, child, name in required) for name, child in properties.items()]
    return sorted(listed, key=lambda argument: not argument[2])


def flattened(schema: Schema) -> Schema:
    """A schema whose root has all arguments."""
    return flatten(schema)[0] if needs_flattening(schema) else schema


def _type(child: Any, root: Schema, depth: int) -> str:
    if not isinstance(child, dict) or depth < 0:
        return "any"
    if "$ref" in child:
        return _type(_referred(child["$ref"], root), root, depth - 1)
    if isinstance(child.get("enum"), list):
        return _choices(child["enum"])
    if "const" in child:
        return _value(child["const"])
    for key in ("anyOf", "oneOf"):
        if isinstance(child.get(key), list):
            return _union([_type(branch, root, depth - 1) for branch in child[key][:VALUES]])
    kind = child.get("type")
    if isinstance(kind, list):
        return _union([_type({**child, "type": one}, root, depth) for one in kind])
    if kind == "array":
        item = _type(child.get("items"), root, depth - 1)
        return f"({item})[]" if " | " in item else f"{item}[]"
    if kind == "object" or "properties" in child:
        return _object(child, root, depth)
    return kind if isinstance(kind, str) else "any"


def _object(child: Schema, root: Schema, depth: int) -> str:
    inner = arguments(child)
    if not inner or depth < 2:
        return "object"
    shown = [
        f"{name}{'' if required else '?'}: {_type(schema, root, depth - 2)}"
        for name, schema, required in inner[:VALUES]
    ]
    return f"{{{', '.join(shown)}{', …' if len(inner) > VALUES else ''}}}"


def _choices(values: list[Any]) -> str:
    return _union([_value(value) for value in values[:VALUES]] + ["…"] * (len(values) > VALUES))


def _union(kinds: list[str]) -> str:
    telling = dict.fromkeys(kind for kind in kinds if kind != "any")
    if not telling.keys() - {"null"} and "any" in kinds:
        return "any"
    return " | ".join(telling)


def _value(value: Any) -> str:
    return one_line(msgspec.json.encode(value).decode(), VALUE_ROOM)


def _default(child: Any) -> str:
    if not isinstance(child, dict) or child.get("default") in (None, "", [], {}):
        return ""
    return f" = {_value(child['default'])}"


def _referred(reference: Any, root: Schema) -> Any:
    """What ``#/$defs/Name`` or a path like it points to, None for any other reference."""
    at: Any = root
    for part in str(reference).removeprefix("#/").split("/"):
        at = at.get(part) if isinstance(at, dict) else None
    return at
