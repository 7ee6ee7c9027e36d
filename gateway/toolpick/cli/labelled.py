"""Catalogs and labelled queries from files, or the catalog of the user's own servers.

A tool's id here is ``server/name``, as labels write it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolpick.cli.common import started, why
from toolpick.errors import ConfigError, Problem
from toolpick.model import ToolEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from toolpick.config.settings import Settings
    from toolpick_selectors.contract import Tool
    from toolpick_selectors.evaluation import Labelled


@dataclass(frozen=True, slots=True)
class Shelf:
    """Tools as selectors see them, and the tokens of each one's definition by id."""

    tools: tuple[Tool, ...]
    tokens: dict[str, int]


def read_tools(path: Path) -> Shelf:
    """Read a catalog: a line a tool, with ``server``, ``name``, ``description``, ``inputSchema``.

    What ``toolpick tools --json`` prints will do, too.

    Raises:
        ConfigError: the file can't be read or a line is wrong; names every such line.
    """
    entries: dict[str, ToolEntry] = {}
    problems: list[Problem] = []
    for line, found in _objects(path, problems):
        if isinstance(definition := found.get("definition"), dict):
            found = {**definition, "name": found.get("tool"), "server": found.get("server")}
        name, server = found.get("name"), found.get("server", "")
        if not isinstance(name, str) or not isinstance(server, str):
            problems.append(Problem(str(path), line, "", "a tool needs a name and a server"))
            continue
        raw = json.dumps({key: value for key, value in found.items() if key != "server"})
        id = f"{server}/{name}"
        entries.setdefault(id, ToolEntry(server, name, id, raw.encode()))
    if problems:
        raise ConfigError(tuple(problems))
    return shelf(entries.values())


def read_queries(path: Path) -> list[Labelled]:
    """Read labelled queries: ``id``, ``query`` and ``gold``, or ``gold_groups`` with alternatives.

    Queries that need no tool are left out.

    Raises:
        ConfigError: as ``read_tools``.
    """
    from toolpick_selectors.evaluation import Labelled

    problems: list[Problem] = []
    queries: list[Labelled] = []
    for line, found in _objects(path, problems):
        query, groups = found.get("query"), _groups(found)
        if not isinstance(query, str) or groups is None:
            what = 'a query needs "query" and "gold": ["server/tool", …]'
            problems.append(Problem(str(path), line, "", what))
        elif groups:
            queries.append(Labelled(str(found.get("id", line)), query, groups))
    if problems:
        raise ConfigError(tuple(problems))
    return queries


async def own_catalog(settings: Settings) -> Shelf:
    """Start the servers of the settings and list what they offer."""
    async with started(settings) as (_, session):
        listed = session.pool.generation.tools.values()
        return shelf(replace(entry, exposed=f"{entry.server}/{entry.name}") for entry in listed)


def shelf(entries: Iterable[ToolEntry]) -> Shelf:
    """The views and sizes of some tools. A server that all of them share says nothing: left out."""
    from toolpick.selection.tools import view
    from toolpick.turns import estimate_tokens

    entries = list(entries)
    alone = len({entry.server for entry in entries}) == 1
    views = (view(entry) for entry in entries)
    tools = tuple(replace(tool, server="") if alone else tool for tool in views)
    return Shelf(tools, {entry.exposed: estimate_tokens(entry.raw) for entry in entries})


def _objects(path: Path, problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's object with its number; what is none is noted."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError((Problem(str(path), 0, "", f"can't be read: {why(error)}"),)) from error
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            problems.append(Problem(str(path), line, "", f"is no JSON: {error}"))
            continue
        if isinstance(found, dict):
            yield line, found
        else:
            problems.append(Problem(str(path), line, "", "is no JSON object"))


def _groups(found: dict[str, Any]) -> tuple[frozenset[str], ...] | None:
    """The groups of alternatives that a query needs, None if they are not written properly."""
    groups = found.get("gold_groups")
    if groups is None:
        gold = found.get("gold")
        groups = [[id] for id in gold] if isinstance(gold, list) else None
    if not isinstance(groups, list):
        return None
    if not all(
        isinstance(group, list) and all(isinstance(id, str) for id in group) for group in groups
    ):
        return None
    return tuple(frozenset(group) for group in groups)
