"""Frames on their way to one client that reads at its own pace.

Nothing here does I/O: frames go in without waiting, and one task waits for them.
"""

from __future__ import annotations

# one future a wait: an anyio event costs another pass of the loop, on every call
import asyncio  # noqa: TID251
from collections import deque
from typing import TYPE_CHECKING

from toolpick.errors import FrameError
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 1000
"""Frames that wait for one reader; beyond it the oldest is lost."""
COMMENT = b": \n\n"
_PARAGRAPHS = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)


class Mailbox:
    """A queue with one reader, which is woken by frames, by ``nudge`` and by ``close``."""

    __slots__ = ("_frames", "_nudged", "_unheard", "_waiter", "closed", "quiet")

    def __init__(self, unheard: Callable[[env.Envelope], None]) -> None:
        """``unheard`` gets, a little later, each message that will never reach the client."""
        self._frames: deque[bytes] = deque()
        self._unheard = unheard
        self._waiter: asyncio.Future[None] | None = None
        self._nudged = False
        self.closed = False
        self.quiet = False
        """Whether nothing was put since this was last set."""

    def __len__(self) -> int:
        """How many frames wait."""
        return len(self._frames)

    def put(self, frame: bytes) -> None:
        """Add a frame; when too many wait, the oldest goes."""
        self.quiet = False
        self._frames.append(frame)
        if len(self._frames) > LIMIT:
            self.lose(self._frames.popleft())
        self._wake()

    def lose(self, frame: bytes) -> None:
        """Report a frame that can't be delivered, outside of what the sender is doing."""
        try:
            message = env.decode(frame)
        except FrameError:
            return
        asyncio.get_running_loop().call_soon(self._unheard, message)

    def nudge(self) -> None:
        """Wake the reader with nothing to read, for a sign of life."""
        self._nudged = True
        self._wake()

    def close(self) -> None:
        """Tell the reader that nothing more comes; what waits may still be taken."""
        self.closed = True
        self._wake()

    async def wait(self) -> None:
        """Wait for something to do: frames, a nudge, the end."""
        if not (self._frames or self._nudged or self.closed):
            waiter = self._waiter = asyncio.get_running_loop().create_future()
            await waiter

    def take(self) -> list[bytes]:
        """All that waits, in order."""
        frames = list(self._frames)
        self._frames.clear()
        self._nudged = False
        return frames

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def events(frames: list[bytes]) -> bytes:
    """Frames as server-sent events; for none, a comment that keeps the connection alive."""
    if not frames:
        return COMMENT
    return b"".join([b"event: message\ndata: %b\n\n" % _one_line(frame) for frame in frames])


def _one_line(frame: bytes) -> bytes:
    """The same JSON without line ends, nor the characters that some clients take for one."""
    if b"\n" in frame or b"\r" in frame:
        frame = frame.replace(b"\n", b" ").replace(b"\r", b" ")
    if not frame.isascii():
        for letter, escape in _PARAGRAPHS:
            if letter in frame:
                frame = frame.replace(letter, escape)
    return frame
