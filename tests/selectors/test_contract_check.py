"""The shared contract test notices every rule that a selector can break."""

import subprocess
import sys

import pytest

from toolpick_selectors.contract import Pick, Selection, SelectionContext, Tool
from toolpick_selectors.testing import TOOLS, broken_rule, check_selector, run

CONTEXT = SelectionContext("t", "q", (), 2)
A, B = Tool("a", "a"), Tool("b", "b")


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        ([], "no Selection but list"),
        (Selection([Pick("a", 1.0)], "r"), "no tuple of Pick"),
        (Selection((Pick("c", 1.0),), "r"), "not handed in: ['c']"),
        (Selection((Pick("a", 1.0), Pick("a", 1.0)), "r"), "picked twice"),
        (Selection((Pick("a", 1.0), Pick("b", 2.0)), "r"), "not best first"),
        (Selection((Pick("a", float("nan")),), "r"), "not a number"),
        (Selection((Pick("a", 1.0),), ""), "gives no reason"),
    ],
)
def test_each_broken_rule_is_named(answer, rule):
    assert rule in broken_rule(answer, CONTEXT, (A, B))


def test_more_picks_than_the_limit_are_noticed():
    answer = Selection(tuple(Pick(tool.id, 1.0) for tool in (A, B)), "r")
    assert "limit of 1" in broken_rule(answer, SelectionContext("t", "q", (), 1), (A, B))


def test_a_proper_answer_breaks_nothing():
    assert broken_rule(Selection((Pick("b", 1.0),), "r"), CONTEXT, (A, B)) == ""


class Stale:
    """Answers from the first list that it saw."""

    def __init__(self):
        self.seen = ()

    def select(self, context, tools):
        self.seen = self.seen or tuple(tools)
        return Selection(tuple(Pick(tool.id, 1.0) for tool in self.seen[: context.limit]), "first")


class Forgetful:
    """Knows a list by its ids, and so keeps what it read of other texts."""

    def __init__(self):
        self.read = {}

    def select(self, context, tools):
        ids = tuple(tool.id for tool in tools)
        lengths = self.read.setdefault(ids, [len(tool.description) for tool in tools])
        ranked = sorted(zip(lengths, ids, strict=True), key=lambda pair: (-pair[0], pair[1]))
        picks = tuple(Pick(id, length) for length, id in ranked[: context.limit])
        return Selection(picks, "by length")


class Fickle:
    def __init__(self):
        self.calls = 0

    def select(self, context, tools):
        self.calls += 1
        return Selection(tuple(Pick(tool.id, self.calls) for tool in tools[:1]), "counted")


class Later:
    async def select(self, context, tools):
        return Selection(tuple(Pick(tool.id, 1.0) for tool in tools[: context.limit]), "all")


def test_a_selector_that_remembers_tools_is_caught():
    with pytest.raises(AssertionError, match="after the list of tools changed"):
        check_selector(Stale)


def test_a_selector_that_misses_a_changed_text_is_caught():
    with pytest.raises(AssertionError, match="changed: a fresh selector answers differently"):
        check_selector(Forgetful)


def test_a_selector_that_changes_its_mind_is_caught():
    with pytest.raises(AssertionError, match="answered differently"):
        check_selector(Fickle)


def test_an_async_selector_is_awaited():
    check_selector(Later)
    assert run(Later(), CONTEXT, TOOLS).reason == "all"


def test_the_contract_imports_neither_numpy_nor_tokenizers():
    code = (
        "import sys, toolpick_selectors.contract, toolpick_selectors.registry;"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'tokenizers', 'anyio')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
