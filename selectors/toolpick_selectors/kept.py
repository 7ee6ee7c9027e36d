"""Remembers what was made of the last few lists of tools. Two lists are the same when all is equal.

Sessions and profiles take turns with different lists, so a few are kept, the longest unused goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolpick_selectors.contract import Tool

T = TypeVar("T")
MOST = 4


class Kept(Generic[T]):
    """Values by list of tools."""

    def __init__(self, make: Callable[[tuple[Tool, ...]], T], most: int = MOST) -> None:
        """``make`` is called for a list that is not among the ``most`` last used."""
        self._make, self._most = make, most
        self._entries: tuple[tuple[tuple[Tool, ...], T], ...] = ()

    def of(self, tools: Sequence[Tool]) -> T:
        """The value of exactly these tools, made now if they are new."""
        wanted = tuple(tools)
        entries = self._entries
        for at, (held, value) in enumerate(entries):
            if held == wanted:
                if at:
                    self._entries = (entries[at], *entries[:at], *entries[at + 1 :])
                return value
        value = self._make(wanted)
        self._entries = ((wanted, value), *entries[: self._most - 1])
        return value
