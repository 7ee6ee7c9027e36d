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
import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from toolpick_selectors import vector_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from toolpick_selectors.vector_file import Vector

T = TypeVar("T")
log = logging.getLogger(__name__)

TOUCH_SECONDS = 3600
"""A vector's time of use is written at most this often, so that reading seldom writes."""
RETRY_SECONDS = 60.0
"""How long a file that could not be opened is left alone."""


@dataclass(frozen=True, slots=True)
class ModelShare:
    """What one model has in the store; ``used`` is the last use in seconds since the epoch."""

    model: str
    vectors: int
    used: int


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What the store holds. ``problem`` is empty, or says why the file can't be used.

    ``set_aside`` is the path of a damaged file that was replaced, "" where there is none.
    """

    path: str
    bytes: int
    vectors: int
    models: tuple[ModelShare, ...]
    set_aside: str
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
        self._closed_until = 0.0

    def load(self, model: str, texts: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors that are known, by text; a text that is not known is left out.

        ``model`` is the identity of the model, its version included.
        """
        keys = {_key(model, text): text for text in texts}
        if not keys:
            return {}
        nothing: dict[bytes, Vector] = {}
        found = self._use(lambda connection: self._read(connection, list(keys)), nothing)
        return {keys[key]: vector for key, vector in found.items()}

    def save(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of these texts, in place of what was known of them."""
        used = int(self._now())
        rows = [
            vector_file.row(_key(model, text), model, used, vector)
            for text, vector in vectors.items()
        ]
        if rows:
            self._use(lambda found: vector_file.write(found, rows, self._max_bytes), None)

    def summary(self) -> StoreSummary:
        """Say what the store holds, without creating it."""
        rows: list[tuple[str, int, int]] = []
        if self._path.exists():
            rows = self._use(vector_file.shares, rows)
        aside = vector_file.sibling(self._path, ".damaged")
        return StoreSummary(
            path=str(self._path),
            bytes=_size(self._path) + _size(vector_file.sibling(self._path, "-wal")),
            vectors=sum(vectors for _, vectors, _ in rows),
            models=tuple(ModelShare(*row) for row in rows),
            set_aside=str(aside) if aside.exists() else "",
            problem=self._problem,
        )

    def clear(self) -> int:
        """Forget everything, a damaged file included, and return how many vectors there were."""
        removed = 0
        if self._path.exists():
            removed = self._use(vector_file.erase, 0)
        with suppress(OSError):
            vector_file.sibling(self._path, ".damaged").unlink(missing_ok=True)
        return removed

    def close(self) -> None:
        """Close the file. The next call opens it again."""
        with self._lock:
            self._drop()

    def _use(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Run ``work`` on the open file; what fails is logged once and answered ``otherwise``."""
        with self._lock:
            if self._connection is None and self._now() < self._closed_until:
                return otherwise
            try:
                answer = self._run(work)
            except sqlite3.Error as error:
                self._note(str(error))
                return otherwise
            except OSError as error:
                self._note(error.strerror or "another process holds its lock")
                return otherwise
            self._problem = ""
            return answer

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work``, and once more on a fresh file when this one proves damaged."""
        try:
            if self._connection is None:
                self._connection = self._connected(thorough=False)
            return work(self._connection)
        except sqlite3.Error as error:
            if not vector_file.is_damage(error):
                raise
        self._drop()
        self._connection = self._connected(thorough=True)
        return work(self._connection)

    def _connected(self, *, thorough: bool) -> sqlite3.Connection:
        """Open the file; it is closed with this store, whether or not anybody says so."""
        connection = self._open(thorough=thorough)
        weakref.finalize(self, connection.close)
        return connection

    def _open(self, *, thorough: bool) -> sqlite3.Connection:
        """Open the file, and put a fresh one in its place when it is damaged.

        The lock makes sure that of several processes that meet the same damage, one replaces the
        file and the others then find it whole.
        """
        from filelock import FileLock

        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = vector_file.sibling(self._path, ".lock")
        with FileLock(lock, timeout=vector_file.LOCK_SECONDS):
            try:
                return vector_file.connect(self._path, thorough=thorough)
            except sqlite3.Error as error:
                if not vector_file.is_damage(error):
                    raise
                what = str(error)
            aside = vector_file.set_aside(self._path)
            log.warning(
                "vector store '%s' is damaged (%s): moved to '%s' and begun anew",
                self._path,
                what,
                aside,
            )
            return vector_file.connect(self._path, thorough=False)

    def _read(self, connection: sqlite3.Connection, keys: list[bytes]) -> dict[bytes, Vector]:
        now = int(self._now())
        found = vector_file.read(connection, keys)
        stale = [key for key, (_, used) in found.items() if used < now - TOUCH_SECONDS]
        if stale:
            # A store that can be read but not written is still worth reading.
            with suppress(sqlite3.OperationalError):
                vector_file.touch(connection, stale, now)
        return {key: vector for key, (vector, _) in found.items()}

    def _note(self, what: str) -> None:
        """Record what is wrong, and log it the first time only."""
        self._problem = f"vector store {str(self._path)!r} can't be used: {what}"
        self._closed_until = self._now() + RETRY_SECONDS
        if not self._warned:
            self._warned = True
            log.warning(
                "%s; texts are embedded anew by each process: free the file, "
                "or name a folder that can be written to",
                self._problem,
            )

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _key(model: str, text: str) -> bytes:
    """Hash model and text; the length of the first keeps ("ab", "c") and ("a", "bc") apart."""
    named = model.encode()
    whole = b"%d:%b%b" % (len(named), named, text.encode("utf-8", "surrogatepass"))
    return hashlib.blake2b(whole, digest_size=20).digest()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
