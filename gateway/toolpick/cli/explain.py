"""``toolpick explain``: what a prompt would select, why, and what was cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolpick.cli.common import add_config, count, load, log_to_stderr
from toolpick.errors import GatewayError

if TYPE_CHECKING:
    import argparse

    from toolpick.config.settings import Settings
    from toolpick_selectors.contract import (
        AsyncSelector,
        Pick,
        Selection,
        SelectionContext,
        Selector,
    )

BELOW = 10
"""How many tools that were cut are shown."""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "explain",
        help="show what a prompt selects, and why",
        description="Rank the catalog for a prompt and say what each score is made of.",
    )
    parser.add_argument("prompt", help="what a person would write, in quotes")
    add_config(parser)
    parser.add_argument(
        "--tools", type=Path, metavar="FILE", help="a catalog; default: that of your servers"
    )
    parser.add_argument("--selector", metavar="KIND", help="default: yours")
    parser.add_argument("--limit", type=count, metavar="N", help="most tools that are selected")
    parser.add_argument("--all", action="store_true", help="show every tool with a score")
    parser.add_argument("--json", action="store_true", help="print one JSON object a tool")


def run(args: argparse.Namespace) -> int:
    """Explain."""
    log_to_stderr(args.log_level, servers=False)

    import anyio

    from toolpick.config.settings import Settings

    settings = load(args).settings if args.config or not args.tools else Settings("")
    rows, summary = anyio.run(_explained, args, settings)
    if args.json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return 0
    if rows:
        from toolpick.cli.table import table

        heads = ("", "tool", "score", "made of", "tokens", "why")
        print(table(heads, [_cells(row) for row in rows]))
        print()
    print(summary)
    return 0


async def _explained(
    args: argparse.Namespace, settings: Settings
) -> tuple[list[dict[str, Any]], str]:
    from toolpick.cli.labelled import own_catalog, read_tools
    from toolpick.cli.selectors import built, uncut
    from toolpick_selectors.contract import SelectionContext, SelectionError

    shelf = read_tools(args.tools) if args.tools else await own_catalog(settings)
    kind = args.selector or settings.selector.kind
    limit = args.limit or settings.selector.limit
    try:
        selector, ranker = built(kind, settings.selector), uncut(kind, settings.selector)
        selection = await _asked(
            selector, SelectionContext("explain", args.prompt, (), limit), shelf.tools
        )
        whole = SelectionContext("explain", args.prompt, (), max(len(shelf.tools), 1))
        order = await _asked(ranker, whole, shelf.tools) if ranker else selection
    except SelectionError as error:
        raise GatewayError(str(error)) from error
    chosen = {pick.id: pick for pick in selection.picks}
    cut = [pick for pick in order.picks if pick.id not in chosen]
    rows = [_row(pick, "", shelf.tokens) for pick in selection.picks]
    shown = cut if args.all else cut[:BELOW]
    rows += [_row(pick, _why_cut(pick, selection, limit), shelf.tokens) for pick in shown]
    tokens = sum(shelf.tokens[id] for id in chosen)
    summary = (
        f"{kind}: {selection.reason}; about {tokens:,} tokens of {sum(shelf.tokens.values()):,}"
    )
    if selection.degraded:
        summary += f"\nless than it could be: {selection.degraded}"
    return rows, summary


async def _asked(
    selector: Selector | AsyncSelector, context: SelectionContext, tools: Any
) -> Selection:
    import inspect

    from toolpick_selectors.contract import Prepared

    if isinstance(selector, Prepared):
        selector.index(tools)
    answer = selector.select(context, tools)
    return await answer if inspect.isawaitable(answer) else answer


def _why_cut(pick: Pick, selection: Selection, limit: int) -> str:
    if len(selection.picks) >= limit:
        return f"beyond the limit of {limit}"
    best = selection.picks[0].score if selection.picks else 0.0
    return f"only {100 * pick.score / best:.0f} % of the best score" if best > 0 else "no score"


def _row(pick: Pick, cut: str, tokens: dict[str, int]) -> dict[str, Any]:
    return {
        "tool": pick.id,
        "selected": not cut,
        "score": round(pick.score, 4),
        "parts": {name: round(score, 4) for name, score in pick.parts},
        "reason": pick.reason,
        "cut": cut,
        "tokens": tokens[pick.id],
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    parts = " + ".join(f"{name} {score:.2f}" for name, score in row["parts"].items())
    mark = "*" if row["selected"] else ""
    return (
        mark,
        row["tool"],
        f"{row['score']:.3f}",
        parts,
        str(row["tokens"]),
        row["cut"] or row["reason"],
    )
