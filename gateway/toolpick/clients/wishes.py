"""What a client's file is to hold for toolpick, and how it is put in, found and taken out again.

A file is text of one of two kinds; a wish names a place in what it means. What stands there and is
not toolpick's is never touched.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolpick.clients import json_text, toml_text
from toolpick.clients.json_text import spelled
from toolpick.clients.jsonc import BadText

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OURS = re.compile(r"toolpick(?:\.exe)?", re.IGNORECASE)
_ENDPOINT = re.compile(r"https?://[^/?#]+/mcp(?:/[A-Za-z0-9_-]+)?/?")
_WAYS = (
    *("type", "source", "command", "args", "url", "httpUrl", "serverUrl"),
    *("headers", "http_headers", "bearer_token_env_var"),
)
"""Keys that say how a server is reached; others in an entry are its user's."""
_URLS = ("url", "httpUrl", "serverUrl")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Server:
    """An entry that registers the gateway, at a path of keys."""

    path: tuple[str, ...]
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """A command in an array at a path of keys, in an element made of it."""

    path: tuple[str, ...]
    command: str
    keys: Mapping[str, Any]
    grouped: bool

    @property
    def element(self) -> dict[str, Any]:
        """The element of the array."""
        inner = {**self.keys, "command": self.command}
        return {"hooks": [inner]} if self.grouped else inner


@dataclass(frozen=True, slots=True)
class Setting:
    """A key that the file needs beside the rest; a value that is there stays as it is."""

    path: tuple[str, ...]
    value: bool | int


Wish = Server | Command | Setting


def read(text: str, toml: bool) -> Any:
    """What a text means.

    Raises:
        BadText: it can't be read.
    """
    return toml_text.read(text) if toml else json_text.read(text)


def add(text: str, wish: Wish, *, toml: bool) -> str:
    """The text with a wish fulfilled.

    Raises:
        BadText: it can't be read or changed, or another's entry is in the way.
    """
    if isinstance(wish, Server):
        return _add_server(text, wish, toml)
    if isinstance(wish, Command):
        return _add_command(text, wish)
    if at(read(text, toml), wish.path) is not None:
        return text
    if toml:
        table, key = wish.path
        return toml_text.put_key(text, table, key, bool(wish.value))
    return json_text.put(text, wish.path, wish.value)


def found(text: str, wish: Wish, *, toml: bool) -> Wish | None:
    """The wish as the text has it fulfilled, which may be with other values; None if it hasn't.

    Raises:
        BadText: the text can't be read.
    """
    tree = read(text, toml)
    there = at(tree, wish.path)
    if isinstance(wish, Server):
        return Server(wish.path, there) if is_ours(there) else None
    if isinstance(wish, Command):
        places = _commands(there, wish)
        return Command(wish.path, places[0][1], wish.keys, wish.grouped) if places else None
    return wish if there == wish.value else None


def remove(text: str, wish: Wish, *, toml: bool, keep: Callable[[tuple[str, ...]], bool]) -> str:
    """The text without what fulfils a wish; ``keep`` tells which emptied parts were there before.

    Raises:
        BadText: the text can't be read or changed.
    """
    if isinstance(wish, Server):
        if found(text, wish, toml=toml) is None:
            return text
        if toml:
            return toml_text.drop(text, wish.path)
        return _climb(json_text.drop(text, wish.path), wish.path[:-1], keep)
    if isinstance(wish, Command):
        return _remove_commands(text, wish, keep)
    if keep(wish.path) or found(text, wish, toml=toml) is None:
        return text
    if not toml:
        return json_text.drop(text, wish.path)
    table, key = wish.path
    text = toml_text.drop_key(text, table, key)
    emptied = toml_text.read(text).get(table) == {} and not keep((table,))
    return toml_text.drop(text, (table,)) if emptied else text


def snippet(wishes: tuple[Wish, ...], *, toml: bool) -> str:
    """What a person would write into an empty file to fulfil the wishes."""
    text = ""
    for wish in wishes:
        text = add(text, wish, toml=toml)
    return text


def is_ours(entry: Any) -> bool:
    """Whether an entry of a client starts toolpick, or has an address as toolpick serves it."""
    if not isinstance(entry, dict):
        return False
    command, args = entry.get("command"), entry.get("args")
    if isinstance(command, str):
        named = [re.split(r"[/\\]", command)[-1]]
        named += [args[1]] if isinstance(args, list) and args[:1] == ["-m"] and args[1:] else []
        return any(isinstance(name, str) and _OURS.fullmatch(name) for name in named)
    return _ENDPOINT.fullmatch(_url(entry)) is not None


def is_our_hook(command: Any) -> bool:
    """Whether a command is ``toolpick hook``, wherever the program is."""
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command, posix="\\" not in command)
    except ValueError:
        return False
    names = [re.split(r"[/\\]", word.strip("\"'"))[-1] for word in words]
    return any(
        _OURS.fullmatch(name) is not None and after == "hook" for name, after in pairwise(names)
    )


def _add_server(text: str, wish: Server, toml: bool) -> str:
    there = at(read(text, toml), wish.path)
    if there is not None and not _may_replace(there, wish):
        what = "is another server; choose a name with --name"
        raise BadText(0, f"{spelled(wish.path)} {what}")
    former = there if isinstance(there, dict) else {}
    theirs = {name: item for name, item in former.items() if name not in _WAYS}
    wanted = {**wish.value, **theirs}
    if wanted == former:
        return text
    return (toml_text.put if toml else json_text.put)(text, wish.path, wanted)


def _may_replace(there: Any, wish: Server) -> bool:
    """Whether an entry in the place of a new one is toolpick's; an address alone says too little.

    Many servers have an address like ours. It is taken for ours under our own name, on this
    machine, and where it leads to the same host as before.
    """
    if not is_ours(there) or "command" in there or wish.path[-1] == "toolpick":
        return is_ours(there)
    host = urlsplit(_url(there)).hostname
    return host in LOOPBACK or host == urlsplit(_url(wish.value)).hostname


def _url(entry: Mapping[str, Any]) -> str:
    return next((str(entry[key]) for key in _URLS if key in entry), "")


def _add_command(text: str, wish: Command) -> str:
    places = _commands(at(json_text.read(text), wish.path), wish)
    if not places:
        return json_text.append(text, wish.path, wish.element)
    for place, command in places:
        if command != wish.command:
            text = json_text.put(text, (*wish.path, *place, "command"), wish.command)
    return text


def _remove_commands(text: str, wish: Command, keep: Callable[[tuple[str, ...]], bool]) -> str:
    for place, _ in reversed(_commands(at(json_text.read(text), wish.path), wish)):
        text = json_text.drop(text, (*wish.path, *place))
        if wish.grouped and not at(json_text.read(text), (*wish.path, place[0], "hooks")):
            text = json_text.drop(text, (*wish.path, place[0]))
    return _climb(text, wish.path, keep)


def _commands(array: Any, wish: Command) -> list[tuple[tuple[str | int, ...], str]]:
    """Where toolpick's hooks are in an array, and their commands."""
    places: list[tuple[tuple[str | int, ...], str]] = []
    for index, element in enumerate(array if isinstance(array, list) else []):
        if not isinstance(element, dict):
            continue
        inner = element.get("hooks") if wish.grouped else [element]
        for at, one in enumerate(inner if isinstance(inner, list) else []):
            if isinstance(one, dict) and is_our_hook(one.get("command")):
                place = (index, "hooks", at) if wish.grouped else (index,)
                places.append((place, one["command"]))
    return places


def _climb(text: str, path: tuple[str, ...], keep: Callable[[tuple[str, ...]], bool]) -> str:
    """The text without the objects and arrays on a path that are empty now."""
    while path and not keep(path) and at(json_text.read(text), path) in ({}, []):
        text = json_text.drop(text, path)
        path = path[:-1]
    return text


def at(tree: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        if isinstance(tree, dict):
            tree = tree.get(key)
        elif isinstance(tree, list) and isinstance(key, int) and key < len(tree):
            tree = tree[key]
        else:
            return None
    return tree


def quoted(words: list[str], platform: str) -> str:
    """A command line for the shell of a system."""
    if platform != "win32":
        return shlex.join(words)
    return " ".join(f'"{word}"' if re.search(r"[\s&()^;,]", word) else word for word in words)
