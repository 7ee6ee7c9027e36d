"""What a process costs, read from `/proc`: Linux only.

A gateway's own processes are counted without the synthetic servers that it started.
"""

import os
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
NOT_OURS = b"synthetic.py"


def cpu_seconds(root: int) -> float:
    """User and system time that a gateway has used so far."""
    return sum(_ticks(pid) for pid in own(root)) / TICKS


def resident_mb(root: int) -> float:
    """Resident memory of a gateway, MB of 1024²."""
    return sum(_resident_kb(pid) for pid in own(root)) / 1024


def own(root: int) -> list[int]:
    """A gateway's process and its helpers."""
    parents = {int(entry.name): _parent(entry) for entry in PROC.iterdir() if entry.name.isdigit()}
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return [pid for pid in found if NOT_OURS not in _read(pid, "cmdline")]


def _parent(entry: Path) -> int:
    fields = _stat(int(entry.name))
    return int(fields[1]) if fields else 0


def _ticks(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12]) if fields else 0


def _stat(pid: int) -> list[bytes]:
    # The second field is the program's name in brackets, which may hold blanks.
    return _read(pid, "stat").rpartition(b")")[2].split()


def _resident_kb(pid: int) -> int:
    for line in _read(pid, "status").splitlines():
        if line.startswith(b"VmRSS:"):
            return int(line.split()[1])
    return 0


def _read(pid: int, name: str) -> bytes:
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
