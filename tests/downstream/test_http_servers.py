"""Servers behind HTTP: sessions that are forgotten, streams that break, questions on streams."""

import json
from typing import Any

import anyio
import pytest
from tests.engine.puppets import LEGACY, META, MODERN, Message, text, tool
from tests.engine.scene import LIST_CHANGED, called, gateway
from tests.wire.raw_http import Asked, serving, unused_port

from toolpick.config.settings import ServerSettings

ROOTS = "roots/list"


class Server:
    """A streamable HTTP server; ``sessions`` are those it knows, ``tools`` what it lists."""

    def __init__(self, era: str = "legacy", *tools: Message) -> None:
        self.era = era
        self.tools = list(tools) or [tool("echo")]
        self.sessions: list[str] = []
        self.greetings = 0
        self.called: list[Message] = []
        self.forget_at_calls = 0
        self.stream: Asked | None = None
        self.streams = 0
        self.news = anyio.Event()

    def settings(self, url: str, **more: Any) -> ServerSettings:
        return ServerSettings("web", transport="http", url=url, **more)

    async def __call__(self, asked: Asked) -> None:
        handler = {
            "initialize": self.initialize,
            "server/discover": self.discover,
            "tools/list": self.list,
            "tools/call": self.call,
            "subscriptions/listen": self.listen,
            "GET": self.get,
            "DELETE": self.gone,
        }.get(asked.rpc, self.accept)
        known = asked.headers.get("mcp-session-id") in (None, *self.sessions)
        if not known:
            await asked.answer(404)
        elif self.era == "modern" and asked.rpc == "initialize":
            await self.refuse(asked, -32601)
        else:
            await handler(asked)

    async def initialize(self, asked: Asked) -> None:
        self.greetings += 1
        self.sessions = [f"session-{self.greetings}"]
        said = {
            "protocolVersion": LEGACY,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "web", "version": "1"},
        }
        await asked.result(said, mcp_session_id=self.sessions[0])

    async def discover(self, asked: Asked) -> None:
        if self.era != "modern":
            await self.refuse(asked, -32601)
            return
        await asked.result(
            {
                "resultType": "complete",
                "supportedVersions": [MODERN],
                "capabilities": {"tools": {"listChanged": True}},
                "ttlMs": 0,
                "cacheScope": "private",
            }
        )

    async def list(self, asked: Asked) -> None:
        await asked.result({"resultType": "complete", "tools": self.tools})

    async def call(self, asked: Asked) -> None:
        self.called.append(asked.message["params"])
        if self.forget_at_calls:
            self.forget_at_calls -= 1
            self.sessions = []
            await asked.answer(404)
            return
        await asked.result({"resultType": "complete", **text("called")})

    async def listen(self, asked: Asked) -> None:
        await self.open(asked)

    async def get(self, asked: Asked) -> None:
        await self.open(asked)

    async def open(self, asked: Asked) -> None:
        """Keep a stream of changes open until the client or ``tear`` ends it."""
        await asked.stream()
        self.stream, self.streams = asked, self.streams + 1
        self.news.set()
        self.news = anyio.Event()
        await asked.hang_up()

    async def opened(self, count: int) -> Asked:
        with anyio.fail_after(5):
            while self.streams < count:
                await self.news.wait()
        assert self.stream is not None
        return self.stream

    async def gone(self, asked: Asked) -> None:
        await asked.answer(200)

    async def accept(self, asked: Asked) -> None:
        await asked.answer(202)

    async def refuse(self, asked: Asked, code: int) -> None:
        error = {"code": code, "message": "Method not found"}
        body = {"jsonrpc": "2.0", "id": asked.message["id"], "error": error}
        await asked.answer(200, json.dumps(body).encode())


def notice(method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


async def test_a_call_that_a_server_refused_unseen_is_made_again_in_a_new_session() -> None:
    server = Server()
    async with serving(server) as web, gateway(more=[server.settings(web.url)]) as scene:
        client = await scene.client()
        assert await client.says("web__echo") == "called"
        server.forget_at_calls = 1

        assert await client.says("web__echo") == "called"

        assert (server.greetings, len(server.called)) == (2, 3)


async def test_a_server_that_forgets_every_session_is_not_asked_for_ever() -> None:
    server = Server()
    async with serving(server) as web, gateway(more=[server.settings(web.url)]) as scene:
        client = await scene.client()
        await client.tools()
        server.forget_at_calls = 99

        error = await client.fails("tools/call", called("web__echo"))

        assert error["code"] == -32000
        assert error["data"] == {"server": "web"}
        assert "no longer knows the session" in error["message"]
        assert len(server.called) == 2


async def test_calls_that_were_refused_together_are_all_made_again() -> None:
    server = Server()
    async with serving(server) as web, gateway(more=[server.settings(web.url)]) as scene:
        client = await scene.client()
        await client.tools()
        server.sessions = []

        ids = [client.send("tools/call", called("web__echo")) for _ in range(5)]

        for id in ids:
            assert (await client.result(id))["content"] == text("called")["content"]
        assert server.greetings == 2


@pytest.mark.parametrize(("era", "version"), [("legacy", LEGACY), ("modern", MODERN)])
async def test_changes_told_on_a_stream_are_read(era: str, version: str) -> None:
    server = Server(era)
    async with serving(server) as web, gateway(more=[server.settings(web.url)]) as scene:
        client = await scene.client(era)
        client.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        assert await client.tools() == ["web__echo"]
        stream = await server.opened(1)
        server.tools = [tool("other")]

        await stream.event(notice(LIST_CHANGED))

        await client.notice(LIST_CHANGED)
        assert await client.tools() == ["web__other"]
        assert stream.headers["mcp-protocol-version"] == version


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_what_changed_while_a_stream_was_broken_is_read_when_it_is_back(
    era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolpick.wire.streams.RETRY", 0.01)
    server = Server(era)
    async with serving(server) as web, gateway(more=[server.settings(web.url)]) as scene:
        client = await scene.client(era)
        client.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        assert await client.tools() == ["web__echo"]
        stream = await server.opened(1)
        server.tools = [tool("other")]

        await stream.tear()

        await client.notice(LIST_CHANGED)
        assert await client.tools() == ["web__other"]
        await server.opened(2)


async def test_a_question_on_a_calls_own_stream_reaches_the_client_that_made_it() -> None:
    server = Server()
    both, answers = anyio.Event(), {}

    async def ask(asked: Asked) -> None:
        if asked.rpc == "response":
            answers[asked.message["id"]] = asked.message["result"]
            both.set()
            await asked.answer(202)
            return
        await asked.stream()
        number = asked.message["params"]["arguments"]["n"]
        if number == 1:
            await asked.event({"jsonrpc": "2.0", "id": "q", "method": ROOTS, "params": {}})
        await both.wait()
        await asked.event(asked.reply(text(str(answers["q"]))))
        await asked.end()

    server.call = server.accept_answer = ask  # type: ignore[method-assign,attr-defined]

    async def route(asked: Asked) -> None:
        await (ask(asked) if asked.rpc == "response" else server(asked))

    async with serving(route) as web:
        settings = server.settings(web.url, scope="shared")
        async with gateway(more=[settings]) as scene:
            first, second = await scene.client(roots={}), await scene.client(roots={})
            await first.tools()
            other = second.send("tools/call", called("web__echo", {"n": 2}))
            mine = first.send("tools/call", called("web__echo", {"n": 1}))

            first.reply(await first.question(ROOTS), {"roots": [1]})

            for client, id in ((first, mine), (second, other)):
                assert (await client.result(id))["content"] == text("{'roots': [1]}")["content"]
            assert [m for m in second.heard if "method" in m and "id" in m] == []


async def test_a_modern_server_finds_the_call_in_its_headers() -> None:
    schema = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    }
    server = Server("modern", {"name": "echo", "inputSchema": schema})
    async with serving(server) as web, gateway(more=[server.settings(web.url)]) as scene:
        client = await scene.client("modern")

        await client.call("web__echo", {"region": "eu", "other": 1})

        [headers] = [asked.headers for asked in web.asked if asked.rpc == "tools/call"]
        expected = {
            "mcp-method": "tools/call",
            "mcp-name": "echo",
            "mcp-param-region": "eu",
            "mcp-protocol-version": MODERN,
        }
        assert {name: headers[name] for name in expected} == expected
        [params] = server.called
        assert params["_meta"][META + "protocolVersion"] == MODERN


async def test_a_server_that_can_not_be_reached_says_where_and_is_tried_again() -> None:
    port = await unused_port()
    url = f"http://user:SECRETSECRET@127.0.0.1:{port}/mcp?key=OTHERSECRET"
    settings = ServerSettings("web", transport="http", url=url, headers={"X-Key": "THIRDSECRET"})
    async with gateway(more=[settings]) as scene:
        client = await scene.client()
        assert await client.tools() == []

        error = await client.fails("tools/call", called("web__echo"))

        assert f"can't be reached at 127.0.0.1:{port}" in error["message"]
        assert "SECRET" not in error["message"]


async def test_a_server_that_refuses_says_why() -> None:
    async def refuse(asked: Asked) -> None:
        await asked.answer(401, b"who are you?", "text/plain")

    async with serving(refuse) as web:
        async with gateway(more=[ServerSettings("web", transport="http", url=web.url)]) as scene:
            await scene.client()
            await scene.settled()

            problem = scene.engine.sessions[0].pool.links["web"].problem
            assert "answered with HTTP status 401: who are you?" in problem
            assert "check the headers in the settings" in problem


async def test_the_transport_of_2024_is_spoken() -> None:
    posted: list[str] = []
    streams: list[Asked] = []

    async def old(asked: Asked) -> None:
        if asked.method == "GET":
            await asked.stream()
            await asked.chunk(b"event: endpoint\ndata: /post\n\n")
            streams.append(asked)
            await asked.hang_up()
            return
        posted.append(asked.rpc)
        await asked.answer(202)
        if "id" in asked.message:
            await streams[0].event(asked.reply(REPLIES[asked.rpc]))

    async with serving(old) as web:
        async with gateway(more=[ServerSettings("web", transport="sse", url=web.url)]) as scene:
            client = await scene.client("modern")

            assert await client.says("web__echo") == "called"
            assert posted == ["initialize", "notifications/initialized", "tools/list", "tools/call"]


REPLIES = {
    "initialize": {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "old", "version": "1"},
    },
    "tools/list": {"tools": [tool("echo")]},
    "tools/call": text("called"),
}
