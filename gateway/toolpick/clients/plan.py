"""What installing and uninstalling change in a client's files. Reads them; writes none.

Before toolpick is put into a file, a copy of the file is kept beside it. When it is taken out and
nothing else has changed meanwhile, the copy takes the file's place again, so that every byte is as
it was; otherwise only what is toolpick's is taken out of the file as it is now.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolpick.clients import json_text, toml_text
from toolpick.clients import wishes as wish_room
from toolpick.clients.files import Change, backup_of, read
from toolpick.clients.jsonc import BadText
from toolpick.clients.known import located
from toolpick.clients.wishes import Server, Setting, Wish, found, remove
from toolpick.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

_BOM = b"\xef\xbb\xbf"


class NotEditable(ClientFileError):
    """A client's file can't be changed; ``by_hand`` is what a person would write into it."""

    def __init__(self, file: str, line: int, what: str, by_hand: str) -> None:
        """``by_hand`` is "" where there is nothing to write."""
        super().__init__(file, line, what)
        self.by_hand = by_hand


@dataclass(frozen=True, slots=True)
class Piece:
    """A file and what it is to hold; ``floor`` is a folder above it that is not ours to remove.

    Servers in ``leaving``, each a path of keys, are taken out of it.
    """

    path: Path
    floor: Path
    wishes: tuple[Wish, ...]
    toml: bool = False
    private: bool = False
    leaving: tuple[tuple[str, ...], ...] = ()


def pieces(
    wishes: Mapping[str, tuple[Wish, ...]], roots: Mapping[str, Path], *, private: bool = False
) -> tuple[Piece, ...]:
    """The files of a registration, as ``registration.wishes`` gives them."""
    return tuple(
        Piece(*located(template, roots), each, template.endswith(".toml"), private)
        for template, each in wishes.items()
    )


def installed(piece: Piece) -> Change:
    """What becomes of a file when toolpick is put in; nothing where it is in already.

    Raises:
        ClientFileError: the file can't be read or changed.
    """
    before, saved = read(piece.path), read(backup_of(piece.path))
    mark, text = _text(piece, before)
    try:
        new = _added(text, piece)
        fresh = all(
            found(text, wish, toml=piece.toml) is None or isinstance(wish, Setting)
            for wish in piece.wishes
        )
    except BadText as problem:
        raise _not_editable(piece, problem) from problem
    if new == text:
        return Change(piece.path, before, before, saved, piece.floor)
    backup = before if fresh or saved is None else saved
    return Change(piece.path, before, mark + new.encode(), backup, piece.floor, piece.private)


def uninstalled(piece: Piece) -> Change:
    """What becomes of a file when toolpick is taken out; nothing where it is not in.

    Raises:
        ClientFileError: the file can't be read or changed.
    """
    before, saved = read(piece.path), read(backup_of(piece.path))
    nothing = Change(piece.path, before, before, saved, piece.floor)
    if before is None:
        return nothing
    mark, text = _text(piece, before)
    try:
        there = tuple(wish for each in piece.wishes if (wish := found(text, each, toml=piece.toml)))
        if all(isinstance(wish, Setting) for wish in there):
            return nothing
        former = _former(piece, saved, there, before)
        if former is not None:
            return Change(piece.path, before, saved, None, piece.floor)
        rest = _without(text, piece, there, _tree(piece, saved))
    except BadText as problem:
        raise _not_editable(piece, problem, adding=False) from problem
    gone = saved is None and not _remains(rest, piece)
    after = None if gone else mark + rest.encode()
    return Change(piece.path, before, after, saved, piece.floor)


def _former(piece: Piece, saved: bytes | None, there: tuple[Wish, ...], now: bytes) -> bytes | None:
    """The copy, if putting toolpick into it gives the file as it is now; else None."""
    if saved is None:
        return None
    try:
        mark, text = _text(piece, saved)
        clean = not any(
            found(text, wish, toml=piece.toml) for wish in there if not isinstance(wish, Setting)
        )
        leaving = _moved(piece, text, now, there)
        again = _added(text, replace(piece, wishes=there, leaving=leaving))
    except (BadText, ClientFileError):
        return None
    return saved if clean and mark + again.encode() == now else None


def _moved(
    piece: Piece, saved: str, now: bytes, there: tuple[Wish, ...]
) -> tuple[tuple[str, ...], ...]:
    """Servers in the copy that are no longer in the file, but in the settings that it serves."""
    found: list[tuple[str, ...]] = []
    for wish in there:
        if not isinstance(wish, Server):
            continue
        parent, served = wish.path[:-1], _served(wish)
        before = wish_room.at(wish_room.read(saved, piece.toml), parent)
        after = wish_room.at(wish_room.read(_text(piece, now)[1], piece.toml), parent)
        found += [
            (*parent, name)
            for name in (before if isinstance(before, dict) else ())
            if name not in after and _plain(name) in served
        ]
    return tuple(found)


def _served(server: Server) -> set[str]:
    """The servers in the settings that the client starts toolpick with, as far as can be known."""
    words = server.value.get("args")
    if not isinstance(words, list) or "--config" not in words[:-1]:
        return set()
    try:
        content = read(Path(words[words.index("--config") + 1])) or b""
        servers = toml_text.read(content.decode()).get("servers")
    except (BadText, ClientFileError, UnicodeDecodeError, TypeError):
        return set()
    return {_plain(name) for name in servers} if isinstance(servers, dict) else set()


def _plain(name: str) -> str:
    """A name without what may have changed when its server moved."""
    return re.sub(r"[\W_]", "", name).casefold()


def _without(text: str, piece: Piece, there: tuple[Wish, ...], former: Any) -> str:
    """The text without what is toolpick's. ``former`` is what the copy means, None without one."""

    def keep(path: tuple[str, ...]) -> bool:
        return former is not None and wish_room.at(former, path) is not None

    settings = [wish for wish in there if isinstance(wish, Setting)]
    for wish in there:
        if wish not in settings:
            text = remove(text, wish, toml=piece.toml, keep=keep)
    if former is None:
        alone = _nested(settings)
        if wish_room.read(text, piece.toml) != alone:
            return text
    for wish in settings:
        text = remove(text, wish, toml=piece.toml, keep=keep)
    return text


def _nested(settings: list[Setting]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for wish in settings:
        inner = tree
        for key in wish.path[:-1]:
            inner = inner.setdefault(key, {})
        inner[wish.path[-1]] = wish.value
    return tree


def _added(text: str, piece: Piece) -> str:
    for path in piece.leaving:
        text = (toml_text.drop if piece.toml else json_text.drop)(text, path)
    for wish in piece.wishes:
        text = wish_room.add(text, wish, toml=piece.toml)
    return text


def _tree(piece: Piece, saved: bytes | None) -> Any:
    if saved is None:
        return None
    try:
        return wish_room.read(_text(piece, saved)[1], piece.toml)
    except (BadText, ClientFileError):
        return None


def _remains(text: str, piece: Piece) -> bool:
    """Whether anything is in a text, be it a comment."""
    return bool(text.strip()) and (piece.toml or text.strip() != "{}")


def _text(piece: Piece, content: bytes | None) -> tuple[bytes, str]:
    """A mark that the content may begin with, and its text.

    Raises:
        ClientFileError: it is not UTF-8.
    """
    content = content or b""
    mark = _BOM if content.startswith(_BOM) else b""
    try:
        return mark, content[len(mark) :].decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ClientFileError(str(piece.path), line, "is not UTF-8; save it so") from error


def _not_editable(piece: Piece, problem: BadText, *, adding: bool = True) -> NotEditable:
    remedy = "mend it, or add this by hand" if adding else "mend it first"
    by_hand = wish_room.snippet(piece.wishes, toml=piece.toml) if adding else ""
    return NotEditable(str(piece.path), problem.line, f"{problem}; {remedy}", by_hand)
