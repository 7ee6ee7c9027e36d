"""What a legacy session is told outside of its requests: one event stream, and what waits for one.

A client opens the stream with GET, if it wants one. Until then, and between two, messages wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.front.mailbox import Mailbox, events

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.front.headers import Pairs
    from toolpick.front.request import Request
    from toolpick.wire import envelope as env


class Outbox:
    """A channel whose frames go to the session's latest stream."""

    __slots__ = ("_box", "_reader", "_unheard")

    def __init__(self) -> None:
        """No stream is open yet."""
        self._unheard: Callable[[env.Envelope], None] | None = None
        self._box = Mailbox(self._lost)
        self._reader: object | None = None

    def attach(self, unheard: Callable[[env.Envelope], None]) -> None:
        """``unheard`` gets what can't reach the client."""
        self._unheard = unheard

    def _lost(self, message: env.Envelope) -> None:
        if self._unheard is not None:
            self._unheard(message)

    def send(self, frame: bytes, *, final: bool) -> None:
        """Keep a frame until a stream takes it; ``final`` means nothing here."""
        if not self._box.closed:
            self._box.put(frame)

    @property
    def open(self) -> bool:
        """Whether a stream is open."""
        return self._reader is not None

    def tick(self) -> None:
        """Called now and then: a stream that was silent since the last time gets a sign of life."""
        if self._box.quiet and self._reader is not None:
            self._box.nudge()
        self._box.quiet = True

    def close(self) -> None:
        """End the stream, for good."""
        self._box.close()

    async def stream(self, request: Request, headers: Pairs) -> None:
        """Serve a stream until its client leaves, a newer one replaces it, or the session ends."""
        reader = object()
        self._reader = reader
        self._box.nudge()  # wakes the stream that is replaced

        def leave() -> None:
            if self._reader is reader:
                self._reader = None
                self._box.nudge()

        request.on_leave(leave)
        try:
            await request.events(headers)
            await self._pump(request, reader)
        finally:
            leave()

    async def _pump(self, request: Request, reader: object) -> None:
        box = self._box
        while True:
            mine = self._reader is reader
            last = box.closed or not mine
            await request.write(events(box.take() if mine else []), last=last)
            if last:
                return
            await box.wait()
