"""``toolpick uninstall``: take out of a client's files what ``toolpick install`` put in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.cli.install import add_client, carry_out, name, pieces, planned

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Take toolpick and its prompt hook out of a client's settings again. A file that nobody changed
meanwhile becomes what it was, byte for byte; of any other only what is toolpick's goes.
"""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "uninstall",
        help="take toolpick out of a client again",
        description=DESCRIPTION,
    )
    add_client(parser)


def run(args: argparse.Namespace) -> int:
    """Plan, show and carry out."""
    from toolpick.clients.plan import uninstalled
    from toolpick.clients.registration import Registration, client

    name(args.name)
    anything = Registration(args.name, ("toolpick",))
    found = pieces(args, client(args.client), anything)
    changes = [planned(uninstalled, piece) for piece in found]
    if None in changes:
        return 1
    carry_out([each for each in changes if each], args)
    return 0
