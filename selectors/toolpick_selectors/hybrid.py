"""The ``hybrid`` selector, the default: shared words and vectors, fused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick_selectors import adaptive
from toolpick_selectors.embedding import fused

if TYPE_CHECKING:
    from toolpick_selectors.fused import Fused
    from toolpick_selectors.registry import Parts

WORDS = 0.38
RATIO = 0.48


def hybrid(
    *,
    embedder: str = "bundled",
    words: float = WORDS,
    ratio: float = RATIO,
    minimum: int = adaptive.MINIMUM,
    parts: Parts,
) -> Fused:
    """Make a hybrid selector.

    ``words`` is the weight of shared words, from 0 to 1; a tool beyond the ``minimum`` must reach
    ``ratio`` of the best score.
    """
    return fused(embedder, words=words, ratio=ratio, minimum=minimum, parts=parts)
