"""The gateway's own stdin and stdout, in a process of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, os, sys
from toolpick.wire import lines
from toolpick.wire.own import OwnWire

class Echo:
    def __init__(self):
        self.lost_for = asyncio.get_running_loop().create_future()
        self.told = False
    def received(self, frame, origin):
        print("a print", flush=True)
        os.write(1, b"written by a library\\n")
        wire.send(b'{\\n"got": "' + frame.hex().encode() + b'"\\r\\n}')
        if frame == b"close":
            self.lost_for.set_result("")
    def lost(self, reason):
        if self.told:
            print("told twice", file=sys.stderr)
        self.told = True
        if not self.lost_for.done():
            self.lost_for.set_result(reason)

async def main():
    global wire
    wire = OwnWire()
    echo = Echo()
    await wire.start(echo)
    print(await echo.lost_for, file=sys.stderr)
    assert wire.abandon(1) is False
    await wire.close()
    wire.send(b"after the end")

if len(sys.argv) > 1:
    lines.MAX_FRAME = int(sys.argv[1])
asyncio.run(main())
"""

INPUT = b'{"a":\xff}\n\n  \r\n' + b"x" * 200_000 + b"\n"
PRINTED = ["a print", "written by a library"]


def answered(*frames: bytes) -> bytes:
    return b"".join(b'{ "got": "%b"  }\n' % frame.hex().encode() for frame in frames)


def run(*options: str, given: bytes) -> tuple[bytes, list[str]]:
    """What came out on stdout, and the lines of stderr."""
    command = [sys.executable, "-c", PROGRAM, *options]
    done = subprocess.run(command, input=given, capture_output=True, timeout=20, check=True)
    return done.stdout, done.stderr.decode().splitlines()


def test_frames_go_in_and_out_of_pipes_and_nothing_else_does():
    out, err = run(given=INPUT)
    assert out == answered(b'{"a":\xff}', b"x" * 200_000)
    assert err == [*PRINTED * 2, "the client closed stdin"]


def test_frames_go_in_and_out_of_plain_files(tmp_path: Path):
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(INPUT)
    with source.open("rb") as stdin, target.open("wb") as stdout:
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=20, check=True
        )
    expected = answered(b'{"a":\xff}', b"x" * 200_000)
    assert target.read_bytes()[: len(expected)] == expected
    assert done.stderr.decode().splitlines() == [*PRINTED * 2, "the client closed stdin"]


def test_a_message_that_is_too_long_ends_the_client_once():
    out, err = run("1000", given=b"y" * 5_000_000 + b"\n")
    assert (out, err) == (b"", ["the client sent a message of more than 1000 bytes"])


@pytest.mark.parametrize("size", [1, 3_000_000])
def test_closing_writes_what_is_left(size: int):
    out, err = run(given=b"z" * size + b"\nclose\n")
    assert out == answered(b"z" * size, b"close")
    assert err == [*PRINTED * 2, ""]


SLOW = """
import asyncio
from toolpick.wire import own

class Nobody:
    def lost(self, reason):
        pass

async def main():
    own.UNREAD = 1000
    wire = own.OwnWire(lambda frame: frame.startswith(b"little"))
    await wire.start(Nobody())
    wire.send(b"little one")
    wire.send(b"x" * 1_000_000)
    for _ in range(1000):
        wire.send(b"little two")
    wire.send(b"large")
    await wire.close()

asyncio.run(main())
"""


def test_a_client_that_does_not_keep_up_goes_without_what_it_may_miss():
    done = subprocess.run(
        [sys.executable, "-c", SLOW], input=b"", capture_output=True, timeout=20, check=True
    )
    lines = done.stdout.splitlines()
    assert [line[:10] for line in lines] == [b"little one", b"x" * 10, b"large"]
    note = b"the client reads too slowly; what it can do without is dropped"
    assert done.stderr == b"event=missed bytes=10 note='%b'\n" % note
