"""Takes a host's prompt before its model sees it, and says which tools the turn needs.

A prompt concerns the sessions of its host: over stdio that is the one client; over HTTP those that
call themselves by the host's name (or by none that is known) and have heard no prompt of another
conversation, or, where there is none such, all of that name. For each the selector runs once, the
client is told at once that its list has changed, and is given until the hook's time is up to list
again. What it does not show its model in time the answer names.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from toolpick.engine.forms import total_tokens
from toolpick.engine.selections import Superseded
from toolpick.errors import GatewayError
from toolpick.model import META_TOOLS
from toolpick.turns import UNKNOWN, context, in_environment, recognise, resolve
from toolpick_selectors.contract import TurnRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolpick.engine.engine import Engine
    from toolpick.engine.session import Session
    from toolpick.model import Query
    from toolpick.turns import ClientTraits, Surface

log = logging.getLogger("toolpick.hook")

LONGEST = 30.0
"""Most seconds that a hook is kept waiting, whatever it asks for."""
UNHEEDED = 2
"""Changes in a row that a client lets pass before nobody waits for it any more."""
GRACE, HTTP_GRACE = 0.03, 0.05
"""Seconds from writing a list to counting on it: written is not yet received, let alone read.

Without them Gemini CLI was seen to ask its model with the list before, over pipes as over HTTP.
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a hook says. ``server`` is the gateway's name at the client, "" if the hook has none.

    ``profile`` is the one that the client chose, "" where the hook does not know.
    """

    text: str
    host: str
    conversation: str
    wait: float
    server: str = ""
    profile: str = ""
    environ: Mapping[str, str] | None = None
    """Those variables of the host that say how it treats lists; None: the hook sent none."""


@dataclass(slots=True)
class Turn:
    """How far one session is with a prompt."""

    chosen: anyio.Event = field(default_factory=anyio.Event)
    """The selection has come to an end, good or bad."""
    picks: tuple[str, ...] = ()
    """What was selected, best first."""
    shown: frozenset[str] = frozenset()
    """What was listed to the client before."""
    told: int = 0
    """Streams that were told of the change."""
    lists: int = 0
    """Lists that had been answered then."""
    in_time: bool = False
    """Whether what the client has listed is up to date."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """Ends the selection when the next prompt comes first."""


class Hooks:
    """Prompts for all sessions of one engine."""

    def __init__(self, engine: Engine) -> None:
        """Belongs to one engine."""
        self._engine = engine

    async def prompt(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Begin the turn of a prompt; what the hook is to tell its host, when it is to go on."""
        prompt = read(said)
        query = resolve(hook_query=prompt.text, conversation=prompt.conversation)
        if query is None:
            return {}
        sessions = self._concerned(prompt)
        if not self._engine.sessions and self._engine.client_environ is not None:
            self._engine.early_query = query
        turns = [(session, self._begin(session, query, prompt)) for session in sessions]
        with anyio.move_on_after(prompt.wait):
            async with anyio.create_task_group() as waiting:
                for session, turn in turns:
                    waiting.start_soon(self._until_shown, session, turn)
        answers = [self._answer(session, turn, prompt) for session, turn in turns]
        for session, turn in turns:
            if turn.told and not turn.in_time:
                session.unheeded += 1
            log.info(
                "event=prompt host=%r client=%r surface=%s picks=%d told=%d in_time=%s",
                prompt.host,
                session.client_name,
                session.said,
                len(turn.picks),
                turn.told,
                turn.in_time,
            )
        return max(answers, key=lambda answer: len(answer["context"]), default={})

    async def selection(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """The names that a model may call first in this turn, and whether it has called one.

        Of the picks only as many as one selection is meant to have: the rest is there to be named.
        """
        most = self._engine.settings.selector.limit
        sessions = [session for session in self._concerned(read(said)) if session.picks]
        names = [
            name
            for session in sessions
            for name in (*META_TOOLS, *session.profile.always, *session.picks[:most])
        ]
        called = any(session.calls for session in sessions)
        return {"names": list(dict.fromkeys(names)), "called": called}

    # -- whom it concerns

    def _concerned(self, prompt: Prompt) -> list[Session]:
        alike = [
            session
            for session in self._engine.sessions
            if not (prompt.host and session.traits.hook and session.traits.hook != prompt.host)
            and prompt.profile in ("", session.profile.name)
        ]
        if len(alike) < 2 or not prompt.conversation:
            return alike
        own = [s for s in alike if s.host_session in ("", prompt.conversation) or s.out is None]
        return own or alike

    # -- the turn

    def _begin(self, session: Session, query: Query, prompt: Prompt) -> Turn:
        """Let the selector run, in a task that outlives the hook's patience."""
        before = session.turn
        if before is not None:
            again = session.query == query and not session.calls
            if again and (before.picks or not before.chosen.is_set()):
                return before  # a client with two hooks says everything twice
            before.scope.cancel()
        session.turn = turn = Turn()
        if session.surface is not None:
            turn.shown = frozenset(session.surface.names)
        session.query, session.host_session = query, prompt.conversation
        session.chosen, session.picks, session.calls = ("", ""), (), 0
        if self._nothing_to_choose(session, prompt):
            turn.in_time = True
            turn.chosen.set()
        else:
            self._engine.run(self._choose, session, query, turn, prompt.wait)
        return turn

    async def _choose(self, session: Session, query: Query, turn: Turn, patience: float) -> None:
        engine = self._engine
        try:
            with turn.scope:
                if session.pool.starting:
                    await session.pool.settled(patience / 2)
                await engine.turns.begin(session, query, session.out)
                turn.picks = session.picks
                turn.lists = session.lists
                turn.told = engine.tell_view(session)
                turn.in_time = not turn.told
        except Superseded:
            log.info("event=superseded client=%r", session.client_name)
        except (GatewayError, TurnRefused) as error:
            log.warning("event=no_selection reason=%r", str(error))
        finally:
            turn.chosen.set()

    async def _until_shown(self, session: Session, turn: Turn) -> None:
        await turn.chosen.wait()
        if not turn.told or turn.in_time or not self._listens(session):
            return
        await session.until_listed(turn.lists + turn.told)
        turn.in_time = True
        await anyio.sleep(HTTP_GRACE if self._engine.client_environ is None else GRACE)

    def _listens(self, session: Session) -> bool:
        """Whether it makes sense to wait for a client to list again."""
        known = session.traits.relists or session.traits is UNKNOWN
        return known and session.unheeded < UNHEEDED

    def _nothing_to_choose(self, session: Session, prompt: Prompt) -> bool:
        """Whether the model sees every tool anyway."""
        turns = self._engine.turns
        mode, _ = turns.mode(session, True)
        if mode != "full":
            return False
        return not self._traits(session, prompt).defers or turns.forms.loads_all(session)

    def _traits(self, session: Session, prompt: Prompt) -> ClientTraits:
        """How the client treats lists, with what the hook knows of it."""
        own = self._engine.turns.traits(session)
        if own is not UNKNOWN and not own.unsure:
            return own
        known = own if own is not UNKNOWN else recognise(prompt.host)
        return in_environment(known, prompt.environ, total_tokens(session))

    # -- the answer

    def _answer(self, session: Session, turn: Turn, prompt: Prompt) -> dict[str, Any]:
        traits = self._traits(session, prompt)
        tools = session.pool.generation.tools
        surface = self._engine.turns.surface(session, True)
        seen = self._seen(session, turn, traits, surface)
        unseen = [tools[name] for name in turn.picks if name in tools and name not in seen]
        listed = turn.in_time and all(entry.exposed in surface.names for entry in unseen)
        prefix = f"mcp__{prompt.server}__" if prompt.server and traits.defers and listed else ""
        text = context(unseen, prefix, through=surface.mode != "full")
        return {
            "context": text if traits.takes_context else "",
            "selected": list(turn.picks),
            "surface": surface.mode,
            "listed_in_time": turn.in_time,
        }

    def _seen(
        self, session: Session, turn: Turn, traits: ClientTraits, surface: Surface
    ) -> frozenset[str]:
        """What the model is shown whole in this turn's first request."""
        forms, tools = self._engine.turns.forms, session.pool.generation.tools
        listed = {name for name in surface.names if name in tools}
        if not (turn.in_time and (traits.in_turn or not turn.told)):
            listed &= turn.shown
        if traits.defers:
            listed = {n for n in listed if forms.is_loaded(session, surface.mode, tools[n])}
        if surface.mode == "stubs":
            listed = {n for n in listed if forms.is_whole(session, tools[n])}
        return frozenset(listed)


def read(said: Mapping[str, Any]) -> Prompt:
    """What a hook sent, garbage taken for nothing."""
    wait, environ = said.get("wait"), said.get("environ")
    # in this order what is no number at all becomes 0, too
    seconds = min(max(0.0, wait), LONGEST) if isinstance(wait, int | float) else 0.0
    return Prompt(
        text=_text(said, "prompt"),
        host=_text(said, "host"),
        conversation=_text(said, "session_id"),
        wait=float(seconds),
        server=_text(said, "server"),
        profile=_text(said, "profile"),
        environ=_texts(environ) if isinstance(environ, dict) else None,
    )


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _texts(said: Mapping[Any, Any]) -> dict[str, str]:
    return {str(key): value for key, value in said.items() if isinstance(value, str)}
