"""Holds one model: loads it in a thread of its own, fetches it when it isn't there, tries again.

Knows nothing of what the model does. A good cache costs no request. A damaged one is replaced once.
Whoever asks while the model is not ready waits as long as it chose to, and then gets an error that
says how things stand.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from toolpick_selectors.contract import SelectionError
from toolpick_selectors.onnx.download import POLL_SECONDS, DownloadError, download
from toolpick_selectors.onnx.fetch import mark
from toolpick_selectors.providers.credential import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick_selectors.onnx.download import Files

M_co = TypeVar("M_co", covariant=True)
M = TypeVar("M")
log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
RETRY_MOST = 120.0
"""A failed load is not tried again for so long, doubled each time up to the second figure."""


class Source(Protocol[M_co]):
    """Opens a model. ``name`` says which, for people: "embedding model 'x'"."""

    name: str

    def files(self) -> Files | None:
        """What would have to be fetched, None for a folder of the user's own.

        Raises:
            SelectionError: there is no such model.
        """
        ...

    def open(self, folder: Path) -> M_co:
        """Load from ``folder`` without any request; raises whatever the library raises."""
        ...


class Held(Generic[M]):
    """One model from ``source``, kept in ``folder``.

    ``progress`` is told in one line about a download, from another thread.
    """

    def __init__(
        self,
        source: Source[M],
        folder: Path,
        *,
        progress: Callable[[str], None] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Loads nothing yet."""
        self._source = source
        self._folder = folder
        self._progress = progress
        self._now = now
        self._lock = threading.Lock()
        self._loaded: list[M] = []
        self._loading: threading.Event | None = None
        self._fetching = False
        self._problem = ""
        self._failures, self._again = 0, 0.0
        self._replaced = False

    def get(self, wait: float) -> M:
        """Return the model, waiting at most ``wait`` seconds for it to load.

        A download takes long, so that only ``wait`` infinite waits for one.

        Raises:
            SelectionError: it is not ready yet, or can't be had; it is tried again later.
        """
        with self._lock:
            if self._loaded:
                return self._loaded[0]
            if self._loading is None:
                if self._now() < self._again:
                    raise SelectionError(self._problem)
                self._loading = threading.Event()
                # No daemon: one that ends inside onnxruntime takes the process down by a signal.
                threading.Thread(target=self._load, args=(self._loading,)).start()
            loading = self._loading
        self._await(loading, wait)
        with self._lock:
            if self._loaded:
                return self._loaded[0]
            raise SelectionError(self._problem)

    def _await(self, loading: threading.Event, wait: float) -> None:
        until = time.monotonic() + wait
        while not loading.is_set():
            hopeless = self._fetching and wait != math.inf
            ending = not threading.main_thread().is_alive()
            left = until - time.monotonic()
            if hopeless or ending or left <= 0:
                stage = "fetched" if self._fetching else "loaded"
                raise SelectionError(f"{self._source.name} is still being {stage}")
            loading.wait(min(POLL_SECONDS, left))

    def _load(self, done: threading.Event) -> None:
        loaded: list[M] = []
        try:
            loaded.append(self._had())
        except SelectionError as error:
            self._problem = str(error)
        except Exception as error:
            log.exception("loading %s failed unexpectedly", self._source.name)
            self._problem = f"{self._source.name} can't be loaded: {redact(str(error))}"
        with self._lock:
            self._loaded = loaded
            if not loaded:
                delay = min(RETRY_SECONDS * 2**self._failures, RETRY_MOST)
                self._again = self._now() + delay
                self._failures += 1
            self._loading = None
        done.set()

    def _had(self) -> M:
        """Open the model, having it fetched where that is needed."""
        files = self._source.files()
        model, why = self._opened()
        if model:
            return model[0]
        if files is None:
            raise SelectionError(f"{self._source.name} can't be loaded: {why}")
        graph = _graph(files, self._folder)
        if graph is not None and self._replaced:
            raise SelectionError(self._unusable(graph, why))
        if graph is not None:
            log.warning("%s: '%s' is damaged (%s); fetching it anew", self._source.name, graph, why)
        damaged = mark(graph) if graph is not None else None
        self._fetching = True
        try:
            download(files, self._folder, mark=damaged, progress=self._report)
        except DownloadError as error:
            raise SelectionError(f"{self._source.name} is not there: {error}") from None
        finally:
            self._fetching = False
        self._replaced = True
        model, why = self._opened()
        if model:
            return model[0]
        raise SelectionError(self._unusable(_graph(files, self._folder) or self._folder, why))

    def _opened(self) -> tuple[list[M], str]:
        """The model as the only item, or nothing and why not."""
        try:
            return [self._source.open(self._folder)], ""
        except Exception as error:  # noqa: BLE001 - whatever broken files make the library raise
            return [], redact(str(error)) or type(error).__name__

    def _unusable(self, graph: Path, why: str) -> str:
        return f"{self._source.name} was fetched but can't be loaded from '{graph}': {why}"

    def _report(self, done: int, total: int) -> None:
        of = f" of {total / 1e6:.0f}" if total else ""
        if self._progress is not None:
            self._progress(f"{self._source.name}: {done / 1e6:.0f}{of} MB fetched")


def _graph(files: Files, folder: Path) -> Path | None:
    """Where the model's graph is in the cache."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(files.repo, files.names[0], cache_dir=folder)
    return Path(found) if isinstance(found, str) else None
