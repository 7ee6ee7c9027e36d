"""The gateway's own stdin and stdout as a wire. From its start on, stdout carries frames only.

Whatever else in this process prints goes to stderr. Of a client that does not read its answers no
more requests are read.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import socket
import stat
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
UNREAD_LIMIT = 16 * 2**20
"""Bytes that may wait for a client that does not read; beyond it the client is not read either."""
LOOK = 0.5
"""Seconds between two looks at a client that is not read."""


class OwnWire:
    """Frames in from stdin, out to stdout."""

    def __init__(self, may_be_missed: Callable[[bytes], bool] = lambda _: False) -> None:
        """Nothing is read before ``start``. ``may_be_missed`` judges frames for slow clients."""
        self._out: asyncio.WriteTransport | None = None
        self._stdin: _Stdin | None = None
        self._fd = -1
        self._may_be_missed = may_be_missed
        self._missed = 0

    @property
    def behind(self) -> bool:
        """Whether the client reads so slowly that nothing should be sent that it can do without."""
        return self._stdin is not None and self._stdin.paused

    async def start(self, receiver: Receiver) -> None:
        """Begin to read; stdout is taken over."""
        self._fd = os.dup(1)
        os.dup2(2, 1)
        self._stdin = _Stdin(receiver)
        if _one_socket(0, self._fd):
            self._out = await self._stdin.open_socket()
            self._out.set_write_buffer_limits(UNREAD_LIMIT)
            return
        await self._open_stdout(_Stdout(self._stdin))
        await self._stdin.open()

    async def _open_stdout(self, protocol: _Stdout) -> None:
        loop = asyncio.get_running_loop()
        try:
            # file objects own descriptors: this one must live as long as the transport
            stdout = os.fdopen(self._fd, "wb", 0, closefd=False)
            self._out, _ = await loop.connect_write_pipe(lambda: protocol, stdout)
            self._out.set_write_buffer_limits(UNREAD_LIMIT)
        except (OSError, ValueError, NotImplementedError):
            self._out = None

    def send(self, frame: bytes, about: Outgoing | None = None) -> None:
        """Write one line; where stdout is a plain file, at once."""
        if self._out is not None:
            if not self._out.is_closing() and not self._misses(frame):
                self._out.write(as_line(frame))
            return
        rest = memoryview(as_line(frame))
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            if self._stdin is not None:
                self._stdin.lose(f"stdout can't be written: {error.strerror}")

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


class _Stdout(asyncio.BaseProtocol):
    def __init__(self, stdin: _Stdin) -> None:
        self._stdin = stdin

    def pause_writing(self) -> None:
        self._stdin.pause()

    def resume_writing(self) -> None:
        self._stdin.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stdin.lose("the client closed stdout")


class _Stdin(asyncio.Protocol):
    def __init__(self, receiver: Receiver) -> None:
        self.paused = False
        self._receiver = receiver
        self._lines = LineBuffer()
        self._lost = False
        self._transport: asyncio.ReadTransport | None = None
        self._may_read = threading.Event()
        self._looking: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        if _watchable(loop, 0):
            stdin = os.fdopen(0, "rb", 0, closefd=False)
            self._transport, _ = await loop.connect_read_pipe(lambda: self, stdin)
            return
        # a plain file, /dev/null, or a system whose loop can't watch this handle
        # a thread has no context of its own, and anyio keeps in it which event loop runs
        tell = partial(loop.call_soon_threadsafe, context=copy_context())
        self._may_read.set()
        threading.Thread(target=self._read, args=(tell,), name="stdin", daemon=True).start()

    async def open_socket(self) -> asyncio.Transport:
        """Use stdin for both directions: pipes are taken for closed when something comes in."""
        loop = asyncio.get_running_loop()
        taken = socket.socket(fileno=os.dup(0))
        self._transport, _ = transport, _ = await loop.connect_accepted_socket(lambda: self, taken)
        return transport

    def pause_writing(self) -> None:
        self.pause()

    def resume_writing(self) -> None:
        self.resume()

    def _read(self, tell: Callable[..., object]) -> None:
        """Read in a thread."""
        try:
            while self._may_read.wait() and (data := os.read(0, 65_536)):
                tell(self.data_received, data)
            tell(self.connection_lost, None)
        except (OSError, RuntimeError):
            return

    def pause(self) -> None:
        self.paused = True
        self._may_read.clear()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()
        self._look()

    def _look(self) -> None:
        """See now and then whether the client has closed stdin: nobody reads to its end."""
        if self.paused and not self._lost:
            if _hung_up(0):
                self.lose("the client closed stdin")
            else:
                loop = asyncio.get_running_loop()
                self._looking = loop.call_later(LOOK, self._look)

    def resume(self) -> None:
        self.paused = False
        if self._looking is not None:
            self._looking.cancel()
        self._may_read.set()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._lost:
            return
        try:
            for line in self._lines.feed(data):
                self._receiver.received(line, None)
        except FrameError as error:
            self.lose(f"the client sent {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        self.lose("the client closed stdin")

    def lose(self, reason: str) -> None:
        if not self._lost:
            self._lost = True
            self._receiver.lost(reason)


def _watchable(loop: asyncio.AbstractEventLoop, number: int) -> bool:
    """Whether the loop can tell when there is something to read."""
    try:
        loop.add_reader(number, _nothing)
        loop.remove_reader(number)
    except (OSError, ValueError, NotImplementedError):
        return False
    return True


def _one_socket(one: int, other: int) -> bool:
    """Whether two files are the same socket, as under inetd, systemd and socat."""
    first, second = os.fstat(one), os.fstat(other)
    return stat.S_ISSOCK(first.st_mode) and os.path.samestat(first, second)


def _hung_up(number: int) -> bool:
    """Whether nobody is left at the other end of a pipe, whatever is still in it."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(number, 0)
    return bool(poll.poll(0))


def _nothing() -> None:
    return
