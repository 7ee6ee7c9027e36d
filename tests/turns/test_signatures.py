import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.turns import signature

NODE = {
    "type": "object",
    "properties": {
        "value": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/N"}},
    },
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({}, "()"),
        (
            {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["b"]},
            "(b: any, a?: string)",
        ),
        ({"properties": {"n": {"type": "integer", "default": 10}}}, "(n?: integer = 10)"),
        (
            {"properties": {"n": {"type": ["string", "null"], "default": None}}},
            "(n?: string | null)",
        ),
        ({"properties": {"e": {"enum": ["a", 1, None]}}}, '(e?: "a" | 1 | null)'),
        (
            {"properties": {"e": {"enum": list("abcdefgh")}}},
            '(e?: "a" | "b" | "c" | "d" | "e" | "f" | …)',
        ),
        ({"properties": {"c": {"const": "x"}}}, '(c?: "x")'),
        ({"properties": {"l": {"type": "array", "items": {"type": "number"}}}}, "(l?: number[])"),
        ({"properties": {"l": {"type": "array"}}}, "(l?: any[])"),
        (
            {"properties": {"l": {"type": "array", "items": {"type": ["string", "null"]}}}},
            "(l?: (string | null)[])",
        ),
        ({"properties": {"u": {"anyOf": [{}, {"type": "integer"}]}}}, "(u?: integer)"),
        ({"properties": {"u": {"oneOf": [{}, {"type": "null"}]}}}, "(u?: any)"),
        ({"properties": {"u": {"type": "null"}}}, "(u?: null)"),
        (
            {
                "properties": {
                    "o": {
                        "type": "object",
                        "properties": {"a": {"type": "string"}},
                        "required": ["a"],
                    }
                }
            },
            "(o?: {a: string})",
        ),
        ({"properties": {"o": {"properties": dict.fromkeys("abcdefg", True)}}}, None),
        ({"properties": {"root": {"$ref": "#/$defs/N"}}, "$defs": {"N": NODE}}, None),
        ({"properties": {"x": {"$ref": "https://example.org/x"}}}, "(x?: any)"),
        ({"properties": {"x": True}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]}, None),
        ({"properties": []}, "()"),
    ],
)
def test_arguments_are_said_as_a_signature(schema, said):
    expected = {
        "$defs": "(root?: {value?: string, children?: any[]})",
        "anyOf": "(x?: any, y?: any)",
        "properties": "(o?: {a?: any, b?: any, c?: any, d?: any, e?: any, f?: any, …})",
    }
    key = next((key for key in ("$defs", "anyOf", "properties") if key in schema), "")

    assert signature(schema) == (said or expected[key])


def test_a_long_signature_says_how_many_arguments_are_missing():
    schema = {"properties": {f"argument_{n}": {"type": "string"} for n in range(20)}}

    assert signature(schema, 60) == "(argument_0?: string, argument_1?: string, and 18 more)"


@given(st.dictionaries(st.text(max_size=200), JSON), st.integers(min_value=40, max_value=300))
def test_a_signature_of_anything_is_bounded(properties, room):
    assert len(signature({"properties": properties}, room)) < room + 400
