"""Answers ``tools/list`` and the meta-tools: which surface a session gets, and why.

A legacy session's list may follow its conversation. A modern list depends on what its own request
carries, or on what was told out of band (a hook, the command line), never on earlier requests.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from toolpick.catalog import legacy_form
from toolpick.engine import lists, modern
from toolpick.engine.exchange import CONVERSATION_KEY, QUERY_KEY
from toolpick.engine.sampling import on_behalf_of
from toolpick.engine.selections import Selections
from toolpick.errors import INVALID_PARAMS, RpcError
from toolpick.model import Era
from toolpick.turns import (
    BadSearch,
    Conversation,
    Failure,
    Picks,
    Policy,
    Surface,
    arguments_problem,
    choose_mode,
    definitions,
    estimate_total,
    fixed_surface,
    read_search,
    resolve,
    search_answer,
    stub,
    text_result,
)
from toolpick.turns.metatools import CALL, SEARCH
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolpick.catalog import Difference
    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Exchange
    from toolpick.engine.session import Session
    from toolpick.model import Query, ToolEntry

log = logging.getLogger("toolpick.turn")

LIVE = 0.5
"""Seconds that a search waits for servers to list again."""


class Turns:
    """Surfaces of all sessions."""

    def __init__(self, engine: Engine) -> None:
        """Belongs to one engine."""
        self._engine = engine
        self.selections = Selections(engine.settings.selector, engine.environ)
        self.meta_tools: dict[str, Callable[[Exchange], Awaitable[None] | None]] = {
            SEARCH: self._search,
            CALL: self._call,
        }

    def new_conversation(self) -> Conversation:
        """A conversation that follows the settings."""
        gateway, selector = self._engine.settings.gateway, self._engine.settings.selector
        return Conversation(Policy(selector.always, gateway.max_tools, gateway.stability))

    # -- the list

    def list(self, exchange: Exchange) -> Awaitable[None] | None:
        """Answer with the session's surface; at once where nothing is to be waited for."""
        cursor = exchange.params.get("cursor")
        if cursor is not None and bytes(cursor) != b"null":
            raise RpcError(INVALID_PARAMS, "Invalid params: unknown cursor; the list has one page")
        query = self.query(exchange)
        if lists.must_wait(exchange):
            return self._list_later(exchange, query)
        mode, _ = self.mode(exchange.session, query is not None)
        if mode == "turn" and query is not None and self._is_new(exchange, query):
            return self._list_later(exchange, query)
        self._answer(exchange, self.surface(exchange.session, query is not None))
        return None

    async def _list_later(self, exchange: Exchange, query: Query | None) -> None:
        session = exchange.session
        if lists.must_wait(exchange):
            await lists.wait(self._engine, exchange)
        mode, _ = self.mode(session, query is not None)
        if mode == "turn" and query is not None and self._is_new(exchange, query):
            self._answer(exchange, await self._turn(exchange, query))
        else:
            self._answer(exchange, self.surface(session, query is not None))

    def query(self, exchange: Exchange) -> Query | None:
        """What this request's turn is about, from the strongest source that knows."""
        session = exchange.session
        outside = session.query
        return resolve(
            meta_query=env.text(exchange.meta.get(QUERY_KEY)),
            hook_query=outside.text if outside is not None else None,
            header_query=exchange.header_query,
            command_query=self._engine.command_query.text if self._engine.command_query else None,
            conversation=env.text(exchange.meta.get(CONVERSATION_KEY)) or "",
        )

    def mode(self, session: Session, has_query: bool) -> tuple[str, str]:
        """The mode of a session's list, and why."""
        gateway = self._engine.settings.gateway
        return choose_mode(
            gateway.surface,
            era=session.era,
            total_tokens=self.total_tokens(session),
            threshold=gateway.threshold_tokens,
            has_query=has_query,
        )

    def total_tokens(self, session: Session) -> int:
        """About how many tokens the whole catalog takes."""
        generation = session.pool.generation
        if session.measured[0] != generation.number:
            total = estimate_total(entry.raw for entry in generation.tools.values())
            session.measured = (generation.number, total)
        return session.measured[1]

    def surface(self, session: Session, has_query: bool) -> Surface:
        """What the session is shown now, without choosing anew."""
        mode, reason = self.mode(session, has_query)
        allowed = tuple(session.pool.generation.tools)
        if mode == "turn" and session.conversation.turn:
            return session.conversation.refresh(allowed)
        return fixed_surface(mode, allowed, self._engine.settings.selector.always, reason)

    def _is_new(self, exchange: Exchange, query: Query) -> bool:
        """Whether a query begins a turn: request-carried ones always do for modern clients."""
        if exchange.modern and query.source in ("meta", "header"):
            return True
        return exchange.session.chosen != (query.text, query.conversation)

    async def _turn(self, exchange: Exchange, query: Query) -> Surface:
        """Choose for a query, and show what was chosen."""
        session = exchange.session
        with on_behalf_of(session, exchange.channel):
            outcome = await self.selections.choose(session, query)
        allowed = tuple(session.pool.generation.tools)
        result = (
            Failure(outcome.failed)
            if outcome.failed
            else Picks(tuple(p.id for p in outcome.picks), outcome.reason)
        )
        if exchange.modern and query.source in ("meta", "header"):
            return self.new_conversation().begin_turn(result, allowed)
        session.chosen = (query.text, query.conversation)
        return session.conversation.begin_turn(result, allowed)

    def _answer(self, exchange: Exchange, surface: Surface) -> None:
        session = exchange.session
        self._engine.tell_changes(session)
        if not (exchange.modern and surface.mode == "turn"):
            session.surface = surface
        shown = self._definitions(session, surface)
        session.listed = shown
        head = () if surface.mode == "full" else self._meta_definitions(session)
        lists.frame(exchange, "tools", self._array(session, surface, head, shown))

    def _array(
        self, session: Session, surface: Surface, head: tuple[bytes, ...], shown: tuple[bytes, ...]
    ) -> bytes:
        """The listed array, kept for as long as it would be made of the same definitions."""
        if surface.mode == "full" and session.array[0] is shown:
            return session.array[1]
        array = b"[%b]" % b",".join((*head, *shown))
        session.array = (shown, array)
        return array

    def _meta_definitions(self, session: Session) -> tuple[bytes, ...]:
        generation = session.pool.generation
        if session.meta_definitions[0] != generation.number:
            session.meta_definitions = (generation.number, definitions(generation.tools))
        return session.meta_definitions[1]

    def _definitions(self, session: Session, surface: Surface) -> tuple[bytes, ...]:
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
            return stub(raw)
        if session.era is Era.LEGACY and b'"outputSchema"' in raw:
            return legacy_form(raw)
        return raw

    def is_whole(self, session: Session, entry: ToolEntry) -> bool:
        """Whether a tool among stubs is shown in full: always, or once a legacy client used it."""
        if entry.exposed in self._engine.settings.selector.always:
            return True
        return session.era is Era.LEGACY and entry.exposed in session.conversation.hydrated

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
        query = session.query or self._engine.command_query
        shown = self._definitions(session, self.surface(session, query is not None))
        changed = shown != session.listed
        session.listed = shown
        return changed

    def used(self, session: Session, name: str) -> None:
        """Note that a tool was called."""
        session.conversation.use(name)

    # -- meta-tools

    def _search(self, exchange: Exchange) -> Awaitable[None]:
        return self._search_later(exchange)

    async def _search_later(self, exchange: Exchange) -> None:
        session = exchange.session
        if lists.must_wait(exchange):
            await lists.wait(self._engine, exchange)
        await self._list_again(session)
        servers = list(
            dict.fromkeys(entry.server for entry in session.pool.generation.tools.values())
        )
        try:
            search = read_search(env.value(exchange.params.get("arguments", b"{}")), servers)
        except BadSearch as error:
            self._reply_text(exchange, f"search_tools: {error}", is_error=True)
            return
        tools = session.pool.generation.tools
        among = [entry for entry in tools.values() if search.server in ("", entry.server)]
        with on_behalf_of(session, exchange.channel):
            outcome = await self.selections.search(search.query, among, search.limit)
        names = [pick.id for pick in outcome.picks]
        surface_mode, _ = self.mode(session, False)
        if session.era is Era.LEGACY and surface_mode == "turn" and names:
            session.conversation.found(names, tuple(tools))
            self._engine.report_view(session)
        self._reply_text(exchange, search_answer(tools, names, replace(search), outcome.degraded))

    async def _list_again(self, session: Session) -> None:
        """Have servers list again whose list is not fresh, for a short time."""
        with anyio.move_on_after(LIVE):
            async with anyio.create_task_group() as group:
                for link in session.pool.links.values():
                    if link.list_age > LIVE:
                        group.start_soon(link.refresh)

    def _reply_text(self, exchange: Exchange, text: str, *, is_error: bool = False) -> None:
        body = text_result(text, is_error)
        exchange.reply(modern.complete(body) if exchange.modern else body)

    def _call(self, exchange: Exchange) -> Awaitable[None]:
        return self._call_later(exchange)

    async def _call_later(self, exchange: Exchange) -> None:
        given = env.members(exchange.params.get("arguments", b""))
        name = env.text(given.get("name"))
        if name is None:
            self._reply_text(
                exchange, 'call_tool: "name" must be the name of a tool, as text', is_error=True
            )
            return
        entry = exchange.session.pool.generation.tools.get(name)
        if entry is None:
            await self._call_unknown(exchange, name)
            return
        arguments = given.get("arguments", env.NOTHING)
        problem = await self.problem(entry, arguments)
        if problem:
            self._reply_text(exchange, f"{name} was not called: {problem}", is_error=True)
            return
        params = {
            key: value for key, value in exchange.params.items() if key not in ("name", "arguments")
        }
        if arguments:
            params["arguments"] = arguments
        self._engine.tools.call_entry(exchange, entry, params)

    async def _call_unknown(self, exchange: Exchange, name: str) -> None:
        try:
            waiting = self._engine.tools.unknown(exchange, name, self._call)
            if waiting is not None:
                await waiting
        except RpcError as error:
            self._reply_text(exchange, str(error), is_error=True)

    async def problem(self, entry: ToolEntry, arguments: env.Body) -> str:
        """What is wrong with arguments, held against the tool's real schema; "" if nothing is."""
        schema = bytes(env.members(entry.raw).get("inputSchema", b"{}"))
        given: Any = env.value(arguments) if arguments else {}
        return await anyio.to_thread.run_sync(arguments_problem, schema, given)
