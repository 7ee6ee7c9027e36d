"""Vectors of tools: each text is embedded once, as long as it is used. Knows no queries.

A vector belongs to what a tool says, not to its id: two tools of one name with different texts have
two vectors, and a tool whose text changes gets a new one. What is missing is embedded at once by
whoever calls ``fill`` or, while ``run`` is running, in the background: then nobody waits.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import numpy as np
from anyio.to_thread import run_sync

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
SETTLE = 0.05
"""Seconds to wait for further changes before embedding in the background."""
RETRY = 15.0
"""Seconds until an embedder that failed is tried again, doubled each time up to ``RETRY_MOST``."""
RETRY_MOST = 600.0
MOST = 20_000
"""Vectors kept for tools that nobody hands in any more."""


class Vectors:
    """The vectors of lists of tools, by one embedder."""

    def __init__(
        self,
        embedder: Embedder,
        store: VectorStore | None = None,
        *,
        settle: float = SETTLE,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``store`` keeps vectors on disk, for embedders that are not quick."""
        self.embedder = embedder
        self.problem = ""
        self._store = None if embedder.quick else store
        self._settle, self._now = settle, now
        self._known: dict[Tool, NDArray[np.float32]] = {}
        self._version = 0
        self._lists = Kept(_List)
        self._lock = threading.Lock()
        self._running = False
        self._offered: tuple[Tool, ...] = ()
        self._wanted: dict[Tool, None] = {}
        self._wake = anyio.Event()
        self._failures, self._again = 0, 0.0

    def of(self, tools: Sequence[Tool]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """One row a tool, and which rows are there; what is missing is zeros.

        Embeds what is missing, unless that happens in the background or failed a moment ago.
        """
        held = self._lists.of(tools)
        if held.version != self._version and not held.whole:
            self._complete(held)
        if not held.whole:
            if self._running:
                self._want(held.missing)
            elif self._now() >= self._again:
                self.fill(held.missing)
                self._complete(held)
        return held.rows, held.there

    def offer(self, tools: Sequence[Tool]) -> None:
        """Say which tools there are now: new ones are embedded in the background, if any runs.

        Call from the event loop that runs ``run``. Returns at once.
        """
        self._offered = tuple(tools)
        self._wake.set()

    def fill(self, tools: Iterable[Tool]) -> None:
        """Embed all of ``tools`` that are new. Blocks; a failure is kept in ``problem``."""
        for batch in _batches(self._new(tools)):
            if not self._embed(batch):
                return

    async def run(self) -> None:
        """Embed what is offered and what is asked for, until cancelled."""
        self._running = True
        try:
            while True:
                batch = self._next()
                if batch and self._now() >= self._again:
                    await run_sync(self._embed, batch, abandon_on_cancel=True)
                    continue
                self._wake = anyio.Event()
                with anyio.move_on_after(self._again - self._now() if batch else None):
                    await self._wake.wait()
                    await anyio.sleep(self._settle)
        finally:
            self._running = False

    @property
    def running(self) -> bool:
        """Whether what is missing is embedded in the background."""
        return self._running

    def _want(self, tools: Iterable[Tool]) -> None:
        before = len(self._wanted)
        self._wanted.update(dict.fromkeys(tools))
        if len(self._wanted) > before:
            self._wake.set()

    def _next(self) -> list[Tool]:
        """The next tools to embed; forgets wishes that have come true."""
        wanted = self._new((*self._wanted, *self._offered))
        self._wanted = {tool: None for tool in self._wanted if content(tool) not in self._known}
        return wanted[:BATCH]

    def _new(self, tools: Iterable[Tool]) -> list[Tool]:
        return [tool for tool in dict.fromkeys(map(content, tools)) if tool not in self._known]

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
            self._known.update(vectors)
            self._prune(vectors)
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

    def _prune(self, newest: dict[Tool, NDArray[np.float32]]) -> None:
        """Forget the oldest vectors beyond the bound, but nothing that is offered now."""
        spare = len(self._known) - MOST - len(self._offered)
        if spare > 0:
            current = {*map(content, self._offered), *newest}
            for tool in [tool for tool in self._known if tool not in current][:spare]:
                del self._known[tool]

    def _complete(self, held: _List) -> None:
        """Put the vectors that have come into the rows of a list, beside the old ones."""
        with self._lock:
            version = self._version
            found = [self._known.get(key) for key in held.keys]
        there = np.array([row is not None for row in found], np.bool_)
        size = next((len(row) for row in found if row is not None), 0)
        rows = np.zeros((len(found), size), np.float32)
        for at, row in enumerate(found):
            if row is not None:
                rows[at] = row
        held.version, held.rows, held.there = version, rows, there


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

    @property
    def missing(self) -> list[Tool]:
        return [key for key, there in zip(self.keys, self.there, strict=True) if not there]


def content(tool: Tool) -> Tool:
    """The tool without its id: equal for tools that say the same."""
    return replace(tool, id="")


def _batches(tools: list[Tool]) -> Iterable[list[Tool]]:
    return (tools[at : at + BATCH] for at in range(0, len(tools), BATCH))
