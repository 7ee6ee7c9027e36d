"""The rerank selector: with a real tiny cross-encoder, and with scorers that fail."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import anyio
import pytest
from tests.selectors.tiny_models import write_cross_encoder

from toolpick_selectors.contract import (
    Pick,
    Prepared,
    Selection,
    SelectionContext,
    SelectionError,
    Tool,
)
from toolpick_selectors.lexical import Lexical
from toolpick_selectors.registry import Parts
from toolpick_selectors.rerank import CrossEncoder, Rerank, rerank
from toolpick_selectors.testing import check_selector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TOOLS = (
    Tool("sky", "forecast", "sky", "", "weather rain in a city"),
    Tool("mail", "send", "mail", "", "send email to boss"),
    Tool("file", "read", "files", "", "read file at path"),
    Tool("stop", "stop", "jobs", "", "stop"),
)
CONTEXT = SelectionContext("t", "send email to my boss about the rain", limit=2)


class Backwards:
    """A wide pass: the tools as they come, or reversed, at most as many as asked for."""

    def __init__(self, reason: str = "", degraded: str = "") -> None:
        self.limits: list[int] = []
        self._reason, self._degraded = reason, degraded

    def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        self.limits.append(context.limit)
        kept = tools[::-1][: context.limit]
        picks = tuple(
            Pick(tool.id, 1 - at / 100, self._reason if tool.id == "stop" else "")
            for at, tool in enumerate(kept)
        )
        return Selection(picks, "all of them", self._degraded)


class Given:
    """A scorer that knows its answer, or fails with it."""

    def __init__(self, answer: list[float] | Exception) -> None:
        self._answer = answer

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer[: len(texts)]

    def prepare(self) -> None:
        self.scores("", [])


class Stuck:
    """A scorer that does not answer before it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.go.wait(5)
        return [0.0] * len(texts)

    def prepare(self) -> None:
        self.go.wait(5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cross_encoder(tmp_path_factory.mktemp("models") / "cross")


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    scorer = Stuck()
    yield scorer
    scorer.go.set()


def ids(selection: Selection) -> list[str]:
    return [pick.id for pick in selection.picks]


async def test_a_real_cross_encoder_puts_the_right_tools_first(folder, tmp_path):
    made = rerank(wide="lexical", model=str(folder), minimum=1, parts=Parts(folder=tmp_path))
    with anyio.fail_after(30):
        await anyio.to_thread.run_sync(made._scorer.prepare)
        wide = Backwards()
        got = await Rerank(wide, made._scorer, minimum=1).select(CONTEXT, TOOLS)
    assert ids(got) == ["mail", "sky"]
    assert got.picks[0] == Pick("mail", 5.0, "reranked", (("wide", 0.98), ("cross-encoder", 5.0)))
    assert got.reason == "2 of 4 candidates by a cross-encoder; all of them"
    assert wide.limits == [6]


async def test_the_built_selector_keeps_the_contract(folder, tmp_path):
    scorer = CrossEncoder(str(folder), cache_dir="", threads=1, parts=Parts(folder=tmp_path))
    await anyio.to_thread.run_sync(scorer.prepare)
    await anyio.to_thread.run_sync(check_selector, lambda: Rerank(Lexical(ratio=0), scorer))


def test_scores_that_are_no_numbers_are_an_error(tmp_path):
    class Odd:
        def get(self, wait: float) -> Odd:
            return self

        def rerank(self, query: str, texts: Sequence[str], batch_size: int) -> list[float]:
            return [float("nan")] * len(texts)

    scorer = CrossEncoder("x", cache_dir=str(tmp_path), threads=1, parts=Parts())
    scorer._held = Odd()  # type: ignore[assignment]
    with pytest.raises(
        SelectionError, match="reranking model 'x' gives scores that are no numbers"
    ):
        scorer.scores("q", ["text"])


async def test_equal_scores_keep_the_order_of_the_wide_pass():
    got = await Rerank(Backwards(), Given([1.0, 1.0, 1.0, 1.0])).select(CONTEXT, TOOLS)
    assert ids(got) == ["stop", "file"]


async def test_a_tool_that_the_query_names_stays_first():
    made = Rerank(Backwards(reason="named"), Given([0.0, 1.0, 2.0, 3.0]))
    got = await made.select(CONTEXT, TOOLS)
    assert [(pick.id, pick.score, pick.reason) for pick in got.picks] == [
        ("stop", 3.0, "named"),
        ("sky", 3.0, "reranked"),
    ]


async def test_how_many_are_kept_is_decided_by_the_wide_pass():
    class Steep(Backwards):
        def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
            scores = zip(tools, (1.0, 0.9, 0.2, 0.1), strict=True)
            return Selection(tuple(Pick(tool.id, score) for tool, score in scores), "steep")

    context = SelectionContext("t", "q", limit=4)
    got = await Rerank(Steep(), Given([1.0, 2.0, 3.0, 4.0]), minimum=1).select(context, TOOLS)
    assert ids(got) == ["stop", "file"]


async def test_in_a_conversation_the_wide_passs_order_has_its_turns_and_the_topic_is_passed_on():
    class Carried(Backwards):
        def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
            picks = tuple(Pick(tool.id, 1 / place) for place, tool in enumerate(tools, 1))
            return Selection(picks, "carried", topic="same")

    context = SelectionContext("t", "and in Oslo?", ("rain",), limit=3)
    got = await Rerank(Carried(), Given([0.0, 1.0, 2.0, 3.0]), minimum=1).select(context, TOOLS)
    away = await Rerank(Carried(), Given(SelectionError("away"))).select(context, TOOLS)

    assert [(pick.id, pick.score) for pick in got.picks] == [
        ("stop", 1),
        ("sky", 1 / 2),
        ("file", 1 / 3),
    ]
    assert (got.topic, away.topic) == ("same", "same")
    assert ids(away) == ["sky", "mail", "file"]


async def test_a_model_that_is_not_there_leaves_the_wide_pass_and_says_why():
    made = Rerank(Backwards(), Given(SelectionError("the model is away")))
    got = await made.select(CONTEXT, TOOLS)
    assert ids(got) == ["stop", "file"]
    assert got.degraded == "the model is away; ranked by the wide pass alone"


async def test_a_model_that_is_too_slow_leaves_the_wide_pass_and_says_why(stuck):
    wide = Backwards(degraded="no vectors yet")
    with anyio.fail_after(5):
        got = await Rerank(wide, stuck, timeout=0.05).select(CONTEXT, TOOLS)
    assert ids(got) == ["stop", "file"]
    assert got.degraded == (
        "reranking took longer than 0.05 s; ranked by the wide pass alone, where no vectors yet"
    )


async def test_an_async_wide_pass_is_awaited():
    class Later(Backwards):
        async def select(self, context, tools):  # type: ignore[override]
            return super().select(context, tools)

    got = await Rerank(Later(), Given([0.0, 1.0, 2.0, 3.0])).select(CONTEXT, TOOLS)
    assert ids(got) == ["sky", "mail"]


@pytest.mark.parametrize("tools", [(), TOOLS[:1]])
async def test_with_nothing_to_rank_the_model_is_not_asked(tools):
    made = Rerank(Backwards(), Given(SelectionError("asked")))
    got = await made.select(CONTEXT, tools)
    assert (len(got.picks), got.degraded) == (len(tools), "")


class Indexed(Backwards):
    """A wide pass with work to do ahead."""

    def __init__(self, wait: float) -> None:
        super().__init__()
        self.seen: list[Sequence[Tool]] = []
        self._wait = wait

    def index(self, tools: Sequence[Tool]) -> float:
        self.seen.append(tools)
        return self._wait


@pytest.mark.parametrize(
    ("wait", "answer", "again"),
    [(0.0, [], 0.0), (7.0, [], 7.0), (0.0, "away", 30.0), (7.0, "away", 7.0), (90.0, "away", 30.0)],
)
def test_what_is_indexed_reaches_the_wide_pass_and_the_model_is_loaded(wait, answer, again, caplog):
    wide = Indexed(wait)
    made = Rerank(wide, Given(SelectionError(answer) if answer else []))
    assert isinstance(made, Prepared)
    assert [made.index(TOOLS), made.index(TOOLS)] == [again, again]
    assert wide.seen == [TOOLS, TOOLS]
    assert [record.message for record in caplog.records] == (["away"] if answer else [])


def test_a_wide_pass_without_work_ahead_is_fine():
    assert Rerank(Backwards(), Given([])).index(TOOLS) == 0.0


def test_the_wide_pass_is_built_uncut():
    made = rerank(wide="lexical", parts=Parts(options={"lexical": {"minimum": 2}}))
    assert (made._wide._ratio, made._wide._minimum) == (0.0, 2)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"multiplier": 0}, "multiplier: 0 is less than 1"),
        ({"timeout": 0.0}, "timeout: 0.0 is not more than 0"),
        ({"wide": "rerank"}, "wide: 'rerank' would rerank itself; name another selector"),
    ],
)
def test_an_option_that_cannot_be_is_named(options, what):
    with pytest.raises(ValueError, match=what):
        rerank(**options, parts=Parts())


def test_an_unknown_wide_pass_is_named():
    with pytest.raises(SelectionError, match="no selector 'lexica'; did you mean 'lexical'"):
        rerank(wide="lexica", parts=Parts())
