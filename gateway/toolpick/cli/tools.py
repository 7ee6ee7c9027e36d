"""``toolpick tools``: the catalog, or what a query would select from it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolpick.cli.common import (
    add_config,
    load,
    log_to_stderr,
    run_async,
    started,
    with_profile,
)
from toolpick.cli.fragments import FORMATS
from toolpick.errors import GatewayError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from toolpick.config.settings import Settings
    from toolpick.model import ToolEntry


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "tools",
        help="list the catalog, or what a query selects from it",
        description="List every tool of the catalog, or those that a query selects, best first. "
        "With --format print the whole catalog as a model's API takes it: tools that the query "
        "selects, and always-tools, at once, all others deferred.",
    )
    add_config(parser)
    parser.add_argument("--query", metavar="TEXT", help="show what this prompt selects")
    parser.add_argument(
        "--profile", default="", metavar="NAME", help="show the tools of this profile"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a tool")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="print the tools of a request to the Anthropic Messages or OpenAI Responses API",
    )
    parser.add_argument(
        "--namespaces",
        action="store_true",
        help="with --format openai: a namespace for each server, which defers names, too",
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A catalog, what a query selects from it with scores, and the always-tools."""

    tools: Mapping[str, ToolEntry]
    scores: Mapping[str, float] | None
    """None where no query was given."""
    always: tuple[str, ...]


def run(args: argparse.Namespace) -> int:
    """List."""
    log_to_stderr(args.log_level, servers=False)
    if args.namespaces and args.format != "openai":
        raise GatewayError("--namespaces is for --format openai")
    settings = with_profile(load(args).settings, args.profile, has_query=bool(args.query))
    if args.format:
        # both APIs refuse schemas whose root is oneOf, anyOf or allOf
        settings = replace(settings, gateway=replace(settings.gateway, schemas="flat"))
    found = run_async(_find, settings, args.profile, args.query)
    if args.format:
        _print_fragment(args, found)
    elif args.json:
        for row in _rows(found):
            print(json.dumps(row, ensure_ascii=False))
    else:
        _print_table(found)
    return 0


async def _find(settings: Settings, profile: str, query: str | None) -> Found:
    async with started(settings, profile) as (engine, session):
        tools, scores = session.pool.generation.tools, None
        if query:
            limit = settings.selector.limit
            outcome = await engine.turns.selections.search(query, tuple(tools.values()), limit)
            scores = {pick.id: pick.score for pick in outcome.picks}
        return Found(tools, scores, session.profile.always)


def _rows(found: Found) -> list[dict[str, Any]]:
    from toolpick.turns import estimate_tokens

    rows = []
    for name in found.tools if found.scores is None else found.scores:
        entry = found.tools[name]
        row: dict[str, Any] = {"name": name, "server": entry.server, "tool": entry.name}
        row |= {"tokens": estimate_tokens(entry.raw), "definition": json.loads(entry.raw)}
        if found.scores is not None:
            row["score"] = round(found.scores[name], 4)
        rows.append(row)
    return rows


def _print_fragment(args: argparse.Namespace, found: Found) -> None:
    from toolpick.cli.fragments import fragment

    shown = dict.fromkeys((*found.always, *(found.scores or ())))
    made = fragment(args.format, found.tools, shown, namespaces=args.namespaces)
    print(json.dumps(made, ensure_ascii=False, indent=2))


def _print_table(found: Found) -> None:
    from toolpick.cli.table import table
    from toolpick.turns import estimate_total

    rows, scored = _rows(found), found.scores is not None
    head = ("tool", *(["score"] if scored else []), "tokens", "description")
    print(table(head, [_cells(row, scored) for row in rows]))
    shown = sum(row["tokens"] for row in rows)
    total = estimate_total(entry.raw for entry in found.tools.values())
    many = "tool" if len(rows) == 1 else "tools"
    print(f"\n{len(rows)} {many} of {len(found.tools)}, about {shown:,} tokens of {total:,}")


def _cells(row: dict[str, Any], scored: bool) -> tuple[str, ...]:
    from toolpick.turns.excerpts import first_sentence

    text = first_sentence(
        row["definition"].get("description") or row["definition"].get("title") or "", 80
    )
    return (row["name"], *([f"{row['score']:.3f}"] if scored else []), str(row["tokens"]), text)
