"""What a list answers: which mode, and which tools in which order. Knows no session's history.

Modes: ``full`` lists every allowed tool; ``turn`` the meta-tools, always-tools and the turn's
selection; ``search`` the meta-tools and always-tools; ``stubs`` everything in short form;
``provider`` everything in full with meta-tools, for hosts that defer tools themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolpick.model import META_TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from toolpick.model import Era
    from toolpick.turns.clients import ClientTraits


@dataclass(frozen=True, slots=True)
class Surface:
    """What one list answers: exposed names in listing order, meta-tools among them, and why."""

    mode: str
    names: tuple[str, ...]
    reason: str


def choose_mode(
    setting: str,
    *,
    era: Era,
    total_tokens: int,
    threshold: int,
    has_query: bool,
    tools: int = 0,
    client: ClientTraits | None = None,
) -> tuple[str, str]:
    """The mode for a session, and one phrase that says why.

    A setting other than "auto" is taken as it is. "auto" lists a catalog of at most ``threshold``
    tokens in full, if the client takes that many ``tools``. Of a larger one it gives everything to
    a client that defers tools itself; each turn's own to a client whose prompt cache outlives that;
    and to any other ``search``, whose list never changes.
    """
    if setting != "auto":
        return setting, f'surface = "{setting}" is set'
    size = f"the catalog takes about {total_tokens:,} tokens"
    if total_tokens > threshold:
        size += f", more than {threshold:,}"
    elif client is None or not client.most or tools <= client.most:
        return "full", f"{size}, not more than threshold_tokens = {threshold:,}"
    who = f"for {client.name}, " if client else ""
    if client is not None and client.most and tools > client.most:
        return "search", f"{who}which takes {client.most} tools, not {tools}"
    if client is not None and client.defers and not client.unsure:
        return "provider", f"{who}which defers tools itself, {size}"
    if client is not None and client.follows:
        return "turn", f"{who}which follows changes of the list and keeps its order, {size}"
    query = "a query source exists" if has_query else "no query source is known"
    return "search", f"{who}{size}; {era} client, {query}"


def fixed_surface(
    mode: str, allowed: Collection[str], always: Iterable[str], reason: str
) -> Surface:
    """The surface of a mode that depends on no turn; of ``turn`` that without a selection."""
    if mode == "full":
        return Surface(mode, tuple(allowed), reason)
    pinned = pinned_names(always, allowed)
    if mode in ("search", "turn"):
        return Surface(mode, (*META_TOOLS, *pinned), reason)
    rest = (name for name in allowed if name not in pinned)
    return Surface(mode, (*META_TOOLS, *pinned, *rest), reason)


def pinned_names(always: Iterable[str], allowed: Collection[str]) -> tuple[str, ...]:
    """The always-tools that exist and are allowed, each once, in the order of the setting."""
    return tuple(dict.fromkeys(name for name in always if name in allowed))


def with_quota(
    names: Iterable[str], server_of: Callable[[str], str], limit: int, per_server: int
) -> tuple[str, ...]:
    """At most ``limit`` names, best first, of one server more than ``per_server`` only to fill up.

    So a server with hundreds of alike tools can't crowd out the rest, and no place stays empty.
    """
    counts: dict[str, int] = {}
    ranked = list(dict.fromkeys(names))
    within = set()
    for name in ranked:
        server = server_of(name)
        counts[server] = counts.get(server, 0) + 1
        if counts[server] <= per_server:
            within.add(name)
    first = [name for name in ranked if name in within][:limit]
    extra = [name for name in ranked if name not in within][: limit - len(first)]
    chosen = {*first, *extra}
    return tuple(name for name in ranked if name in chosen)
