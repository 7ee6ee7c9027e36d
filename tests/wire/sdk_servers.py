"""Servers built on the SDK, on the loopback interface, in this process."""

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from tests.programs import SERVERS

sys.path.append(str(SERVERS))  # it is a program, whose parts stand beside it
from everything import Everything, Memory


@asynccontextmanager
async def running(app: Any) -> AsyncIterator[str]:
    """Serve an ASGI application until the block ends; gives its address without a path."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            server.should_exit = True


def streamable(*, json: bool = False) -> Starlette:
    """Streamable HTTP at ``/mcp``, both eras, with events that can be asked for again."""
    server = Everything().server()
    return server.streamable_http_app(
        json_response=json, event_store=None if json else Memory(), retry_interval=1
    )


def with_events() -> Starlette:
    """The transport of 2024-11-05, at ``/sse``."""
    transport = SseServerTransport("/messages/")
    server = Everything().server()

    async def stream(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (
            read,
            write,
        ):
            await server.run(read, write, server.create_initialization_options())
        return Response()

    return Starlette(
        routes=[
            Route("/sse", stream),
            Mount("/messages/", app=transport.handle_post_message),
        ]
    )


def hanging(started: anyio.Event, ended: anyio.Event) -> Starlette:
    """Streamable HTTP at ``/mcp``; a call of any tool goes on until it is cancelled."""

    async def call(ctx: Any, params: Any) -> dict[str, Any]:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    return Server("hanging", on_call_tool=call).streamable_http_app()
