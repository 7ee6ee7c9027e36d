"""Vectors of prompts: the turn's own is asked for, those of the turns before it are remembered.

So a conversation costs an embedder one prompt a turn, whatever else counts. Safe in threads.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from toolpick_selectors.embedders import Embedder

    Vector = NDArray[np.float32]

MOST = 64


class Recent:
    """The vectors of the last prompts of all conversations, by text."""

    def __init__(self, embedder: Embedder, most: int = MOST) -> None:
        """``most`` prompts are remembered."""
        self._embedder, self._most = embedder, most
        self._kept: dict[str, Vector] = {}
        self._lock = Lock()

    def of(self, prompt: str, earlier: Sequence[str]) -> list[Vector | None]:
        """The vectors of a prompt and of earlier ones; None for those that are empty.

        Raises:
            SelectionError: the embedder can't be loaded or reached.
        """
        with self._lock:
            known = {text: self._kept[text] for text in earlier if text in self._kept}
        new = [text for text in dict.fromkeys((prompt, *earlier)) if text and text not in known]
        if new:
            known.update(zip(new, self._embedder.embed_queries(new), strict=True))
        with self._lock:
            self._kept.update(known)
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        return [known.get(text) for text in (prompt, *earlier)]
