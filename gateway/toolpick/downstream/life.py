"""The life of one connection to a server: connect, greet, list, watch, until it is lost.

Whoever calls ``start`` and ``live`` calls ``close``, in the same task. What the server says of its
lists ends here; everything else goes to a ``Hearer`` that knows who it is for.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

import anyio

from toolpick.downstream import listing
from toolpick.downstream.greeting import Greeted, Greeting, params
from toolpick.downstream.listening import ACKNOWLEDGED, Listening
from toolpick.downstream.lists import CHANGES, Lists
from toolpick.downstream.pulse import Pulse
from toolpick.downstream.wires import agree, listen
from toolpick.errors import RpcError, ServerError
from toolpick.model import Era
from toolpick.wire import envelope as env
from toolpick.wire.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from toolpick.downstream.wires import AnyWire

log = logging.getLogger("toolpick.server")

FAREWELL = 1.0
"""Seconds that requests have to end by themselves when the server no longer knows the session."""


class Keeper(Protocol):
    """Who keeps a life. Called on the event loop; must not block."""

    def lists_read(self) -> None:
        """Lists were read again; they may have changed."""
        ...

    def asked(self, id: bytes, method: str, params: bytes, origin: int | None) -> None:
        """The server asks something of a client."""
        ...

    def told(self, method: str, params: bytes, origin: int | None) -> None:
        """The server says something that is not about its lists."""
        ...


class Life:
    """One connection. ``version`` and ``capabilities`` are the client's."""

    def __init__(
        self,
        server: str,
        wire: AnyWire,
        keeper: Keeper,
        *,
        version: str,
        capabilities: bytes,
        watched: Set[str],
        silence: float,
        mask: Callable[[str], str],
    ) -> None:
        """``watched`` are the URIs of the resources that clients want to hear of.

        ``mask`` hides secrets in what the server wrote.

        A server that let a request time out may be silent for ``silence`` seconds more.
        """
        self.peer = Peer(wire, self)
        self.greeted: Greeted | None = None
        self.lists = Lists(server, self.peer, self.params, keeper.lists_read)
        self.session_gone = False
        self._server = server
        self._mask = mask
        self._wire = wire
        self._keeper = keeper
        self._version = version
        self._capabilities = capabilities
        self._listening = Listening(self.peer, self.params, watched, self.lists.mark_stale)
        self._pulse = Pulse(self.peer, self.params, silence)
        self._over = anyio.Event()
        self._forgotten = anyio.Event()
        self.noise = ""
        """The first line that was no message."""

    def params(self, members: env.Members, meta: env.Members | None = None) -> bytes:
        """Params as the server's era wants them; b"" when there is nothing to say."""
        return params(self.greeted, self._capabilities, members, meta)

    async def start(self, seconds: float, *, modern: bool) -> Greeted:
        """Connect, greet in the wished era, and read all lists.

        Raises:
            OSError: there is nothing to connect to.
            RpcError: the server refused.
            ServerError: it was not ready in time.
        """
        try:
            with anyio.fail_after(seconds):
                await self.peer.start()
                greeting = Greeting(
                    self.peer,
                    self._version,
                    self._capabilities,
                    lambda version: agree(self._wire, version),
                )
                greeted = await (greeting.modern() if modern else greeting.legacy())
                self.greeted = greeted
                await self.lists.read_all(listing.offered(greeted.capabilities))
        except TimeoutError:
            what = f"was not ready within {seconds:g} s and was ended"
            raise ServerError(self._server, what) from None
        return greeted

    async def live(self) -> str:
        """Watch the server until the connection is lost; returns why it was."""
        assert self.greeted is not None
        async with anyio.create_task_group() as group:
            group.start_soon(self.lists.watch)
            group.start_soon(self._leave_when_forgotten)
            group.start_soon(self._leave_when_silent, self.greeted.era)
            if self.greeted.era is Era.MODERN:
                group.start_soon(self._listening.run)
            else:
                listen(self._wire, self.lists.mark_stale)
            await self._over.wait()
            group.cancel_scope.cancel()
        return self.peer.closed or "no longer knows the session"

    def why(self, error: BaseException) -> str:
        """What an error of ``start`` or ``live`` means, to continue a sentence."""
        if isinstance(error, ServerError):
            return str(error).removeprefix(f"server {self._server!r} ")
        if self.peer.closed:
            return self.peer.closed
        if isinstance(error, OSError):
            return f"could not be started: {error.strerror or error}"
        return str(error)

    async def close(self) -> None:
        """End the connection, and the process if there is one."""
        with anyio.CancelScope(shield=True):
            await self.peer.close()

    def forget_session(self) -> None:
        """Note that the server no longer knows us; ``live`` ends soon."""
        self.session_gone = True
        self._forgotten.set()

    async def _leave_when_forgotten(self) -> None:
        """Let the other requests learn it for themselves first: they may be sent again too."""
        await self._forgotten.wait()
        with anyio.move_on_after(FAREWELL):
            await self.peer.idle()
        self._over.set()

    def doubt(self) -> None:
        """Note that a request was not answered in time; ``live`` ends if the server is silent."""
        self._pulse.doubt()

    async def _leave_when_silent(self, era: Era) -> None:
        self.peer.lost(await self._pulse.stops(era))

    def watch_resources(self, uris: Set[str]) -> None:
        """Say which of a modern server's resources clients want to hear of."""
        self._listening.watch(uris)

    # -- what the peer says

    def on_request(self, id: bytes, method: str, params: bytes, origin: int | None) -> None:
        """Answer what concerns the connection, hand on the rest."""
        if method == "ping":
            self.peer.respond(id, b"{}")
            return
        try:
            self._keeper.asked(id, method, params, origin)
        except RpcError as error:
            self.peer.refuse(id, env.error_object(error))

    def on_notification(self, method: str, params: bytes, origin: int | None) -> None:
        """Note changed lists, hand on the rest; what can't be read is dropped."""
        kinds = CHANGES.get(method)
        if kinds is not None:
            self.lists.mark_stale(kinds)
        if kinds is not None or method == ACKNOWLEDGED:
            return
        try:
            self._keeper.told(method, params, origin)
        except RpcError as error:
            log.info(
                "server=%s event=ignored method=%s reason=%r", self._server, method, str(error)
            )

    def on_noise(self, frame: bytes) -> None:
        """Keep and log the first line that is no message."""
        if not self.noise:
            # masked first: half a secret at the end would not be known as one
            self.noise = self._mask(frame[:4_000].decode("utf-8", "replace"))[:120]
            note = "further ones are not logged"
            log.warning("server=%s event=noise line=%r note=%r", self._server, self.noise, note)

    def on_lost(self, reason: str) -> None:
        """Note the end of the connection."""
        self._over.set()
