"""A server that has everything, for the official conformance suite and for our own tests.

`python everything.py` speaks stdio, `python everything.py --port N` streamable HTTP at `/mcp`; both
in the handshake era and in that of 2026-07-28. Built on the SDK's low-level server: results are
dictionaries, and the lists of tools and prompts change when a `test_trigger_*` tool says so.
"""

import argparse
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import everything_content as shown
import everything_rounds
import everything_tools
import mcp_types as types
import uvicorn
from everything_content import DYNAMIC_PROMPT, PROMPTS, RESOURCES, TEMPLATES, WATCHED, text
from everything_tools import Context, Tool, content, fixed
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

NAME = "everything"
DYNAMIC_TOOL = Tool("test_dynamic_tool", "There every other time", fixed(text("I am here")))
Notify = Callable[[Any], Awaitable[None]]


class Announcing(Server[Any]):
    """A server that announces its list changes to handshake-era clients over HTTP as well."""

    def create_initialization_options(self, *_: Any, **__: Any) -> InitializationOptions:
        return super().create_initialization_options(NotificationOptions(True, True, True))


class Memory(EventStore):
    """Every event of every stream, so that a client can resume; never emptied."""

    def __init__(self) -> None:
        self._events: list[tuple[str, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events) - 1)

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        start = int(last_event_id)
        if start >= len(self._events):
            return None
        stream_id = self._events[start][0]
        for number, (stream, message) in enumerate(self._events[start + 1 :], start=start + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


class Everything:
    """The handlers of one server, and the little that they share: what is listed, who listens."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._sessions: dict[int, Any] = {}
        self._subscribed: dict[int, set[str]] = {}
        self._dynamic_tool = False
        self._dynamic_prompt = False
        triggers = [
            Tool("test_trigger_tool_change", "Changes the list of tools", self._flip_tool),
            Tool("test_trigger_prompt_change", "Changes the list of prompts", self._flip_prompt),
            Tool("test_trigger_resource_update", "Touches the watched resource", self._touch),
        ]
        listed = [*everything_tools.TOOLS, *everything_rounds.TOOLS, *triggers]
        self._tools = {tool.name: tool for tool in listed}

    def server(self) -> Server[Any]:
        """The SDK server with these handlers."""
        server = Announcing(
            NAME,
            version="1.0.0",
            instructions="A server with one of everything.",
            get_tool_input_schema=self.input_schema,
            on_list_tools=_whole(self.list_tools),
            on_call_tool=_whole(self.call_tool),
            on_list_resources=_listing("resources", RESOURCES),
            on_list_resource_templates=_listing("resourceTemplates", TEMPLATES),
            on_read_resource=_whole(self.read_resource),
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=ListenHandler(self.bus),
            on_list_prompts=_whole(self.list_prompts),
            on_get_prompt=_whole(self.get_prompt),
            on_completion=_whole(self.complete),
            on_set_logging_level=self.set_level,
        )
        server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self.remember
        )
        seal = RequestStateSecurity.ephemeral()
        server.middleware.append(RequestStateBoundary(seal, default_audience=NAME))
        return server

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The schema that `Mcp-Param-*` headers are checked against."""
        tool = self._tools.get(name)
        return tool.schema if tool else None

    async def list_tools(self, ctx: Context, params: Any) -> Any:
        tools = [*self._tools.values(), *([DYNAMIC_TOOL] if self._dynamic_tool else [])]
        return {"tools": [tool.definition() for tool in tools]}

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        tool = self._tools.get(params.name)
        if tool is None and self._dynamic_tool and params.name == DYNAMIC_TOOL.name:
            tool = DYNAMIC_TOOL
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        return await tool.handler(ctx, params)

    async def list_prompts(self, ctx: Context, params: Any) -> Any:
        return {"prompts": [*PROMPTS, *([DYNAMIC_PROMPT] if self._dynamic_prompt else [])]}

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        if params.name == "test_input_required_result_prompt":
            return await everything_rounds.prompt_with_context(ctx, params)
        return shown.get_prompt(params.name, params.arguments or {})

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        return shown.read_resource(str(params.uri))

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Any:
        self._subscribed.setdefault(_connection(ctx), set()).add(str(params.uri))
        return {}

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Any:
        self._subscribed.get(_connection(ctx), set()).discard(str(params.uri))
        return {}

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> Any:
        return shown.complete(params.argument.value)

    async def set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> Any:
        return {}

    async def remember(self, ctx: Context, params: types.NotificationParams) -> None:
        """Keep a handshake-era session, for list changes that no request of its own causes."""
        self._sessions[_connection(ctx)] = ctx.session

    async def _flip_tool(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        self._dynamic_tool = not self._dynamic_tool
        await self._announce(ToolsListChanged(), lambda session: session.send_tool_list_changed())
        return content(text("Tool list changed"))

    async def _flip_prompt(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> dict[str, Any]:
        self._dynamic_prompt = not self._dynamic_prompt
        await self._announce(
            PromptsListChanged(), lambda session: session.send_prompt_list_changed()
        )
        return content(text("Prompt list changed"))

    async def _touch(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        watching = {key for key, uris in self._subscribed.items() if WATCHED in uris}
        await self._announce(
            ResourceUpdated(uri=WATCHED),
            lambda session: session.send_resource_updated(WATCHED),
            watching,
        )
        return content(text("Resource touched"))

    async def _announce(
        self, event: ServerEvent, notify: Notify, only: set[int] | None = None
    ) -> None:
        await self.bus.publish(event)
        for key, session in list(self._sessions.items()):
            if only is not None and key not in only:
                continue
            try:
                await notify(session)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                del self._sessions[key]


def _connection(ctx: Context) -> int:
    # The SDK makes a session object per message; what lasts is the connection behind it.
    return id(ctx.session._connection)


def _listing(key: str, values: list[dict[str, Any]]) -> Any:
    async def answer(ctx: Context, params: Any) -> dict[str, Any]:
        return {key: values}

    return _whole(answer)


def _whole(handler: Callable[[Context, Any], Awaitable[Any]]) -> Any:
    """Add what 2026-07-28 demands of a result; the SDK takes it out again for older clients."""

    async def answer(ctx: Context, params: Any) -> dict[str, Any]:
        result = await handler(ctx, params)
        return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}

    return answer


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over this process's pipes."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serve until the client or the caller ends it."""
    parser = argparse.ArgumentParser(description="An MCP server with one of everything.")
    parser.add_argument("--port", type=int, help="speak streamable HTTP here instead of stdio")
    port = parser.parse_args().port
    # The suite asks for sampling, logging and roots although 2026-07-28 deprecates them.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    server = Everything().server()
    if port is None:
        anyio.run(serve_stdio, server)
        return
    app = server.streamable_http_app(event_store=Memory(), retry_interval=500)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    main()
