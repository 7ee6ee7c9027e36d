"""The ``toolpick`` command. The only place where errors become text and exit codes.

Each command is a module with ``add(subparsers)`` and ``run(args) -> int``; what it needs to do
its work is imported when it runs, so that help comes at once.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing is not imported: a person waits for ``toolpick hook``
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

COMMANDS = (
    *("serve", "check", "tools", "explain", "eval", "replay", "cache"),
    *("hook", "install", "uninstall", "status"),
)

WRONG_USE = 2
CONFIG_ERROR = 3
EXAMPLES = """\
examples:
  toolpick check                          start every server once and say what works
  toolpick install claude-code            let a client start it; so do cursor, vscode, codex, ...
  toolpick serve                          serve one client over stdio (what a client's settings run)
  toolpick serve --http                   serve many clients at http://127.0.0.1:8931/mcp
  toolpick tools --query "rename a file"  show what a turn would be shown
  toolpick explain "rename a file"        show why

Settings are read from --config, $TOOLPICK_CONFIG, ./servers.toml or the user's settings folder.
"""


def parser() -> argparse.ArgumentParser:
    """The command line, with every command that is there."""
    import argparse
    import importlib
    import importlib.util

    from toolpick import __version__

    made = argparse.ArgumentParser(
        prog="toolpick",
        description="One MCP server in front of many: every turn shows only the tools it needs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"toolpick {__version__}")
    subparsers = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        if importlib.util.find_spec(f"toolpick.cli.{name}"):
            importlib.import_module(f"toolpick.cli.{name}").add(subparsers)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code: 0 for success, 3 for settings that can't be used."""
    open_standard_files()
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["hook"] and not {"-h", "--help"} & set(given):
        from toolpick.hook.run import run as run_hook

        return run_hook(given[1:])
    return _run(given)


def open_standard_files() -> None:
    """Have /dev/null in place of each standard file that whoever started us has closed.

    Else the next file that is opened would take its number: a socket that is printed to.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _run(given: Sequence[str]) -> int:
    import importlib

    from toolpick.errors import ConfigError, GatewayError

    if not given:
        parser().print_help(sys.stderr)
        return WRONG_USE
    args = parser().parse_args(given)
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        # what servers call their tools need not be in the character set of a terminal
        reconfigure(errors="replace")
    command = importlib.import_module(f"toolpick.cli.{args.command}")
    try:
        code: int = command.run(args)
        if sys.stdout is not None:
            sys.stdout.flush()
    except ConfigError as error:
        print(error, file=sys.stderr)
        return CONFIG_ERROR
    except GatewayError as error:
        print(f"toolpick: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _write_no_more()
        return 1
    except OSError as error:
        _write_no_more()
        place = f"{error.filename}: " if error.filename else ""
        print(f"toolpick: {place}{error.strerror or error}", file=sys.stderr)
        return 1
    return code


def _write_no_more() -> None:
    """Keep the interpreter from writing at its end what can't be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
