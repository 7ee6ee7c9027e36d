"""Selectors under the runner: their contract, their deadline, and what becomes of failures."""

import threading
from collections.abc import Sequence
from typing import Any

import anyio
import msgspec
import pytest
from tests.fakes import Awaited, FakeSelector, Indexing, install, picks

from toolpick.model import ToolEntry
from toolpick.selection import Outcome, Runner
from toolpick_selectors.contract import (
    Pick,
    Selection,
    SelectionContext,
    SelectionError,
    Tool,
    TurnRefused,
)


def entry(name: str) -> ToolEntry:
    raw = msgspec.json.encode({"name": f"srv__{name}", "inputSchema": {"type": "object"}})
    return ToolEntry("srv", name, f"srv__{name}", raw)


ENTRIES = tuple(entry(name) for name in ("one", "two", "three"))


def runner(monkeypatch: pytest.MonkeyPatch, selector: Any, timeout: float = 60.0) -> Runner:
    install(monkeypatch, selector)
    return Runner("fake", {}, timeout)


def ids(outcome: Outcome) -> list[str]:
    return [pick.id for pick in outcome.picks]


async def test_picks_come_back_in_their_order_with_score_and_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = Selection((Pick("srv__two", 2.0, "named"), Pick("srv__one", 1.0)), "by hand")
    selector = FakeSelector(lambda context, tools: chosen)

    outcome = await runner(monkeypatch, selector).select("do", ENTRIES, limit=5)

    assert outcome == Outcome(chosen.picks, "by hand")


async def test_the_selector_is_told_all_that_is_known_of_the_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selector = FakeSelector()

    await runner(monkeypatch, selector).select(
        "do",
        ENTRIES,
        limit=0,
        turn="t1",
        conversation=["before"],
        conversation_id="c1",
        used=["srv__one"],
        generous=True,
    )

    assert selector.asked == [
        SelectionContext("t1", "do", ("before",), 1, "c1", ("srv__one",), True)
    ]


async def test_picks_that_break_the_contract_are_dropped_and_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    selector = FakeSelector(
        lambda context, tools: picks("other", "srv__two", "srv__two", "srv__one", "srv__three")
    )
    asked = runner(monkeypatch, selector)

    for _ in range(2):
        assert ids(await asked.select("do", ENTRIES, limit=2)) == ["srv__two", "srv__one"]

    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "selector=fake note=\"selector 'fake' picked 'other', "
        'which it was not given or had picked before"',
        "selector=fake note=\"selector 'fake' picked 'srv__two', "
        'which it was not given or had picked before"',
    ]


@pytest.mark.parametrize(
    "answer",
    [None, "srv__one", Selection(("srv__one",), "x"), Selection(None, "x")],  # type: ignore[arg-type]
)
async def test_an_answer_that_is_no_selection_is_a_failure_not_a_crash(
    monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    selector = FakeSelector(lambda context, tools: answer)

    outcome = await runner(monkeypatch, selector).select("do", ENTRIES, limit=2)

    assert outcome.picks == ()
    assert outcome.failed.startswith("selector 'fake' failed: ")


@pytest.mark.parametrize(
    ("error", "failed"),
    [
        (SelectionError("the model is away; try later"), "the model is away; try later"),
        (ZeroDivisionError("secret detail"), "selector 'fake' failed: ZeroDivisionError"),
        (TimeoutError(), "selector 'fake' failed: TimeoutError"),
    ],
)
async def test_an_error_of_the_selector_is_an_outcome(
    monkeypatch: pytest.MonkeyPatch, error: Exception, failed: str
) -> None:
    def broken(context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        raise error

    outcome = await runner(monkeypatch, FakeSelector(broken)).select("do", ENTRIES, limit=2)

    assert outcome == Outcome(failed=failed, reason=failed)


async def test_a_turn_that_is_to_fail_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        raise TurnRefused("budget used up")

    with pytest.raises(TurnRefused, match="budget used up"):
        await runner(monkeypatch, FakeSelector(refuse)).select("do", ENTRIES, limit=2)


async def test_a_selector_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()

    def slow(context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        let_go.wait(5)
        return picks()

    try:
        with anyio.fail_after(5):
            outcome = await runner(monkeypatch, FakeSelector(slow), 0.05).select(
                "do", ENTRIES, limit=2
            )
    finally:
        let_go.set()

    assert outcome.failed == "selector 'fake' took longer than 0.05 s"


async def test_a_coroutine_that_takes_too_long_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with anyio.fail_after(5):
        outcome = await runner(monkeypatch, Awaited(anyio.sleep_forever), 0.05).select(
            "do", ENTRIES, limit=2
        )

    assert outcome.failed == "selector 'fake' took longer than 0.05 s"


async def test_a_coroutine_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = await runner(monkeypatch, Awaited(anyio.lowlevel.checkpoint)).select(
        "two one", ENTRIES, limit=2
    )

    assert ids(outcome) == ["srv__two", "srv__one"]


async def test_a_function_that_gives_something_to_await_is_awaited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inner = Awaited(anyio.lowlevel.checkpoint)
    selector = FakeSelector(lambda context, tools: inner.select(context, tools))  # type: ignore[arg-type,return-value]

    outcome = await runner(monkeypatch, selector).select("two", ENTRIES, limit=2)

    assert ids(outcome) == ["srv__two"]


async def test_nothing_is_asked_where_there_is_nothing_to_choose_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selector = FakeSelector()

    outcome = await runner(monkeypatch, selector).select("do", (), limit=2)

    assert outcome == Outcome(reason="no tools to choose from")
    assert selector.built == []


async def test_a_lesser_method_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    selector = FakeSelector(lambda context, tools: picks("srv__one", degraded="no model yet"))
    asked = runner(monkeypatch, selector)

    outcomes = [await asked.select("do", ENTRIES, limit=2) for _ in range(3)]

    assert [outcome.degraded for outcome in outcomes] == ["no model yet"] * 3
    assert [record.getMessage() for record in caplog.records] == [
        "selector=fake note='no model yet'"
    ]


async def test_a_selector_is_built_once_with_its_options_off_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selector = FakeSelector()
    install(monkeypatch, selector)
    asked = Runner("fake", {"fake": {"depth": 3}}, 60.0, minimum=4)

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(lambda: asked.select("one", ENTRIES, limit=2))

    assert selector.built == [("fake", {"depth": 3, "minimum": 4})]


async def test_a_selector_that_can_not_be_built_says_why_every_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = runner(monkeypatch, SelectionError("there is no option 'x'"))

    outcomes = [await asked.select("do", ENTRIES, limit=2) for _ in range(2)]

    assert [outcome.failed for outcome in outcomes] == ["there is no option 'x'"] * 2
    with pytest.raises(SelectionError, match="there is no option"):
        await asked.selector()


async def test_tools_are_indexed_in_a_thread_until_the_selector_is_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selector = Indexing(0.001, 0.001)
    asked = runner(monkeypatch, selector)

    await asked.prepare(ENTRIES)

    assert selector.indexed == [("srv__one", "srv__two", "srv__three")] * 3
    assert threading.get_ident() not in selector.threads


async def test_nothing_is_indexed_where_there_is_nothing_or_no_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selector = FakeSelector()
    asked = runner(monkeypatch, selector)
    await asked.prepare(())
    assert selector.built == []

    await asked.prepare(ENTRIES)

    assert len(selector.built) == 1


@pytest.mark.parametrize("selector", [Indexing(error=ZeroDivisionError()), SelectionError("no")])
async def test_a_failure_to_index_harms_nobody(
    monkeypatch: pytest.MonkeyPatch, selector: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await runner(monkeypatch, selector).prepare(ENTRIES)

    said = caplog.records[-1].getMessage()
    assert said in (
        "selector=fake note=\"selector 'fake' can't index tools: ZeroDivisionError\"",
        "selector=fake note='no'",
    )


async def test_what_a_selector_holds_open_is_closed(monkeypatch: pytest.MonkeyPatch):
    closed = []

    class Open:
        async def aclose(self) -> None:
            closed.append(True)

    runner = Runner("static", {}, 5)
    await runner.aclose()
    monkeypatch.setattr(runner, "_build", Open)
    await runner.selector()
    await runner.aclose()

    assert closed == [True]
