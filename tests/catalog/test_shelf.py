import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog.shelves import encoded, listed, shelf, snapshot, tool

from toolpick.catalog import Rules, Shelf, Snapshot, legacy_form, settle, shelve
from toolpick.catalog.definitions import RESOURCE_FIELDS, TOOL_FIELDS
from toolpick.catalog.depth import LEVELS
from toolpick.model import ToolEntry

FIELDS = st.sampled_from(
    (*TOOL_FIELDS, *RESOURCE_FIELDS, "arguments", "type", "properties", "required", "anyOf", "$ref")
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(FIELDS | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=25,
)
ENTRY = ANY | st.dictionaries(FIELDS, ANY, max_size=8)


@given(st.lists(ENTRY, max_size=5), st.booleans())
def test_whatever_a_server_lists_becomes_a_shelf_of_sound_entries(entries, flat):
    raw = encoded(entries)

    made = shelve(Rules("s", "s", flat_schemas=flat), Snapshot(raw, raw, raw, raw))

    for entry in listed(made.tools):
        assert isinstance(entry["name"], str)
        assert isinstance(entry.get("title", ""), str)
        assert isinstance(entry.get("description", ""), str)
        assert entry["inputSchema"]["type"] == "object"
        assert isinstance(entry.get("annotations", {}), dict)
    for entry in listed(made.resources):
        assert ":" in entry["uri"]
        assert isinstance(entry["name"], str)


@given(st.lists(st.binary(max_size=20), max_size=4))
def test_bytes_that_are_no_json_are_left_out(entries):
    made = shelve(Rules("s", "s"), Snapshot(tuple(entries)))

    assert made.tools == ()
    assert len(made.remarks) == len(entries)


def test_one_bad_definition_is_left_out_by_name_or_position_and_takes_no_other_with_it():
    made = shelf(
        "poison",
        tool("good"),
        None,
        7,
        {"description": "no name"},
        tool("", "empty name"),
        tool("text", inputSchema={"type": "string"}),
        tool("odd", inputSchema="none"),
        tool("nobody", inputSchema=False),
        tool("last"),
        tool("good", "a second one"),
    )

    assert [entry.exposed for entry in made.tools] == ["poison__good", "poison__last"]
    assert made.remarks == (
        "poison: tool at position 2: left out, since null is no definition",
        "poison: tool at position 3: left out, since 7 is no definition",
        "poison: tool at position 4: left out, since it has no name",
        "poison: tool at position 5: left out, since it has no name",
        "poison: tool at position 10: left out, since 'good' is listed twice",
        "poison: tool 'nobody': left out, since inputSchema is False, not an object",
        "poison: tool 'odd': left out, since inputSchema is 'none', not an object",
        "poison: tool 'text': left out, since inputSchema.type is 'string', not 'object'",
    )


@pytest.mark.parametrize(
    ("given_", "mended"),
    [
        ({"inputSchema": None}, {"inputSchema": {"type": "object"}}),
        ({"inputSchema": []}, {"inputSchema": {"type": "object"}}),
        ({"inputSchema": {}}, {"inputSchema": {"type": "object"}}),
        ({"inputSchema": {"a": 1.0}}, {"inputSchema": {"type": "object", "a": 1.0}}),
        ({"inputSchema": {"type": ["object", "null"]}}, {"inputSchema": {"type": "object"}}),
        ({"description": ["a"]}, {}),
        ({"title": 5}, {}),
        ({"annotations": "x"}, {}),
        (
            {"annotations": {"readOnlyHint": "yes", "title": 3, "x": 1}},
            {"annotations": {"x": 1}},
        ),
        ({"icons": [{"src": "a"}, {}]}, {}),
        ({"outputSchema": "x"}, {}),
        ({"outputSchema": {"type": "wat"}}, {}),
        ({"outputSchema": {"type": "dict"}}, {"outputSchema": {"type": "object"}}),
        ({"_meta": 1, "execution": []}, {}),
    ],
)
def test_what_strict_clients_refuse_is_set_right_and_said(given_, mended):
    base = {"name": "t", "inputSchema": {"type": "object"}}

    made = shelf("s", {**base, **given_})

    assert listed(made.tools) == [{**base, "name": "s__t", **mended}]
    assert made.remarks


@pytest.mark.parametrize("key", ["description", "title", "outputSchema", "annotations", "_meta"])
def test_a_null_where_nothing_may_be_null_goes_without_a_word(key):
    made = shelf("s", {"name": "t", "inputSchema": {"type": "object"}, key: None})

    assert listed(made.tools) == [{"name": "s__t", "inputSchema": {"type": "object"}}]
    assert made.remarks == ()


def test_everything_legal_passes_byte_for_byte_below_the_first_level():
    schema = (
        b'{"type" : "object", "x":1.0, "big":123456789012345678901234567890,"n":null,"f":1e400}'
    )
    meta = b'{ "com.example/a":null,"z":-0.0 }'
    raw = b'{"zz":[1, 2.50],"_meta":%b,"inputSchema":%b,"outputSchema":true,"name":"t","aa":null}'

    made = shelve(Rules("s", "s"), Snapshot((raw % (meta, schema),)))

    wanted = (
        b'{"name":"s__t","inputSchema":%b,"outputSchema":true,"_meta":%b,"aa":null,"zz":[1, 2.50]}'
    )
    assert made == Shelf("s", "s", (ToolEntry("s", "t", "s__t", wanted % (schema, meta)),))


def test_a_mended_schema_keeps_its_numbers_as_they_were_written():
    raw = b'{"name":"t","inputSchema":{"maximum":1e400,"minimum":1.0,"x":12345678901234567890123}}'

    made = shelve(Rules("s", "s"), Snapshot((raw,)))

    assert made.tools[0].raw == (
        b'{"name":"s__t","inputSchema":'
        b'{"type":"object","maximum":1e400,"minimum":1.0,"x":12345678901234567890123}}'
    )


def test_line_breaks_between_tokens_go_since_a_line_is_a_message():
    made = shelve(Rules("s", "s"), Snapshot((json.dumps(tool("t"), indent=2).encode(),)))

    assert b"\n" not in made.tools[0].raw


@pytest.mark.parametrize("text", [rb"\ud800 lone", b"\xff bytes"])
def test_text_that_is_no_unicode_is_replaced(text):
    raw = b'{"name":"t","description":"' + text + b'","inputSchema":{"type":"object"}}'

    made = shelve(Rules("s", "s"), Snapshot((raw,)))

    assert listed(made.tools)[0]["description"] == "\ufffd" + text.decode("latin1").lstrip(
        r"\ud80ÿ"
    )
    assert made.remarks == ("s: tool 't': text that is no Unicode replaced",)


@pytest.mark.parametrize("depth", [900, 100_000])
def test_a_definition_nested_too_deeply_takes_no_other_with_it(depth):
    deep = b'{"name":"d","inputSchema":{"type":"object","x":%b%b}}' % (b"[" * depth, b"]" * depth)
    fine = json.dumps(tool("fine")).encode()

    made = shelve(Rules("s", "s"), Snapshot((deep, fine)))

    assert "fine" in [entry.name for entry in made.tools]


def test_a_shelf_does_not_depend_on_the_order_of_the_list_or_of_its_fields():
    tools = [tool(f"t{n}", title="T", _meta={"a": 1}, zz=1, aa=2) for n in range(9)]
    draw = random.Random(7)
    shuffled = [dict(draw.sample(list(t.items()), len(t))) for t in draw.sample(tools, len(tools))]

    assert shelf("s", *shuffled) == shelf("s", *tools)
    assert [entry.name for entry in shelf("s", *shuffled).tools] == [f"t{n}" for n in range(9)]


def test_filters_are_about_the_servers_own_names_and_come_before_everything_else():
    made = shelf(
        "s",
        tool("read_a"),
        tool("read_secret", inputSchema="broken, but nobody is told"),
        tool("write_a"),
        allow=("read_*", "list_*"),
        deny=("*_secret", "s__read_a"),
    )

    assert [entry.name for entry in made.tools] == ["read_a"]
    assert made.unmatched == ("allow 'list_*'", "deny 's__read_a'")
    assert made.remarks == (
        "s: allow 'list_*' matches no tool of this server",
        "s: deny 's__read_a' matches no tool of this server",
    )


def test_a_pattern_is_not_called_unmatched_where_no_tool_is_listed():
    assert shelf("s", deny=("x",)).unmatched == ()


def test_the_original_of_a_changed_name_stays_readable():
    made = shelf("s", tool("a.b"), tool("c.d", title="Titled"), tool("e.f", "Does e.f.", title="T"))

    assert [(entry.get("title"), entry["description"]) for entry in listed(made.tools)] == [
        ("a.b", "A test tool."),
        ("Titled", "A test tool. (Original name: c.d)"),
        ("T", "Does e.f."),
    ]


def test_flat_schemas_lose_no_tool_and_say_the_rule():
    rule = {"type": "object", "oneOf": [{"required": ["id"]}, {"required": ["slug"]}]}
    nested = {"type": "object", "properties": {"x": {"oneOf": [{}, {}]}}}
    long = {"type": "object", "anyOf": [{"required": [f"argument_{n}" * 9]} for n in range(12)]}

    made = listed(
        shelf(
            "s",
            tool("rule", inputSchema=rule),
            {"name": "mute", "inputSchema": rule},
            tool("nested", inputSchema=nested),
            tool("long", inputSchema=long),
            flat_schemas=True,
        ).tools
    )

    flat = {"type": "object", "properties": {"id": {}, "slug": {}}}
    assert made[1] == {
        "name": "s__mute",
        "description": "Give exactly one of: id; or slug.",
        "inputSchema": flat,
    }
    assert made[2] == {**tool("nested", inputSchema=nested), "name": "s__nested"}
    assert made[3] == tool(
        "s__rule", "A test tool. Give exactly one of: id; or slug.", inputSchema=flat
    )
    assert len(made[0]["description"]) < 700


def test_a_root_without_type_is_flattened_in_any_setting_when_it_has_combinators():
    schema = {"anyOf": [{"properties": {"a": {"type": "string"}}}]}

    made = shelf("s", tool("t", inputSchema=schema))

    assert listed(made.tools)[0]["inputSchema"] == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
    }
    assert len(made.remarks) == 2


def test_prompts_are_named_and_mended_like_tools():
    made = shelf(
        "s",
        prompts=[
            {"name": "plain", "arguments": [{"name": "a", "required": True, "x": 1}]},
            {
                "name": "odd",
                "description": None,
                "arguments": [{"name": "a", "description": 1}, "b"],
            },
            {"name": "two words", "arguments": None},
            {"name": "wrong", "arguments": "a"},
            {"title": "none"},
        ],
    )

    assert listed(made.prompts) == [
        {"name": "s__odd", "arguments": [{"name": "a"}]},
        {"name": "s__plain", "arguments": [{"name": "a", "required": True, "x": 1}]},
        {"name": "s__two_words_6839f7a9", "title": "two words"},
        {"name": "s__wrong"},
    ]
    assert made.remarks == (
        "s: prompt at position 5: left out, since it has no name",
        "s: prompt 'odd': arguments without a name or with fields of the wrong kind mended",
        "s: prompt 'wrong': arguments is 'a'; left out",
    )


def test_resources_and_templates_pass_under_their_own_uris():
    made = shelf(
        "s",
        resources=[
            {"uri": "info://b", "name": "b", "size": 1.5, "mimeType": None},
            {"uri": "info://a", "size": True},
            {"uri": "not a uri", "name": "odd"},
            {"uri": "not%20a%20uri", "name": "same once encoded"},
            {"name": "none"},
            {"uri": 5},
        ],
        templates=[{"uriTemplate": "info://{id}", "name": "t"}, {"uri": "info://x"}],
    )

    assert listed(made.resources) == [
        {"uri": "info://a", "name": "info://a"},
        {"uri": "info://b", "name": "b", "size": 1.5},
        {"uri": "toolpick+s:not%20a%20uri", "name": "odd"},
    ]
    assert [entry.uri for entry in made.resources] == ["info://a", "info://b", "not a uri"]
    assert listed(made.templates) == [{"uriTemplate": "info://{id}", "name": "t"}]
    assert "s: resource 'info://a': it has no name; listed under its uri" in made.remarks


def test_old_bytes_stay_where_only_the_order_of_nested_fields_is_new():
    def with_schemas(*schemas):
        tools = [tool(f"t{n}", inputSchema=schema) for n, schema in enumerate(schemas)]
        return shelve(Rules("s", "s"), snapshot(tools))

    old = with_schemas({"type": "object", "a": 1, "b": True}, {"type": "object", "c": 1})
    new = with_schemas(
        {"b": True, "a": 1, "type": "object"}, {"type": "object", "c": 2}, {"type": "object"}
    )

    settled = settle(old, new)

    assert settled.tools == (old.tools[0], *new.tools[1:])
    truth = with_schemas({"b": 1, "a": True, "type": "object"})
    assert settle(old, truth).tools == truth.tools


@pytest.mark.parametrize(
    ("output", "kept"),
    [({"type": "object"}, True), ({"type": "array"}, False), (True, False), ({}, False)],
)
def test_older_clients_get_no_output_schema_but_of_an_object(output, kept):
    raw = json.dumps(tool("t", outputSchema=output)).encode()

    legacy = legacy_form(raw)

    assert (legacy is raw) is kept
    assert ("outputSchema" in json.loads(legacy)) is kept


def test_a_definition_without_output_schema_is_the_same_for_older_clients():
    for description in ("plain", 'says "outputSchema"', '"outputSchema"'):
        raw = json.dumps({**tool("t", description), "_meta": {"outputSchema": 1}}).encode()
        assert legacy_form(raw) is raw


def deep(levels, inner="{}"):
    """The JSON of a schema with so many objects inside each other."""
    return '{"type":"object","properties":{"a":' * levels + inner + "}}" * levels


def test_a_schema_that_is_too_deep_for_clients_is_cut_and_its_tool_stays_usable():
    raw = b'{"name":"deep","inputSchema":%b}' % deep(400).encode()

    [entry] = shelve(Rules("s", "s"), Snapshot((raw,))).tools

    levels = 2
    node = json.loads(entry.raw)["inputSchema"]
    while node:
        assert node["type"] == "object"
        node, levels = node["properties"]["a"], levels + 2
    assert levels == 92 < LEVELS


def test_what_was_cut_is_remarked_on():
    raw = b'{"name":"deep","inputSchema":{"type":"object"},"_meta":%b}' % deep(100).encode()

    made = shelve(Rules("s", "s"), Snapshot((raw,)))

    assert made.remarks == ("s: tool 'deep': _meta is nested more than 100 levels deep; cut there",)


def test_a_definition_of_many_small_parts_is_not_deep():
    many = {f"p{number}": {"enum": [["a"], {"b": []}]} for number in range(200)}
    made = shelf("s", tool("wide", inputSchema={"type": "object", "properties": many}))

    assert made.remarks == ()
    assert listed(made.tools)[0]["inputSchema"]["properties"] == many


def test_remarks_on_one_definition_and_on_one_list_are_counted_once_they_are_many():
    nulls = {f"p{number}": {"description": None} for number in range(9)}
    [*told, last] = shelf(
        "s", tool("wide", inputSchema={"type": "object", "properties": nulls})
    ).remarks

    assert len(told) == 5
    assert last == "s: tool 'wide': 4 more changes like these"

    remarks = shelf("s", *[None] * 1_234).remarks

    assert (len(remarks), remarks[-1]) == (1_001, "s: 234 more remarks like these")


def test_numbers_beyond_what_python_knows_do_not_hinder_the_order_of_fields():
    one = b'{"name":"t","inputSchema":{"type":"object","maximum":1e999,"minimum":-1.50}}'
    two = b'{"name":"t","inputSchema":{"minimum":-1.50,"maximum":1e999,"type":"object"}}'
    before, after = (shelve(Rules("s", "s"), Snapshot((raw,))) for raw in (one, two))

    assert settle(before, after).tools == before.tools
