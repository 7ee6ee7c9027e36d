"""One request of a client on its way to a server and back.

Rewrites what must be: ids, names, progress tokens, ``_meta`` of the other era. Everything else
passes byte for byte. Questions that the server asks on the way go to the client that called, and
to nobody else.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from toolpick.downstream.state import State
from toolpick.engine import modern
from toolpick.engine.exchange import CAPABILITIES_KEY, CLIENT_KEY, LOG_LEVEL_KEY, META
from toolpick.engine.levels import LEVELS, loud_enough
from toolpick.engine.questions import MOST_OPEN, Questions, may_ask, too_many
from toolpick.engine.rounds import Rounds
from toolpick.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, RpcError, ServerError
from toolpick.model import Era
from toolpick.wire import envelope as env
from toolpick.wire.peer import LOST, SESSION_GONE, TIMED_OUT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolpick.downstream.link import Link
    from toolpick.engine.exchange import Exchange
    from toolpick.engine.parking import ParkedCall, Parking
    from toolpick.wire.peer import Peer, Reply

log = logging.getLogger("toolpick.call")


class Relay:
    """A request in flight to one server. ``answered`` gets the result or error, once."""

    def __init__(
        self,
        exchange: Exchange,
        link: Link,
        params: env.Members,
        *,
        name: str = "",
        timeout: float,
        headers: Mapping[str, str] | None = None,
        repeatable: Callable[[], bool] | None = None,
        again: Callable[[Relay], None],
        parking: Parking,
        finish: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Params hold the server's own names; ``finish`` has the last word on the result.

        ``repeatable`` tells whether a lost call may be sent again; ``again`` does so when the
        server is back. ``parking`` keeps calls that must wait for a modern client.
        """
        self.exchange = exchange
        self.link = link
        self.repeats = 0
        self.parked: ParkedCall | None = None
        self._parking = parking
        self._members = params
        self._name = name
        self._timeout = timeout
        self._headers = headers
        self._repeatable = repeatable
        self._again = again
        self._finish = finish
        self._peer: Peer | None = None
        self._id = 0
        self._questions: Questions | None = None
        self._rounds: Rounds | None = None

    # -- down

    def send(self, peer: Peer) -> None:
        """Send the request on its way."""
        self._peer = peer
        self._id = peer.reserve()
        self._questions = None
        self.link.calls[self._id] = self
        self.exchange.on_cancel(self.cancel)
        peer.request(
            self.exchange.method,
            self.link.params(self._members, self._meta()),
            self._answered,
            timeout=self._timeout,
            name=self._name,
            headers=self._headers,
            id=self._id,
        )

    def _meta(self) -> env.Members:
        exchange = self.exchange
        if not exchange.meta and not self._modern_link:
            return {}
        meta = {
            key: value
            for key, value in exchange.meta.items()
            if not key.startswith((META, "io.toolpick/"))
        }
        if exchange.token:
            meta["progressToken"] = env.Raw(b"%d" % self._id)
        if self._modern_link:
            meta[CAPABILITIES_KEY] = env.Raw(exchange.capabilities)
            if exchange.modern:
                for key in (CLIENT_KEY, LOG_LEVEL_KEY):
                    if key in exchange.meta:
                        meta[key] = exchange.meta[key]
            elif exchange.session.log_level:
                meta[LOG_LEVEL_KEY] = env.raw(exchange.session.log_level)
        return meta

    @property
    def target(self) -> tuple[str, str, str]:
        """What is called: the method, the server, and the server's own name of it."""
        return self.exchange.method, self.link.name, self._name

    @property
    def _modern_link(self) -> bool:
        return self.link.greeted is not None and self.link.greeted.era is Era.MODERN

    def cancel(self, reason: str) -> None:
        """Tell the server that nobody waits any more."""
        self._withdraw(reason)
        if self.parked is not None:
            self._parking.end(self.parked)
        if self._peer is not None:
            self._peer.cancel(self._id, reason)

    def attach(self, exchange: Exchange) -> None:
        """Let a parked call answer to the request with which its client came back."""
        self.exchange = exchange
        exchange.on_cancel(self.cancel)

    def respond(self, id: bytes, body: bytes) -> None:
        """Give the server the answer to a question that was parked."""
        if self._peer is not None:
            self._peer.resume(self._id)
            self._peer.respond(id, body)

    def refuse(self, id: bytes, error: RpcError) -> None:
        """Tell the server that a parked question has no answer."""
        if self._peer is not None:
            self._peer.refuse(id, env.error_object(error))

    def _withdraw(self, reason: str) -> None:
        """Take back what was asked of the client on this call's behalf."""
        self.link.calls.pop(self._id, None)
        if self._questions is not None:
            self._questions.withdraw(reason)
        if self._rounds is not None:
            self._rounds.withdraw(reason)

    # -- up

    def _answered(self, reply: Reply) -> None:
        self._withdraw("the call has ended")
        if reply.error:
            self._failed(reply)
            return
        try:
            body = self._for_client(bytes(reply.result))
        except RpcError:
            what = f"answered {self.exchange.method} with a result that is no object"
            self._deliver(b"", env.error_object(unavailable(self.link, what, INTERNAL_ERROR)))
            return
        except Exception:  # whatever a result does to us, its call is answered
            log.exception("server=%s event=bug method=%s", self.link.name, self.exchange.method)
            what = f"answered {self.exchange.method} with something that toolpick can't handle"
            self._deliver(b"", env.error_object(unavailable(self.link, what, INTERNAL_ERROR)))
            return
        if body:
            self._deliver(body, b"")

    def _for_client(self, body: bytes) -> bytes:
        """The result as the client's era wants it; b"" when the server asked for more first.

        Raises:
            RpcError: it is no object, which no client takes.
        """
        if body[:1] != b"{":
            raise RpcError(INTERNAL_ERROR, "a result that is no object")
        if self._modern_link and not self.exchange.modern:
            members = env.members(body)
            if env.text(members.get("resultType", b"")) == "input_required":
                self._take_round(members)
                return b""
            body = modern.plain(body)
        elif self.exchange.modern and not self._modern_link:
            body = modern.complete(body)
        return self._finish(body) if self._finish is not None else body

    def _deliver(self, body: bytes, error: bytes) -> None:
        """Answer the client, or keep the answer until it comes back."""
        if self.parked is not None and self.exchange.done:
            self.parked.held = (body, error)
            return
        if self.parked is not None:
            self._parking.end(self.parked)
        if error:
            self.exchange.fail(error)
        else:
            self.exchange.reply(body)

    def _take_round(self, members: env.Members) -> None:
        # made when it is needed: the two know each other, and large arguments with them
        if self._rounds is None:
            self._rounds = Rounds(self.exchange, self.link.name, self._next_round)
        self._rounds.take(members)

    def _next_round(self, more: env.Members) -> None:
        """Call again with the answers and the server's own state."""
        kept = {
            key: value
            for key, value in self._members.items()
            if key not in ("inputResponses", "requestState")
        }
        self._members = {**kept, **more}
        if self.exchange.done:
            return
        if self.link.peer is not None and self.link.state is State.UP:
            self.send(self.link.peer)
        else:
            self._again(self)

    def _failed(self, reply: Reply) -> None:
        if not reply.ours:
            self._deliver(b"", bytes(reply.error))
            return
        error = env.rpc_error(reply.error)
        if error.code == TIMED_OUT:
            self.link.doubt()
        gone = error.code == SESSION_GONE
        lost = error.code == LOST and self._repeatable is not None and self._repeatable()
        if (gone or lost) and not self.repeats and self.parked is None:
            self.repeats += 1
            if gone:
                self.link.forget_session()
            log.info("server=%s event=repeat method=%s", self.link.name, self.exchange.method)
            self._again(self)
            return
        again = ", though it is a new one" if gone and self.repeats else ""
        told = unavailable(self.link, error.message + again, LOST if gone else error.code)
        self._deliver(b"", env.error_object(told))

    # -- what the server says on the way

    @property
    def client(self) -> object:
        """Whose request it is."""
        return self.exchange.session

    def server_notification(
        self, link: Link, method: str, params: bytes, origin: int | None
    ) -> None:
        """Pass progress and log messages on to the caller."""
        exchange = self.exchange
        if method == "notifications/progress":
            if exchange.token and self._peer is not None:
                self._peer.extend(self._id)
                members = env.members(params)
                members["progressToken"] = env.Raw(exchange.token)
                exchange.notify(method, env.encode(members))
        elif method == "notifications/message":
            if _wanted(exchange, params):
                exchange.notify(method, params)
        elif method == "notifications/cancelled" and self._questions is not None:
            self._questions.server_withdrew(params)

    def server_request(
        self, link: Link, id: bytes, method: str, params: bytes, origin: int | None
    ) -> None:
        """Put a server's question to the client that called."""
        peer = link.peer
        if peer is None:
            return
        if not may_ask(self.exchange.capabilities, method):
            peer.refuse(
                id, env.error_object(RpcError(METHOD_NOT_FOUND, f"the client does not do {method}"))
            )
            return
        if self._questions is None:
            self._questions = Questions(self.exchange, peer, self._id)
        parked = self.parked.asked if self.parked is not None else ()
        if len(self._questions) + len(parked) >= MOST_OPEN:
            peer.refuse(id, env.error_object(too_many()))
        elif self.exchange.modern:
            peer.pause(self._id)
            self._parking.ask(self, id, method, params)
        else:
            self._questions.ask(id, method, params)


def _wanted(exchange: Exchange, params: bytes) -> bool:
    """Whether a caller wants to hear a log message; a modern request must have asked for any."""
    if not exchange.modern:
        return loud_enough(params, exchange.session.log_level)
    asked = env.text(exchange.meta.get(LOG_LEVEL_KEY, b""))
    return asked in LEVELS and loud_enough(params, asked)


def unavailable(link: Link, what: str, code: int = LOST) -> RpcError:
    """The error for a call that a server did not answer; names it and says why."""
    error = ServerError(link.name, what)
    text = str(error)
    if link.state is not State.UP and link.problem and link.problem not in text:
        text = f"{text} ({link.problem})"
    body = {"code": code, "message": text, "data": {"server": link.name}}
    return RpcError(code, text, env.encode(body))
