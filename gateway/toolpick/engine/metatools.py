"""Answers the gateway's own tools, and looks at calls that are not simply passed on.

``search_tools`` ranks what servers list now; ``call_tool`` and stubs have their arguments held
against the real schema; with ``enforce = "selected"`` what the turn was not shown is refused.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from toolpick.engine import lists, modern
from toolpick.engine.sampling import on_behalf_of
from toolpick.errors import RpcError
from toolpick.model import Era
from toolpick.turns import (
    BadSearch,
    arguments_problem,
    arguments_text,
    read_search,
    search_answer,
    text_result,
    with_text,
)
from toolpick.turns.arguments import LARGEST
from toolpick.turns.metatools import CALL, SEARCH
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Exchange
    from toolpick.engine.session import Session
    from toolpick.model import ToolEntry

LIVE = 0.5
"""Seconds that a search waits for servers to list again."""


class MetaTools:
    """``search_tools`` and ``call_tool``, by name in ``handlers``."""

    def __init__(self, engine: Engine) -> None:
        """Belongs to one engine, whose turns exist."""
        self._engine = engine
        self._turns = engine.turns
        self._gateway = engine.settings.gateway
        surfaces = {engine.profile(each.name).surface for each in engine.settings.profiles}
        surfaces.add(self._gateway.surface)
        self.strict = "stubs" in surfaces or self._gateway.enforce == "selected"
        """Whether calls by name are looked at before they are passed on."""
        self.handlers: dict[str, Callable[[Exchange], Awaitable[None]]] = {
            SEARCH: self._search,
            CALL: self._call,
        }

    async def _search(self, exchange: Exchange) -> None:
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
            outcome = await self._turns.selections.search(search.query, among, search.limit)
        names = [pick.id for pick in outcome.picks]
        self._turns.found(session, names)
        missing = session.pool.missing
        self._reply_text(exchange, search_answer(tools, names, search, outcome.degraded, missing))

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

    async def _call(self, exchange: Exchange) -> None:
        try:
            given = env.members(exchange.params.get("arguments", b""))
        except RpcError:
            self._reply_text(
                exchange, "call_tool: the arguments must be an object with a name", is_error=True
            )
            return
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
        problem = self._refused(exchange.session, entry) or await self.problem(entry, arguments)
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

    # -- calls that are looked at first

    def call_checked(self, exchange: Exchange, entry: ToolEntry) -> Awaitable[None] | None:
        """Call a tool by its name, where it may be off the surface, or on it as a stub."""
        session = exchange.session
        if session.profile.surface == "stubs" and not self._turns.forms.is_whole(session, entry):
            return self._call_stub(exchange, entry)
        problem = self._refused(session, entry)
        if problem:
            said = f"{entry.exposed} was not called: {problem}"
            self._reply_text(exchange, said, is_error=True)
        else:
            self._engine.tools.call_entry(exchange, entry, exchange.params)
        return None

    async def _call_stub(self, exchange: Exchange, entry: ToolEntry) -> None:
        arguments = exchange.params.get("arguments", env.NOTHING)
        problem = await self.problem(entry, arguments)
        if problem:
            said = f"{entry.exposed} was not called: {problem}"
            self._reply_text(exchange, said, is_error=True)
            return
        session = exchange.session
        # a stub that stays one: its arguments come with the first answer instead
        finish = None
        stays = session.era is Era.MODERN and session.out is not None
        if stays and entry.exposed not in session.explained:
            session.explained.add(entry.exposed)
            finish = partial(with_text, text=arguments_text(entry))
        self._engine.tools.call_entry(exchange, entry, exchange.params, finish)

    def _refused(self, session: Session, entry: ToolEntry) -> str:
        """Why a tool that is allowed can't be called for now; "" where it can."""
        if self._gateway.enforce != "selected":
            return ""
        name = entry.exposed
        if name in session.picks or name in session.found:
            return ""
        query = self._turns.standing_query(session)
        if name in self._turns.surface(session, query is not None).names:
            return ""
        remedy = f"find it with {SEARCH} first" if session.out is not None else "use a listed one"
        return f"only this turn's tools can be called here, and it is none of them; {remedy}"

    async def problem(self, entry: ToolEntry, arguments: env.Body) -> str:
        """What is wrong with arguments, held against the tool's real schema; "" if nothing is."""
        if len(bytes(arguments)) > LARGEST:
            return ""
        schema = bytes(env.members(entry.raw).get("inputSchema", b"{}"))
        given: Any = env.value(arguments) if arguments else {}
        return await anyio.to_thread.run_sync(arguments_problem, schema, given)
