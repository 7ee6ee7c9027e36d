"""How many tools a ranking is worth: all that score at least a share of the best, within bounds.

Where many tools are near-duplicates the cut keeps more of them, where one tool stands out it keeps
few; measured, this serves more prompts than a constant size with the same mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MINIMUM = 6


def size(
    scores: Sequence[float] | NDArray[np.float32],
    *,
    ratio: float,
    minimum: int,
    limit: int,
    floor: float = 0.0,
) -> int:
    """How many of ``scores`` (best first) to keep.

    At least ``minimum`` and at most ``limit``, as far as there are any that score ``floor`` of the
    best; ``ratio`` 0 keeps ``limit``.
    """
    if not len(scores):
        return 0
    bar = ratio * scores[0]
    worthy = sum(1 for score in scores[:limit] if score >= bar)
    matching = sum(1 for score in scores[:minimum] if score >= floor * scores[0])
    return min(max(worthy, matching), limit, len(scores))
