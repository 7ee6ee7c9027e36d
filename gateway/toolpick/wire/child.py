"""A server as a child process, spoken to in lines over its stdin and stdout.

The child leads a process group of its own; closing ends the whole group and everything that left
it. stderr is always read, and its last lines are kept.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from subprocess import PIPE
from typing import IO, TYPE_CHECKING, Any, cast

from toolpick.errors import FrameError
from toolpick.wire import processes
from toolpick.wire.lines import LineBuffer, as_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from toolpick.wire.wire import Outgoing, Receiver

STDERR_LINES = 40
STDERR_LINE_BYTES = 2_000
STDERR_BURST, STDERR_REST = 32_768, 0.002
"""After so many bytes at once stderr is not read for so many seconds."""
CLOSE_GRACE = 1.5
"""Seconds that a server has to end after its stdin closed, and again after SIGTERM."""
KILLS = 5
"""Times that SIGKILL is sent: what a process started in that moment escapes the first."""
KILL_GRACE = 0.5
"""Seconds until it is sent again."""
CLOSED_STDOUT_GRACE = 0.5
"""Seconds that a process may outlive its stdout before it is ended."""
UNREAD_GRACE = 0.1
"""Seconds in which what a process left in its pipes when it exited is read."""
UNREAD_LIMIT = 64 * 2**20
"""Bytes that may wait for a server that does not read its stdin."""


class ChildWire:
    """A wire to a child process."""

    def __init__(
        self,
        command: str,
        args: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        guard: Callable[[int, bool], None] | None = None,
    ) -> None:
        """Take the whole environment, to which ``processes.MARK`` is added.

        ``guard`` hears of the process group's birth and end.
        """
        self._argv = (command, *args)
        self._mark = processes.new_mark()
        self._env = {**env, processes.MARK: self._mark}
        self._cwd = cwd or None
        self._guard = guard or (lambda _group, _alive: None)
        self._transport: asyncio.SubprocessTransport | None = None
        self._protocol: _Child | None = None
        self._stdout: asyncio.ReadTransport | None = None
        self._starting: asyncio.Task[None] | None = None

    async def start(self, receiver: Receiver) -> None:
        """Start the process. Raises OSError when it can't be started."""
        # the shield: asyncio leaves pipes open, and the process unwaited for, where starting it is
        # cancelled; ``close`` ends what was started all the same
        self._starting = asyncio.ensure_future(self._start(receiver))
        await asyncio.shield(self._starting)

    async def _start(self, receiver: Receiver) -> None:
        loop = asyncio.get_running_loop()
        argv, options = _spawnable(self._argv, self._env, self._cwd)
        with _stdout_pipe() as (ours, theirs):
            transport, protocol = await loop.subprocess_exec(
                lambda: _Child(receiver),
                *argv,
                stdout=theirs,
                env=self._env,
                cwd=self._cwd,
                **options,
            )
            self._transport = transport
            self._protocol = protocol
            self._guard(transport.get_pid(), True)
            if ours is not None:
                self._stdout, _ = await loop.connect_read_pipe(lambda: _Stdout(protocol), ours)

    def send(self, frame: bytes, about: Outgoing | None = None) -> None:
        """Write one line."""
        if self._protocol is not None:
            self._protocol.write(frame)

    def abandon(self, id: int) -> bool:
        """Never tells the server by itself."""
        return False

    @property
    def pid(self) -> int:
        """The process id, 0 before the start."""
        return self._transport.get_pid() if self._transport else 0

    @property
    def stderr_tail(self) -> list[str]:
        """The last lines of stderr, bounded, undecodable bytes replaced."""
        return self._protocol.tail() if self._protocol else []

    async def close(self) -> None:
        """End the process and all that it started: stdin closed, then SIGTERM, then SIGKILL."""
        # the shield: being cancelled while ending a process must not leave it behind
        await asyncio.shield(self._close())

    async def _close(self) -> None:
        if self._starting is not None:
            await asyncio.wait([self._starting])
            if not self._starting.cancelled():
                self._starting.exception()  # whoever called start has heard of it
        if self._transport is None or self._protocol is None:
            return
        transport, child = self._transport, self._protocol
        child.deafen()
        group = transport.get_pid()
        # looked up while the server lives: what has left its group is lost to us when it ends
        family = processes.Family(group, self._mark)
        try:
            stdin = transport.get_pipe_transport(0)
            if stdin is not None:
                stdin.close()
            await _end(family, child)
        finally:
            self._guard(group, False)
            transport.close()
            if self._stdout is not None:
                self._stdout.close()
            # its pipes close in the loop's next round
            await asyncio.sleep(0)


async def _end(family: processes.Family, child: _Child) -> None:
    if await _gone(family, child, CLOSE_GRACE):
        return
    family.send(signal.SIGTERM)
    if await _gone(family, child, CLOSE_GRACE):
        return
    for _ in range(KILLS):
        family.kill()
        if await _gone(family, child, KILL_GRACE):
            return


async def _gone(family: processes.Family, child: _Child, seconds: float) -> bool:
    """Wait until the server and all that it started have ended, at most so long.

    The process that was started may be a launcher, which ends before the server does.
    """
    loop = asyncio.get_running_loop()
    latest = loop.time() + seconds
    pause = 0.01
    gone = await child.gone(seconds)
    while gone and family.alive():
        if loop.time() >= latest:
            return False
        await asyncio.sleep(pause)
        pause = min(2 * pause, 0.1)
    return gone


def _spawnable(
    argv: tuple[str, ...], env: Mapping[str, str], cwd: str | None
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The command as this system starts it: resolved on the server's own PATH, in its own group."""
    import shutil

    # a server that was installed beside toolpick is found even where its folder is not on PATH
    beside = str(Path(sys.executable).parent)
    command = argv[0]
    if cwd and "/" in command:
        # a path is relative to where the server runs, as for a shell
        command = str(Path(cwd) / command)
    found = shutil.which(command, path=env.get("PATH")) or shutil.which(command, path=beside)
    if found is None:
        raise FileNotFoundError(2, _not_found(command))
    if cwd and not Path(cwd).is_dir():
        raise FileNotFoundError(2, f"cwd {cwd!r} is no folder")
    if sys.platform == "win32":
        import subprocess

        return (found, *argv[1:]), {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return (found, *argv[1:]), {"start_new_session": True}


def _not_found(command: str) -> str:
    if "/" not in command:
        return f"command {command!r} not found on PATH; install it, or write its absolute path"
    what = "is no program that may be run" if Path(command).exists() else "is not there"
    return f"command {command!r} {what}"


@contextmanager
def _stdout_pipe() -> Iterator[tuple[IO[bytes] | None, int]]:
    """Our end of a pipe for the child's stdout, and the child's; asyncio's own pipe on Windows.

    asyncio hands on what comes through its own pipe in the loop's next round: one more round, and
    one more system call, for each answer.
    """
    if sys.platform == "win32":
        yield None, PIPE
        return
    read, write = os.pipe()
    ours = os.fdopen(read, "rb", 0)
    try:
        yield ours, write
    except BaseException:
        ours.close()
        raise
    finally:
        os.close(write)


class _Stdout(asyncio.Protocol):
    """Hands on what the child writes."""

    def __init__(self, child: _Child) -> None:
        self._child = child

    def data_received(self, data: bytes) -> None:
        self._child.pipe_data_received(1, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._child.pipe_connection_lost(1, exc)


class _Child(asyncio.SubprocessProtocol):
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._lines = LineBuffer()
        self._stderr: deque[bytes] = deque(maxlen=STDERR_LINES)
        self._stderr_rest = b""
        self._exited = asyncio.Event()
        self._lost = False
        self._deaf = False
        self._context = copy_context()
        self._unread = {1, 2}
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    def write(self, frame: bytes) -> None:
        if self._stdin is None or self._stdin.is_closing():
            return
        if self._stdin.get_write_buffer_size() > UNREAD_LIMIT:
            self._end(f"left more than {UNREAD_LIMIT} bytes of its input unread")
            return
        self._stdin.write(as_line(frame))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._keep(data)
            if len(data) > STDERR_BURST:
                self._rest_from_stderr()
            return
        if self._deaf:
            # read all the same: a full pipe would keep the process from ending
            return
        try:
            for line in self._lines.feed(data):
                self._receiver.received(line, None)
        except FrameError as error:
            self._end(f"sent {error}")

    def _keep(self, data: bytes) -> None:
        # only the last lines are looked at: a server may write any number of them
        pieces = (self._stderr_rest + data[-65_536:]).rsplit(b"\n", 2 * STDERR_LINES)
        pieces[0] = pieces[0].rpartition(b"\n")[2]
        *lines, rest = pieces
        self._stderr.extend(line[-STDERR_LINE_BYTES:] for line in lines if line.strip())
        self._stderr_rest = rest[-STDERR_LINE_BYTES:]

    def _rest_from_stderr(self) -> None:
        """Read on in a moment, so that a server that writes without end costs little."""
        pipe = self._transport.get_pipe_transport(2) if self._transport else None
        if pipe is not None and not pipe.is_closing():
            reader = cast("asyncio.ReadTransport", pipe)
            reader.pause_reading()
            asyncio.get_running_loop().call_later(STDERR_REST, reader.resume_reading)

    def tail(self) -> list[str]:
        rest = [self._stderr_rest] if self._stderr_rest.strip() else []
        return [_readable(line) for line in (*self._stderr, *rest)][-STDERR_LINES:]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._unread.discard(fd)
        if self._exited.is_set():
            self._end_when_read()
        elif fd == 1:
            # the exit status tells more than a closed pipe: give the process a moment to have one
            loop = asyncio.get_running_loop()
            loop.call_later(CLOSED_STDOUT_GRACE, self._end, "closed its stdout")

    def process_exited(self) -> None:
        # told by a thread that waits for the process, and so without the context that whoever
        # hears of it needs: anyio keeps in it which event loop runs
        asyncio.get_running_loop().call_soon(self._process_exited, context=self._context)

    def _process_exited(self) -> None:
        self._exited.set()
        self._end_when_read()
        # a process that it started may hold the pipes open
        loop = asyncio.get_running_loop()
        loop.call_later(UNREAD_GRACE, self._end, self._exit_reason())

    def _end_when_read(self) -> None:
        """Tell the end once its last answers and its last words on stderr have been read."""
        if not self._unread:
            self._end(self._exit_reason())

    def _exit_reason(self) -> str:
        code = self._transport.get_returncode() if self._transport else None
        if code is not None and code < 0:
            try:
                return f"was ended by {signal.Signals(-code).name}"
            except ValueError:
                return f"was ended by signal {-code}"
        return f"exited with code {code}"

    def _end(self, reason: str) -> None:
        self.deafen()
        if not self._lost:
            self._lost = True
            self._receiver.lost(reason)

    def deafen(self) -> None:
        """Hand nothing on any more: a server that is being ended may write as much as it likes."""
        self._deaf = True
        self._lines.forget()

    async def gone(self, seconds: float) -> bool:
        """Wait until the process ended, at most so long."""
        try:
            await asyncio.wait_for(self._exited.wait(), seconds)
        except TimeoutError:
            return False
        return True


def _readable(line: bytes) -> str:
    return line[-STDERR_LINE_BYTES:].decode("utf-8", "replace").rstrip()
