"""Which era a server is greeted in: the client's own, unless the server is known not to take it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.model import Era

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from toolpick.config.settings import ServerSettings


class EraWish:
    """The wish of one link, and what became of it."""

    def __init__(
        self, settings: ServerSettings, client: Era, learnt: MutableMapping[str, Era]
    ) -> None:
        """``client`` is the client's era; ``learnt`` has what worked before, by server."""
        self._settings = settings
        self._client = client
        self._learnt = learnt
        self._died = False

    @property
    def modern(self) -> bool:
        """Whether the next greeting begins with the modern probe."""
        if self._settings.transport == "sse":
            return False
        if self._settings.era != "auto":
            return self._settings.era == Era.MODERN
        return not self._died and self._learnt.get(self._settings.name, self._client) is Era.MODERN

    def worked(self, era: Era) -> None:
        """Note the era that a server spoke after it was greeted as wished."""
        if self.modern or self._died:
            self._learnt[self._settings.name] = era

    def ended_ungreeted(self, reason: str) -> bool:
        """Note that a server ended before it was greeted; whether the probe may have been why.

        Some servers exit at the probe, and some say nothing more after it: the next start is
        without it, and the one after that with it again, should that not help either.
        """
        ended = any(word in reason for word in ("exited", "ended", "closed"))
        self._died = self.modern and self._settings.era == "auto" and ended
        return self._died
