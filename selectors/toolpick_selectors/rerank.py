"""The ``rerank`` selector: a wide pass by another selector, then a cross-encoder reads each tool.

A cross-encoder sees query and tool together, which ranks better and takes far longer: hence the
wide pass, and a deadline. When the model is not there or too slow, the wide pass's order stands.
"""

from __future__ import annotations

import inspect
import logging
import math
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from anyio.to_thread import run_sync

from toolpick_selectors import adaptive
from toolpick_selectors.contract import Pick, Prepared, Selection, SelectionError
from toolpick_selectors.conversation import in_turns
from toolpick_selectors.embedders import describe
from toolpick_selectors.onnx.held import Held
from toolpick_selectors.onnx.source import FastembedSource, model_folder
from toolpick_selectors.registry import build
from toolpick_selectors.words import readable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolpick_selectors.contract import AsyncSelector, SelectionContext, Selector, Tool
    from toolpick_selectors.registry import Parts

log = logging.getLogger(__name__)

MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"
MULTIPLIER = 3
RATIO = 0.45
QUERY_CHARS = 1_000
TOOL_CHARS = 1_000
"""What the model reads of a tool; time grows with it."""
BATCH = 16
RETRY_SECONDS = 30.0
READY_SECONDS = 0.5
"""How long a turn waits for a model that is still loading."""
UNCUT: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {kind: {"ratio": 0.0} for kind in ("lexical", "embedding", "hybrid")}
)
"""Options that keep a selector from cutting its ranking short, which the second pass does."""


class Scorer(Protocol):
    """Says how well each text fits a query, higher is better. Blocks; called from a thread."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text.

        Raises:
            SelectionError: the model is not ready, or can't be had.
        """
        ...

    def prepare(self) -> None:
        """Have the model loaded, however long that takes. Raises as ``scores``."""
        ...


class Rerank:
    """Ranks by ``scorer`` the ``limit * multiplier`` tools that ``wide`` picks.

    How many are kept is decided by the wide pass's scores, as there. What a conversation makes
    likely is known to the wide pass alone: where it ranked by that, both orders take turns.
    ``timeout`` is what the scorer may take, in seconds.
    """

    def __init__(
        self,
        wide: Selector | AsyncSelector,
        scorer: Scorer,
        *,
        multiplier: int = MULTIPLIER,
        timeout: float = 3.0,
        ratio: float = RATIO,
        minimum: int = adaptive.MINIMUM,
    ) -> None:
        """Loads nothing yet."""
        self._wide, self._scorer = wide, scorer
        self._multiplier, self._timeout = multiplier, timeout
        self._ratio, self._minimum = ratio, minimum
        self._said = ""

    async def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        """Pick the tools that fit best; when cancelled, a running model is left to finish alone.

        Raises:
            SelectionError: the wide pass can't rank.
        """
        answer = self._wide.select(replace(context, limit=context.limit * self._multiplier), tools)
        wide = await answer if inspect.isawaitable(answer) else answer
        if len(wide.picks) < 2:
            return wide
        kept = self._size(wide, context.limit)
        try:
            with anyio.fail_after(self._timeout):
                picks = await self._reranked(context.query, wide, tools)
        except TimeoutError:
            return self._as_it_was(wide, kept, f"reranking took longer than {self._timeout:g} s")
        except SelectionError as error:
            return self._as_it_was(wide, kept, str(error))
        if wide.topic:
            picks = _in_turns(picks, wide.picks)
        reason = f"{kept} of {len(wide.picks)} candidates by a cross-encoder; {wide.reason}"
        return replace(wide, picks=picks[:kept], reason=reason)

    def index(self, tools: Sequence[Tool]) -> float:
        """See ``Prepared.index``; has the model loaded too."""
        wait = self._wide.index(tools) if isinstance(self._wide, Prepared) else 0.0
        try:
            self._scorer.prepare()
        except SelectionError as error:
            if str(error) != self._said:
                self._said = str(error)
                log.warning("%s", error)
            return min(wait or RETRY_SECONDS, RETRY_SECONDS)
        return wait

    def _size(self, wide: Selection, limit: int) -> int:
        """How many tools to keep; places in a conversation say nothing of that."""
        scores = [pick.score for pick in wide.picks]
        if wide.topic:
            return min(limit, len(scores))
        return adaptive.size(scores, ratio=self._ratio, minimum=self._minimum, limit=limit)

    async def _reranked(
        self, query: str, wide: Selection, tools: Sequence[Tool]
    ) -> tuple[Pick, ...]:
        """The picks of the wide pass in their new order; those named by the query stay first."""
        texts = {tool.id: describe(tool)[:TOOL_CHARS] for tool in tools}
        scores = await run_sync(
            self._scorer.scores,
            query[:QUERY_CHARS],
            [texts[pick.id] for pick in wide.picks],
            abandon_on_cancel=True,
        )
        best = max(scores)
        picks = [
            Pick(
                pick.id,
                best if pick.reason == "named" else score,
                pick.reason or "reranked",
                (*pick.parts, ("wide", pick.score), ("cross-encoder", score)),
            )
            for pick, score in zip(wide.picks, scores, strict=True)
        ]
        # Sorting is stable: where scores are equal, the wide pass's order decides.
        return tuple(sorted(picks, key=lambda pick: (-pick.score, pick.reason != "named")))

    def _as_it_was(self, wide: Selection, kept: int, why: str) -> Selection:
        degraded = f"{why}; ranked by the wide pass alone"
        if wide.degraded:
            degraded = f"{degraded}, where {wide.degraded}"
        return replace(wide, picks=wide.picks[:kept], degraded=degraded)


def _in_turns(reranked: Sequence[Pick], wide: Sequence[Pick]) -> tuple[Pick, ...]:
    """The reranked picks in an order in which the wide pass's has its turns."""
    found = {pick.id: pick for pick in reranked}
    order = in_turns(list(found), [pick.id for pick in wide])
    return tuple(replace(found[id], score=1 / place) for place, id in enumerate(order, 1))


class CrossEncoder:
    """A fastembed cross-encoder, by name or from a folder."""

    def __init__(self, model: str, *, cache_dir: str, threads: int, parts: Parts) -> None:
        """Loads nothing yet."""
        source = FastembedSource(
            "reranking model", model, family=_family, register=_register, threads=threads
        )
        folder = model_folder(cache_dir, parts.folder)
        self._name = source.name
        self._held: Held[Any] = Held(source, folder, progress=parts.progress)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """See ``Scorer.scores``."""
        model = self._held.get(READY_SECONDS)
        given = model.rerank(readable(query), [readable(text) for text in texts], BATCH)
        scores = [float(score) for score in given]
        if not all(map(math.isfinite, scores)):
            raise SelectionError(f"{self._name} gives scores that are no numbers; use another")
        return scores

    def prepare(self) -> None:
        """See ``Scorer.prepare``."""
        self._held.get(math.inf)


def rerank(
    *,
    wide: str = "hybrid",
    model: str = MODEL,
    multiplier: int = MULTIPLIER,
    timeout: float = 3.0,
    ratio: float = RATIO,
    minimum: int = adaptive.MINIMUM,
    cache_dir: str = "",
    threads: int = 0,
    parts: Parts,
) -> Rerank:
    """Make the selector from its options.

    Raises:
        ValueError: an option has a value that it can't have.
        SelectionError: the selector of the wide pass can't be built.
    """
    if multiplier < 1:
        raise ValueError(f"multiplier: {multiplier} is less than 1")
    if timeout <= 0:
        raise ValueError(f"timeout: {timeout} is not more than 0")
    if wide == "rerank":
        raise ValueError("wide: 'rerank' would rerank itself; name another selector")
    first = build(wide, {**parts.options.get(wide, {}), **UNCUT.get(wide, {})}, parts)
    scorer = CrossEncoder(model, cache_dir=cache_dir, threads=threads, parts=parts)
    return Rerank(
        first, scorer, multiplier=multiplier, timeout=timeout, ratio=ratio, minimum=minimum
    )


def _family() -> Any:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    return TextCrossEncoder


def _register(family: Any, name: str, graph: str) -> None:
    from fastembed.common.model_description import ModelSource

    family.add_custom_model(model=name, sources=ModelSource(hf="local/none"), model_file=graph)
