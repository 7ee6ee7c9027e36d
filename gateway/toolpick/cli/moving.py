"""``toolpick install --import``: a client's own servers on their way into the settings.

What moves is listed by name and command; values, which may be secret, are shown nowhere.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolpick.errors import ConfigError, GatewayError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from toolpick.clients.files import Change
    from toolpick.clients.known import Client
    from toolpick.clients.plan import Piece


LEAST = 6
"""Characters of the shortest text that is taken for a secret."""


class Moving:
    """One import. Sets ``args.config`` to the settings file that the servers move into."""

    def __init__(self, args: argparse.Namespace, client: Client) -> None:
        """Choose the file; nothing is read of the client's.

        Raises:
            GatewayError: with an address there is nothing to move into, or the file is no TOML.
        """
        from toolpick.clients.files import read
        from toolpick.clients.jsonc import BadText
        from toolpick.clients.toml_text import read as read_toml

        if args.http:
            raise GatewayError("--import moves servers into a settings file; leave --http out")
        self._client = client
        self._name = args.name
        self._path = _settings(args)
        self._before = read(self._path)
        try:
            self._text = (self._before or b"").decode()
            self._tree = read_toml(self._text)
        except (UnicodeDecodeError, BadText) as error:
            what = "is no TOML file that servers can move into; name another with --config"
            raise GatewayError(f"{self._path}: {what}") from error
        args.config = self._path
        self.secrets: set[str] = set()
        """Values of what moves, none of which is to be shown."""

    def planned(self, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
        """The client's files without the servers that move; says which these are.

        Raises:
            GatewayError: the settings would be wrong with them.
        """
        from toolpick.clients.toml_text import put

        first, *others = pieces
        leaving: list[tuple[str, ...]] = []
        lines = []
        for name, entry in self._registered(first).items():
            table, new, why = self._table(name, entry)
            if why:
                lines.append(f"  {name} stays: {why}")
                continue
            self._text = put(self._text, ("servers", new), table)
            self.secrets |= set(_values({**entry, "command": ""}))
            leaving.append((*self._client.servers.path, name))
            lines.append(f"  {name} becomes [servers.{new}]: {_shown(table)}")
        print(f"servers of {self._client.title}, to {self._path}")
        print("\n".join(lines or ["  there are none"]))
        self._check()
        return (replace(first, leaving=tuple(leaving)), *others)

    def change(self) -> Change:
        """What becomes of the settings file.

        Raises:
            GatewayError: there is none, and nothing moved that it could be made of.
        """
        from toolpick.clients.files import Change, backup_of, read

        if not self._text and self._before is None:
            raise GatewayError("there are no settings to serve, and no servers to make them of")
        after = self._text.encode()
        if after == self._before:
            return Change(self._path, after, after, read(backup_of(self._path)), self._path.parent)
        return Change(self._path, self._before, after, self._before, self._path.parent, True)

    def _registered(self, piece: Piece) -> Mapping[str, Any]:
        """The servers of the client that are not toolpick."""
        from toolpick.clients.files import read
        from toolpick.clients.jsonc import BadText
        from toolpick.clients.wishes import at, is_ours
        from toolpick.clients.wishes import read as read_text

        try:
            text = (read(piece.path) or b"").decode("utf-8-sig")
            found = at(read_text(text, piece.toml), self._client.servers.path)
        except (UnicodeDecodeError, BadText):
            return {}  # whoever is to change the file says what is wrong with it
        servers = found if isinstance(found, dict) else {}
        return {
            name: entry
            for name, entry in servers.items()
            # an address like ours may be any server's
            if name != self._name and not (is_ours(entry) and "command" in entry)
        }

    def _table(self, name: str, entry: Any) -> tuple[dict[str, Any], str, str]:
        """A server's table and name in the settings, or why it stays."""
        from toolpick.clients.imports import Stays, moved
        from toolpick.clients.toml_text import read
        from toolpick.config.names import clean

        new = clean(name)
        if not new:
            return {}, "", "its name has no letter or digit that may stand in the settings"
        if new in read(self._text).get("servers", {}):
            return {}, "", f"there is a [servers.{new}] already"
        try:
            return moved(self._client, entry), new, ""
        except Stays as why:
            return {}, "", str(why)

    def _check(self) -> None:
        """Load what the settings become.

        Raises:
            GatewayError: they can't be used.
        """
        import tempfile

        from toolpick.config.load import load

        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder, self._path.name)
            draft.write_text(self._text, encoding="utf-8")
            try:
                problems = load(draft, os.environ).problems
            except ConfigError as error:
                said = str(error).replace(str(draft), str(self._path))
                raise GatewayError(
                    f"with these servers the settings can't be used:\n{said}"
                ) from None
        for problem in problems:
            print(str(problem).replace(str(draft), str(self._path)), file=sys.stderr)


def _settings(args: argparse.Namespace) -> Path:
    """The settings file that there is, else one to be made in the user's folder."""
    from toolpick.cli.common import settings_file

    found = settings_file(args)
    if found is not None:
        return found.absolute()
    base = os.environ.get("APPDATA") if sys.platform == "win32" else None
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises where there is no home
    base = os.environ.get("XDG_CONFIG_HOME") or base or str(home / ".config")
    return Path(base).absolute() / "toolpick" / "servers.toml"


def _values(value: Any) -> Iterator[str]:
    """The texts in a value that are long enough to be a secret."""
    if isinstance(value, str) and len(value) >= LEAST:
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _values(item)


def _shown(table: Mapping[str, Any]) -> str:
    """What a server is, without a value that may be secret."""
    from urllib.parse import urlsplit

    if "command" in table:
        return str(table["command"])
    try:
        return urlsplit(str(table["url"])).hostname or "an address"
    except ValueError:
        return "an address"
