"""The gateway's own stdin and stdout as a wire. From its start on, stdout carries frames only.

Whatever else in this process prints goes to stderr.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING

from toolpick.errors import FrameError
from toolpick.wire.lines import LineBuffer, as_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.wire.wire import Outgoing, Receiver


log = logging.getLogger(__name__)

UNREAD = 2**20
"""Bytes that the client has not read, after which frames that may be missed are dropped."""


class OwnWire:
    """Frames in from stdin, out to stdout."""

    def __init__(self, may_be_missed: Callable[[bytes], bool] = lambda _: False) -> None:
        """Nothing is read before ``start``. ``may_be_missed`` judges frames for slow clients."""
        self._out: asyncio.WriteTransport | None = None
        self._fd = -1
        self._may_be_missed = may_be_missed
        self._missed = 0

    async def start(self, receiver: Receiver) -> None:
        """Begin to read; stdout is taken over."""
        self._fd = os.dup(1)
        os.dup2(2, 1)
        await self._open_stdout()
        await _open_stdin(_Stdin(receiver))

    async def _open_stdout(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            # file objects own descriptors: this one must live as long as the transport
            stdout = os.fdopen(self._fd, "wb", 0, closefd=False)
            self._out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, stdout)
        except (OSError, ValueError, NotImplementedError):
            self._out = None

    def send(self, frame: bytes, about: Outgoing | None = None) -> None:
        """Write one line; where stdout is a plain file, at once."""
        if self._out is not None:
            if not self._out.is_closing() and not self._misses(frame):
                self._out.write(as_line(frame))
            return
        rest = memoryview(as_line(frame))
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def _misses(self, frame: bytes) -> bool:
        """Whether a client that does not keep up goes without a frame."""
        assert self._out is not None
        if self._out.get_write_buffer_size() <= UNREAD or not self._may_be_missed(frame):
            return False
        self._missed += 1
        if self._missed == 1:
            note = "the client reads too slowly; what it can do without is dropped"
            log.warning("event=missed bytes=%d note=%r", len(frame), note)
        return True

    def abandon(self, id: int) -> bool:
        """Never tells the client by itself."""
        return False

    async def close(self) -> None:
        """Write what is left, within a second, and stop."""
        if self._out is not None:
            for _ in range(100):
                if not self._out.get_write_buffer_size():
                    break
                await asyncio.sleep(0.01)
            self._out.close()


class _Stdin(asyncio.Protocol):
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._lines = LineBuffer()
        self._lost = False

    def data_received(self, data: bytes) -> None:
        if self._lost:
            return
        try:
            for line in self._lines.feed(data):
                self._receiver.received(line, None)
        except FrameError as error:
            self._lose(f"the client sent {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose("the client closed stdin")

    def _lose(self, reason: str) -> None:
        if not self._lost:
            self._lost = True
            self._receiver.lost(reason)


async def _open_stdin(protocol: _Stdin) -> None:
    loop = asyncio.get_running_loop()
    try:
        await loop.connect_read_pipe(lambda: protocol, sys.stdin.buffer)
    except (OSError, ValueError, NotImplementedError):
        # a plain file, /dev/null, or a system whose loop can't watch this handle
        # a thread has no context of its own, and anyio keeps in it which event loop runs
        tell = partial(loop.call_soon_threadsafe, context=copy_context())
        threading.Thread(target=_read, args=(tell, protocol), name="stdin", daemon=True).start()


def _read(tell: Callable[..., object], protocol: _Stdin) -> None:
    try:
        while data := os.read(0, 65_536):
            tell(protocol.data_received, data)
        tell(protocol.connection_lost, None)
    except (OSError, RuntimeError):
        return
