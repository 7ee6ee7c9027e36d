"""Calls that wait for a modern client to come back with more input.

A legacy server asks in the middle of a call; a modern client is never asked, it is answered with
``input_required`` and calls again with the answers (MRTR, specification 2026-07-28,
patterns/mrtr). In between, the call to the server stays open here, under an unguessable state,
for the client that made it only, and for ``PATIENCE`` seconds.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from toolpick.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from toolpick.engine.exchange import Exchange
    from toolpick.engine.relay import Relay
    from toolpick.engine.session import Session

PATIENCE = 600.0
MOST = 1_000
"""Most calls that wait at once; the oldest is given up for a new one."""


class ParkedCall:
    """One open call, and what its server wants to know."""

    __slots__ = ("asked", "born", "held", "relay", "session", "state")

    def __init__(self, relay: Relay, now: float) -> None:
        """Nothing was asked yet."""
        self.relay = relay
        self.session: Session = relay.exchange.session
        self.state = "toolpick." + secrets.token_urlsafe(24)
        self.born = now
        self.asked: dict[str, tuple[bytes, str, bytes]] = {}
        """Key -> the server's request id, its method and params."""
        self.held: tuple[bytes, bytes] | None = None
        """Result and error that came while the client was away."""

    def tell(self, exchange: Exchange) -> None:
        """Answer with all that is being asked."""
        questions = {
            key: {"method": method, "params": env.Raw(params or b"{}")}
            for key, (_, method, params) in self.asked.items()
        }
        exchange.reply(
            env.encode(
                {
                    "resultType": "input_required",
                    "inputRequests": questions,
                    "requestState": self.state,
                }
            )
        )


class Parking:
    """All calls that wait."""

    def __init__(self) -> None:
        """Empty."""
        self._calls: dict[str, ParkedCall] = {}
        self._keys = 0

    def ask(self, relay: Relay, id: bytes, method: str, params: bytes) -> None:
        """A server asks on behalf of a modern client's call."""
        call = relay.parked
        if call is None:
            self._expire(room=1)
            call = relay.parked = ParkedCall(relay, time.monotonic())
            self._calls[call.state] = call
        self._keys += 1
        call.asked[f"q{self._keys}"] = (id, method, params)
        if not relay.exchange.done:
            call.tell(relay.exchange)

    def resume(self, exchange: Exchange, target: tuple[str, str, str]) -> bool:
        """Take a call of ``target`` that comes back; False when its state is none of ours.

        Raises:
            RpcError: the state is ours but unknown, expired, another client's or another target's.
        """
        state = env.text(exchange.params.get("requestState", b""))
        if state is None or not state.startswith("toolpick."):
            return False
        self._expire()
        call = self._calls.get(state)
        if call is None or call.session is not exchange.session or call.relay.target != target:
            raise RpcError(INVALID_PARAMS, "unknown or expired requestState; call again without it")
        call.relay.attach(exchange)
        self._answer(call, env.members(exchange.params.get("inputResponses", b"")))
        if call.held is not None:
            result, error = call.held
            self.end(call)
            if error:
                exchange.fail(error)
            else:
                exchange.reply(result)
        elif call.asked:
            call.tell(exchange)
        return True

    def _answer(self, call: ParkedCall, answers: env.Members) -> None:
        for key, answer in answers.items():
            asked = call.asked.pop(key, None)
            if asked is not None:
                call.relay.respond(asked[0], bytes(answer))

    def end(self, call: ParkedCall) -> None:
        """Forget a call that has ended."""
        self._calls.pop(call.state, None)

    def _expire(self, room: int = 0) -> None:
        """Give up what has waited too long, and the oldest where ``room`` more are to fit."""
        now = time.monotonic()
        for call in list(self._calls.values()):
            if now - call.born < PATIENCE and len(self._calls) + room <= MOST:
                break
            self.end(call)
            for id, _, _ in call.asked.values():
                call.relay.refuse(id, RpcError(METHOD_NOT_FOUND, "the client did not come back"))
            call.relay.cancel("the client did not come back")
