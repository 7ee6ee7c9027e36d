"""The SQLite file behind the vector store: its table, and what is done to it.

Plain functions over a path or an open connection. Knows no models and no policy: which errors are
survivable, and what a caller gets instead, is decided in ``store``.
"""

from __future__ import annotations

import sqlite3
import zlib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Vector: TypeAlias = NDArray[np.float32]
Row: TypeAlias = tuple[bytes, str, int, int, bytes]
"""key, model, time of last use, checksum of the vector, vector as little-endian floats"""

LOCK_SECONDS = 5.0
"""How long another process may hold the file before this one goes on without it."""
KEYS_A_QUERY = 500

_TABLE = """CREATE TABLE IF NOT EXISTS vectors (
    key BLOB PRIMARY KEY, model TEXT NOT NULL, used INTEGER NOT NULL,
    checksum INTEGER NOT NULL, vector BLOB NOT NULL)"""
_PROBE = "SELECT key, model, used, checksum, vector FROM vectors LIMIT 1"
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""Result codes that the file is to blame for; the last one means that the table is not ours."""


def connect(path: Path, *, thorough: bool) -> sqlite3.Connection:
    """Open the file, made when it isn't there; ``thorough`` reads all of it to find damage.

    Raises:
        sqlite3.Error: see ``is_damage``.
    """
    connection = sqlite3.connect(
        path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_TABLE)
        connection.execute(_PROBE).fetchall()
        if thorough:
            _check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is broken, and not merely busy, full or out of reach."""
    # The low byte is the primary result code; the rest says more about it.
    return (getattr(error, "sqlite_errorcode", -1) & 0xFF) in _DAMAGE


def set_aside(path: Path) -> Path:
    """Move a damaged file out of the way and return where it is; one found there before goes."""
    aside = sibling(path, ".damaged")
    path.replace(aside)
    for suffix in ("-wal", "-shm"):
        sibling(path, suffix).unlink(missing_ok=True)
    return aside


def sibling(path: Path, suffix: str) -> Path:
    """Return the path of a file that belongs to ``path``."""
    return path.with_name(path.name + suffix)


def row(key: bytes, model: str, used: int, vector: Vector) -> Row:
    """Shape one vector for ``write``."""
    blob = np.ascontiguousarray(vector, "<f4").tobytes()
    return key, model, used, zlib.crc32(blob), blob


def read(connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, tuple[Vector, int]]:
    """Return vector and time of last use by key; a vector whose checksum is wrong is left out."""
    found: dict[bytes, tuple[Vector, int]] = {}
    for some in _slices(keys):
        marks = ",".join("?" * len(some))
        query = f"SELECT key, used, checksum, vector FROM vectors WHERE key IN ({marks})"
        for key, used, checksum, blob in connection.execute(query, some):
            if zlib.crc32(blob) == checksum:
                found[key] = (np.frombuffer(blob, "<f4").astype(np.float32), used)
    return found


def touch(connection: sqlite3.Connection, keys: Sequence[bytes], used: int) -> None:
    """Set the time of last use."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        change = "UPDATE vectors SET used = ? WHERE key = ?"
        connection.executemany(change, [(used, key) for key in keys])


def write(connection: sqlite3.Connection, rows: Sequence[Row], most: int) -> None:
    """Store the rows; when the file then holds more than ``most`` bytes, remove the longest unused.

    Down to nine tenths, so that a full store does not evict at every write.
    """
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows)
        filled = _filled(connection)
        if filled > most:
            (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
            surplus = min(count, 1 + int(count * (1 - 0.9 * most / filled)))
            oldest = "SELECT rowid FROM vectors ORDER BY used, rowid LIMIT ?"
            connection.execute(f"DELETE FROM vectors WHERE rowid IN ({oldest})", (surplus,))
    if filled > most:
        _shrink(connection)


def erase(connection: sqlite3.Connection) -> int:
    """Remove everything, give the space back, and return how many vectors there were."""
    with connection:
        removed = connection.execute("DELETE FROM vectors").rowcount
    _shrink(connection)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return removed


def shares(connection: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """Return (model, number of vectors, time of last use), by model."""
    query = "SELECT model, count(*), max(used) FROM vectors GROUP BY model ORDER BY model"
    return connection.execute(query).fetchall()


def _slices(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(keys), KEYS_A_QUERY):
        yield keys[start : start + KEYS_A_QUERY]


def _check(connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        error = sqlite3.DatabaseError(verdict)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def _shrink(connection: sqlite3.Connection) -> None:
    # The pragma gives back one page at each step, and only a script is stepped to its end.
    connection.executescript("PRAGMA incremental_vacuum")


def _filled(connection: sqlite3.Connection) -> int:
    """Bytes of the file that hold something."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)
