"""Line numbers: for any document, each key is where the locators say it is."""

import json
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.config.json_lines import json_lines
from toolpick.config.toml_lines import toml_lines

SCALARS = st.sampled_from(
    [
        *("1", "0x1f", "-inf", "true", "1979-05-27 07:32:00", "1979-05-27"),
        *('""', "''", '"a # [b] = \\" {c},"', "'C:\\x'", '"\\\\"'),
        *('"""\nq = 1\n[x]\n"""', '"""a\\\n  b \\""" """', '""""x"""""', "'''a''\nb''''", '""""""'),
    ]
)
GAPS = st.sampled_from(["", " ", "\n", " # no ] here, nor }\n", "\r\n\t"])
KEYS = st.sampled_from(["@", "'@'", '"@"', "@.@", '@ . "@"', '"\\u0040.\\"@"'])


@st.composite
def arrays(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    items = [draw(GAPS) + item + draw(GAPS) for item in draw(st.lists(values, max_size=3))]
    end = draw(st.sampled_from(["", ","])) if items else ""
    return "[" + ",".join(items) + end + draw(GAPS) + "]"


@st.composite
def inline_tables(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    pairs = [f"{draw(KEYS)} = {value}" for value in draw(st.lists(values, max_size=3))]
    return "{ " + ", ".join(pairs) + " }"


VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(arrays(inner), inline_tables(inner)), max_leaves=6
)
ENDS = st.sampled_from(["\n", " # more = [\n", "\r\n", "\n\n\t"])
PAIRS = st.builds(lambda key, value, end: f"{key} = {value}{end}", KEYS, VALUES, ENDS)
HEADERS = st.builds(
    lambda form, key, end: form.replace("KEY", key) + end,
    st.sampled_from(["[KEY]", "[ KEY ]", "[[KEY]]"]),
    KEYS,
    ENDS,
)


def numbered(text: str) -> str:
    """Give each key a name of its own."""
    parts = text.replace("\\u0040", "@").split("@")
    return parts[0] + "".join(f"key{number}z{part}" for number, part in enumerate(parts[1:]))


def paths(value: Any) -> set[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = list(enumerate(value))
    return {(key,) for key, _ in items} | {(key, *p) for key, v in items for p in paths(v)}


@given(st.lists(st.one_of(PAIRS, HEADERS), max_size=12).map("".join).map(numbered))
def test_every_key_of_a_toml_document_has_the_line_it_stands_on(text: str) -> None:
    lines = toml_lines(text)

    assert set(lines) == paths(tomllib.loads(text))
    for path, line in lines.items():
        name = re.search(r"key\d+z", str(path[-1]))
        if name:
            assert line == text.count("\n", 0, text.index(name.group())) + 1


def test_arrays_of_tables_are_told_apart_by_index() -> None:
    text = "[[a]]\nx = 1\n[a.b]\ny = 1\n[[a]]\nx = 2\n[[a.c]]\n[[a.c]]\n[a.c.d]\nz = 1\n"

    assert toml_lines(text) == {
        ("a",): 1,
        ("a", 0): 1,
        ("a", 0, "x"): 2,
        ("a", 0, "b"): 3,
        ("a", 0, "b", "y"): 4,
        ("a", 1): 5,
        ("a", 1, "x"): 6,
        ("a", 1, "c"): 7,
        ("a", 1, "c", 0): 7,
        ("a", 1, "c", 1): 8,
        ("a", 1, "c", 1, "d"): 9,
        ("a", 1, "c", 1, "d", "z"): 10,
    }


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@given(st.dictionaries(st.text(), JSON_VALUES), st.sampled_from([None, 0, 3]), st.booleans())
def test_every_key_of_a_json_document_is_found(
    tree: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    lines, again = json_lines(json.dumps(tree, indent=indent, ensure_ascii=ascii_only))

    assert set(lines) == paths(tree)
    assert again == ()


def test_keys_of_a_json_document_have_their_lines() -> None:
    text = '\n{"a" :\n {"b, \\"c": [1,\n [2]], "d": {}},\n"e": "\\u0041",\n "a": {"d": 1}}'

    lines, again = json_lines(text)

    assert lines == {
        ("a",): 6,
        ("a", 'b, "c'): 3,
        ("a", 'b, "c', 0): 3,
        ("a", 'b, "c', 1): 4,
        ("a", 'b, "c', 1, 0): 4,
        ("a", "d"): 6,
        ("e",): 5,
    }
    assert again == ((("a",), 2),)


@pytest.mark.parametrize("text", ["", "\n\n# nothing\n", "\r\n"])
def test_an_empty_document_has_no_keys(text: str) -> None:
    assert toml_lines(text) == {}
