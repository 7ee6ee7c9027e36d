"""The gateway's own tools, in front of real servers."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from tests.engine.puppets import Asked, Message, Puppet, Silence, text, tool
from tests.engine.scene import LIST_CHANGED, called, gateway
from tests.fakes import FakeSelector, install, naming, picks

from toolpick.config.settings import SelectorSettings
from toolpick_selectors.contract import Selection, SelectionContext, SelectionError, TurnRefused
from toolpick_selectors.contract import Tool as SeenTool

FAKE = SelectorSettings(kind="fake")
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "deep": {"type": "boolean"}},
    "required": ["path"],
}
META = ("search_tools", "call_tool")


def server(*names: str, **settings: Any) -> Puppet:
    names = names or ("read", "write")
    tools = [{**tool(name, f"Will {name} a file."), "inputSchema": SCHEMA} for name in names]
    return Puppet("files", *tools, **settings)


both = pytest.mark.parametrize("era", ["legacy", "modern"])


@both
@pytest.mark.parametrize("surface", ["search", "turn", "stubs", "provider"])
async def test_they_are_listed_first_in_every_surface_but_full(era: str, surface: str) -> None:
    async with gateway(server(), surface=surface) as scene:
        client = await scene.client(era)

        assert (await client.tools())[:2] == list(META)


async def test_their_descriptions_say_what_there_is() -> None:
    async with gateway(server(), Puppet("other"), surface="search") as scene:
        client = await scene.client()
        listed = (await client.ask("tools/list"))["tools"]

        assert "There are 3 tools of 2 servers: files 2, other 1." in listed[0]["description"]
        assert listed[0]["_meta"] == {"anthropic/alwaysLoad": True}


@both
async def test_a_search_answers_with_what_can_be_called(
    era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, FakeSelector())
    async with gateway(server(), surface="search", selector=FAKE) as scene:
        client = await scene.client(era)

        result = await client.call("search_tools", {"query": "write read", "limit": 1})

        assert result.get("isError") in (None, False)
        [block] = result["content"]
        assert "files__write(path: string, deep?: boolean)" in block["text"]
        assert "files__read" not in block["text"]
        assert ("resultType" in result) is (era == "modern")


async def test_a_search_may_be_kept_to_one_server(monkeypatch: pytest.MonkeyPatch) -> None:
    selector = FakeSelector(lambda context, tools: picks(*(one.id for one in tools)))
    install(monkeypatch, selector)
    async with gateway(server(), Puppet("other"), surface="search", selector=FAKE) as scene:
        client = await scene.client()

        said = await client.says("search_tools", {"query": "x", "server": "other"})

        assert "other__echo" in said
        assert "files__" not in said


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"query": 5}, "search_tools: query must be text, not 5"),
        ({"query": "x", "detail": "all"}, "search_tools: detail must be one of "),
        ({"query": "x", "server": "no"}, "search_tools: there is no server 'no'; there are: files"),
        ({"query": "x", "limit": "many"}, "search_tools: limit must be a number, not 'many'"),
    ],
)
async def test_a_search_that_makes_no_sense_says_what_would(
    arguments: Message, problem: str
) -> None:
    async with gateway(server(), surface="search") as scene:
        client = await scene.client()

        result = await client.call("search_tools", arguments)

        assert result["isError"] is True
        assert result["content"][0]["text"].startswith(problem)


async def test_a_search_that_finds_nothing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, FakeSelector())
    async with gateway(server(), surface="search", selector=FAKE) as scene:
        client = await scene.client()

        result = await client.call("search_tools", {"query": "nothing of the kind"})

        assert result.get("isError") in (None, False)
        assert result["content"][0]["text"] == (
            "Nothing matched 'nothing of the kind'. Say in other words what the tool should do, "
            "with fewer or more general words. There are 2 tools of 1 server: files 2."
        )


async def test_a_search_names_the_servers_that_nothing_can_be_found_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def silence(asked: Asked) -> Message:
        raise Silence

    install(monkeypatch, FakeSelector())
    slow = Puppet("slow")
    slow.on["initialize"] = slow.on["server/discover"] = silence
    async with gateway(server(), slow, surface="search", selector=FAKE, list_wait=0.01) as scene:
        client = await scene.client()
        await scene.engine.sessions[0].pool.links["files"].usable(5)

        said = await client.says("search_tools", {"query": "write a file"})

        note, found, *_ = said.splitlines()
        assert note == "Not there at the moment: slow (starting)."
        assert found.startswith("1 of 2 tools, best first.")


@pytest.mark.parametrize("error", [SelectionError("the model is away"), ZeroDivisionError()])
async def test_a_broken_selector_is_stood_in_for_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(context: SelectionContext, tools: Sequence[SeenTool]) -> Selection:
        raise error

    install(monkeypatch, FakeSelector(broken))
    async with gateway(server(), surface="search", selector=FAKE) as scene:
        client = await scene.client()

        said = await client.says("search_tools", {"query": "write a file"})

        assert "files__write" in said
        reason = str(error) or "selector 'fake' failed: ZeroDivisionError"
        assert reason in said


async def test_a_selector_that_refuses_turns_refuses_a_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(context: SelectionContext, tools: Sequence[SeenTool]) -> Selection:
        raise TurnRefused("the budget is used up")

    install(monkeypatch, FakeSelector(refuse))
    async with gateway(server(), surface="search", selector=FAKE) as scene:
        client = await scene.client()

        error = await client.fails("tools/call", called("search_tools", {"query": "write"}))

        assert error == {"code": -32000, "message": "the budget is used up"}


async def test_a_search_sees_what_a_server_lists_by_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolpick.engine.metatools.LIVE", 0.0)
    install(monkeypatch, FakeSelector())
    puppet = server("read", capabilities={"tools": {}})
    async with gateway(puppet, surface="search", selector=FAKE) as scene:
        client = await scene.client()
        await scene.settled()
        monkeypatch.setattr("toolpick.engine.metatools.LIVE", 5.0)
        monkeypatch.setattr(type(scene.engine.sessions[0].pool.links["files"]), "list_age", 9.0)
        puppet.tools = [tool("brand"), tool("new")]

        assert "files__new" in await client.says("search_tools", {"query": "new"})


async def test_the_first_search_waits_for_servers_that_are_starting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, FakeSelector())
    async with gateway(server(), surface="search", selector=FAKE, list_wait=60) as scene:
        client = await scene.client()

        assert "files__write" in await client.says("search_tools", {"query": "write"})


# -- call_tool


@both
async def test_a_call_through_call_tool_is_the_call_itself(era: str) -> None:
    puppet = server()

    async def work(asked: Asked) -> Message:
        await asked.progress(1)
        return {**text("done"), "isError": True, "structuredContent": {"big": 2**70}, "new": None}

    puppet.on["tools/call"] = work
    async with gateway(puppet, surface="search") as scene:
        client = await scene.client(era)
        await scene.settled()

        result = await client.call(
            "call_tool",
            {"name": "files__read", "arguments": {"path": "/a", "n": 10**30}},
            progressToken="mine",
        )

        result.pop("resultType", None)
        assert result == {
            **text("done"),
            "isError": True,
            "structuredContent": {"big": 2**70},
            "new": None,
        }
        arrived = puppet.params("tools/call")[0]
        assert arrived["name"] == "read"
        assert arrived["arguments"] == {"path": "/a", "n": 10**30}
        assert [said["progressToken"] for said in client.notices("notifications/progress")] == [
            "mine"
        ]


@both
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            {"name": "files__read", "arguments": {"deep": True}},
            "files__read was not called: arguments must have 'path'; "
            "expected (path: string, deep?: boolean)",
        ),
        (
            {"name": "files__read", "arguments": {"path": 5}},
            "files__read was not called: argument 'path' must be of type string, not 5; "
            "expected (path: string, deep?: boolean)",
        ),
        (
            {"name": "files__read", "arguments": [1]},
            "files__read was not called: "
            "arguments must be an object with the tool's arguments by name",
        ),
        (
            {"name": "files__read"},
            "files__read was not called: arguments must have 'path'; "
            "expected (path: string, deep?: boolean)",
        ),
        ({"name": 5}, 'call_tool: "name" must be the name of a tool, as text'),
        ({}, 'call_tool: "name" must be the name of a tool, as text'),
        (
            {"name": "read", "arguments": {}},
            "Unknown tool: 'read'; did you mean 'files__read'?",
        ),
        (
            {"name": "files__other", "arguments": {}},
            "Unknown tool: 'files__other'; search_tools finds tools by what they do",
        ),
    ],
)
async def test_a_wrong_call_is_not_made_and_says_what_was_expected(
    era: str, arguments: Message, problem: str
) -> None:
    puppet = server()
    async with gateway(puppet, surface="search") as scene:
        client = await scene.client(era)
        await scene.settled()

        result = await client.call("call_tool", arguments)

        assert result["isError"] is True
        assert result["content"] == [{"type": "text", "text": problem}]
        assert "tools/call" not in puppet.methods()


async def test_call_tool_without_arguments_calls_a_tool_that_takes_none() -> None:
    puppet = Puppet("srv")
    async with gateway(puppet, surface="search") as scene:
        client = await scene.client()
        await scene.settled()

        assert await client.says("call_tool", {"name": "srv__echo"}) == "echo was called"
        assert puppet.params("tools/call") == [{"name": "echo"}]


async def test_call_tool_waits_for_a_server_that_is_starting() -> None:
    async with gateway(Puppet("srv"), surface="search") as scene:
        client = await scene.client()

        assert await client.says("call_tool", {"name": "srv__echo"}) == "echo was called"


async def test_call_tool_is_cancelled_as_the_call_itself() -> None:
    puppet = Puppet("srv")

    async def work(asked: Asked) -> Message:
        await asked.cancelled()
        return text("too late")

    puppet.on["tools/call"] = work
    async with gateway(puppet, surface="search") as scene:
        client = await scene.client()
        id = client.send("tools/call", called("call_tool", {"name": "srv__echo"}))
        await puppet.hears("tools/call")

        client.notify("notifications/cancelled", {"requestId": id, "reason": "enough"})

        assert (await puppet.hears("notifications/cancelled"))["params"]["reason"] == "enough"


async def test_a_servers_own_tool_of_that_name_is_the_servers() -> None:
    puppet = Puppet("srv", tool("search_tools"), prefix="")
    async with gateway(puppet) as scene:
        client = await scene.client()
        [name] = await client.tools()

        assert await client.says(name) == "search_tools was called"


# -- names that are not there


@both
async def test_a_bare_name_is_answered_with_the_names_that_may_be_meant(era: str) -> None:
    async with gateway(Puppet("a", tool("echo")), Puppet("b", tool("echo"))) as scene:
        client = await scene.client(era)
        await scene.settled()

        error = await client.fails("tools/call", called("echo"))

        assert error == {
            "code": -32602,
            "message": "Unknown tool: 'echo'; did you mean 'a__echo' or 'b__echo'?",
        }


# -- stubs


@both
async def test_a_stub_is_held_against_the_real_schema_before_it_is_called(era: str) -> None:
    puppet = server()
    async with gateway(puppet, surface="stubs") as scene:
        client = await scene.client(era)
        listed = (await client.ask("tools/list"))["tools"][2]
        assert listed["inputSchema"] == {"type": "object"}

        wrong = await client.call("files__read", {"path": 5})
        right = await client.call("files__read", {"path": "/a"})

        assert wrong["isError"] is True
        assert wrong["content"][0]["text"].startswith("files__read was not called: argument 'path'")
        assert right["content"][0]["text"] == "read was called"
        assert len(puppet.params("tools/call")) == 1


async def test_a_stub_is_listed_whole_once_a_legacy_client_used_it() -> None:
    async with gateway(server(), surface="stubs") as scene:
        client = await scene.client()
        await client.ask("tools/list")
        await client.call("files__read", {"path": "/a"})

        await client.notice(LIST_CHANGED)
        listed = {one["name"]: one for one in (await client.ask("tools/list"))["tools"]}

        assert listed["files__read"]["inputSchema"] == SCHEMA
        assert listed["files__write"]["inputSchema"] == {"type": "object"}
        fresh = await scene.client()
        again = {one["name"]: one for one in (await fresh.ask("tools/list"))["tools"]}
        assert again["files__read"]["inputSchema"] == {"type": "object"}


async def test_a_stub_stays_one_for_a_modern_client_and_explains_itself_once() -> None:
    async with gateway(server(), surface="stubs") as scene:
        client = await scene.client("modern")
        before = await client.ask("tools/list")
        answers = [await client.call("files__read", {"path": "/a"}) for _ in range(2)]

        assert len(answers[0]["content"]) == 2
        assert "path: string" in answers[0]["content"][1]["text"]
        assert answers[1]["content"] == text("read was called")["content"]
        assert await client.ask("tools/list") == before


@both
async def test_a_stubs_answer_that_is_no_object_is_an_error_that_names_the_server(era: str) -> None:
    puppet = server(eras=(era,))

    async def odd(asked: Asked) -> Message:
        await asked.connection.send({"id": asked.id, "result": 5})
        raise Silence

    puppet.on["tools/call"] = odd
    async with gateway(puppet, surface="stubs") as scene:
        client = await scene.client(era)

        answer = await client.answer(
            client.send("tools/call", called("files__read", {"path": "/a"}))
        )

        assert answer["error"]["data"] == {"server": "files"}


# -- enforce = "selected"


@both
async def test_a_strict_gateway_lets_only_a_turns_tools_be_called(
    era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, FakeSelector(naming))
    puppet = server("read", "write", "other")
    settings = SelectorSettings(kind="fake", always=("files__other",))
    async with gateway(puppet, surface="turn", selector=settings, enforce="selected") as scene:
        client = await scene.client(era)
        await scene.settled()

        refused = await client.call("files__write", {"path": "/a"})
        through = await client.call(
            "call_tool", {"name": "files__write", "arguments": {"path": ""}}
        )
        assert refused["isError"] is through["isError"] is True
        assert refused["content"][0]["text"] == (
            "files__write was not called: only this turn's tools can be called here, "
            "and it is none of them; find it with search_tools first"
        )
        assert through["content"] == refused["content"]
        assert (await client.call("files__other", {"path": "/a"})).get("isError") is None

        await client.call("search_tools", {"query": "write"})

        assert (await client.call("files__write", {"path": "/a"})).get("isError") is None
        assert len(puppet.params("tools/call")) == 2


async def test_two_meta_calls_at_once_do_not_mix() -> None:
    puppet = server()

    async def work(asked: Asked) -> Message:
        return text(asked.params["arguments"]["path"])

    puppet.on["tools/call"] = work
    async with gateway(puppet, surface="search") as scene:
        client = await scene.client()
        await scene.settled()
        said: dict[str, str] = {}

        async def ask(path: str) -> None:
            arguments = {"name": "files__read", "arguments": {"path": path}}
            said[path] = await client.says("call_tool", arguments)

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(ask, str(number))

        assert said == {str(number): str(number) for number in range(20)}
