"""Changes to the text of a JSON file: set, append, take out; all other bytes stay as they are.

New parts are laid out as their surroundings are: on lines of their own or on one line, indented
alike, behind a trailing comma where there is one. Taking out what was put in gives the text from
before, unless an empty ``{ }`` had blanks in it. Knows no files and no keys.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolpick.clients.jsonc import BadText, parse, skip_gap

if TYPE_CHECKING:
    from toolpick.clients.jsonc import Member, Node

Path = tuple[str | int, ...]
"""Keys and indexes from the root."""

_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/[ \t]*(?=[\r\n]))")
_EMPTY = "{}\n"


def read(text: str) -> Any:
    """What the text means; an empty one is an empty object.

    Raises:
        BadText: it is no JSON.
    """
    return parse(text).value if text.strip() else {}


def put(text: str, path: Path, value: Any) -> str:
    """Set the value at ``path``, in new objects where these are missing.

    Raises:
        BadText: the text is no JSON, or something on the way is no object.
    """
    text = text if text.strip() else _EMPTY
    root = node = parse(text)
    for depth, key in enumerate(path):
        if not isinstance(node.value, list if isinstance(key, int) else dict):
            raise BadText(_line(text, node), f"{spelled(path[:depth])} is no object")
        member = node.get(key)
        if member is None:
            for name in reversed(path[depth + 1 :]):
                value = {name: value}
            return _insert(text, root, node, str(key), value)
        node = member.node
    style = _Style.of(text, root)
    inline = "\n" not in text[node.start : node.end] and isinstance(node.value, dict)
    written = style.inline(value) if inline else style.block(value, _margin(text, node.start))
    return text[: node.start] + written + text[node.end :]


def append(text: str, path: Path, value: Any) -> str:
    """Add an element to the array at ``path``, which is made where it is missing.

    Raises:
        BadText: the text is no JSON, or something on the way is of another kind.
    """
    root = parse(text if text.strip() else _EMPTY)
    found = _find(root, path)
    if found is None:
        return put(text, path, [value])
    if not isinstance(found.value, list):
        raise BadText(_line(text, found), f"{spelled(path)} is no array")
    return _insert(text, root, found, None, value)


def drop(text: str, path: Path) -> str:
    """Take out the member at ``path``, which must be there."""
    parent = _find(parse(text), path[:-1])
    member = parent.get(path[-1]) if parent else None
    assert parent, "nothing is at that path"
    assert member, "nothing is at that path"
    index = parent.members.index(member)
    comma = _comma(text, member.node.end)
    cut_comma = None
    if index and comma is None:
        cut_comma = _comma(text, parent.members[index - 1].node.end)
    if _begins_line(text, member.start):
        start = _line_break(text, member.start)
        end = _line_end(text, member.node.end if comma is None else comma + 1)
    else:
        start = member.start if cut_comma is None else cut_comma
        end = member.node.end if comma is None else skip_gap(text, comma + 1)
        cut_comma = None
    shorter = text[:start] + text[end:]
    if cut_comma is not None:
        shorter = shorter[:cut_comma] + shorter[cut_comma + 1 :]
    return _closed(shorter, path[:-1]) if len(parent.members) == 1 else shorter


def spelled(path: Path) -> str:
    """A path as a message shows it."""
    return ".".join(map(str, path)) or "the whole"


def _find(root: Node, path: Path) -> Node | None:
    node = root
    for key in path:
        member = node.get(key)
        if member is None:
            return None
        node = member.node
    return node


@dataclass(frozen=True, slots=True)
class _Style:
    """How a file is laid out."""

    eol: str
    unit: str
    one_line: bool
    tight: bool

    @classmethod
    def of(cls, text: str, root: Node) -> _Style:
        body = text[root.start : root.end]
        indents = re.findall(r"^([ \t]+)\S", text[root.start : root.end], re.MULTILINE)
        return cls(
            "\r\n" if "\r\n" in text else "\n",
            indents[0] if indents else "  ",
            bool(root.members) and "\n" not in body,
            re.search(r'":\S', body) is not None,
        )

    def inline(self, value: Any) -> str:
        separators = (",", ":") if self.tight else (", ", ": ")
        return json.dumps(value, ensure_ascii=False, separators=separators)

    def block(self, value: Any, margin: str) -> str:
        if self.one_line:
            return self.inline(value)
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit)
        return lines.replace("\n", self.eol + margin)


def _insert(text: str, root: Node, node: Node, key: str | None, value: Any) -> str:
    """The text with a new last member in an object, or a new element in an array."""
    style = _Style.of(text, root)
    head = "" if key is None else style.inline(key) + (":" if style.tight else ": ")
    if not node.members:
        return _fill(text, node, style, head, value)
    last = node.members[-1]
    comma = _comma(text, last.node.end)
    end = last.node.end if comma is None else comma + 1
    if not _begins_line(text, last.start):
        blank = "" if style.tight else " "
        new = blank + head + style.inline(value)
        return text[:end] + (f",{new}" if comma is None else f"{new},") + text[end:]
    margin = _margin(text, last.start)
    new = style.eol + margin + head + style.block(value, margin)
    if comma is not None:
        new += ","
    stop = _line_end(text, end)
    return text[:end] + ("," if comma is None else "") + text[end:stop] + new + text[stop:]


def _fill(text: str, node: Node, style: _Style, head: str, value: Any) -> str:
    """The text with a first member in an empty object or array; comments in it come before."""
    inner = text[node.start + 1 : node.end - 1].rstrip()
    if style.one_line and not inner:
        return text[: node.start + 1] + head + style.inline(value) + text[node.end - 1 :]
    outer = _margin(text, node.start)
    margin = outer + style.unit
    new = style.eol + margin + head + style.block(value, margin) + style.eol + outer
    return text[: node.start + 1] + inner + new + text[node.end - 1 :]


def _closed(text: str, path: Path) -> str:
    """The text with its emptied object or array closed up, unless comments are in it."""
    node = _find(parse(text), path)
    assert node is not None
    inner = text[node.start + 1 : node.end - 1]
    return text if inner.strip() else text[: node.start + 1] + text[node.end - 1 :]


def _comma(text: str, at: int) -> int | None:
    """Where the comma stands that follows a value, None when none does."""
    place = skip_gap(text, at)
    return place if text[place : place + 1] == "," else None


def _line_end(text: str, at: int) -> int:
    """``at``, or where a comment ends that takes up the rest of its line."""
    match = _REST_OF_LINE.match(text, at)
    return match.end() if match else at


def _line_break(text: str, at: int) -> int:
    """Where the line break stands before the line of ``at``, which is not the first."""
    place = text.rfind("\n", 0, at)
    return place - 1 if text[place - 1 : place] == "\r" else place


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip() and "\n" in text[:at]


def _margin(text: str, at: int) -> str:
    """The blanks at the beginning of the line of ``at``."""
    line = text[text.rfind("\n", 0, at) + 1 : at + 1]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line(text: str, node: Member | Node) -> int:
    return text.count("\n", 0, node.start) + 1
