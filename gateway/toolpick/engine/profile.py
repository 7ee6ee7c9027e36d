"""What a profile makes of the settings: its part of the catalog, and how that is shown.

Knows no session. What a profile leaves out is not in its sessions' generations, so no path leads
there: not a direct call, not a search, not a link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolpick.turns import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolpick.config.settings import ServerSettings, Settings
    from toolpick.model import Query


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings as one profile has them; ``name`` is "" where none was chosen."""

    name: str = ""
    servers: frozenset[str] | None = None
    """Names of its servers; None for all."""
    allow: tuple[str, ...] = ()
    """Glob patterns over exposed tool names; empty allows all."""
    deny: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    surface: str = "auto"
    query: Query | None = None
    """What every turn is about where nothing better is known."""

    def mounted(self, settings: Settings) -> Iterator[ServerSettings]:
        """The servers that are part of it and switched on, in the order of the settings."""
        for server in settings.servers:
            if server.enabled and (self.servers is None or server.name in self.servers):
                yield server


def profile_of(settings: Settings, name: str) -> Profile:
    """The profile of a name, "" for none.

    Raises:
        GatewayError: the settings have none of that name.
    """
    found = settings.profile(name)
    return Profile(
        found.name,
        frozenset(found.servers) if found.servers else None,
        found.allow,
        found.deny,
        settings.selector.always if found.always is None else found.always,
        found.surface or settings.gateway.surface,
        resolve(profile_query=found.query),
    )
