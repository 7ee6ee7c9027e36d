"""What a legacy session is told outside of its requests: one event stream, and what waits for one.

A client opens the stream with GET, if it wants one. Until then, and between two, messages wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.front.backlog import COMMENT, Backlog, events

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.front.headers import Pairs
    from toolpick.front.request import Request


class Outbox:
    """A channel whose frames go to the session's latest stream."""

    __slots__ = ("_backlog", "_closed", "_ended", "_quiet", "_stream")

    def __init__(self, unheard: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        """``unheard`` gets frames that can't reach the client; ``ended`` is called when it left."""
        self._backlog = Backlog(unheard)
        self._ended = ended
        self._stream: Request | None = None
        self._quiet = False
        self._closed = False

    def send(self, frame: bytes, *, final: bool) -> None:
        """Keep a frame until a stream takes it; ``final`` means nothing here."""
        if not self._closed:
            self._quiet = False
            self._backlog.put(frame)
            self._drain()

    @property
    def open(self) -> bool:
        """Whether a stream is open."""
        return self._stream is not None

    def stream(self, request: Request, headers: Pairs) -> None:
        """Let a request be the stream, in place of the one before it."""
        self._end()
        self._stream = request
        request.left = self._leave
        request.drained = self._drain
        request.events(headers)
        request.write(events(self._backlog.take()) or COMMENT, last=False)

    def tick(self) -> None:
        """Called now and then: after a silence since the last time, show a sign of life."""
        if self._quiet and self._stream is not None and self._stream.writable:
            self._stream.write(COMMENT, last=False)
        self._quiet = True

    def close(self) -> None:
        """End the stream, for good."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.write(b"", last=True)

    def _leave(self) -> None:
        self._stream = None
        self._ended()

    def _drain(self) -> None:
        if self._backlog and self._stream is not None and self._stream.writable:
            self._stream.write(events(self._backlog.take()), last=False)
