"""JSON files are changed as text: what is put in comes out again, and nothing else moves."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.clients.json_text import append, drop, put, read
from toolpick.clients.jsonc import BadText

VALUE = {"command": "/bin/x", "args": ["a", "b"]}

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=5), TREES, min_size=1, max_size=4)
LAYOUTS = st.sampled_from(
    [
        {"indent": 2},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": None},
        {"indent": None, "separators": (",", ":")},
    ]
)


def nested(path: tuple[str, ...], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


@given(OBJECTS, LAYOUTS, st.booleans(), st.sampled_from(["", "\n", "\r\n"]))
def test_what_is_put_in_and_taken_out_leaves_every_byte(
    tree: dict[str, Any], layout: dict[str, Any], windows: bool, end: str
) -> None:
    tree.pop("new", None)
    text = json.dumps(tree, ensure_ascii=False, **layout) + end
    if windows:
        text = text.replace("\n", "\r\n")

    changed = put(text, ("new",), VALUE)

    assert json.loads(changed) == {**tree, "new": VALUE}
    assert drop(changed, ("new",)) == text
    assert ("\n" in changed.strip()) == ("\n" in text.strip())


@given(OBJECTS, LAYOUTS)
def test_a_deep_value_is_put_in_new_objects(tree: dict[str, Any], layout: dict[str, Any]) -> None:
    tree.pop("new", None)
    text = json.dumps(tree, **layout)

    changed = put(text, ("new", "deeper", "deepest"), 1)

    assert json.loads(changed) == {**tree, "new": {"deeper": {"deepest": 1}}}
    assert drop(changed, ("new",)) == text


EDITOR = """\
// settings of an editor
{
    "theme": "One", // the theme
    /* servers */
    "servers": {
        "git": { "command": "git" }, /* mine */
        // "off": { "command": "off" },
    },
    "last": [1, 2,],
}
"""


def test_comments_and_trailing_commas_stay() -> None:
    changed = put(EDITOR, ("servers", "new"), VALUE)

    assert changed == EDITOR.replace(
        '"git": { "command": "git" }, /* mine */\n',
        '"git": { "command": "git" }, /* mine */\n'
        '        "new": {\n'
        '            "command": "/bin/x",\n'
        '            "args": [\n'
        '                "a",\n'
        '                "b"\n'
        "            ]\n"
        "        },\n",
    )
    assert read(changed)["servers"] == {"git": {"command": "git"}, "new": VALUE}
    assert drop(changed, ("servers", "new")) == EDITOR


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", '{\n  "a": 1\n}\n'),
        ("  \n", '{\n  "a": 1\n}\n'),
        ("{}", '{\n  "a": 1\n}'),
        ("{ }\n", '{\n  "a": 1\n}\n'),
        ("{\n}\n", '{\n  "a": 1\n}\n'),
        ("{\r\n}\r\n", '{\r\n  "a": 1\r\n}\r\n'),
        ("{ // note\n}", '{ // note\n  "a": 1\n}'),
        ('{"b":2}', '{"b":2,"a":1}'),
        ('{ "b": 2 }', '{ "b": 2, "a": 1 }'),
        ('{ "b": 2, }', '{ "b": 2, "a": 1, }'),
        ('{\n "b": 2 // two\n}', '{\n "b": 2, // two\n "a": 1\n}'),
        ('{\n "b": 2 }', '{\n "b": 2,\n "a": 1 }'),
        ('{"a": 2}', '{"a": 1}'),
    ],
)
def test_new_keys_are_laid_out_as_their_surroundings(text: str, changed: str) -> None:
    assert put(text, ("a",), 1) == changed


def test_a_one_line_value_in_a_file_of_many_lines_stays_on_one_line() -> None:
    text = '{\n  "servers": {"a": {"command": "old"}}\n}\n'

    assert put(text, ("servers", "a"), VALUE) == (
        '{\n  "servers": {"a": {"command": "/bin/x", "args": ["a", "b"]}}\n}\n'
    )


@pytest.mark.parametrize(
    ("text", "path", "left"),
    [
        ('{"a":1,"b":2,"c":3}', ("a",), '{"b":2,"c":3}'),
        ('{"a":1,"b":2,"c":3}', ("b",), '{"a":1,"c":3}'),
        ('{"a":1,"b":2,"c":3}', ("c",), '{"a":1,"b":2}'),
        ('{ "a": 1, }', ("a",), "{}"),
        ('{\n  "a": 1,\n  "b": 2\n}', ("a",), '{\n  "b": 2\n}'),
        ('{\n  "a": 1,\n  "b": 2\n}', ("b",), '{\n  "a": 1\n}'),
        ('{\n  "a": 1, // one\n  "b": 2 // two\n}', ("b",), '{\n  "a": 1 // one\n}'),
        ('{\n  // about a\n  "a": 1\n}', ("a",), "{\n  // about a\n}"),
        ('{"a": [1, 2, 3]}', ("a", 1), '{"a": [1, 3]}'),
        ('{"a": [\n  {"x": 1},\n  {"x": 2}\n]}', ("a", 1), '{"a": [\n  {"x": 1}\n]}'),
    ],
)
def test_taking_out_leaves_the_rest_well_formed(
    text: str, path: tuple[str | int, ...], left: str
) -> None:
    assert drop(text, path) == left


def test_elements_are_appended_to_arrays_old_and_new() -> None:
    assert append("{}", ("hooks", "e"), 1) == (
        '{\n  "hooks": {\n    "e": [\n      1\n    ]\n  }\n}'
    )
    assert append('{"e": [1]}', ("e",), 2) == '{"e": [1, 2]}'
    assert append('{\n  "e": [\n    1\n  ]\n}', ("e",), {"x": 2}) == (
        '{\n  "e": [\n    1,\n    {\n      "x": 2\n    }\n  ]\n}'
    )
    assert append('{\n  "e": []\n}', ("e",), 2) == '{\n  "e": [\n    2\n  ]\n}'


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("[1]", 1, "the whole is no object"),
        ('{"a": {"b": 3}}', 1, "a.b is no object"),
        ('{\n"a": 1\n"b": 2}', 3, "lacks a comma or } in column 1"),
        ('{\n"a" 1}', 2, "lacks a colon in column 5"),
        ("{a: 1}", 1, "lacks a text in double quotes in column 2"),
        ('{"a": "\\q"}', 1, "holds an escape that JSON does not know in column 7"),
        ('{"a": nope}', 1, "holds a word that is no value in column 7"),
        ('{"a": NaN}', 1, "is no JSON in column 7"),
        ('{"a": }', 1, "lacks a value in column 7"),
        ('{"a": 1', 1, "lacks a comma or } in column 8"),
        ('{"a": "open}', 1, "lacks a text in double quotes in column 7"),
        ("{} x", 1, "goes on after its end in column 4"),
        ("{ /* open }", 1, "lacks a text in double quotes in column 3"),
        ("[" * 100_000, 0, "is nested too deeply"),
    ],
)
def test_what_can_not_be_changed_is_said_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(BadText) as caught:
        put(text, ("a", "b", "c"), 1)

    assert (caught.value.line, str(caught.value)) == (line, what)


def test_an_array_is_expected_where_something_is_appended() -> None:
    with pytest.raises(BadText, match="a is no array"):
        append('{"a": {}}', ("a",), 1)


def test_of_a_key_given_twice_the_last_counts_as_for_the_clients() -> None:
    text = '{"a": {"x": 1}, "a": {"y": 2}}'

    assert read(put(text, ("a", "z"), 3)) == {"a": {"y": 2, "z": 3}}
