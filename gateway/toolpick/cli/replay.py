"""``toolpick replay``: what each turn of written conversations is shown, and what it lacks."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toolpick.cli.common import add_config, load, log_to_stderr, run_async, started
from toolpick.errors import GatewayError

if TYPE_CHECKING:
    from toolpick.catalog import Generation
    from toolpick.cli.conversations import Written
    from toolpick.cli.playing import Played
    from toolpick.config.settings import Settings

SURFACES = ("turn", "search", "stubs", "full")
EXAMPLES = """\
examples:
  toolpick replay conversations.jsonl                        on your own servers
  toolpick replay conversations.jsonl --tools tools.jsonl    on a catalog from a file
  toolpick replay conversations.jsonl --surface turn --verbose

A conversation is one JSON object a line: {"id": "c1", "turns": [{"prompt": "rain in Oslo?",
"needs": [["weather/forecast", "sky/rain"]]}]}: for each step of a turn all tools that would do.
"""
HEADS = ("surface", "complete", "shown", "tokens", "of full", "changes", "fresh tokens")


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "replay",
        help="play written conversations and compare surfaces",
        description="Play written conversations on several surfaces: what each turn is shown.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_config(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="conversations, one a line")
    parser.add_argument(
        "--tools", type=Path, metavar="FILE", help="a catalog; default: that of your servers"
    )
    parser.add_argument(
        "--surface",
        type=_surfaces,
        default=SURFACES,
        metavar="NAMES",
        help="default: turn,search,stubs,full",
    )
    parser.add_argument("--selector", metavar="KIND", help="default: yours")
    parser.add_argument(
        "--no-hook", action="store_true", help="as for a host that has no prompt hook"
    )
    parser.add_argument("--verbose", action="store_true", help="print every turn")
    parser.add_argument("--json", action="store_true", help="print one JSON object a surface")


def run(args: argparse.Namespace) -> int:
    """Play."""
    log_to_stderr(args.log_level, servers=False)

    from dataclasses import replace

    from toolpick.cli.conversations import read_conversations
    from toolpick.config.settings import Settings

    settings = load(args).settings if args.config or not args.tools else Settings("")
    if args.selector:
        chosen = replace(settings.selector, kind=args.selector)
        settings = replace(settings, selector=chosen)
    written = read_conversations(args.file)
    if not any(conversation.turns for conversation in written):
        raise GatewayError(f"{args.file}: no turn to play")
    rows = run_async(_figures, args, settings, written)
    if args.json:
        for row in rows:
            print(json.dumps({key: _rounded(value) for key, value in row.items()}))
    else:
        _print(rows)
    return 0


async def _figures(
    args: argparse.Namespace, settings: Settings, written: list[Written]
) -> list[dict[str, object]]:
    from toolpick.cli.conversations import read_catalog
    from toolpick.cli.playing import Player, figures
    from toolpick.engine.selections import Selections
    from toolpick.turns import estimate_total
    from toolpick_selectors.contract import SelectionError

    generation = read_catalog(args.tools) if args.tools else await _own(settings)
    _warn_of_strangers(args.file, written, generation)
    selections = Selections(settings.selector, os.environ)
    try:
        await selections.check()
    except SelectionError as error:
        raise GatewayError(str(error)) from error
    await selections.prepare(tuple(generation.tools.values()))
    full = estimate_total(entry.raw for entry in generation.tools.values())
    rows = []
    for mode in args.surface:
        player = Player(mode, generation, settings, selections, hook=not args.no_hook)
        plays = [await player.play(conversation) for conversation in written]
        rows.append(figures(mode, plays, full))
        if args.verbose and not args.json:
            _print_turns(mode, written, plays)
    return rows


async def _own(settings: Settings) -> Generation:
    """Start the servers of the settings and list what they offer."""
    async with started(settings) as (_, session):
        return session.pool.generation


def _surfaces(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in SURFACES:
            known = ", ".join(SURFACES)
            raise argparse.ArgumentTypeError(f"{name!r} can't be played; surfaces: {known}")
    return names


def _warn_of_strangers(path: Path, written: list[Written], generation: Generation) -> None:
    """A step that no tool of the catalog serves is never complete: say so, it is mostly a slip."""
    known = {f"{entry.server}/{entry.name}" for entry in generation.tools.values()}
    for conversation in written:
        for step in (step for turn in conversation.turns for step in turn.needs):
            if known.isdisjoint(step):
                named = " or ".join(map(repr, step)) or "of an empty step"
                print(f"toolpick: {path}: {conversation.id!r}: no tool {named}", file=sys.stderr)


def _print(rows: list[dict[str, object]]) -> None:
    from toolpick.cli.table import table

    first = rows[0]
    print(f"{first['conversations']} conversations, {first['turns']} turns; means\n")
    print(table(HEADS, [_cells(row) for row in rows]))


def _cells(row: dict[str, object]) -> tuple[str, ...]:
    values = {key: value for key, value in row.items() if isinstance(value, int | float)}
    return (
        str(row["surface"]),
        f"{100 * values['turns_complete']:.1f} %",
        f"{values['shown_mean']:,.1f}",
        f"{values['tokens_mean']:,.0f}",
        f"{100 * values['tokens_mean'] / max(values['tokens_full'], 1):.1f} %",
        f"{values['list_changes_mean']:.2f}",
        f"{values['fresh_tokens_mean']:,.0f}",
    )


def _print_turns(mode: str, written: list[Written], plays: list[list[Played]]) -> None:
    for conversation, play in zip(written, plays, strict=True):
        print(f"{conversation.id} ({mode})")
        for turn in play:
            mark = "-" if not turn.needs else "no" if turn.missing else "ok"
            print(f"  {mark:3}{turn.prompt!r:.100}")
            listed = turn.shown - len(turn.named)
            changed = ", changed" if turn.changed else ""
            print(
                f"     {listed} listed{changed}, {len(turn.named)} named, "
                f"{turn.tokens:,} tokens, {turn.fresh:,} of them fresh; {turn.why}"
            )
            for step in turn.missing:
                print(f"     missing: {' or '.join(step)}")
    print()


def _rounded(value: object) -> object:
    return round(value, 5) if isinstance(value, float) else value
