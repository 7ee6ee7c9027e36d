"""The ``embedding`` selector: cosine between the query's vector and each tool's.

Words count only where vectors can't: for tools that have none yet, and for exact names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick_selectors import adaptive
from toolpick_selectors.fused import AsyncFused, Fused
from toolpick_selectors.registry import build_embedder
from toolpick_selectors.vectors import Vectors

if TYPE_CHECKING:
    from toolpick_selectors.embedders import Embedder
    from toolpick_selectors.lexicon import Lexicon
    from toolpick_selectors.registry import Parts
    from toolpick_selectors.store import VectorStore

RATIO = 0.56
STORE = "vectors.sqlite"


def embedding(
    *,
    embedder: str = "bundled",
    ratio: float = RATIO,
    minimum: int = adaptive.MINIMUM,
    parts: Parts,
) -> Fused:
    """Make an embedding selector.

    A tool beyond the ``minimum`` must reach ``ratio`` of the best score.
    """
    return fused(embedder, words=0.0, ratio=ratio, minimum=minimum, parts=parts)


def fused(name: str, *, words: float, ratio: float, minimum: int, parts: Parts) -> Fused:
    """Make a selector on the embedder called ``name``, sync when the embedder is quick."""
    embedder = build_embedder(name, parts)
    lexicon: Lexicon | None = getattr(embedder, "lexicon", None)
    vectors = Vectors(embedder, _store(embedder, parts))
    make = Fused if embedder.quick else AsyncFused
    return make(vectors, words=words, ratio=ratio, minimum=minimum, lexicon=lexicon)


def _store(embedder: Embedder, parts: Parts) -> VectorStore | None:
    if embedder.quick or parts.folder is None:
        return None
    from toolpick_selectors.store import VectorStore

    return VectorStore(parts.folder / STORE)
