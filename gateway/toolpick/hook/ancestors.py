"""The processes above a process. From /proc where there is one, else from ``ps``."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 16
"""Ancestors that are looked at."""


def ancestors(pid: int) -> list[tuple[int, str]]:
    """Ids and names of the processes above one, nearest first; empty where that can't be found out.

    The list ends early where a process above is gone or can't be seen.
    """
    if sys.platform == "win32":
        return []
    if os.path.isdir("/proc/self"):
        return chain(pid, _from_proc)
    return chain(pid, _table().get)


def chain(pid: int, look: Callable[[int], tuple[int, str] | None]) -> list[tuple[int, str]]:
    """Follow parents from ``pid``; ``look`` gives a process's parent and name, None for unknown."""
    found: list[tuple[int, str]] = []
    seen = {pid}
    at = look(pid)
    while at is not None and len(found) < MOST:
        parent = at[0]
        if parent <= 0 or parent in seen:
            break
        seen.add(parent)
        at = look(parent)
        if at is None:
            break
        found.append((parent, at[1]))
    return found


def _from_proc(pid: int) -> tuple[int, str] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read(1024).decode("utf-8", "replace")
    except OSError:
        return None
    # the name stands in brackets and may hold brackets and blanks itself
    head, _, rest = text.rpartition(")")
    fields = rest.split()
    try:
        return int(fields[1]), head.partition("(")[2]
    except (IndexError, ValueError):
        return None


def _table() -> dict[int, tuple[int, str]]:
    """Every process's parent and name."""
    import subprocess

    try:
        done = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,comm="], capture_output=True, timeout=1, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return parsed(done.stdout.decode("utf-8", "replace"))


def parsed(text: str) -> dict[int, tuple[int, str]]:
    """What ``ps -A -o pid=,ppid=,comm=`` printed; names without their folders."""
    found = {}
    for line in text.splitlines():
        fields = line.split(None, 2)
        if len(fields) == 3 and fields[0].isdigit() and fields[1].isdigit():
            found[int(fields[0])] = (int(fields[1]), os.path.basename(fields[2].strip()))
    return found
