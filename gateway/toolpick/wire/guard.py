"""Ends the servers when the gateway dies without a chance to: killed outright, or out of memory.

A tiny shell reads from a pipe which process groups live. When the pipe closes, whatever is still
on its list is killed, and then whatever bears the mark of this gateway's servers (see
``processes``). It sits in a session of its own, so signals to the gateway's group pass it by.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys

from toolpick.wire.processes import GATEWAY, MARK

SCRIPT = """
trap '' INT TERM HUP
groups=
while read -r what group; do
  case $what in
    +) groups="$groups $group" ;; -) kept=; for one in $groups; do [ "$one" = "$group" ] ||
    kept="$kept $one"; done; groups=$kept ;;
  esac
done
[ "$groups" ] || exit 0
for one in $groups; do kill -s KILL -- "-$one" 2>/dev/null; done
for one in $(grep -lsF -- "$1" /proc/[0-9]*/environ 2>/dev/null); do
  one=${one#/proc/}; kill -s KILL "${one%/environ}" 2>/dev/null
done
"""


class Guard:
    """Started with the first server; call it with each process group's birth and end."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._shell: subprocess.Popen[bytes] | None = None
        self._possible = sys.platform != "win32" and shutil.which("sh") is not None

    def __call__(self, group: int, alive: bool) -> None:
        """Note that a process group was born (``alive``) or has ended."""
        if not self._possible:
            return
        if self._shell is None:
            self._shell = subprocess.Popen(
                ["sh", "-c", SCRIPT, "sh", f"{MARK}={GATEWAY}."],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        if self._shell.stdin is not None:
            with contextlib.suppress(OSError):
                self._shell.stdin.write(b"%b %d\n" % (b"+" if alive else b"-", group))
                self._shell.stdin.flush()

    def close(self) -> None:
        """End the guard; it kills what was not reported as ended."""
        if self._shell is not None and self._shell.stdin is not None:
            with contextlib.suppress(OSError):
                self._shell.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._shell.wait(2)
        self._shell = None
