"""The ``bundled`` embedder: a table with one small vector a word piece, shipped with the package.

Needs numpy and nothing from the network. A text is the sum of its pieces' vectors, where a piece
that points the same way as the whole text counts less: repeated, generic wording no longer drowns
the specific words. Trained on English; ``training/`` says how and from what.
"""

from __future__ import annotations

import threading
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolpick_selectors.contract import SelectionError
from toolpick_selectors.embedders import PARAMETERS, TEXT_CHARS
from toolpick_selectors.lexicon import Lexicon
from toolpick_selectors.literals import without_numbers, without_quoted
from toolpick_selectors.wordpiece import WordPiece
from toolpick_selectors.words import clip, spaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from toolpick_selectors.contract import Tool

QUERY_DAMPING, TOOL_DAMPING = 1.5, 0.6
NAME, ARGUMENTS, ARGUMENT_TEXTS = 0.3, 0.15, 0.2
"""What a tool's name, its arguments' names and their descriptions add to the vector of its text."""
ARGUMENT_TEXT_CHARS = 300
CHUNK = 1_024
"""Pieces looked up at a time, which bounds the memory that indexing takes."""


class Bundled:
    """Static vectors from the table in ``folder``, by default the one in the package."""

    quick = True

    def __init__(self, *, folder: str = "") -> None:
        """Remember where; the table is read at first use."""
        self.model = "bundled-1"
        self.lexicon = Lexicon()
        self._folder = folder
        self._lock = threading.Lock()
        self._table: _Table | None = None

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a prompt; of a very long one the beginning and the end are read.

        Half of it comes from the prompt without the values that it quotes. Of a prompt in another
        language, what the lexicon makes of it is read.
        """
        table = self._loaded()
        prompts = [without_numbers(clip(self.lexicon.english(t) or t)) for t in texts]
        prompts = [prompt if table.pieces.knows(prompt) else "" for prompt in prompts]
        bare = [without_quoted(prompt) for prompt in prompts]
        bare = [b if b.strip() else p for b, p in zip(bare, prompts, strict=True)]
        whole = table.embed(prompts, QUERY_DAMPING)
        return whole if bare == prompts else unit(whole + table.embed(bare, QUERY_DAMPING))

    def embed_tools(self, tools: Sequence[Tool]) -> NDArray[np.float32]:
        """One row a tool."""
        table = self._loaded()
        vectors = table.embed([_text(tool) for tool in tools], TOOL_DAMPING)
        for weight, field in (
            (NAME, [spaced(tool.name) for tool in tools]),
            (ARGUMENTS, [_arguments(tool) for tool in tools]),
            (ARGUMENT_TEXTS, [_argument_texts(tool) for tool in tools]),
        ):
            vectors += weight * table.embed(field, TOOL_DAMPING)
        return unit(vectors)

    def _loaded(self) -> _Table:
        with self._lock:
            if self._table is None:
                self._table = _load(self._folder)
            return self._table


class _Table:
    """The vectors of all pieces as bytes, each with its scale."""

    def __init__(
        self, pieces: WordPiece, rows: NDArray[np.int8], scales: NDArray[np.float32]
    ) -> None:
        self.pieces, self._rows, self._scales = pieces, rows, scales

    def embed(self, texts: Sequence[str], damping: float) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self._rows.shape[1]), np.float32)
        places: list[int] = []
        cut: list[list[int]] = []
        size = 0
        for at, text in enumerate(texts):
            numbers = self.pieces.pieces(text)
            if not numbers:
                continue
            if size and size + len(numbers) > CHUNK:
                vectors[places] = self._pool(cut, damping)
                places, cut, size = [], [], 0
            places.append(at)
            cut.append(numbers)
            size += len(numbers)
        if places:
            vectors[places] = self._pool(cut, damping)
        return vectors

    def _pool(self, cut: list[list[int]], damping: float) -> NDArray[np.float32]:
        numbers = np.array([number for text in cut for number in text], np.int32)
        lengths = np.array([len(text) for text in cut])
        starts = np.cumsum(lengths) - lengths
        rows = self._rows[numbers] * self._scales[numbers, None]
        sums = unit(np.add.reduceat(rows, starts))
        cosines = np.einsum("ij,ij->i", rows, np.repeat(sums, lengths, axis=0))
        cosines /= np.sqrt(np.einsum("ij,ij->i", rows, rows)) + 1e-9
        rows *= np.exp(-damping * cosines)[:, None]
        return unit(np.add.reduceat(rows, starts))


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row at length 1; a row of zeros stays one."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    scaled: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-9)[:, None]
    return scaled


def _load(folder: str) -> _Table:
    place = Path(folder) if folder else Path(str(files("toolpick_selectors") / "model"))
    try:
        vocabulary = (place / "vocabulary.txt").read_text(encoding="utf-8").split("\n")
        rows = np.load(place / "rows.npy", mmap_mode="r")  # pages that no text needs stay on disk
        scales = np.load(place / "scales.npy").astype(np.float32)
    except (OSError, ValueError) as error:
        raise SelectionError(f"the table in {str(place)!r} can't be read: {error}") from error
    if not len(vocabulary) == len(rows) == len(scales):
        raise SelectionError(f"the table in {str(place)!r} is not whole; install toolpick anew")
    return _Table(WordPiece(vocabulary), rows, scales)


def _text(tool: Tool) -> str:
    title = f" {tool.title}" if tool.title and tool.title != tool.name else ""
    named = f"{spaced(tool.server)} {spaced(tool.name)}{title}"
    said = tool.description[:TEXT_CHARS]
    return f"{named}: {said}" if named.strip() or said else ""


def _arguments(tool: Tool) -> str:
    return ", ".join(spaced(parameter.name) for parameter in tool.parameters[:PARAMETERS])


def _argument_texts(tool: Tool) -> str:
    described = (parameter.description for parameter in tool.parameters[:PARAMETERS])
    return "; ".join(text[:ARGUMENT_TEXT_CHARS] for text in described if text)
