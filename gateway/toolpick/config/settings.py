"""What the settings file means, as frozen values. Knows nothing of files.

Defaults live here and nowhere else; docs/configuration.md is checked against them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolpick.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Mapping

SURFACES = ("auto", "full", "turn", "search", "stubs", "provider")
TRANSPORTS = ("stdio", "http", "sse")
SCOPES = ("session", "shared")
ERAS = ("auto", "legacy", "modern")
STABILITIES = ("append", "exact")
SCHEMAS = ("asis", "flat")
ENFORCE = ("off", "selected")


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """The ``[gateway]`` table."""

    surface: str = "auto"
    threshold_tokens: int = 10_000
    """Catalogs below this many tokens are listed in full when ``surface`` is ``auto``."""
    stability: str = "append"
    list_changes: int = 50
    """Most times that a conversation's list changes for its prompts and calls; 0: no limit."""
    enforce: str = "off"
    """``selected``: only tools that are listed, selected or found can be called."""
    list_wait: float = 3.0
    """Seconds that the first list of a session waits for servers that are still starting."""
    max_tools: int = 40
    """Most tools that a ``turn`` list holds within one conversation."""
    schemas: str = "asis"
    """``flat``: no oneOf/anyOf/allOf/not/if at the root of schemas: some APIs refuse these."""
    max_sessions: int = 64
    """Most HTTP sessions at once, since each may own processes."""
    token: str = field(default="", repr=False)
    """Bearer token that HTTP clients must send; required to listen beyond loopback."""
    pass_env: tuple[str, ...] = ()
    """Names of further environment variables that every server inherits."""


@dataclass(frozen=True, slots=True)
class SelectorSettings:
    """The ``[selector]`` table. ``options`` are the sub-tables, by selector kind."""

    kind: str = "hybrid"
    limit: int = 16
    minimum: int = 6
    per_server: int = 0
    """Most tools of one server in a selection while others match; 0: 60 percent of ``limit``."""
    always: tuple[str, ...] = ()
    timeout: float = 12.0
    """Seconds that a selection may take before the turn fails open."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One ``[servers.NAME]`` table, with variables filled in and paths resolved."""

    name: str
    transport: str = "stdio"
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    """Variables are filled in here and in ``url``, so both may hold secrets."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    required: bool = False
    enabled: bool = True
    allow: tuple[str, ...] = ()
    """Glob patterns over the server's own tool names; empty allows all."""
    deny: tuple[str, ...] = ()
    timeout: float = 60.0
    """Seconds that a call may take."""
    start_timeout: float = 20.0
    """Seconds from start to the first tool list; doubled for each next try, up to 120."""
    scope: str = "session"
    prefix: str | None = None
    """What stands before ``__`` in exposed names; None means the server's name, "" bare names."""
    era: str = "auto"
    secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Values of the variables that it uses and that may be secret: never to be shown."""
    problem: str = ""
    """Why this entry can't be used, as "file:line: key: what"; "" when it can.

    Such a server is shown as failed and never started.
    """


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """One ``[profiles.NAME]`` table: a part of the catalog for some of the clients.

    None, and nothing in ``servers``, ``allow`` and ``deny``, mean what holds without a profile.
    """

    name: str
    servers: tuple[str, ...] = ()
    """Names of the servers that there are in it; empty: all."""
    allow: tuple[str, ...] = ()
    """Glob patterns over exposed tool names; empty allows all."""
    deny: tuple[str, ...] = ()
    always: tuple[str, ...] | None = None
    surface: str | None = None
    query: str = ""
    """What every turn is about, unless the client says it better."""
    token: str = field(default="", repr=False)
    """Bearer token that chooses this profile."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All of a settings file. ``path`` is where it was read, "" for defaults."""

    path: str
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    selector: SelectorSettings = field(default_factory=SelectorSettings)
    servers: tuple[ServerSettings, ...] = ()
    profiles: tuple[ProfileSettings, ...] = ()

    def profile(self, name: str) -> ProfileSettings:
        """The profile of a name; "" is the one that leaves everything as it is.

        Raises:
            GatewayError: there is none of that name.
        """
        found = next((each for each in self.profiles if each.name == name), None)
        if found is None and name:
            known = ", ".join(each.name for each in self.profiles) or "none"
            where = self.path or "the settings"
            raise GatewayError(f"{where}: there is no profile {name!r}; there are: {known}")
        return found or ProfileSettings("")
