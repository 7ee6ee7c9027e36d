import json
import sys

import pytest

from toolpick.turns import arguments, arguments_problem

SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": ["integer", "null"], "default": 10},
        "mode": {"enum": ["fast", "slow"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    },
    "required": ["query"],
    "additionalProperties": False,
}
EXPECTED = '(query: string, limit?: integer | null = 10, mode?: "fast" | "slow", tags?: string[])'
NODE = {
    "type": "object",
    "properties": {"v": {"type": "string"}, "next": {"$ref": "#/$defs/N"}},
    "required": ["v"],
}
TREE = {"type": "object", "properties": {"root": {"$ref": "#/$defs/N"}}, "$defs": {"N": NODE}}


def problem(schema, given):
    return arguments_problem(json.dumps(schema).encode(), given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "arguments must have 'query'"),
        (None, "arguments must have 'query'"),
        ({"query": 5}, "argument 'query' must be of type string, not 5"),
        ({"query": "a", "limit": "x"}, "argument 'limit' must be of type integer or null, not 'x'"),
        ({"query": "a", "mode": "f"}, "argument 'mode' must be one of 'fast', 'slow', not 'f'"),
        ({"query": "a", "tags": ["b", 1]}, "argument 'tags.1' must be of type string, not 1"),
        ({"query": "a", "tags": list("bcd")}, "argument 'tags': ['b', 'c', 'd'] is too long"),
        (
            {"query": "a", "x": 1},
            "arguments: Additional properties are not allowed ('x' was unexpected)",
        ),
    ],
)
def test_wrong_arguments_are_answered_with_what_was_expected(given, said):
    assert problem(SEARCH, given) == f"{said}; expected {EXPECTED}"


@pytest.mark.parametrize("given", [[], "text", 5])
def test_arguments_must_be_an_object(given):
    assert problem(SEARCH, given) == "arguments must be an object with the tool's arguments by name"


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        (SEARCH, {"query": "a", "limit": None, "tags": []}),
        (TREE, {"root": {"v": "a", "next": {"v": "b"}}}),
        ({"type": "object", "properties": {"a": {"pattern": "^(?<x>b)$"}}}, {"a": "anything"}),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.org/s"}}}, {"a": 1}),
        ({"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}, {"a": 1}),
        ({"$ref": "#"}, {"a": 1}),
        ({"properties": 5}, {"a": 1}),
        ({"type": "wat"}, {"a": 1}),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [True]}, {"a": 1}),
        (True, {"a": 1}),
    ],
)
def test_right_arguments_pass_and_so_do_all_where_the_schema_is_of_no_use(schema, given):
    assert problem(schema, given) == ""


def test_recursive_arguments_are_checked_at_every_level():
    given = {"root": {"v": "a", "next": {}}}

    assert problem(TREE, given) == (
        "argument 'root.next' must have 'v'; expected (root?: {v: string, next?: any})"
    )


def test_a_schema_that_is_no_json_checks_nothing():
    assert arguments_problem(b"{", {}) == ""


def test_a_bomb_of_references_lets_the_call_pass():
    bomb = {f"n{k}": {"allOf": [{"$ref": f"#/$defs/n{k + 1}"}] * 2} for k in range(40)}

    assert problem({"$ref": "#/$defs/n0", "$defs": {**bomb, "n40": {}}}, {}) == ""


def test_compiled_schemas_are_kept_and_bounded():
    for number in range(arguments.KEPT + 5):
        assert problem({"type": "object", "title": str(number)}, {}) == ""

    assert arguments._checker.cache_info().currsize == arguments.KEPT
    assert problem(SEARCH, {}) == problem(SEARCH, {}) != ""


BOMB = {"type": "string"}
for _ in range(20):
    BOMB = {"anyOf": [BOMB, BOMB]}


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        ({"items": {"uniqueItems": True}}, [{"a": number} for number in range(5000)]),
        ({"uniqueItems": True}, [number if number % 2 else "x" for number in range(5000)]),
        ({"items": {"enum": list(range(3000))}}, list(range(3000, 0, -1))),
        ({"items": {"type": "string"}}, ["x"] * 100_000),
        ({"contains": {"const": 1}, "maxContains": 1}, [1] * 100_000),
        (BOMB, 5),
    ],
)
def test_a_check_that_would_take_long_lets_the_call_pass(schema, given):
    steps: list[int] = []

    def count(*_):
        steps.append(1)
        assert len(steps) < 3_000_000

    sys.setprofile(count)
    try:
        said = problem({"type": "object", "properties": {"x": schema}}, {"x": given})
    finally:
        sys.setprofile(None)
    assert said == ""


@pytest.mark.parametrize(
    "more", [{}, {"additionalProperties": False}, {"unevaluatedProperties": False}]
)
@pytest.mark.parametrize("version", ["2020-12/schema", "draft-07/schema#"])
def test_names_are_held_against_no_regular_expression(more, version):
    hostile = {"$schema": f"http://json-schema.org/{version}", "patternProperties": {"^(a+)+$": {}}}

    assert problem({"type": "object", **hostile, **more}, {"a" * 60 + "!": 1}) == ""


def test_beside_what_is_not_tried_all_else_is_checked():
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": False,
    }
    plain = {"type": "object", "properties": {"s": {"type": "string", "pattern": "^a"}}}

    assert problem(plain, {"s": "b"}) == ""
    assert problem(plain, {"s": 5}).startswith("argument 's' must be of type string")
    assert problem(schema, {"x-a": 1, "n": 5}) == ""
    assert problem(schema, {"x-a": 1, "n": "5"}).startswith("argument 'n' must be of type integer")
