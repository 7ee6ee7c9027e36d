"""Splits a byte stream into lines of any length, in time linear in the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.errors import FrameError
from toolpick.wire.wire import MAX_FRAME

if TYPE_CHECKING:
    from collections.abc import Iterator


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
            raise FrameError(f"a message of more than {MAX_FRAME} bytes")
