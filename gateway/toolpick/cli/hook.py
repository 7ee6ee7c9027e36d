"""``toolpick hook``: what a host runs for every prompt. Here only its help; see toolpick.hook.

``toolpick.cli.main`` runs it before anything else is imported, since a person waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.hook.run import SERVER, WAIT

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Hand a prompt to the gateway of its conversation before the model sees it, and name the tools that
it needs. Reads what a host's hook is given on stdin and answers on stdout, for Claude Code and
Codex (UserPromptSubmit), Gemini CLI (BeforeAgent), Cursor (beforeSubmitPrompt) and VS Code
(UserPromptSubmit). Where no gateway answers in time the prompt goes on as it is.
"""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "hook", help="what a client runs at every prompt", description=DESCRIPTION
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=WAIT,
        metavar="SECONDS",
        help="most seconds that a prompt is held up (default %(default)s)",
    )
    parser.add_argument(
        "--server",
        default=SERVER,
        metavar="NAME",
        help="the client's name for the gateway, which its model sees (default %(default)s)",
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="PORT",
        help="ask the gateway at this HTTP port alone",
    )
    parser.add_argument(
        "--profile",
        default="",
        metavar="NAME",
        help="concern clients of this profile of an HTTP gateway alone",
    )
    parser.add_argument(
        "--tool-selection",
        action="store_true",
        help="answer Gemini CLI's BeforeToolSelection, too: its model must then call one of the "
        "tools that were selected",
    )


def run(args: argparse.Namespace) -> int:
    """Run as if called directly; what is to be known is on the command line."""
    from toolpick.hook.run import run as run_hook

    given = ["--wait", str(args.wait), "--server", args.server]
    given += [
        "--profile",
        args.profile,
        "--port",
        str(args.port or 0),
        *(["--tool-selection"] if args.tool_selection else []),
    ]
    return run_hook(given)
