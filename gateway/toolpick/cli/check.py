"""``toolpick check``: start every server once, and say what works."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from toolpick.cli.common import Nobody, add_config, load, log_to_stderr, run_async
from toolpick.errors import ConfigError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from toolpick.config.load import Loaded
    from toolpick.downstream.link import Link
    from toolpick.engine.session import Session
    from toolpick.errors import Problem
    from toolpick.model import ToolEntry

OPTIONAL_FAILED, REQUIRED_FAILED, CONFIG_ERROR = 1, 2, 3
SHOWN_STDERR = 5


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "check",
        help="start every server once and say what works",
        description="Start every server once and say what works. "
        "Exit code: 0 all is well, 1 an optional server failed, 2 a required one, "
        "3 the settings are wrong.",
    )
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Check settings and servers."""
    # what is logged by default is in the table, too
    log_to_stderr("critical" if args.log_level == "warning" else args.log_level)
    try:
        loaded = load(args)
    except ConfigError as error:
        if args.json:
            print(
                json.dumps(
                    {
                        "ok": False,
                        "problems": [str(problem) for problem in error.problems],
                        "servers": [],
                    }
                )
            )
            return CONFIG_ERROR
        raise

    rows, problems = run_async(_check, loaded)
    problems = [str(problem) for problem in loaded.problems] + problems
    code = _exit_code(rows, problems)
    if args.json:
        print(
            json.dumps({"ok": code == 0, "problems": problems, "servers": rows}, ensure_ascii=False)
        )
    else:
        _print(rows, problems, [str(remark) for remark in loaded.remarks], loaded.settings.path)
    return code


async def _check(loaded: Loaded) -> tuple[list[dict[str, Any]], list[str]]:
    from toolpick.engine.engine import FULL_CAPABILITIES, Engine
    from toolpick.model import Era

    async with Engine(loaded.settings) as engine:
        session = engine.open_session(era=Era.MODERN, capabilities=FULL_CAPABILITIES, out=Nobody())
        await session.pool.settled(float("inf"))
        rows = [_row(link) for link in session.pool.links.values()]
        off = [server.name for server in loaded.settings.servers if not server.enabled]
        rows += [{"server": name, "state": "off", "problem": "", "required": False} for name in off]
        found = [*_of_options(loaded), *_problems(loaded, session)]
        problems = [str(problem) for problem in found]
        try:
            await engine.turns.selections.check()
        except Exception as error:  # noqa: BLE001 - anything can keep one from being built
            kind = loaded.settings.selector.kind
            problems.append(str(loaded.problem(str(error), "selector", kind)))
        problems += session.pool.generation.collisions
        for remark in session.pool.generation.remarks:
            if "matches no tool" not in remark:
                print(f"note: {remark}", file=sys.stderr)
    return rows, problems


def _row(link: Link) -> dict[str, Any]:
    from toolpick.downstream.state import State

    up = link.state is State.UP
    snapshot, greeted = link.snapshot, link.greeted
    return {
        "server": link.name,
        "state": "ok" if up else "failed",
        "required": link.settings.required,
        "transport": link.settings.transport,
        "era": str(greeted.era) if greeted else "",
        "version": greeted.version if greeted else "",
        "tools": len(snapshot.tools) if snapshot else 0,
        "prompts": len(snapshot.prompts) if snapshot else 0,
        "resources": len(snapshot.resources) if snapshot else 0,
        "seconds": round(link.started_in, 2),
        "problem": "" if up else link.problem or "still starting",
        "stderr": [] if up else link.stderr_tail[-SHOWN_STDERR:],
    }


def _of_options(loaded: Loaded) -> list[Problem]:
    """Tables of options that no selector and no embedder has."""
    from toolpick_selectors import registry

    known = registry.tables()
    return [
        loaded.problem(
            f"is no selector and no embedder{registry.nearest(name, known, 'there are')}",
            "selector",
            name,
        )
        for name in loaded.settings.selector.options
        if name not in known
    ]


def _problems(loaded: Loaded, session: Session) -> list[Problem]:
    """What can be known of the settings only once the servers are up."""
    generation, found = session.pool.generation, []
    everything_up = all(link.snapshot is not None for link in session.pool.links.values())
    for index, name in enumerate(loaded.settings.selector.always):
        if name not in generation.tools and everything_up:
            found.append(
                loaded.problem(
                    f"no server offers {name!r}; toolpick tools lists the names",
                    "selector",
                    "always",
                    index,
                )
            )
    for what in generation.unmatched:
        server, _, pattern = what.partition(": ")
        found.append(
            loaded.problem(
                f"{pattern} matches no tool of this server", "servers", server, pattern.split()[0]
            )
        )
    return found + (_of_profiles(loaded, generation.tools) if everything_up else [])


def _of_profiles(loaded: Loaded, tools: Mapping[str, ToolEntry]) -> list[Problem]:
    """Patterns and always-tools of profiles that there is nothing for."""
    from toolpick.catalog import allowed

    found = []
    for profile in loaded.settings.profiles:
        names = [n for n, e in tools.items() if e.server in (profile.servers or (e.server,))]
        for key, patterns in (("allow", profile.allow), ("deny", profile.deny)):
            for index, pattern in enumerate(patterns):
                if not any(allowed(name, (pattern,), ()) for name in names):
                    what = f"{pattern!r} matches no tool of this profile"
                    found.append(loaded.problem(what, "profiles", profile.name, key, index))
        mine = [name for name in names if allowed(name, profile.allow, profile.deny)]
        for index, name in enumerate(profile.always or ()):
            if name not in mine:
                what = f"the profile has no {name!r}; toolpick tools --profile lists the names"
                found.append(loaded.problem(what, "profiles", profile.name, "always", index))
    return found


def _exit_code(rows: list[dict[str, Any]], problems: list[str]) -> int:
    if any(row["state"] == "failed" and row["required"] for row in rows):
        return REQUIRED_FAILED
    if problems:
        return CONFIG_ERROR
    return OPTIONAL_FAILED if any(row["state"] == "failed" for row in rows) else 0


def _print(rows: list[dict[str, Any]], problems: list[str], remarks: list[str], path: str) -> None:
    from toolpick.cli.table import plain, table

    if rows:
        head = ("server", "state", "era", "transport", "tools", "start", "problem")
        print(table(head, [_cells(row) for row in rows]))
    for row in rows:
        for line in row.get("stderr", ()):
            print(f"  {row['server']} stderr: {plain(line)}")
    if rows:
        print()
    print(_summary(rows, path))
    for line in (*problems, *remarks):
        print(line, file=sys.stderr)


def _summary(rows: list[dict[str, Any]], path: str) -> str:
    wanted = [row for row in rows if row["state"] != "off"]
    up = [row for row in wanted if row["state"] == "ok"]
    if not wanted:
        return f"{path}: no servers"
    tools = sum(row["tools"] for row in up)
    return f"{path}: {len(up)} of {len(wanted)} servers work, {tools} tools"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    if row["state"] == "off":
        return (row["server"], "off", "", "", "", "", "")
    start = f"{row['seconds']:.2f} s" if row["state"] == "ok" else ""
    required = " (required)" if row["required"] and row["state"] == "failed" else ""
    tools = str(row["tools"]) if row["state"] == "ok" else ""
    return (
        row["server"],
        row["state"] + required,
        row["era"],
        row["transport"],
        tools,
        start,
        row["problem"],
    )
