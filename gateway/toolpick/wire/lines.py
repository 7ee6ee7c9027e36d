"""Makes a line of a message, and splits a byte stream into lines of any length, in linear time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.errors import FrameError
from toolpick.wire.wire import MAX_FRAME

if TYPE_CHECKING:
    from collections.abc import Iterator


def as_line(frame: bytes) -> bytes:
    """A message as one line with its end.

    HTTP carries JSON with line breaks between its tokens, the only place where JSON allows them;
    a blank there means the same.
    """
    if b"\n" in frame or b"\r" in frame:
        frame = frame.replace(b"\n", b" ").replace(b"\r", b" ")
    return frame + b"\n"


class LineBuffer:
    """Collects chunks; ``feed`` gives the lines that a chunk completes, without their ends."""

    __slots__ = ("_chunks", "_size")

    def __init__(self) -> None:
        """Start empty."""
        self._chunks: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Give each non-blank line that ends in ``chunk``.

        Raises:
            FrameError: a line grew beyond ``MAX_FRAME``.
        """
        if b"\n" not in chunk:
            self._keep(chunk)
            return
        first, *rest = chunk.split(b"\n")
        if self._chunks:
            self._chunks.append(first)
            first = b"".join(self._chunks)
            self._chunks.clear()
            self._size = 0
        last = rest.pop()
        for line in (first, *rest):
            if line and not line.isspace():
                yield line
        if last:
            self._keep(last)

    def _keep(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size > MAX_FRAME:
            self.forget()
            raise FrameError(f"a message of more than {MAX_FRAME} bytes")

    def forget(self) -> None:
        """Drop the line that has begun."""
        self._chunks.clear()
        self._size = 0
