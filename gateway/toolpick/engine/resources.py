"""Answers lists and reads of resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.catalog import listing
from toolpick.engine import modern
from toolpick.engine.lists import answer_list, known
from toolpick.errors import INVALID_PARAMS, GatewayError, RpcError
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from toolpick.catalog import Route
    from toolpick.downstream.link import Link
    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Exchange

NOT_FOUND = -32002
"""Code of an unknown resource in the legacy era; the modern one uses invalid params."""


class Resources:
    """Resources of all servers, under their own URIs wherever these are unambiguous."""

    def __init__(self, engine: Engine) -> None:
        """Belongs to one engine."""
        self._engine = engine

    def list_all(self, exchange: Exchange) -> Awaitable[None] | None:
        """List them, on one page."""
        pool = exchange.session.pool
        return answer_list(
            self._engine, exchange, "resources", lambda: listing(pool.generation.resources.values())
        )

    def list_templates(self, exchange: Exchange) -> Awaitable[None] | None:
        """List templates, on one page."""
        pool = exchange.session.pool
        return answer_list(
            self._engine,
            exchange,
            "resourceTemplates",
            lambda: listing(pool.generation.templates.values()),
        )

    def read(self, exchange: Exchange) -> Awaitable[None] | None:
        """Pass on to the server that has it; try each where nobody announced it."""
        uri, pool = exchange.text_param("uri"), exchange.session.pool
        return known(self._engine, exchange, lambda: bool(pool.generation.owners(uri)), self._read)

    def _read(self, exchange: Exchange) -> Awaitable[None] | None:
        uri = exchange.text_param("uri")
        route = find_route(exchange, uri)
        if route is not None:
            params = {**exchange.params, "uri": env.raw(route.uri)}
            finish = modern.cacheable if exchange.modern else None
            self._engine.tools.forward(
                exchange, route.server, params, name=route.uri, finish=finish
            )
            return None
        able = [
            link.name for link in exchange.session.pool.links.values() if _has(link, "resources")
        ]
        if len(able) == 1:
            self._engine.tools.forward(exchange, able[0], exchange.params, name=uri)
            return None
        return self._try_each(exchange, able, uri)

    async def _try_each(self, exchange: Exchange, servers: list[str], uri: str) -> None:
        links = exchange.session.pool.links
        for name in servers:
            link = links[name]
            if link.peer is None:
                continue
            try:
                body = await link.peer.ask(
                    "resources/read", link.params(exchange.params), timeout=link.settings.timeout
                )
            except RpcError:
                continue
            if body[:1] != b"{":
                continue
            self._engine.tools.answer_with(exchange, link, body)
            return
        raise unknown(exchange, uri)


def find_route(exchange: Exchange, uri: str) -> Route | None:
    """The one server that has a resource, None when nobody announced it.

    Raises:
        RpcError: several have it.
    """
    routes = exchange.session.pool.generation.owners(uri)
    if len(routes) > 1:
        servers = " and ".join(repr(route.server) for route in routes)
        raise RpcError(
            INVALID_PARAMS,
            f"Ambiguous resource {uri!r}: offered by {servers}; use a listed URI",
        )
    return routes[0] if routes else None


def _has(link: Link, capability: str) -> bool:
    return link.greeted is not None and capability in link.greeted.capabilities


def unknown(exchange: Exchange, uri: str) -> GatewayError:
    """The error for a resource that nobody has."""
    code = INVALID_PARAMS if exchange.modern else NOT_FOUND
    body = {"code": code, "message": "Resource not found", "data": {"uri": uri}}
    return RpcError(code, f"Resource not found: {uri}", env.encode(body))
