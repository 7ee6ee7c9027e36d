"""The ``static`` selector: the same tools for every turn, all of them or those named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick_selectors.contract import Pick, Selection
from toolpick_selectors.patterns import is_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolpick_selectors.contract import SelectionContext, Tool


class Static:
    """Chooses without looking at the query."""

    def __init__(self, *, names: Sequence[str] = ()) -> None:
        """``names`` are as ``patterns`` has them; empty: all."""
        self._names = tuple(names)

    def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        """Pick everything in the order given, or what is named, up to the limit."""
        chosen = self._listed(tools) if self._names else list(tools)
        kept = chosen[: context.limit]
        picks = tuple(Pick(tool.id, 1 - at / len(kept), "listed") for at, tool in enumerate(kept))
        what = "named tools" if self._names else "tools, in the order given"
        return Selection(picks, f"{len(picks)} of {len(chosen)} {what}")

    def _listed(self, tools: Sequence[Tool]) -> list[Tool]:
        chosen: dict[str, Tool] = {}
        for name in self._names:
            for tool in tools:
                if is_named(tool, name):
                    chosen.setdefault(tool.id, tool)
        return list(chosen.values())
