"""The line of every key in a TOML document, which ``tomllib`` doesn't tell.

Knows nothing of settings. It walks text that ``tomllib`` has already accepted, so it checks
nothing itself: it only has to know where keys and values begin and end.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Keys = tuple[str | int, ...]
"""The way from the root of a document to a value: names of keys, and indexes in arrays."""

_BLANK = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'"
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


def toml_lines(text: str) -> Mapping[Keys, int]:
    """Return the line, from 1, on which each key and each array element begins.

    A table that is only implied (``a`` in ``[a.b]``) has the line of its first mention. ``text``
    must be valid TOML.
    """
    walk = _Walk(text)
    walk.document()
    return walk.lines


class _Walk:
    """One pass over a document: a position that only moves on, and what was found so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.breaks = [place for place, char in enumerate(text) if char == "\n"]
        self.lines: dict[Keys, int] = {}
        self.last: dict[Keys, int] = {}
        """The index of the newest element of each array of tables."""

    def document(self) -> None:
        prefix: Keys = ()
        self.skip(_GAP)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                prefix = self.header()
            else:
                self.pair(prefix)
            self.skip(_GAP)

    def header(self) -> Keys:
        """Pass ``[a.b]`` or ``[[a.b]]``; return where the keys below it belong."""
        line = self.line()
        doubled = self.text.startswith("[[", self.at)
        self.at += 1 + doubled
        path: Keys = ()
        names = self.dotted()
        for place, name in enumerate(names):
            path = self.note((*path, name), line)
            if doubled and place == len(names) - 1:
                self.last[path] = self.last.get(path, -1) + 1
            if path in self.last:
                path = self.note((*path, self.last[path]), line)
        self.at += 1 + doubled
        return path

    def pair(self, prefix: Keys) -> None:
        """Pass ``a.b = value``."""
        line = self.line()
        for name in self.dotted():
            prefix = self.note((*prefix, name), line)
        self.at += 1  # the equals sign
        self.skip(_BLANK)
        self.value(prefix)

    def dotted(self) -> list[str]:
        names = [self.name()]
        while self.text.startswith(".", self.at):
            self.at += 1
            names.append(self.name())
        return names

    def name(self) -> str:
        """Pass one part of a key and the blanks around it."""
        self.skip(_BLANK)
        quoted = self.text[self.at] in "\"'"
        token = self.skip(_STRING if quoted else _BARE)
        self.skip(_BLANK)
        return str(tomllib.loads(f"key = {token}")["key"]) if quoted else token

    def value(self, path: Keys) -> None:
        opening = self.text[self.at]
        if opening == "[":
            self.items(path, "]")
        elif opening == "{":
            self.items(path, "}")
        else:
            self.skip(_STRING if opening in "\"'" else _SCALAR)

    def items(self, path: Keys, closing: str) -> None:
        """Pass an array or an inline table, up to and with its closing bracket."""
        count = 0
        self.at += 1
        self.skip(_GAP)
        while self.text[self.at] != closing:
            if closing == "}":
                self.pair(path)
            else:
                self.value(self.note((*path, count), self.line()))
                count += 1
            self.skip(_GAP)
            if self.text[self.at] == ",":
                self.at += 1
                self.skip(_GAP)
        self.at += 1

    def note(self, path: Keys, line: int) -> Keys:
        self.lines.setdefault(path, line)
        return path

    def line(self) -> int:
        return bisect_left(self.breaks, self.at) + 1

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Move past ``pattern`` and return what it matched."""
        match = pattern.match(self.text, self.at)
        assert match, "the text is no valid TOML"
        self.at = match.end()
        return match.group()
