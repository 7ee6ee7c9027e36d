"""A settings file as a tree of plain values in which every place knows its line.

Knows TOML and JSON, not what the keys mean. Everything that can be wrong with a file as a file
(missing, unreadable, not UTF-8, not TOML) ends here, as a ``ConfigError``.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolpick.config.json_lines import json_lines
from toolpick.config.toml_lines import toml_lines
from toolpick.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from toolpick.config.toml_lines import Keys

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")

LARGEST = 64 * 2**20
"""Most bytes that are read: clients keep more than settings in files that name servers."""
_TOO_LONG = "a whole number has too many digits; no setting needs that"

_BACKSLASH = "in double quotes write \\\\ for a backslash, or put the text in single quotes"
_REMEDIES = (
    ("overwrite a value", "this key was given before; keep one of the two"),
    ("declare", "this table was begun before; put its keys together"),
    ("mutate immutable", "this table was closed before; put its keys together"),
    ("duplicate inline table key", "keep one of the two"),
    ("invalid value", "a string stands in quotes, a flag is true or false"),
    ("unterminated", "close it"),
    ("unescaped '\\'", _BACKSLASH),
    ("hex value", _BACKSLASH),
)


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds. ``file`` is its name as messages show it."""

    file: str
    tree: Mapping[str, Any] = field(repr=False)
    lines: Mapping[Keys, int] = field(repr=False)
    is_json: bool = False
    again: tuple[tuple[Keys, int], ...] = ()
    """Keys given twice in JSON, each with the line of its first mention."""


@dataclass(frozen=True, slots=True)
class Place:
    """A key or array element of a source."""

    source: Source
    path: Keys = ()

    def at(self, *more: str | int) -> Place:
        """Return the place below this one."""
        return Place(self.source, (*self.path, *more))

    @property
    def line(self) -> int:
        """The line of this place, or of the nearest one around it that the file mentions."""
        lines = self.source.lines
        known = (self.path[:end] for end in range(len(self.path), 0, -1))
        return next((lines[path] for path in known if path in lines), 1)

    @property
    def key(self) -> str:
        """The place as one writes it: ``servers.docs.headers."X-Key"``, ``selector.always[2]``."""
        text = ""
        for part in self.path:
            if isinstance(part, int):
                text += f"[{part}]"
            else:
                text += ("." if text else "") + (part if _BARE.fullmatch(part) else quoted(part))
        return text

    def problem(self, what: str) -> Problem:
        """Return what is wrong here."""
        return Problem(self.source.file, self.line, self.key, what)


def quoted(text: str) -> str:
    """Return ``text`` in double quotes, on one line and printable whatever it holds."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def too_deep(file: str) -> ConfigError:
    """Return the error for a file whose tables nobody can walk."""
    return _unusable(file, 0, "tables or arrays are nested too deeply; no setting needs that")


def read(path: Path) -> Source:
    """Read a TOML file, or a JSON file (named ``.json``, or beginning with a brace).

    Raises:
        ConfigError: there is no such file, it can't be read, or it is neither.
    """
    file = str(path)
    text = _text(path, file)
    if path.suffix.lower() == ".json" or text.lstrip().startswith("{"):
        return _json(file, text)
    return _toml(file, text)


def _text(path: Path, file: str) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except FileNotFoundError:
        raise _unusable(file, 0, "there is no such file; name one with --config") from None
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise _unusable(file, 0, f"can't be read: {why}") from None
    if len(data) > LARGEST:
        raise _unusable(file, 0, f"is larger than {LARGEST} bytes; no settings are")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _unusable(file, line, "is not UTF-8; save it in that encoding") from None


def _toml(file: str, text: str) -> Source:
    try:
        tree = tomllib.loads(text)
        return Source(file, tree, toml_lines(text))
    except RecursionError:
        raise too_deep(file) from None
    except tomllib.TOMLDecodeError as error:
        line, what = _toml_mistake(str(error), text)
        raise _unusable(file, line, f"is not valid TOML: {what}") from None
    except ValueError:
        raise _unusable(file, 0, _TOO_LONG) from None


def _toml_mistake(message: str, text: str) -> tuple[int, str]:
    """Return the line and the message of a TOML error, with a remedy where there is a usual one."""
    place = _AT.search(message)
    line = 0
    if place:
        line = int(place[1]) if place[1] else text.rstrip().count("\n") + 1
        message = message[: place.start()]
    what = message[:1].lower() + message[1:]
    remedy = next((says for sign, says in _REMEDIES if sign in what.lower()), "")
    column = (f" in column {place[2]}" if place[2] else " at the end of the file") if place else ""
    return line, f"{what}{column}" + (f"; {remedy}" if remedy else "")


def _json(file: str, text: str) -> Source:
    try:
        tree = json.loads(text)
        if not isinstance(tree, dict):
            raise _unusable(file, 1, 'is not a JSON object; write {"mcpServers": {...}}')
        lines, again = json_lines(text)
        return Source(file, tree, lines, is_json=True, again=again)
    except json.JSONDecodeError as error:
        what = error.msg[:1].lower() + error.msg[1:] + f" in column {error.colno}"
        if text.startswith(("//", "/*"), error.pos):
            what += "; JSON has no comments, take this one out"
        raise _unusable(file, error.lineno, f"is not valid JSON: {what}") from None
    except RecursionError:
        raise too_deep(file) from None
    except ValueError:
        raise _unusable(file, 0, _TOO_LONG) from None


def _unusable(file: str, line: int, what: str) -> ConfigError:
    return ConfigError((Problem(file, line, "", what),))
