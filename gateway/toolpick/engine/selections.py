"""The selections of all sessions: at most one a turn, whoever asks; searches have their own."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from toolpick.engine.sampling import sample
from toolpick.selection import Outcome, Runner
from toolpick.turns import with_quota

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolpick.config.settings import SelectorSettings
    from toolpick.engine.session import Session
    from toolpick.model import Query, ToolEntry
    from toolpick.turns import Past

log = logging.getLogger("toolpick.selector")

KEPT = 64
"""Selections kept, so that those who ask again within a turn get the same."""


SHARE = 0.6
"""Of the limit, what one server gets at most while others match, unless the settings say more."""
WIDE = 4
"""Times the limit that is asked for, so that other servers' tools are among the picks at all."""
DEAR = ("rewriting", "rerank")
"""Kinds of selector that think longer, or otherwise, when asked for more picks."""


class Superseded(Exception):
    """Nobody needs this turn's selection any more: the next turn has begun."""


class _Pending:
    """A selection that somebody is making."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.outcome: Outcome | None = None


class Selections:
    """Runs the selector that the settings name; ``lexical`` stands in for it when it fails."""

    def __init__(self, settings: SelectorSettings, environ: Mapping[str, str]) -> None:
        """Nothing is loaded before the first use."""
        self._settings = settings
        self._environ = environ
        self._runner = Runner(
            settings.kind,
            settings.options,
            settings.timeout,
            self._parts,
            minimum=settings.minimum,
        )
        self._fallback = Runner("lexical", {}, settings.timeout)
        self._turns: dict[tuple[str, str, str, Past], _Pending] = {}

    def _parts(self) -> Any:
        from toolpick_selectors.registry import Parts

        return Parts(
            options=self._settings.options,
            folder=cache_folder(self._environ),
            sample=sample,
            progress=lambda line: log.info("note=%r", line),
        )

    async def aclose(self) -> None:
        """Close what the selector holds open."""
        await self._runner.aclose()

    async def check(self) -> None:
        """Build the selector.

        Raises:
            SelectionError: the settings don't describe one that can be built.
        """
        await self._runner.selector()

    async def prepare(self, entries: Sequence[ToolEntry]) -> None:
        """Index tools ahead of the first query."""
        await self._runner.prepare(entries)

    async def choose(self, session: Session, query: Query, past: Past, more: int = 0) -> Outcome:
        """The selection of a turn; those who ask for the same turn share it.

        ``past`` is what the conversation has been about; ``more`` tools are selected than usual.

        Raises:
            Superseded: the turn is over, and the selection was given up.
        """
        # A server that came up within the turn makes a new generation, to choose from anew.
        place = f"{session.number} {session.pool.generation.number}"
        key = (place, query.conversation, query.text, past)
        while (pending := self._turns.get(key)) is not None:
            await pending.done.wait()
            if pending.outcome is not None:
                return pending.outcome
            if superseded(session, query):
                raise Superseded
        pending = self._turns[key] = _Pending()
        try:
            tools, whose = session.pool.generation.tools, _whose(session, query)
            pending.outcome = await self.select(query.text, tools, past, more, whose)
        finally:
            if pending.outcome is None:
                self._turns.pop(key, None)
            pending.done.set()
        while len(self._turns) > KEPT:
            self._turns.pop(next(iter(self._turns)))
        return pending.outcome

    async def select(
        self, text: str, tools: Mapping[str, ToolEntry], past: Past, more: int, whose: str = ""
    ) -> Outcome:
        """As ``choose``, of these tools by exposed name, for nobody in particular."""
        limit = self._settings.limit + more
        outcome = await self._runner.select(
            text,
            tuple(tools.values()),
            limit=self._wide(limit),
            conversation=past.prompts,
            conversation_id=whose,
            used=past.called,
            generous=more > 0,
        )
        return self._shared_out(outcome, tools, limit)

    def _wide(self, limit: int) -> int:
        """How many picks to ask for, so that some of other servers are left to fill up with."""
        return self._settings.limit if self._settings.kind in DEAR else WIDE * limit

    def _shared_out(self, outcome: Outcome, tools: Mapping[str, ToolEntry], limit: int) -> Outcome:
        """At most ``limit`` picks, of one server no more than its share while others match."""
        if len(outcome.picks) <= limit:
            return outcome
        most = self._settings.per_server or max(1, int(SHARE * limit))
        names = [pick.id for pick in outcome.picks if pick.id in tools]
        kept = set(with_quota(names, lambda name: tools[name].server, limit, most))
        return replace(outcome, picks=tuple(pick for pick in outcome.picks if pick.id in kept))

    async def search(self, query: str, entries: Sequence[ToolEntry], limit: int) -> Outcome:
        """Rank for the model's own query; where the selector fails, by shared words."""
        # the model said how many it wants, so all that match are welcome
        outcome = await self._runner.select(query, entries, limit=limit, generous=True)
        if outcome.failed:
            again = await self._fallback.select(query, entries, limit=limit)
            return Outcome(again.picks, again.reason, outcome.failed)
        return outcome


def _whose(session: Session, query: Query) -> str:
    """The conversation, as nobody else can name it: clients choose their own ids."""
    if not query.conversation:
        return ""
    return "\0".join((session.profile.name, session.key, query.conversation))


def superseded(session: Session, query: Query) -> bool:
    """Whether a hook has told the session of another prompt since."""
    return query.source == "hook" and session.query is not None and session.query != query


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where caches are kept: ``toolpick`` in the user's cache folder."""
    base = environ.get("XDG_CACHE_HOME") or environ.get("LOCALAPPDATA")
    # clients may start us without these variables: never in whatever folder that happens in
    home = environ.get("HOME") or environ.get("USERPROFILE") or os.path.expanduser("~")  # noqa: PTH111
    return Path(base or Path(home) / ".cache") / "toolpick"
