"""Changes to the text of a TOML file: whole tables and single keys; all other bytes stay.

A new table is put behind everything else, where TOML lets it stand whatever comes before. Tables
that were written in another way than with a header of their own are left to their owner. Knows no
files and no keys.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolpick.clients.jsonc import BadText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Path = tuple[str, ...]

_AT = re.compile(r" \(at line (\d+), column (\d+)\)$")
_BLANK_LINE = re.compile(r"(?:(?<=\n)|\A)[ \t]*\r?\n\Z")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|[\[{]|[\]}]|=|\r?\n|[^\S\n]+|[^\s\"'#\[\]{}=]+|\S"
)


def read(text: str) -> dict[str, Any]:
    """What the text means.

    Raises:
        BadText: it is no TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _AT.search(message)
        what = message[: place.start()] + f" in column {place[2]}" if place else message
        raise BadText(int(place[1]) if place else 0, what[:1].lower() + what[1:]) from None
    except RecursionError:
        raise BadText(0, "is nested too deeply") from None


def put(text: str, path: Path, value: Mapping[str, Any]) -> str:
    """Write the table at ``path``, in place of the one that is there.

    Raises:
        BadText: the text is no TOML, or what it has there has no header of its own.
    """
    eol = _eol(text)
    block = eol.join(_lines(path, value)) + eol
    spans = _spans(text, path)
    if spans:
        start, end = spans[0]
        changed = text[:start] + block.rstrip("\r\n") + text[end:]
        shift = len(changed) - len(text)
        for start, end in reversed(spans[1:]):
            changed = changed[: start + shift] + changed[end + shift :]
    else:
        gap = "" if not text.strip() else eol if text.endswith("\n") else eol * 2
        changed = text + gap + block
    return _held(text, changed, path, dict(value))


def drop(text: str, path: Path) -> str:
    """Take out the table at ``path`` with those below it.

    Raises:
        BadText: the text is no TOML, or what it has there has no header of its own.
    """
    changed = text
    for start, end in reversed(_spans(text, path)):
        before = _BLANK_LINE.sub("", changed[:start])
        changed = before + re.sub(r"\A\r?\n", "", changed[end:])
    return _held(text, changed, path, None)


def put_key(text: str, table: str, key: str, value: bool) -> str:
    """Set a key of a table at the root, in front of the table's other keys.

    Raises:
        BadText: the text is no TOML, or the table has no header of its own.
    """
    header = next((each for each in _headers(text) if each.path == (table,)), None)
    if header is None:
        return put(text, (table,), {key: value})
    line = text.find("\n", header.end)
    at = len(text) if line < 0 else line + 1
    gap = _eol(text) if line < 0 else ""
    changed = text[:at] + f"{gap}{_key(key)} = {_literal(value)}{_eol(text)}" + text[at:]
    return _held(text, changed, (table, key), value)


def drop_key(text: str, table: str, key: str) -> str:
    """Take a key with a value on one line out of a table at the root.

    Raises:
        BadText: the text is no TOML, or the key is written in another way.
    """
    header = next((each for each in _headers(text) if each.path == (table,)), None)
    if header is None:
        raise BadText(0, f"{table} has no header of its own")
    found = re.compile(rf"^[ \t]*{re.escape(_key(key))}[ \t]*=[^\n]*\n?", re.MULTILINE)
    match = found.search(text, header.end)
    changed = text if match is None else text[: match.start()] + text[match.end() :]
    return _held(text, changed, (table, key), None)


def _held(old: str, new: str, path: Path, value: Any) -> str:
    """``new``, if it means what ``old`` means but for the value at ``path``.

    Raises:
        BadText: it doesn't.
    """
    wanted = read(old)
    inner: Any = wanted
    for name in path[:-1]:
        inner = inner.setdefault(name, {}) if isinstance(inner, dict) else {}
    if isinstance(inner, dict):
        inner[path[-1]] = value
        if value is None:
            del inner[path[-1]]
    try:
        same = _pruned(tomllib.loads(new)) == _pruned(wanted)
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise BadText(0, f"{'.'.join(path)} is written in a way that only a person can change")
    return new


def _pruned(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree without tables that hold nothing."""
    return {name: value for name, value in tree.items() if value != {}}


@dataclass(frozen=True, slots=True)
class _Header:
    path: Path
    start: int
    end: int


def _headers(text: str) -> Iterator[_Header]:
    """Every ``[a.b]`` and ``[[a.b]]``, with where it stands."""
    depth, fresh = 0, True
    start = -1
    for token in _TOKEN.finditer(text):
        said = token.group()
        if said in ("[", "{"):
            if said == "[" and fresh and depth == 0:
                start = token.start()
            depth += 1
            fresh = fresh and start >= 0
        elif said in ("]", "}"):
            depth = max(depth - 1, 0)
            if depth == 0 and start >= 0:
                yield _Header(_path(text[start : token.end()]), start, token.end())
                start = -1
            fresh = False
        elif said.endswith("\n") and not said.startswith(("'", '"')):
            fresh = depth == 0
        elif said.strip():
            fresh = False


def _path(header: str) -> Path:
    tree: Any = tomllib.loads(header)
    path: Path = ()
    while isinstance(tree, dict | list) and tree:
        if isinstance(tree, list):
            tree = tree[0]
            continue
        name, tree = next(iter(tree.items()))
        path = (*path, name)
    return path


def _spans(text: str, path: Path) -> list[tuple[int, int]]:
    """Where the table at ``path`` and those below it stand, each up to its last value."""
    read(text)
    headers = list(_headers(text))
    stops = [*(each.start for each in headers[1:]), len(text)]
    return [
        (header.start, _last(text, header.start, stop))
        for header, stop in zip(headers, stops, strict=False)
        if header.path[: len(path)] == path
    ]


def _last(text: str, start: int, stop: int) -> int:
    """Where the last thing ends that is neither blank nor a comment on a line of its own."""
    last, fresh = start, True
    for token in _TOKEN.finditer(text, start, stop):
        said = token.group()
        if said.startswith("#") and fresh:
            continue
        if said.strip():
            last, fresh = token.end(), False
        elif "\n" in said:
            fresh = True
    return last


def _lines(path: Path, value: Mapping[str, Any]) -> Iterator[str]:
    yield f"[{'.'.join(map(_key, path))}]"
    inner = {name: item for name, item in value.items() if isinstance(item, dict)}
    for name, item in value.items():
        if name not in inner:
            yield f"{_key(name)} = {_literal(item)}"
    for name, item in inner.items():
        yield ""
        yield from _lines((*path, name), item)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _literal(name)


def _eol(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
