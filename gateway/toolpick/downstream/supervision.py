"""Keeps one server up: starts it, notes why it ended, starts it again.

One task does all of this, so whoever opens a connection closes it. What the server listed stays
known while it is started again, for ``GRACE`` seconds, since taking tools away and bringing them
back costs the client's cache. What others see of it is the ``Link``.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import anyio

from toolpick.downstream.life import Life
from toolpick.downstream.restarts import Restarts
from toolpick.downstream.state import State
from toolpick.downstream.wires import masked, stderr_tail
from toolpick.errors import RpcError, ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.downstream.eras import EraWish
    from toolpick.downstream.link import Link
    from toolpick.downstream.wires import AnyWire

log = logging.getLogger("toolpick.server")

GRACE = 30.0
"""Seconds that the tools of a server that went down stay listed."""
VAIN_STARTS = 2
"""Reasons that are kept of starts in a row that came to nothing."""


class Supervision:
    """The lives of one server, one after the other."""

    def __init__(
        self, link: Link, new_wire: Callable[[], AnyWire], wish: EraWish, version: str
    ) -> None:
        """``version`` is the client's. Nothing is started before ``run``."""
        self.life: Life | None = None
        self.began = time.monotonic()
        """When the current life began, or the last."""
        self.restarts = Restarts(link.settings.start_timeout)
        self.vain: list[str] = []
        """Why the last starts came to nothing, since the server was last up."""
        self._link = link
        self._new_wire = new_wire
        self._wish = wish
        self._version = version
        self._wire: AnyWire | None = None
        self._last_words: list[str] = []

    @property
    def stderr_tail(self) -> list[str]:
        """The last lines that the server wrote to stderr, values of its secrets masked."""
        return self._tail() or self._last_words

    def _tail(self) -> list[str]:
        return stderr_tail(self._wire, self._link.secrets)

    async def run(self) -> None:
        """Keep the server up until cancelled."""
        while True:
            await self._one_life()
            await self._wait_before_next()

    async def _one_life(self) -> None:
        """Start, live and end; what this server brings about, whatever it is, ends here."""
        try:
            await self._begin_to_end()
        except Exception as error:
            log.exception("server=%s event=bug", self._link.name)
            self.restarts.ended(time.monotonic(), 0.0)
            self._link.tried = True
            self._link.settle(State.WAITING, _beyond_us(error))

    async def _begin_to_end(self) -> None:
        self._link.starts += 1
        self.began = time.monotonic()
        self._wire = self._new_wire()
        life = self.life = Life(
            self._link.name,
            self._wire,
            self._link,
            version=self._version,
            capabilities=self._link.capabilities,
            watched=self._link.watched,
            silence=self._link.settings.timeout,
            mask=lambda text: masked(text, self._link.secrets),
        )
        self._link.settle(State.STARTING, self._link.problem)
        try:
            reason = await self._live(life)
            self._ended(reason, life)
        finally:
            self.life = None
            self._link.calls.clear()
            await life.close()

    async def _live(self, life: Life) -> str:
        """Start and live; returns why that ended."""
        reason = ""
        try:
            await self._start(life)
            reason = await life.live()
        except* (OSError, RpcError, ServerError) as caught:
            reason = life.why(_first(caught))
        except* Exception as caught:
            log.exception("server=%s event=bug", self._link.name)
            reason = _beyond_us(caught)
        return reason

    async def _start(self, life: Life) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._warn_when_slow, life)
            greeted = await life.start(self.restarts.longest_start, modern=self._wish.modern)
            group.cancel_scope.cancel()
        self._wish.worked(greeted.era)
        self._link.snapshot = life.lists.snapshot
        self._link.started_in = time.monotonic() - self.began
        self._link.tried = True
        self.vain.clear()
        self._link.settle(State.UP, "")
        log.info(
            "server=%s event=up era=%s version=%s tools=%d seconds=%.2f",
            self._link.name,
            greeted.era,
            greeted.version,
            len(self._link.snapshot.tools),
            self._link.started_in,
        )

    async def _warn_when_slow(self, life: Life) -> None:
        limit = self.restarts.start_timeout
        await anyio.sleep(limit)
        waited = f"has not answered for {limit:g} s since its start; still waiting"
        waited += self._noise_of(life)
        log.warning("server=%s event=slow note=%r", self._link.name, waited)
        self._link.tried = True
        self._link.settle(State.STARTING, waited)

    def _ended(self, reason: str, life: Life) -> None:
        """Note the end of a life, and when the next begins."""
        now = time.monotonic()
        up = self._link.state is State.UP
        at_probe = life.greeted is None and self._wish.ended_ungreeted(reason)
        if life.session_gone:
            self.restarts.excused(now)
        elif at_probe:
            self.restarts.in_another_way(now)
        else:
            self.restarts.ended(now, now - self.began if up else 0.0)
        self._link.tried = self._link.tried or not at_probe
        if not up and not at_probe:
            self.vain = [*self.vain, reason][-VAIN_STARTS:]
        tail = self._tail()
        self._last_words = tail or self._last_words
        last = self._noise_of(life)
        if tail and "stderr" not in reason:
            last += f"; its last stderr line: {tail[-1]!r}"
        event = "again" if life.session_gone or at_probe else "lost" if up else "failed"
        level = logging.INFO if event == "again" else logging.WARNING
        log.log(level, "server=%s event=%s reason=%r", self._link.name, event, f"{reason}{last}")
        self.life = None
        quick = self.restarts.failures <= 1 and self._link.snapshot is not None
        self._link.settle(State.STARTING if quick else State.WAITING, f"{reason}{last}")

    def _noise_of(self, life: Life) -> str:
        """What a server that was never heard of wrote in place of messages."""
        if life.greeted is not None or not life.noise:
            return ""
        return f"; what it writes is no message: {life.noise!r}"

    async def _wait_before_next(self) -> None:
        gone_at = time.monotonic() + GRACE
        while (now := time.monotonic()) < self.restarts.next_start:
            pause = self.restarts.next_start - now
            if self._link.snapshot is not None:
                pause = min(pause, max(gone_at - now, 0.01))
            await anyio.sleep(pause)
            if self._link.snapshot is not None and time.monotonic() >= gone_at:
                self._link.snapshot = None
                self._link.tell()


def _beyond_us(error: BaseException) -> str:
    return f"said something that toolpick can't handle ({type(_first(error)).__name__})"


def _first(error: BaseException) -> BaseException:
    """The first error of a group, whatever it is nested in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
