"""``toolpick install``: register the gateway, and its prompt hook, with a client."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toolpick.errors import GatewayError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Sequence

    from toolpick.clients.files import Change
    from toolpick.clients.known import Client
    from toolpick.clients.plan import Piece
    from toolpick.clients.registration import Registration

DESCRIPTION = """\
Write into a client's own settings that it is to start toolpick, and to run `toolpick hook` at each
prompt where it can. Everything else in these files stays as it is; a copy of each is kept beside it
(.toolpick-backup). Clients: claude-desktop, claude-code, cursor, vscode, codex, gemini-cli, zed,
windsurf.
"""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "install",
        help="register toolpick with a client",
        description=DESCRIPTION,
    )
    add_client(parser)
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="settings file that the client is to serve"
    )
    parser.add_argument("--profile", metavar="NAME", help="serve this profile of the settings")
    parser.add_argument(
        "--http",
        metavar="URL",
        help="use a gateway that is running, such as http://127.0.0.1:8931/mcp, and start none",
    )
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--token", metavar="TOKEN", help="with --http: the bearer token to send")
    token.add_argument(
        "--token-env", metavar="NAME", help="the same, taken by the client from this variable"
    )
    parser.add_argument(
        "--no-hook", action="store_true", help="leave the client's prompt hooks alone"
    )
    parser.add_argument(
        "--import",
        action="store_true",
        dest="move",
        help="move the servers that the client starts now into the settings, behind toolpick",
    )


def add_client(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which client's files are meant."""
    parser.add_argument("client", metavar="CLIENT", help="which client")
    parser.add_argument(
        "--scope",
        choices=("user", "project"),
        help="for all of the user's work (default), or for the project in the working directory",
    )
    parser.add_argument(
        "--name", default="toolpick", help="name of the server in the client (default %(default)s)"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change, and change nothing"
    )


def run(args: argparse.Namespace) -> int:
    """Plan, show and carry out."""
    from toolpick.clients.plan import installed
    from toolpick.clients.registration import client

    wanted = client(args.client)
    moving = None
    if args.move:
        from toolpick.cli.moving import Moving

        moving = Moving(args, wanted)
    found = pieces(args, wanted, registration(args))
    if moving is not None:
        found = moving.planned(found)
    changes = [planned(installed, piece) for piece in found]
    if None in changes:
        return 1
    ready = [each for each in changes if each]
    secrets = {args.token} if args.token else set()
    if moving is not None:
        secrets |= moving.secrets
        changed = carry_out(ready, args, secrets, [moving.change()])
    else:
        changed = carry_out(ready, args, secrets)
    if changed and not args.dry_run and wanted.after:
        print(wanted.after)
    return 0


def registration(args: argparse.Namespace) -> Registration:
    """What the command line asks for.

    Raises:
        GatewayError: it can't be had.
    """
    from toolpick.clients.registration import Registration

    name(args.name)
    token, variable = args.token or "", args.token_env or ""
    if not args.http and (token or variable):
        raise GatewayError("--token and --token-env go with --http only; leave them out")
    if args.http and args.profile:
        raise GatewayError("--profile goes without --http; put its name behind the address")
    address(args.http)
    return Registration(
        name=args.name,
        program=program(),
        args=() if args.http else serving(args),
        url=args.http or "",
        token=token,
        token_variable=variable,
        hook=not args.no_hook,
        platform=sys.platform,
    )


def name(given: str) -> None:
    """Check a name for the server in the client.

    Raises:
        GatewayError: clients don't all take it.
    """
    from toolpick.config.names import ALLOWED, REMEDY

    if not ALLOWED.fullmatch(given):
        raise GatewayError(f"--name {given!r} is not allowed; {REMEDY}")


def address(given: str | None) -> None:
    """Check an address.

    Raises:
        GatewayError: it is none.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(given or "http://host")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise GatewayError(f"--http {given!r} is no address; write http://HOST:PORT/mcp")


def serving(args: argparse.Namespace) -> tuple[str, ...]:
    """The arguments with which the client is to start toolpick; paths are absolute.

    Raises:
        GatewayError: there are no settings to serve, or not this profile.
    """
    from toolpick.cli.common import load, settings_file

    path = settings_file(args)
    if path is None:
        raise GatewayError(
            "there are no settings to serve; write a servers.toml, or name one with --config"
        )
    if not path.is_file() and not args.move:
        raise GatewayError(f"--config {str(path)!r} is no file; name the settings file")
    words = ["serve", "--config", str(path.absolute())]
    if args.profile:
        load(args).settings.profile(args.profile)
        words += ["--profile", args.profile]
    return tuple(words)


def program() -> tuple[str, ...]:
    """The words that start toolpick, from any working directory."""
    started = Path(sys.argv[0])
    script = "toolpick.exe" if sys.platform == "win32" else "toolpick"
    beside = Path(sys.executable).with_name(script)
    if started.stem == "toolpick" and started.is_file():
        return (str(started.absolute()),)
    if found := shutil.which("toolpick"):
        return (str(Path(found).absolute()),)
    if beside.is_file():
        return (str(beside),)
    return (sys.executable, "-m", "toolpick")


def pieces(args: argparse.Namespace, wanted: Client, asked: Registration) -> tuple[Piece, ...]:
    """The client's files and what each is to hold.

    Raises:
        GatewayError: the client can't do what was asked.
    """
    from toolpick.clients import plan
    from toolpick.clients.known import USER, roots
    from toolpick.clients.registration import wishes

    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises where there is no home
    scope = args.scope or wanted.scopes[0]
    places = roots(home, Path.cwd(), os.environ, sys.platform)
    private = scope == USER or bool(asked.token)
    return plan.pieces(wishes(wanted, asked, scope), places, private=private)


def planned(how: Callable[[Piece], Change], piece: Piece) -> Change | None:
    """What becomes of a file; None after saying why nothing can, and what to do by hand."""
    from toolpick.clients.plan import NotEditable

    try:
        return how(piece)
    except NotEditable as error:
        print(f"toolpick: {error}", file=sys.stderr)
        if error.by_hand:
            print(f"\n{error.by_hand}", file=sys.stderr)
        return None


def carry_out(
    changes: Sequence[Change],
    args: argparse.Namespace,
    secrets: Collection[str] = (),
    unseen: Sequence[Change] = (),
) -> bool:
    """Show the changes and, unless it is a dry run, make them. Returns whether there are any.

    ``unseen`` changes have been told of already.

    Raises:
        GatewayError: they can't be made; nothing was changed.
    """
    from toolpick.clients.files import apply, backup_of
    from toolpick.clients.shown import difference

    if not args.dry_run:
        apply([*unseen, *changes])
    for change in changes:
        print(difference(change, secrets))
    kept = [
        each
        for each in (*unseen, *changes)
        if each.after != each.before and each.backup is not None
    ]
    for change in kept:
        print(f"{'would keep' if args.dry_run else 'kept'} {backup_of(change.path)}")
    return any(each.after != each.before for each in changes)
