"""Server-sent events out of a byte stream: bytes in, bytes out, of any size up to ``MAX_FRAME``.

Follows the WHATWG HTML standard, section 9.2.6. Data is not decoded, so it reaches whoever reads
the envelope as it was sent. Knows nothing of HTTP or of reconnecting; it only keeps what a client
needs for that, the last id and the delay that the server asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolpick.errors import FrameError
from toolpick.wire.wire import MAX_FRAME

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event that carried data; several data lines are joined by line feeds."""

    data: bytes
    kind: str = "message"


class EventBuffer:
    """Collects chunks of a stream; ``feed`` gives the events that a chunk completes."""

    def __init__(self) -> None:
        """Start at the beginning of a stream."""
        self.last_id = ""
        """Id of the last complete event that had one, kept over ``restart``."""
        self.retry: float | None = None
        """Seconds to wait before reconnecting, as the server last asked; kept over ``restart``."""
        self.restart()

    def restart(self) -> None:
        """Forget an incomplete event: the next chunk begins a new stream."""
        self._begun = False
        self._after_cr = False
        self._rest: list[bytes] = []
        self._size = 0
        self._data = bytearray()
        self._kind = b""
        self._id = self.last_id

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Give each event that ends in ``chunk``.

        Raises:
            FrameError: an event grew beyond ``MAX_FRAME``.
        """
        chunk = self._with_line_feeds(chunk)
        self._size += len(chunk)
        if b"\n" not in chunk:
            self._rest.append(chunk)
            self._check_size()
            return
        first, *lines = chunk.split(b"\n")
        self._rest.append(first)
        lines.insert(0, b"".join(self._rest))
        rest = lines.pop()
        self._rest = [rest]
        for line in lines:
            event = self._line(line)
            if not line:
                self._size = len(rest)
            if event is not None:
                yield event
        self._check_size()

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        """The chunk with every line end as one line feed; a CR LF may be torn between chunks."""
        if chunk:
            torn = self._after_cr and chunk.startswith(b"\n")
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk[torn:]
        if b"\r" in chunk:
            return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _check_size(self) -> None:
        if self._size > MAX_FRAME:
            raise FrameError(f"an event of more than {MAX_FRAME} bytes")

    def _line(self, line: bytes) -> Event | None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        if not line:
            return self._complete()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data += value + b"\n"
        elif field == b"event":
            self._kind = value
        elif field == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit():
            self.retry = int(value[:9]) / 1000
        return None

    def _complete(self) -> Event | None:
        self.last_id = self._id
        data, kind = bytes(self._data[:-1]), self._kind
        self._data = bytearray()
        self._kind = b""
        if not data:
            return None
        return Event(data, kind.decode("utf-8", "replace") or "message")
