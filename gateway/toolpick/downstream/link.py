"""One downstream server, supervised: started, kept up, started again.

``run`` is the server's one owner task: it opens and closes every connection. Others read the
link's state and send requests through ``peer``. What the server listed stays known while it is
started again, for ``GRACE`` seconds, since taking tools away and bringing them back costs the
client's cache.
"""

from __future__ import annotations

import logging
import time
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio

from toolpick.downstream.asking import Hearer, whom_to_ask, whom_to_tell
from toolpick.downstream.eras import EraWish
from toolpick.downstream.greeting import params
from toolpick.downstream.life import Life
from toolpick.downstream.restarts import Restarts
from toolpick.downstream.wires import masked, new_wire, stderr_tail
from toolpick.errors import INTERNAL_ERROR, RpcError, ServerError, ServerLost, ServerStarting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolpick.config.settings import ServerSettings
    from toolpick.downstream.asking import Calls
    from toolpick.downstream.greeting import Greeted
    from toolpick.downstream.wires import AnyWire
    from toolpick.model import Era, Snapshot
    from toolpick.wire import envelope as env
    from toolpick.wire.peer import Peer

log = logging.getLogger("toolpick.server")

GRACE = 30.0
"""Seconds that the tools of a server that went down stay listed."""
OLD = 60.0
"""Seconds after which a tool list is read again when a client asks for it."""
SHORT_WAIT = 1.0
"""A call waits for a server's next start if that is due within so many seconds."""
VAIN_STARTS = 2
"""After so many starts in a row that came to nothing, a call waits only so long in all."""


class State(StrEnum):
    """What a link is doing."""

    STARTING = "starting"
    UP = "up"
    WAITING = "waiting"
    STOPPED = "stopped"


class Owner(Hearer, Protocol):
    """Who a link reports to. Called on the event loop; must not block."""

    def link_changed(self, link: Link) -> None:
        """The link's state or what its server lists has changed."""
        ...


class Link:
    """A supervised server. ``owners`` may change while it runs."""

    def __init__(
        self,
        settings: ServerSettings,
        environ: Mapping[str, str],
        *,
        era: Era,
        version: str,
        capabilities: bytes,
        guard: Callable[[int, bool], None] | None = None,
        learnt: dict[str, Era] | None = None,
        pass_env: tuple[str, ...] = (),
    ) -> None:
        """Take the client's ``era``, ``version``, ``capabilities``; links share ``learnt``."""
        self.settings = settings
        self.name = settings.name
        self.owners: list[Owner] = []
        self.calls: Calls = {}
        self.state = State.STARTING
        self.snapshot: Snapshot | None = None
        self.problem = settings.problem
        """Why the server is not up, or what was wrong with it last; "" when all is well."""
        self.started_in = 0.0
        """Seconds that the last successful start took."""
        self.starts = 0
        self.tried = False
        """Whether the first start has come to an end, good or bad."""
        self.capabilities = capabilities
        self._new_wire = partial(new_wire, settings, environ, pass_env, guard)
        self._version = version
        self._wish = EraWish(settings, era, learnt if learnt is not None else {})
        self._restarts = Restarts(settings.start_timeout)
        self._life: Life | None = None
        self._last_words: list[str] = []
        """What stderr said at the end of the last life."""
        self._wire: AnyWire | None = None
        self._watched: set[str] = set()
        self._began = time.monotonic()
        self._vain: list[str] = []
        """Why the last starts came to nothing, since the server was last up."""
        self._scope = anyio.CancelScope()
        self._finished = anyio.Event()
        self._changed = anyio.Event()

    # -- supervision

    async def run(self) -> None:
        """Keep the server up until ``stop``."""
        try:
            if self.problem:
                return
            with self._scope:
                while True:
                    await self._one_life()
                    await self._wait_before_next()
        finally:
            self.snapshot = None
            self._settle(State.STOPPED, self.problem)
            self._finished.set()

    async def stop(self) -> None:
        """End the server and wait until it has ended. Needs a running or finished ``run``."""
        self._scope.cancel()
        await self._finished.wait()

    async def _one_life(self) -> None:
        """Start, live and end; what this server brings about, whatever it is, ends here."""
        try:
            await self._begin_to_end()
        except Exception as error:
            log.exception("server=%s event=bug", self.name)
            self._restarts.ended(time.monotonic(), 0.0)
            self.tried = True
            self._settle(State.WAITING, _beyond_us(error))

    async def _begin_to_end(self) -> None:
        self.starts += 1
        self._began = time.monotonic()
        self._wire = self._new_wire()
        life = self._life = Life(
            self.name,
            self._wire,
            self,
            version=self._version,
            capabilities=self.capabilities,
            watched=self._watched,
            silence=max(self.settings.timeout, self.settings.start_timeout),
        )
        self._settle(State.STARTING, self.problem)
        try:
            reason = await self._live(life)
            self._ended(reason, life)
        finally:
            self._life = None
            self.calls.clear()
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
            log.exception("server=%s event=bug", self.name)
            reason = _beyond_us(caught)
        return reason

    async def _start(self, life: Life) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._warn_when_slow, life)
            greeted = await life.start(self._restarts.longest_start, modern=self._wish.modern)
            group.cancel_scope.cancel()
        self._wish.worked(greeted.era)
        self.snapshot = life.lists.snapshot
        self.started_in = time.monotonic() - self._began
        self.tried = True
        self._vain.clear()
        self._settle(State.UP, "")
        log.info(
            "server=%s event=up era=%s version=%s tools=%d seconds=%.2f",
            self.name,
            greeted.era,
            greeted.version,
            len(self.snapshot.tools),
            self.started_in,
        )

    async def _warn_when_slow(self, life: Life) -> None:
        limit = self._restarts.start_timeout
        await anyio.sleep(limit)
        waited = f"has not answered for {limit:g} s since its start; still waiting"
        waited += self._noise_of(life)
        log.warning("server=%s event=slow note=%r", self.name, waited)
        self.tried = True
        self._settle(State.STARTING, waited)

    def _ended(self, reason: str, life: Life) -> None:
        """Note the end of a life, and when the next begins."""
        now = time.monotonic()
        up = self.state is State.UP
        at_probe = life.greeted is None and self._wish.ended_ungreeted(reason)
        if life.session_gone:
            self._restarts.excused(now)
        elif at_probe:
            self._restarts.in_another_way(now)
        else:
            self._restarts.ended(now, now - self._began if up else 0.0)
        self.tried = self.tried or not at_probe
        if not up and not at_probe:
            self._vain = [*self._vain, reason][-VAIN_STARTS:]
        tail = stderr_tail(self._wire, self.settings.env.values())
        self._last_words = tail or self._last_words
        last = self._noise_of(life)
        if tail and "stderr" not in reason:
            last += f"; its last stderr line: {tail[-1]!r}"
        event = "again" if life.session_gone or at_probe else "lost" if up else "failed"
        level = logging.INFO if event == "again" else logging.WARNING
        log.log(level, "server=%s event=%s reason=%r", self.name, event, f"{reason}{last}")
        self._life = None
        quick = self._restarts.failures <= 1 and self.snapshot is not None
        self._settle(State.STARTING if quick else State.WAITING, f"{reason}{last}")

    def _noise_of(self, life: Life) -> str:
        """What a server that was never heard of wrote in place of messages."""
        if life.greeted is not None or not life.noise:
            return ""
        return f"; what it writes is no message: {masked(life.noise, self.settings.env.values())!r}"

    async def _wait_before_next(self) -> None:
        gone_at = time.monotonic() + GRACE
        while (now := time.monotonic()) < self._restarts.next_start:
            pause = self._restarts.next_start - now
            if self.snapshot is not None:
                pause = min(pause, max(gone_at - now, 0.01))
            await anyio.sleep(pause)
            if self.snapshot is not None and time.monotonic() >= gone_at:
                self.snapshot = None
                self._tell()

    # -- what the life says

    def lists_read(self) -> None:
        """Take over what was read again."""
        if self._life is not None:
            self.snapshot = self._life.lists.snapshot
            self._tell()

    def adopt(self, snapshot: Snapshot) -> None:
        """Hold an equal snapshot in place of the own one, so that many sessions hold it once."""
        self.snapshot = snapshot
        if self._life is not None:
            self._life.lists.snapshot = snapshot

    def asked(self, id: bytes, method: str, params: bytes, origin: int | None) -> None:
        """Put a question to the client that it is for."""
        hearer = whom_to_ask(self.calls, self.owners, origin)
        if hearer is None:
            raise RpcError(INTERNAL_ERROR, f"{method}: it can't be told which client this is for")
        hearer.server_request(self, id, method, params, origin)

    def told(self, method: str, params: bytes, origin: int | None) -> None:
        """Let those hear a notification whom it concerns."""
        for hearer in whom_to_tell(self.calls, self.owners, method, params, origin):
            hearer.server_notification(self, method, params, origin)

    # -- the connection, as others use it

    @property
    def peer(self) -> Peer | None:
        """The current connection, None between two; it takes requests while the link is UP."""
        if self._life is None or self._life.peer.closed:
            return None
        return self._life.peer

    @property
    def greeted(self) -> Greeted | None:
        """What the server said of itself on the current connection."""
        return self._life.greeted if self._life is not None else None

    def params(self, members: env.Members, meta: env.Members | None = None) -> bytes:
        """Params as the server's era wants them; b"" when there is nothing to say."""
        return params(self.greeted, self.capabilities, members, meta)

    @property
    def list_age(self) -> float:
        """Seconds since one of the server's lists was read, 0 while it is not up."""
        if self._life is None or self.state is not State.UP:
            return 0.0
        return time.monotonic() - self._life.lists.read_at

    def look_again(self) -> None:
        """Have an old tool list read again soon; servers change them and forget to say so."""
        if self._life is not None and not self.calls and self.list_age > OLD:
            self._life.lists.mark_stale({"tools"})

    async def refresh(self) -> None:
        """Read the tool list again and wait until that is done or the server is lost."""
        if self._life is not None and self.state is State.UP:
            await self._life.lists.refresh()

    def watch_resources(self, uris: set[str]) -> None:
        """Say which of a modern server's resources clients want to hear of."""
        if uris != self._watched:
            self._watched = set(uris)
            if self._life is not None:
                self._life.watch_resources(self._watched)

    def doubt(self) -> None:
        """Note that a call was not answered in time: the server may hang, and need a new start."""
        if self._life is not None:
            self._life.doubt()

    def forget_session(self) -> None:
        """Note that the server no longer knows us: greet it again. New calls wait for that."""
        if self._life is not None and self.state is State.UP:
            self._life.forget_session()
            self._settle(State.STARTING, "")

    # -- state

    @property
    def stderr_tail(self) -> list[str]:
        """The last lines that the server wrote to stderr, values of its secrets masked."""
        return stderr_tail(self._wire, self.settings.env.values()) or self._last_words

    @property
    def next_start_in(self) -> float:
        """Seconds until the next start, 0 when none is due."""
        if self.state is not State.WAITING:
            return 0.0
        return max(self._restarts.next_start - time.monotonic(), 0.0)

    def _settle(self, state: State, problem: str) -> None:
        self.state = state
        self.problem = problem
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        for owner in list(self.owners):
            try:
                owner.link_changed(self)
            except Exception:
                # one server's offers must not take down the others
                log.exception("server=%s event=bug", self.name)

    async def settled(self) -> None:
        """Wait until the first start has come to an end."""
        while not self.tried and self.state is not State.STOPPED:
            await self._changed.wait()

    async def usable(self, seconds: float) -> Peer:
        """The peer, waiting for a server that is starting for at most ``seconds``.

        Raises:
            ServerStarting: it is still starting then.
            ServerLost: it is down, and waits for its next start.
        """
        if len(self._vain) == VAIN_STARTS:
            seconds = min(seconds, SHORT_WAIT)
        with anyio.move_on_after(seconds):
            while self.coming:
                await self._changed.wait()
        if self.peer is not None and self.state is State.UP:
            return self.peer
        raise self.unavailable()

    @property
    def coming(self) -> bool:
        """Whether the server is not up, but may be in a moment."""
        if self.state is State.WAITING:
            return self.next_start_in <= SHORT_WAIT
        # UP without a connection has just been lost
        return self.state is State.STARTING or (self.state is State.UP and self.peer is None)

    def unavailable(self) -> ServerError:
        """Why nothing can be asked of the server now."""
        if self.state is State.STARTING:
            waited = time.monotonic() - self._began
            what = f"is still starting, {waited:.0f} s so far"
            before = f" (the last start: it {self._vain[-1]})" if self._vain else ""
            return ServerStarting(self.name, f"{what}{before}; try again in a moment")
        again = f"; next start in {self.next_start_in:.1f} s" if self.state is State.WAITING else ""
        return ServerLost(self.name, f"is down: {self.problem or 'it was stopped'}{again}")


def _beyond_us(error: BaseException) -> str:
    return f"said something that toolpick can't handle ({type(_first(error)).__name__})"


def _first(error: BaseException) -> BaseException:
    """The first error of a group, whatever it is nested in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
