"""Process groups that outlive the gateway are ended; those that don't are left alone."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from toolpick.wire import processes
from toolpick.wire.guard import Guard

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def group():
    """Starts a process that leads a group; all are ended at last."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["sleep", "60"], start_new_session=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_what_was_not_reported_as_ended_is_killed(group):
    left, ended = group(), group()
    watch = Guard()
    watch(left.pid, True)
    watch(ended.pid, True)
    watch(ended.pid, False)
    watch.close()
    assert left.wait(5) == -signal.SIGKILL
    assert ended.poll() is None
    watch.close()


def test_a_gateway_that_is_killed_takes_its_servers_along(group):
    server = group()
    program = (
        "import sys, time; from toolpick.wire.guard import Guard\n"
        "watch = Guard(); watch(int(sys.argv[1]), True); print('up', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", program, str(server.pid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as gateway:
        assert gateway.stdout is not None
        assert gateway.stdout.readline() == b"up\n"
        gateway.kill()
    assert server.wait(5) == -signal.SIGKILL


def test_what_left_its_group_is_killed_with_it(group):
    leader = group()
    environment = {**os.environ, processes.MARK: processes.new_mark()}
    stray = subprocess.Popen(["sleep", "60"], start_new_session=True, env=environment)
    watch = Guard()
    watch(leader.pid, True)
    watch.close()
    assert stray.wait(5) == -signal.SIGKILL


def test_a_mark_is_known_from_those_that_begin_like_it(group):
    mark = processes.new_mark()
    environment = {**os.environ, processes.MARK: mark}
    with subprocess.Popen(["sleep", "60"], env=environment) as process:
        assert processes.marked(mark) == [process.pid]
        assert processes.marked(mark[:-1]) == []
        assert processes.marked(mark + "1") == []
        process.kill()


def test_without_a_shell_nothing_is_guarded(group, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    server = group()
    watch = Guard()
    watch(server.pid, True)
    watch.close()
    assert server.poll() is None


def test_a_guard_that_was_killed_fails_nothing(group):
    server = group()
    watch = Guard()
    watch(server.pid, True)
    assert watch._shell is not None
    watch._shell.kill()
    watch._shell.wait(5)
    watch(server.pid, False)
    watch.close()


def test_a_family_is_the_group_and_whoever_left_it():
    program = "sleep 60 & setsid sleep 60 & echo up; wait"
    with subprocess.Popen(
        ["sh", "-c", program], stdout=subprocess.PIPE, start_new_session=True
    ) as leader:
        assert leader.stdout is not None
        leader.stdout.readline()
        deadline = time.monotonic() + 5
        while len({os.getpgid(pid) for pid in processes.descendants(leader.pid)}) < 2:
            assert time.monotonic() < deadline
        family = processes.Family(leader.pid)
        members = processes.descendants(leader.pid)
        assert (len(members), family.alive()) == (2, True)
        family.kill()
        leader.wait(5)
        while family.alive():
            assert time.monotonic() < deadline
    assert [pid for pid in members if processes._running(pid)] == []
    family.send(signal.SIGTERM)


def test_without_proc_only_the_group_is_known(group, monkeypatch):
    def missing(_: str) -> list[str]:
        raise FileNotFoundError

    server = group()
    monkeypatch.setattr(os, "listdir", missing)
    family = processes.Family(server.pid)
    assert (processes.descendants(server.pid), family.alive()) == ([], True)
    family.kill()
    server.wait(5)
    assert not family.alive()
