"""Streamable HTTP for clients of both eras, on uvicorn.

The one place that knows uvicorn's server. Signals, stdout and the configuration of logging belong
to whoever calls.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn

from toolpick.front.app import App
from toolpick.front.connection import Connection
from toolpick.front.guards import guard
from toolpick.front.listening import BACKLOG, listen, port_of, url_of
from toolpick.front.sessions import Seats

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Collection

    from toolpick.front.serving import Serving

IDLE = 1800.0
"""Seconds after which an unused session ends."""
TICK = 7.5
"""Seconds between two looks at the streams: a silent one gets a sign of life within twice that."""
KEEP_ALIVE = 75
"""Seconds that a connection without a request is kept."""
GRACE = 1
"""Seconds that a client has to read the end of its response when the gateway stops."""


async def serve_http(
    engine: Serving,
    *,
    host: str,
    port: int,
    token: str | None,
    max_sessions: int,
    ready: Callable[[str], None] | None = None,
    idle: float = IDLE,
    hosts: Collection[str] = (),
    origins: Collection[str] = (),
    profiles: Collection[str] = ("",),
) -> None:
    """Serve until cancelled; then end every stream and session, within about two seconds.

    ``ready`` gets the URL once clients are served; with port 0 it says which port was free.

    Raises:
        GatewayError: the port can't be had, or ``host`` needs a token.
    """
    guarded = guard(host, token, hosts, origins)
    app = App(engine, guarded, Seats(max_sessions, idle, time.monotonic), profiles)
    sockets = listen(host, port)
    server = _Server(app, sockets)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        await server.up.wait()
        if ready is not None:
            ready(url_of(host, port_of(sockets)))
        try:
            while True:
                await anyio.sleep(TICK)
                await app.tick()
        finally:
            with anyio.CancelScope(shield=True):
                server.should_exit = True
                await app.close()


class _Server(uvicorn.Server):
    """uvicorn's server: leaves signals alone, says when it is up, leaves no connection behind."""

    def __init__(self, app: App, sockets: list[socket.socket]) -> None:
        """``sockets`` are listening; they are closed at the end."""
        config: dict[str, Any] = {
            "http": Connection,
            "ws": "none",
            "lifespan": "off",
            "log_config": None,
            "log_level": "warning",
            "access_log": False,
            "proxy_headers": False,
            "server_header": False,
            "backlog": BACKLOG,
            "timeout_keep_alive": KEEP_ALIVE,
            "timeout_graceful_shutdown": GRACE,
        }
        super().__init__(uvicorn.Config(app, **config))
        self._sockets = sockets
        self.up = anyio.Event()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Capture none."""
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self.up.set()

    async def run(self) -> None:  # type: ignore[override]
        """Serve until ``should_exit``; cancellation is left to whoever sets that."""
        with anyio.CancelScope(shield=True):
            await self.serve(self._sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
