"""What `turn` lists show, for whom, and when they choose anew."""

import random
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from tests.engine.puppets import Puppet, tool
from tests.engine.scene import LIST_CHANGED, Client, called, gateway
from tests.fakes import Awaited, FakeSelector, install, picks

from toolpick.config.settings import SelectorSettings
from toolpick.model import Query
from toolpick_selectors.contract import Selection, SelectionContext, SelectionError, TurnRefused
from toolpick_selectors.contract import Tool as SeenTool

FAKE = SelectorSettings(kind="fake", always=("srv__always",))
META = ["search_tools", "call_tool", "srv__always"]
NAMES = ("always", "read", "write", "send", "delete")
QUERY, CONVERSATION = "io.toolpick/query", "io.toolpick/conversation"


def server(*names: str, **settings: Any) -> Puppet:
    return Puppet("srv", *[tool(name) for name in names or NAMES], **settings)


async def shown(client: Client, query: str = "", **meta: Any) -> list[str]:
    """The tools that are listed besides meta-tools and always-tools."""
    names = await client.tools(**({QUERY: query} if query else {}), **meta)
    assert names[:3] == META
    return [name.removeprefix("srv__") for name in names[3:]]


# -- legacy: the list follows the conversation


async def test_a_legacy_list_shows_the_turns_selection_and_then_only_grows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector())
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client()

        assert await shown(client) == []
        assert await shown(client, "write") == ["write"]
        assert await shown(client, "read send") == ["write", "read", "send"]
        assert await shown(client, "write") == ["write", "read", "send"]
        assert await shown(client) == ["write", "read", "send"]


async def test_beyond_its_room_a_list_gives_up_what_was_shown_first_and_never_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector())
    async with gateway(server(), surface="turn", selector=FAKE, max_tools=5) as scene:
        client = await scene.client()
        assert await shown(client, "write read") == ["write", "read"]
        await client.call("srv__write")

        assert await shown(client, "send") == ["write", "send"]
        assert await shown(client, "delete") == ["write", "delete"]


async def test_an_exact_list_is_the_turns_selection(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, FakeSelector())
    async with gateway(server(), surface="turn", selector=FAKE, stability="exact") as scene:
        client = await scene.client()

        assert await shown(client, "write read") == ["write", "read"]
        assert await shown(client, "send") == ["send"]


async def test_what_a_legacy_client_searched_for_is_appended_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector())
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client()
        assert await shown(client, "write") == ["write"]

        await client.call("search_tools", {"query": "delete"})
        await client.notice(LIST_CHANGED)

        assert await shown(client) == ["write", "delete"]


async def test_one_clients_turn_never_changes_anothers_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector())
    async with gateway(server(scope="shared"), surface="turn", selector=FAKE) as scene:
        first, second = await scene.client(), await scene.client()
        assert await shown(second, "send") == ["send"]

        assert await shown(first, "write") == ["write"]
        await first.call("search_tools", {"query": "delete"})
        await first.call("srv__read")
        await first.notice(LIST_CHANGED)

        assert await shown(second) == ["send"]
        assert second.notices(LIST_CHANGED) == []


async def test_the_command_lines_query_is_every_clients_first_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector())
    query = Query("read", "command")
    async with gateway(server(), surface="turn", selector=FAKE, query=query) as scene:
        for era in ("legacy", "modern"):
            client = await scene.client(era)

            assert await shown(client) == ["read"]
            assert await shown(client, "send") == (
                ["read", "send"] if era == "legacy" else ["send"]
            )


async def test_tools_that_come_or_go_within_a_turn_change_only_what_they_must(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector())
    puppet = server()
    async with gateway(puppet, surface="turn", selector=FAKE) as scene:
        client = await scene.client()
        assert await shown(client, "write read") == ["write", "read"]

        await puppet.changes(*[tool(name) for name in ("always", "read", "fresh")])
        await client.notice(LIST_CHANGED)

        assert await shown(client) == ["read"]


# -- modern: the list depends on what the request carries


async def test_a_modern_list_shows_what_its_own_request_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector())
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client("modern")

        assert await shown(client, "write") == ["write"]
        assert await shown(client, "send read") == ["send", "read"]
        assert await shown(client) == []
        listed = await client.ask("tools/list", **{QUERY: "write"})
        assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")


@pytest.mark.parametrize("surface", ["full", "turn", "search", "stubs", "provider", "auto"])
@pytest.mark.parametrize("command", [None, Query("send", "command")])
async def test_no_modern_list_depends_on_earlier_requests(
    monkeypatch: pytest.MonkeyPatch, surface: str, command: Query | None
) -> None:
    install(monkeypatch, FakeSelector())
    lists = [
        {QUERY: "write"},
        {QUERY: "read", CONVERSATION: "c1"},
        {CONVERSATION: "c2"},
        {QUERY: "write", CONVERSATION: "c2"},
        {},
    ]
    options = {"surface": surface, "selector": FAKE, "query": command, "threshold_tokens": 1}
    async with gateway(server(), **options) as scene:
        fresh = []
        for meta in lists:
            client = await scene.client("modern")
            fresh.append(await client.ask("tools/list", **meta))

        client, rng = await scene.client("modern"), random.Random(4)
        for _ in range(40):
            await disturb(client, rng)
            index = rng.randrange(len(lists))
            assert await client.ask("tools/list", **lists[index]) == fresh[index]


async def test_a_modern_list_is_the_same_whether_or_not_it_was_asked_for_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector())
    puppet = server("always", "send", scope="shared")
    query = Query("fresh send", "command")
    async with gateway(puppet, surface="turn", selector=FAKE, query=query) as scene:
        early, late = await scene.client("modern"), await scene.client("modern")
        early.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        assert await shown(early) == ["send"]

        await puppet.changes(tool("always"), tool("send"), tool("fresh"))
        await early.notice(LIST_CHANGED)

        assert await shown(early) == await shown(late) == ["fresh", "send"]


async def disturb(client: Client, rng: random.Random) -> None:
    """Any request but a list."""
    match rng.randrange(4):
        case 0:
            await client.call("search_tools", {"query": rng.choice(NAMES)})
        case 1:
            await client.call(f"srv__{rng.choice(NAMES)}")
        case 2:
            arguments = {"name": f"srv__{rng.choice(NAMES)}", "arguments": {}}
            await client.call("call_tool", arguments, **{QUERY: "delete"})
        case _:
            await client.answer(client.send("tools/call", called("srv__nothing")))


# -- at most one selection a turn


async def test_lists_that_ask_at_once_share_one_selection(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = anyio.Event()
    selector = Awaited(begin.wait)
    install(monkeypatch, selector)
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client()
        await scene.settled()
        ids = [client.send("tools/list", **{QUERY: "read"}) for _ in range(5)]
        await client.ask("ping")

        begin.set()

        answers = [await client.result(id) for id in ids]
        assert all(answer == answers[0] for answer in answers)
        assert await shown(client, "read") == ["read"]
        assert selector.queries == ["read"]


async def test_a_list_that_is_given_up_leaves_the_selection_to_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin, begun = anyio.Event(), anyio.Event()

    async def wait() -> None:
        begun.set()
        await begin.wait()

    selector = Awaited(wait)
    install(monkeypatch, selector)
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client()
        await scene.settled()
        first, *others = [client.send("tools/list", **{QUERY: "read"}) for _ in range(4)]
        await begun.wait()
        client.notify("notifications/cancelled", {"requestId": first})
        begin.set()

        answers = [await client.result(id) for id in others]

        assert all(answer == answers[0] for answer in answers)
        assert len(selector.queries) <= 2


async def test_a_turn_is_chosen_for_once_however_often_it_is_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selector = FakeSelector()
    install(monkeypatch, selector)
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        for era in ("legacy", "modern"):
            client = await scene.client(era)
            for _ in range(3):
                assert "srv__read" in await client.tools(**{QUERY: f"read for {era}"})

        assert selector.queries == ["read for legacy", "read for modern"]


async def test_a_selector_is_told_what_the_conversation_was_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selector = FakeSelector()
    install(monkeypatch, selector)
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client()
        await shown(client, "read")
        await client.call("srv__read")

        await shown(client, "send")

        assert [(asked.query, asked.conversation, asked.used) for asked in selector.asked] == [
            ("read", (), ()),
            ("send", ("read",), ("srv__read",)),
        ]


# -- failing open


def failing(context: SelectionContext, tools: Sequence[SeenTool]) -> Selection:
    if context.query == "fail":
        raise SelectionError("the model is away")
    return picks(*(one.id for one in tools if one.name == context.query))


async def test_a_failed_first_selection_lists_everything_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector(failing))
    async with gateway(server(deny=("delete",)), surface="turn", selector=FAKE) as scene:
        for era in ("legacy", "modern"):
            client = await scene.client(era)

            assert sorted(await shown(client, "fail")) == ["read", "send", "write"]


async def test_a_failed_first_selection_of_a_large_catalog_leaves_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector(failing))
    async with gateway(server(), surface="turn", selector=FAKE, max_tools=5) as scene:
        client = await scene.client()

        assert await shown(client, "fail") == []


async def test_a_failed_selection_keeps_what_was_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, FakeSelector(failing))
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client()
        assert await shown(client, "write") == ["write"]

        assert await shown(client, "fail") == ["write"]
        assert await shown(client, "read") == ["write", "read"]


async def test_an_empty_selection_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, FakeSelector(failing))
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client()

        assert await shown(client, "nothing of the kind") == []


async def test_a_selector_that_takes_too_long_fails_open(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Awaited(anyio.sleep_forever))
    settings = SelectorSettings(kind="fake", always=FAKE.always, timeout=0.05)
    async with gateway(server(), surface="turn", selector=settings) as scene:
        client = await scene.client()

        assert sorted(await shown(client, "read")) == ["delete", "read", "send", "write"]


async def test_a_turn_that_the_selector_refuses_is_answered_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(context: SelectionContext, tools: Sequence[SeenTool]) -> Selection:
        raise TurnRefused("the budget is used up")

    install(monkeypatch, FakeSelector(refuse))
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client()

        error = await client.fails("tools/list", **{QUERY: "read"})

        assert error == {"code": -32000, "message": "the budget is used up"}


# -- which surface


@pytest.mark.parametrize(
    ("threshold", "names"),
    [
        (10_000, [f"srv__{name}" for name in sorted(NAMES)]),
        (1, META),
    ],
    ids=["small", "large"],
)
async def test_auto_lists_small_catalogs_in_full_and_lets_large_ones_be_searched(
    threshold: int, names: list[str]
) -> None:
    settings = SelectorSettings(always=FAKE.always)
    async with gateway(
        server(), surface="auto", selector=settings, threshold_tokens=threshold
    ) as scene:
        for era in ("legacy", "modern"):
            client = await scene.client(era)

            assert await client.tools() == names


async def test_an_always_tool_that_nobody_offers_is_just_not_there() -> None:
    settings = SelectorSettings(always=("srv__missing", "srv__read"))
    async with gateway(server(), surface="search", selector=settings) as scene:
        client = await scene.client()

        assert await client.tools() == ["search_tools", "call_tool", "srv__read"]


async def test_a_session_that_ends_leaves_nothing_to_one_that_looks_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selector = FakeSelector()
    install(monkeypatch, selector)
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        for _ in range(3):
            client = await scene.client()
            assert await shown(client, "read") == ["read"]
            client.front.lost("the client closed stdin")
            await scene.until(lambda: not scene.engine.sessions)

        assert selector.queries == ["read"] * 3
