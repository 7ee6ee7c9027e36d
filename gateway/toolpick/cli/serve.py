"""``toolpick serve``: the gateway itself, over stdio or HTTP."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from toolpick.cli.common import (
    add_config,
    load,
    log_to_stderr,
    run_async,
    why,
    with_profile,
    with_surface,
)
from toolpick.config.settings import SURFACES
from toolpick.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolpick.config.load import Loaded
    from toolpick.config.settings import Settings
    from toolpick.engine.engine import Engine
    from toolpick.front.control import Control
    from toolpick.model import Query

log = logging.getLogger("toolpick.serve")

REQUIRED_FAILED = 2
PATIENCE = 0.5
"""Seconds that threads have to end when all else has."""
LONGEST_QUERY = 1_000_000
"""Characters of a query file that are read."""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "serve",
        help="serve a client over stdio, or many over HTTP",
        description="Serve the servers of the settings as one MCP server.",
    )
    add_config(parser)
    parser.add_argument(
        "--surface", choices=SURFACES, help="what tools/list shows; overrides the settings"
    )
    parser.add_argument(
        "--profile", default="", metavar="NAME", help="serve this profile of the settings alone"
    )
    parser.add_argument(
        "--query", metavar="TEXT", help="what every turn is about, for headless runs"
    )
    parser.add_argument(
        "--query-file", type=Path, metavar="FILE", help="the same, read from a file"
    )
    parser.add_argument(
        "--http", action="store_true", help="serve streamable HTTP instead of stdio"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default %(default)s)"
    )
    parser.add_argument(
        "--port", type=_port, default=8931, help="port to listen on (default %(default)s; 0: any)"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes away or a signal comes."""
    log_to_stderr(args.log_level)
    loaded = load(args)
    for problem in (*loaded.problems, *loaded.remarks):
        log.warning("config=%s", problem)
    query = command_query(args)
    settings = with_profile(loaded.settings, args.profile, query is not None)
    settings = with_surface(settings, args.surface)

    code = run_async(_serve, settings, loaded, query, args)
    leave(code)
    return code


def _port(text: str) -> int:
    """A port number. Systems take a larger one, too, and listen elsewhere."""
    if text.isascii() and text.isdigit() and int(text) < 2**16:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port; write 0 to 65535")


def command_query(args: argparse.Namespace) -> Query | None:
    """The query of the command line or the environment.

    Raises:
        GatewayError: the query file can't be read.
    """
    from toolpick.turns import resolve

    text = args.query
    if text is None and args.query_file is not None:
        try:
            with args.query_file.open(encoding="utf-8") as file:
                text = file.read(LONGEST_QUERY)
        except (OSError, UnicodeDecodeError) as error:
            raise GatewayError(
                f"--query-file {str(args.query_file)!r} can't be read: {why(error)}"
            ) from error
    return resolve(command_query=text if text is not None else os.environ.get("TOOLPICK_QUERY"))


def leave(code: int) -> None:
    """End the process at once if a thread is still at work that nobody waits for any more.

    A selector may fetch a model for minutes, and Python would wait for it.
    """
    until = time.monotonic() + PATIENCE
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join(max(until - time.monotonic(), 0))
            if thread.is_alive():
                logging.shutdown()
                os._exit(code)


async def _serve(
    settings: Settings, loaded: Loaded, query: Query | None, args: argparse.Namespace
) -> int:
    import anyio

    from toolpick.engine.engine import Engine
    from toolpick.front.control import Control
    from toolpick.front.descriptors import raise_limit

    raise_limit()
    code = 0
    client_environ = None if args.http else os.environ
    async with (
        Engine(settings, query=query, client_environ=client_environ) as engine,
        anyio.create_task_group() as tasks,
    ):

        async def stop_on_signal() -> None:
            with anyio.open_signal_receiver(*ending_signals()) as signals:
                async for number in signals:
                    log.info("event=signal number=%d", number)
                    tasks.cancel_scope.cancel()
                    return

        async def stop_when_required_fails() -> None:
            nonlocal code
            await engine.required_failed.wait()
            print(f"toolpick: {engine.required_problem}", file=sys.stderr)
            code = REQUIRED_FAILED
            tasks.cancel_scope.cancel()

        with suppress(NotImplementedError):
            tasks.start_soon(stop_on_signal)
        tasks.start_soon(stop_when_required_fails)
        control = Control(engine, os.environ)
        await tasks.start(control.run)
        await _front(engine, settings, args, control)
        tasks.cancel_scope.cancel()
    return code


def ending_signals() -> Iterator[signal.Signals]:
    """The signals that end the gateway in good order."""
    yield signal.SIGINT
    yield signal.SIGTERM
    # sent when a terminal is closed; nohup has it ignored
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        yield signal.SIGHUP


async def _front(
    engine: Engine, settings: Settings, args: argparse.Namespace, control: Control
) -> None:
    if not args.http:
        from toolpick.front.stdio import serve_stdio

        if os.isatty(0):
            how = "toolpick waits for a client's messages here; a client starts it by itself: see"
            print(f"{how} toolpick install, or serve with --http", file=sys.stderr, flush=True)
        await serve_stdio(engine, args.profile)
        return
    from urllib.parse import urlsplit

    from toolpick.front.http import serve_http

    def ready(url: str) -> None:
        control.serves_http(urlsplit(url).port or args.port)
        print(f"toolpick serves {url}", file=sys.stderr, flush=True)

    await serve_http(
        engine,
        host=args.host,
        port=args.port,
        token=settings.gateway.token or None,
        max_sessions=settings.gateway.max_sessions,
        ready=ready,
        profiles=("", *(each.name for each in settings.profiles)),
        usual=args.profile,
        profile_tokens={each.name: each.token for each in settings.profiles},
    )
