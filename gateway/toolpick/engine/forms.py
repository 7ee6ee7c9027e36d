"""The definitions that make up a list: each tool in the form in which its client is shown it.

Keeps what it made for as long as a session's list is made of the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.catalog import legacy_form
from toolpick.model import Era
from toolpick.turns import definitions, estimate_total, hinted, loaded, stub

if TYPE_CHECKING:
    from toolpick.config.settings import Settings
    from toolpick.engine.session import Session
    from toolpick.model import ToolEntry
    from toolpick.turns import Surface

NONE: tuple[bytes, ...] = ()


class Forms:
    """Definitions for all sessions."""

    def __init__(self, settings: Settings) -> None:
        """Follow the settings."""
        self._threshold = settings.gateway.threshold_tokens

    def array(self, session: Session, surface: Surface, shown: tuple[bytes, ...]) -> bytes:
        """The listed array; ``shown`` are the definitions that ``of`` gave."""
        head = NONE if surface.mode == "full" else self.meta_tools(session)
        kept_head, kept_shown, array = session.array
        if kept_head is not head or kept_shown is not shown:
            array = b"[%b]" % b",".join((*head, *shown))
            session.array = (head, shown, array)
        return array

    def meta_tools(self, session: Session) -> tuple[bytes, ...]:
        """The gateway's own tools, over the session's catalog."""
        generation = session.pool.generation
        if session.meta_definitions[0] != generation.number:
            session.meta_definitions = (generation.number, definitions(generation.tools))
        return session.meta_definitions[1]

    def of(self, session: Session, surface: Surface) -> tuple[bytes, ...]:
        """The definitions of a surface, without those of the meta-tools."""
        tools = session.pool.generation.tools
        key = (
            session.pool.generation.number,
            surface.mode,
            surface.names,
            session.conversation.hydrated,
        )
        if session.shown[0] != key:
            entries = [tools[name] for name in surface.names if name in tools]
            session.shown = (
                key,
                tuple(self._form(session, surface.mode, entry) for entry in entries),
            )
        return session.shown[1]

    def _form(self, session: Session, mode: str, entry: ToolEntry) -> bytes:
        """A tool as this client is shown it."""
        raw = entry.raw
        if mode == "stubs" and not self.is_whole(session, entry):
            raw = stub(raw, hydrates=session.era is Era.LEGACY)
        elif session.era is Era.LEGACY and b'"outputSchema"' in raw:
            raw = legacy_form(raw)
        if self.is_loaded(session, mode, entry):
            return loaded(raw)
        return hinted(raw, entry) if mode == "provider" else raw

    def is_loaded(self, session: Session, mode: str, entry: ToolEntry) -> bool:
        """Whether a host that defers tools is to show this one all the same.

        That goes for always-tools, and for all of a catalog that is small enough for ``full``.
        """
        if mode == "full":
            return self.loads_all(session)
        always = entry.exposed in session.profile.always
        return always and (mode == "provider" or session.traits.defers or session.out is None)

    def loads_all(self, session: Session) -> bool:
        """Whether a host that defers tools is to show all that ``full`` lists."""
        return session.traits.defers and total_tokens(session) <= self._threshold

    def is_whole(self, session: Session, entry: ToolEntry) -> bool:
        """Whether a tool among stubs is shown in full: always, or once a legacy client used it."""
        if entry.exposed in session.profile.always:
            return True
        return session.era is Era.LEGACY and entry.exposed in session.conversation.hydrated


def total_tokens(session: Session) -> int:
    """About how many tokens the whole catalog takes."""
    generation = session.pool.generation
    if session.measured[0] != generation.number:
        total = estimate_total(entry.raw for entry in generation.tools.values())
        session.measured = (generation.number, total)
    return session.measured[1]
