"""Profiles over HTTP, seen by raw clients of both eras: a boundary, and nothing leaks across it."""

import anyio
import pytest
from tests.engine.puppets import PATIENCE, Asked, Message, Puppet, answer_in, text, tool
from tests.profiles.raw import ERAS, serving

from toolpick.config.settings import ProfileSettings, SelectorSettings

both = pytest.mark.parametrize("era", ERAS)

WRITING = ProfileSettings(
    "writing", servers=("docs",), allow=("docs__*",), deny=("*__delete_*",), token="w-token"
)
EVERYTHING = ["docs__delete_page", "docs__read", "docs__search", "git__log", "git__push"]
MINE = ["docs__read", "docs__search"]


def docs(**settings: object) -> Puppet:
    made = Puppet(
        "docs",
        tool("read", "Read a page"),
        tool("search", "Search pages"),
        tool("delete_page", "Delete a page for good"),
        **settings,
    )
    made.prompts = [{"name": "outline"}]
    made.resources = [{"uri": "docs://start", "name": "start"}, {"uri": "both://x", "name": "x"}]
    return made


def git(**settings: object) -> Puppet:
    made = Puppet("git", tool("log", "Show the log"), tool("push", "Push commits"), **settings)
    made.prompts = [{"name": "commit"}]
    made.resources = [{"uri": "git://head", "name": "head"}, {"uri": "both://x", "name": "x"}]
    made.templates = [{"uriTemplate": "git://{rev}", "name": "rev"}]
    return made


@both
async def test_a_profile_lists_its_part_of_everything(era: str) -> None:
    async with serving(docs(), git(), profiles=(WRITING,), token="all") as served:
        mine = await served.client(era, "writing", "all")
        whole = await served.client(era, token="all")

        assert await mine.names("tools/list") == MINE
        assert await mine.names("prompts/list") == ["docs__outline"]
        assert await mine.names("resources/list") == ["both://x", "docs://start"]
        assert await mine.names("resources/templates/list") == []
        assert await whole.names("tools/list") == EVERYTHING
        assert await whole.names("prompts/list") == ["docs__outline", "git__commit"]
        assert await mine.text("docs__read") == "read was called"
        assert await whole.text("docs__delete_page") == "delete_page was called"


@both
async def test_what_a_profile_leaves_out_is_called_by_no_path(era: str) -> None:
    pages, commits = docs(), git()
    async with serving(pages, commits, profiles=(WRITING,)) as served:
        mine = await served.client(era, token="w-token")
        await mine.names("tools/list")

        for name in ("docs__delete_page", "git__push", "delete_page", "push"):
            unknown = f"Unknown tool: {name!r}; search_tools finds tools by what they do"
            assert await mine.fails("tools/call", {"name": name, "arguments": {}}) == unknown
            assert await mine.text("call_tool", {"name": name, "arguments": {}}) == unknown
        assert pages.params("tools/call") == []
        assert commits.connections == [], "its process was not even started"


@both
async def test_what_a_profile_leaves_out_is_not_found(era: str) -> None:
    async with serving(docs(), git(), profiles=(WRITING,)) as served:
        mine = await served.client(era, token="w-token")

        found = await mine.text("search_tools", {"query": "delete a page", "limit": 50})
        assert "docs__read" in found
        assert "delete_page" not in found
        assert "2 tools" in found
        assert await mine.text("search_tools", {"query": "push", "server": "git"}) == (
            "search_tools: there is no server 'git'; there are: docs"
        )


@both
async def test_prompts_and_resources_of_a_server_that_is_left_out_are_unknown(era: str) -> None:
    pages, commits = docs(), git()

    async def missing(asked: Asked) -> Message:
        return answer_in(asked, {"contents": [{"uri": asked.params["uri"], "text": "docs"}]})

    pages.on["resources/read"] = missing
    async with serving(pages, commits, profiles=(WRITING,)) as served:
        mine = await served.client(era, token="w-token")
        await mine.names("tools/list")

        assert await mine.fails("prompts/get", {"name": "git__commit"}) == (
            "Unknown prompt: 'git__commit'"
        )
        assert await mine.fails(
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "git__commit"},
                "argument": {"name": "a", "value": ""},
            },
        ) == ("Unknown reference: 'git__commit'")
        read = await mine.ask("resources/read", {"uri": "both://x"})
        assert read["contents"] == [{"uri": "both://x", "text": "docs"}]
        # nobody announced it: only servers of the profile are asked whether they know it
        await mine.ask("resources/read", {"uri": "git://head"})
        assert commits.connections == []


@both
async def test_a_token_chooses_its_profile_and_opens_no_other(era: str) -> None:
    reading = ProfileSettings("reading", allow=("docs__read",), token="r-token")
    open_to_all = ProfileSettings("free", deny=("git__*",))
    profiles = (WRITING, reading, open_to_all)
    async with serving(docs(), git(), profiles=profiles, token="all") as served:
        for path in ("", "reading"):
            mine = await served.client(era, path, "r-token")
            assert await mine.names("tools/list") == ["docs__read"]
        assert await (await served.client(era, "reading", "all")).names("tools/list") == [
            "docs__read"
        ]
        assert await (await served.client(era, "free", "all")).names("tools/list") == EVERYTHING[:3]
        hello = "server/discover" if era == "modern" else "initialize"
        for path in ("writing", "free", "nowhere"):
            refused = await served.stranger(era, path, "r-token").post(hello)
            assert refused.status_code == 404
            assert refused.json()["error"]["message"] == (
                "there is nothing at this path; the endpoint is /mcp"
            )
        for path in ("", "reading", "free"):
            for token in ("", "wrong", "r-toke", "r-token2"):
                refused = await served.stranger(era, path, token).post(hello)
                assert refused.status_code == 401


@both
async def test_one_token_of_a_profile_shuts_the_door_for_everybody_else(era: str) -> None:
    async with serving(docs(), profiles=(WRITING, ProfileSettings("free"))) as served:
        hello = "server/discover" if era == "modern" else "initialize"
        for path in ("", "free", "writing"):
            assert (await served.stranger(era, path).post(hello)).status_code == 401
        assert await (await served.client(era, token="w-token")).names("tools/list") == MINE


@both
async def test_without_any_token_the_path_alone_chooses(era: str) -> None:
    free = ProfileSettings("free", servers=("docs",))
    async with serving(docs(), git(), profiles=(free,)) as served:
        assert await (await served.client(era, "free")).names("tools/list") == EVERYTHING[:3]
        assert await (await served.client(era)).names("tools/list") == EVERYTHING


@both
async def test_a_gateway_may_serve_one_profile_alone(era: str) -> None:
    free = ProfileSettings("free", servers=("git",))
    async with serving(docs(), git(), profiles=(free,), usual="free") as served:
        for path in ("", "free"):
            assert await (await served.client(era, path)).names("tools/list") == EVERYTHING[3:]


@both
async def test_a_tool_that_comes_later_is_held_against_the_profile(era: str) -> None:
    pages = docs()
    async with serving(pages, profiles=(WRITING,)) as served:
        mine = await served.client(era, token="w-token")
        assert await mine.names("tools/list") == MINE
        await pages.changes(tool("delete_all"), tool("write"))

        with anyio.fail_after(PATIENCE):
            while await mine.names("tools/list") == MINE:
                continue
        assert await mine.names("tools/list") == ["docs__write"]
        assert "Unknown tool" in await mine.fails("tools/call", {"name": "docs__delete_all"})


@both
async def test_the_filters_of_a_server_hold_in_every_profile(era: str) -> None:
    wide = ProfileSettings("wide", allow=("*",))
    async with serving(docs(deny=("search",)), profiles=(wide,)) as served:
        mine = await served.client(era, "wide")
        assert await mine.names("tools/list") == ["docs__delete_page", "docs__read"]


@both
async def test_a_server_shared_by_all_is_filtered_for_each(era: str) -> None:
    pages = docs(scope="shared")
    async with serving(pages, profiles=(WRITING,), token="all") as served:
        mine = await served.client(era, token="w-token")
        whole = await served.client(era, token="all")

        assert await mine.names("tools/list") == MINE
        assert await whole.names("tools/list") == EVERYTHING[:3]
        assert len(pages.connections) == 1
        assert "Unknown tool" in await mine.fails("tools/call", {"name": "docs__delete_page"})


@both
async def test_surface_always_and_query_are_those_of_the_profile(era: str) -> None:
    shown = ProfileSettings(
        "shown", surface="turn", always=("git__log",), query="delete a page for good"
    )
    selector = SelectorSettings(kind="lexical", limit=1, minimum=1, always=("docs__read",))
    async with serving(docs(), git(), profiles=(shown,), selector=selector) as served:
        mine = await served.client(era, "shown")
        whole = await served.client(era)

        meta = ["search_tools", "call_tool"]
        assert await mine.names("tools/list") == [*meta, "git__log", "docs__delete_page"]
        assert await whole.names("tools/list") == EVERYTHING
        by_header = await mine.names("tools/list", **{"x-toolpick-query": "push commits"})
        assert "git__push" in by_header


@both
async def test_a_query_of_one_profile_changes_no_other(era: str) -> None:
    first = ProfileSettings("first", surface="turn", query="push commits")
    second = ProfileSettings("second", surface="turn", query="search pages")
    selector = SelectorSettings(kind="lexical", limit=1, minimum=1)
    async with serving(docs(), git(), profiles=(first, second), selector=selector) as served:
        one, two = await served.client(era, "first"), await served.client(era, "second")

        for _ in range(2):
            assert (await one.names("tools/list"))[2:] == ["git__push"]
            assert (await two.names("tools/list"))[2:] == ["docs__search"]


@both
async def test_stubs_of_a_profile_are_checked_and_other_profiles_are_not(era: str) -> None:
    page = tool("read", "Read a page. At once.")
    page["inputSchema"] = {"type": "object", "required": ["id"]}
    short = ProfileSettings("short", surface="stubs")
    async with serving(Puppet("docs", page), profiles=(short,)) as served:
        mine, whole = await served.client(era, "short"), await served.client(era)
        await mine.names("tools/list")

        assert "was not called" in await mine.text("docs__read")
        assert await mine.text("docs__read", {"id": 1}) == "read was called"
        assert await whole.text("docs__read") == "read was called"


async def test_a_session_is_of_its_profile_and_of_its_token() -> None:
    era = "legacy"
    profiles = (WRITING, ProfileSettings("reading", token="r-token"))
    async with serving(docs(), profiles=profiles, token="all") as served:
        mine = await served.client(era, "writing", "w-token")
        for path, token in (("", "all"), ("writing", "all"), ("reading", "r-token")):
            thief = served.stranger(era, path, token)
            thief.session = mine.session
            assert (await thief.post("tools/list")).status_code == 404
        assert await mine.names("tools/list") == MINE


async def test_a_call_that_waits_is_of_whoever_made_it() -> None:
    era = "modern"

    async def asks(asked: Asked) -> Message:
        answer = await asked.ask("elicitation/create", {"message": "Sure?"})
        return text(answer["result"]["action"])

    pages = docs(eras=("legacy",))
    pages.on["tools/call"] = asks
    async with serving(pages, profiles=(WRITING,), token="all") as served:
        mine = await served.client(era, "writing", "w-token")
        other = await served.client(era, "writing", "all")
        call: Message = {"name": "docs__read", "arguments": {}}
        asked = await mine.ask("tools/call", call)
        answers = {key: {"action": "accept"} for key in asked["inputRequests"]}
        again = {**call, "requestState": asked["requestState"], "inputResponses": answers}

        assert await other.fails("tools/call", again) == (
            "unknown or expired requestState; call again without it"
        )
        assert (await mine.ask("tools/call", again))["content"][0]["text"] == "accept"
        assert len(pages.connections) == 2, "each principal has a process of its own"


@both
async def test_greetings_say_nothing_of_profiles(era: str) -> None:
    async with serving(docs(), profiles=(WRITING,), token="all") as served:
        method = "server/discover" if era == "modern" else "initialize"
        said = await served.stranger(era, "writing", "w-token").post(method)
        assert "writing" not in said.text
        assert "token" not in said.text
