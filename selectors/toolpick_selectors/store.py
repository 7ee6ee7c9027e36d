"""Keeps embedding vectors on disk, so that a text is embedded once and never again.

One SQLite file that several processes may use at a time. Knows nothing of tools: what goes in is a
text, the identity of the model that read it, and a vector. It is a cache, and behaves like one:
whatever goes wrong with the file is a miss and one line in the log, never an error of the caller's.
All calls block; call them from a worker thread.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import time
import zlib
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

T = TypeVar("T")
Vector: TypeAlias = NDArray[np.float32]
log = logging.getLogger(__name__)

LOCK_SECONDS = 5.0
"""How long another process may hold the file before this one goes on without it."""
TOUCH_SECONDS = 3600
"""A vector's time of use is written at most this often, so that reading seldom writes."""
KEYS_A_QUERY = 500

_SCHEMA = """CREATE TABLE IF NOT EXISTS vectors (
    key BLOB PRIMARY KEY, model TEXT NOT NULL, used INTEGER NOT NULL,
    checksum INTEGER NOT NULL, vector BLOB NOT NULL)"""
_PROBE = "SELECT key, model, used, checksum, vector FROM vectors LIMIT 1"
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""Result codes that the file itself is to blame for; the last one means that the table is not ours."""


@dataclass(frozen=True, slots=True)
class ModelShare:
    """What one model has in the store; ``used`` is the last use in seconds since the epoch."""

    model: str
    vectors: int
    used: int


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What the store holds. ``problem`` is empty, or says why the file can't be used."""

    path: str
    bytes: int
    vectors: int
    models: tuple[ModelShare, ...]
    set_aside: str
    """The path of a damaged file that was replaced, "" where there is none."""
    problem: str


class VectorStore:
    """Vectors by text and model, in the SQLite file ``path``, which is made when first needed.

    ``max_bytes`` bounds the file: beyond it, what was longest unused goes. ``now`` gives seconds
    since the epoch. Safe to share between threads and between processes.
    """

    def __init__(
        self, path: Path, *, max_bytes: int = 256 << 20, now: Callable[[], float] = time.time
    ) -> None:
        """Remember where; opens nothing yet."""
        self._path = path
        self._max_bytes = max_bytes
        self._now = now
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._problem = ""
        self._warned = False

    def load(self, model: str, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors that are known, by text. A text that is missing is not in the result.

        ``model`` is the identity of the model, its version included.
        """
        keys = {_key(model, text): text for text in texts}
        found = self._use(lambda connection: self._read(connection, list(keys)), {})
        return {keys[key]: vector for key, vector in found.items()}

    def save(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of these texts, in place of what was known of them."""
        used = int(self._now())
        rows = [_row(model, text, vector, used) for text, vector in vectors.items()]
        if rows:
            self._use(lambda connection: self._write(connection, rows), None)

    def summary(self) -> StoreSummary:
        """Say what the store holds, without creating it."""
        models: list[ModelShare] = []
        if self._path.exists():
            query = "SELECT model, count(*), max(used) FROM vectors GROUP BY model ORDER BY model"
            rows = self._use(lambda connection: connection.execute(query).fetchall(), [])
            models = [ModelShare(*row) for row in rows]
        aside = self._sibling(".damaged")
        return StoreSummary(
            path=str(self._path),
            bytes=sum(_size(self._sibling(suffix)) for suffix in ("", "-wal")),
            vectors=sum(share.vectors for share in models),
            models=tuple(models),
            set_aside=str(aside) if aside.exists() else "",
            problem=self._problem,
        )

    def clear(self) -> int:
        """Forget everything, a damaged file set aside included, and return how many vectors went."""
        removed = 0
        if self._path.exists():
            removed = self._use(_erase, 0)
        with suppress(OSError):
            self._sibling(".damaged").unlink(missing_ok=True)
        return removed

    def close(self) -> None:
        """Close the file. The next call opens it again."""
        with self._lock:
            self._drop()

    def _use(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Run ``work`` on the open file; what fails is logged once and answered ``otherwise``."""
        with self._lock:
            for suspicious in (False, True):
                try:
                    if self._connection is None:
                        self._connection = self._open(suspicious)
                    return work(self._connection)
                except sqlite3.Error as error:
                    if _code(error) in _DAMAGE and not suspicious:
                        self._drop()
                        continue
                    self._note(str(error))
                except OSError as error:
                    self._note(error.strerror or "its lock is held by another process")
                break
            return otherwise

    def _open(self, suspicious: bool) -> sqlite3.Connection:
        """Open the file, and put a fresh one in its place when it is damaged.

        The lock file makes sure that of several processes that meet the same damage, one replaces
        the file and the others then find it whole.
        """
        from filelock import FileLock

        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(self._sibling(".lock"), timeout=LOCK_SECONDS):
            try:
                return self._connect(suspicious)
            except sqlite3.Error as error:
                if _code(error) not in _DAMAGE:
                    raise
                aside = self._set_aside()
                log.warning(
                    "vector store %s was damaged (%s); moved to %s and begun anew",
                    self._path, error, aside,
                )  # fmt: skip
                return self._connect(suspicious=False)

    def _connect(self, suspicious: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(_SCHEMA)
            connection.execute(_PROBE).fetchall()
            if suspicious:
                _check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_aside(self) -> Path:
        aside = self._sibling(".damaged")
        self._path.replace(aside)
        for suffix in ("-wal", "-shm"):
            self._sibling(suffix).unlink(missing_ok=True)
        return aside

    def _read(self, connection: sqlite3.Connection, keys: list[bytes]) -> dict[bytes, Vector]:
        found: dict[bytes, Vector] = {}
        stale: list[bytes] = []
        now = int(self._now())
        for some in _slices(keys):
            marks = ",".join("?" * len(some))
            query = f"SELECT key, used, checksum, vector FROM vectors WHERE key IN ({marks})"
            for key, used, checksum, blob in connection.execute(query, some):
                if zlib.crc32(blob) != checksum or len(blob) % 4:
                    continue
                found[key] = np.frombuffer(blob, "<f4").astype(np.float32)
                if used < now - TOUCH_SECONDS:
                    stale.append(key)
        if stale:
            with suppress(sqlite3.OperationalError), connection:
                connection.execute("BEGIN IMMEDIATE")
                touch = "UPDATE vectors SET used = ? WHERE key = ?"
                connection.executemany(touch, [(now, key) for key in stale])
        return found

    def _write(self, connection: sqlite3.Connection, rows: list[tuple[object, ...]]) -> None:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows)
        if _filled(connection) > self._max_bytes:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                _evict(connection, _filled(connection), self._max_bytes)
            connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _note(self, what: str) -> None:
        """Record what is wrong, and log it the first time only."""
        self._problem = f"vector store {str(self._path)!r} can't be used: {what}"
        if not self._warned:
            self._warned = True
            log.warning("%s; vectors are computed anew in each process until it can", self._problem)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _sibling(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)


def _key(model: str, text: str) -> bytes:
    """Hash model and text; the length of the first keeps ("ab", "c") and ("a", "bc") apart."""
    named = model.encode()
    whole = b"%d:%b%b" % (len(named), named, text.encode("utf-8", "surrogatepass"))
    return hashlib.blake2b(whole, digest_size=20).digest()


def _row(model: str, text: str, vector: Vector, used: int) -> tuple[object, ...]:
    blob = np.ascontiguousarray(vector, "<f4").tobytes()
    return _key(model, text), model, used, zlib.crc32(blob), blob


def _slices(keys: list[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(keys), KEYS_A_QUERY):
        yield keys[start : start + KEYS_A_QUERY]


def _check(connection: sqlite3.Connection) -> None:
    """Read the whole file. Raises ``sqlite3.DatabaseError`` with the code for damage."""
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        error = sqlite3.DatabaseError(verdict)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def _filled(connection: sqlite3.Connection) -> int:
    """Bytes of the file that hold something."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)


def _evict(connection: sqlite3.Connection, filled: int, most: int) -> None:
    """Remove what was longest unused, down to nine tenths of the bound."""
    (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
    surplus = min(count, 1 + int(count * (1 - 0.9 * most / filled)))
    oldest = "SELECT rowid FROM vectors ORDER BY used, rowid LIMIT ?"
    connection.execute(f"DELETE FROM vectors WHERE rowid IN ({oldest})", (surplus,))


def _erase(connection: sqlite3.Connection) -> int:
    with connection:
        removed = connection.execute("DELETE FROM vectors").rowcount
    with closing(connection.execute("PRAGMA incremental_vacuum")) as pages:
        pages.fetchall()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return removed


def _code(error: sqlite3.Error) -> int:
    """The primary result code, without the bits of the extended one."""
    return getattr(error, "sqlite_errorcode", -1) & 0xFF


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
