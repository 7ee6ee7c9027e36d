"""JSON with comments and trailing commas, as editors keep it: a tree that knows its text.

Reads what the clients read, no more: comments (``//``, ``/* */``) and one comma too many before a
closing bracket. Knows no files and no keys.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

_GAP = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*[\s\S]*?\*/)*")
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\.)*"')
_WORD = re.compile(r"[A-Za-z0-9+.-]+")


class BadText(ValueError):
    """A text can't be read; ``line`` counts from 1, and the message says what is wrong there."""

    def __init__(self, line: int, what: str) -> None:
        """``line`` 0 means that no single line is to blame."""
        super().__init__(what)
        self.line = line


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands: ``text[start:end]``."""

    start: int
    end: int
    value: Any = field(repr=False)
    members: tuple[Member, ...] = field(default=(), repr=False)
    """Of an object or an array, in the order of the text."""

    def get(self, key: str | int) -> Member | None:
        """The member of an object by its key, or of an array by its index."""
        if isinstance(key, int):
            return self.members[key] if key < len(self.members) else None
        return next((item for item in reversed(self.members) if item.key == key), None)


@dataclass(frozen=True, slots=True)
class Member:
    """A value in an object or array; ``start`` is where its key begins, or itself without one."""

    key: str
    start: int
    node: Node


def parse(text: str) -> Node:
    """The one value that a text holds.

    Raises:
        BadText: it holds none, or more, or is nested too deeply.
    """
    reader = _Reader(text)
    try:
        node = reader.value(reader.skip(0))
    except RecursionError:
        raise BadText(0, "is nested too deeply") from None
    rest = reader.skip(node.end)
    if rest < len(text):
        reader.fail(rest, "goes on after its end")
    return node


def skip_gap(text: str, at: int) -> int:
    """Where the blanks and comments end that begin at ``at``."""
    match = _GAP.match(text, at)
    return match.end() if match else at


class _Reader:
    """Reads values at given places of one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def skip(self, at: int) -> int:
        return skip_gap(self.text, at)

    def fail(self, at: int, what: str) -> NoReturn:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        raise BadText(line, f"{what} in column {column}")

    def value(self, at: int) -> Node:
        opening = self.text[at : at + 1]
        if opening == "{":
            return self.items(at, "}")
        if opening == "[":
            return self.items(at, "]")
        if opening == '"':
            token, end = self.string(at)
            return Node(at, end, token)
        return self.word(at)

    def items(self, at: int, closing: str) -> Node:
        members: list[Member] = []
        place = self.skip(at + 1)
        while self.text[place : place + 1] != closing:
            key, start = "", place
            if closing == "}":
                key, place = self.key(place)
            node = self.value(place)
            members.append(Member(key, start, node))
            place = self.skip(node.end)
            if self.text[place : place + 1] == ",":
                place = self.skip(place + 1)
            elif self.text[place : place + 1] != closing:
                self.fail(place, f"lacks a comma or {closing}")
        value: Any = [item.node.value for item in members]
        if closing == "}":
            value = {item.key: item.node.value for item in members}
        return Node(at, place + 1, value, tuple(members))

    def key(self, at: int) -> tuple[str, int]:
        key, end = self.string(at)
        end = self.skip(end)
        if self.text[end : end + 1] != ":":
            self.fail(end, "lacks a colon")
        return key, self.skip(end + 1)

    def string(self, at: int) -> tuple[str, int]:
        match = _STRING.match(self.text, at)
        if match is None:
            self.fail(at, "lacks a text in double quotes")
        try:
            return json.loads(match.group(), strict=False), match.end()
        except json.JSONDecodeError:
            self.fail(at, "holds an escape that JSON does not know")

    def word(self, at: int) -> Node:
        match = _WORD.match(self.text, at)
        if match is None:
            self.fail(at, "lacks a value")
        try:
            value = json.loads(match.group(), parse_constant=lambda _: self.fail(at, "is no JSON"))
        except (json.JSONDecodeError, ValueError) as error:
            if isinstance(error, BadText):
                raise
            self.fail(at, "holds a word that is no value")
        return Node(at, match.end(), value)
