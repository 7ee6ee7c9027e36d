"""One version of the catalog: the shelves of all servers, merged.

Knows no sessions, no connections, no clock. A generation never changes once made. Tools and
prompts come in the order of the shelves, then by the server's own names. Two servers that end up
with the same exposed name are a mistake in the settings (``prefix = ""`` twice, or equal
prefixes): the first shelf keeps the name and ``collisions`` names both.

A resource URI that two servers offer is exposed under a rewritten URI for each (see ``uris``), and
stays so in later generations, so that a restart of one of them changes nothing. Before the second
server is up for the first time its URI can't be known to be shared; the rewritten URI of the first
leads to it even then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Raw

from toolpick.catalog.uris import literal_length, matches, unwrap_uri, wrap_uri
from toolpick.model import PromptEntry, ResourceEntry, ToolEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolpick.catalog.shelf import Shelf

Named = TypeVar("Named", ToolEntry, PromptEntry)


@dataclass(frozen=True, slots=True)
class Route:
    """Where a resource is read: a server, and the URI that it knows."""

    server: str
    uri: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between two generations; tool names are exposed ones, sorted."""

    tools: bool = False
    prompts: bool = False
    resources: bool = False
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return self.tools or self.prompts or self.resources


@dataclass(frozen=True, slots=True)
class Generation:
    """One version of the catalog. Mappings go from exposed name or URI to entry, in listing order.

    ``bare`` has the exposed names by the servers' own. ``shared`` are the URIs and templates that
    more than one server offers or offered.
    """

    number: int = 0
    tools: Mapping[str, ToolEntry] = field(default_factory=dict, repr=False)
    prompts: Mapping[str, PromptEntry] = field(default_factory=dict, repr=False)
    resources: Mapping[str, ResourceEntry] = field(default_factory=dict, repr=False)
    templates: Mapping[str, ResourceEntry] = field(default_factory=dict, repr=False)
    servers: tuple[str, ...] = ()
    remarks: tuple[str, ...] = field(default=(), repr=False)
    unmatched: tuple[str, ...] = ()
    collisions: tuple[str, ...] = ()
    shared: frozenset[str] = field(default=frozenset(), repr=False)
    tools_bytes: bytes = field(default=b"[]", repr=False)
    bare: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def candidates(self, name: str) -> tuple[str, ...]:
        """The exposed names of allowed tools that a server calls ``name``."""
        return self.bare.get(name, ())

    def owners(self, uri: str) -> tuple[Route, ...]:
        """Where a URI that a client sent may be read; more than one route: it is ambiguous.

        A listed URI, then a rewritten one, then the bare form of a shared one, which is every
        server that has it; else the templates that match, of these the ones with the most fixed
        characters. Empty when nobody announced such a URI.
        """
        if uri in self.resources:
            entry = self.resources[uri]
            return (Route(entry.server, entry.uri),)
        wrapped = unwrap_uri(uri)
        if wrapped and wrapped[0] in self.servers:
            return (Route(*wrapped),)
        if uri in self.shared:
            found = [entry for entry in self.resources.values() if entry.uri == uri]
            if found:
                return tuple(Route(entry.server, uri) for entry in found)
        return self._templated(uri)

    def exposed_uri(self, server: str, uri: str) -> str:
        """The URI under which clients know a server's own, for links and update notices.

        Rewritten only where reading it as it is would not lead back to this server alone.
        """
        wrapped = wrap_uri(server, uri)
        if uri in self.shared or wrapped in self.resources:
            return wrapped
        owners = self.owners(uri)
        return uri if not owners or owners == (Route(server, uri),) else wrapped

    def _templated(self, uri: str) -> tuple[Route, ...]:
        found = [entry for entry in self.templates.values() if matches(entry.uri, uri)]
        most = max((literal_length(entry.uri) for entry in found), default=0)
        best = [entry.server for entry in found if literal_length(entry.uri) == most]
        return tuple(Route(server, uri) for server in dict.fromkeys(best))


def merge(number: int, shelves: Sequence[Shelf], previous: Generation | None = None) -> Generation:
    """Merge shelves, given in the order of the settings; ``previous`` keeps shared URIs shared."""
    collisions: list[str] = []
    tools = _by_name("tool", (tool for shelf in shelves for tool in shelf.tools), collisions)
    prompts = _by_name("prompt", (p for shelf in shelves for p in shelf.prompts), collisions)
    resources = [entry for shelf in shelves for entry in shelf.resources]
    templates = [entry for shelf in shelves for entry in shelf.templates]
    shared = (
        _shared(resources) | _shared(templates) | (previous.shared if previous else frozenset())
    )
    bare: dict[str, tuple[str, ...]] = {}
    for tool in tools.values():
        bare[tool.name] = (*bare.get(tool.name, ()), tool.exposed)
    return Generation(
        number=number,
        tools=tools,
        prompts=prompts,
        resources=_by_uri(resources, shared, "uri"),
        templates=_by_uri(templates, shared, "uriTemplate"),
        servers=tuple(shelf.server for shelf in shelves),
        remarks=tuple(remark for shelf in shelves for remark in shelf.remarks),
        unmatched=tuple(f"{shelf.server}: {what}" for shelf in shelves for what in shelf.unmatched),
        collisions=tuple(collisions),
        shared=shared,
        tools_bytes=listing(tools.values()),
        bare=bare,
    )


def diff(old: Generation, new: Generation) -> Difference:
    """What a client that knows ``old`` would see changed; numbers and order don't count."""
    before, after = old.tools, new.tools
    added = tuple(sorted(after.keys() - before.keys()))
    removed = tuple(sorted(before.keys() - after.keys()))
    both = before.keys() & after.keys()
    changed = tuple(sorted(name for name in both if before[name] != after[name]))
    return Difference(
        bool(added or removed or changed),
        old.prompts != new.prompts,
        old.resources != new.resources or old.templates != new.templates,
        added,
        removed,
        changed,
    )


def listing(entries: Iterable[ToolEntry | PromptEntry | ResourceEntry]) -> bytes:
    """Definitions as one JSON array."""
    return b"[" + b",".join([entry.raw for entry in entries]) + b"]"


def _by_name(kind: str, entries: Iterable[Named], collisions: list[str]) -> dict[str, Named]:
    named: dict[str, Named] = {}
    for entry in entries:
        first = named.setdefault(entry.exposed, entry)
        if first is not entry:
            collisions.append(
                f"{kind} {entry.exposed!r} is offered by both {first.server!r} and "
                f"{entry.server!r}, so that of {entry.server!r} is left out; "
                "give one of them another prefix"
            )
    return named


def _shared(entries: Iterable[ResourceEntry]) -> frozenset[str]:
    """URIs that more than one server offers; a server's own entries are distinct already."""
    counted = Counter(entry.exposed for entry in entries)
    return frozenset(uri for uri, count in counted.items() if count > 1)


def _by_uri(
    entries: Iterable[ResourceEntry], shared: frozenset[str], key: str
) -> dict[str, ResourceEntry]:
    placed = [_rewritten(entry, key) if entry.exposed in shared else entry for entry in entries]
    return {entry.exposed: entry for entry in placed}


def _rewritten(entry: ResourceEntry, key: str) -> ResourceEntry:
    exposed = wrap_uri(entry.server, entry.uri)
    fields = msgspec.json.decode(entry.raw, type=dict[str, Raw])
    fields[key] = Raw(msgspec.json.encode(exposed))
    return ResourceEntry(entry.server, entry.uri, exposed, msgspec.json.encode(fields))
