"""Streamable HTTP for clients of both eras: listens, serves, and stops without leaving anything.

Signals, stdout and logging belong to whoever calls.
"""

from __future__ import annotations

# listening is asyncio's, as the connections are
import asyncio  # noqa: TID251
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from toolpick.front.app import App
from toolpick.front.connections import Connections
from toolpick.front.descriptors import most_connections
from toolpick.front.guards import guard
from toolpick.front.listening import ACCEPTED, lengthen_queues, listen, port_of, url_of
from toolpick.front.sessions import Seats

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from toolpick.engine.engine import Engine

IDLE = 1800.0
"""Seconds after which an unused session ends."""
TICK = 7.5
"""Seconds between two looks at the streams: a silent one gets a sign of life within twice that."""
KEEP_ALIVE = 75.0
"""Seconds that a connection is kept on which nothing happens and no response is due."""
GRACE = 1.0
"""Seconds that clients have to read the end of their responses when the gateway stops."""


async def serve_http(
    engine: Engine,
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
    usual: str = "",
    profile_tokens: Mapping[str, str] | None = None,
) -> None:
    """Serve until cancelled; then end every stream and session, within about a second.

    ``ready`` gets the URL once clients are served; with port 0 it says which port was free.
    ``hosts`` and ``origins`` are further names of this server, and pages, that are let in.
    ``profiles`` may be chosen by path, ``usual`` is chosen without; who has one of
    ``profile_tokens``, by profile, gets that profile and no other.

    Raises:
        GatewayError: the port can't be had, or ``host`` needs a token.
    """
    guarded = guard(host, token, hosts, origins, profile_tokens)
    seats = Seats(max_sessions, idle, time.monotonic)
    sockets = listen(host, port)
    loop = asyncio.get_running_loop()
    _name_the_loop()
    async with anyio.create_task_group() as tasks:
        app = App(engine, guarded, seats, tasks.start_soon, profiles, usual)
        connections = Connections(app, most_connections())
        servers = [
            await loop.create_server(connections.connect, sock=each, backlog=ACCEPTED)
            for each in sockets
        ]
        lengthen_queues(sockets)
        try:
            if ready is not None:
                ready(url_of(host, port_of(sockets)))
            while True:
                await anyio.sleep(TICK)
                connections.close_idle(loop.time() - KEEP_ALIVE)
                await app.tick()
        finally:
            for server in servers:
                server.close()
            with anyio.CancelScope(shield=True):
                await app.close()
                await connections.close(GRACE)


def _name_the_loop() -> None:
    """Let anyio's tasks be started from the callbacks of connections.

    Outside of a task anyio knows the loop only from sniffio, where it is installed; callbacks take
    over what is said here. Under ``anyio.run`` it has been said already.
    """
    with suppress(ImportError):
        import sniffio

        sniffio.current_async_library_cvar.set("asyncio")
