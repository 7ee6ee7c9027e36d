"""Mends JSON Schemas where the meaning is certain, and refuses them where it is not.

For lists that strict clients and model APIs accept whole: one word that no draft of JSON Schema
knows makes some of them refuse every tool. Legal 2020-12 is never touched, boolean schemas
included. Knows no tools; checks only what is listed here, and is no validator.

Walks with a stack of its own, so no depth of nesting can exhaust Python's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SCHEMA_LEVELS = 45
"""Deepest nesting of schemas in a schema; each takes two levels of JSON (see ``depth``)."""
PLACE = 200
"""Characters of a place after which no more is added to it."""
TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})

_WORDS = {
    "array": "list sequence tuple set vec",
    "boolean": "bool",
    "integer": "int long int32 int64 uint short",
    "null": "none nil nonetype",
    "number": "float double decimal float32 float64",
    "object": "dict map mapping record struct",
    "string": "str text char varchar",
}
_CERTAIN = {word: kind for kind, words in _WORDS.items() for word in (kind, *words.split())}
_ANYTHING = frozenset({"any", "mixed", "*"})

_MAPS = (
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
)
_SINGLES = (
    *("items", "additionalProperties", "additionalItems", "contains", "propertyNames", "not", "if"),
    *("then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCALARS = (
    *(
        "type",
        "required",
        "enum",
        "title",
        "description",
        "format",
        "pattern",
        "minimum",
        "maximum",
    ),
    *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems"),
    *("maxItems", "uniqueItems", "minProperties", "maxProperties", "minContains", "maxContains"),
    *("readOnly", "writeOnly", "deprecated", "contentEncoding", "contentMediaType", "$ref", "$id"),
    *("$schema", "$anchor", "$comment", "dependentRequired"),
)
_NEVER_NULL = frozenset((*_MAPS, *_SINGLES, *_LISTS, *_SCALARS))

Schema = dict[str, Any]


class UnusableSchema(Exception):
    """A schema whose meaning is not certain; the message says where and what."""


@dataclass(slots=True)
class _Walk:
    """What is still to be visited: a schema, its place, and how many it lies in."""

    stack: list[tuple[Schema, str, int]]
    notes: list[str] = field(default_factory=list)
    level: int = 0


def mend_schema(schema: Schema, place: str) -> list[str]:
    """Mend a schema in place and say what was done, one phrase each; none when nothing was.

    ``place`` is what the phrases call the root.

    Raises:
        UnusableSchema: something in it has no certain meaning.
    """
    walk = _Walk([(schema, place, 1)])
    while walk.stack:
        node, path, walk.level = walk.stack.pop()
        _drop_nulls(node, path, walk.notes)
        _mend_type(node, path, walk.notes)
        _mend_bounds(node, path, walk.notes)
        _mend_maps(node, path, walk)
        _mend_singles(node, path, walk)
        _mend_lists(node, path, walk)
        _mend_required(node, path, walk.notes)
    return walk.notes


def certain_type(word: object) -> str | None:
    """The JSON Schema type that a word means, "" for any type, None where it is not certain."""
    if word is None:
        return "null"
    if not isinstance(word, str):
        return None
    low = word.strip().lower()
    return "" if low in _ANYTHING else _CERTAIN.get(low)


def say(value: object) -> str:
    """A value in few words, for a remark; bounded whatever its size or depth."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        return "a list"
    return f"{value!r:.60}"


def _drop_nulls(node: Schema, path: str, notes: list[str]) -> None:
    for key in [key for key, value in node.items() if value is None and key in _NEVER_NULL]:
        del node[key]
        notes.append(f"{path}.{key} is null; left out")


def _mend_type(node: Schema, path: str, notes: list[str]) -> None:
    was = node.get("type")
    if "type" not in node or (isinstance(was, str) and was in TYPES):
        return
    if isinstance(was, str) and was.endswith("[]") and (kind := certain_type(was[:-2])):
        node.setdefault("items", {"type": kind})
        node["type"] = "array"
        notes.append(f"{path}.type {say(was)} listed as an array of {kind}")
        return
    words = was if isinstance(was, list) else [was]
    kinds = [certain_type(word) for word in words]
    if not kinds or None in kinds:
        raise UnusableSchema(f"{path}.type is {say(was)}, which is no type of JSON Schema")
    distinct = list(dict.fromkeys(kinds))
    if distinct == was:
        return
    if "" in distinct:
        del node["type"]
        notes.append(f"{path}.type {say(was)} left out, since any type is allowed")
        return
    node["type"] = distinct if isinstance(was, list) else distinct[0]
    notes.append(f"{path}.type {say(was)} listed as {say(node['type'])}")


def _mend_bounds(node: Schema, path: str, notes: list[str]) -> None:
    """Booleans at exclusiveMinimum and exclusiveMaximum, as draft 4 had them."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(node.get(exclusive), bool):
            strict = node.pop(exclusive)
            if strict and bound in node:
                node[exclusive] = node.pop(bound)
            notes.append(f"{path}.{exclusive} {strict!r} rewritten from draft 4")


def _mend_maps(node: Schema, path: str, walk: _Walk) -> None:
    for key in _MAPS:
        if key not in node:
            continue
        if node[key] == []:  # how PHP writes an empty object
            node[key] = {}
            walk.notes.append(f"{path}.{key} [] listed as {{}}")
        children = node[key]
        if not isinstance(children, dict):
            raise UnusableSchema(f"{path}.{key} is {say(children)}, not an object")
        if key == "properties":
            _hoist_required(node, children, path, walk.notes)
        for name, child in children.items():
            if key == "dependencies" and isinstance(child, list):
                continue
            children[name] = _sub(child, _below(path, f".{key}.{name}"), walk)


def _hoist_required(node: Schema, children: Schema, path: str, notes: list[str]) -> None:
    """Draft 3 said ``required: true`` at the property."""
    required: list[str] = []
    for name, child in children.items():
        if isinstance(child, dict) and isinstance(child.get("required"), bool):
            flag = child.pop("required")
            required += [name] if flag else []
            place = _below(path, f".properties.{name}")
            notes.append(f"{place}.required {flag!r} moved to {path}.required")
    names = node.setdefault("required", []) if required else None
    if isinstance(names, list):
        known = {name for name in names if isinstance(name, str)}
        names.extend(name for name in required if name not in known)


def _mend_singles(node: Schema, path: str, walk: _Walk) -> None:
    for key in _SINGLES:
        if key not in node or isinstance(node[key], bool):
            continue
        child = node[key]
        if key == "items" and isinstance(child, list):
            for index, item in enumerate(child):
                child[index] = _sub(item, _below(path, f".items[{index}]"), walk)
        else:
            node[key] = _sub(child, _below(path, f".{key}"), walk)


def _mend_lists(node: Schema, path: str, walk: _Walk) -> None:
    for key in _LISTS:
        if key not in node:
            continue
        branches = node[key]
        if not isinstance(branches, list):
            raise UnusableSchema(f"{path}.{key} is {say(branches)}, not a list")
        if not branches:
            del node[key]
            walk.notes.append(f"{path}.{key} is empty; left out")
        for index, branch in enumerate(branches):
            branches[index] = _sub(branch, _below(path, f".{key}[{index}]"), walk)


def _below(path: str, step: str) -> str:
    """The place of something inside another; what is deep or has a long name is not told whole."""
    if len(path) > PLACE:
        return path
    return f"{path}{step}" if len(step) <= PLACE else f"{path}{step[:PLACE]}…"


def _sub(child: Any, path: str, walk: _Walk) -> Any:
    """A sub-schema, mended if need be and put on the stack to be walked."""
    if isinstance(child, bool):
        return child
    if child is None or child == []:
        walk.notes.append(f"{path} is {'null' if child is None else '[]'}; listed as {{}}")
        return {}
    if isinstance(child, str) and (kind := certain_type(child)) is not None:
        walk.notes.append(f"{path} {say(child)} listed as a schema of that type")
        return {"type": kind} if kind else {}
    if not isinstance(child, dict):
        raise UnusableSchema(f"{path} is {say(child)}, not a schema")
    if walk.level == SCHEMA_LEVELS and child:
        walk.notes.append(f"{path} is nested too deeply; listed as {{}}")
        return {}
    walk.stack.append((child, path, walk.level + 1))
    return child


def _mend_required(node: Schema, path: str, notes: list[str]) -> None:
    names = node.get("required", [])
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return
    if isinstance(names, str) and names:
        node["required"] = [names]
        notes.append(f"{path}.required {say(names)} listed as a list")
    elif isinstance(names, bool):
        del node["required"]
        notes.append(f"{path}.required {names!r} left out, since it names no argument")
    else:
        raise UnusableSchema(f"{path}.required is {say(names)}, not a list of names")
