"""The answer to one request of a client: plain JSON if it can be, an event stream if it must.

The stream begins when something comes before the answer itself: a notification, a question to the
client, or a long silence. Knows one exchange, no session and no era.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.front.backlog import COMMENT, Backlog, events
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.engine.exchange import Exchange
    from toolpick.errors import RpcError
    from toolpick.front.headers import Pairs
    from toolpick.front.request import Request


class Answer:
    """A channel for one exchange."""

    __slots__ = (
        "_backlog",
        "_ended",
        "_plain",
        "_quiet",
        "_stream",
        "_unheard",
        "exchange",
        "final",
        "headers",
        "id",
        "left",
    )

    def __init__(
        self,
        id: env.Body,
        *,
        plain: Callable[[Answer], None] | None,
        stream: Request | None,
        ended: Callable[[Answer], None],
        unheard: Callable[[bytes], None],
        headers: Pairs | None = None,
    ) -> None:
        """``id`` is the request's, as JSON.

        ``plain`` sends an answer that nothing came before, None when the client takes no plain
        JSON. ``stream`` is where all else goes, with ``headers``, None when it takes no streams.
        ``ended`` is called once, when there is an answer or nobody waits for one. ``unheard`` gets
        frames that can't reach the client.
        """
        self.id = bytes(id)
        self.exchange: Exchange | None = None
        """What is to be answered, None before and after that: it knows this channel, too."""
        self.final = b""
        """The frame that answers the request, empty while there is none."""
        self.left = False
        """Whether the client went away before it was answered."""
        self.headers = headers
        self._plain = plain
        self._stream = stream
        self._ended = ended
        self._unheard = unheard
        self._backlog: Backlog | None = None
        self._quiet = False

    def send(self, frame: bytes, *, final: bool) -> None:
        """Take a frame. After the final one, and when the client left, frames are dropped."""
        if self.final or self.left:
            return
        if final:
            self.final = frame
        if final and self._plain is not None and self._backlog is None:
            self._plain(self)
        elif self._stream is None:
            self._unheard(frame)
        else:
            self._put(self._stream, frame)
        if final:
            self.exchange = None
            self._ended(self)

    @property
    def failed(self) -> bool:
        """Whether the final frame is an error."""
        return self.final.startswith(b'{"jsonrpc":"2.0","id":%b,"error":' % self.id)

    def leave(self) -> None:
        """The client's connection is gone: nobody waits for the answer any more."""
        if not self.final and not self.left:
            self.left = True
            exchange, self.exchange = self.exchange, None
            if exchange is not None:
                exchange.cancel("the client closed the connection")
            self._ended(self)

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
        """Called now and then: after a silence since the last time, show a sign of life."""
        if self._quiet and self._stream is not None and self._stream.writable:
            self._begin(self._stream)
            self._stream.write(COMMENT, last=False)
        self._quiet = True

    def _put(self, stream: Request, frame: bytes) -> None:
        self._quiet = False
        self._begin(stream).put(frame)
        self._drain()

    def _begin(self, stream: Request) -> Backlog:
        if self._backlog is None:
            self._backlog = Backlog(self._unheard)
            stream.drained = self._drain
            stream.events(self.headers)
        return self._backlog

    def _drain(self) -> None:
        if self._stream is not None and self._backlog and self._stream.writable:
            self._stream.write(events(self._backlog.take()), last=bool(self.final))
