"""The rewriting selector against real HTTP: what is asked, what is picked, every way to fail."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from tests.selectors.http_script import Reply, Script, serve

from toolpick_selectors.budget import Budget, Spent
from toolpick_selectors.contract import (
    Parameter,
    Pick,
    Selection,
    SelectionContext,
    SelectionError,
    Tool,
    TurnRefused,
)
from toolpick_selectors.providers import Answer, ProviderError, Question
from toolpick_selectors.registry import Parts
from toolpick_selectors.rewriting import Rewriting, rewriting
from toolpick_selectors.rewriting_text import excerpt, line, names, prompt, summary
from toolpick_selectors.testing import check_selector

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

TOOLS = (
    Tool("time__now", "now", "time", "", "Returns the time. In any zone.", (Parameter("zone"),)),
    Tool("mail__send", "send", "mail", "", "Sends a message.", (Parameter("secret_parameter"),)),
    Tool("mail__list", "list", "mail", "List mail", ""),
    Tool("bare", "bare"),
)
CONTEXT = SelectionContext("t1", "what time is it?", limit=2, conversation_id="c1")
WIRES = ("openai", "anthropic")


@pytest.fixture
def wire() -> Iterator[Script]:
    with serve() as script:
        yield script


def said(kind: str, text: str, tokens: int = 30) -> Reply:
    """A well-formed reply whose text is ``text``."""
    if kind == "openai":
        choice = {"index": 0, "finish_reason": "stop", "message": {"content": text}}
        return Reply({"choices": [choice], "usage": {"total_tokens": tokens}})
    block = {"type": "text", "text": text}
    usage = {"input_tokens": tokens, "output_tokens": 0}
    return Reply({"type": "message", "content": [block], "stop_reason": "end_turn", "usage": usage})


@asynccontextmanager
async def selector(kind: str, url: str, **options: Any) -> AsyncIterator[Rewriting]:
    base = f"{url}/v1" if kind == "openai" else url
    made = rewriting(
        provider=kind, model="small", base_url=base, api_key="k", parts=Parts(), **options
    )
    try:
        yield made
    finally:
        await made.aclose()


def at(kind: str, url: str) -> str:
    return f"'small' at {url}/v1" if kind == "openai" else f"'small' at {url}"


def failed(why: str) -> Selection:
    return Selection((), why, degraded=why)


@pytest.mark.parametrize("kind", WIRES)
async def test_known_names_are_picked_in_catalog_order_and_unknown_ones_dropped(wire, kind):
    wire.say(said(kind, '{"tools": ["mail__send", "no_such", " time__now", "mail__send"]}'))
    async with selector(kind, wire.url) as chosen:
        assert await chosen.select(CONTEXT, TOOLS) == Selection(
            (
                Pick("time__now", 1.0, "named by the model"),
                Pick("mail__send", 1.0, "named by the model"),
            ),
            f"2 of 4 tools, named by {at(kind, wire.url)}; unknown names dropped: 1",
        )
    assert len(wire.requests) == 1


@pytest.mark.parametrize("kind", WIRES)
async def test_the_request_holds_summaries_and_never_schemas(wire, kind):
    wire.say(said(kind, "[]"))
    async with selector(kind, wire.url) as chosen:
        await chosen.select(CONTEXT, TOOLS)
    sent = wire.requests[0].body["messages"][-1]["content"]
    assert sent == (
        "Tools:\ntime__now: Returns the time\nmail__send: Sends a message\nmail__list: List mail\n"
        "bare\n\nThe request:\nwhat time is it?"
    )
    assert "secret_parameter" not in str(wire.requests[0].body)
    assert "stream" not in wire.requests[0].body


@pytest.mark.parametrize("kind", WIRES)
async def test_an_intentional_empty_answer_is_respected(wire, kind):
    wire.say(said(kind, '{"tools": []}'))
    async with selector(kind, wire.url, on_failure="error") as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    assert got == Selection((), f"0 of 4 tools, named by {at(kind, wire.url)}")


async def test_more_names_than_the_limit_keep_the_first_ones(wire):
    wire.say(said("openai", '["bare", "mail__list", "time__now"]'))
    async with selector("openai", wire.url) as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    assert [pick.id for pick in got.picks] == ["mail__list", "bare"]


async def test_few_candidates_are_all_picked_and_no_model_is_asked(wire):
    async with selector("openai", wire.url) as chosen:
        got = await chosen.select(CONTEXT, TOOLS[:2])
    assert [pick.id for pick in got.picks] == ["time__now", "mail__send"]
    assert got.reason == "2 tools are within the limit; no model was asked"
    assert wire.requests == []


@pytest.mark.parametrize("kind", WIRES)
async def test_a_refused_connection_is_recorded(kind):
    async with selector(kind, "http://127.0.0.1:9") as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    assert got.picks == ()
    assert got.degraded == got.reason
    assert got.reason.startswith(f"{at(kind, 'http://127.0.0.1:9')} can't be reached: ")


@pytest.mark.parametrize("kind", WIRES)
async def test_a_model_that_never_answers_ends_with_the_timeout(wire, kind):
    wire.say(Reply(hang=True))
    async with selector(kind, wire.url, timeout=0.3) as chosen:
        # The library is imported first, so that the timeout meets the request and not the import.
        __import__(kind)
        got = await chosen.select(CONTEXT, TOOLS)
    assert got == failed(f"{at(kind, wire.url)} did not answer within 0.3 s")


@pytest.mark.parametrize("kind", WIRES)
async def test_a_busy_model_is_asked_again_after_the_time_it_named(wire, kind):
    wire.say(
        Reply({"error": {"message": "slow"}}, 429, {"Retry-After": "0"}),
        said(kind, '["time__now"]'),
    )
    async with selector(kind, wire.url) as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    assert [pick.id for pick in got.picks] == ["time__now"]
    assert len(wire.requests) == 2


@pytest.mark.parametrize("kind", WIRES)
async def test_a_model_busy_for_too_long_is_left_alone_for_as_long_as_it_asked(wire, kind):
    wire.say(Reply({"error": {"message": "slow"}}, 429, {"Retry-After": "90"}))
    async with selector(kind, wire.url) as chosen:
        first = await chosen.select(CONTEXT, TOOLS)
        second = await chosen.select(CONTEXT, TOOLS)
    where = at(kind, wire.url)
    assert first == failed(f"{where} is busy (HTTP 429) and asked to be left alone for 90 s")
    assert second == first
    assert len(wire.requests) == 1


async def test_a_busy_model_that_names_no_time_is_a_failure(wire):
    wire.say(Reply({"error": {"message": "slow"}}, 429))
    async with selector("openai", wire.url) as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    assert got == failed(f"{at('openai', wire.url)} is busy (HTTP 429)")


@pytest.mark.parametrize("kind", WIRES)
@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_malformed_answers_are_asked_again_as_often_as_allowed(wire, kind, retries):
    wire.say(said(kind, "I would use the clock."))
    async with selector(kind, wire.url, max_retries=retries) as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    assert got == failed(f"{at(kind, wire.url)} gave a malformed answer")
    assert len(wire.requests) == 1 + retries


async def test_a_well_formed_answer_after_a_malformed_one_counts(wire):
    wire.say(said("openai", ""), said("openai", '```json\n{"tools": ["bare"]}\n```'))
    async with selector("openai", wire.url) as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    assert [pick.id for pick in got.picks] == ["bare"]


async def test_an_answer_that_was_cut_off_is_said_to_be(wire):
    choice = {"finish_reason": "length", "message": {"content": '{"tools": ["ti'}}
    wire.say(Reply({"choices": [choice]}))
    async with selector("openai", wire.url, max_retries=0) as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    where = at("openai", wire.url)
    assert got == failed(f"{where} gave a malformed answer, cut off at 2000 tokens")


@pytest.mark.parametrize("kind", WIRES)
async def test_unknown_names_alone_are_no_answer(wire, kind):
    wire.say(said(kind, '{"tools": ["clock", "TIME__NOW"]}'))
    async with selector(kind, wire.url, max_retries=1) as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    assert got == failed(f"{at(kind, wire.url)} named unknown tools only")
    assert len(wire.requests) == 2


@pytest.mark.parametrize("kind", WIRES)
async def test_a_crossed_budget_refuses_further_calls_in_that_conversation_only(wire, kind):
    wire.say(said(kind, '["bare"]', tokens=100))
    other = SelectionContext("t2", "hm", limit=2, conversation_id="c2")
    async with selector(kind, wire.url, budget_tokens=150) as chosen:
        answers = [await chosen.select(CONTEXT, TOOLS) for _ in range(3)]
        elsewhere = await chosen.select(other, TOOLS)
    assert [len(answer.picks) for answer in answers] == [1, 1, 0]
    assert answers[2] == failed("the conversation's budget of 150 tokens is used up")
    assert len(elsewhere.picks) == 1
    assert len(wire.requests) == 3


async def test_the_budget_also_stops_retries(wire):
    wire.say(said("openai", "hm", tokens=100))
    async with selector("openai", wire.url, budget_tokens=100, max_retries=3) as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    assert got == failed("the conversation's budget of 100 tokens is used up")
    assert len(wire.requests) == 1


async def test_where_no_usage_is_reported_the_budget_is_fed_by_an_estimate(wire):
    choice = {"finish_reason": "stop", "message": {"content": "[]"}}
    wire.say(Reply({"choices": [choice]}))
    async with selector("openai", wire.url, budget_tokens=100) as chosen:
        await chosen.select(CONTEXT, TOOLS)
        got = await chosen.select(CONTEXT, TOOLS)
    assert got == failed("the conversation's budget of 100 tokens is used up")


@pytest.mark.parametrize("kind", WIRES)
async def test_a_cancelled_turn_gives_the_request_up_and_its_seconds_are_charged(wire, kind):
    wire.say(Reply(hang=True))
    clock = iter([10.0, 17.0]).__next__
    budget = Budget(tokens=0, seconds=0)
    async with selector(kind, wire.url) as made:
        chosen = Rewriting(made._provider, budget=budget, now=clock)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(chosen.select, CONTEXT, TOOLS)
                await anyio.to_thread.run_sync(wire.arrived.wait, 5)
                tasks.cancel_scope.cancel()
            assert await anyio.to_thread.run_sync(wire.left.wait, 5)
    assert budget.spent("c1") == Spent(0, 7.0)


async def test_seconds_are_bounded_too(wire):
    wire.say(said("openai", "[]"))
    clock = iter([0.0, 4.0, 10.0, 13.0]).__next__
    async with selector("openai", wire.url) as made:
        budget = Budget(tokens=0, seconds=5)
        chosen = Rewriting(made._provider, budget=budget, now=clock)
        answers = [await chosen.select(CONTEXT, TOOLS) for _ in range(3)]
    assert [answer.degraded for answer in answers] == [
        "",
        "",
        "the conversation's budget of 5 s is used up",
    ]


async def test_a_conversation_without_an_id_is_accounted_by_turn(wire):
    wire.say(said("openai", "[]", tokens=100))
    async with selector("openai", wire.url, budget_tokens=100) as chosen:
        turns = ["one", "one", "two"]
        answers = [
            await chosen.select(SelectionContext(turn, "q", limit=1), TOOLS) for turn in turns
        ]
    assert [bool(answer.degraded) for answer in answers] == [False, True, False]


@pytest.mark.parametrize("kind", WIRES)
@pytest.mark.parametrize(
    "reply", [Reply({"error": {"message": "broken"}}, 500), Reply(hang=True)], ids=["500", "hang"]
)
async def test_on_failure_always_shows_nothing_more_and_error_fails_the_turn(wire, kind, reply):
    wire.say(reply)
    __import__(kind)
    async with selector(kind, wire.url, on_failure="always", timeout=0.3) as chosen:
        got = await chosen.select(CONTEXT, TOOLS)
    assert (got.picks, got.degraded) == ((), "")
    assert got.reason.startswith(f"nothing but what is always shown, since {at(kind, wire.url)} ")
    async with selector(kind, wire.url, on_failure="error", timeout=0.3) as chosen:
        with pytest.raises(
            TurnRefused, match="the tools for this turn can't be chosen: 'small' at"
        ):
            await chosen.select(CONTEXT, TOOLS)


async def test_sampling_asks_the_client_that_the_conversation_belongs_to():
    asked: list[Question] = []

    async def sample(question: Question) -> str:
        asked.append(question)
        return '["bare"]'

    chosen = rewriting(provider="sampling", parts=Parts(sample=sample))
    got = await chosen.select(CONTEXT, TOOLS)
    assert got.reason == "1 of 4 tools, named by the client's own model"
    assert [question.conversation_id for question in asked] == ["c1"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"model": ""}, "model: provider 'openai' needs the name of a model"),
        ({"provider": "telepathy"}, "provider: 'telepathy' is not one of openai, anthropic"),
        ({"provider": "sampling"}, "provider 'sampling' needs a client"),
        ({"max_retries": 4}, "max_retries: 4 is not from 0 to 3"),
        ({"max_retries": -1}, "max_retries: -1 is not from 0 to 3"),
        ({"on_failure": "shrug"}, "on_failure: 'shrug' is not one of open, always, error"),
        ({"timeout": 0}, "timeout: 0 is not more than 0"),
        ({"budget_tokens": -1}, "budget_tokens: -1 is less than 0"),
    ],
)
def test_an_option_that_cannot_be_is_named(options, what):
    with pytest.raises(ValueError, match="^" + what):
        rewriting(**{"model": "small", **options}, parts=Parts())


class Echo:
    """Answers with the first names that it is shown."""

    name = "echo"

    async def ask(self, question: Question) -> Answer:
        shown = question.prompt.splitlines()[1:3]
        return Answer(str([name.split(":")[0] for name in shown]).replace("'", '"'))

    async def aclose(self) -> None:
        pass


def test_it_keeps_the_contract():
    check_selector(lambda: Rewriting(Echo()))


def test_a_provider_that_only_ever_fails_keeps_the_contract():
    class Broken(Echo):
        async def ask(self, question: Question) -> Answer:
            raise ProviderError("no")

    check_selector(lambda: Rewriting(Broken()))


def test_the_error_of_a_refused_turn_is_a_selection_error():
    assert issubclass(TurnRefused, SelectionError)


def test_only_the_most_recent_conversations_are_remembered():
    budget = Budget(tokens=10, seconds=0, conversations=2)
    for name in ("a", "b", "a", "c"):
        budget.charge(name, tokens=10)
    assert [budget.spent(name).tokens for name in "abc"] == [20, 0, 10]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("  one\n\ttwo  ", "one two"),
        ("x" * 400, "x" * 400),
        ("\ud800", "?"),
    ],
)
def test_a_short_excerpt_is_the_text_on_one_line(text, shown):
    assert excerpt(text) == shown


@pytest.mark.parametrize("text", ["x" * 401, "é" * 300, "語" * 5000, "🙂🙃" * 200, "a b " * 50_000])
def test_a_long_excerpt_is_cut_on_character_boundaries(text):
    shown = excerpt(text)
    assert 390 <= len(shown.encode()) <= 400
    head, tail = shown.split(" … ")
    assert "\ufffd" not in shown
    assert text.startswith(head)
    assert " ".join(text.split()).endswith(tail)


def test_the_prompt_caps_every_excerpt_and_keeps_the_recent_ones():
    context = SelectionContext("t", "q" * 1000, ("old", *(["e" * 1000] * 5), " ", "last"))
    lines = prompt(context, TOOLS[:1]).splitlines()
    assert [len(text.encode()) for text in lines] == [
        6,
        27,
        0,
        24,
        402,
        402,
        402,
        402,
        6,
        0,
        12,
        400,
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Reads a file. Then more.", "Reads a file"),
        ("Reads (e.g. a file) all of it.", "Reads (e.g. a file) all of it"),
        ("读取文件。更多", "读取文件"),
        ("w" * 300, "w" * 99 + "…"),
        ("Is it?\nYes", "Is it"),
    ],
)
def test_a_summary_is_the_first_sentence_on_one_line(text, shown):
    assert summary(text) == shown


def test_a_tool_is_one_line_whatever_it_says():
    assert line(Tool("a\ud800", "a", "", "", "one\ntwo")) == "a?: one two"


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('{"tools": ["a", "b"]}', ["a", "b"]),
        ('Sure!\n```json\n{"tools": ["a"]}\n```', ["a"]),
        ('<think>[1] {"tools": ["no"]}</think>{"tools": ["a"]}', ["a"]),
        ('{"answer": {"tools": ["a"]}}', ["a"]),
        ('["a"]', ["a"]),
        ("[]", []),
        ('{"tools": []}', []),
        ('{"tools": [1]}', None),
        ('{"tools": "a"}', None),
        ('{"tools": ["a"', None),
        ("", None),
        ("none", None),
        ("[" * 100_000, None),
    ],
)
def test_names_are_found_in_whatever_stands_around_them(answer, found):
    assert names(answer) == found
