"""The client's side of a connection: ids, pending requests, deadlines, cancellation.

Knows JSON-RPC and the two notifications that belong to requests (cancelled, progress); nothing else
of MCP. All calls happen on one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from toolpick.errors import SERVER_UNAVAILABLE, RpcError
from toolpick.wire import depth, frames
from toolpick.wire import envelope as env
from toolpick.wire.wire import Outgoing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolpick.wire.wire import Wire

log = logging.getLogger("toolpick.wire")

CANCELLED = "notifications/cancelled"
TIMED_OUT = -32001
LOST = SERVER_UNAVAILABLE
SESSION_GONE = -32099
"""Code of the error for a request that the server refused unseen: it may be sent again."""
HARD_CAP = 10
"""Progress pushes a deadline out, to at most this many times the timeout."""


@dataclass(slots=True)
class Reply:
    """How a request ended: ``result`` or ``error`` as JSON. ``ours``: no server said so, we did."""

    result: env.Body = b""
    error: env.Body = b""
    ours: bool = False


class Listener(Protocol):
    """Who hears what the other side starts."""

    def on_request(self, id: bytes, method: str, params: bytes, origin: int | None) -> None:
        """Take a request; answer with ``Peer.respond``."""
        ...

    def on_notification(self, method: str, params: bytes, origin: int | None) -> None:
        """Take a notification."""
        ...

    def on_noise(self, frame: bytes) -> None:
        """Take a frame that is no message."""
        ...

    def on_lost(self, reason: str) -> None:
        """Take note of the end of the connection; every pending request has been failed before."""
        ...


@dataclass(slots=True)
class _Pending:
    done: Callable[[Reply], None]
    method: str
    timeout: float
    latest: float
    shallow: bool = False
    timer: asyncio.TimerHandle | None = None
    paused: int = 0


class Peer:
    """One connection to a server, over any wire."""

    def __init__(self, wire: Wire, listener: Listener) -> None:
        """Nothing is sent before ``start``."""
        self.wire = wire
        self._listener = listener
        self._pending: dict[int, _Pending] = {}
        self._next = 0
        self._loop = asyncio.get_running_loop()
        self._idle: asyncio.Future[None] | None = None
        self.closed = ""
        """Why the connection ended, "" while it lives."""
        self.heard = 0
        """How many frames came, whatever they were."""

    async def start(self) -> None:
        """Open the wire. Raises OSError when that fails."""
        await self.wire.start(self)

    # -- requests

    def request(
        self,
        method: str,
        params: bytes,
        done: Callable[[Reply], None],
        *,
        timeout: float = 0,
        name: str = "",
        headers: Mapping[str, str] | None = None,
        id: int = 0,
        shallow: bool = False,
    ) -> int:
        """Send a request; ``done`` is called exactly once, unless it is cancelled first.

        ``timeout`` in seconds, 0 for none. ``id`` is one from ``reserve``, else a new one is made.
        ``shallow``: an answer that is nested too deeply to be read may be cut (see ``depth``).
        """
        id = id or self.reserve()
        if self.closed:
            done(Reply(error=_made(LOST, self.closed), ours=True))
            return id
        latest = self._loop.time() + HARD_CAP * timeout
        pending = _Pending(done, method, timeout, latest, shallow)
        if timeout:
            pending.timer = self._loop.call_later(timeout, self._expire, id)
        self._pending[id] = pending
        frame = env.request(b"%d" % id, method, params)
        self.wire.send(frame, Outgoing(id, method, name, headers or {}))
        return id

    def reserve(self) -> int:
        """An id for a request to come, for params that must hold it (a progress token)."""
        self._next += 1
        return self._next

    async def ask(
        self,
        method: str,
        params: bytes = b"",
        *,
        timeout: float = 0,  # noqa: ASYNC109 - the deadline is the peer's, which tells the server
        headers: Mapping[str, str] | None = None,
        shallow: bool = False,
    ) -> bytes:
        """Send a request and wait. When the waiting task is cancelled, so is the request.

        Raises:
            RpcError: the answer is an error, or none came.
        """
        future: asyncio.Future[Reply] = self._loop.create_future()

        def done(reply: Reply) -> None:
            if not future.done():
                future.set_result(reply)

        id = self.request(method, params, done, timeout=timeout, headers=headers, shallow=shallow)
        try:
            reply = await future
        except asyncio.CancelledError:
            self.cancel(id, "no longer needed")
            raise
        if reply.error:
            raise env.rpc_error(reply.error)
        return bytes(reply.result)

    def cancel(self, id: int, reason: str) -> bool:
        """Give a request up and tell the server; False when it had ended. Never calls ``done``."""
        pending = self._pop(id)
        if pending is None:
            return False
        self._tell_cancelled(id, pending.method, reason)
        return True

    def extend(self, id: int) -> None:
        """Start a request's deadline again (it made progress), within the hard cap."""
        pending = self._pending.get(id)
        if pending is None or pending.timer is None:
            return
        pending.timer.cancel()
        left = min(pending.timeout, pending.latest - self._loop.time())
        pending.timer = self._loop.call_later(max(left, 0), self._expire, id)

    def pause(self, id: int) -> None:
        """Stop the clock of a request that waits for a person."""
        pending = self._pending.get(id)
        if pending is not None:
            pending.paused += 1
            if pending.timer is not None:
                pending.timer.cancel()
                pending.timer = None

    def resume(self, id: int) -> None:
        """Let the clock of a paused request run again, from its start."""
        pending = self._pending.get(id)
        if pending is None:
            return
        pending.paused -= 1
        if not pending.paused and pending.timeout:
            pending.latest = self._loop.time() + HARD_CAP * pending.timeout
            pending.timer = self._loop.call_later(pending.timeout, self._expire, id)

    @property
    def in_flight(self) -> int:
        """How many requests have no answer yet."""
        return len(self._pending)

    @property
    def waits_for_client(self) -> bool:
        """Whether a request waits for what its client has to say."""
        return any(pending.paused for pending in self._pending.values())

    def _expire(self, id: int) -> None:
        pending = self._pop(id)
        if pending is None:
            return
        self._tell_cancelled(id, pending.method, "timeout")
        text = f"did not answer {pending.method} within {pending.timeout:g} s"
        pending.done(Reply(error=_made(TIMED_OUT, text), ours=True))

    def _tell_cancelled(self, id: int, method: str, reason: str) -> None:
        # "must not be cancelled by clients": specification 2025-11-25, basic/utilities/cancellation
        if not self.wire.abandon(id) and method != "initialize":
            self.notify(CANCELLED, env.encode({"requestId": id, "reason": reason}))

    def _pop(self, id: int) -> _Pending | None:
        pending = self._pending.pop(id, None)
        if pending is not None and pending.timer is not None:
            pending.timer.cancel()
        if not self._pending and self._idle is not None:
            self._idle.set_result(None)
            self._idle = None
        return pending

    # -- the other direction

    def notify(self, method: str, params: bytes = b"") -> None:
        """Send a notification."""
        if not self.closed:
            self.wire.send(env.notification(method, params))

    def respond(self, id: bytes, body: bytes) -> None:
        """Answer a request of the server with a result."""
        if not self.closed:
            self.wire.send(env.result(id, body))

    def refuse(self, id: bytes, error: bytes) -> None:
        """Answer a request of the server with an error object."""
        if not self.closed:
            self.wire.send(env.failure(id, error))

    async def idle(self) -> None:
        """Wait until no request is in flight."""
        while self._pending:
            self._idle = self._idle or self._loop.create_future()
            await asyncio.shield(self._idle)

    async def close(self) -> None:
        """Close the wire; pending requests fail as lost."""
        self.lost("the connection was closed")
        await self.wire.close()

    # -- what the wire says

    def received(self, frame: bytes, origin: int | None) -> None:
        """Route one frame to whom it belongs; whatever it holds, the connection goes on."""
        self.heard += 1
        try:
            messages = frames.messages(frame)
        except frames.Unreadable as torn:
            messages = self._mended(frame, torn)
        for message in messages:
            try:
                self._take(message, frame, origin)
            except RpcError:
                self._listener.on_noise(frame)
            except Exception:  # one message must not end the reading of all others
                log.exception("event=bug bytes=%d", len(frame))

    def _take(self, message: env.Envelope, frame: bytes, origin: int | None) -> None:
        id = bytes(message.id)
        if not message.method:
            self._answered(message, frame)
        elif id and id != b"null":
            self._listener.on_request(id, message.method, bytes(message.params), origin)
        else:
            self._listener.on_notification(message.method, bytes(message.params), origin)

    def _mended(self, frame: bytes, torn: frames.Unreadable) -> list[env.Envelope]:
        """An answer without what is too deep in it, where that will do; else nothing."""
        pending = None if torn.id is None else self._pending.get(torn.id)
        if torn.deep and pending is not None and pending.shallow:
            with contextlib.suppress(frames.Unreadable):
                return frames.messages(depth.cut(frame))
        self._listener.on_noise(frame)
        if torn.id is not None:
            what = "nested too deeply to be read" if torn.deep else "no JSON"
            self.dropped(torn.id, f"sent an answer that is {what}")
        return []

    def _answered(self, message: env.Envelope, frame: bytes) -> None:
        id = env.number(bytes(message.id))
        if id is None:
            self._misaddressed(message, frame)
            return
        pending = self._pop(id)
        if pending is not None:
            pending.done(_reply(message))

    def _misaddressed(self, message: env.Envelope, frame: bytes) -> None:
        """An error with id null: it can only mean the one request that is pending."""
        reply = _reply(message)
        if reply.error and len(self._pending) == 1:
            (id,) = self._pending
            pending = self._pop(id)
            if pending is not None:
                pending.done(reply)
        else:
            self._listener.on_noise(frame)

    def dropped(self, id: int, reason: str, *, session_gone: bool = False) -> None:
        """Fail one request."""
        pending = self._pop(id)
        if pending is not None:
            code = SESSION_GONE if session_gone else LOST
            pending.done(Reply(error=_made(code, reason), ours=True))

    def lost(self, reason: str) -> None:
        """Fail all that is pending, once."""
        if self.closed:
            return
        self.closed = reason
        for id in list(self._pending):
            self.dropped(id, reason)
        self._listener.on_lost(reason)


def _reply(message: env.Envelope) -> Reply:
    """What an answer says; some servers send both members, one of them null."""
    if message.result and bytes(message.error) in (b"", b"null", b"false"):
        return Reply(message.result)
    return Reply(error=env.sound_error(message.error))


def _made(code: int, message: str) -> bytes:
    return env.error_object(RpcError(code, message))
