import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.model import ToolEntry
from toolpick.turns import (
    BadSearch,
    Search,
    arguments_text,
    definitions,
    read_search,
    search_answer,
    text_result,
    with_text,
)
from toolpick.turns.metatools import DEFAULT_LIMIT, DETAILS, MOST


def entry(server, name, description="A test tool.", properties=None, **more):
    exposed = more.pop("exposed", f"{server}__{name}")
    schema = {"type": "object", "properties": properties or {}, **more}
    raw = {"name": exposed, "description": description, "inputSchema": schema}
    return ToolEntry(server, name, exposed, json.dumps(raw).encode())


def catalog(*entries):
    return {tool.exposed: tool for tool in entries}


INVOICE = entry(
    "many",
    "archive_invoice",
    "Archive an invoice.\nIt stays readable.",
    {
        "id": {"type": "string", "description": "Number of\nthe invoice."},
        "dry_run": {"type": "boolean"},
    },
    required=["id"],
)
ODD = entry("odd", "百度地图", "", exposed="odd__item_5bc588bd")
TOOLS = catalog(INVOICE, ODD, entry("many", "lock_album"))


def test_the_meta_tools_say_how_many_tools_of_which_servers_there_are():
    search, call = map(json.loads, definitions(TOOLS))

    assert "3 tools of 2 servers: many 2, odd 1." in search["description"]
    assert [search["name"], call["name"]] == ["search_tools", "call_tool"]
    assert search["annotations"]["readOnlyHint"] is True
    assert call["annotations"]["destructiveHint"] is True
    assert search["_meta"] == call["_meta"] == {"anthropic/alwaysLoad": True}
    assert "no tools at the moment" in json.loads(definitions({})[0])["description"]


@pytest.mark.parametrize("servers", [1, 60, 3000])
def test_a_meta_tools_definition_stays_small_whatever_the_number_of_servers(servers):
    tools = catalog(*(entry(f"server-number-{n}-{'x' * 80}", "t") for n in range(servers)))

    for definition in definitions(tools):
        assert len(definition) < 2048


def test_a_summary_has_the_name_one_line_and_the_arguments():
    assert search_answer(
        TOOLS, ["many__archive_invoice", "gone", "odd__item_5bc588bd"], Search("x")
    ) == (
        "2 of 3 tools, best first. Call one by its name, or with call_tool.\n"
        "\nmany__archive_invoice(id: string, dry_run?: boolean)"
        "\n  Archive an invoice. It stays readable."
        "\n    id: Number of the invoice.\n"
        "\nodd__item_5bc588bd()"
        "\n  百度地图\n"
    )


def test_other_details_have_names_only_or_the_schema():
    names = ["many__archive_invoice", "many__lock_album"]

    assert search_answer(TOOLS, names, Search("x", detail="names")) == (
        "2 of 3 tools, best first. Call one by its name; search_tools has its arguments.\n"
        "\nmany__archive_invoice\nmany__lock_album"
    )
    schema = json.dumps(json.loads(INVOICE.raw)["inputSchema"], separators=(",", ":"))
    assert f"\n  {schema}\n" in search_answer(TOOLS, names, Search("x", detail="schema"))


def test_a_schema_too_long_for_an_answer_is_said_to_be():
    big = entry("s", "big", properties={f"p{n}": {"description": "x" * 200} for n in range(100)})

    assert "(its schema is too long to show)" in search_answer(
        catalog(big), ["s__big"], Search("x", detail="schema")
    )


def test_an_answer_without_matches_says_so_and_what_to_do():
    assert search_answer(TOOLS, [], Search("qqqq zzzz")) == (
        "Nothing matched 'qqqq zzzz'. Say in other words what the tool should do, with fewer or "
        "more general words. There are 3 tools of 2 servers: many 2, odd 1."
    )
    assert search_answer(TOOLS, [], Search(" ", server="many")).startswith(
        "The query is empty, so nothing matched at server many."
    )


def test_servers_that_are_missing_are_named():
    missing = ["slow (starting)", "odd (down)"]
    assert search_answer(TOOLS, [], Search("x"), missing=missing).startswith(
        "Not there at the moment: slow (starting), odd (down).\nNothing matched 'x'."
    )


def test_a_lesser_method_is_named():
    assert search_answer(TOOLS, [], Search("x"), "the model could not be loaded").startswith(
        "Ranked by a lesser method: the model could not be loaded.\n"
    )


TEXT = st.text(max_size=40) | st.just("word " * 5000) | st.just("x" * 5000)
ENTRIES = st.builds(
    entry,
    st.text(min_size=1, max_size=10),
    TEXT,
    TEXT,
    st.dictionaries(TEXT, st.fixed_dictionaries({"description": TEXT, "enum": st.lists(TEXT)})),
    exposed=st.integers(0, 10**9).map(lambda n: f"server__tool_{n}".ljust(48, "x")),
)


@given(st.lists(ENTRIES, max_size=MOST), st.sampled_from(DETAILS), TEXT)
def test_an_answer_is_bounded_and_has_every_name(entries, detail, degraded):
    tools = catalog(*entries)

    answer = search_answer(tools, list(tools), Search("x" * 1000, detail=detail), degraded)

    assert len(answer) < 10_000
    assert all(name in answer for name in tools)


@given(st.integers(1, MOST))
def test_the_largest_tools_leave_room_for_all_names(count):
    properties = {f"{'argument' * 20}{n}": {"description": "d" * 900} for n in range(40)}
    tools = catalog(
        *(entry("s", f"{n}".rjust(45, "t"), "w " * 9000, properties) for n in range(count))
    )

    answer = search_answer(tools, list(tools), Search("x"))

    assert len(answer) < 10_000
    assert all(name in answer for name in tools)


@pytest.mark.parametrize(
    ("given_", "search"),
    [
        ({"query": "mail"}, Search("mail", DEFAULT_LIMIT)),
        ({}, Search("")),
        ({"query": None, "limit": "5", "detail": None, "server": ""}, Search("", 5)),
        (
            {"query": "a", "limit": 0, "detail": "names", "server": "s"},
            Search("a", 1, "names", "s"),
        ),
        ({"query": "a", "limit": 1e9}, Search("a", MOST)),
    ],
)
def test_search_arguments_are_read_with_good_will(given_, search):
    assert read_search(given_, ["s", "t"]) == search


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ([], "the arguments must be an object with query, limit, detail and server"),
        ({"query": 5}, "query must be text, not 5"),
        ({"limit": "many"}, "limit must be a number, not 'many'"),
        ({"limit": []}, "limit must be a number, not []"),
        ({"detail": "all"}, "detail must be one of names, summary, schema, not 'all'"),
        ({"server": "u"}, "there is no server 'u'; there are: s, t"),
    ],
)
def test_search_arguments_without_meaning_are_refused(given_, why):
    with pytest.raises(BadSearch) as caught:
        read_search(given_, ["s", "t"])

    assert str(caught.value) == why


def test_a_text_becomes_a_result():
    assert json.loads(text_result("a\n")) == {"content": [{"type": "text", "text": "a\n"}]}
    assert json.loads(text_result("no", is_error=True))["isError"] is True


def test_a_stubs_arguments_are_told_with_what_they_mean():
    assert (
        arguments_text(INVOICE).splitlines()[0].startswith("Arguments of many__archive_invoice: (")
    )
    assert "    id: Number of" in arguments_text(INVOICE)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            b'{"content":[{"type":"text","text":"a"}],"n":1.0}',
            b'{"content":[{"type":"text","text":"a"},{"type":"text","text":"more"}],"n":1.0}',
        ),
        (b'{"content":[ ]}', b'{"content":[ {"type":"text","text":"more"}]}'),
        (b'{"content":null}', b'{"content":null}'),
        (b'{"resultType":"input_required"}', b'{"resultType":"input_required"}'),
    ],
)
def test_a_text_is_added_to_a_result_and_nothing_else_changes(result, expected):
    assert with_text(result, "more") == expected
