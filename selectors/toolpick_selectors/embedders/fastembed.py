"""The ``fastembed`` embedder: a sentence transformer that onnxruntime runs on this machine.

Any of fastembed's text models by name, or a folder with an ONNX graph and a tokenizer. What it
takes to have and load the model is in ``onnx``; this file knows how texts are cut and prefixed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from toolpick_selectors.contract import SelectionError
from toolpick_selectors.embedders import cut, describe
from toolpick_selectors.embedders.pooling import pooled
from toolpick_selectors.onnx.held import Held
from toolpick_selectors.onnx.source import FastembedSource, model_folder
from toolpick_selectors.words import readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from toolpick_selectors.contract import Tool
    from toolpick_selectors.registry import Parts

MODEL = "BAAI/bge-small-en-v1.5"
QUERY_SECONDS = 1.0
"""How long a query waits for a model that is not ready; words must do until it is."""
QUERY_CHARS = 4_000
BATCH = 16
PART_CHARS = 1_000
"""How texts are cut where the model's window can't be told."""
MOST_PARTS = 64
POOLINGS = ("mean", "cls", "last", "none")

PREFIXES = (
    ("intfloat/multilingual-e5", "query: ", "passage: "),
    ("nomic-ai/nomic-embed-text", "search_query: ", "search_document: "),
    ("snowflake/snowflake-arctic", "Represent this sentence for searching relevant passages: ", ""),
    ("mixedbread-ai/mxbai-embed", "Represent this sentence for searching relevant passages: ", ""),
    ("google/embeddinggemma", "task: search result | query: ", "title: none | text: "),
)
"""What models were trained to see before a query and before a text, by the start of their name."""


class Fastembed:
    """Vectors from one model. A query before the model is ready is refused after a second."""

    quick = False

    def __init__(
        self,
        *,
        model: str = MODEL,
        cache_dir: str = "",
        pooling: str = "mean",
        query_prefix: str = "",
        tool_prefix: str = "",
        threads: int = 0,
        parts: Parts,
    ) -> None:
        """``pooling`` is for a folder's graph, which does not say how its output becomes a vector.

        ``cache_dir`` is where models are kept. Empty prefixes mean those that the model is known to
        want.
        """
        if pooling not in POOLINGS:
            raise ValueError(f"pooling: {pooling!r} is not one of {', '.join(POOLINGS)}")

        def register(family: Any, name: str, graph: str) -> None:
            _register(family, name, graph, pooling)

        source = FastembedSource(
            "embedding model", model, family=_family, register=register, threads=threads
        )
        known = [rest for start, *rest in PREFIXES if model.startswith(start)] or [["", ""]]
        self._query_prefix = query_prefix or known[0][0]
        self._tool_prefix = tool_prefix or known[0][1]
        self.model = f"{source.identity()} {pooling} {self._tool_prefix}".strip()
        folder = model_folder(cache_dir, parts.folder)
        self._held: Held[Any] = Held(source, folder, progress=parts.progress)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See ``Embedder.embed_queries``; of a very long prompt the beginning is read."""
        model = self._held.get(QUERY_SECONDS)
        clipped = [readable(self._query_prefix + text[:QUERY_CHARS]) for text in texts]
        return pooled(_rows(model.query_embed(clipped, batch_size=BATCH)), [[t] for t in clipped])

    def embed_tools(self, tools: Sequence[Tool]) -> NDArray[np.float32]:
        """See ``Embedder.embed_tools``; waits until the model is loaded, or fetched."""
        model = self._held.get(math.inf)
        window = _Window(model, self._tool_prefix)
        texts = [window.cut(readable(describe(tool))) for tool in tools]
        flat = [self._tool_prefix + part for text in texts for part in text]
        # Texts of one length together: a batch is as slow as its longest text.
        order = sorted(range(len(flat)), key=lambda at: len(flat[at]))
        rows = _rows(model.passage_embed([flat[at] for at in order], batch_size=BATCH))
        vectors = np.empty_like(rows)
        vectors[order] = rows
        return pooled(vectors, texts)


class _Window:
    """Cuts texts into what the model reads at once, by the model's own tokenizer."""

    def __init__(self, model: Any, prefix: str) -> None:
        self._prefix = prefix
        self._tokenizer = getattr(getattr(model, "model", None), "tokenizer", None)
        truncation = getattr(self._tokenizer, "truncation", None) or {}
        if truncation.get("direction") != "right":
            self._tokenizer = None

    def cut(self, text: str) -> list[str]:
        if self._tokenizer is None:
            return cut(text, PART_CHARS)[:MOST_PARTS]
        pieces: list[str] = []
        while len(pieces) < MOST_PARTS:
            end = self._end(text)
            if end >= len(text):
                return [*pieces, text]
            space = text.rfind(" ", end // 2, end + 1)
            end = space if space > 0 else end
            pieces.append(text[:end])
            text = text[end:].lstrip()
        return pieces

    def _end(self, text: str) -> int:
        """How many characters of ``text`` are read."""
        assert self._tokenizer is not None
        encoding = self._tokenizer.encode(self._prefix + text)
        if not encoding.overflowing:
            return len(text)
        last = max(stop for _, stop in encoding.offsets)
        return max(1, int(last) - len(self._prefix))


def _family() -> Any:
    from fastembed import TextEmbedding

    return TextEmbedding


def _register(family: Any, name: str, graph: str, pooling: str) -> None:
    from fastembed.common.model_description import ModelSource, PoolingType

    kinds = {
        "mean": PoolingType.MEAN,
        "cls": PoolingType.CLS,
        "last": PoolingType.LAST_TOKEN,
        "none": PoolingType.DISABLED,
    }
    family.add_custom_model(
        model=name,
        pooling=kinds[pooling],
        normalization=True,
        sources=ModelSource(hf="local/none"),
        dim=1,  # asked for and used for nothing
        model_file=graph,
    )


def _rows(vectors: Iterable[Any]) -> NDArray[np.float32]:
    rows = [np.asarray(vector, np.float32) for vector in vectors]
    if not rows:
        return np.zeros((0, 0), np.float32)
    stacked = np.stack(rows)
    if not np.isfinite(stacked).all():
        raise SelectionError("the embedding model gives vectors that are no numbers; use another")
    return stacked
