"""Servers as child processes: what goes in and out, and that nothing of them stays behind."""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.wire.recorder import Recorder

from toolpick.wire import child as children
from toolpick.wire import lines, processes
from toolpick.wire.child import ChildWire
from toolpick.wire.wire import Outgoing

SERVER = str(Path(__file__).with_name("stdio_server.py"))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


class Child:
    """A started server and what was heard of it."""

    def __init__(self, *options: str, cwd: str = "", env: dict[str, str] | None = None) -> None:
        self.guarded: list[tuple[int, bool]] = []
        self.recorder = Recorder()
        self.wire = ChildWire(
            sys.executable,
            [SERVER, *options],
            {"PATH": os.environ["PATH"]} if env is None else env,
            cwd,
            lambda group, alive: self.guarded.append((group, alive)),
        )
        self._id = 0

    def send(self, method: str, **params: Any) -> int:
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.wire.send(json.dumps(message).encode(), Outgoing(self._id, method))
        return self._id

    async def ask(self, method: str, **params: Any) -> Any:
        before = len(self.recorder.heard)
        self.send(method, **params)
        (_, frame, _) = (await self.recorder.first(before + 1))[before]
        return json.loads(frame)["result"]

    async def lost(self) -> str:
        (_, reason) = await self.recorder.one("lost")
        return str(reason)


@asynccontextmanager
async def running(*options: str, **settings: Any) -> AsyncIterator[Child]:
    child = Child(*options, **settings)
    await child.wire.start(child.recorder)
    try:
        yield child
    finally:
        with anyio.fail_after(10):
            await child.wire.close()


def alive(pid: int) -> bool:
    return processes._running(pid)


async def test_a_server_gets_its_environment_and_folder_and_nothing_else(tmp_path: Path):
    env = {"PATH": os.environ["PATH"], "KEY": "wörd"}
    async with running(cwd=str(tmp_path), env=env) as child:
        answer = await child.ask("any", x=1.5)
    # the interpreter adds its own, and toolpick the mark by which it knows the server's processes
    added = ("LC_CTYPE", processes.MARK)
    found = {key: value for key, value in answer["env"].items() if key not in added}
    assert {**answer, "env": found} == {
        "method": "any",
        "params": {"x": 1.5},
        "cwd": str(tmp_path),
        "env": env,
    }


async def test_frames_of_any_layout_and_size_go_both_ways():
    async with running() as child:
        frame = b'{\n "id": 1,\r\n "method": "any", "params": {"big": "%b"}}' % (b"x" * 3_000_000)
        child.wire.send(frame, Outgoing(1, "any"))
        [(name, answer, origin)] = await child.recorder.first(1)
        assert (name, origin) == ("received", None)
        assert json.loads(answer)["result"]["params"] == {"big": "x" * 3_000_000}


async def test_every_line_is_handed_on_whatever_it_is():
    noise = "starting\n\n \r\n{not json\nbad \xff byte\n"
    async with running() as child:
        child.send("raw", bytes=noise)
        assert await child.recorder.first(3) == [
            ("received", b"starting", None),
            ("received", b"{not json", None),
            ("received", b"bad \xff byte", None),
        ]


async def test_an_answer_and_last_words_are_read_before_the_end_is_told():
    async with running() as child:
        await child.ask("say", bytes="about to end\n")
        child.send("exit", code=3, last='{"jsonrpc":"2.0","id":2,"result":{}}\n')
        heard = await child.recorder.first(3)
        assert heard[1:] == [
            ("received", b'{"jsonrpc":"2.0","id":2,"result":{}}', None),
            ("lost", "exited with code 3"),
        ]
        assert child.wire.stderr_tail == ["about to end"]
    assert len(child.recorder.heard) == 3


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGKILL, "was ended by SIGKILL"), (40, "was ended by signal 40")],
)
async def test_a_server_that_is_killed_is_lost(number: int, reason: str):
    async with running() as child:
        child.send("kill", signal=int(number))
        assert await child.lost() == reason


async def test_a_server_whose_child_holds_its_pipes_is_lost_all_the_same(monkeypatch):
    monkeypatch.setattr(children, "UNREAD_GRACE", 0.01)
    async with running() as child:
        pid = await child.ask("spawn", leave=False, hold=True)
        child.send("exit", code=0)
        assert await child.lost() == "exited with code 0"
    assert not alive(pid)


async def test_a_server_that_closes_its_stdout_is_lost(monkeypatch):
    monkeypatch.setattr(children, "CLOSED_STDOUT_GRACE", 0.01)
    monkeypatch.setattr(children, "CLOSE_GRACE", 0.1)
    async with running() as child:
        child.send("close")
        assert await child.lost() == "closed its stdout"
    assert not alive(child.wire.pid)


async def test_a_server_that_does_not_read_is_lost_before_memory_is(monkeypatch):
    monkeypatch.setattr(children, "UNREAD_LIMIT", 1000)
    monkeypatch.setattr(children, "CLOSE_GRACE", 0.1)
    async with running() as child:
        await child.ask("deaf")
        for _ in range(3):
            child.wire.send(b" " * 500_000)
        assert await child.lost() == "left more than 1000 bytes of its input unread"


async def test_a_line_that_is_too_long_loses_the_server(monkeypatch):
    monkeypatch.setattr(lines, "MAX_FRAME", 1000)
    async with running() as child:
        child.send("raw", bytes="x" * 2000)
        assert await child.lost() == "sent a message of more than 1000 bytes"


async def test_stderr_is_kept_within_bounds():
    async with running() as child:
        await child.ask("say", bytes="".join(f"line {number}\n" for number in range(100)))
        await child.ask("say", bytes="bad \xff\n\n" + "x" * 5000)
        await child.ask("say", bytes="unfinished")
        with anyio.fail_after(5):
            while not child.wire.stderr_tail[-1].endswith("unfinished"):
                await anyio.wait_all_tasks_blocked()
        tail = child.wire.stderr_tail
    lengths = [len(line) for line in tail]
    assert (len(tail), max(lengths)) == (children.STDERR_LINES, children.STDERR_LINE_BYTES)
    assert tail[-3:-1] == ["line 99", "bad \ufffd"]


@pytest.mark.parametrize(
    ("options", "stubborn"), [((), False), (("linger",), False), (("linger",), True)]
)
async def test_closing_ends_the_server_however_stubborn_it_is(
    monkeypatch, options: tuple[str, ...], stubborn: bool
):
    monkeypatch.setattr(children, "CLOSE_GRACE", 1.5 if not options else 0.1)
    async with running(*options) as child:
        await child.ask("stubborn" if stubborn else "any")
        pid = child.wire.pid
        assert alive(pid)
    assert not alive(pid)
    assert child.guarded == [(pid, True), (pid, False)]


@pytest.mark.parametrize("leave", [False, True])
async def test_closing_ends_what_the_server_started_even_outside_its_group(leave: bool):
    async with running() as child:
        pid = await child.ask("spawn", leave=leave)
        assert alive(pid)
    with anyio.fail_after(5):
        while alive(pid):
            await anyio.wait_all_tasks_blocked()


async def test_a_flood_on_stderr_is_read_with_rests_and_its_last_words_are_kept():
    lines = "".join(f"line {number}\n" for number in range(100_000))
    async with running() as child:
        await child.ask("say", bytes=lines)
        child.send("exit", code=3)
        assert await child.lost() == "exited with code 3"
        tail = child.wire.stderr_tail
    last = range(100_000 - children.STDERR_LINES, 100_000)
    assert tail == [f"line {number}" for number in last]


async def test_closing_ends_the_daemons_that_the_server_started():
    async with running() as child:
        pid = await child.ask("daemon")
        assert alive(pid)
    assert not alive(pid)


async def test_daemons_are_ended_when_the_server_ended_before_them():
    async with running() as child:
        pid = await child.ask("daemon")
        child.send("exit", code=1)
        await child.lost()
        assert alive(pid)
    assert not alive(pid)


async def test_what_is_written_while_a_server_is_ended_is_not_kept(monkeypatch):
    monkeypatch.setattr(children, "CLOSE_GRACE", 0.1)
    kept: list[int] = []
    async with running() as child:
        await child.ask("flood")
        assert child.wire._protocol is not None
        buffer = child.wire._protocol._lines
        await child.wire.close()
        kept.append(buffer._size)
    assert kept == [0]


LAUNCHED = """
import pathlib, signal, sys, threading

def leave(*_):
    timer = threading.Timer(0.3, pathlib.Path(sys.argv[1]).touch)
    timer.start()
    timer.join()
    sys.exit()

signal.signal(signal.SIGTERM, leave)
print("{}", flush=True)
sys.stdin.read()
if len(sys.argv) > 2:
    leave()
signal.pause()
"""


@pytest.mark.parametrize("polite", [(), ("at once",)])
async def test_a_server_may_tidy_up_though_its_launcher_has_ended(
    monkeypatch, tmp_path: Path, polite: tuple[str, ...]
):
    monkeypatch.setattr(children, "CLOSE_GRACE", 1.0)
    tidy = tmp_path / "tidy"
    # a shell gives what it starts behind its back no stdin but this
    launcher = '"$0" -c "$@" <&3 & exec 3<&- ; [ "$3" ] || wait'
    recorder = Recorder()
    wire = ChildWire(
        "sh",
        ["-c", f"exec 3<&0; {launcher}", sys.executable, LAUNCHED, str(tidy), *polite],
        {"PATH": os.environ["PATH"]},
        "",
    )
    await wire.start(recorder)
    await recorder.one("received")
    await wire.close()
    assert tidy.exists()


async def test_closing_while_cancelled_still_ends_the_server():
    async with running() as child:
        await child.ask("any")
        pid = child.wire.pid
        with anyio.CancelScope() as scope:
            scope.cancel()
            await child.wire.close()
        with anyio.fail_after(5):
            while alive(pid):
                await anyio.wait_all_tasks_blocked()


async def test_a_command_that_does_not_exist_fails_the_start():
    wire = ChildWire("no-such-command", [], {"PATH": "/nowhere"}, "")
    with pytest.raises(OSError, match=r"command 'no-such-command' not found on PATH"):
        await wire.start(Recorder())
    wire.send(b"{}")
    await wire.close()
    assert (wire.pid, wire.stderr_tail, wire.abandon(1)) == (0, [], False)


async def test_what_can_not_be_started_is_told_apart(tmp_path: Path):
    text = tmp_path / "text"
    text.write_text("no program")
    env = {"PATH": os.environ["PATH"]}
    missing = tmp_path / "missing"

    assert [
        await refused(ChildWire(command, [], env, cwd))
        for command, cwd in ((str(text), ""), (str(missing), ""), ("sh", str(missing)))
    ] == [
        f"command '{text}' is no program that may be run",
        f"command '{missing}' is not there",
        f"cwd '{missing}' is no folder",
    ]


async def refused(wire: ChildWire) -> str | None:
    with pytest.raises(OSError) as raised:
        await wire.start(Recorder())
    return raised.value.strerror


async def test_a_path_is_relative_to_where_the_server_runs(tmp_path: Path):
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$PWD"\n')
    program.chmod(0o755)
    recorder = Recorder()
    wire = ChildWire("./program", [], {"PATH": os.environ["PATH"]}, str(tmp_path))
    await wire.start(recorder)
    heard = await recorder.first(2)
    await wire.close()
    assert heard == [
        ("received", str(tmp_path).encode(), None),
        ("lost", "exited with code 0"),
    ]


async def test_nothing_is_written_after_the_end():
    async with running() as child:
        await child.ask("any")
        await child.wire.close()
        child.wire.send(b"{}")
    assert len(child.recorder.heard) == 2
