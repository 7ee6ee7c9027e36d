"""A host's prompt: the turn it begins, what the client is told, what the hook is answered."""

from typing import Any

import anyio
import pytest
from tests.engine.puppets import PATIENCE, Message, Puppet, tool
from tests.engine.scene import LIST_CHANGED, Client, Gateway, gateway

from toolpick.config.settings import SelectorSettings
from toolpick.engine.hooks import UNHEEDED, Hooks
from toolpick.errors import GatewayError
from toolpick.model import META_TOOLS, Query
from toolpick_selectors.contract import TurnRefused

LEXICAL = SelectorSettings("lexical", always=("srv__now",))
FOLLOWS, DEFERS, SORTS = "gemini-cli-mcp-client", "claude-code", "codex-mcp-client"
HOSTS = {FOLLOWS: "gemini-cli", DEFERS: "claude-code", SORTS: "codex"}
RAIN, MONEY = "Will there be rain tomorrow?", "Convert euros into yen, please."
ALWAYS = [*META_TOOLS, "srv__now"]


SHORT = 0.3
"""Seconds of a hook that is let down: enough for a selection that is prepared."""


def puppet() -> Puppet:
    city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return Puppet(
        "srv",
        tool("now", "The time."),
        tool("forecast", "Rain and wind tomorrow.", inputSchema=city),
        tool("convert", "Convert euros into another currency."),
        tool("send", "Send a letter."),
    )


def scene(surface: str = "turn", **settings: Any) -> Any:
    made = {"selector": LEXICAL, "client_environ": {}, "threshold_tokens": 0, **settings}
    return gateway(puppet(), surface=surface, **made)


async def prompt(gate: Gateway, text: str, name: str = FOLLOWS, **said: Any) -> Message:
    """What the hook of a client's host is answered."""
    request = {"prompt": text, "host": HOSTS.get(name, name), "session_id": "s", "wait": PATIENCE}
    with anyio.fail_after(PATIENCE):
        return await Hooks(gate.engine).prompt({**request, **said})


async def ready(gate: Gateway) -> None:
    """Wait until a selection takes no time."""
    tools = gate.engine.sessions[0].pool.generation.tools
    await gate.engine.turns.selections.prepare(tuple(tools.values()))


async def follow(client: Client) -> list[str]:
    """List again when the next change is told."""
    await client.notice(LIST_CHANGED, len(client.notices(LIST_CHANGED)) + 1)
    return await client.tools()


async def followed(gate: Gateway, client: Client, text: str, name: str = FOLLOWS) -> Message:
    """The answer to a prompt whose change the client follows."""
    answers: list[Message] = []

    async def ask() -> None:
        answers.append(await prompt(gate, text, name))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow, client)
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(ask)
    return answers[0]


async def test_the_turns_tool_is_listed_before_the_hook_lets_the_host_go_on() -> None:
    async with scene() as gate:
        client = await gate.client(name=FOLLOWS)
        assert await client.tools() == ALWAYS

        answer = await followed(gate, client, RAIN)

        assert answer == {
            "context": "",
            "selected": ["srv__forecast"],
            "surface": "turn",
            "listed_in_time": True,
        }
        assert await client.tools() == [*ALWAYS, "srv__forecast"]
        assert len(client.notices(LIST_CHANGED)) == 1


async def test_the_next_turns_tool_is_appended() -> None:
    async with scene(stability="append") as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()
        await followed(gate, client, RAIN)

        await followed(gate, client, MONEY)

        assert await client.tools() == [*ALWAYS, "srv__forecast", "srv__convert"]


async def test_a_client_that_does_not_list_in_time_is_told_of_the_tool_in_words() -> None:
    async with scene() as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()

        await ready(gate)

        answer = await prompt(gate, RAIN, wait=SHORT)

        assert answer["listed_in_time"] is False
        assert answer["context"] == (
            "Tools that may serve this request, best first. Call one with call_tool, which takes "
            "the name and the arguments. Anything else is found with search_tools.\n"
            "- srv__forecast(city: string): Rain and wind tomorrow.\n"
        )


async def test_nobody_waits_for_a_client_that_never_lists_again() -> None:
    async with scene() as gate:
        client = await gate.client(name=SORTS)
        await client.tools()

        answer = await prompt(gate, RAIN, SORTS)

        assert "srv__forecast(city: string)" in answer["context"]
        assert answer["listed_in_time"] is False


async def test_an_unknown_client_is_waited_for_until_it_has_let_changes_pass() -> None:
    async with scene() as gate:
        client = await gate.client(name="stranger")
        await client.tools()
        await ready(gate)
        for text in (RAIN, MONEY)[:UNHEEDED]:
            await prompt(gate, text, "stranger", wait=SHORT)

        # would last, and fail, if it were waited for
        answer = await prompt(gate, "Send a letter.", "stranger")

        assert answer["selected"] == ["srv__send"]
        assert gate.engine.sessions[0].unheeded == UNHEEDED + 1
        await client.tools()
        assert gate.engine.sessions[0].unheeded == 0


async def test_a_client_that_defers_tools_is_given_names_that_it_can_call_at_once() -> None:
    async with scene("auto") as gate:
        client = await gate.client("modern", DEFERS)
        listed = await client.tools()

        answer = await prompt(gate, RAIN, DEFERS, server="mine")

        assert listed == [*ALWAYS, "srv__convert", "srv__forecast", "srv__send"]
        assert answer["surface"] == "provider"
        assert answer["context"] == (
            "Tools that may serve this request, best first. Call one directly as mcp__mine__NAME, "
            "or with call_tool, which takes the name and the arguments. Anything else is found "
            "with search_tools.\n"
            "- srv__forecast(city: string): Rain and wind tomorrow.\n"
        )
        assert client.notices(LIST_CHANGED) == []


@pytest.mark.parametrize(
    ("name", "environ", "mode"),
    [
        (FOLLOWS, {}, "turn"),
        (SORTS, {}, "search"),
        (DEFERS, {}, "provider"),
        (DEFERS, {"ENABLE_TOOL_SEARCH": "false"}, "search"),
        (DEFERS, None, "search"),
        ("stranger", {}, "search"),
    ],
)
async def test_auto_gives_each_client_what_suits_it(
    name: str, environ: dict[str, str] | None, mode: str
) -> None:
    async with scene("auto", client_environ=environ) as gate:
        client = await gate.client(name=name)
        await client.tools()
        [session] = gate.engine.sessions

        assert gate.engine.turns.mode(session, True)[0] == mode


async def test_a_list_that_never_changes_has_its_tools_named() -> None:
    async with scene("auto") as gate:
        client = await gate.client(name=SORTS)
        before = await client.tools()

        answer = await prompt(gate, RAIN, SORTS)

        assert "- srv__forecast(city: string)" in answer["context"]
        assert await client.tools() == before == ALWAYS
        assert client.notices(LIST_CHANGED) == []


async def test_where_every_tool_is_shown_nothing_is_selected() -> None:
    async with scene("full") as gate:
        client = await gate.client(name=SORTS)
        await client.tools()

        answer = await prompt(gate, RAIN, SORTS)

        assert answer == {
            "context": "",
            "selected": [],
            "surface": "full",
            "listed_in_time": True,
        }


async def test_a_small_catalog_is_shown_whole_by_a_host_that_defers_tools() -> None:
    async with scene("auto", threshold_tokens=10_000) as gate:
        client = await gate.client("modern", DEFERS)

        shown = (await client.ask("tools/list"))["tools"]

        assert [one["_meta"] for one in shown] == [{"anthropic/alwaysLoad": True}] * 4
        assert (await prompt(gate, RAIN, DEFERS))["context"] == ""


async def test_what_is_listed_in_full_but_deferred_is_named() -> None:
    async with scene("full") as gate:
        client = await gate.client("modern", DEFERS)
        await client.tools()

        answer = await prompt(gate, RAIN, DEFERS, server="toolpick")

        assert answer["context"] == (
            "Tools that may serve this request, best first. Call one directly as "
            "mcp__toolpick__NAME.\n"
            "- srv__forecast(city: string): Rain and wind tomorrow.\n"
        )


async def test_stubs_are_named_with_their_arguments_until_they_are_whole() -> None:
    async with scene("stubs") as gate:
        client = await gate.client(name=SORTS)
        await client.tools()

        first = await prompt(gate, RAIN, SORTS)
        await client.call("srv__forecast", {"city": "Oslo"})
        await follow(client)
        second = await prompt(gate, "And rain in Bergen?", SORTS)

        assert "srv__forecast(city: string)" in first["context"]
        assert second["selected"] == ["srv__forecast"]
        assert second["context"] == ""


async def test_a_modern_client_is_told_on_its_stream() -> None:
    async with scene() as gate:
        client = await gate.client("modern", FOLLOWS)
        await client.tools()
        client.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        await client.notice("notifications/subscriptions/acknowledged")

        await followed(gate, client, RAIN)

        assert await client.tools() == [*ALWAYS, "srv__forecast"]


async def test_a_prompt_before_the_client_has_greeted_is_kept_for_it() -> None:
    async with scene() as gate:
        assert await prompt(gate, RAIN) == {}

        client = await gate.client(name=FOLLOWS)

        assert await client.tools() == [*ALWAYS, "srv__forecast"]


async def test_a_blank_prompt_begins_no_turn() -> None:
    async with scene() as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()

        assert await prompt(gate, " \n") == {}
        assert gate.engine.sessions[0].query is None


async def test_the_same_prompt_said_by_two_hooks_is_one_turn() -> None:
    async with scene() as gate:
        client = await gate.client(name=SORTS)
        await client.tools()
        answers: list[Message] = []

        async def ask() -> None:
            answers.append(await prompt(gate, RAIN, SORTS))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(ask)

        assert answers[0] == answers[1]
        assert answers[0]["selected"] == ["srv__forecast"]
        assert gate.engine.sessions[0].conversation.turn == 1


async def test_the_same_prompt_after_a_call_is_another_turn() -> None:
    async with scene() as gate:
        client = await gate.client(name=SORTS)
        await client.tools()
        await prompt(gate, RAIN, SORTS)
        await client.call("srv__forecast", {"city": "Oslo"})

        await prompt(gate, RAIN, SORTS)

        assert gate.engine.sessions[0].conversation.turn == 2


async def test_a_list_asked_for_while_the_selection_runs_shares_it() -> None:
    async with scene() as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()
        asked: list[int] = []
        choose = gate.engine.turns.selections.select

        async def counted(*args: Any) -> Any:
            asked.append(client.send("tools/list"))
            return await choose(*args)

        gate.engine.turns.selections.select = counted  # type: ignore[method-assign]

        await prompt(gate, RAIN, wait=0.05)

        listed = await client.result(asked[0])
        assert [one["name"] for one in listed["tools"]] == [*ALWAYS, "srv__forecast"]
        assert len(asked) == 1
        assert gate.engine.sessions[0].conversation.turn == 1


async def test_a_prompt_that_comes_first_ends_the_selection_of_the_one_before() -> None:
    async with scene() as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()
        chosen: list[str] = []
        waiting = anyio.Event()
        choose = gate.engine.turns.selections.select

        async def slow(text: str, *args: Any) -> Any:
            if text == RAIN:
                waiting.set()
                await anyio.sleep_forever()
            chosen.append(text)
            return await choose(text, *args)

        gate.engine.turns.selections.select = slow  # type: ignore[method-assign]
        answers: list[Message] = []

        async def ask() -> None:
            answers.append(await prompt(gate, RAIN))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await waiting.wait()
            listing = client.send("tools/list")
            await prompt(gate, MONEY, wait=0.05)

        listed = await client.result(listing)
        assert [one["name"] for one in listed["tools"]] == [*ALWAYS, "srv__convert"]
        assert answers == [
            {"context": "", "selected": [], "surface": "turn", "listed_in_time": False}
        ]
        assert chosen == [MONEY]


async def test_a_selector_that_fails_does_not_hold_the_prompt_up() -> None:
    broken = SelectorSettings("no_such_selector")
    async with scene(selector=broken) as gate:
        client = await gate.client(name=SORTS)
        await client.tools()

        answer = await prompt(gate, RAIN, SORTS)

        assert answer["selected"] == []
        assert answer["context"] == ""


async def test_a_selection_that_takes_longer_than_the_hook_still_serves_the_turn() -> None:
    async with scene() as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()
        enough = anyio.Event()
        choose = gate.engine.turns.selections.select

        async def slow(*args: Any) -> Any:
            await enough.wait()
            return await choose(*args)

        gate.engine.turns.selections.select = slow  # type: ignore[method-assign]

        late = await prompt(gate, RAIN, wait=0.01)
        enough.set()

        assert late["selected"] == []
        assert await follow(client) == [*ALWAYS, "srv__forecast"]


async def test_changes_beyond_the_budget_are_named_instead() -> None:
    async with scene(list_changes=1) as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()
        await followed(gate, client, RAIN)

        answer = await prompt(gate, MONEY)

        assert await client.tools() == [*ALWAYS, "srv__forecast"]
        assert "- srv__convert()" in answer["context"]
        assert len(client.notices(LIST_CHANGED)) == 1


async def test_a_prompt_of_another_host_concerns_nobody() -> None:
    async with scene() as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()

        assert await prompt(gate, RAIN, SORTS) == {}
        assert gate.engine.sessions[0].query is None


async def test_one_conversations_prompt_leaves_another_sessions_list_alone() -> None:
    async with scene(client_environ=None) as gate:
        first, second = await gate.client(name=SORTS), await gate.client(name=SORTS)
        await first.tools()
        await second.tools()
        mine, other = gate.engine.sessions
        other.host_session = "t"

        await prompt(gate, RAIN, SORTS)

        assert mine.picks == ("srv__forecast",)
        assert other.query is None
        assert await second.tools() == ALWAYS


async def test_a_conversation_that_no_session_is_known_for_concerns_all_of_its_host() -> None:
    async with scene(client_environ=None) as gate:
        for _ in range(2):
            await (await gate.client(name=SORTS)).tools()
        for session in gate.engine.sessions:
            session.host_session = "t"

        await prompt(gate, RAIN, SORTS)

        assert [one.picks for one in gate.engine.sessions] == [("srv__forecast",)] * 2


async def test_over_http_the_hook_says_whether_its_host_defers_tools() -> None:
    async with scene(client_environ=None) as gate:
        client = await gate.client(name=DEFERS)
        await client.tools()
        await ready(gate)
        on = await prompt(gate, RAIN, DEFERS, environ={}, wait=SHORT)
        await client.tools()
        off = await prompt(gate, "Rain?", DEFERS, environ={"ENABLE_TOOL_SEARCH": "false"})

        assert "srv__forecast" in on["context"]
        assert off["selected"] == ["srv__forecast"]
        assert off["context"] == ""


async def test_over_http_a_client_is_given_a_moment_after_its_list() -> None:
    async with scene(client_environ=None) as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()

        answer = await followed(gate, client, RAIN)

        assert answer["listed_in_time"] is True
        assert answer["context"] == ""


@pytest.mark.parametrize("error", [TurnRefused("no turn"), GatewayError("no turn")])
async def test_a_turn_that_is_refused_lets_the_prompt_go_on(error: Exception) -> None:
    async with scene() as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()

        async def refuse(*_: Any) -> None:
            raise error

        gate.engine.turns.selections.select = refuse  # type: ignore[method-assign, assignment]

        assert (await prompt(gate, RAIN))["selected"] == []


async def test_a_selection_that_ends_after_the_next_prompt_begins_no_turn() -> None:
    async with scene() as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()
        [session] = gate.engine.sessions
        choose = gate.engine.turns.selections.select

        async def late(*args: Any) -> Any:
            session.query = Query(MONEY, "hook", "s")
            return await choose(*args)

        gate.engine.turns.selections.select = late  # type: ignore[method-assign]

        answer = await prompt(gate, RAIN)

        assert answer["selected"] == []
        assert session.conversation.turn == 0


async def test_the_functions_of_a_turn_are_known_and_whether_one_was_called() -> None:
    async with scene() as gate:
        client = await gate.client(name=FOLLOWS)
        await client.tools()
        await followed(gate, client, RAIN)
        said = {"host": "gemini-cli", "session_id": "s"}

        before = await Hooks(gate.engine).selection(said)
        await client.call("srv__forecast", {"city": "Oslo"})
        after = await Hooks(gate.engine).selection(said)

        assert before == {"names": [*ALWAYS, "srv__forecast"], "called": False}
        assert after == {"names": [*ALWAYS, "srv__forecast"], "called": True}


@pytest.mark.parametrize(
    "said", [{}, {"prompt": 7}, {"prompt": "x", "wait": "long", "environ": 3, "host": None}]
)
async def test_garbage_from_a_hook_is_taken_for_nothing(said: Message) -> None:
    async with scene() as gate:
        assert await Hooks(gate.engine).prompt(said) == {}
