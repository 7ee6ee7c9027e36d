"""A gateway over HTTP with profiles, and raw clients of both eras before it.

What a client sends are bytes of its own making; what it gets is read as JSON and nothing else.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
from tests.engine.puppets import LEGACY, META, MODERN, PATIENCE, Message, Puppet, played

from toolpick.config.settings import (
    GatewaySettings,
    ProfileSettings,
    SelectorSettings,
    Settings,
)
from toolpick.engine.engine import Engine
from toolpick.front.http import serve_http

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nowhere"}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
ERAS = ("legacy", "modern")


@dataclass
class Client:
    """One client at one path, with one token or none."""

    http: httpx2.AsyncClient
    url: str
    era: str
    token: str = ""
    session: str = ""
    _last: int = field(default=0)

    async def open(self) -> "Client":
        """Greet the gateway, which begins a session where the era has any."""
        if self.era == "modern":
            await self.ask("server/discover")
            return self
        about = {"name": "raw", "version": "1"}
        greeting = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": about}
        response = await self.post("initialize", greeting)
        assert response.status_code == 200, response.text
        self.session = response.headers["mcp-session-id"]
        return self

    async def post(
        self, method: str, params: Message | None = None, **headers: str
    ) -> httpx2.Response:
        """Send a request; its answer is plain JSON."""
        self._last += 1
        given = dict(params or {})
        sent = {"content-type": "application/json", "accept": "application/json", **headers}
        if self.token:
            sent["authorization"] = f"Bearer {self.token}"
        if self.era == "modern":
            given["_meta"] = {
                META + "protocolVersion": MODERN,
                META + "clientInfo": {"name": "raw", "version": "1"},
                META + "clientCapabilities": {"elicitation": {"form": {}}},
                **given.get("_meta", {}),
            }
            sent |= {"mcp-protocol-version": MODERN, "mcp-method": method}
            if method in NAMED:
                sent["mcp-name"] = given[NAMED[method]]
        elif self.session:
            sent |= {"mcp-session-id": self.session, "mcp-protocol-version": LEGACY}
        body = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": given}
        return await self.http.post(self.url, content=json.dumps(body).encode(), headers=sent)

    async def ask(self, method: str, params: Message | None = None, **headers: str) -> Message:
        """The result of a request."""
        answer = (await self.post(method, params, **headers)).json()
        assert "result" in answer, answer
        result: Message = answer["result"]
        return result

    async def fails(self, method: str, params: Message | None = None) -> str:
        """The message of the error that answers a request."""
        answer = (await self.post(method, params)).json()
        assert "error" in answer, answer
        said: str = answer["error"]["message"]
        return said

    async def names(self, method: str, **headers: str) -> list[str]:
        """What a list names: tools and prompts by name, resources by URI."""
        result = await self.ask(method, **headers)
        [entries] = [value for value in result.values() if isinstance(value, list)]
        return [each.get("name") if "tools" in method else _named(each) for each in entries]

    async def text(self, name: str, arguments: Message | None = None) -> str:
        """The text that a call is answered with."""
        result = await self.ask("tools/call", {"name": name, "arguments": arguments or {}})
        said: str = result["content"][0]["text"]
        return said


def _named(entry: Message) -> str:
    found: str = entry.get("uri") or entry.get("uriTemplate") or entry["name"]
    return found


@dataclass
class Served:
    """A gateway that listens, and its engine."""

    engine: Engine
    url: str
    http: httpx2.AsyncClient

    async def client(self, era: str, profile: str = "", token: str = "") -> Client:
        """A client that has greeted the gateway."""
        return await self.stranger(era, profile, token).open()

    def stranger(self, era: str, profile: str = "", token: str = "") -> Client:
        """A client that has sent nothing yet."""
        path = f"{self.url}/{profile}" if profile else self.url
        return Client(self.http, path, era, token)


@asynccontextmanager
async def serving(
    *puppets: Puppet,
    profiles: tuple[ProfileSettings, ...] = (),
    selector: SelectorSettings | None = None,
    usual: str = "",
    **gateway: Any,
) -> AsyncIterator[Served]:
    """Serve puppets with profiles until the block ends; ``gateway`` are the gateway's settings."""
    urls: list[str] = []
    up = anyio.Event()

    def ready(url: str) -> None:
        urls.append(url)
        up.set()

    settings = GatewaySettings(**{"surface": "full", "list_wait": 20.0, **gateway})
    async with played(*puppets) as servers:
        made = Settings("s.toml", settings, selector or SelectorSettings(), servers, profiles)
        async with (
            Engine(made, ENVIRON) as engine,
            httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
            anyio.create_task_group() as tasks,
        ):

            async def serve() -> None:
                await serve_http(
                    engine,
                    host="127.0.0.1",
                    port=0,
                    token=settings.token or None,
                    max_sessions=settings.max_sessions,
                    ready=ready,
                    profiles=("", *(each.name for each in profiles)),
                    usual=usual,
                    profile_tokens={each.name: each.token for each in profiles},
                )

            tasks.start_soon(serve)
            with anyio.fail_after(PATIENCE):
                await up.wait()
            yield Served(engine, urls[0], http)
            tasks.cancel_scope.cancel()
