import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolpick.catalog.depth import cut_deep
from toolpick.catalog.schemas import UnusableSchema, certain_type, mend_schema

KEYS = st.sampled_from(
    ["type", "properties", "items", "required", "anyOf", "allOf", "not", "$defs", "enum", "title"]
) | st.sampled_from(["exclusiveMinimum", "minimum", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("schema", "mended"),
    [
        ({"type": "int"}, {"type": "integer"}),
        ({"type": "STRING"}, {"type": "string"}),
        ({"type": ["str", None]}, {"type": ["string", "null"]}),
        ({"type": ["int", "integer"]}, {"type": ["integer"]}),
        ({"type": "any", "title": "x"}, {"title": "x"}),
        ({"type": "string[]"}, {"type": "array", "items": {"type": "string"}}),
        ({"properties": {"type": {"type": "dict"}}}, {"properties": {"type": {"type": "object"}}}),
        ({"properties": {"q": "str"}}, {"properties": {"q": {"type": "string"}}}),
        ({"properties": {"q": "any", "r": None}}, {"properties": {"q": {}, "r": {}}}),
        ({"properties": []}, {"properties": {}}),
        ({"properties": None, "default": None}, {"default": None}),
        ({"properties": {"q": {"required": True}}}, {"properties": {"q": {}}, "required": ["q"]}),
        ({"properties": {"q": {"required": False}}}, {"properties": {"q": {}}}),
        (
            {"required": ["a"], "properties": {"q": {"required": True}, "a": {"required": True}}},
            {"required": ["a", "q"], "properties": {"q": {}, "a": {}}},
        ),
        ({"required": "q"}, {"required": ["q"]}),
        ({"required": True}, {}),
        ({"items": [{"type": "list"}, True]}, {"items": [{"type": "array"}, True]}),
        ({"items": {"anyOf": [{"type": "bool"}]}}, {"items": {"anyOf": [{"type": "boolean"}]}}),
        ({"minimum": 5, "exclusiveMinimum": True}, {"exclusiveMinimum": 5}),
        ({"maximum": 5, "exclusiveMaximum": False}, {"maximum": 5}),
        ({"anyOf": []}, {}),
        ({"additionalProperties": {"type": "float"}}, {"additionalProperties": {"type": "number"}}),
    ],
)
def test_what_is_certain_is_mended_and_said(schema, mended):
    notes = mend_schema(schema, "inputSchema")

    assert schema == mended
    assert notes
    assert all(note.startswith("inputSchema.") for note in notes)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"refresh": True, "q": {}, "n": False}},
        {"properties": {"type": {"enum": ["int"]}}, "default": {"type": "int"}},
        {"const": {"type": "int"}, "examples": [{"type": "int"}], "x-type": {"type": "int"}},
        {"enum": [None, 1], "default": None, "unknown": None},
        {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
        {"$ref": "#", "unevaluatedProperties": False, "prefixItems": [True]},
        {"type": ["string", "null"], "exclusiveMinimum": 1.5},
    ],
)
def test_what_is_legal_is_left_as_it_is(schema):
    before = copy.deepcopy(schema)

    assert mend_schema(schema, "inputSchema") == []
    assert schema == before


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "date-range"}, "s.type is 'date-range', which is no type of JSON Schema"),
        ({"type": []}, "s.type is [], which is no type of JSON Schema"),
        ({"type": {"a": 1}}, "s.type is an object, which is no type of JSON Schema"),
        ({"properties": "q"}, "s.properties is 'q', not an object"),
        ({"properties": {"q": "a query"}}, "s.properties.q is 'a query', not a schema"),
        ({"anyOf": {"type": "string"}}, "s.anyOf is an object, not a list"),
        ({"required": [1]}, "s.required is a list, not a list of names"),
        ({"items": 5}, "s.items is 5, not a schema"),
    ],
)
def test_what_is_not_certain_is_refused_with_its_place(schema, why):
    with pytest.raises(UnusableSchema) as caught:
        mend_schema(schema, "s")

    assert str(caught.value) == why


def test_depth_does_not_matter():
    schema: dict = {"type": "int"}
    for _ in range(20_000):
        schema = {"items": schema}

    assert len(mend_schema(schema, "s")) == 1


@given(st.dictionaries(KEYS, JSON, max_size=5))
def test_a_mended_schema_needs_no_mending_and_has_only_types_that_exist(schema):
    try:
        mend_schema(schema, "s")
    except UnusableSchema:
        return
    once = copy.deepcopy(schema)

    assert mend_schema(schema, "s") == []
    assert schema == once


@given(st.sampled_from(["int", "Bool", " text ", "DICT", "None", "List", "double"]))
def test_certain_types_are_types_that_a_validator_knows(word):
    Draft202012Validator.check_schema({"type": certain_type(word)})


@pytest.mark.parametrize(
    ("value", "levels", "left"),
    [
        ({"a": {"b": 1}}, 2, None),
        ({"a": {"b": 1}}, 1, {"a": {}}),
        ({"a": {"b": {"c": 1}, "d": 1}}, 2, {"a": {"b": {}, "d": 1}}),
        ({"anyOf": [{"a": {"b": 1}}, True]}, 1, {"anyOf": [{}, True]}),
        ([[[1], 2]], 1, [[[], 2]]),
        ({"a": {}, "b": [], "c": [[], {}]}, 1, None),
    ],
)
def test_what_is_too_deep_is_emptied(value, levels, left):
    before = copy.deepcopy(value)

    assert cut_deep(value, levels) is (left is not None)

    assert value == (before if left is None else left)


def test_remarks_on_deep_places_and_long_names_stay_short():
    schema = leaf = {}
    for _ in range(50):
        leaf["properties"] = {"n" * 1_000: {}}
        [leaf] = leaf["properties"].values()
    leaf["type"] = "int"

    [note] = mend_schema(schema, "inputSchema")

    assert len(note) < 1_000
