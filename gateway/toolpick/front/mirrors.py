"""Arguments of tools that are repeated in headers, for whoever routes requests by them.

A schema marks such a property with ``x-mcp-header: NAME``; the value must then stand in the header
``Mcp-Param-NAME``, too (specification 2026-07-28, transports, custom headers). A schema with a
wrong mark has none: clients leave such a tool's headers out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from toolpick.errors import HEADER_MISMATCH, RpcError
from toolpick.front.headers import unwrapped
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolpick.front.headers import Headers

_MARK = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DECIMAL = re.compile(r"-?\d+(\.\d+)?")
_TYPES = ("string", "integer", "boolean")
_ONE = frozenset(
    (
        *("items", "contains", "unevaluatedItems", "unevaluatedProperties", "propertyNames"),
        *("additionalProperties", "not", "if", "then", "else", "contentSchema"),
    )
)
_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAP = ("patternProperties", "dependentSchemas", "$defs", "definitions")


@dataclass(frozen=True, slots=True)
class Mirror:
    """A marked property: the path to it, its header as the schema spells it, its type."""

    path: tuple[str, ...]
    header: str
    type: str


@lru_cache(maxsize=512)
def mirrors(schema: bytes) -> tuple[Mirror, ...]:
    """The marked properties of an input schema, given as JSON; none when one mark is wrong."""
    if _MARK.encode() not in schema:
        return ()
    found = [(path, node) for path, node in _positions(env.value(schema)) if _MARK in node]
    made = [_mirror(path, node) for path, node in found]
    good = tuple(mirror for mirror in made if mirror is not None)
    if len(good) < len(found) or len({mirror.header.lower() for mirror in good}) < len(good):
        return ()
    return good


def check(schema: bytes, arguments: env.Body, headers: Headers) -> None:
    """Compare the headers of a ``tools/call`` with its arguments.

    Raises:
        RpcError: one is missing, repeated, damaged, different, or has no argument (-32020).
    """
    for mirror in mirrors(schema):
        name = f"Mcp-Param-{mirror.header}"
        sent = headers.all(name.lower().encode())
        try:
            _compare(mirror, _value(arguments, mirror.path), sent)
        except ValueError as problem:
            where = ".".join(mirror.path)
            text = f"Header mismatch: {name} {problem} (argument {where!r})"
            raise RpcError(HEADER_MISMATCH, text) from None


def _compare(mirror: Mirror, value: bytes, sent: list[str]) -> None:
    if len(sent) > 1:
        raise ValueError("appears more than once")
    expected = _spelled(value)
    if expected is None:
        if sent:
            raise ValueError("has no argument that it repeats")
        return
    if not sent:
        raise ValueError("is missing")
    said = unwrapped(sent[0])
    if said is None:
        raise ValueError("is not canonical base64")
    if said != expected and not (mirror.type == "integer" and _same_number(said, expected)):
        raise ValueError("differs from the argument")


def _spelled(value: bytes) -> str | None:
    """An argument as its header spells it; None for what has none: nothing, null, structure."""
    if not value or value == b"null" or value[:1] in b"{[":
        return None
    text = env.text(value)
    return text if text is not None else value.decode()


def _same_number(said: str, expected: str) -> bool:
    try:
        return _DECIMAL.fullmatch(said) is not None and Decimal(said) == Decimal(expected)
    except ArithmeticError:
        return False


def _value(arguments: env.Body, path: tuple[str, ...]) -> bytes:
    node = bytes(arguments)
    for key in path:
        try:
            node = bytes(env.members(node).get(key, b""))
        except RpcError:
            return b""
    return node


def _mirror(path: tuple[str, ...] | None, node: dict[str, Any]) -> Mirror | None:
    header, kind = node[_MARK], node.get("type")
    if not path or not isinstance(header, str) or not _TOKEN.fullmatch(header):
        return None
    return Mirror(path, header, kind) if kind in _TYPES else None


def _positions(schema: Any) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Every subschema, with its path if only ``properties`` lead there, else None."""
    stack: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        if not isinstance(node, dict):
            continue
        yield path, node
        properties = node.get("properties")
        if isinstance(properties, dict):
            for name, inner in properties.items():
                stack.append((None if path is None else (*path, name), inner))
        stack.extend((None, inner) for inner in _elsewhere(node))


def _elsewhere(node: dict[str, Any]) -> Iterator[Any]:
    yield from (node[key] for key in _ONE if key in node)
    for key in _LIST:
        if isinstance(node.get(key), list):
            yield from node[key]
    for key in _MAP:
        if isinstance(node.get(key), dict):
            yield from node[key].values()
