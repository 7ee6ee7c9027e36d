"""Answers ``tools/call``, and sends every request that a server must answer on its way."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from toolpick.catalog import rewrite_links
from toolpick.downstream.state import State
from toolpick.engine import modern
from toolpick.engine.relay import Relay
from toolpick.errors import INVALID_PARAMS, RpcError, ServerError
from toolpick.model import Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from toolpick.downstream.link import Link
    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Exchange
    from toolpick.model import ToolEntry

LONGEST_WAIT = 30.0
"""Most seconds that a call waits for a server that is starting."""


class Tools:
    """Calls of tools, by exposed name."""

    def __init__(self, engine: Engine) -> None:
        """Belongs to one engine."""
        self._engine = engine

    def call(self, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a call on, or answer it where it is for a meta-tool."""
        name = exchange.text_param("name")
        entry = exchange.session.pool.generation.tools.get(name)
        if entry is not None:
            if self._engine.meta_tools.strict:
                return self._engine.meta_tools.call_checked(exchange, entry)
            self.call_entry(exchange, entry, exchange.params)
            return None
        meta_tool = self._engine.meta_tools.handlers.get(name)
        if meta_tool is not None:
            return meta_tool(exchange)
        return self.unknown(exchange, name, self.call)

    def call_entry(
        self,
        exchange: Exchange,
        entry: ToolEntry,
        params: env.Members,
        finish: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Pass a call on to its server; ``params`` are tools/call params without ``_meta``.

        ``finish`` has the last word on the result.
        """
        self._engine.turns.used(exchange.session, entry.exposed)
        link = exchange.session.pool.links[entry.server]
        self.forward(
            exchange,
            entry.server,
            {**params, "name": env.raw(entry.name)},
            name=entry.name,
            headers=self._parameter_headers(link, entry, params),
            repeatable=lambda: _repeatable(entry),
            finish=finish,
        )

    def _parameter_headers(
        self, link: Link, entry: ToolEntry, params: env.Members
    ) -> Mapping[str, str] | None:
        """``Mcp-Param-*`` headers for marked arguments, where the server is a modern HTTP one."""
        if b"x-mcp-header" not in entry.raw or link.settings.transport != "http":
            return None
        if link.greeted is None or link.greeted.era is not Era.MODERN:
            return None
        from mcp.shared.inbound import mcp_param_headers, x_mcp_header_map

        schema = env.value(env.members(entry.raw).get("inputSchema", b"{}"))
        return mcp_param_headers(
            x_mcp_header_map(schema), env.value(params.get("arguments", b"{}")) or {}
        )

    def forward(
        self,
        exchange: Exchange,
        server: str,
        params: env.Members,
        *,
        name: str = "",
        headers: Mapping[str, str] | None = None,
        repeatable: Callable[[], bool] | None = None,
        finish: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Send a request to a server, at once where it is up, else when it is.

        A modern client that comes back to a parked call is answered with what became of that.

        Raises:
            RpcError: it comes back with a state that is not, or no longer, good.
        """
        if exchange.modern and "requestState" in params:
            target = (exchange.method, server, name)
            if self._engine.parking.resume(exchange, target):
                return
        link = exchange.session.pool.links[server]

        def last_word(body: bytes) -> bytes:
            body = rewrite_links(exchange.session.pool.generation, server, body)
            return finish(body) if finish is not None else body

        relay = Relay(
            exchange,
            link,
            params,
            name=name,
            timeout=link.settings.timeout,
            headers=headers,
            repeatable=repeatable,
            again=self._send_later,
            parking=self._engine.parking,
            finish=last_word,
        )
        if link.peer is not None and link.state is State.UP:
            relay.send(link.peer)
        else:
            self._send_later(relay)

    def _send_later(self, relay: Relay) -> None:
        async def send() -> None:
            relay.send(await relay.link.usable(min(relay.link.settings.timeout, LONGEST_WAIT)))

        self._engine.spawn(relay.exchange, send())

    def answer_with(self, exchange: Exchange, link: Link, body: bytes) -> None:
        """Answer with a result that was had from a server without a relay."""
        server_modern = link.greeted is not None and link.greeted.era is Era.MODERN
        if server_modern and not exchange.modern:
            body = modern.plain(body)
        elif exchange.modern and not server_modern:
            body = modern.complete(body)
        if exchange.modern and exchange.method == "resources/read":
            body = modern.cacheable(body)
        exchange.reply(rewrite_links(exchange.session.pool.generation, link.name, body))

    # -- names that are not in the catalog

    def unknown(
        self, exchange: Exchange, name: str, again: Callable[[Exchange], Awaitable[None] | None]
    ) -> Awaitable[None] | None:
        """Say why there is no such tool; wait first where its server is still starting.

        Raises:
            RpcError: always, unless there is something to wait for.
        """
        link = self._server_of(exchange, name)
        if link is not None and link.coming:
            return self._when_there(exchange, name, self._up(link), again)
        if link is None and exchange.session.pool.starting:
            return self._when_there(exchange, name, self._listed(exchange, name), again)
        raise self.why_unknown(exchange, name)

    async def _up(self, link: Link) -> None:
        with suppress(ServerError):
            await link.usable(min(link.settings.timeout, LONGEST_WAIT))

    async def _listed(self, exchange: Exchange, name: str) -> None:
        pool = exchange.session.pool
        await pool.until(
            lambda: name in pool.generation.tools, self._engine.settings.gateway.list_wait
        )

    async def _when_there(
        self,
        exchange: Exchange,
        name: str,
        there: Awaitable[None],
        again: Callable[[Exchange], Awaitable[None] | None],
    ) -> None:
        await there
        if name not in exchange.session.pool.generation.tools:
            raise self.why_unknown(exchange, name)
        waiting = again(exchange)
        if waiting is not None:
            await waiting

    def why_unknown(self, exchange: Exchange, name: str) -> RpcError:
        """The error for a name that is not in the catalog. Says nothing of denied tools."""
        pool = exchange.session.pool
        candidates = pool.generation.candidates(name)
        if candidates:
            meant = " or ".join(repr(candidate) for candidate in candidates[:5])
            return RpcError(INVALID_PARAMS, f"Unknown tool: {name!r}; did you mean {meant}?")
        link = self._server_of(exchange, name)
        if link is not None and link.state is not State.UP:
            return RpcError(-32000, f"Tool {name!r} can't be called now: {link.unavailable()}")
        return RpcError(
            INVALID_PARAMS, f"Unknown tool: {name!r}; search_tools finds tools by what they do"
        )

    def _server_of(self, exchange: Exchange, name: str) -> Link | None:
        """The server whose prefix the name has, if it is the only one."""
        for link in exchange.session.pool.links.values():
            prefix = link.settings.name if link.settings.prefix is None else link.settings.prefix
            if prefix and name.startswith(f"{prefix}__"):
                return link
        return None


def _repeatable(entry: ToolEntry) -> bool:
    """Whether the tool says that calling it twice does no harm."""
    annotations = env.members(env.members(entry.raw).get("annotations", b""))
    return any(
        bytes(annotations.get(hint, b"")) == b"true" for hint in ("idempotentHint", "readOnlyHint")
    )
