"""What selectors see of a catalog."""

from typing import Any

import msgspec
import pytest

from toolpick.model import ToolEntry
from toolpick.selection import ToolViews
from toolpick.selection.tools import DESCRIPTION_ROOM, PARAMETER_ROOM, PARAMETERS, view
from toolpick_selectors.contract import Parameter, Tool


def entry(definition: Any) -> ToolEntry:
    return ToolEntry("srv", "own", "srv__own", msgspec.json.encode(definition))


@pytest.mark.parametrize(
    ("definition", "seen"),
    [
        ({}, Tool("srv__own", "own", "srv")),
        (
            {"title": "Own", "description": "Does it."},
            Tool("srv__own", "own", "srv", "Own", "Does it."),
        ),
        ({"annotations": {"title": "Noted"}}, Tool("srv__own", "own", "srv", "Noted")),
        ({"title": 5, "description": [], "annotations": 1}, Tool("srv__own", "own", "srv")),
        (
            {"inputSchema": {"properties": {"a": {"description": "An a."}, "b": True, "c": {}}}},
            Tool(
                "srv__own",
                "own",
                "srv",
                parameters=(Parameter("a", "An a."), Parameter("b"), Parameter("c")),
            ),
        ),
        ({"inputSchema": {"properties": [1]}}, Tool("srv__own", "own", "srv")),
        ({"inputSchema": 5}, Tool("srv__own", "own", "srv")),
    ],
)
def test_a_definition_is_read_as_far_as_it_makes_sense(definition: Any, seen: Tool) -> None:
    assert view(entry(definition)) == seen


def test_a_definition_that_can_not_be_read_is_known_by_its_name() -> None:
    assert view(ToolEntry("srv", "own", "srv__own", b"[]")) == Tool("srv__own", "own", "srv")


def test_a_long_description_is_cut() -> None:
    assert len(view(entry({"description": "x" * 30_000})).description) == DESCRIPTION_ROOM


def test_parameters_without_end_are_cut() -> None:
    properties = {f"{number}" + "n" * 2_000: {"description": "d" * 2_000} for number in range(500)}
    parameters = view(entry({"inputSchema": {"properties": properties}})).parameters

    assert len(parameters) == PARAMETERS
    assert parameters[7] == Parameter("7" + "n" * (PARAMETER_ROOM - 1), "d" * PARAMETER_ROOM)


def test_a_view_is_made_anew_only_where_its_definition_changed() -> None:
    views = ToolViews()
    kept, other = entry({"description": "kept"}), ToolEntry("srv", "b", "srv__b", b"{}")
    [first, _] = views.of([kept, other])

    [second] = views.of([kept])
    [third] = views.of([entry({"description": "changed"})])

    assert second is first
    assert third.description == "changed"
