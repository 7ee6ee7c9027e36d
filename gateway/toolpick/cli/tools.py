"""``toolpick tools``: the catalog, or what a query would select from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolpick.cli.common import Nobody, add_config, load, log_to_stderr, run_async

if TYPE_CHECKING:
    import argparse

    from toolpick.config.settings import Settings


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "tools",
        help="list the catalog, or what a query selects from it",
        description="List every tool of the catalog, or those that a query selects, best first.",
    )
    add_config(parser)
    parser.add_argument("--query", metavar="TEXT", help="show what this prompt selects")
    parser.add_argument("--json", action="store_true", help="print one JSON object a tool")


def run(args: argparse.Namespace) -> int:
    """List."""
    log_to_stderr(args.log_level)

    rows, total = run_async(_rows, load(args).settings, args.query)
    if args.json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return 0
    from toolpick.cli.table import table

    head = (
        ("tool", "score", "tokens", "description")
        if args.query
        else ("tool", "tokens", "description")
    )
    print(table(head, [_cells(row, bool(args.query)) for row in rows]))
    shown = sum(row["tokens"] for row in rows)
    print(f"\n{len(rows)} tools of {total[0]}, about {shown:,} tokens of {total[1]:,}")
    return 0


async def _rows(
    settings: Settings, query: str | None
) -> tuple[list[dict[str, Any]], tuple[int, int]]:
    from toolpick.engine.engine import FULL_CAPABILITIES, Engine
    from toolpick.model import Era
    from toolpick.turns import estimate_tokens, estimate_total

    async with Engine(settings) as engine:
        session = engine.open_session(era=Era.MODERN, capabilities=FULL_CAPABILITIES, out=Nobody())
        await session.pool.settled(float("inf"))
        tools = session.pool.generation.tools
        scores: dict[str, float] = dict.fromkeys(tools, 0.0)
        if query:
            outcome = await engine.turns.selections.search(
                query, tuple(tools.values()), settings.selector.limit
            )
            scores = {pick.id: pick.score for pick in outcome.picks}
        rows = []
        for name, score in scores.items():
            definition = json.loads(tools[name].raw)
            entry = tools[name]
            row: dict[str, Any] = {"name": name, "server": entry.server, "tool": entry.name}
            row |= {"tokens": estimate_tokens(tools[name].raw), "definition": definition}
            rows.append({**row, **({"score": round(score, 4)} if query else {})})
        return rows, (len(tools), estimate_total(entry.raw for entry in tools.values()))


def _cells(row: dict[str, Any], scored: bool) -> tuple[str, ...]:
    from toolpick.turns.excerpts import first_sentence

    text = first_sentence(
        row["definition"].get("description") or row["definition"].get("title") or "", 80
    )
    return (row["name"], *([f"{row['score']:.3f}"] if scored else []), str(row["tokens"]), text)
