import pytest

from toolpick_selectors.contract import Pick, Selection, Tool
from toolpick_selectors.evaluation import Labelled, evaluate, judge

TOOLS = tuple(Tool(id, id) for id in "abcdefghij")
TOKENS = {tool.id: 10 for tool in TOOLS}


class Fixed:
    """Ranks the tools in one order, cut where it is told."""

    def __init__(self, order, cut=99):
        self.order, self.cut, self.indexed = order, cut, 0

    def index(self, tools):
        self.indexed += 1
        return 0.0

    def select(self, context, tools):
        kept = self.order[: min(self.cut, context.limit)]
        return Selection(tuple(Pick(id, 1.0 - at / 100) for at, id in enumerate(kept)), "fixed")


class Later(Fixed):
    async def select(self, context, tools):
        return super().select(context, tools)


def clock():
    """Seconds that go by one a call."""
    times = iter(range(10_000))
    return lambda: float(next(times))


def need(*groups):
    return Labelled("q", "x", tuple(frozenset(group) for group in groups))


async def test_the_figures_of_a_run():
    queries = [need("a"), need("c"), need("b", "ij"), need("z")]
    report = await evaluate(
        "fixed", Fixed("abcdefghij", cut=2), TOOLS, queries,
        limit=16, tokens=TOKENS, clock=clock(), ranker=Fixed("abcdefghij"),
    )  # fmt: skip
    assert report.figures() == {
        "selector": "fixed",
        "queries": 4,
        "tools": 10,
        "recall@1": 0.25,
        "recall@3": 0.625,
        "recall@5": 0.625,
        "recall@8": 0.625,
        "recall@10": 0.75,
        "completeness@8": 0.5,
        "completeness@selected": 0.25,
        "selected_mean": 2.0,
        "ndcg@8": pytest.approx((1 + 0.5 + 0.63093 / 1.63093) / 4, abs=1e-4),
        "mrr": pytest.approx((1 + 1 / 3 + 1 / 2) / 4),
        "tokens_mean": 20.0,
        "p50_ms": 1000.0,
        "p95_ms": 1000.0,
        "index_ms": 1000.0,
    }
    assert report.curve()[:3] == [(10.0, 0.25), (20.0, 0.375), (30.0, 0.625)]


def test_what_was_selected_is_judged_by_itself_and_not_by_the_ranking():
    picks, order = (Selection(tuple(Pick(id, 1.0) for id in ids), "r") for ids in ("ab", "cab"))
    assert [judge(need(id), picks, order, TOKENS, 1.0).whole for id in "abc"] == [True, True, False]


async def test_without_a_ranker_the_picks_are_the_ranking_and_async_selectors_are_awaited():
    selector = Later("abc", cut=2)
    report = await evaluate(
        "later", selector, TOOLS, [need("b"), need("c")], limit=16, tokens=TOKENS, clock=clock()
    )
    assert report.recall(10) == 0.5
    assert selector.indexed == 1


def test_one_tool_gains_for_one_group_only():
    picks = Selection((Pick("a", 1.0), Pick("b", 0.5)), "r")
    judged = judge(need("a", "ab"), picks, picks, TOKENS, 1.0)
    assert judged.ranks == (1, 1)
    assert judged.gain == pytest.approx(1 / 1.63093, abs=1e-4)


async def test_what_degraded_is_reported_once():
    class Half(Fixed):
        def select(self, context, tools):
            return Selection((Pick("a", 1.0),), "r", degraded=f"no model for {context.query}")

    report = await evaluate(
        "half", Half(""), TOOLS, [need("a"), need("b")], limit=1, tokens={}, clock=clock()
    )
    assert report.degraded == "no model for x"
