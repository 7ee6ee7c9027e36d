"""One downstream server, as everybody else sees it: its state, its lists, its connection.

``run`` is the server's one owner task (see ``supervision``). Others read the link's state, wait for
it, and send requests through ``peer``.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio

from toolpick.downstream.asking import Hearer, whom_to_ask, whom_to_tell
from toolpick.downstream.eras import EraWish
from toolpick.downstream.greeting import params
from toolpick.downstream.state import State
from toolpick.downstream.supervision import VAIN_STARTS, Supervision
from toolpick.downstream.wires import new_wire, secrets_of
from toolpick.errors import INTERNAL_ERROR, RpcError, ServerError, ServerLost, ServerStarting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolpick.config.settings import ServerSettings
    from toolpick.downstream.asking import Calls
    from toolpick.downstream.greeting import Greeted
    from toolpick.model import Era, Snapshot
    from toolpick.wire import envelope as env
    from toolpick.wire.peer import Peer

log = logging.getLogger("toolpick.server")

OLD = 60.0
"""Seconds after which a tool list is read again when a client asks for it."""
SHORT_WAIT = 1.0
"""A call waits for a server's next start if that is due within so many seconds.

It waits only so long in all where the last starts came to nothing.
"""


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
        self.secrets = secrets_of(settings, environ, pass_env)
        """What must not be shown of what the server writes."""
        self.watched: set[str] = set()
        """URIs of a modern server's resources that clients want to hear of."""
        self._supervision = Supervision(
            self,
            partial(new_wire, settings, environ, pass_env, guard),
            EraWish(settings, era, learnt if learnt is not None else {}),
            version,
        )
        self._scope = anyio.CancelScope()
        self._finished = anyio.Event()
        self._changed = anyio.Event()

    async def run(self) -> None:
        """Keep the server up until ``stop``."""
        try:
            if self.problem:
                return
            with self._scope:
                await self._supervision.run()
        finally:
            self.snapshot = None
            self.settle(State.STOPPED, self.problem)
            self._finished.set()

    async def stop(self) -> None:
        """End the server and wait until it has ended. Needs a running or finished ``run``."""
        self._scope.cancel()
        await self._finished.wait()

    # -- what the life says

    def lists_read(self) -> None:
        """Take over what was read again."""
        if self._supervision.life is not None:
            self.snapshot = self._supervision.life.lists.snapshot
            self.tell()

    def adopt(self, snapshot: Snapshot) -> None:
        """Hold an equal snapshot in place of the own one, so that many sessions hold it once."""
        self.snapshot = snapshot
        if self._supervision.life is not None:
            self._supervision.life.lists.snapshot = snapshot

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
        if self._supervision.life is None or self._supervision.life.peer.closed:
            return None
        return self._supervision.life.peer

    @property
    def greeted(self) -> Greeted | None:
        """What the server said of itself on the current connection."""
        return self._supervision.life.greeted if self._supervision.life is not None else None

    def params(self, members: env.Members, meta: env.Members | None = None) -> bytes:
        """Params as the server's era wants them; b"" when there is nothing to say."""
        return params(self.greeted, self.capabilities, members, meta)

    @property
    def list_age(self) -> float:
        """Seconds since one of the server's lists was read, 0 while it is not up."""
        if self._supervision.life is None or self.state is not State.UP:
            return 0.0
        return time.monotonic() - self._supervision.life.lists.read_at

    def look_again(self) -> None:
        """Have an old tool list read again soon; servers change them and forget to say so."""
        if self._supervision.life is not None and not self.calls and self.list_age > OLD:
            self._supervision.life.lists.mark_stale({"tools"})

    async def refresh(self) -> None:
        """Read the tool list again and wait until that is done or the server is lost."""
        if self._supervision.life is not None and self.state is State.UP:
            await self._supervision.life.lists.refresh()

    def watch_resources(self, uris: set[str]) -> None:
        """Say which of a modern server's resources clients want to hear of."""
        if uris != self.watched:
            self.watched = set(uris)
            if self._supervision.life is not None:
                self._supervision.life.watch_resources(self.watched)

    def doubt(self) -> None:
        """Note that a call was not answered in time: the server may hang, and need a new start."""
        if self._supervision.life is not None:
            self._supervision.life.doubt()

    def forget_session(self) -> None:
        """Note that the server no longer knows us: greet it again. New calls wait for that."""
        if self._supervision.life is not None and self.state is State.UP:
            self._supervision.life.forget_session()
            self.settle(State.STARTING, "")

    # -- state

    @property
    def stderr_tail(self) -> list[str]:
        """The last lines that the server wrote to stderr, values of its secrets masked."""
        return self._supervision.stderr_tail

    @property
    def next_start_in(self) -> float:
        """Seconds until the next start, 0 when none is due."""
        if self.state is not State.WAITING:
            return 0.0
        return max(self._supervision.restarts.next_start - time.monotonic(), 0.0)

    def settle(self, state: State, problem: str) -> None:
        """Take a new state, and tell."""
        self.state = state
        self.problem = problem
        self.tell()

    def tell(self) -> None:
        """Tell owners, and whoever waits, that something has changed."""
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
        if len(self._supervision.vain) == VAIN_STARTS:
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
            waited = time.monotonic() - self._supervision.began
            what = f"is still starting, {waited:.0f} s so far"
            before = (
                f" (the last start: it {self._supervision.vain[-1]})"
                if self._supervision.vain
                else ""
            )
            return ServerStarting(self.name, f"{what}{before}; try again in a moment")
        again = f"; next start in {self.next_start_in:.1f} s" if self.state is State.WAITING else ""
        return ServerLost(self.name, f"is down: {self.problem or 'it was stopped'}{again}")
