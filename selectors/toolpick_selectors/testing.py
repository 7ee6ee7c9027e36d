"""The contract as a test: ``check_selector(factory)`` holds any selector to its rules.

    def test_my_selector_keeps_the_contract():
        check_selector(lambda: MySelector())

A broken rule is an AssertionError that names the rule, the query and what came back. Async
selectors are awaited; they may answer differently each time, all else holds for them too.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import anyio

from toolpick_selectors.contract import (
    AsyncSelector,
    Parameter,
    Pick,
    Selection,
    SelectionContext,
    Selector,
    Tool,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOOLS: tuple[Tool, ...] = (
    Tool(
        "mail__send",
        "send_email",
        "mail",
        "",
        "Sends a message to somebody.",
        (Parameter("to"), Parameter("body")),
    ),
    Tool(
        "mail__drop",
        "deleteEmail",
        "mail",
        "Delete",
        "Removes a message for good.",
        (Parameter("message_id"),),
    ),
    Tool(
        "files__read",
        "read-file",
        "files",
        "",
        "Returns what a file holds.",
        (Parameter("path", "Where it is."),),
    ),
    Tool(
        "files__copy",
        "copy.file",
        "files",
        "",
        "Puts the same file somewhere else.",
        (Parameter("to"),),
    ),
    Tool(
        "sky__rain",
        "forecast",
        "sky",
        "",
        "Says whether it will rain in a city.",
        (Parameter("city"),),
    ),
    Tool("cn", "查询天气", "", "", "查询某个城市的天气预报。"),
    Tool("odd", "\u202e\x00🙂", "", "", "\ud800 lone surrogate, \x1b[31m colour, \ufeff mark, ﷺ"),
    Tool("bare", "", "", "", ""),
    Tool(
        "long",
        "long",
        "",
        "",
        "word " * 50_000,
        tuple(Parameter(f"argument_{at}") for at in range(500)),
    ),
    Tool("twin-a", "same", "", "", "A tool that has a twin."),
    Tool("twin-b", "same", "", "", "A tool that has a twin."),
)
"""A small catalog with everything that real servers send, the strange included."""

QUERIES: tuple[str, ...] = (
    "send an email to my boss",
    "read-file",
    "天气",
    "will it rain?",
    "a tool that has a twin",
    "",
    "   \n\t",
    "!!! ???",
    "qqqq zzzz",
    "\ud800\x00\u202e🙂",
    "please " * 20_000,
    "%s {0} ${HOME} ' \" \\ <script>",
)


def check_selector(factory: Callable[[], Selector | AsyncSelector]) -> None:
    """Run every check on selectors made by ``factory``.

    Raises:
        AssertionError: a rule is broken; the message says which and by what.
    """
    for tools in ((), TOOLS[:1], TOOLS):
        selector = factory()
        for query in QUERIES:
            for limit in (1, 3, 50):
                _check_answer(selector, SelectionContext("turn", query, ("before",), limit), tools)
    _check_determinism(factory)
    _check_memory(factory)


def run(
    selector: Selector | AsyncSelector, context: SelectionContext, tools: Sequence[Tool]
) -> Selection:
    """Select, awaiting the answer where the selector is async."""
    answer = selector.select(context, tools)
    if not inspect.isawaitable(answer):
        return answer

    async def awaited() -> Selection:
        return await answer

    return anyio.run(awaited)


def broken_rule(selection: object, context: SelectionContext, tools: Sequence[Tool]) -> str:
    """The first rule that ``selection`` breaks, as a sentence; empty when all hold."""
    if not isinstance(selection, Selection):
        return f"the answer is no Selection but {type(selection).__name__}"
    picks = selection.picks
    answered: object = picks
    if not isinstance(answered, tuple) or not all(isinstance(pick, Pick) for pick in answered):
        return "picks are no tuple of Pick"
    known = {tool.id for tool in tools}
    strangers = [pick.id for pick in picks if pick.id not in known]
    if strangers:
        return f"picks that were not handed in: {strangers}"
    if len({pick.id for pick in picks}) < len(picks):
        return f"a tool is picked twice: {[pick.id for pick in picks]}"
    if len(picks) > context.limit:
        return f"{len(picks)} picks are more than the limit of {context.limit}"
    scores = [pick.score for pick in picks]
    if any(score != score for score in scores):
        return "a score is not a number"
    if any(after > before for before, after in pairwise(scores)):
        return f"picks are not best first: {scores}"
    return "" if selection.reason else "the selection gives no reason"


def _check_answer(
    selector: Selector | AsyncSelector, context: SelectionContext, tools: Sequence[Tool]
) -> None:
    handed = list(tools)
    selection = run(selector, context, handed)
    rule = broken_rule(selection, context, tools)
    assert not rule, f"{rule} (query {context.query[:80]!r}, {len(tools)} tools)"
    assert handed == list(tools), "the list of tools that was handed in was changed"


def _check_memory(factory: Callable[[], Selector | AsyncSelector]) -> None:
    """One selector, lists that change: ids come back with other texts, tools come and go."""
    selector = factory()
    is_async = inspect.iscoroutinefunction(selector.select)
    swapped = tuple(
        replace(tool, name=other.name, description=other.description)
        for tool, other in zip(TOOLS, reversed(TOOLS), strict=True)
    )
    for tools in (TOOLS, TOOLS[:4], swapped, (), TOOLS[4:], tuple(reversed(TOOLS))):
        for query in QUERIES[:4]:
            context = SelectionContext("turn", query, (), 5)
            answer = run(selector, context, tools)
            rule = broken_rule(answer, context, tools)
            if not rule and not is_async and answer != run(factory(), context, tools):
                rule = "a fresh selector answers differently"
            assert not rule, f"after the list of tools changed: {rule} (query {query!r})"


def _check_determinism(factory: Callable[[], Selector | AsyncSelector]) -> None:
    used, fresh = factory(), factory()
    if inspect.iscoroutinefunction(used.select):
        return
    for query in QUERIES:
        context = SelectionContext("turn", query, (), 5)
        first = run(used, context, TOOLS)
        assert run(used, context, TOOLS) == first, (
            f"the same question is answered differently: {query[:80]!r}"
        )
        assert run(fresh, context, TOOLS) == first, (
            f"a fresh selector answers differently: {query[:80]!r}"
        )
