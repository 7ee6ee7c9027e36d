"""Puts the vectors of a text's parts together into one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def pooled(vectors: NDArray[np.float32], texts: Sequence[Sequence[str]]) -> NDArray[np.float32]:
    """One row for each of ``texts``, at length 1 or 0: the mean of its parts by their lengths.

    ``vectors`` has a row for each part, in order.
    """
    rows = np.zeros((len(texts), vectors.shape[1] if vectors.ndim == 2 else 0), np.float32)
    at = 0
    for row, parts in zip(rows, texts, strict=True):
        for part in parts:
            row += len(part) * vectors[at]
            at += 1
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = rows / np.maximum(lengths, 1e-9)
    return scaled
