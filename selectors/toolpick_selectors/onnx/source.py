"""Opens models with fastembed: one of its own by name, or whatever ONNX graph is in a folder.

Knows no network: fastembed is told to use local files only. ``held`` decides what to do when they
are not there.
"""

from __future__ import annotations

import hashlib
import os
import threading
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolpick_selectors.contract import SelectionError
from toolpick_selectors.onnx.download import Files
from toolpick_selectors.registry import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

GRAPHS = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "model_quantized.onnx")
"""Where the graph is in a folder, most likely first."""
MOST_THREADS = 4

_registering = threading.Lock()


class FastembedSource:
    """One model of a fastembed class.

    ``family`` imports and returns the class; ``register(family, name, graph)`` tells it about a
    graph that it does not know. ``threads`` 0 takes half the processors, at most four.
    """

    def __init__(
        self,
        noun: str,
        model: str,
        *,
        family: Callable[[], Any],
        register: Callable[[Any, str, str], None],
        threads: int = 0,
    ) -> None:
        """``noun`` says what kind of model it is, for people."""
        self.name = f"{noun} {model!r}"
        self._model = model
        self._path = local_folder(model)
        self._family = family
        self._register = register
        self._threads = threads or max(1, min(MOST_THREADS, (os.cpu_count() or 2) // 2))

    def identity(self) -> str:
        """What tells this model's output from every other's, as far as can be told unopened."""
        release = ".".join(version("fastembed").split(".")[:2])
        if self._path is None:
            return f"fastembed-{release}:{self._model}"
        stamps = [str(self._path)]
        for name in (*GRAPHS, "tokenizer.json"):
            with suppress(OSError):
                found = (self._path / name).stat()
                stamps.append(f"{name} {found.st_size} {found.st_mtime_ns}")
        digest = hashlib.blake2b("\n".join(stamps).encode(), digest_size=8).hexdigest()
        return f"fastembed-{release}:{self._path.name}@{digest}"

    def files(self) -> Files | None:
        """See ``Source.files``."""
        if self._path is not None:
            return None
        known = {item["model"]: item for item in self._imported().list_supported_models()}
        for name, item in known.items():
            if name.lower() == self._model.lower() and item["sources"].get("hf"):
                return Files(item["sources"]["hf"], (item["model_file"], *item["additional_files"]))
        hint = nearest(self._model, known, "its models")
        raise SelectionError(f"{self.name} is none that fastembed knows{hint}; a folder works too")

    def open(self, folder: Path) -> Any:
        """See ``Source.open``."""
        family = self._imported()
        if self._path is None:
            return family(
                self._model, cache_dir=str(folder), threads=self._threads, local_files_only=True
            )
        graph = _find_graph(self._path)
        name = f"local/{hashlib.blake2b(str(self._path).encode(), digest_size=8).hexdigest()}"
        with _registering:
            if all(item["model"] != name for item in family.list_supported_models()):
                self._register(family, name, graph)
        # The cache folder is made where it is missing, so it is one that is there.
        return family(
            name,
            cache_dir=str(self._path),
            specific_model_path=str(self._path),
            threads=self._threads,
        )

    def _imported(self) -> Any:
        """The class that opens models, without what its libraries would tell others."""
        _silence()
        return self._family()


def local_folder(model: str) -> Path | None:
    """The folder that ``model`` names, None when it is the name of a model."""
    path = Path(model).expanduser()
    written = model.startswith((".", "~")) or path.is_absolute()
    return path.resolve() if written or path.is_dir() else None


def model_folder(configured: str, cache: Path | None) -> Path:
    """Where fetched models are kept.

    The folder that was configured, else that in ``FASTEMBED_CACHE_PATH``, else one in ``cache``,
    else where fastembed keeps them.
    """
    named = configured or os.environ.get("FASTEMBED_CACHE_PATH", "")
    if named:
        return Path(named).expanduser()
    if cache is not None:
        return cache / "models"
    import tempfile

    return Path(tempfile.gettempdir()) / "fastembed_cache"


def _find_graph(folder: Path) -> str:
    if not folder.is_dir():
        raise SelectionError(f"there is no folder '{folder}'")
    graphs = [name for name in GRAPHS if (folder / name).is_file()]
    graphs = graphs or sorted(path.name for path in folder.glob("*.onnx"))
    if not graphs:
        raise SelectionError(f"the folder '{folder}' has no {GRAPHS[0]}")
    return graphs[0]


def _silence() -> None:
    """Keep onnxruntime from reporting to its maker, and fastembed from reporting on stderr.

    Since 1.29 onnxruntime does so from its import on, with an id that it leaves in the home folder:
    only the environment keeps it from that. Who has set the variable is obeyed. What fastembed
    would say is said here in one line.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    with suppress(ImportError):
        from loguru import logger

        logger.disable("fastembed")
