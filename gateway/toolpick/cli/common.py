"""What several commands share: options, settings, logging, and a channel without a client."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from toolpick.errors import GatewayError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable

    from toolpick.config.load import Loaded
    from toolpick.config.settings import Settings

T = TypeVar("T")

LEVELS = ("debug", "info", "warning", "error")


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which settings to read, and how much to log."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="settings file, TOML or mcpServers JSON"
    )
    parser.add_argument(
        "--log-level", choices=LEVELS, default=os.environ.get("TOOLPICK_LOG", "warning")
    )


def load(args: argparse.Namespace) -> Loaded:
    """Read the settings that the options name.

    Raises:
        ConfigError: they can't be used.
    """
    from toolpick.config.load import load as load_file

    return load_file(settings_file(args), os.environ)


def settings_file(args: argparse.Namespace) -> Path | None:
    """The settings file that the options name, else the usual one, if there is any."""
    from toolpick.config.locate import locate

    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises where there is no home
    return locate(args.config, os.environ, Path.cwd(), home)


def with_surface(settings: Settings, surface: str | None) -> Settings:
    """The settings with another surface, also of profiles, where one was asked for."""
    if surface is None:
        return settings
    return replace(
        settings,
        gateway=replace(settings.gateway, surface=surface),
        profiles=tuple(replace(each, surface=surface) for each in settings.profiles),
    )


def with_profile(settings: Settings, name: str, has_query: bool) -> Settings:
    """The settings with one profile alone, where one was asked for.

    Its query gives way where the command line has one.

    Raises:
        GatewayError: there is no such profile.
    """
    if not name:
        return settings
    profile = settings.profile(name)
    if has_query:
        profile = replace(profile, query="")
    return replace(settings, profiles=(profile,))


def log_to_stderr(level: str) -> None:
    """Log one event a line to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name in ("toolpick", "toolpick_selectors"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level.upper())


def run_async(what: Callable[..., Awaitable[T]], *args: object) -> T:
    """Run a coroutine function to its end; an error of ours comes out as itself, not in a group."""
    import anyio

    try:
        return anyio.run(what, *args)
    except BaseExceptionGroup as group:
        ours, others = group.split(GatewayError)
        if ours is None or others is not None:
            raise
        raise _first(ours) from None


def _first(group: BaseExceptionGroup[GatewayError]) -> GatewayError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, GatewayError)
    return error


class Nobody:
    """A channel that leads nowhere, for sessions without a client."""

    def send(self, frame: bytes, *, final: bool) -> None:
        """Drop the frame."""
