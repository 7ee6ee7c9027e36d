"""Answers ``tools/list``: which surface a session gets, and why.

A legacy session's list may follow its conversation. A modern list depends on what its own request
carries, or on what was told out of band (a hook, the command line), never on earlier requests.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from toolpick.engine import lists
from toolpick.engine.exchange import CONVERSATION_KEY, QUERY_KEY
from toolpick.engine.forms import Forms, total_tokens
from toolpick.engine.sampling import on_behalf_of
from toolpick.engine.selections import Selections, Superseded, superseded
from toolpick.errors import INVALID_PARAMS, RpcError
from toolpick.model import Era
from toolpick.turns import (
    Conversation,
    Failure,
    Past,
    Picks,
    Policy,
    Surface,
    choose_mode,
    estimate_reread,
    fixed_surface,
    in_environment,
    resolve,
)
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from toolpick.catalog import Difference
    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Channel, Exchange
    from toolpick.engine.profile import Profile
    from toolpick.engine.session import Session
    from toolpick.model import Query
    from toolpick.turns import ClientTraits

log = logging.getLogger("toolpick.turn")

NAMED = 10
"""How many more tools a turn selects where a hook names them, which costs a third of listing."""
CARRIED = ("meta", "header")
"""Sources of queries that come with a request, and in the modern era concern it alone."""


class Turns:
    """Surfaces of all sessions."""

    def __init__(self, engine: Engine) -> None:
        """Belongs to one engine."""
        self._engine = engine
        self._gateway = engine.settings.gateway
        self.forms = Forms(engine.settings)
        self.selections = Selections(engine.settings.selector, engine.environ)

    def new_conversation(self, profile: Profile) -> Conversation:
        """A conversation that follows the settings, as a profile has them."""
        gateway = self._gateway
        return Conversation(Policy(profile.always, gateway.max_tools, gateway.stability))

    # -- the list

    def list(self, exchange: Exchange) -> Awaitable[None] | None:
        """Answer with the session's surface; at once where nothing is to be waited for."""
        cursor = exchange.params.get("cursor")
        if cursor is not None and bytes(cursor) != b"null":
            raise RpcError(INVALID_PARAMS, "Invalid params: unknown cursor; the list has one page")
        for link in exchange.session.pool.links.values():
            link.look_again()
        query = self.query(exchange)
        if lists.must_wait(exchange):
            return self._list_later(exchange, query)
        mode, _ = self.mode(exchange.session, query is not None)
        if mode == "turn" and query is not None and self._is_new(exchange, query):
            return self._list_later(exchange, query)
        self._answer(exchange, self.surface(exchange.session, query is not None), query)
        return None

    async def _list_later(self, exchange: Exchange, query: Query | None) -> None:
        if lists.must_wait(exchange):
            await lists.wait(self._engine, exchange)
        surface = await self._turn(exchange, query)
        while surface is None:
            query = self.query(exchange)
            surface = await self._turn(exchange, query)
        self._answer(exchange, surface, query)

    def query(self, exchange: Exchange) -> Query | None:
        """What this request's turn is about, from the strongest source that knows."""
        session = exchange.session
        outside, profile, command = session.query, session.profile, self._engine.command_query
        conversation = env.text(exchange.meta.get(CONVERSATION_KEY)) or ""
        return resolve(
            meta_query=env.text(exchange.meta.get(QUERY_KEY)),
            hook_query=outside.text if outside is not None else None,
            header_query=exchange.header_query,
            profile_query=profile.query.text if profile.query else None,
            command_query=command.text if command else None,
            conversation=conversation or (outside.conversation if outside is not None else ""),
        )

    def standing_query(self, session: Session) -> Query | None:
        """What a session's turns are about when a request says nothing itself."""
        return session.query or session.profile.query or self._engine.command_query

    def mode(self, session: Session, has_query: bool) -> tuple[str, str]:
        """The mode of a session's list, and why."""
        return choose_mode(
            session.profile.surface,
            era=session.era,
            total_tokens=total_tokens(session),
            threshold=self._gateway.threshold_tokens,
            has_query=has_query,
            tools=len(session.pool.generation.tools),
            client=self.traits(session),
        )

    def traits(self, session: Session) -> ClientTraits:
        """How a session's client treats lists, as far as that can be known."""
        total = total_tokens(session) if session.traits.defers else 0
        return in_environment(session.traits, self._engine.client_environ, total)

    def surface(self, session: Session, has_query: bool) -> Surface:
        """What the session is shown now, without choosing anew."""
        mode, reason = self.mode(session, has_query)
        allowed = tuple(session.pool.generation.tools)
        if mode == "turn" and session.conversation.turn:
            return session.conversation.refresh(allowed)
        return fixed_surface(mode, allowed, session.profile.always, reason)

    def _is_new(self, exchange: Exchange, query: Query) -> bool:
        """Whether a query begins a turn: for modern clients all do but those of hooks."""
        if _alone(exchange.session, query):
            return True
        return exchange.session.chosen != (query.text, query.conversation)

    async def _turn(self, exchange: Exchange, query: Query | None) -> Surface | None:
        """What to show for a query, chosen anew where it is new; None if it was superseded."""
        session = exchange.session
        mode, _ = self.mode(session, query is not None)
        if mode != "turn" or query is None or not self._is_new(exchange, query):
            return self.surface(session, query is not None)
        if _alone(session, query):
            outcome = await self._choose(session, query, exchange.channel, Past())
            if query.source not in CARRIED:
                session.picks = outcome.names if isinstance(outcome, Picks) else ()
            alone = self.new_conversation(session.profile)
            return alone.begin_turn(outcome, tuple(session.pool.generation.tools))
        try:
            await self.begin(session, query, exchange.channel)
        except Superseded:
            return None
        return self.surface(session, True)

    async def begin(self, session: Session, query: Query, channel: Channel | None) -> None:
        """Begin the turn of a query that the session's own list follows, unless it has begun.

        Raises:
            Superseded: a hook has told of another prompt meanwhile.
        """
        past = session.pasts.of(query.conversation).before(query.text)
        outcome = await self._choose(session, query, channel, past)
        if superseded(session, query):
            raise Superseded
        key = (query.text, query.conversation)
        if session.chosen == key:
            return
        session.chosen = key
        session.pasts.prompted(query.conversation, query.text)
        session.picks = outcome.names if isinstance(outcome, Picks) else ()
        if self._may_change(session):
            allowed, named = tuple(session.pool.generation.tools), self._names(session, query)
            session.conversation.begin_turn(outcome, allowed, named=named)
        else:
            log.info("client=%r note=%r", session.client_name, "list_changes is used up")

    async def _choose(
        self, session: Session, query: Query, channel: Channel | None, past: Past
    ) -> Picks | Failure:
        with on_behalf_of(session, channel):
            more = NAMED if self._names(session, query) else 0
            outcome = await self.selections.choose(session, query, past, more)
        if outcome.failed:
            return Failure(outcome.failed)
        names = tuple(pick.id for pick in outcome.picks)
        return Picks(names, outcome.reason, outcome.topic)

    def _names(self, session: Session, query: Query) -> bool:
        """Whether a hook names to the model what of a turn's picks it is not shown."""
        return query.source == "hook" and self.traits(session).takes_context

    def _answer(self, exchange: Exchange, surface: Surface, query: Query | None) -> None:
        session = exchange.session
        self._engine.tell_changes(session)
        shown = self.forms.of(session, surface)
        if not (exchange.modern and query is not None and query.source in CARRIED):
            session.surface, session.listed = surface, shown
            self._say(session, surface)
        lists.frame(exchange, "tools", self.forms.array(session, surface, shown))
        session.note_list()

    def _say(self, session: Session, surface: Surface) -> None:
        """When a client is shown another kind of list: log why, and get ready for its prompts."""
        if session.said == surface.mode:
            return
        session.said = surface.mode
        _, why = self.mode(session, self.standing_query(session) is not None)
        log.info("client=%r surface=%s why=%r", session.client_name, surface.mode, why)
        if surface.mode != "full":
            entries = tuple(session.pool.generation.tools.values())
            self._engine.run(self.selections.prepare, entries)

    # -- changes

    def catalog_changed(self, session: Session, difference: Difference) -> None:
        """Index what is new in the background, if it may be searched."""
        if difference.tools and not session.pool.starting:
            mode, _ = self.mode(session, True)
            if mode != "full":
                self._engine.run(
                    self.selections.prepare, tuple(session.pool.generation.tools.values())
                )

    def view_changed(self, session: Session) -> bool:
        """Whether the client would see other tools than it was last shown or told of."""
        if session.listed is None:
            return False
        query = self.standing_query(session)
        mode, _ = self.mode(session, query is not None)
        if mode == "turn" and query is not None and _alone(session, query):
            # what would be chosen now is known only once it is listed again
            return True
        shown = self.forms.of(session, self.surface(session, query is not None))
        if shown == session.listed:
            return False
        session.reread += estimate_reread(session.listed, shown, session.traits.keeps_order)
        session.listed = shown
        return True

    def used(self, session: Session, name: str) -> None:
        """Note that a tool was called. What a modern client is listed never depends on it."""
        session.calls += 1
        if session.era is Era.MODERN:
            return
        session.pasts.called(name)
        if not self._may_change(session):
            return
        if session.conversation.use(name) and session.said == "stubs":
            self._engine.report_view(session)

    def found(self, session: Session, names: Sequence[str]) -> None:
        """Note what a search found; a legacy client in ``turn`` mode is shown it from now on."""
        if session.out is not None:
            session.found.update(names)
        mode, _ = self.mode(session, False)
        if session.era is Era.LEGACY and mode == "turn" and names and self._may_change(session):
            session.conversation.found(names, tuple(session.pool.generation.tools))
            self._engine.report_view(session)

    def _may_change(self, session: Session) -> bool:
        """Whether the list may change for what happens in the conversation."""
        limit = self._gateway.list_changes
        return not limit or session.changes < limit


def _alone(session: Session, query: Query) -> bool:
    """Whether a list is chosen for its query and the catalog alone, whatever was listed before.

    So it is for modern clients, whose lists may not depend on earlier requests. A hook's prompts
    come out of band, and its turns follow one another.
    """
    return session.era is Era.MODERN and query.source != "hook"
