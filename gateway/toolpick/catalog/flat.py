"""Flattens a schema whose root is made of combinators, for model APIs that refuse those.

The flat form is an object whose ``properties`` hold every argument that any branch names,
described as the branches that name it do; whose ``required`` holds what every branch requires; and
words that say the rule that was lost. The server itself still checks each call. Below the root
nothing changes, but that a reference into what was taken away becomes a schema for anything.

Local references are followed to ``DEPTH`` levels and ``BRANCHES`` branches in all, so recursion and
bombs end; what lies beyond is left to the server.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import msgspec

from toolpick.catalog.words import describe_choice, describe_condition, describe_rule

DEPTH = 8
BRANCHES = 500
COMBINATORS = ("oneOf", "anyOf", "allOf", "not", "if", "then", "else", "$ref", "$dynamicRef")

Schema = dict[str, Any]
Variants = dict[bytes, Any]


@dataclass(slots=True)
class _Arguments:
    """What a branch says of the arguments: ``required`` None means that the branch can't be met."""

    properties: dict[str, Variants] = field(default_factory=dict)
    required: set[str] | None = field(default_factory=set)
    words: list[str] = field(default_factory=list)

    def name(self, name: str, *variants: Any) -> None:
        known = self.properties.setdefault(name, {})
        known.update((msgspec.json.encode(v), v) for v in variants)

    def absorb(self, more: _Arguments) -> None:
        for name, variants in more.properties.items():
            self.properties.setdefault(name, {}).update(variants)
        self.words.extend(more.words)

    def require(self, names: set[str] | None) -> None:
        if self.required is not None and names is not None:
            self.required |= names


def needs_flattening(schema: Schema) -> bool:
    """Whether the root has a combinator or a reference."""
    return any(key in schema for key in COMBINATORS)


def flatten(schema: Schema) -> tuple[Schema, str]:
    """The flat form of a schema, and the lost rule in words ("" when nothing is lost)."""
    found = _Collector(schema).collect(schema, DEPTH)
    own = schema.get("properties")
    own = own if isinstance(own, dict) else {}
    dropped = {*COMBINATORS, "required", "unevaluatedProperties"}
    flat = {key: value for key, value in schema.items() if key not in dropped}
    flat["type"] = "object"
    flat["properties"] = {
        name: _joined(list(variants.values()), own.get(name))
        for name, variants in found.properties.items()
    }
    if required := [name for name in flat["properties"] if name in (found.required or ())]:
        flat["required"] = required
    _cut_dangling(flat)
    return flat, " ".join(dict.fromkeys(found.words))


class _Collector:
    """Gathers the arguments of all branches of one root, within its budget of branches."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = BRANCHES

    def collect(self, schema: Any, depth: int) -> _Arguments:
        found = _Arguments()
        self._left -= 1
        if schema is False or (isinstance(schema, dict) and not _may_be_object(schema)):
            found.required = None
        elif isinstance(schema, dict) and depth >= 0 and self._left >= 0:
            self._own(schema, found)
            target = _resolve(schema.get("$ref"), self._root)
            self._all([target] if isinstance(target, dict) else [], depth, found)
            self._all(_branches(schema, "allOf"), depth, found)
            self._choice(_branches(schema, "oneOf"), True, depth, found)
            self._choice(_branches(schema, "anyOf"), False, depth, found)
            self._conditions(schema, depth, found)
        return found

    def _own(self, schema: Schema, found: _Arguments) -> None:
        properties = schema.get("properties")
        for name, child in properties.items() if isinstance(properties, dict) else ():
            found.name(name, child)
        required = schema.get("required", ())
        for name in required:
            found.name(name)
        found.require(set(required))

    def _all(self, branches: list[Any], depth: int, found: _Arguments) -> None:
        for branch in branches:
            part = self.collect(branch, depth - 1)
            found.absorb(part)
            found.require(part.required)
            if isinstance(branch, dict) and (rule := describe_rule(branch, found.properties)):
                found.words.append(rule)

    def _choice(self, branches: list[Any], exactly: bool, depth: int, found: _Arguments) -> None:
        each = [self.collect(branch, depth - 1) for branch in branches]
        for part in each:
            found.absorb(part)
        needs = [part.required for part in each if part.required is not None]
        if needs:
            found.require(set.intersection(*needs))
        if len(branches) > 1:
            found.words.append(describe_choice([self._target(b) for b in branches], exactly))

    def _conditions(self, schema: Schema, depth: int, found: _Arguments) -> None:
        for key in ("then", "else"):
            if key in schema:
                found.absorb(self.collect(schema[key], depth - 1))
        for key in ("if", "not"):  # what they say of an argument is no description of it
            for name in self.collect(schema.get(key), depth - 1).properties:
                found.name(name)
        if words := describe_condition(schema):
            found.words.append(words)

    def _target(self, branch: Any) -> Any:
        return (
            _resolve(branch["$ref"], self._root)
            if isinstance(branch, dict) and "$ref" in branch
            else branch
        )


def _may_be_object(schema: Schema) -> bool:
    kinds = schema.get("type", "object")
    return "object" in (kinds if isinstance(kinds, list) else [kinds])


def _branches(schema: Schema, key: str) -> list[Any]:
    branches = schema.get(key)
    return branches if isinstance(branches, list) else []


def _joined(variants: list[Any], own: Any) -> Any:
    """One schema that accepts what any variant accepts.

    The root's own one wins, where it says something.
    """
    if own not in (None, True, {}):
        return own
    telling = [variant for variant in variants if variant not in (True, False, {})]
    if len(telling) < 2:
        return telling[0] if telling else {}
    if all(isinstance(v, dict) and "const" in v for v in telling):
        kinds = {str(v.get("type", "")) for v in telling}
        shared = {"type": kinds.pop()} if len(kinds) == 1 and "" not in kinds else {}
        return {**shared, "enum": [v["const"] for v in telling]}
    return {"anyOf": telling}


def _resolve(reference: Any, root: Schema) -> Any:
    """What a local reference points to, None for any other or none."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    at: Any = root
    for part in reference[1:].split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(at, list) and key.isdecimal() and int(key) < len(at):
            at = at[int(key)]
        elif isinstance(at, dict):
            at = at.get(key)
        else:
            return None
    return at


def _cut_dangling(flat: Schema) -> None:
    """Replace references that lead nowhere any more by schemas for anything, in place."""
    stack: list[Any] = [flat]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            reference = node.get("$ref")
            local = isinstance(reference, str) and reference.startswith("#/")
            if local and _resolve(reference, flat) is None:
                del node["$ref"]
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
