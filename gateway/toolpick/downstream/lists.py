"""What one connection's server lists: read whole at the start, and again whenever it says so."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import anyio

from toolpick.downstream import listing
from toolpick.errors import RpcError
from toolpick.model import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.wire import envelope as env
    from toolpick.wire.peer import Peer

log = logging.getLogger("toolpick.server")

EMPTY_AGAIN = (1.0, 2.0, 4.0, 8.0)
"""Seconds after which an empty tool list is read again: servers list before they are ready."""
SETTLE = 0.02
"""Seconds in which several notices of a changed list count as one."""
SETTLE_CAP = 1.0
"""Seconds to which that grows, doubling, for a server that does not stop giving notice."""
QUIET = 2.0
"""Seconds without notice after which it is short again."""
PAGE_TIMEOUT = 120.0
CHANGES = {
    "notifications/tools/list_changed": {"tools"},
    "notifications/prompts/list_changed": {"prompts"},
    "notifications/resources/list_changed": {"resources", "templates"},
}
"""Notice of a change -> the kinds of list to read again."""


def settling(before: float, silence: float) -> float:
    """Seconds to let notices settle: how many it were before, and how long there was none."""
    return SETTLE if silence > QUIET else min(2 * before, SETTLE_CAP)


class Lists:
    """The lists of one connection."""

    def __init__(
        self,
        server: str,
        peer: Peer,
        params: Callable[[env.Members], bytes],
        read_again: Callable[[], None],
    ) -> None:
        """``params`` makes them as the era wants; ``read_again`` is called after each reading."""
        self.snapshot = Snapshot()
        self.read_at = 0.0
        """When a list was last read, on the monotonic clock."""
        self._server = server
        self._peer = peer
        self._params = params
        self._read_again = read_again
        self._offered: set[str] = set()
        self._remarked = ""
        self._stale_kinds: set[str] = set()
        self._stale = anyio.Event()
        self._hurry = anyio.Event()
        self._next_reading = anyio.Event()

    async def read_all(self, offered: set[str]) -> None:
        """Read every kind of list that the server offers.

        Raises:
            RpcError: its tools can't be read.
        """
        self._offered = offered
        lists: dict[str, tuple[bytes, ...]] = {}
        for kind in (kind for kind in listing.KINDS if kind in offered):
            try:
                lists[kind] = await self._read(kind)
            except RpcError as error:
                if kind == "tools" or self._peer.closed:
                    raise
                self._remark(f"{listing.KINDS[kind][0]} failed: {error}")
        self.snapshot = listing.snapshot(lists)

    def mark_stale(self, kinds: set[str] | None = None) -> None:
        """Have lists read again soon: these, or all."""
        self._stale_kinds |= self._offered if kinds is None else kinds
        self._stale.set()

    async def refresh(self) -> None:
        """Have the tool list read again and wait until that is done, or ``watch`` has ended."""
        self.mark_stale({"tools"})
        self._hurry.set()
        await self._next_reading.wait()

    async def watch(self) -> None:
        """Read lists again when they are stale, until cancelled."""
        empty = list(EMPTY_AGAIN) if "tools" in self._offered else []
        settle = SETTLE
        try:
            while True:
                again = empty.pop(0) if empty and not self.snapshot.tools else None
                began = time.monotonic()
                with anyio.move_on_after(again):
                    await self._stale.wait()
                settle = settling(settle, time.monotonic() - began)
                with anyio.move_on_after(settle):
                    await self._hurry.wait()
                await self._one_reading()
        finally:
            self._next_reading.set()

    async def _one_reading(self) -> None:
        kinds, self._stale_kinds = self._stale_kinds or {"tools"}, set()
        done, self._next_reading = self._next_reading, anyio.Event()
        self._stale, self._hurry = anyio.Event(), anyio.Event()
        try:
            await self._read_kinds(kinds)
            self._read_again()
        finally:
            done.set()

    async def _read_kinds(self, kinds: set[str]) -> None:
        """Read some lists; one that can't be read stays as it was."""
        new = {kind: getattr(self.snapshot, kind) for kind in listing.KINDS}
        for kind in sorted(kinds):
            try:
                new[kind] = await self._read(kind)
            except RpcError as error:
                self._remark(f"the changed list could not be read: {error}")
        found = listing.snapshot(new)
        if found != self.snapshot:
            self.snapshot = found

    async def _read(self, kind: str) -> tuple[bytes, ...]:
        found = await listing.read(self._ask, kind, self._remark)
        self.read_at = time.monotonic()
        return found

    async def _ask(self, method: str, members: env.Members) -> bytes:
        return await self._peer.ask(
            method, self._params(members), timeout=PAGE_TIMEOUT, shallow=True
        )

    def _remark(self, what: str) -> None:
        """Log what is wrong with a list, once until it is something else."""
        if what != self._remarked:
            self._remarked = what
            log.warning("server=%s note=%r", self._server, what)
