"""``toolpick eval``: how well selectors find the tools that labelled queries need."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolpick.cli.common import add_config, count, load, log_to_stderr
from toolpick.errors import GatewayError

if TYPE_CHECKING:
    from toolpick.cli.labelled import Shelf
    from toolpick.config.settings import SelectorSettings
    from toolpick_selectors.evaluation import Labelled, Report

SHOWN = (
    *("recall@1", "recall@3", "recall@5", "recall@8", "recall@10", "completeness@8"),
    *("completeness@selected", "selected_mean", "ndcg@8", "mrr"),
    *("tokens_mean", "p50_ms", "p95_ms", "index_ms"),
)
PLAIN = ("selected_mean", "tokens_mean", "p50_ms", "p95_ms", "index_ms")
"""Figures that are no shares."""

EXAMPLES = """\
examples:
  toolpick eval --queries mine.jsonl                      your own servers, your own queries
  toolpick eval --tools tools.jsonl --queries queries.jsonl --selector hybrid,lexical
  toolpick eval --queries mine.jsonl --min recall@8=0.8   exit code 1 when missed: a gate for CI

A query is one JSON object a line:
  {"id": "q1", "query": "rename a file", "gold": ["files/move_file"]}
or with "gold_groups": [["files/move_file", "shell/mv"]] where several tools would do.
A catalog is what `toolpick tools --json` prints.
"""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "eval",
        help="measure selectors on labelled queries",
        description="Measure how well selectors find the tools that labelled queries need.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_config(parser)
    parser.add_argument(
        "--queries", type=Path, required=True, metavar="FILE", help="labelled, as below"
    )
    parser.add_argument(
        "--tools", type=Path, metavar="FILE", help="a catalog; default: that of your servers"
    )
    parser.add_argument(
        "--selector", action="append", metavar="KIND", help="one or several; default: yours"
    )
    parser.add_argument("--limit", type=count, metavar="N", help="most tools that are selected")
    parser.add_argument(
        "--min",
        action="append",
        default=[],
        metavar="FIGURE=N",
        type=_floor,
        help="end with exit code 1 where a figure that is printed is less than N; repeatable",
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="recall against tokens, as .svg or .png"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a selector")


def run(args: argparse.Namespace) -> int:
    """Measure."""
    log_to_stderr(args.log_level, servers=False)

    import anyio

    from toolpick.config.settings import Settings

    settings = load(args).settings if args.config or not args.tools else Settings("")
    reports = anyio.run(_reports, args, settings)
    figures = [report.figures() for report in reports]
    if args.json:
        for row in figures:
            print(json.dumps({key: _rounded(value) for key, value in row.items()}))
    else:
        _print(figures)
    for report in reports:
        if report.degraded:
            print(f"toolpick: {report.selector}: {report.degraded}", file=sys.stderr)
    if args.plot:
        from toolpick.cli.plot import draw

        draw(args.plot, {report.selector: report.curve() for report in reports})
    return _missed(figures, args.min)


async def _reports(args: argparse.Namespace, settings: Any) -> list[Report]:
    from toolpick.cli.labelled import own_catalog, read_queries, read_tools

    queries = read_queries(args.queries)
    shelf = read_tools(args.tools) if args.tools else await own_catalog(settings)
    _warn_of_strangers(args.queries, queries, shelf)
    if not queries or not shelf.tools:
        raise GatewayError(
            f"{len(queries)} queries over {len(shelf.tools)} tools: nothing to measure"
        )
    names = args.selector or [settings.selector.kind if args.config or not args.tools else "hybrid"]
    kinds = [kind.strip() for name in names for kind in name.split(",") if kind.strip()]
    limit = args.limit or settings.selector.limit
    return [await _report(kind, settings.selector, shelf, queries, limit) for kind in kinds]


async def _report(
    kind: str,
    settings: SelectorSettings,
    shelf: Shelf,
    queries: list[Labelled],
    limit: int,
) -> Report:
    from toolpick.cli.selectors import built, uncut
    from toolpick_selectors.contract import SelectionError
    from toolpick_selectors.evaluation import evaluate

    try:
        return await evaluate(
            kind,
            built(kind, settings),
            shelf.tools,
            queries,
            limit=limit,
            tokens=shelf.tokens,
            clock=time.perf_counter,
            ranker=uncut(kind, settings),
        )
    except SelectionError as error:
        raise GatewayError(str(error)) from error


def _warn_of_strangers(path: Path, queries: list[Labelled], shelf: Shelf) -> None:
    """Labels that name no tool can never be found: say so, since it is mostly a slip."""
    for labelled in queries:
        for group in labelled.groups:
            if not any(id in shelf.tokens for id in group):
                named = " or ".join(map(repr, sorted(group))) or "an empty group"
                hint = "; write server/tool" if not any("/" in id for id in group) else ""
                what = f"query {labelled.id!r}: no tool {named}{hint}"
                print(f"toolpick: {path}: {what}", file=sys.stderr)


def _floor(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    if name not in SHOWN:
        raise argparse.ArgumentTypeError(f"{name!r} is no figure; figures: {', '.join(SHOWN)}")
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r} is no number; write {name}=0.8") from None


def _missed(figures: list[dict[str, Any]], floors: list[tuple[str, float]]) -> int:
    missed = 0
    for row in figures:
        for name, floor in floors:
            if row[name] < floor:
                missed = 1
                what = f"{row['selector']}: {name} is {row[name]:.4g}, less than {floor:g}"
                print(f"toolpick: {what}", file=sys.stderr)
    return missed


def _print(figures: list[dict[str, Any]]) -> None:
    from toolpick.cli.table import table

    heads = ("figure", *(str(row["selector"]) for row in figures))
    rows = [(name, *(_cell(name, row[name]) for row in figures)) for name in SHOWN]
    print(f"{figures[0]['queries']} queries over {figures[0]['tools']} tools\n")
    print(table(heads, rows))


def _cell(name: str, value: float) -> str:
    if name in PLAIN:
        return f"{value:,.2f}" if name.endswith("_ms") else f"{value:,.1f}"
    return f"{100 * value:.1f} %"


def _rounded(value: object) -> object:
    return round(value, 5) if isinstance(value, float) else value
