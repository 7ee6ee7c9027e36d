"""A settings file made into ``Settings``, with every mistake in it found in one go.

A mistake inside one ``[servers.NAME]`` concerns that server alone, unless it is required; any
other one makes the file unusable. Reads the file and nothing else: which tools exist, and so
whether a pattern matches or an ``always`` name is offered, is known only once servers are up; say
where with ``Loaded.problem``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolpick.config import clients, names, profiles, tables
from toolpick.config.servers import Surroundings, server, summary
from toolpick.config.settings import ProfileSettings, ServerSettings, Settings
from toolpick.config.source import Place, Source, quoted, read, too_deep
from toolpick.config.values import Field, Reader, instead, nearest, shown
from toolpick.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from toolpick.config.toml_lines import Keys

_TABLES = ("gateway", "selector", "servers", "profiles")


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings that can be used, and what is wrong with single servers all the same."""

    settings: Settings
    problems: tuple[Problem, ...] = ()
    """Mistakes in servers that are not required; each such server also carries its ``problem``."""
    remarks: tuple[Problem, ...] = ()
    """Nothing wrong, but worth knowing: keys without effect, names that were changed."""
    places: Mapping[Keys, Place] = field(default_factory=dict, repr=False)

    def problem(self, what: str, *path: str | int) -> Problem:
        """Return a problem at a key, such as ``"servers", "docs", "deny", 0``."""
        for end in range(len(path), 0, -1):
            if place := self.places.get(path[:end]):
                return place.at(*path[end:]).problem(what)
        return Problem(self.settings.path, 0, ".".join(map(str, path)), what)


def load(path: Path | None, environ: Mapping[str, str]) -> Loaded:
    """Read the settings in ``path``; None means all defaults and no server.

    Raises:
        ConfigError: the file can't be read or is wrong outside of its servers, or a required
            server is wrong. It names every problem of the file, in the order of the lines.
    """
    if path is None:
        return Loaded(Settings(path=""))
    home = environ.get("HOME") or environ.get("USERPROFILE", "")
    loading = _Loading(read(path), Surroundings(environ, path.absolute().parent, home))
    try:
        settings = loading.run(str(path))
    except RecursionError:  # dotted keys nest without any brackets
        raise too_deep(str(path)) from None
    problems = tuple(sorted({*loading.problems, *loading.of_servers}))
    stops = (entry.required and entry.enabled and entry.problem for entry in settings.servers)
    if loading.problems or any(stops):
        raise ConfigError(problems)
    return Loaded(settings, problems, tuple(sorted(loading.remarks)), loading.places)


class _Loading:
    """One reading of one file: its tables in turn, and what was found on the way."""

    def __init__(self, source: Source, around: Surroundings) -> None:
        self.source = source
        self.around = around
        self.root = Place(source)
        self.problems: list[Problem] = []
        """Of the file as a whole."""
        self.of_servers: list[Problem] = []
        self.remarks: list[Problem] = []
        self.places: dict[Keys, Place] = {}
        self.known = (*_TABLES, "mcpServers") if source.is_json else _TABLES

    def run(self, path: str) -> Settings:
        self.strangers()
        self.repeated()
        reader = Reader(self.around.environ, self.problems)
        gateway = tables.gateway(self.fields("gateway"), reader)
        selector = tables.selector(self.fields("selector"), reader, self.remarks)
        servers = tuple(self.servers())
        found = tuple(self.profiles([entry.name for entry in servers], reader))
        places = {each.name: self.places["profiles", each.name] for each in found}
        profiles.check_tokens(gateway.token, found, places, reader)
        return Settings(path, gateway, selector, servers, found)

    def strangers(self) -> None:
        """Note tables that nobody reads, and a JSON file that is about something else."""
        strangers = [name for name in self.source.tree if name not in self.known]
        if not self.source.is_json:
            for name in strangers:
                what = f"is not known here; {instead(name, self.known)}"
                self.problems.append(self.root.at(name).problem(what))
        elif len(strangers) == len(self.source.tree):
            likely = next((name for name in strangers if nearest(name, self.known)), None)
            place = self.root.at(likely) if likely else self.root
            self.problems.append(place.problem('the file holds no servers; write "mcpServers"'))

    def repeated(self) -> None:
        """Note keys outside of servers that JSON let pass twice."""
        for path, first in self.source.again:
            if path[0] in self.known and not _inside_a_server(path):
                self.problems.append(_twice(Place(self.source, path), first))

    def fields(self, name: str) -> list[Field]:
        """Return the keys of a table that is there at most once."""
        place = self.places[name,] = self.root.at(name)
        raw = self.table(place, self.source.tree.get(name, {}))
        given = [Field(key, value, place.at(key)) for key, value in raw.items()]
        self.places.update({(name, item.name): item.place for item in given})
        return given

    def table(self, place: Place, raw: Any) -> Mapping[str, Any]:
        if isinstance(raw, dict):
            return raw
        self.problems.append(place.problem(f"{shown(raw)} is not a table; write [{place.key}]"))
        return {}

    def servers(self) -> Iterator[ServerSettings]:
        """Yield the servers in the order of the file, but for those that can't be told apart."""
        called: dict[str, Place] = {}
        for table in clients.TABLES if self.source.is_json else ("servers",):
            place = self.root.at(table)
            for title, entry in self.table(place, self.source.tree.get(table, {})).items():
                name = self.name(title, place.at(title))
                if name in called:
                    what = f'becomes "{name}", as {called[name].key} does; rename one of them'
                    self.problems.append(place.at(title).problem(what))
                elif name:
                    called[name] = place.at(title)
                    yield self.server(name, place.at(title), entry)

    def profiles(self, servers: list[str], reader: Reader) -> Iterator[ProfileSettings]:
        """Yield the profiles in the order of the file."""
        place = self.root.at("profiles")
        for name, entry in self.table(place, self.source.tree.get("profiles", {})).items():
            here = place.at(name)
            if not names.ALLOWED.fullmatch(name):
                what = f"the name {quoted(name)} is not allowed; {names.REMEDY}"
                self.problems.append(here.problem(what))
                continue
            raw = self.table(here, entry)
            given = [Field(key, value, here.at(key)) for key, value in raw.items()]
            self.places["profiles", name] = here
            self.places.update({("profiles", name, item.name): item.place for item in given})
            yield profiles.profile(name, given, servers, reader)

    def name(self, title: str, place: Place) -> str:
        """Return what the server is called here, or "" when the name is refused.

        Other clients allow other names, so those are changed; in our own format the name is what
        the user reads everywhere, so it has to be right.
        """
        cleaned = names.clean(title)
        if names.ALLOWED.fullmatch(title):
            return title
        if self.source.is_json and cleaned:
            self.remarks.append(place.problem(f'is called "{cleaned}" here'))
            return cleaned
        remedy = f"{names.REMEDY}, such as {cleaned}" if cleaned else names.REMEDY
        self.problems.append(place.problem(f"the name {quoted(title)} is not allowed; {remedy}"))
        return ""

    def server(self, name: str, place: Place, entry: Any) -> ServerSettings:
        """Return one server, whatever is wrong with it."""
        problems = [
            _twice(Place(self.source, path), first)
            for path, first in self.source.again
            if _inside_a_server(path) and path[:2] == place.path
        ]
        self.places["servers", name] = place
        if isinstance(entry, dict):
            if self.source.is_json:
                given = clients.fields(entry, place, problems, self.remarks)
            else:
                given = [Field(key, value, place.at(key)) for key, value in entry.items()]
            self.places.update({("servers", name, item.name): item.place for item in given})
            made = server(name, place, given, problems, self.around, self.remarks)
        else:
            what = "is not a table; write one with a command or a url"
            problems.append(place.problem(f"{shown(entry)} {what}"))
            made = ServerSettings(name, problem=summary(problems))
        self.of_servers.extend(problems)
        return made


def _inside_a_server(path: Keys) -> bool:
    return path[0] in clients.TABLES and len(path) > 2


def _twice(place: Place, first: int) -> Problem:
    return place.problem(f"is given twice, first in line {first}; keep one of the two")
