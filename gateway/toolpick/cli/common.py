"""What several commands share: options, settings, logging, and servers without a client."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from toolpick.errors import ConfigError, GatewayError, Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from toolpick.config.load import Loaded
    from toolpick.config.settings import Settings
    from toolpick.engine.engine import Engine
    from toolpick.engine.session import Session

T = TypeVar("T")

LEVELS = ("debug", "info", "warning", "error")


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which settings to read, and how much to log."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="settings file, TOML or mcpServers JSON"
    )
    parser.add_argument(
        "--log-level",
        choices=LEVELS,
        type=_level,
        default=os.environ.get("TOOLPICK_LOG") or "warning",
        help="least level that is logged, to stderr (default warning, or TOOLPICK_LOG)",
    )


def _level(text: str) -> str:
    """A level of logs; of the choices of an option its default need not be one."""
    if text.lower() in LEVELS:
        return text.lower()
    raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(LEVELS)}")


def count(text: str) -> int:
    """The value of an option that says how many: a whole number, at least 1."""
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")


def load(args: argparse.Namespace) -> Loaded:
    """Read the settings that the options name.

    Raises:
        ConfigError: they can't be used, or there are none.
    """
    from toolpick.config.load import load as load_file
    from toolpick.config.locate import FILE

    path = settings_file(args)
    if path is None:
        what = "is neither here nor in your settings folder; write it, or name one with --config"
        raise ConfigError((Problem(FILE, 0, "", what),))
    return load_file(path, os.environ)


def settings_file(args: argparse.Namespace) -> Path | None:
    """The settings file that the options name, else the usual one, if there is any.

    Raises:
        GatewayError: the working directory is gone.
    """
    from toolpick.config.locate import locate

    try:
        here = Path.cwd()
    except OSError as error:
        raise GatewayError("the working directory is gone; change to another one") from error
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises where there is no home
    return locate(args.config, os.environ, here, home)


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


def log_to_stderr(level: str, *, servers: bool = True) -> None:
    """Log one event a line to stderr.

    ``servers`` False leaves out warnings of single servers, unless more than warnings are wanted:
    for a command that says by itself which ones failed.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name in ("toolpick", "toolpick_selectors"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level.upper())
    if not servers and level == "warning":
        of_servers = ("toolpick.server", "toolpick.catalog")
        handler.addFilter(lambda log: log.levelno > logging.WARNING or log.name not in of_servers)


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


def why(error: OSError | UnicodeDecodeError) -> str:
    """Why a file can't be read, without its name and a number."""
    return str((error.strerror if isinstance(error, OSError) else None) or error)


@asynccontextmanager
async def started(settings: Settings, profile: str = "") -> AsyncIterator[tuple[Engine, Session]]:
    """Start every server once; each is up or has failed when the block begins.

    Those that failed are named on stderr.
    """
    from toolpick.downstream.state import State
    from toolpick.engine.engine import FULL_CAPABILITIES, Engine
    from toolpick.model import Era

    async with Engine(settings) as engine:
        session = engine.open_session(
            era=Era.MODERN, capabilities=FULL_CAPABILITIES, out=Nobody(), profile=profile
        )
        await session.pool.settled(float("inf"))
        links = session.pool.links.values()
        failed = ", ".join(link.name for link in links if link.state is not State.UP)
        if failed:
            print(f"toolpick: without {failed}; toolpick check says why", file=sys.stderr)
        yield engine, session


class Nobody:
    """A channel that leads nowhere, for sessions without a client."""

    def send(self, frame: bytes, *, final: bool) -> None:
        """Drop the frame."""
