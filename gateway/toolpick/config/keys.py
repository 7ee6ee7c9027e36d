"""Every key that a settings file may have, as data: its type, its bounds, what it means.

Checking and the reference in docs/configuration.md both follow these tables. Defaults are those of
the dataclasses in ``settings``; ``default`` looks them up. Rules between two keys are in
``servers`` and ``load``.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any

from toolpick.config.settings import (
    ENFORCE,
    ERAS,
    SCHEMAS,
    SCOPES,
    STABILITIES,
    SURFACES,
    TRANSPORTS,
    GatewaySettings,
    ProfileSettings,
    SelectorSettings,
    ServerSettings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

TEXT, FLAG, COUNT, SECONDS, CHOICE = "string", "flag", "count", "seconds", "choice"
TEXTS, MAPPING = "strings", "table of strings"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table."""

    name: str
    type: str
    meaning: str
    choices: tuple[str, ...] = ()
    zero: bool = False
    """A number may be 0; other numbers are greater."""
    secret: bool = False
    """No message may show the value."""


@dataclass(frozen=True, slots=True)
class Table:
    """All keys of one table, and the dataclass that holds their defaults."""

    name: str
    settings: type[GatewaySettings | SelectorSettings | ServerSettings | ProfileSettings]
    keys: tuple[Key, ...]

    def get(self, name: str) -> Key | None:
        """Return the key called ``name``."""
        return next((key for key in self.keys if key.name == name), None)

    def default(self, key: Key) -> Any:
        """Return what a file that leaves ``key`` out says with it."""
        field = next(field for field in fields(self.settings) if field.name == key.name)
        if field.default_factory is not MISSING:
            return field.default_factory()
        return field.default


GATEWAY = Table(
    "gateway",
    GatewaySettings,
    (
        Key("surface", CHOICE, "what tools/list shows", SURFACES),
        Key(
            "threshold_tokens",
            COUNT,
            "`auto` lists a catalog of fewer tokens in full; 0: never",
            zero=True,
        ),
        Key(
            "stability",
            CHOICE,
            "`append` adds a turn's tools after those shown before; `exact` replaces them",
            STABILITIES,
        ),
        Key(
            "list_changes",
            COUNT,
            "how often a conversation's list may change for its prompts and calls; 0: no limit",
            zero=True,
        ),
        Key(
            "enforce",
            CHOICE,
            "`selected` refuses calls of tools that are neither listed nor selected nor found",
            ENFORCE,
        ),
        Key(
            "list_wait",
            SECONDS,
            "how long a session's first list waits for servers that are still starting",
            zero=True,
        ),
        Key("max_tools", COUNT, "most tools that a `turn` list holds within one conversation"),
        Key(
            "schemas",
            CHOICE,
            "`flat` takes oneOf, anyOf, allOf, not and if from the root of schemas, which some "
            "model APIs refuse",
            SCHEMAS,
        ),
        Key("max_sessions", COUNT, "most HTTP sessions at once"),
        Key(
            "token",
            TEXT,
            "bearer token that HTTP clients must send; needed to listen beyond loopback",
            secret=True,
        ),
        Key("pass_env", TEXTS, "further environment variables that every stdio server inherits"),
    ),
)

SELECTOR = Table(
    "selector",
    SelectorSettings,
    (
        Key("kind", TEXT, "which selector ranks the tools; its own keys are in `[selector.KIND]`"),
        Key("limit", COUNT, "most tools that one selection picks"),
        Key("minimum", COUNT, "fewest tools that one selection picks when enough match"),
        Key(
            "per_server",
            COUNT,
            "most picks of one server while others match; 0: 60 percent of `limit`",
            zero=True,
        ),
        Key("always", TEXTS, "exposed names of tools that are never selected away"),
        Key("timeout", SECONDS, "how long a selection may take before the turn goes on without it"),
    ),
)

SERVER = Table(
    "servers.NAME",
    ServerSettings,
    (
        Key("command", TEXT, "the program of a stdio server"),
        Key("args", TEXTS, "its arguments", secret=True),
        Key("env", MAPPING, "variables on top of the inherited ones", secret=True),
        Key("cwd", TEXT, "its working directory; empty: the gateway's"),
        Key("url", TEXT, "where an HTTP server answers, in place of `command`", secret=True),
        Key(
            "transport",
            CHOICE,
            "with a `url`: `http` (streamable, the default) or `sse`",
            TRANSPORTS,
        ),
        Key("headers", MAPPING, "sent with every HTTP request", secret=True),
        Key("enabled", FLAG, "`false` leaves the server out"),
        Key("required", FLAG, "`true` stops the gateway when this server can't be had"),
        Key("allow", TEXTS, "glob patterns of the server's own tool names; empty allows all"),
        Key("deny", TEXTS, "glob patterns of tools that are never listed nor called"),
        Key("timeout", SECONDS, "how long a call may take"),
        Key(
            "start_timeout",
            SECONDS,
            "how long to wait for its start; ended after 1.5 times that, the next try gets twice",
        ),
        Key(
            "scope",
            CHOICE,
            "`session`: a process for each HTTP session; `shared`: one for all",
            SCOPES,
        ),
        Key(
            "prefix",
            TEXT,
            'stands before `__` in exposed names: the server\'s name; `""`: bare names',
        ),
        Key("era", CHOICE, "which protocol to speak; `auto` finds out", ERAS),
    ),
)

PROFILE = Table(
    "profiles.NAME",
    ProfileSettings,
    (
        Key("servers", TEXTS, "names of the servers that are part of it; empty: all"),
        Key("allow", TEXTS, "glob patterns of exposed tool names; empty allows all"),
        Key("deny", TEXTS, "glob patterns of tools that are never listed nor called"),
        Key("always", TEXTS, "in place of `always` of `[selector]`"),
        Key("surface", CHOICE, "in place of `surface` of `[gateway]`", SURFACES),
        Key("query", TEXT, "what every turn is about, where nothing better is known"),
        Key(
            "token",
            TEXT,
            "bearer token whose holders get this profile and nothing else",
            secret=True,
        ),
    ),
)

TABLES = (GATEWAY, SELECTOR, SERVER, PROFILE)


def names(keys: Iterable[Key]) -> tuple[str, ...]:
    """Return the names of ``keys``, in their order."""
    return tuple(key.name for key in keys)
