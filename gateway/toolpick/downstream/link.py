"""One downstream server, supervised: connect, greet, list, watch, start again.

``run`` is the server's one owner task: it opens and closes every connection. Others read the
link's state and send requests through ``peer``. What the server listed stays known while it is
started again, for ``GRACE`` seconds, since taking tools away and bringing them back costs the
client's cache.
"""

from __future__ import annotations

import logging
import random
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import anyio

from toolpick.config.environment import inherited
from toolpick.downstream import listing
from toolpick.downstream.greeting import Greeted, Greeting, envelope_meta
from toolpick.errors import RpcError, ServerError, ServerLost, ServerStarting
from toolpick.model import Era
from toolpick.wire import envelope as env
from toolpick.wire.child import ChildWire
from toolpick.wire.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolpick.config.settings import ServerSettings
    from toolpick.model import Snapshot
    from toolpick.wire.wire import Wire

log = logging.getLogger("toolpick.server")

GRACE = 30.0
"""Seconds that the tools of a server that went down stay listed."""
DELAYS = (0.05, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before each next start of a server that keeps failing, give or take ``JITTER``."""
JITTER = 0.2
STEADY = 20.0
"""Seconds up after which a failure counts as the first again."""
PATIENCE = 1.5
"""A start is ended after this many times ``start_timeout``: a first start may be a download."""
LONGEST_START = 120.0
EMPTY_AGAIN = (1.0, 2.0, 4.0, 8.0)
"""Seconds after which an empty tool list is read again: servers list before they are ready."""
SHORT_WAIT = 1.0
"""A call waits for a server's next start if that is due within so many seconds."""
SETTLE = 0.02
"""Seconds in which several notices of a changed list count as one."""
PAGE_TIMEOUT = 30.0


class State(StrEnum):
    """What a link is doing."""

    STARTING = "starting"
    UP = "up"
    WAITING = "waiting"
    STOPPED = "stopped"


class Owner(Protocol):
    """Who a link reports to. Called on the event loop; must not block."""

    def link_changed(self, link: Link) -> None:
        """The link's state or what its server lists has changed."""
        ...

    def server_request(
        self, link: Link, id: bytes, method: str, params: bytes, origin: int | None
    ) -> None:
        """The server asks something; answer through ``link.peer``."""
        ...

    def server_notification(
        self, link: Link, method: str, params: bytes, origin: int | None
    ) -> None:
        """The server says something that is not about its lists."""
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
        self.state = State.STARTING
        self.peer: Peer | None = None
        self.greeted: Greeted | None = None
        self.snapshot: Snapshot | None = None
        self.problem = settings.problem
        """Why the server is not up, or what was wrong with it last; "" when all is well."""
        self.started_in = 0.0
        """Seconds that the last successful start took."""
        self.starts = 0
        self.failures = 0
        self.tried = False
        """Whether the first start has come to an end, good or bad."""
        self.capabilities = capabilities
        self._environ = environ
        self._era = era
        self._version = version
        self._guard = guard
        self._learnt = learnt if learnt is not None else {}
        self._pass_env = pass_env
        self._wire: Wire | None = None
        self._scope = anyio.CancelScope()
        self._finished = anyio.Event()
        self._changed = anyio.Event()
        self._lost = anyio.Event()
        self._forgotten = anyio.Event()
        self._stale = anyio.Event()
        self._stale_kinds: set[str] = set()
        self._noise = 0
        self._next_start = 0.0
        self._began = time.monotonic()
        self._session_gone = False
        self._listed_at = 0.0
        self._subscribed: set[str] = set()
        self._listening: anyio.CancelScope | None = None
        self.calls: dict[int, Owner] = {}
        """Who made the requests in flight, by their ids on this connection."""

    # -- life

    async def run(self) -> None:
        """Keep the server up until ``stop``."""
        try:
            if self.problem:
                self._settle(State.STOPPED, self.problem)
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
        self.starts += 1
        self._began = time.monotonic()
        self._lost = anyio.Event()
        self._noise = 0
        self._session_gone = False
        self._forgotten = anyio.Event()
        self._settle(State.STARTING, self.problem)
        probing = self._wishes_modern()
        reason = "was stopped"
        self._wire = self._new_wire()
        peer = self.peer = Peer(self._wire, self)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._warn_when_slow)
                await self._start(peer)
                group.cancel_scope.cancel()
            await self._live(peer)
            reason = peer.closed or "no longer knows the session"
        except* (OSError, RpcError, ServerError) as caught:
            reason = self._describe(caught.exceptions[0], peer)
        finally:
            self.peer = None
            self.calls.clear()
            with anyio.CancelScope(shield=True):
                await peer.close()
        if probing and self.greeted is None and self._died(reason):
            log.info(
                "server=%s note=%r", self.name, "ended at the probe; starting it again without"
            )
            self._learnt[self.name] = Era.LEGACY
            self.failures = -1
        self._failed(reason)

    @staticmethod
    def _died(reason: str) -> bool:
        return "exited" in reason or "ended" in reason or "closed" in reason

    def _failed(self, reason: str) -> None:
        up = self.state is State.UP
        if up and (self._session_gone or time.monotonic() - self._began > STEADY):
            self.failures = 0
        self.failures += 1
        self.tried = self.tried or self.failures > 0
        self.greeted = None
        tail = self.stderr_tail
        last = f"; its last stderr line: {tail[-1]!r}" if tail and "stderr" not in reason else ""
        what = f"{reason}{last}"
        log.log(
            logging.INFO if self._session_gone else logging.WARNING,
            "server=%s event=%s reason=%r",
            self.name,
            "lost" if up else "failed",
            what,
        )
        delay = 0.0
        if self.failures and not self._session_gone:
            step = DELAYS[min(self.failures, len(DELAYS)) - 1]
            delay = step * random.uniform(1 - JITTER, 1 + JITTER)
        self._next_start = time.monotonic() + delay
        quick = self.snapshot is not None and self.failures <= 1
        self._settle(State.STARTING if quick else State.WAITING, what)

    async def _wait_before_next(self) -> None:
        gone_at = time.monotonic() + GRACE
        while (now := time.monotonic()) < self._next_start:
            pause = self._next_start - now
            if self.snapshot is not None:
                pause = min(pause, max(gone_at - now, 0.01))
            await anyio.sleep(pause)
            if self.snapshot is not None and time.monotonic() >= gone_at:
                self._forget()

    def _forget(self) -> None:
        self.snapshot = None
        self._tell()

    # -- start

    def _new_wire(self) -> Wire:
        settings = self.settings
        if settings.transport == "stdio":
            environment = {**inherited(self._environ, self._pass_env), **settings.env}
            return ChildWire(
                settings.command, settings.args, environment, settings.cwd, self._guard
            )
        if settings.transport == "sse":
            from toolpick.wire.sse import SseWire

            return SseWire(settings.url, settings.headers)
        from toolpick.wire.http import HttpWire

        return HttpWire(settings.url, settings.headers)

    def _wishes_modern(self) -> bool:
        era = (
            self.settings.era
            if self.settings.era != "auto"
            else self._learnt.get(self.name, self._era)
        )
        return era == Era.MODERN and self.settings.transport != "sse"

    @property
    def start_timeout(self) -> float:
        """Seconds after which this start counts as failed; each further try is given longer."""
        longer: float = self.settings.start_timeout * 2 ** max(self.failures, 0)
        return max(min(longer, LONGEST_START), self.settings.start_timeout)

    async def _start(self, peer: Peer) -> None:
        limit = PATIENCE * self.start_timeout
        try:
            with anyio.fail_after(limit):
                await peer.start()
                greeting = Greeting(peer, self._version, self.capabilities, self._announce)
                self.greeted = await (
                    greeting.modern() if self._wishes_modern() else greeting.legacy()
                )
                if self._wishes_modern():
                    self._learnt[self.name] = self.greeted.era
                self.snapshot = await self._read_all(peer)
        except TimeoutError:
            raise ServerError(
                self.name, f"was not ready within {limit:g} s and was ended"
            ) from None
        self.started_in = time.monotonic() - self._began
        self.tried = True
        self._settle(State.UP, "")
        log.info(
            "server=%s event=up era=%s version=%s tools=%d seconds=%.2f",
            self.name,
            self.greeted.era,
            self.greeted.version,
            len(self.snapshot.tools),
            self.started_in,
        )

    def _announce(self, version: str) -> None:
        if self.settings.transport == "http":
            self._wire.version = version  # type: ignore[union-attr]

    async def _warn_when_slow(self) -> None:
        await anyio.sleep(self.start_timeout)
        waited = f"has not answered for {self.start_timeout:g} s since its start; still waiting"
        log.warning("server=%s event=slow note=%r", self.name, waited)
        self.tried = True
        self._settle(State.STARTING, waited)

    def _describe(self, error: BaseException, peer: Peer) -> str:
        if isinstance(error, ServerError):
            return str(error).removeprefix(f"server {self.name!r} ")
        if peer.closed:
            return peer.closed
        if isinstance(error, OSError):
            return f"could not be started: {error.strerror or error}"
        return str(error)

    # -- lists

    async def _read_all(self, peer: Peer) -> Snapshot:
        assert self.greeted is not None
        lists: dict[str, tuple[bytes, ...]] = {}
        for kind in listing.KINDS:
            if kind in listing.offered(self.greeted.capabilities):
                lists[kind] = await self._read(peer, kind)
        return listing.snapshot(lists)

    @property
    def list_age(self) -> float:
        """Seconds since the server's tools were read, 0 while it is not up."""
        return time.monotonic() - self._listed_at if self.state is State.UP else 0.0

    async def _read(self, peer: Peer, kind: str) -> tuple[bytes, ...]:
        async def ask(method: str, params: env.Members) -> bytes:
            return await peer.ask(method, self.params(params), timeout=PAGE_TIMEOUT * 4)

        try:
            found = await listing.read(ask, kind, self._remark)
            self._listed_at = time.monotonic()
            return found
        except RpcError as error:
            if kind == "tools" or peer.closed:
                raise
            self._remark(f"{listing.KINDS[kind][0]} failed: {error}")
            return ()

    def _remark(self, what: str) -> None:
        log.warning("server=%s note=%r", self.name, what)

    def params(self, members: env.Members, meta: env.Members | None = None) -> bytes:
        """Params as the server's era wants them; b"" when there is nothing to say."""
        if self.greeted is not None and self.greeted.era is Era.MODERN:
            meta = {**envelope_meta(self.greeted.version, self.capabilities), **(meta or {})}
        if meta:
            return env.encode({**members, "_meta": meta})
        return env.encode(members) if members else b""

    async def _live(self, peer: Peer) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_lists, peer)
            group.start_soon(self._listen, peer)
            group.start_soon(self._leave_when_forgotten, peer)
            await self._lost.wait()
            group.cancel_scope.cancel()

    def forget_session(self) -> None:
        """Note that the server no longer knows us: greet it again. New calls wait for that."""
        if self.state is State.UP:
            self._session_gone = True
            self._settle(State.STARTING, "")
            self._forgotten.set()

    async def _leave_when_forgotten(self, peer: Peer) -> None:
        """Let the other requests learn it for themselves first: they may be sent again too."""
        await self._forgotten.wait()
        with anyio.move_on_after(SHORT_WAIT):
            await peer.idle()
        self._lost.set()

    async def _watch_lists(self, peer: Peer) -> None:
        empty = list(EMPTY_AGAIN)
        while True:
            again = None
            if self.snapshot is not None and not self.snapshot.tools and empty:
                again = empty.pop(0)
            with anyio.move_on_after(again):
                await self._stale.wait()
                await anyio.sleep(SETTLE)
            kinds = set(self._stale_kinds) or {"tools"}
            self._stale_kinds.clear()
            self._stale = anyio.Event()
            await self._read_again(peer, kinds)

    async def _read_again(self, peer: Peer, kinds: set[str]) -> None:
        assert self.snapshot is not None
        old = {kind: getattr(self.snapshot, kind) for kind in listing.KINDS}
        try:
            new = {kind: await self._read(peer, kind) for kind in kinds}
        except RpcError as error:
            self._remark(f"the changed list could not be read: {error}")
            return
        if any(new[kind] != old[kind] for kind in kinds):
            self.snapshot = listing.snapshot({**old, **new})
        self._tell()

    async def refresh(self) -> None:
        """Read the tool list again and wait until that is done or the server is lost."""
        if self.peer is None or self.snapshot is None:
            return
        self.mark_stale({"tools"})
        stale = self._stale
        while stale is self._stale and self.state is State.UP:
            changed = self._changed
            await changed.wait()

    def mark_stale(self, kinds: set[str]) -> None:
        """Have lists read again soon."""
        self._stale_kinds |= kinds
        self._stale.set()

    async def _listen(self, peer: Peer) -> None:
        """Hear of changes: a modern server tells them only on a stream that was asked for."""
        if self.greeted is None:
            return
        if self.greeted.era is not Era.MODERN:
            if self.settings.transport == "http":
                kinds = set(listing.offered(self.greeted.capabilities))
                self._wire.listen(lambda: self.mark_stale(kinds))  # type: ignore[union-attr]
            return
        failures = 0
        while True:
            params = self.params({"notifications": env.raw(self._wanted())})
            with anyio.CancelScope() as self._listening:
                try:
                    await peer.ask("subscriptions/listen", params)
                except RpcError as error:
                    if error.code in (-32601, -32602):
                        return
            if self._listening.cancelled_caught:
                continue
            failures += 1
            await anyio.sleep(DELAYS[min(failures, len(DELAYS)) - 1])
            # what changed while nobody listened was told to nobody
            self.mark_stale(set(listing.offered(self.greeted.capabilities)))

    def _wanted(self) -> dict[str, object]:
        wanted: dict[str, object] = {
            "toolsListChanged": True,
            "promptsListChanged": True,
            "resourcesListChanged": True,
        }
        if self._subscribed:
            wanted["resourceSubscriptions"] = sorted(self._subscribed)
        return wanted

    def watch_resources(self, uris: set[str]) -> None:
        """Say which of a modern server's resources clients want to hear of."""
        if uris != self._subscribed:
            self._subscribed = set(uris)
            if self._listening is not None:
                self._listening.cancel()

    # -- what the peer says

    def on_request(self, id: bytes, method: str, params: bytes, origin: int | None) -> None:
        """Answer what concerns the connection, hand on the rest."""
        if method == "ping":
            if self.peer is not None:
                self.peer.respond(id, b"{}")
            return
        owner = self._asked_by(origin)
        if owner is not None:
            owner.server_request(self, id, method, params, origin)
        elif self.peer is not None:
            what = f"{method}: it can't be told which client this is for"
            self.peer.refuse(id, env.error_object(RpcError(-32603, what)))

    def _asked_by(self, origin: int | None) -> Owner | None:
        """Whose call led to a question, where the stream tells or only one can be meant."""
        if origin is not None and origin in self.calls:
            return self.calls[origin]
        candidates = set(self.calls.values()) or set(self.owners)
        return candidates.pop() if len(candidates) == 1 else None

    def on_notification(self, method: str, params: bytes, origin: int | None) -> None:
        """Note changed lists, hand on the rest."""
        kinds = CHANGES.get(method)
        if kinds is not None:
            self.mark_stale(kinds)
            return
        call = self._call_of(method, params, origin)
        if call is not None:
            call.server_notification(self, method, params, origin)
            return
        for owner in list(self.owners):
            owner.server_notification(self, method, params, origin)

    def _call_of(self, method: str, params: bytes, origin: int | None) -> Owner | None:
        """The call that a notification belongs to: by its progress token, else by its stream."""
        if method == "notifications/progress":
            token = bytes(env.members(params).get("progressToken", b""))
            return self.calls.get(int(token)) if token.isdigit() else None
        return self.calls.get(origin) if origin is not None else None

    def on_noise(self, frame: bytes) -> None:
        """Log the first line that is no message; count the rest."""
        self._noise += 1
        if self._noise == 1:
            shown = frame[:120].decode("utf-8", "replace")
            log.warning(
                "server=%s event=noise line=%r note=%r",
                self.name,
                shown,
                "further ones are not logged",
            )

    def on_lost(self, reason: str) -> None:
        """Note the end of the connection."""
        self._lost.set()

    # -- state

    @property
    def stderr_tail(self) -> list[str]:
        """The last lines that the server wrote to stderr, values of its secrets masked."""
        lines = list(getattr(self._wire, "stderr_tail", ()))
        secrets = [value for value in self.settings.env.values() if len(value) >= 6]
        for secret in secrets:
            lines = [line.replace(secret, "***") for line in lines]
        return lines

    @property
    def next_start_in(self) -> float:
        """Seconds until the next start, 0 when none is due."""
        return max(self._next_start - time.monotonic(), 0.0) if self.state is State.WAITING else 0.0

    def _settle(self, state: State, problem: str) -> None:
        self.state = state
        self.problem = problem
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        for owner in list(self.owners):
            owner.link_changed(self)

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
        with anyio.move_on_after(seconds):
            while self.state is State.STARTING or 0 < self.next_start_in <= SHORT_WAIT:
                await self._changed.wait()
        if self.peer is not None and self.state is State.UP:
            return self.peer
        raise self.unavailable()

    def unavailable(self) -> ServerError:
        """Why nothing can be asked of the server now."""
        if self.state is State.STARTING:
            waited = time.monotonic() - self._began
            return ServerStarting(
                self.name, f"is still starting, {waited:.0f} s so far; try again in a moment"
            )
        again = f"; next start in {self.next_start_in:.1f} s" if self.state is State.WAITING else ""
        return ServerLost(self.name, f"is down: {self.problem or 'it was stopped'}{again}")


CHANGES = {
    "notifications/tools/list_changed": {"tools"},
    "notifications/prompts/list_changed": {"prompts"},
    "notifications/resources/list_changed": {"resources", "templates"},
}
