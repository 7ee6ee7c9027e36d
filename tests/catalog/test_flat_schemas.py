import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolpick.catalog.flat import COMBINATORS, flatten, needs_flattening

NAMES = st.sampled_from("abcd")
VALUES = st.sampled_from([1, 2, "x", None, True])
PROPERTY = st.one_of(
    st.just(True),
    st.builds(lambda value: {"const": value}, VALUES),
    st.builds(lambda kind: {"type": kind}, st.sampled_from(["integer", "string"])),
    st.just({"minimum": 2}),
)
LEAF = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("object"),
        "properties": st.dictionaries(NAMES, PROPERTY, max_size=3),
        "required": st.lists(NAMES, unique=True, max_size=2),
    },
)
BRANCH = st.recursive(
    LEAF | st.booleans() | st.just({"$ref": "#/$defs/shared"}) | st.just({"type": "null"}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            **{key: st.lists(inner, min_size=1, max_size=3) for key in ("oneOf", "anyOf", "allOf")},
            **dict.fromkeys(("not", "if", "then", "else"), inner),
            "properties": st.dictionaries(NAMES, PROPERTY, max_size=2),
            "required": st.lists(NAMES, unique=True, max_size=1),
        },
    ),
    max_leaves=8,
)
ROOTS = BRANCH.filter(lambda branch: isinstance(branch, dict)).flatmap(
    lambda branch: LEAF.map(
        lambda shared: {**branch, "type": "object", "$defs": {"shared": shared}}
    )
)


def named(schema) -> set[str]:
    """All arguments that any branch of a schema names."""
    if not isinstance(schema, dict):
        return set()
    found = set(schema.get("properties", ())) | set(schema.get("required", ()))
    for key in COMBINATORS:
        branches = schema.get(key, [])
        for branch in branches if isinstance(branches, list) else [branches]:
            found |= named(branch)
    return found


@given(ROOTS)
def test_the_flat_form_has_every_argument_of_any_branch(schema):
    flat, _ = flatten(schema)

    assert named(schema) <= set(flat["properties"])


@given(ROOTS, st.dictionaries(NAMES, VALUES))
def test_the_flat_form_demands_no_argument_that_the_original_does_not(schema, arguments):
    flat, _ = flatten(schema)

    Draft202012Validator.check_schema(flat)
    assert not needs_flattening(flat)
    assert flat["type"] == "object"
    if Draft202012Validator(schema).is_valid(arguments):
        assert set(flat.get("required", ())) <= set(arguments)


@pytest.mark.parametrize(
    ("schema", "flat", "words"),
    [
        (
            {
                "properties": {"id": {"type": "string"}, "slug": {}},
                "oneOf": [{"required": ["id"]}, {"required": ["slug"]}],
            },
            {"type": "object", "properties": {"id": {"type": "string"}, "slug": {}}},
            "Give exactly one of: id; or slug.",
        ),
        (
            {
                "anyOf": [
                    {"properties": {"a": {"type": "string"}}, "required": ["a", "c"]},
                    {"properties": {"b": {}}, "required": ["b", "c"]},
                ]
            },
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "c": {}, "b": {}},
                "required": ["c"],
            },
            "Give at least one of: a and c; or b and c.",
        ),
        (
            {
                "properties": {"mode": {"type": "string"}, "size": {"type": "integer"}},
                "allOf": [
                    {
                        "if": {"properties": {"mode": {"const": "fast"}}},
                        "then": {"properties": {"size": {"maximum": 10}}},
                        "else": {"required": ["size"]},
                    }
                ],
            },
            {
                "type": "object",
                "properties": {"mode": {"type": "string"}, "size": {"type": "integer"}},
            },
            'If mode is "fast", then size is at most 10. Unless mode is "fast": size.',
        ),
        (
            {
                "oneOf": [
                    {
                        "properties": {"kind": {"type": "string", "const": "a"}},
                        "required": ["kind"],
                    },
                    {
                        "properties": {"kind": {"type": "string", "const": "b"}},
                        "required": ["kind"],
                    },
                ]
            },
            {
                "type": "object",
                "properties": {"kind": {"type": "string", "enum": ["a", "b"]}},
                "required": ["kind"],
            },
            'Give exactly one of: kind is "a"; or kind is "b".',
        ),
        (
            {
                "$ref": "#/$defs/Args",
                "$defs": {"Args": {"properties": {"q": {}}, "required": ["q"]}},
            },
            {
                "type": "object",
                "properties": {"q": {}},
                "required": ["q"],
                "$defs": {"Args": {"properties": {"q": {}}, "required": ["q"]}},
            },
            "",
        ),
        (
            {"properties": {"a": {}}, "not": {"required": ["b"]}},
            {"type": "object", "properties": {"a": {}, "b": {}}},
            "Never b.",
        ),
        (
            {
                "anyOf": [
                    {"properties": {"x": {"$ref": "#/anyOf/0/properties/y"}, "y": {"title": "Y"}}}
                ]
            },
            {"type": "object", "properties": {"x": {}, "y": {"title": "Y"}}},
            "",
        ),
        (
            {
                "anyOf": [
                    {"properties": {"x": {"enum": [1]}}},
                    {"properties": {"x": {"minLength": 2}}},
                ]
            },
            {"type": "object", "properties": {"x": {"anyOf": [{"enum": [1]}, {"minLength": 2}]}}},
            "Give at least one of: x is one of 1; or x is at least as many characters as 2.",
        ),
        (
            {
                "allOf": [
                    {"properties": {"x": {"type": "integer"}}},
                    {"properties": {"x": {"maximum": 3}}},
                ]
            },
            {
                "type": "object",
                "properties": {"x": {"anyOf": [{"type": "integer"}, {"maximum": 3}]}},
            },
            "Also x is at most 3.",
        ),
    ],
)
def test_arguments_of_all_branches_are_kept_and_the_rule_is_said(schema, flat, words):
    assert flatten(schema) == (flat, words)


def test_combinators_below_the_root_need_no_flattening():
    assert not needs_flattening({"type": "object", "properties": {"a": {"oneOf": [{}, {}]}}})


def test_a_schema_that_branches_into_itself_ends():
    schema = {"properties": {"q": {}}, "anyOf": [{"$ref": "#"}] * 50}

    flat, words = flatten(schema)

    assert flat == {"type": "object", "properties": {"q": {}}}
    assert "more" in words


@pytest.mark.parametrize("keyword", [key for key in COMBINATORS if key[0] != "$"])
def test_a_branch_without_a_short_form_is_quoted(keyword):
    branch = {"maxProperties": 2}
    schema = {
        keyword: [branch, branch] if keyword.endswith("Of") else branch,
        "if": {"required": ["a"]},
    }

    _, words = flatten(schema)

    assert ('{"maxProperties":2}' in words) == (
        keyword in ("oneOf", "anyOf", "not", "then", "else")
    )
