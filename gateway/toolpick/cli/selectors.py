"""Selectors as the settings describe them, for commands that look at rankings rather than turns."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolpick.config.settings import SelectorSettings
    from toolpick_selectors.contract import AsyncSelector, Selector


def built(kind: str, settings: SelectorSettings, **changed: Any) -> Selector | AsyncSelector:
    """The selector called ``kind`` with its options, some of them ``changed``.

    Raises:
        SelectionError: there is no such selector, or the options are wrong.
    """
    from toolpick.engine.selections import cache_folder
    from toolpick_selectors import registry

    known = registry.options(kind)
    options = dict(settings.options.get(kind, {}))
    if "minimum" in known:
        options.setdefault("minimum", settings.minimum)
    parts = registry.Parts(options=settings.options, folder=cache_folder(os.environ))
    return registry.build(kind, {**options, **changed}, parts)


def uncut(kind: str, settings: SelectorSettings) -> Selector | AsyncSelector | None:
    """The same selector set to cut nothing, None where it has no such setting.

    Raises:
        SelectionError: as ``built``.
    """
    from toolpick_selectors import registry

    return built(kind, settings, ratio=0.0) if "ratio" in registry.options(kind) else None
