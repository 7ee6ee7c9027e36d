"""Says in words what a schema demands of arguments. For descriptions, where a rule can't be shown.

Short rather than complete: what has no short form is quoted as JSON, cut at ``QUOTED`` characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sized

QUOTED = 200
CHOICES = 12

_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
    "minLength": "at least as many characters as",
    "maxLength": "at most as many characters as",
    "minItems": "at least as many items as",
    "maxItems": "at most as many items as",
    "pattern": "text that matches",
    "format": "in the format",
}


def describe_choice(branches: list[Any], exactly: bool) -> str:
    """A rule for oneOf (``exactly``) or anyOf: "Give exactly one of: id; or slug."."""
    said = [describe_case(branch) for branch in branches[:CHOICES]]
    if len(branches) > CHOICES:
        said.append(f"{len(branches) - CHOICES} more")
    return f"Give {'exactly' if exactly else 'at least'} one of: {'; or '.join(said)}."


def describe_case(schema: Any) -> str:
    """What one branch asks for: "id and slug, with kind "a"", "anything"."""
    if not isinstance(schema, dict):
        return "nothing" if schema is False else "anything"
    limits = describe_limits(schema)
    names = [name for name in _names(schema) if name not in limits]
    parts = []
    if names:
        parts.append(" and ".join(names))
    if limits:
        parts.append(("with " if names else "") + " and ".join(limits.values()))
    if not parts and isinstance(schema.get("properties"), dict):
        parts.append(" or ".join(schema["properties"]))
    return ", ".join(parts) or quoted(schema)


def describe_condition(schema: Mapping[str, Any]) -> str:
    """The rules of if/then/else and not, as sentences; "" when there are none."""
    rules = []
    if "if" in schema:
        case = describe_case(schema["if"])
        if "then" in schema:
            rules.append(f"If {case}, then {describe_case(schema['then'])}.")
        if "else" in schema:
            rules.append(f"Unless {case}: {describe_case(schema['else'])}.")
    if "not" in schema:
        rules.append(f"Never {describe_case(schema['not'])}.")
    return " ".join(rules)


def describe_rule(branch: Mapping[str, Any], known: Mapping[str, Sized]) -> str:
    """What an allOf branch adds to arguments that are described elsewhere too; "" when nothing."""
    properties = branch.get("properties")
    twice = [name for name in properties or () if name in known and len(known[name]) > 1]
    limits = (
        describe_limits({"properties": {name: properties[name] for name in twice}})
        if properties
        else {}
    )
    return f"Also {' and '.join(limits.values())}." if limits else ""


def describe_limits(schema: Mapping[str, Any]) -> dict[str, str]:
    """A phrase for each argument that a schema restricts to certain values."""
    limits = {}
    properties = schema.get("properties")
    for name, child in properties.items() if isinstance(properties, dict) else ():
        if isinstance(child, dict) and (phrase := _limit(child)):
            limits[name] = f"{name} {phrase}"
    return limits


def quoted(value: Any) -> str:
    """A value as JSON, cut."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def _limit(child: Mapping[str, Any]) -> str:
    if "const" in child:
        return f"is {quoted(child['const'])}"
    if isinstance(child.get("enum"), list):
        return f"is one of {', '.join(quoted(value) for value in child['enum'][:CHOICES])}"
    bounds = [f"{word} {quoted(child[key])}" for key, word in _BOUNDS.items() if key in child]
    return f"is {' and '.join(bounds)}" if bounds else ""


def _names(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required")
    return (
        [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    )
