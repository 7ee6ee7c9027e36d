"""The small files by which a hook finds the gateways of its user, and the folder they lie in.

A beacon says who a gateway is (its process, its ancestors, its working directory, its conversation)
and where it listens: a Unix socket beside the file, or a loopback port with a secret where there
are no such sockets. The folder belongs to the user alone: whoever can read it may ask.
"""

from __future__ import annotations

import json
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FOLDER = "TOOLPICK_RUNTIME_DIR"
"""Names a folder to be used in place of all others."""
ROOM = 100
"""Most bytes in the path of a Unix socket; some systems take no more than 104."""
_NAME = 24
LARGEST = 65_536
"""Most bytes of a beacon that are read."""


class Refused(OSError):
    """A folder is not the user's own, or not his alone."""


class Beacon:
    """One gateway. ``parents`` are the process ids and names above it, nearest first."""

    __slots__ = (
        "cwd",
        "parents",
        "path",
        "pid",
        "port",
        "secret",
        "session",
        "socket",
        "tcp",
        "transport",
    )

    def __init__(self, path: str, said: Mapping[str, Any]) -> None:
        """Take what the file at ``path`` holds.

        Raises:
            LookupError, TypeError, ValueError, OverflowError: it is no beacon.
        """
        self.path = path
        self.pid = int(said["pid"])
        self.parents = [(int(pid), str(name)) for pid, name in said.get("parents", ())]
        self.cwd = str(said.get("cwd", ""))
        self.session = str(said.get("session", ""))
        """The host's id of the conversation, "" while it is not known."""
        self.transport = str(said.get("transport", "stdio"))
        self.port = int(said.get("port", 0))
        """The port that clients use over HTTP."""
        self.tcp = range(65_536)[int(said.get("tcp", 0))]
        """The loopback port to ask at; 0: there is a socket beside the file."""
        self.secret = str(said.get("secret", ""))
        self.socket = path.removesuffix(".json") + ".sock"

    def remove(self) -> None:
        """Take away what a gateway left behind that is gone."""
        for path in (self.path, self.socket):
            try:
                os.unlink(path)
            except OSError:
                continue


def folders(environ: Mapping[str, str]) -> list[str]:
    """Where beacons may lie, in the order in which a gateway tries them.

    Clients start servers with other variables than hooks, so a hook looks into all of them.
    """
    if environ.get(FOLDER):
        return [environ[FOLDER]]
    if sys.platform == "win32":
        base = environ.get("LOCALAPPDATA") or environ.get("TEMP") or "."
        return [os.path.join(base, "toolpick", "run")]
    uid = os.getuid()
    found = [environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{uid}"]
    paths = [os.path.join(base, "toolpick") for base in found if base]
    paths += [
        os.path.join(base, f"toolpick-{uid}")
        for base in (environ.get("TMPDIR", ""), "/tmp")
        if base
    ]
    fitting = [path for path in dict.fromkeys(paths) if len(os.fsencode(path)) + _NAME <= ROOM]
    return fitting or [f"/tmp/toolpick-{uid}"]


def own_folder(environ: Mapping[str, str]) -> str:
    """The first of ``folders`` that can be had, made where it is missing.

    Raises:
        OSError: none can be had.
    """
    problem: OSError | None = None
    for path in folders(environ):
        try:
            _make(path)
        except OSError as error:
            problem = problem or error
        else:
            return path
    raise problem or OSError("there is no place for it")


def _make(path: str) -> None:
    parent = os.path.dirname(path)
    if parent and sys.platform == "win32":
        os.makedirs(parent, exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        check(path, mend=True)


def check(path: str, *, mend: bool = False) -> None:
    """Make sure that a folder is the user's own and nobody else's.

    With ``mend`` the rights of others to a folder of his own are taken away.

    Raises:
        OSError: it is not, or it is not there.
    """
    if sys.platform == "win32":
        return
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise Refused(f"{path!r} is not a folder of this user's")
    if found.st_mode & 0o077:
        if not mend:
            raise Refused(f"{path!r} is open to others")
        os.chmod(path, 0o700)


def read_all(environ: Mapping[str, str]) -> list[Beacon]:
    """All beacons of this user, in the order of their names; what can't be read is left out."""
    found = []
    for folder in folders(environ):
        try:
            check(folder)
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            if name.endswith(".json"):
                beacon = read(os.path.join(folder, name))
                if beacon is not None:
                    found.append(beacon)
    return found


def read(path: str) -> Beacon | None:
    """The beacon at a path, None where there is none."""
    try:
        # a pipe of this name must not be waited for
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            said = json.loads(file.read(LARGEST))
        return Beacon(path, said)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        return None
    except RecursionError:
        return None


def write(path: str, said: Mapping[str, Any]) -> None:
    """Write a beacon, readable by its user alone; who reads meanwhile gets the old or the new.

    Raises:
        OSError: it can't be written.
    """
    draft = f"{path}.new"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(said, file)
    os.replace(draft, path)
