"""Vectors of tools: each text is embedded once, as long as it is used. Knows no queries.

A vector belongs to what a tool says, not to its id: two tools of one name with different texts
have two vectors, and a tool whose text changes gets a new one. ``index`` embeds what is new and
takes its time; ``of`` answers at once with what there is.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from toolpick_selectors.contract import SelectionError
from toolpick_selectors.embedders import describe
from toolpick_selectors.kept import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from toolpick_selectors.contract import Tool
    from toolpick_selectors.embedders import Embedder
    from toolpick_selectors.store import VectorStore

log = logging.getLogger(__name__)

BATCH = 64
RETRY, RETRY_MOST = 15.0, 600.0
"""Seconds until an embedder that failed is tried again: doubled each time, up to the second."""
MOST = 20_000
"""Vectors kept for tools that nobody hands in any more."""


class Vectors:
    """The vectors of lists of tools, by one embedder. Safe to share between threads."""

    def __init__(
        self,
        embedder: Embedder,
        store: VectorStore | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``store`` keeps vectors on disk, for embedders that are not quick."""
        self.embedder = embedder
        self.problem = ""
        self._store = None if embedder.quick else store
        self._now = now
        self._known: dict[Tool, NDArray[np.float32]] = {}
        self._version = 0
        self._lists = Kept(_List)
        self._lock = threading.Lock()
        self._embedding = threading.Lock()
        self._wanted: _List | None = None
        self._failures, self._again = 0, 0.0

    def of(self, tools: Sequence[Tool]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """One row a tool, and which rows are there; what is missing is zeros.

        A quick embedder is asked for what is missing unless that is much and ``index`` sees to it;
        another one never is.
        """
        held = self._lists.of(tools)
        self._complete(held)
        if not held.whole and self.embedder.quick and self._now() >= self._again:
            missing = self._new(held.keys)
            if self._wanted is None or len(missing) <= BATCH:
                self._fill(missing, lambda: True)
                self._complete(held)
        return held.rows, held.there

    def index(self, tools: Sequence[Tool]) -> float:
        """Embed what is new in ``tools``, batch by batch. Blocks: call it in a worker thread.

        A call with another list takes over from one that is still at it. Returns 0 when there is
        nothing left to do, and after a failure the seconds until another call makes sense.
        """
        mine = self._wanted = self._lists.of(tools)
        wait = self._again - self._now()
        if wait > 0 and self._new(mine.keys):
            return wait
        self._fill(self._new(mine.keys), lambda: self._wanted is mine)
        wait = self._again - self._now()
        return max(wait, 0.0) if self._wanted is mine else 0.0

    def _fill(self, tools: Sequence[Tool], wanted: Callable[[], bool]) -> None:
        for at in range(0, len(tools), BATCH):
            with self._embedding:
                batch = self._new(tools[at : at + BATCH])
                if not wanted() or (batch and not self._embed(batch)):
                    return

    def _new(self, tools: Iterable[Tool]) -> list[Tool]:
        known = self._known
        return [tool for tool in dict.fromkeys(tools) if tool not in known]

    def _embed(self, tools: list[Tool]) -> bool:
        """Embed ``tools``, or note why not."""
        try:
            vectors = self._stored(tools) if self._store else self._fresh(tools)
        except SelectionError as error:
            if str(error) != self.problem:
                log.warning("%s", error)
            self.problem = str(error)
            self._again = self._now() + min(RETRY * 2**self._failures, RETRY_MOST)
            self._failures += 1
            return False
        with self._lock:
            self._known = {**self._spared(), **vectors}
            self._version += 1
        self.problem, self._failures, self._again = "", 0, 0.0
        return True

    def _fresh(self, tools: list[Tool]) -> dict[Tool, NDArray[np.float32]]:
        return dict(zip(tools, self.embedder.embed_tools(tools), strict=True)) if tools else {}

    def _stored(self, tools: list[Tool]) -> dict[Tool, NDArray[np.float32]]:
        """As ``_fresh``, for what the store does not have."""
        assert self._store is not None
        texts = {tool: describe(tool) for tool in tools}
        found = self._store.load(self.embedder.model, list(texts.values()))
        fresh = self._fresh([tool for tool in tools if texts[tool] not in found])
        self._store.save(self.embedder.model, {texts[tool]: row for tool, row in fresh.items()})
        return {tool: fresh[tool] if tool in fresh else found[texts[tool]] for tool in tools}

    def _spared(self) -> dict[Tool, NDArray[np.float32]]:
        """What is known, without the oldest beyond the bound; what is wanted now always stays."""
        wanted = set(self._wanted.keys) if self._wanted else set()
        spare = len(self._known) - MOST - len(wanted)
        if spare <= 0:
            return self._known
        old = set([tool for tool in self._known if tool not in wanted][:spare])
        return {tool: row for tool, row in self._known.items() if tool not in old}

    def _complete(self, held: _List) -> None:
        """Bring the rows of a list up to date; they are replaced, never changed."""
        if held.whole or held.version == self._version:
            return
        with self._lock:
            version, known = self._version, self._known
        found = [known.get(key) for key in held.keys]
        size = next((len(row) for row in found if row is not None), 0)
        rows = np.zeros((len(found), size), np.float32)
        for at, row in enumerate(found):
            if row is not None:
                rows[at] = row
        there = np.array([row is not None for row in found], np.bool_)
        held.rows, held.there, held.version = rows, there, version


class _List:
    """One list of tools with what is known of its vectors."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self.keys = [content(tool) for tool in tools]
        self.version = -1
        self.rows = np.zeros((len(tools), 0), np.float32)
        self.there = np.zeros(len(tools), np.bool_)

    @property
    def whole(self) -> bool:
        return bool(self.there.all())


def content(tool: Tool) -> Tool:
    """The tool without its id: equal for tools that say the same."""
    return replace(tool, id="")
