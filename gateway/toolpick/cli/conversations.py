"""Conversations from a file, with the tools that each turn needs, and a catalog from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from toolpick.catalog import Rules, Snapshot, merge, shelve
from toolpick.cli.common import why
from toolpick.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolpick.catalog import Generation


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt, and the steps that it takes: for each the ``server/tool`` that would do."""

    prompt: str
    needs: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """One conversation."""

    id: str
    turns: tuple[Turn, ...]


class _Line(msgspec.Struct):
    turns: tuple[Turn, ...]
    id: str | int = ""


class _Tool(msgspec.Struct):
    name: str
    server: str = ""
    tool: str = ""
    definition: dict[str, msgspec.Raw] | None = None


_LINE = msgspec.json.Decoder(_Line)
_TOOL = msgspec.json.Decoder(_Tool)
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_conversations(path: Path) -> list[Written]:
    """Read conversations, one a line: ``{"id", "turns": [{"prompt", "needs": [["a/b", "c/d"]]}]}``.

    Raises:
        ConfigError: the file can't be read or a line is wrong; names every such line.
    """
    found = []
    problems: list[Problem] = []
    for number, line in _lines(path):
        try:
            read = _LINE.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            problems.append(Problem(str(path), number, "", f"is no conversation: {error}"))
            continue
        found.append(Written(str(read.id) or str(number), read.turns))
    if problems:
        raise ConfigError(tuple(problems))
    return found


def read_catalog(path: Path) -> Generation:
    """Read a catalog: one definition a line, with ``server`` besides; named as servers' tools are.

    What ``toolpick tools --json`` prints will do, too.

    Raises:
        ConfigError: as ``read_conversations``.
    """
    listed: dict[str, list[bytes]] = {}
    problems: list[Problem] = []
    for number, line in _lines(path):
        try:
            tool = _TOOL.decode(line)
            members = tool.definition or _MEMBERS.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            problems.append(Problem(str(path), number, "", f"is no tool: {error}"))
            continue
        members.pop("server", None)
        members["name"] = msgspec.Raw(msgspec.json.encode(tool.tool or tool.name))
        listed.setdefault(tool.server, []).append(msgspec.json.encode(members))
    if problems:
        raise ConfigError(tuple(problems))
    shelves = [
        shelve(Rules(server, server), Snapshot(tools=tuple(tools)))
        for server, tools in listed.items()
    ]
    return merge(1, shelves)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Each line that holds something, with its number."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError((Problem(str(path), 0, "", f"can't be read: {why(error)}"),)) from error
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield number, line
