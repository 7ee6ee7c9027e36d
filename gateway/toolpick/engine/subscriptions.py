"""Who wants to hear of which resource, in both eras, and what servers are told of it.

A legacy client subscribes to one resource at a time; a modern one names resources when it opens a
stream of changes. Servers of either era are told in their own way, once, however many clients of a
shared server want the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolpick.engine.exchange import META, SUBSCRIPTION_KEY
from toolpick.engine.lists import known
from toolpick.engine.resources import find_route, unknown
from toolpick.errors import INVALID_PARAMS, RpcError
from toolpick.model import Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from toolpick.catalog import Route
    from toolpick.downstream.link import Link
    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Exchange
    from toolpick.engine.session import Session

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
KINDS = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
TIMEOUT = 30.0


class Subscriptions:
    """The subscriptions of all sessions."""

    def __init__(self, engine: Engine) -> None:
        """Belongs to one engine."""
        self._engine = engine

    # -- legacy clients

    def subscribe(self, exchange: Exchange) -> Awaitable[None] | None:
        """Subscribe at the server that has the resource."""
        return self._known(exchange, self._subscribe)

    def unsubscribe(self, exchange: Exchange) -> Awaitable[None] | None:
        """End a subscription."""
        return self._known(exchange, self._unsubscribe)

    def _known(
        self, exchange: Exchange, answer: Callable[[Exchange], None]
    ) -> Awaitable[None] | None:
        uri, pool = exchange.text_param("uri"), exchange.session.pool
        return known(self._engine, exchange, lambda: bool(pool.generation.owners(uri)), answer)

    def _subscribe(self, exchange: Exchange) -> None:
        uri = exchange.text_param("uri")
        route = find_route(exchange, uri)
        if route is None:
            raise unknown(exchange, uri)
        exchange.session.subscriptions[uri] = route
        self._settle(exchange, route)

    def _unsubscribe(self, exchange: Exchange) -> None:
        uri = exchange.text_param("uri")
        route = exchange.session.subscriptions.pop(uri, None) or find_route(exchange, uri)
        if route is None:
            raise unknown(exchange, uri)
        if self._is_wanted(exchange.session.pool.links[route.server], route):
            exchange.reply(b"{}")
        else:
            self._settle(exchange, route)

    def _settle(self, exchange: Exchange, route: Route) -> None:
        link = exchange.session.pool.links[route.server]
        if _is_modern(link):
            self._watch(link)
            exchange.reply(b"{}")
        else:
            params = {**exchange.params, "uri": env.raw(route.uri)}
            self._engine.tools.forward(exchange, route.server, params, name=route.uri)

    # -- what servers are told

    def _wanted(self, link: Link) -> Iterable[Route]:
        """What all sessions want to hear of from one server."""
        return (
            route
            for session in self._engine.sessions
            if session.pool.links.get(link.name) is link
            for route in session.subscriptions.values()
            if route.server == link.name
        )

    def _is_wanted(self, link: Link, route: Route) -> bool:
        return any(other.uri == route.uri for other in self._wanted(link))

    def _watch(self, link: Link) -> None:
        """Let a modern server's stream cover what all sessions of this link want."""
        link.watch_resources({route.uri for route in self._wanted(link)})

    def _begin(self, link: Link, route: Route) -> None:
        if _is_modern(link):
            self._watch(link)
        else:
            _tell_server(link, "resources/subscribe", route)

    def _end(self, link: Link, route: Route) -> None:
        """Let a server know that one client less wants to hear of a resource."""
        if _is_modern(link):
            self._watch(link)
        elif not self._is_wanted(link, route):
            _tell_server(link, "resources/unsubscribe", route)

    def renew(self, session: Session, link: Link) -> None:
        """Subscribe again at a server that has just come up."""
        for route in session.subscriptions.values():
            if route.server == link.name:
                self._begin(link, route)

    def leave(self, session: Session) -> None:
        """End what a session wanted of servers that outlive it."""
        routes = list(session.subscriptions.values())
        session.subscriptions.clear()
        for route in routes:
            link = session.pool.links[route.server]
            if len(link.owners) > 1:
                self._end(link, route)

    # -- streams of modern clients

    def listen(self, exchange: Exchange) -> Awaitable[None] | None:
        """Open a stream of changes; it stays open until the client closes it."""
        uris = _named(exchange)
        pool = exchange.session.pool

        def found() -> bool:
            return all(pool.generation.owners(uri) for uri in uris)

        return known(self._engine, exchange, found, self._listen)

    def _listen(self, exchange: Exchange) -> None:
        session = exchange.session
        wanted = env.members(exchange.params.get("notifications", b""))
        honoured = {key: env.raw(True) for key in KINDS if bytes(wanted.get(key, b"")) == b"true"}
        routes = {
            uri: owners[0]
            for uri in _named(exchange)
            if len(owners := session.pool.generation.owners(uri)) == 1
        }
        if routes:
            honoured["resourceSubscriptions"] = env.raw(sorted(routes))
        exchange.params["notifications"] = env.raw(honoured)
        session.listening.append(exchange)
        exchange.on_cancel(lambda _reason: self._unlisten(exchange))
        tell(exchange, ACKNOWLEDGED, {"notifications": env.raw(honoured)})
        for uri, route in routes.items():
            session.subscriptions[uri] = route
            self._begin(session.pool.links[route.server], route)

    def _unlisten(self, exchange: Exchange) -> None:
        session = exchange.session
        session.listening.remove(exchange)
        still = {uri for one in session.listening for uri in watched(one)}
        for uri in watched(exchange) - still:
            route = session.subscriptions.pop(uri)
            self._end(session.pool.links[route.server], route)

    # -- what servers say

    def updated(self, session: Session, link: Link, params: bytes) -> None:
        """Pass a server's notice of an updated resource on to those who want it."""
        members = env.members(params)
        uri = env.text(members.get("uri", b""))
        if not uri:
            return
        exposed = session.pool.generation.exposed_uri(link.name, uri)
        members["uri"] = env.raw(exposed)
        # a server of its own is taken at its word; of a shared one others may have asked
        heard = len(link.owners) == 1 or _covers(session.subscriptions, uri, exposed)
        if heard and session.era is Era.LEGACY and session.out is not None:
            params = env.encode(_without_stamp(members))
            session.out.send(env.notification(UPDATED, params), final=False)
        for exchange in session.listening:
            if _covers(watched(exchange), uri, exposed):
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


def watched(exchange: Exchange) -> set[str]:
    """The resources that a stream was opened for, by the URIs that its client used."""
    honoured = env.members(exchange.params["notifications"])
    return set(env.value(honoured.get("resourceSubscriptions", b"[]")))


def _named(exchange: Exchange) -> list[str]:
    """The resources that a client wants to hear of on its stream."""
    wanted = env.members(exchange.params.get("notifications", b""))
    named: Any = env.value(wanted.get("resourceSubscriptions", b"[]"))
    if named is None:
        return []
    if not isinstance(named, list) or not all(isinstance(uri, str) for uri in named):
        raise RpcError(
            INVALID_PARAMS, "Invalid params: 'resourceSubscriptions' must be a list of URIs"
        )
    return named


def _covers(wanted: Iterable[str], uri: str, exposed: str) -> bool:
    """Whether an update concerns one of these resources: it may be of a part of one."""
    return any(exposed.startswith(one) or uri.startswith(one) for one in wanted)


def _without_stamp(members: env.Members) -> env.Members:
    """A notice as a legacy client knows it, without the mark of our own stream."""
    if "_meta" not in members:
        return members
    meta = env.members(members["_meta"])
    kept = {key: value for key, value in meta.items() if not key.startswith(META)}
    rest = {key: value for key, value in members.items() if key != "_meta"}
    return {**rest, "_meta": env.raw(kept)} if kept else rest


def _is_modern(link: Link) -> bool:
    return link.greeted is not None and link.greeted.era is Era.MODERN


def _tell_server(link: Link, method: str, route: Route) -> None:
    if link.peer is not None:
        params = env.encode({"uri": route.uri})
        link.peer.request(method, params, lambda _: None, timeout=TIMEOUT)
