"""Logs what was left out of the catalog or mended in it: each remark once, and not too many.

A server that lists thousands of bad definitions, or other ones each time, must not flood the log.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

log = logging.getLogger("toolpick.catalog")

AT_ONCE = 20
"""Most remarks that are logged of one new catalog."""
IN_ALL = 10_000
"""Most remarks that are made as long as the gateway runs."""


class Remarks:
    """The remarks of one gateway."""

    def __init__(self) -> None:
        """None was made."""
        self._made: set[str] = set()

    def make(self, remarks: Iterable[str]) -> None:
        """Log those that are new."""
        new = [remark for remark in dict.fromkeys(remarks) if remark not in self._made]
        if not new or len(self._made) >= IN_ALL:
            return
        self._made.update(new[: IN_ALL - len(self._made)])
        for remark in new[:AT_ONCE]:
            log.warning("note=%r", remark)
        if len(new) > AT_ONCE:
            more = f"{len(new) - AT_ONCE} more remarks like these; toolpick check shows them"
            log.warning("note=%r", more)
        if len(self._made) >= IN_ALL:
            log.warning("note=%r", "further remarks on what servers list are not logged")
