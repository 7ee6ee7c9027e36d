"""The processes that a server started: its group, its descendants, and all that bear its mark.

A process that leaves the group is known by its parents, and where these have ended (a daemon, or
what a launcher left behind) by a variable of its environment, which it had from the server.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import signal
import sys
from pathlib import Path

MARK = "TOOLPICK_SERVER"
"""The variable by which a server and everything that it starts are known."""
GATEWAY = secrets.token_hex(8)
"""How the marks of this gateway's servers begin."""
_numbers = itertools.count(1)


def new_mark() -> str:
    """A value for ``MARK`` that no other server has."""
    return f"{GATEWAY}.{next(_numbers)}"


class Family:
    """All processes that a server started, found anew each time they are asked for."""

    def __init__(self, group: int, mark: str = "") -> None:
        """``group`` is the pid of the child, which leads its group."""
        self._group = group
        self._mark = mark
        self._known = set(descendants(group))

    def alive(self) -> bool:
        """Whether any of them still runs."""
        self._known.update(descendants(self._group))
        if _group_alive(self._group) or any(_running(pid) for pid in self._known):
            return True
        self._known.update(marked(self._mark))
        return any(_running(pid) for pid in self._known)

    def send(self, number: int) -> None:
        """Signal all of them."""
        self._known.update(descendants(self._group), marked(self._mark))
        if sys.platform == "win32":
            with contextlib.suppress(OSError):
                os.kill(self._group, number)
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)
        for pid in self._known:
            if _running(pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def kill(self) -> None:
        """End all of them at once."""
        self.send(getattr(signal, "SIGKILL", signal.SIGTERM))


def _group_alive(group: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    # a zombie that nobody has waited for yet still answers signal 0
    return _group_members_running(group)


def _group_members_running(group: int) -> bool:
    table = _table()
    if table is None:
        return True
    return any(pgrp == group and state != "Z" for _, state, pgrp in table.values())


def _running(pid: int) -> bool:
    entry = _entry(pid)
    return entry is not None and entry[1] != "Z"


def descendants(root: int) -> list[int]:
    """Pids of the processes below ``root``; empty where there is no /proc."""
    table = _table()
    if table is None:
        return []
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            found.append(pid)
            waiting.append(pid)
    return found


def marked(mark: str) -> list[int]:
    """Pids of the processes that bear a mark, as far as we may look; empty where there is no /proc.

    A process may rewrite what it shows of its environment, so that it is not found.
    """
    if not mark:
        return []
    wanted = b"\0%b=%b\0" % (MARK.encode(), mark.encode())
    return [pid for pid in _pids() if wanted in b"\0" + _environment(pid)]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []


def _table() -> dict[int, tuple[int, str, int]] | None:
    """Pid -> (parent, state, process group) of all processes, None where there is no /proc."""
    pids = _pids()
    if not pids:
        return None
    return {pid: entry for pid in pids if (entry := _entry(pid)) is not None}


def _entry(pid: int) -> tuple[int, str, int] | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    state, parent, group, *_ = stat.rpartition(b")")[2].split()
    return int(parent), state.decode(), int(group)
