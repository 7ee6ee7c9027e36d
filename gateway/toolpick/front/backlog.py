"""Frames that wait for a client which reads slowly or not yet, and how frames look in a stream."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from toolpick.errors import FrameError
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

UNHEARD = env.raw({"code": -32000, "message": "the client takes no questions now"})
"""The error that answers a question which the client will never get."""
LIMIT = 1000
"""Frames that wait for one reader; beyond it the oldest is lost."""
BYTES = 16 * 1024 * 1024
"""Bytes that wait for one reader; beyond it the oldest frame is lost, unless it is the only one."""
COMMENT = b": \n\n"
"""A part of a stream that says nothing, for proxies that close silent connections."""
_LINE_ENDS = ((b"\n", b" "), (b"\r", b" "))
# JSON may have these inside strings; some clients take them for line ends
_SEPARATORS = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)


class Backlog:
    """A bounded queue of frames."""

    __slots__ = ("_frames", "_size", "_unheard")

    def __init__(self, unheard: Callable[[bytes], None]) -> None:
        """``unheard`` gets each frame that will never reach the client."""
        self._frames: deque[bytes] = deque()
        self._size = 0
        self._unheard = unheard

    def __len__(self) -> int:
        """How many frames wait."""
        return len(self._frames)

    def put(self, frame: bytes) -> None:
        """Add a frame; when too many wait, the oldest goes."""
        self._frames.append(frame)
        self._size += len(frame)
        while len(self._frames) > LIMIT or (self._size > BYTES and len(self._frames) > 1):
            lost = self._frames.popleft()
            self._size -= len(lost)
            self._unheard(lost)

    def take(self) -> list[bytes]:
        """All that waits, in order."""
        frames = list(self._frames)
        self._frames.clear()
        self._size = 0
        return frames


def question(frame: bytes) -> env.Envelope | None:
    """The request that a frame holds, None when it is something that nobody waits for."""
    try:
        message = env.decode(frame)
    except FrameError:
        return None
    return message if message.method and message.id else None


def events(frames: list[bytes]) -> bytes:
    """Frames as server-sent events."""
    return b"".join([b"event: message\ndata: %b\n\n" % _one_line(frame) for frame in frames])


def _one_line(frame: bytes) -> bytes:
    """The same JSON on one line."""
    for end, space in _LINE_ENDS:
        if end in frame:
            frame = frame.replace(end, space)
    if not frame.isascii():
        for letter, escape in _SEPARATORS:
            if letter in frame:
                frame = frame.replace(letter, escape)
    return frame
