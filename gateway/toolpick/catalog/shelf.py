"""What one server offers, mended, filtered and named. Knows no other server and no sessions.

The same offers give the same shelf whatever else is mounted and in whatever order they were listed.
One bad definition is left out with a remark; it never takes another with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from toolpick.catalog.definitions import (
    PROMPT_FIELDS,
    RESOURCE_FIELDS,
    TOOL_FIELDS,
    Definition,
    UnusableDefinition,
    cut_to_depth,
    mend_prompt,
    mend_resource,
    mend_tool,
    read_definition,
    same,
)
from toolpick.catalog.filters import allowed
from toolpick.catalog.names import assign_names, was_changed
from toolpick.catalog.uris import is_uri, wrap_uri
from toolpick.model import PromptEntry, ResourceEntry, Snapshot, ToolEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SHOWN = 256
"""Most characters of an original name that a title or a description carries."""
REMARKS = 1_000
"""Most remarks on one list; of more, only how many they are is told."""
NOTES = 5
"""Most remarks on one definition."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How one server's offers are shown.

    ``allow`` and ``deny`` are glob patterns over the server's own tool names; an empty ``allow``
    allows all. ``prefix`` stands before ``__`` in exposed names, "" for bare names.
    """

    server: str
    prefix: str
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    flat_schemas: bool = False

    def allows(self, name: str) -> bool:
        """Whether the operator lets a tool of this name be listed and called."""
        return allowed(name, self.allow, self.deny)


@dataclass(frozen=True, slots=True)
class Shelf:
    """One server's entries, each kind sorted by the server's own names or URIs.

    ``remarks`` say what was left out or mended and why, one line each. ``unmatched`` are the filter
    patterns that no tool's name matched, such as ``deny 'no_such_tool'``.
    """

    server: str
    prefix: str = ""
    tools: tuple[ToolEntry, ...] = ()
    prompts: tuple[PromptEntry, ...] = ()
    resources: tuple[ResourceEntry, ...] = ()
    templates: tuple[ResourceEntry, ...] = ()
    remarks: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()


def shelve(rules: Rules, snapshot: Snapshot) -> Shelf:
    """Mend, filter and name what a server listed. Never raises for what is in the snapshot."""
    remarks: list[str] = []
    note = _Noter(rules.server, remarks)
    listed = note.readable("tool", snapshot.tools, "name")
    unmatched = _unmatched(rules, [name for name, _ in listed])
    remarks += [f"{rules.server}: {what} matches no tool of this server" for what in unmatched]
    passed = [(name, tool) for name, tool in listed if rules.allows(name)]
    tools = note.mended("tool", passed, lambda tool: mend_tool(tool, rules.flat_schemas))
    prompts = note.mended("prompt", note.readable("prompt", snapshot.prompts, "name"), mend_prompt)
    return Shelf(
        rules.server,
        rules.prefix,
        tuple(ToolEntry(rules.server, *entry) for entry in _named(rules, tools, TOOL_FIELDS)),
        tuple(PromptEntry(rules.server, *entry) for entry in _named(rules, prompts, PROMPT_FIELDS)),
        _located(rules, note, "resource", snapshot.resources),
        _located(rules, note, "template", snapshot.templates),
        _bounded(rules.server, remarks),
        unmatched,
    )


def _bounded(server: str, remarks: list[str]) -> tuple[str, ...]:
    if len(remarks) <= REMARKS:
        return tuple(remarks)
    return (*remarks[:REMARKS], f"{server}: {len(remarks) - REMARKS} more remarks like these")


def settle(old: Shelf, new: Shelf) -> Shelf:
    """The new shelf, with the old bytes of tools that differ in the order of nested fields only.

    A server that writes its fields in another order each time would otherwise change the list each
    time.
    """
    before = {tool.name: tool for tool in old.tools}
    tools = tuple(_settled(before.get(tool.name), tool) for tool in new.tools)
    return replace(new, tools=tools)


def _settled(old: ToolEntry | None, new: ToolEntry) -> ToolEntry:
    unchanged = old is not None and old.exposed == new.exposed and same(old.raw, new.raw)
    return old if old is not None and unchanged else new


class _Noter:
    """Reads and mends entries of one server one by one, and remarks on each that has something."""

    def __init__(self, server: str, remarks: list[str]) -> None:
        self._server = server
        self._remarks = remarks

    def say(self, what: str) -> None:
        self._remarks.append(f"{self._server}: {what}")

    def readable(
        self, kind: str, entries: Iterable[bytes], key: str
    ) -> list[tuple[str, Definition]]:
        """The entries that have a text at ``key``, sorted by it; of equal ones the first."""
        found: dict[str, Definition] = {}
        for position, raw in enumerate(entries, 1):
            place = f"{kind} at position {position}"
            try:
                definition = read_definition(raw)
            except UnusableDefinition as error:
                self.say(f"{place}: left out, since {error}")
                continue
            name = definition.text(key)
            if not name:
                self.say(f"{place}: left out, since it has no {key}")
            elif name in found:
                self.say(f"{place}: left out, since {name!r:.80} is listed twice")
            else:
                found[name] = definition
        return sorted(found.items())

    def mended(
        self,
        kind: str,
        entries: Sequence[tuple[str, Definition]],
        mend: Callable[[Definition], None],
    ) -> list[tuple[str, Definition]]:
        kept = []
        for name, definition in entries:
            place = f"{kind} {name!r:.80}"
            try:
                mend(definition)
                cut_to_depth(definition)
            except (UnusableDefinition, RecursionError) as error:
                why = "it is nested too deeply" if isinstance(error, RecursionError) else error
                self.say(f"{place}: left out, since {why}")
                continue
            for what in definition.notes[:NOTES]:
                self.say(f"{place}: {what}")
            if len(definition.notes) > NOTES:
                self.say(f"{place}: {len(definition.notes) - NOTES} more changes like these")
            kept.append((name, definition))
        return kept


def _unmatched(rules: Rules, names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    patterns = [("allow", p) for p in rules.allow] + [("deny", p) for p in rules.deny]
    return tuple(
        f"{kind} {pattern!r}"
        for kind, pattern in patterns
        if not any(fnmatchcase(name, pattern) for name in names)
    )


def _named(
    rules: Rules, entries: Sequence[tuple[str, Definition]], order: tuple[str, ...]
) -> list[tuple[str, str, bytes]]:
    """The own name, the exposed name and the definition that carries it, for each entry."""
    exposed = assign_names(rules.prefix, (name for name, _ in entries))
    named = []
    for name, definition in entries:
        if was_changed(rules.prefix, name, exposed[name]):
            _show_original(definition, name[:SHOWN])
        definition.put("name", exposed[name])
        named.append((name, exposed[name], definition.encoded(order)))
    return named


def _show_original(definition: Definition, name: str) -> None:
    """Keep a name that had to be changed readable: as the title, or behind the description."""
    title, description = definition.text("title"), definition.text("description")
    if not title:
        definition.put("title", name)
    elif name not in title and name not in description:
        definition.put("description", f"{description} (Original name: {name})".strip())


def _located(
    rules: Rules, note: _Noter, kind: str, entries: tuple[bytes, ...]
) -> tuple[ResourceEntry, ...]:
    """Resources or templates, under their own URIs wherever these are URIs."""
    key = "uri" if kind == "resource" else "uriTemplate"
    readable = note.readable(kind, entries, key)
    located: dict[str, ResourceEntry] = {}
    for uri, definition in note.mended(kind, readable, lambda entry: mend_resource(entry, key)):
        exposed = uri
        if kind == "resource" and not is_uri(uri):
            exposed = wrap_uri(rules.server, uri)
            definition.put(key, exposed)
            note.say(f"{kind} {uri!r:.80}: it is no URI; listed as {exposed!r:.120}")
        if exposed in located:
            note.say(f"{kind} {uri!r:.80}: left out, since another has the same URI once encoded")
            continue
        raw = definition.encoded(RESOURCE_FIELDS)
        located[exposed] = ResourceEntry(rules.server, uri, exposed, raw)
    return tuple(located.values())
