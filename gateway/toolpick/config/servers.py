"""One server's table made into ``ServerSettings``: rules about single keys and about two together.

Never raises and never drops the server: whatever is wrong with the table ends in ``problem``, so
that the others start and this one is shown as what it is.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolpick.config import names
from toolpick.config.environment import public
from toolpick.config.keys import SERVER
from toolpick.config.settings import ServerSettings
from toolpick.config.source import quoted
from toolpick.config.values import Reader, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolpick.config.source import Place
    from toolpick.config.values import Field
    from toolpick.errors import Problem

_IDLE = {"command": ("headers",), "url": ("args", "cwd", "env")}

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110 section 5.6.2, token
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # section 5.5, without line breaks


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the meaning of a server's table depends on beside the table."""

    environ: Mapping[str, str]
    folder: Path
    """Of the settings file; relative paths begin here."""
    home: str = ""
    """What ``~`` stands for; "" when nobody knows."""


def server(
    name: str,
    place: Place,
    given: list[Field],
    problems: list[Problem],
    around: Surroundings,
    remarks: list[Problem],
) -> ServerSettings:
    """Return the settings of one server; what is wrong is added to ``problems``.

    ``problems`` may hold what was found in this table before. Of a server that is not enabled no
    variable needs to be set.
    """
    off = any(item.name == "enabled" and item.value is False for item in given)
    reader = Reader(around.environ, problems, lenient=off)
    values = reader.table(SERVER, given)
    places = {item.name: item.place for item in given}
    _transport(values, place, places, reader)
    _Checks(values, places, reader).run()
    remarks.extend(
        item.place.problem(f"has no effect beside a {way}")
        for way, idle in _IDLE.items()
        for item in given
        if way in places and item.name in idle and item.value
    )
    if not problems:
        _resolve(values, places, around, reader)
    known = public(reader.used)
    secrets = tuple(around.environ[used] for used in sorted(reader.used - known))
    return ServerSettings(name=name, **values, secrets=secrets, problem=summary(problems))


def summary(problems: list[Problem]) -> str:
    """Return the first of ``problems`` in words, and how many more there are."""
    if not problems:
        return ""
    first, *more = sorted(problems)
    return f"{first} (and {len(more)} more)" if more else str(first)


def _transport(
    values: dict[str, Any], place: Place, places: Mapping[str, Place], reader: Reader
) -> None:
    """Check that a server is either started or called, and settle how."""
    if "command" in places and "url" in places:
        reader.bad(place, "has both a command and a url; keep one of them")
        return
    if "command" not in places and "url" not in places:
        strangers = (name for name in places if not SERVER.get(name))
        if any(nearest(name, ("command", "url")) for name in strangers):
            return  # a slip of the pen that was noted as such
        reader.bad(place, 'has neither a command nor a url; write command = "program"')
        return
    ways = ("stdio",) if "command" in places else ("http", "sse")
    way = values.setdefault("transport", ways[0])
    if way not in ways:
        key = "command" if "command" in places else "url"
        what = f'"{way}" does not go with a {key}; write "{ways[0]}" or leave it out'
        reader.bad(places["transport"], what)


@dataclass(frozen=True, slots=True)
class _Checks:
    """Rules about the values of single keys."""

    values: Mapping[str, Any]
    places: Mapping[str, Place]
    reader: Reader

    def run(self) -> None:
        self.command()
        self.url()
        self.prefix()
        self.variables()
        self.headers()
        check_patterns(self.values, self.places, self.reader)

    def bad(self, what: str, *path: str | int) -> None:
        key, *more = path
        self.reader.bad(self.places[str(key)].at(*more), what)

    def command(self) -> None:
        command = self.values.get("command")
        if command is None:
            return
        if not command.strip():
            self.bad("is empty; name a program", "command")
        elif len(command.split()) > 1 and not {"/", "\\"} & set(command):
            self.bad("holds blanks; name the program alone and put the rest into args", "command")

    def url(self) -> None:
        url = self.values.get("url")
        if url is None:
            return
        try:
            parts = urlsplit(url)
            usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:  # a port that is none, half an IPv6 address
            usable = False
        else:
            if parts.scheme not in ("http", "https"):
                usable = False
        if not usable or any(char.isspace() or not char.isprintable() for char in url):
            self.bad('is not an address; write it as "https://host/path"', "url")

    def prefix(self) -> None:
        prefix = self.values.get("prefix")
        if prefix and not names.ALLOWED.fullmatch(prefix):
            self.bad(f"{quoted(prefix)} is not allowed; {names.REMEDY}", "prefix")

    def variables(self) -> None:
        for name in self.values.get("env", ()):
            if not name or "=" in name or "\0" in name:
                self.bad("is no name of a variable; write letters, digits and _", "env", name)

    def headers(self) -> None:
        for name, value in self.values.get("headers", {}).items():
            if not _HEADER.fullmatch(name):
                self.bad("is no name of a header; write letters, digits and -", "headers", name)
            elif not _HEADER_VALUE.fullmatch(value):
                what = "the value holds a line break or another character that no header can carry"
                self.bad(f"{what}; take it out", "headers", name)


def check_patterns(values: Mapping[str, Any], places: Mapping[str, Place], reader: Reader) -> None:
    """Note patterns under ``allow`` and ``deny`` that match nothing, or not what was meant."""
    for key in ("allow", "deny"):
        for index, pattern in enumerate(values.get(key, ())):
            if not pattern or pattern != pattern.strip():
                what = "is empty or has blanks around it, so it matches nothing"
                remedy = "write a name or a pattern"
                reader.bad(places[key].at(index), f"{quoted(pattern)} {what}; {remedy}")
            elif "[" in re.sub(r"\[!?\]?[^]]*\]", "", pattern):
                what = "has a [ that is never closed; write [[] for the character itself"
                reader.bad(places[key].at(index), f"{quoted(pattern)} {what}")


def _resolve(
    values: dict[str, Any], places: Mapping[str, Place], around: Surroundings, reader: Reader
) -> None:
    """Make ``cwd`` and a ``command`` that is a path absolute."""
    separators = {"/", os.sep}
    for key in ("command", "cwd"):
        text = values.get(key)
        if not text:
            continue
        if text == "~" or text[:2] in {"~" + separator for separator in separators}:
            if not around.home:
                reader.bad(places[key], "begins with ~ but HOME is not set; write the whole path")
            values[key] = str(Path(around.home, text[2:]))
        elif key == "cwd" or separators & set(text):
            values[key] = str(around.folder / text)
