import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolpick.model import ToolEntry
from toolpick.turns import context
from toolpick.turns.context import ROOM

FORECAST = {
    "name": "weather__forecast",
    "description": "Rain and wind. In any city of the world.",
    "inputSchema": {
        "type": "object",
        "properties": {"days": {"type": "integer"}, "city": {"type": "string"}},
        "required": ["city"],
    },
}


def entry(definition: dict[str, Any]) -> ToolEntry:
    name = definition["name"]
    return ToolEntry("s", name, name, json.dumps(definition, ensure_ascii=False).encode())


def test_tools_are_named_with_what_they_take_and_do():
    tools = [entry(FORECAST), entry({"name": "clock__now", "inputSchema": {"type": "object"}})]

    assert context(tools) == (
        "Tools that may serve this request, best first. Call one with call_tool, which takes the "
        "name and the arguments. Anything else is found with search_tools.\n"
        "- weather__forecast(city: string, days?: integer): Rain and wind.\n"
        "- clock__now()\n"
    )


def test_where_the_model_may_call_directly_it_is_told_how():
    head = context([entry(FORECAST)], "mcp__toolpick__", through=False).splitlines()[0]

    assert head == (
        "Tools that may serve this request, best first. Call one directly as mcp__toolpick__NAME."
    )


def test_a_model_that_is_shown_all_tools_is_told_no_way():
    head = context([entry(FORECAST)], through=False).splitlines()[0]

    assert head == "Tools that may serve this request, best first."


def test_no_tools_are_no_text():
    assert context([]) == ""


def test_a_title_stands_in_for_a_description_and_odd_ones_for_nothing():
    titled = entry({"name": "a", "title": "Does it", "inputSchema": {"type": "object"}})
    odd = entry({"name": "b", "description": 7, "inputSchema": [], "n": 0})

    assert context([titled, odd]).splitlines()[1:] == ["- a(): Does it", "- b()"]


@given(st.lists(st.text(max_size=3000), max_size=40))
def test_the_text_stays_small_and_keeps_the_best(descriptions):
    tools = [
        entry({**FORECAST, "name": f"t{n}", "description": text})
        for n, text in enumerate(descriptions)
    ]

    text = context(tools, "mcp__toolpick__")

    assert len(text.encode()) <= ROOM
    named = [line.partition("(")[0] for line in text.splitlines()[1:]]
    assert named == [f"- t{n}" for n in range(len(named))]
    assert bool(named) == bool(tools)
