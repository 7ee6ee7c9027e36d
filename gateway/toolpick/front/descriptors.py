"""How many files and sockets this process may have open, and how many of them clients may take.

Each client connection takes one, each stdio server three. Where none is left, nothing can be
accepted, started or logged any more: so connections get a part of them only.
"""

from __future__ import annotations

import sys

WANTED = (65_536, 10_240)
"""Open files are raised to one of these: what systems start with may be 256 or 1024.

macOS says that there is no limit and takes no more than the second.
"""
ANY = 8192
"""Most connections where the system counts no files."""


def raise_limit() -> None:
    """Let this process, and the servers that it starts, open as many files as allowed.

    Not as many as possible: some programs try to close every file that there could be.
    """
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in WANTED:
        most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        if soft == resource.RLIM_INFINITY or soft >= most:
            return
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        except (OSError, ValueError):
            continue
        return


def most_connections() -> int:
    """How many connections may be open at once: as many as leave one half for all else."""
    if sys.platform == "win32":
        return ANY
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ANY if soft == resource.RLIM_INFINITY else max(soft // 2, 1)
