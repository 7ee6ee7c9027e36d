"""When a server that went down is started again, and how long a start may take. No clock inside."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DELAYS = (0.05, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before each next start of a server that keeps failing, give or take ``JITTER``."""
JITTER = 0.2
STEADY = 20.0
"""Seconds up after which a failure counts as the first again."""
PATIENCE = 1.5
"""A start is ended after this many times ``start_timeout``: a first start may be a download."""
LONGEST_START = 120.0


class Restarts:
    """The schedule of one server's starts. All times are seconds of one monotonic clock."""

    def __init__(
        self, start_timeout: float, spread: Callable[[float, float], float] = random.uniform
    ) -> None:
        """``spread`` gives a number between two others: servers must not come back in step."""
        self._start_timeout = start_timeout
        self._spread = spread
        self.failures = 0
        """Failures since the server was last steady."""
        self.next_start = 0.0
        self._last_excuse = -STEADY

    def ended(self, now: float, lived: float) -> None:
        """Note that the server went down after being up for ``lived`` seconds, 0 for never."""
        if lived > STEADY:
            self.failures = 0
        self.failures += 1
        self.next_start = now + delay(self.failures) * self._spread(1 - JITTER, 1 + JITTER)

    def excused(self, now: float) -> None:
        """Note an end that is no failure: the next start is due at once.

        Whoever needs the same excuse again before it was steady has failed.
        """
        if now - self._last_excuse < STEADY:
            self.ended(now, 0.0)
            return
        self._last_excuse = now
        self.failures = 0
        self.next_start = now

    def in_another_way(self, now: float) -> None:
        """Note an end after which another way of starting is due at once.

        It counts for nothing, so a server that ends whichever way it is started is not started
        without pause.
        """
        self.next_start = now

    @property
    def start_timeout(self) -> float:
        """Seconds after which a start counts as slow; each further try is given longer."""
        longer = self._start_timeout * 2.0**self.failures
        return max(min(longer, LONGEST_START), self._start_timeout)

    @property
    def longest_start(self) -> float:
        """Seconds after which a start is given up."""
        return PATIENCE * self.start_timeout


def delay(failures: int) -> float:
    """Seconds to wait after so many failures in a row, at least one."""
    return DELAYS[min(failures, len(DELAYS)) - 1]
