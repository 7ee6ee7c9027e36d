"""Mends one listed definition: a tool, a prompt, a resource, a template.

Knows no server and no other definition. What strict clients refuse is set right where its meaning
is certain, or the one definition is refused. Fields stay byte for byte as they came unless they
were mended. A mended definition lists its known fields in one order and the unknown ones after
them, sorted, so that a server that shuffles its fields changes nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from toolpick.catalog.depth import LEVELS, cut_deep
from toolpick.catalog.flat import flatten, needs_flattening
from toolpick.catalog.schemas import Schema, UnusableSchema, mend_schema, say

TOOL_FIELDS = (
    *("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons"),
    *("execution", "_meta"),
)
PROMPT_FIELDS = ("name", "title", "description", "arguments", "icons", "_meta")
RESOURCE_FIELDS = (
    *("uri", "uriTemplate", "name", "title", "description", "mimeType", "size", "annotations"),
    *("icons", "_meta"),
)
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
RULE_ROOM = 600
"""Most characters that the rule lost by flattening may take in a description."""

_FIELDS = msgspec.json.Decoder(dict[str, Raw])
# Floats stay as written (1.0, 1e400), so that a mended schema differs in nothing but what was
# mended.
_TREE = msgspec.json.Decoder(float_hook=lambda digits: Raw(digits.encode()))


class UnusableDefinition(Exception):
    """A definition that can't be listed; the message says why."""


@dataclass(slots=True)
class Definition:
    """One definition while it is mended: decoded, and the bytes of each field.

    ``notes`` say what was mended, one phrase each.
    """

    tree: dict[str, Any]
    fields: dict[str, Raw]
    notes: list[str] = field(default_factory=list)

    def text(self, key: str) -> str:
        """A field's text, "" when there is none or it is no text."""
        value = self.tree.get(key)
        return value if isinstance(value, str) else ""

    def put(self, key: str, value: Any) -> None:
        """Set a field."""
        self.tree[key] = value
        self.fields[key] = Raw(msgspec.json.encode(value))

    def drop(self, key: str, note: str = "") -> None:
        """Remove a field, and say so unless ``note`` is empty."""
        del self.tree[key], self.fields[key]
        if note:
            self.notes.append(note)

    def encoded(self, order: tuple[str, ...]) -> bytes:
        """The definition as JSON: fields of ``order`` first, the others sorted."""
        known = {key: self.fields[key] for key in order if key in self.fields}
        others = {key: self.fields[key] for key in sorted(self.fields) if key not in known}
        return msgspec.json.encode({**known, **others})


def read_definition(raw: bytes) -> Definition:
    """Read one list entry.

    Raises:
        UnusableDefinition: it is no JSON object.
    """
    notes = []
    try:
        tree = _TREE.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raw = _repaired(raw)
        tree = _TREE.decode(raw)
        notes.append("text that is no Unicode replaced")
    if not isinstance(tree, dict):
        raise UnusableDefinition(f"{'null' if tree is None else say(tree)} is no definition")
    if b"\n" in raw or b"\r" in raw:  # a line is a message on stdio
        raw = msgspec.json.format(raw, indent=-1)
    return Definition(tree, _FIELDS.decode(raw), notes)


def cut_to_depth(definition: Definition) -> None:
    """Empty what is nested more deeply than clients can read."""
    written = map(bytes, definition.fields.values())
    if sum(raw.count(b"{") + raw.count(b"[") for raw in written) <= LEVELS:
        return
    for key, value in definition.tree.items():
        if isinstance(value, (dict, list)) and cut_deep(value, LEVELS - 1):
            definition.put(key, value)
            definition.notes.append(f"{key} is nested more than {LEVELS} levels deep; cut there")


def same(raw: bytes, other: bytes) -> bool:
    """Whether two definitions differ at most in the order of nested fields."""
    if len(raw) != len(other):
        return False
    return raw == other or _in_order(raw) == _in_order(other)


def _in_order(raw: bytes) -> bytes:
    return msgspec.json.encode(_TREE.decode(raw), order="sorted")


def mend_tool(tool: Definition, flat: bool) -> None:
    """Mend a tool's fields; ``flat`` also flattens its schema.

    Raises:
        UnusableDefinition: its input schema has no certain meaning.
    """
    _mend_texts(tool, "title", "description")
    try:
        _mend_input(tool, flat)
    except UnusableSchema as error:
        raise UnusableDefinition(str(error)) from None
    _mend_output(tool)
    _mend_kinds(tool, annotations=dict, icons=list, execution=dict, _meta=dict)
    _mend_annotations(tool)


def mend_prompt(prompt: Definition) -> None:
    """Mend a prompt's fields; arguments without a name are left out."""
    _mend_texts(prompt, "title", "description")
    _mend_kinds(prompt, arguments=list, icons=list, _meta=dict)
    arguments = prompt.tree.get("arguments")
    if arguments is None:
        return
    mended = [_mended_argument(argument) for argument in arguments if _has_name(argument)]
    if mended != arguments:
        prompt.put("arguments", mended)
        prompt.notes.append("arguments without a name or with fields of the wrong kind mended")


def mend_resource(resource: Definition, key: str) -> None:
    """Mend the fields of a resource or, with ``key`` "uriTemplate", of a template.

    Raises:
        UnusableDefinition: there is no URI.
    """
    if not resource.text(key):
        raise UnusableDefinition(f"it has no {key}")
    _mend_texts(resource, "title", "description", "mimeType")
    _mend_kinds(resource, annotations=dict, icons=list, _meta=dict, size=(int, Raw))
    if not isinstance(resource.tree.get("name"), str):
        resource.put("name", resource.text(key))
        resource.notes.append(f"it has no name; listed under its {key}")


def legacy_form(raw: bytes) -> bytes:
    """A tool definition as clients up to 2025-11-25 accept it: no outputSchema but of an object.

    Returns the same bytes when there is nothing to do.
    """
    if b'"outputSchema"' not in raw:
        return raw
    fields = _FIELDS.decode(raw)
    schema = (
        _TREE.decode(fields["outputSchema"]) if "outputSchema" in fields else {"type": "object"}
    )
    if isinstance(schema, dict) and schema.get("type") == "object":
        return raw
    del fields["outputSchema"]
    return msgspec.json.encode(fields)


def _repaired(raw: bytes) -> bytes:
    """The same JSON with bytes and escapes that are no Unicode replaced."""
    try:
        tree = json.loads(raw.decode("utf-8", "replace"))
        text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        fixed = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        _TREE.decode(fixed)
    except (ValueError, RecursionError) as error:
        what = "is nested too deeply" if isinstance(error, RecursionError) else "is no JSON"
        raise UnusableDefinition(f"it {what}") from None
    return fixed


def _mend_texts(definition: Definition, *keys: str) -> None:
    for key in keys:
        value = definition.tree.get(key, "")
        if not isinstance(value, str):
            definition.drop(
                key, "" if value is None else f"{key} is {say(value)}, no text; left out"
            )


def _mend_kinds(definition: Definition, **kinds: type | tuple[type, ...]) -> None:
    for key, kind in kinds.items():
        value = definition.tree.get(key)
        if key in definition.tree and (not isinstance(value, kind) or isinstance(value, bool)):
            definition.drop(key, "" if value is None else f"{key} is {say(value)}; left out")
    icons = definition.tree.get("icons", [])
    if not all(isinstance(icon, dict) and isinstance(icon.get("src"), str) for icon in icons):
        definition.drop("icons", "icons without a source left out")


def _mend_annotations(tool: Definition) -> None:
    annotations = tool.tree.get("annotations", {})
    wrong = [key for key in HINTS if not isinstance(annotations.get(key, False), bool)]
    if not isinstance(annotations.get("title", ""), str):
        wrong.append("title")
    if wrong:
        tool.put("annotations", {k: v for k, v in annotations.items() if k not in wrong})
        tool.notes.append(f"annotations of the wrong kind left out: {', '.join(wrong)}")


def _mend_input(tool: Definition, flat: bool) -> None:
    schema = tool.tree.get("inputSchema")
    if not isinstance(schema, dict):
        if schema not in (None, True, []):
            raise UnusableSchema(f"inputSchema is {say(schema)}, not an object")
        tool.put("inputSchema", {"type": "object"})
        tool.notes.append("it has no inputSchema; listed with one for any object")
        return
    notes = mend_schema(schema, "inputSchema")
    rootless = _mend_root(schema, notes)
    if (flat or rootless) and needs_flattening(schema):
        _flatten_input(tool, schema)
        if rootless:
            notes.append("inputSchema flattened, since its root has combinators and no type")
    elif rootless:
        tool.put("inputSchema", {"type": "object", **schema})
    elif notes:
        tool.put("inputSchema", schema)
    tool.notes += notes


def _mend_root(schema: Schema, notes: list[str]) -> bool:
    """Mend the root's type; returns whether there was none."""
    kind = schema.get("type")
    if kind is None:
        notes.append("inputSchema has no type at its root; listed as 'object'")
        return True
    if isinstance(kind, list) and "object" in kind:
        schema["type"] = "object"
        notes.append(f"inputSchema.type {say(kind)} listed as 'object'")
    elif kind != "object":
        raise UnusableSchema(f"inputSchema.type is {say(kind)}, not 'object'")
    return False


def _flatten_input(tool: Definition, schema: Schema) -> None:
    flat, rule = flatten(schema)
    tool.put("inputSchema", flat)
    if rule:
        rule = rule if len(rule) <= RULE_ROOM else f"{rule[:RULE_ROOM]}..."
        tool.put("description", f"{tool.text('description')} {rule}".strip())


def _mend_output(tool: Definition) -> None:
    schema = tool.tree.get("outputSchema", True)
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        note = "" if schema is None else f"outputSchema is {say(schema)}; left out"
        tool.drop("outputSchema", note)
        return
    try:
        notes = mend_schema(schema, "outputSchema")
    except UnusableSchema as error:
        tool.drop("outputSchema", f"{error}; outputSchema left out")
        return
    if notes:
        tool.put("outputSchema", schema)
        tool.notes += notes


def _has_name(argument: Any) -> bool:
    return isinstance(argument, dict) and isinstance(argument.get("name"), str)


def _mended_argument(argument: dict[str, Any]) -> dict[str, Any]:
    kinds = {"title": str, "description": str, "required": bool}
    return {k: v for k, v in argument.items() if k not in kinds or isinstance(v, kinds[k])}
