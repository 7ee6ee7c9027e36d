"""The wire to a server, as its settings want it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.config.environment import inherited
from toolpick.wire.child import ChildWire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from toolpick.config.settings import ServerSettings
    from toolpick.wire.http import HttpWire
    from toolpick.wire.sse import SseWire

    AnyWire = ChildWire | HttpWire | SseWire

SHORTEST_SECRET = 6
"""Values of fewer characters are no secrets: masking them would mask ordinary words."""


def new_wire(
    settings: ServerSettings,
    environ: Mapping[str, str],
    pass_env: tuple[str, ...],
    guard: Callable[[int, bool], None] | None,
) -> AnyWire:
    """A wire that is not started; what HTTP needs is imported only where it is spoken."""
    if settings.transport == "stdio":
        environment = {**inherited(environ, pass_env), **settings.env}
        return ChildWire(settings.command, settings.args, environment, settings.cwd, guard)
    if settings.transport == "sse":
        from toolpick.wire.sse import SseWire

        return SseWire(settings.url, settings.headers)
    from toolpick.wire.http import HttpWire

    return HttpWire(settings.url, settings.headers)


def agree(wire: AnyWire, version: str) -> None:
    """Tell a wire which protocol version was agreed on: HTTP carries it in a header."""
    if not isinstance(wire, ChildWire):
        wire.version = version


def listen(wire: AnyWire, on_gap: Callable[[], None]) -> None:
    """Hear what a server behind streamable HTTP says unasked, where it has a stream for that.

    ``on_gap`` is called when some of it may have been missed.
    """
    if hasattr(wire, "listen"):
        wire.listen(on_gap)


def stderr_tail(wire: AnyWire | None, secrets: Iterable[str]) -> list[str]:
    """The last lines that a child process wrote to stderr, its secrets masked."""
    lines = wire.stderr_tail if isinstance(wire, ChildWire) else []
    return [masked(line, secrets) for line in lines]


def secrets_of(
    settings: ServerSettings, environ: Mapping[str, str], pass_env: tuple[str, ...]
) -> tuple[str, ...]:
    """All that a server was given in confidence, longest first: one may be part of another."""
    headers = [word for value in settings.headers.values() for word in (value, *value.split())]
    passed = [environ[name] for name in pass_env if name in environ]
    given = {*settings.env.values(), *headers, *settings.secrets, *passed}
    return tuple(sorted(given, key=lambda secret: (-len(secret), secret)))


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text without any of the secrets."""
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text
