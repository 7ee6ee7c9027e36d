"""Allow and deny: which tools an operator lets be listed and called. Knows names only."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolpick.catalog.shelf import Shelf


def allowed(name: str, allow: Sequence[str], deny: Sequence[str]) -> bool:
    """Whether a name passes: it matches no ``deny``, and an ``allow`` if there is any."""
    if any(fnmatchcase(name, pattern) for pattern in deny):
        return False
    return not allow or any(fnmatchcase(name, pattern) for pattern in allow)


def filtered(shelf: Shelf, allow: Sequence[str], deny: Sequence[str]) -> Shelf:
    """A shelf with those tools alone whose exposed names pass."""
    if not allow and not deny:
        return shelf
    return replace(
        shelf, tools=tuple(tool for tool in shelf.tools if allowed(tool.exposed, allow, deny))
    )
