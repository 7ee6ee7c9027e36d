"""What servers say to one session outside of its requests: changes, log messages, questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from toolpick.downstream.state import State
from toolpick.engine.greetings import pass_level
from toolpick.engine.levels import loud_enough
from toolpick.engine.questions import MOST_OPEN, may_ask, too_many
from toolpick.engine.subscriptions import tell, wants
from toolpick.errors import METHOD_NOT_FOUND, RpcError
from toolpick.model import Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from toolpick.catalog import Difference
    from toolpick.downstream.link import Link
    from toolpick.engine.engine import Engine
    from toolpick.engine.session import Session

SETTLE = 0.05
"""Seconds in which changes of several servers are told as one."""
STARTING_SETTLE = 0.2
"""The same while servers are still starting."""

NOTICES = {
    "tools": ("notifications/tools/list_changed", "toolsListChanged"),
    "prompts": ("notifications/prompts/list_changed", "promptsListChanged"),
    "resources": ("notifications/resources/list_changed", "resourcesListChanged"),
}


class Reports:
    """Hears a pool's servers on behalf of one session."""

    def __init__(self, engine: Engine, session: Session) -> None:
        """Nothing is pending."""
        self._engine = engine
        self._session = session
        self._pending: set[str] = set()
        self._telling = False

    # -- changes

    def catalog_changed(self, difference: Difference) -> None:
        """Tell the client soon, if it would see another list."""
        kinds = {
            "tools": difference.tools,
            "prompts": difference.prompts,
            "resources": difference.resources,
        }
        self._engine.turns.catalog_changed(self._session, difference)
        # held against what was listed now: a client that lists again meanwhile is told all the same
        kinds["tools"] = kinds["tools"] and self._engine.turns.view_changed(self._session)
        for kind in ("prompts", "resources"):
            # who never asked for a list has nothing to ask for again
            kinds[kind] = kinds[kind] and (
                self._session.era is Era.MODERN or kind in self._session.asked_for
            )
        self.pending({kind for kind, changed in kinds.items() if changed})

    def view_changed(self) -> None:
        """Tell the client soon, if what it is shown has changed for another reason."""
        if self._engine.turns.view_changed(self._session):
            self.pending({"tools"})

    def pending(self, kinds: set[str]) -> None:
        """Have these kinds of change told soon, together with what else changes meanwhile."""
        self._pending |= kinds
        if self._pending and not self._telling and not self._session.closed:
            self._telling = True
            self._engine.run(self._tell)

    async def _tell(self) -> None:
        await anyio.sleep(STARTING_SETTLE if self._session.pool.starting else SETTLE)
        self._telling = False
        self.tell_now()

    def tell_now(self) -> None:
        """Tell what is pending, so that no answer shows a change before its notice."""
        kinds, self._pending = self._pending, set()
        for kind in sorted(kinds, reverse=True):
            told = self.notice(*NOTICES[kind])
            if kind == "tools" and told:
                self._session.changes += 1

    def tell_view(self) -> int:
        """Tell at once, if what the client is shown has changed; how many streams were told."""
        changed = self._engine.turns.view_changed(self._session)
        if not changed and "tools" not in self._pending:
            return 0
        self._pending.discard("tools")
        told = self.notice(*NOTICES["tools"])
        if told:
            self._session.changes += 1
        return told

    def notice(self, method: str, stream_key: str) -> int:
        """Send a notice of change now; to how many streams."""
        session, told = self._session, 0
        if session.era is Era.LEGACY and session.out is not None:
            session.out.send(env.notification(method, b""), final=False)
            told += 1
        for exchange in list(session.listening):
            if wants(exchange, stream_key):
                tell(exchange, method, {})
                told += 1
        return told

    def link_changed(self, link: Link) -> None:
        """Renew what a server that came up must know; give up when a required one can't start."""
        if link.state is State.UP:
            pass_level(self._session, link)
            self._engine.subscriptions.renew(self._session, link)
        elif (
            link.settings.required
            and link.tried
            and not link.started_in
            and link.state in (State.WAITING, State.STOPPED)
        ) and link.problem:
            self._engine.fail_required(link)

    # -- what belongs to no request, or to one that can't be told

    def server_notification(
        self, link: Link, method: str, params: bytes, origin: int | None
    ) -> None:
        """Pass on what belongs to no call, as far as a client can do something with it."""
        session = self._session
        if method == "notifications/resources/updated":
            self._engine.subscriptions.updated(session, link, params)
            return
        if session.era is not Era.LEGACY or session.out is None:
            return
        if method != "notifications/message" or loud_enough(params, session.log_level):
            session.out.send(env.notification(method, params), final=False)

    def server_request(
        self, link: Link, id: bytes, method: str, params: bytes, origin: int | None
    ) -> None:
        """Put a question to the client that belongs to none of its calls."""
        session, peer = self._session, link.peer
        if peer is None:
            return
        if (
            session.era is Era.MODERN
            or session.out is None
            or not may_ask(session.capabilities, method)
        ):
            peer.refuse(
                id,
                env.error_object(RpcError(METHOD_NOT_FOUND, f"no client to ask for {method} now")),
            )
            return
        if len(session.asked) >= MOST_OPEN:
            peer.refuse(id, env.error_object(too_many()))
            return

        def answered(result: env.Body, error: env.Body) -> None:
            if error:
                peer.refuse(id, bytes(error))
            else:
                peer.respond(id, bytes(result))

        def progress(members: env.Members) -> None:
            peer.notify("notifications/progress", env.encode(members))

        session.ask(method, params, session.out, answered, progress)
