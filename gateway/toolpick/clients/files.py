"""Several files changed together or not at all: each is replaced whole, with a copy beside it.

Links are followed, permissions kept. Knows bytes only.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from toolpick.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

BACKUP = ".toolpick-backup"
"""Stands behind the name of a file in that of its copy."""


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file; None stands for no file.

    ``backup`` is what its copy holds afterwards. Folders are made where they are missing, and
    removed up to ``floor`` where a file that goes leaves them empty. A ``private`` file that is
    made new can be read by its owner alone.
    """

    path: Path
    before: bytes | None = field(repr=False)
    after: bytes | None = field(repr=False)
    backup: bytes | None = field(repr=False)
    floor: Path
    private: bool = False


def backup_of(path: Path) -> Path:
    """Where the copy of a file is."""
    return path.with_name(path.name + BACKUP)


def read(path: Path) -> bytes | None:
    """What a file holds, None when there is none.

    Raises:
        ClientFileError: it can't be read.
    """
    try:
        if stat.S_ISFIFO(path.stat().st_mode):
            # reading it could take for ever, and replacing it is not ours to do
            raise ClientFileError(str(path), 0, "is a pipe; put a file in its place")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ClientFileError(str(path), 0, f"can't be read: {_why(error)}") from error


def apply(changes: Sequence[Change]) -> None:
    """Carry out changes, all or none.

    Raises:
        ClientFileError: a file can't be written, or is no longer what it was; nothing is changed.
    """
    for change in changes:
        if read(change.path) != change.before:
            what = "was changed by another program just now; try again"
            raise ClientFileError(str(change.path), 0, what)
    undo: list[tuple[Path, bytes | None, Path]] = []
    for change in changes:
        steps = [
            (backup_of(change.path), change.backup),
            (change.path, change.after),
        ]
        for path, content in steps:
            try:
                undo.append((path, read(path), change.floor))
                _become(path, content, change)
            except OSError as error:
                _tidy(path.parent, change.floor)
                for done, former, floor in reversed(undo[:-1]):
                    with suppress(OSError):
                        _restore(done, former, floor)
                what = f"can't be written: {_why(error)}"
                raise ClientFileError(str(change.path), 0, what) from error


def _become(path: Path, content: bytes | None, change: Change) -> None:
    if content is None:
        with suppress(FileNotFoundError):
            path.unlink()
            _tidy(path.parent, change.floor)
    elif read(path) != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        like = path if path.exists() else change.path
        _replace(path, content, _mode(like, private=change.private))


def _restore(path: Path, content: bytes | None, floor: Path) -> None:
    if content is None:
        path.unlink(missing_ok=True)
        _tidy(path.parent, floor)
    else:
        _replace(path, content, _mode(path, private=True))


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Put a whole new file in place of another: a reader sees the old or the new one.

    Raises:
        PermissionError: nobody may write there, which the system does not hold against everybody.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.stat().st_mode & 0o222:
        raise PermissionError("its folder is read-only")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        if hasattr(os, "chown") and target.exists():
            there = target.stat()
            with suppress(OSError):
                os.chown(draft, there.st_uid, there.st_gid)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _mode(path: Path, *, private: bool) -> int:
    """The permissions of the file at ``path``, or those that a new one gets.

    Raises:
        PermissionError: the file is read-only, which nothing else would heed.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o600 if private else 0o666 & ~mask
    if not mode & 0o222:
        raise PermissionError("it is read-only")
    return mode


def _tidy(folder: Path, floor: Path) -> None:
    """Remove folders that are empty, from one up to but not with ``floor``."""
    while folder != floor and floor in folder.parents:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
