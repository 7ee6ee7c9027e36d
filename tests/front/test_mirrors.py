"""Arguments that are repeated in headers."""

import json
from typing import Any

import pytest

from toolpick.errors import HEADER_MISMATCH, RpcError
from toolpick.front.headers import Headers
from toolpick.front.mirrors import Mirror, check, mirrors

GOOD = {"type": "string", "x-mcp-header": "Region"}


def schema(**properties: Any) -> bytes:
    return json.dumps({"type": "object", "properties": properties}).encode()


def verdict(properties: dict[str, Any], arguments: Any, *sent: str) -> str:
    lines = [tuple(line.split(": ", 1)) for line in sent]
    headers = Headers((name.encode(), value.encode()) for name, value in lines)
    try:
        check(schema(**properties), json.dumps(arguments).encode(), headers)
    except RpcError as error:
        return error.message if error.code == HEADER_MISMATCH else f"code {error.code}"
    return ""


def test_marked_properties_are_found_at_any_depth_of_properties() -> None:
    found = mirrors(
        schema(a=GOOD, b={"properties": {"c": {"type": "integer", "x-mcp-header": "N"}}})
    )
    assert set(found) == {Mirror(("a",), "Region", "string"), Mirror(("b", "c"), "N", "integer")}


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "number", "x-mcp-header": "X"},
        {"type": ["string"], "x-mcp-header": "X"},
        {"x-mcp-header": "X"},
        {"type": "string", "x-mcp-header": ""},
        {"type": "string", "x-mcp-header": "a b"},
        {"type": "string", "x-mcp-header": 5},
        {"type": "string", "x-mcp-header": "REGION"},
        {"type": "array", "items": {"type": "string", "x-mcp-header": "X"}},
        {"allOf": [{"properties": {"p": {"type": "string", "x-mcp-header": "X"}}}]},
        {"$defs": {"p": {"type": "string", "x-mcp-header": "X"}}},
    ],
)
def test_a_schema_with_a_wrong_mark_has_none(wrong: dict[str, Any]) -> None:
    assert mirrors(schema(a=GOOD, b=wrong)) == ()


def test_marks_inside_of_values_are_no_marks() -> None:
    assert mirrors(schema(a={"type": "object", "default": GOOD, "enum": [GOOD]})) == ()
    assert mirrors(schema(a={"$ref": "#/x"})) == ()
    assert mirrors(b'{"x-mcp-header":"X"}') == ()
    assert mirrors(b'{"properties":["x-mcp-header"],"allOf":5,"$defs":5,"not":"x"}') == ()


@pytest.mark.parametrize(
    ("type", "value", "sent"),
    [
        ("string", "eu", "eu"),
        ("string", "é", "=?base64?w6k=?="),
        ("string", "=?base64?x", "=?base64?x"),
        ("string", 'a"\\', 'a"\\'),
        ("string", "", ""),
        ("boolean", True, "true"),
        ("integer", 42, "42"),
        ("integer", 42.0, "42"),
        ("integer", 42, "42.0"),
        ("integer", 12345678901234567890123, "12345678901234567890123"),
        ("string", 5, "5"),
    ],
)
def test_a_header_that_repeats_its_argument_passes(type: str, value: Any, sent: str) -> None:
    properties = {"p": {"type": type, "x-mcp-header": "P"}}
    assert verdict(properties, {"p": value}, f"mcp-param-p: {sent}") == ""


@pytest.mark.parametrize(
    ("type", "value", "sent", "problem"),
    [
        ("string", "eu", ["us"], "differs from the argument"),
        ("string", "eu", [], "is missing"),
        ("string", "eu", ["eu", "eu"], "appears more than once"),
        ("string", "Hello", ["=?base64?SGVsbG8?="], "is not canonical base64"),
        ("string", None, ["eu"], "has no argument that it repeats"),
        ("string", {"a": 1}, ["eu"], "has no argument that it repeats"),
        ("boolean", True, ["True"], "differs from the argument"),
        ("integer", 42, ["4.2e1"], "differs from the argument"),
        ("integer", 42, ["42.5"], "differs from the argument"),
        ("integer", "x", ["42"], "differs from the argument"),
    ],
)
def test_a_header_that_does_not_is_named(
    type: str, value: Any, sent: list[str], problem: str
) -> None:
    properties = {"p": {"type": type, "x-mcp-header": "P"}}
    lines = [f"mcp-param-p: {each}" for each in sent]
    expected = f"Header mismatch: Mcp-Param-P {problem} (argument 'p')"
    assert verdict(properties, {"p": value}, *lines) == expected


def test_what_has_no_value_needs_no_header() -> None:
    nested = {"o": {"properties": {"p": GOOD}}}
    for arguments in ({}, {"o": None}, {"o": 5}, {"o": {"p": None}}, {"o": {"p": []}}, 5):
        assert verdict(nested, arguments) == ""
