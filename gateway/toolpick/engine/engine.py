"""Sessions and dispatch: each request of a client finds the function that answers it.

Knows no transport and no ranking. One slow or broken server concerns only the requests that go to
it.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc

from toolpick.downstream.link import Link
from toolpick.engine import modern
from toolpick.engine.completions import Completions
from toolpick.engine.exchange import Exchange
from toolpick.engine.greetings import Greetings
from toolpick.engine.metatools import MetaTools
from toolpick.engine.parking import Parking
from toolpick.engine.pool import Pool
from toolpick.engine.profile import profile_of
from toolpick.engine.prompts import Prompts
from toolpick.engine.remarks import Remarks
from toolpick.engine.reports import Reports
from toolpick.engine.resources import Resources
from toolpick.engine.session import Session, client_info
from toolpick.engine.subscriptions import Subscriptions
from toolpick.engine.tools import Tools
from toolpick.engine.turns import Turns
from toolpick.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, GatewayError, RpcError
from toolpick.model import LEGACY_VERSIONS, Era
from toolpick.turns import recognise
from toolpick.wire import envelope as env
from toolpick.wire.guard import Guard
from toolpick_selectors.contract import TurnRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from types import TracebackType

    from toolpick.catalog import Rules, Shelf, Snapshot
    from toolpick.config.settings import Settings
    from toolpick.engine.exchange import Channel
    from toolpick.engine.profile import Profile
    from toolpick.model import Query

log = logging.getLogger("toolpick.engine")

FULL_CAPABILITIES = (
    b'{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}'
)
"""Declared to servers that modern clients share; each request carries what its client can do."""


class Engine:
    """Everything between fronts and servers. Use as an async context manager: it owns all tasks."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str] | None = None,
        query: Query | None = None,
        client_environ: Mapping[str, str] | None = None,
    ) -> None:
        """``query`` is the one given on the command line, for headless runs.

        ``client_environ``: the variables of the client that started this process, None where none
        did.
        """
        self.settings = settings
        self.environ = dict(os.environ if environ is None else environ)
        self.command_query = query
        self.client_environ = client_environ
        self.early_query: Query | None = None
        """What a hook told before there was a session to tell."""
        self.parking = Parking()
        self.sessions: list[Session] = []
        self.required_failed = anyio.Event()
        self.required_problem = ""
        self._modern: dict[tuple[str, str], Session] = {}
        names = ("", *(each.name for each in settings.profiles))
        self._profiles = {name: profile_of(settings, name) for name in names}
        self._reports: dict[int, Reports] = {}
        self._shared: dict[str, Link] = {}
        self._learnt: dict[str, Era] = {}
        self._remarks = Remarks()
        self._made: dict[Rules, tuple[Snapshot, Shelf]] = {}
        self._guard = Guard()
        self._tasks: anyio.abc.TaskGroup = anyio.create_task_group()
        self.tools = Tools(self)
        self.turns = Turns(self)
        self.meta_tools = MetaTools(self)
        self.subscriptions = Subscriptions(self)
        resources = Resources(self)
        prompts, greetings, completions = Prompts(self), Greetings(self), Completions(self)
        both: dict[str, Any] = {
            "tools/list": self.turns.list,
            "tools/call": self.tools.call,
            "prompts/list": prompts.list,
            "prompts/get": prompts.get,
            "resources/list": resources.list_all,
            "resources/templates/list": resources.list_templates,
            "resources/read": resources.read,
            "completion/complete": completions.complete,
        }
        self._handlers: dict[Era, dict[str, Any]] = {
            Era.LEGACY: {
                **both,
                "initialize": greetings.initialize,
                "ping": greetings.ping,
                "logging/setLevel": greetings.set_level,
                "resources/subscribe": self.subscriptions.subscribe,
                "resources/unsubscribe": self.subscriptions.unsubscribe,
            },
            Era.MODERN: {
                **both,
                "server/discover": greetings.discover,
                "subscriptions/listen": self.subscriptions.listen,
            },
        }

    async def __aenter__(self) -> Engine:
        """Start to own tasks."""
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Answer what is in flight, end every server, and wait for that."""
        with anyio.CancelScope(shield=True):
            for session in list(self.sessions):
                session.refuse_all(RpcError(INTERNAL_ERROR, "toolpick is shutting down"))
            async with anyio.create_task_group() as group:
                for session in list(self.sessions):
                    group.start_soon(self.close_session, session)
                for link in self._shared.values():
                    group.start_soon(link.stop)
            self._guard.close()
            await self.turns.selections.aclose()
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, trace)

    # -- sessions

    def profile(self, name: str) -> Profile:
        """A profile of the settings; "" for what holds without one."""
        return self._profiles[name]

    def open_session(
        self,
        *,
        era: Era,
        version: str = "",
        capabilities: bytes = b"{}",
        client: bytes = b"{}",
        out: Channel | None = None,
        key: str = "",
        profile: str = "",
    ) -> Session:
        """A new legacy session, or the modern one of a profile and ``key`` (a principal).

        ``version`` is the one that the client asked for. ``profile`` must be one of the settings,
        or "" for none. The servers begin to start.
        """
        if era is Era.MODERN and out is None and (profile, key) in self._modern:
            return self._modern[profile, key]
        capabilities, client = _object(capabilities), _object(client)
        if era is Era.LEGACY:
            version = version if version in LEGACY_VERSIONS else LEGACY_VERSIONS[-1]
        chosen = self.profile(profile)
        offered = capabilities if era is Era.LEGACY else FULL_CAPABILITIES
        pool = self._new_pool(chosen, era, version, offered)
        conversation = self.turns.new_conversation(chosen)
        session = Session(key, era, version, capabilities, client, out, pool, conversation, chosen)
        if out is not None:
            session.traits = recognise(client_info(client)[0])
        session.query, self.early_query = self.early_query, None
        pool.reporter = self._reports[id(session)] = Reports(self, session)
        self.sessions.append(session)
        if era is Era.MODERN and out is None:
            self._modern[profile, key] = session
        return session

    async def close_session(self, session: Session) -> None:
        """End what the session has in flight, and the servers that it has for itself."""
        if session.closed:
            return
        session.closed = True
        for exchange in [*session.in_flight.values(), *session.listening]:
            exchange.cancel("the session has ended")
        self.subscriptions.leave(session)
        session.pool.leave()
        own = [link for link in session.pool.links.values() if link not in self._shared.values()]
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for link in own:
                    group.start_soon(link.stop)
        self.sessions.remove(session)
        del self._reports[id(session)]
        if self._modern.get((session.profile.name, session.key)) is session:
            del self._modern[session.profile.name, session.key]

    def _new_pool(self, profile: Profile, era: Era, version: str, capabilities: bytes) -> Pool:
        links = []
        # a server of the handshake can't know the versions after it
        version = version if version in LEGACY_VERSIONS else LEGACY_VERSIONS[-1]
        for server in profile.mounted(self.settings):
            if server.scope == "shared":
                if server.name not in self._shared:
                    self._shared[server.name] = self._new_link(
                        server, Era.MODERN, LEGACY_VERSIONS[-1], b"{}"
                    )
                links.append(self._shared[server.name])
            else:
                links.append(self._new_link(server, era, version, capabilities))
        return Pool(links, self.settings.gateway, profile, self._remarks, self._made)

    def _new_link(self, server: Any, era: Era, version: str, capabilities: bytes) -> Link:
        link = Link(
            server,
            self.environ,
            era=era,
            version=version,
            capabilities=capabilities,
            guard=self._guard,
            learnt=self._learnt,
            pass_env=self.settings.gateway.pass_env,
        )
        self._tasks.start_soon(link.run)
        return link

    def fail_required(self, link: Link) -> None:
        """A required server could not be started: the gateway should not go on."""
        if not self.required_failed.is_set():
            self.required_problem = f"required server {link.name!r} {link.problem}"
            log.error("note=%r", self.required_problem)
            self.required_failed.set()

    def report_view(self, session: Session) -> None:
        """Tell a session's client soon that its list has changed, if it has."""
        reports = self._reports.get(id(session))
        if reports is not None:
            reports.view_changed()

    def tell_changes(self, session: Session) -> None:
        """Tell a session's client what has changed, ahead of a list that shows it."""
        reports = self._reports.get(id(session))
        if reports is not None:
            reports.tell_now()

    def tell_view(self, session: Session) -> int:
        """Tell a session's client at once, if its list has changed; how many streams were told."""
        reports = self._reports.get(id(session))
        return 0 if reports is None else reports.tell_view()

    def input_schema(self, session: Session, name: str) -> bytes | None:
        """A listed tool's input schema as JSON, for fronts that check headers against it."""
        entry = session.pool.generation.tools.get(name)
        return None if entry is None else bytes(env.members(entry.raw).get("inputSchema", b"{}"))

    # -- messages

    def handle(
        self, session: Session, message: env.Envelope, channel: Channel, header_query: str = ""
    ) -> Exchange | None:
        """Take a request. Its answer arrives on ``channel``, perhaps before this returns."""
        try:
            exchange = Exchange(
                session, bytes(message.id), message.method, message.params, channel, header_query
            )
        except RpcError as error:
            channel.send(env.failure(message.id, env.error_object(error)), final=True)
            return None
        if session.out is not None:
            session.in_flight[exchange.id] = exchange
        try:
            if session.era is Era.MODERN:
                modern.check(exchange)
            handler = self._handlers[session.era].get(message.method)
            if handler is None:
                raise RpcError(METHOD_NOT_FOUND, f"Method not found: {message.method}")
            waiting = handler(exchange)
            if waiting is not None:
                self.spawn(exchange, waiting)
        except Exception as error:  # noqa: BLE001 - one request must not take down the rest
            self._failed(exchange, error)
        return exchange

    def spawn(self, exchange: Exchange, waiting: Awaitable[None]) -> None:
        """Let a request go on in a task of its own, ended when the client gives it up."""
        self._tasks.start_soon(self._finish, exchange, waiting)

    async def _finish(self, exchange: Exchange, waiting: Awaitable[None]) -> None:
        with anyio.CancelScope() as scope:
            exchange.on_cancel(lambda _reason: scope.cancel())
            try:
                await waiting
            except Exception as error:  # noqa: BLE001 - one request must not take down the rest
                self._failed(exchange, error)

    def run(self, what: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """Run something in the background, owned by the engine; its error ends only itself."""
        self._tasks.start_soon(self._run, what, args)

    async def _run(
        self, what: Callable[..., Coroutine[Any, Any, None]], args: tuple[object, ...]
    ) -> None:
        try:
            await what(*args)
        except Exception:
            log.exception("event=bug task=%s", getattr(what, "__qualname__", what))

    def _failed(self, exchange: Exchange, error: Exception) -> None:
        if isinstance(error, RpcError):
            exchange.refuse(error)
        elif isinstance(error, (GatewayError, TurnRefused)):
            exchange.refuse(RpcError(-32000, str(error)))
        else:
            log.error("event=bug method=%r", exchange.method, exc_info=error)
            exchange.refuse(
                RpcError(INTERNAL_ERROR, f"toolpick failed at {exchange.method}; its log says why")
            )

    def notified(self, session: Session, method: str, params: env.Body) -> None:
        """Take a notification of a client."""
        try:
            self._notified(session, method, params)
        except RpcError as error:
            log.info("event=ignored method=%r reason=%r", method, str(error))

    def _notified(self, session: Session, method: str, params: env.Body) -> None:
        if method == "notifications/cancelled":
            members = env.members(params)
            exchange = session.in_flight.get(bytes(members.get("requestId", b"")))
            if exchange is not None:
                exchange.cancel(env.text(members.get("reason", b"")) or "the client cancelled")
        elif method == "notifications/roots/list_changed":
            for link in session.pool.links.values():
                if (
                    link.peer is not None
                    and link.greeted is not None
                    and link.greeted.era is Era.LEGACY
                ):
                    link.peer.notify(method, bytes(params))
        elif method == "notifications/progress":
            session.pass_progress(env.members(params))

    def answered(self, session: Session, message: env.Envelope) -> None:
        """Take a client's answer to something it was asked."""
        session.answered(bytes(message.id), message.result, message.error)


def _object(raw: bytes) -> bytes:
    """What a client declares, {} where it declares something that is no object."""
    return raw if raw.startswith(b"{") else b"{}"
