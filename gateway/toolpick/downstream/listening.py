"""Hears of a server's changes where it tells them only on a stream that was asked for.

A modern server (revision 2026-07-28) tells changes on ``subscriptions/listen``; an older one behind
HTTP has a stream of its own for what it says unasked. A stream that ends is opened again, and what
changed meanwhile was told to nobody: ``on_gap`` is called then.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

from toolpick.downstream.restarts import STEADY, delay
from toolpick.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from toolpick.wire.peer import Peer

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
KINDS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


class Listening:
    """One modern server's stream of changes."""

    def __init__(
        self,
        peer: Peer,
        params: Callable[[env.Members], bytes],
        watched: Set[str],
        on_gap: Callable[[], None],
    ) -> None:
        """``watched`` are the URIs of the resources that clients want to hear of."""
        self._peer = peer
        self._params = params
        self._watched = watched
        self._on_gap = on_gap
        self._stream = anyio.CancelScope()

    def watch(self, uris: Set[str]) -> None:
        """Ask anew, for other resources."""
        self._watched = uris
        self._stream.cancel()

    async def run(self) -> None:
        """Keep the stream open, until cancelled or the server says that it has none."""
        failures = 0
        while True:
            began = time.monotonic()
            with anyio.CancelScope() as self._stream:
                if not await self._listen():
                    return
            if self._stream.cancelled_caught:
                continue
            failures = 1 if time.monotonic() - began > STEADY else failures + 1
            await anyio.sleep(delay(failures))
            self._on_gap()

    async def _listen(self) -> bool:
        """Read one stream until it ends; False when the server has none."""
        wanted: dict[str, object] = {**KINDS}
        if self._watched:
            wanted["resourceSubscriptions"] = sorted(self._watched)
        try:
            await self._peer.ask(
                "subscriptions/listen", self._params({"notifications": env.raw(wanted)})
            )
        except RpcError as error:
            return error.code not in (METHOD_NOT_FOUND, INVALID_PARAMS)
        return True
