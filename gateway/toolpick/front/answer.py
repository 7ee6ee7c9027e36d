"""The response to one request of a client: plain JSON if it can be, an event stream if it must.

The stream begins when something comes before the answer itself: a notification, a question to the
client, or a long silence. Knows one exchange, no session and no era.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.front.mailbox import Mailbox, events
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.engine.exchange import Exchange
    from toolpick.errors import RpcError
    from toolpick.front.headers import Pairs
    from toolpick.front.request import Request


class Answer:
    """A channel for one exchange. ``id`` is the request's, as JSON."""

    __slots__ = ("_box", "_events", "_json", "_left", "exchange", "final", "id")

    def __init__(
        self, id: env.Body, accepts: tuple[bool, bool], unheard: Callable[[env.Envelope], None]
    ) -> None:
        """``accepts``: whether the client takes JSON, and event streams; one of them it does.

        ``unheard`` gets what can't reach the client.
        """
        self.id = bytes(id)
        self.exchange: Exchange | None = None
        self.final = b""
        """The frame that answers the request, empty while there is none."""
        self._json, self._events = accepts
        self._box = Mailbox(unheard)
        self._left = False

    def send(self, frame: bytes, *, final: bool) -> None:
        """Take a frame. After the final one, and when the client left, frames are dropped."""
        if self.final or self._left:
            return
        if final:
            self.final = frame
        elif not self._events:
            self._box.lose(frame)
            return
        self._box.put(frame)

    @property
    def streams(self) -> bool:
        """Whether more than the final frame can be sent."""
        return self._events

    @property
    def failed(self) -> bool:
        """Whether the final frame is an error."""
        return self.final.startswith(b'{"jsonrpc":"2.0","id":%b,"error":' % self.id)

    def leave(self) -> None:
        """The client's connection is gone: nobody waits for the answer any more."""
        if not self.final and not self._left:
            self._left = True
            self._box.close()
            if self.exchange is not None:
                self.exchange.cancel("the client closed the connection")

    def end(self, error: RpcError) -> None:
        """Give the exchange up and answer with an error, unless there is an answer."""
        if self.exchange is not None:
            self.exchange.cancel(error.message)
        self.send(env.failure(self.id, env.error_object(error)), final=True)

    def settle(self, error: RpcError) -> None:
        """Answer with an error when the exchange ended without one: its client cancelled it."""
        if self.exchange is not None and self.exchange.done:
            self.end(error)

    def tick(self) -> None:
        """Called now and then: a stream that was silent since the last time gets a sign of life."""
        if self._box.quiet and self._events:
            self._box.nudge()
        self._box.quiet = True

    async def finished(self) -> bool:
        """Wait for the final frame without sending anything; False when the client left."""
        while not self.final and not self._left:
            self._box.take()
            await self._box.wait()
        return not self._left

    async def deliver(
        self, request: Request, status: Callable[[Answer], int], headers: Pairs
    ) -> None:
        """Send the response. ``status`` is asked for plain JSON only; a stream is a 200."""
        await self._box.wait()
        if self.final and self._json and len(self._box) == 1:
            await request.reply(status(self), self.final, headers)
            return
        if not self._left:
            await request.events(headers)
            await self._stream(request)

    async def _stream(self, request: Request) -> None:
        while not self._left:
            frames = self._box.take()
            last = bool(self.final)
            await request.write(events(frames), last=last)
            if last:
                return
            await self._box.wait()
