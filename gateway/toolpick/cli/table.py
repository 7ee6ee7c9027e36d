"""Plain tables for people: columns as wide as they need to be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_JOINER = "\u200d"
"""Stands between the parts of some emoji."""


def plain(text: str) -> str:
    """What others have written, on one line, without what would colour or upset a terminal."""
    if text.isprintable():
        return text
    text = _COLOUR.sub("", text)
    return "".join(char if char.isprintable() or char == _JOINER else " " for char in text)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The rows under their heads, columns aligned, every cell made ``plain``."""
    lines = [head, *([plain(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
