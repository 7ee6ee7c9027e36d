"""How a person names tools in a selector's options: by id, name, ``server/name``, or a pattern."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolpick_selectors.contract import Tool


def is_named(tool: Tool, name: str) -> bool:
    """Whether ``name`` is one of the tool's, as it is or as a glob pattern."""
    keys = (tool.id, tool.name, f"{tool.server}/{tool.name}")
    return name in keys or any(fnmatchcase(key, name) for key in keys)
