"""Answers what concerns resources: lists, reads, and subscriptions in both eras."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.catalog import listing
from toolpick.engine import modern
from toolpick.engine.exchange import SUBSCRIPTION_KEY
from toolpick.engine.lists import answer_list, known
from toolpick.errors import INVALID_PARAMS, GatewayError, RpcError
from toolpick.model import Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolpick.catalog import Route
    from toolpick.downstream.link import Link
    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Exchange
    from toolpick.engine.session import Session

NOT_FOUND = -32002
"""Code of an unknown resource in the legacy era; the modern one uses invalid params."""
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
KINDS = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")


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
        return self._known(exchange, self._read)

    def _known(
        self, exchange: Exchange, answer: Callable[[Exchange], Awaitable[None] | None]
    ) -> Awaitable[None] | None:
        uri, pool = exchange.text_param("uri"), exchange.session.pool
        return known(self._engine, exchange, lambda: bool(pool.generation.owners(uri)), answer)

    def _read(self, exchange: Exchange) -> Awaitable[None] | None:
        uri = exchange.text_param("uri")
        route = self._route(exchange, uri)
        if route is not None:
            self._pass_on(exchange, route)
            return None
        able = [
            link.name for link in exchange.session.pool.links.values() if _has(link, "resources")
        ]
        if len(able) == 1:
            self._engine.tools.forward(exchange, able[0], exchange.params, name=uri)
            return None
        return self._try_each(exchange, able, uri)

    def _pass_on(self, exchange: Exchange, route: Route) -> None:
        params = {**exchange.params, "uri": env.raw(route.uri)}
        finish = (
            modern.cacheable if exchange.modern and exchange.method == "resources/read" else None
        )
        self._engine.tools.forward(exchange, route.server, params, name=route.uri, finish=finish)

    def _route(self, exchange: Exchange, uri: str) -> Route | None:
        routes = exchange.session.pool.generation.owners(uri)
        if len(routes) > 1:
            servers = " and ".join(repr(route.server) for route in routes)
            raise RpcError(
                INVALID_PARAMS,
                f"Ambiguous resource {uri!r}: offered by {servers}; use a listed URI",
            )
        return routes[0] if routes else None

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
            self._engine.tools.answer_with(exchange, link, body)
            return
        raise unknown(exchange, uri)

    def subscribe(self, exchange: Exchange) -> Awaitable[None] | None:
        """Subscribe at the server that has the resource."""
        return self._known(exchange, self._subscribe)

    def _subscribe(self, exchange: Exchange) -> None:
        uri = exchange.text_param("uri")
        route = self._route(exchange, uri)
        if route is None:
            raise unknown(exchange, uri)
        exchange.session.subscriptions[uri] = route
        self._settle(exchange, route)

    def unsubscribe(self, exchange: Exchange) -> Awaitable[None] | None:
        """End a subscription."""
        return self._known(exchange, self._unsubscribe)

    def _unsubscribe(self, exchange: Exchange) -> None:
        uri = exchange.text_param("uri")
        route = exchange.session.subscriptions.pop(uri, None) or self._route(exchange, uri)
        if route is None:
            raise unknown(exchange, uri)
        self._settle(exchange, route)

    def _settle(self, exchange: Exchange, route: Route) -> None:
        link = exchange.session.pool.links[route.server]
        if link.greeted is not None and link.greeted.era is Era.MODERN:
            self._watch(exchange.session, link)
            exchange.reply(b"{}")
        else:
            self._pass_on(exchange, route)

    def _watch(self, session: Session, link: Link) -> None:
        """Let a modern server's stream cover what all sessions of this link want."""
        wanted = {
            route.uri
            for one in self._engine.sessions
            if link in one.pool.links.values()
            for route in one.subscriptions.values()
            if route.server == link.name
        }
        link.watch_resources(wanted)

    def renew(self, session: Session, link: Link) -> None:
        """Subscribe again at a server that has just come up."""
        for route in session.subscriptions.values():
            if route.server == link.name and link.peer is not None:
                self._subscribe_at(session, link, route)

    def _subscribe_at(self, session: Session, link: Link, route: Route) -> None:
        if link.greeted is not None and link.greeted.era is Era.MODERN:
            self._watch(session, link)
        elif link.peer is not None:
            link.peer.request(
                "resources/subscribe", env.encode({"uri": route.uri}), lambda _: None, timeout=30
            )

    # -- the modern stream

    def listen(self, exchange: Exchange) -> None:
        """Open a stream of changes; it stays open until the client closes it."""
        wanted = env.members(exchange.params.get("notifications", b""))
        honoured = {key: env.raw(True) for key in KINDS if bytes(wanted.get(key, b"")) == b"true"}
        uris = env.value(wanted.get("resourceSubscriptions", b"[]")) or []
        routes = {
            uri: routes[0]
            for uri in uris
            if len(routes := exchange.session.pool.generation.owners(uri)) == 1
        }
        if routes:
            honoured["resourceSubscriptions"] = env.raw(sorted(routes))
        exchange.session.listening.append(exchange)
        exchange.on_cancel(lambda _reason: self._unlisten(exchange))
        stamp = {SUBSCRIPTION_KEY: env.Raw(exchange.id)}
        exchange.notify(ACKNOWLEDGED, env.encode({"notifications": honoured, "_meta": stamp}))
        exchange.params["notifications"] = env.raw(honoured)
        for uri, route in routes.items():
            exchange.session.subscriptions[uri] = route
            self._subscribe_at(exchange.session, exchange.session.pool.links[route.server], route)

    def _unlisten(self, exchange: Exchange) -> None:
        if exchange in exchange.session.listening:
            exchange.session.listening.remove(exchange)
        still = {uri for one in exchange.session.listening for uri in _watched(one)}
        for uri in _watched(exchange) - still:
            route = exchange.session.subscriptions.pop(uri, None)
            link = exchange.session.pool.links.get(route.server) if route else None
            if link is None or link.peer is None or link.greeted is None or route is None:
                continue
            if link.greeted.era is Era.MODERN:
                self._watch(exchange.session, link)
            else:
                link.peer.request(
                    "resources/unsubscribe",
                    env.encode({"uri": route.uri}),
                    lambda _: None,
                    timeout=30,
                )

    def updated(self, session: Session, link: Link, params: bytes) -> None:
        """Pass a server's notice of an updated resource on to those who want it."""
        members = env.members(params)
        uri = env.text(members.get("uri", b"")) or ""
        exposed = session.pool.generation.exposed_uri(link.name, uri)
        members["uri"] = env.raw(exposed)
        if not session.listening and session.out is not None and session.era is Era.LEGACY:
            session.out.send(env.notification(UPDATED, env.encode(members)), final=False)
        for exchange in session.listening:
            if {exposed, uri} & _watched(exchange):
                tell(exchange, UPDATED, members)


def tell(exchange: Exchange, method: str, members: env.Members) -> None:
    """Send a notification on a modern stream, stamped with the stream's id."""
    meta = {
        **env.members(members.get("_meta", b"")),
        SUBSCRIPTION_KEY: env.Raw(exchange.id),
    }
    exchange.notify(method, env.encode({**members, "_meta": meta}))


def wants(exchange: Exchange, kind: str) -> bool:
    """Whether a stream was opened for this kind of change."""
    return kind in env.members(exchange.params["notifications"])


def _watched(exchange: Exchange) -> set[str]:
    watched = env.members(exchange.params["notifications"]).get("resourceSubscriptions", b"[]")
    return set(env.value(watched))


def _has(link: Link, capability: str) -> bool:
    return link.greeted is not None and capability in link.greeted.capabilities


def unknown(exchange: Exchange, uri: str) -> GatewayError:
    """The error for a resource that nobody has."""
    code = INVALID_PARAMS if exchange.modern else NOT_FOUND
    body = {"code": code, "message": "Resource not found", "data": {"uri": uri}}
    return RpcError(code, f"Resource not found: {uri}", env.encode(body))
