"""TOML files are changed as text: tables behind the rest, single keys under their header."""

import tomllib

import pytest

from toolpick.clients.jsonc import BadText
from toolpick.clients.toml_text import drop, drop_key, put, put_key, read

VALUE = {"command": "/bin/x y", "args": ["a", 'q"'], "required": True, "seconds": 30}
BLOCK = """\
[mcp_servers.new]
command = "/bin/x y"
args = ["a", "q\\""]
required = true
seconds = 30
"""
PATH = ("mcp_servers", "new")

USUAL = '''\
# mine
model = "o" # the model
notes = """
[mcp_servers.new]
not = "a table"
"""
matrix = [
  [1, 2],
  ["[x]"],
]

[mcp_servers.git] # version control
command = "git"
env = { A = "]" }

  [[hooks.event]]
  x = '['

# the end
'''


@pytest.mark.parametrize("text", [USUAL, "a = 1\n", "", USUAL.replace("\n", "\r\n"), "[b]\n"])
def test_a_table_goes_behind_the_rest_and_out_again(text: str) -> None:
    changed = put(text, PATH, VALUE)

    block = BLOCK.replace("\n", "\r\n") if "\r\n" in text else BLOCK
    assert changed.startswith(text)
    assert changed.endswith(block)
    assert tomllib.loads(changed)["mcp_servers"]["new"] == VALUE
    assert drop(changed, PATH) == text


def test_a_file_without_a_last_line_break_gets_one() -> None:
    assert put("a = 1", PATH, VALUE) == f"a = 1\n\n{BLOCK}"


def test_a_table_is_replaced_where_it_stands_and_comments_stay_with_the_next() -> None:
    text = 'a = 1\n\n[mcp_servers.new]\ncommand = "old"\n\n# about b\n[b]\nc = 2\n'

    changed = put(text, PATH, VALUE)

    assert changed == f"a = 1\n\n{BLOCK}\n# about b\n[b]\nc = 2\n"
    assert drop(changed, PATH) == "a = 1\n\n# about b\n[b]\nc = 2\n"


def test_tables_below_go_with_it() -> None:
    text = '[mcp_servers."new"]\ncommand = "old"\n\n[mcp_servers.new.env]\nA = "1"\n\n[b]\n'

    assert read(drop(text, PATH)) == {"b": {}}
    assert read(put(text, PATH, {"command": "x", "env": {"A": "2"}})) == {
        "mcp_servers": {"new": {"command": "x", "env": {"A": "2"}}},
        "b": {},
    }


def test_tables_inside_a_value_get_headers_of_their_own() -> None:
    assert put("", ("s", "a b"), {"url": "u", "http_headers": {"X-Y": "z"}}) == (
        '[s."a b"]\nurl = "u"\n\n[s."a b".http_headers]\nX-Y = "z"\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { new = { command = "x" } }\n',
        '[mcp_servers]\nnew = { command = "x" }\n',
        '[mcp_servers]\nnew.command = "x"\n',
    ],
)
def test_a_table_in_another_form_is_left_to_a_person(text: str) -> None:
    what = "mcp_servers.new is written in a way that only a person can change"
    with pytest.raises(BadText, match=what):
        put(text, PATH, VALUE)
    with pytest.raises(BadText, match=what):
        drop(text, PATH)


def test_servers_in_one_inline_table_are_left_to_a_person() -> None:
    with pytest.raises(BadText, match="only a person"):
        put("mcp_servers = {}\n", PATH, VALUE)


def test_a_key_is_put_under_its_header_and_taken_out_again() -> None:
    text = "a = 1\n[features]  # more\nb = true\n[c]\n"

    changed = put_key(text, "features", "hooks", True)

    assert changed == "a = 1\n[features]  # more\nhooks = true\nb = true\n[c]\n"
    assert drop_key(changed, "features", "hooks") == text


def test_a_key_of_a_missing_table_brings_the_table() -> None:
    changed = put_key("a = 1\n", "features", "hooks", True)

    assert changed == "a = 1\n\n[features]\nhooks = true\n"
    assert drop_key(changed, "features", "hooks") == "a = 1\n\n[features]\n"


def test_a_header_on_the_last_line_gets_its_key_below() -> None:
    assert put_key("[features]", "features", "hooks", True) == "[features]\nhooks = true\n"


@pytest.mark.parametrize("text", ["features = { b = true }\n", "features.b = true\n"])
def test_a_key_of_a_table_without_a_header_is_left_to_a_person(text: str) -> None:
    with pytest.raises(BadText, match="only a person"):
        put_key(text, "features", "hooks", True)


def test_a_key_without_a_header_is_not_taken_out() -> None:
    with pytest.raises(BadText, match="features has no header of its own"):
        drop_key("features.hooks = true\n", "features", "hooks")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a = 1\nb = nope\n", 2, "invalid value in column 5"),
        ("a = " + "[" * 5_000, 0, "is nested too deeply"),
    ],
)
def test_what_is_no_toml_is_said_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(BadText) as caught:
        put(text, PATH, VALUE)

    assert (caught.value.line, str(caught.value)) == (line, what)


def test_all_kinds_of_values_come_back_as_they_were() -> None:
    text = "[mcp_servers.new]\nat = 2026-01-02\nf = 1.5\nn = [1, [2]]\nb = false\ns = '\x7f'\n"
    if "\x7f" in text:
        text = text.replace("\x7f", "\\u007f").replace("'", '"')

    value = read(text)["mcp_servers"]["new"]

    assert read(put("", PATH, value)) == read(text)
