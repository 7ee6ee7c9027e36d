"""Puts a modern server's questions to a legacy client, one round of a call after the other.

A modern server asks nothing while it works: it answers ``input_required`` and wants to be called
again with the answers (MRTR, specification 2026-07-28, patterns/mrtr). A legacy client knows only
requests in the middle of its call, so the gateway drives the rounds for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.engine.questions import MOST_OPEN, may_ask
from toolpick.errors import INTERNAL_ERROR, RpcError
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.engine.exchange import Exchange

ROUNDS = 10
"""Most rounds of one call."""


class Rounds:
    """The rounds of one call."""

    def __init__(
        self, exchange: Exchange, server: str, call_again: Callable[[env.Members], None]
    ) -> None:
        """``call_again`` gets the params that make the next round: answers and state."""
        self._exchange = exchange
        self._server = server
        self._call_again = call_again
        self._asked: dict[str, bytes] = {}
        self._count = 0

    def take(self, result: env.Members) -> None:
        """Take an ``input_required`` result: ask the client, then call again."""
        self._count += 1
        if self._count > ROUNDS:
            self._refuse(f"asked for more input {ROUNDS} times; giving up")
            return
        questions = {
            key: env.members(raw)
            for key, raw in env.members(result.get("inputRequests", b"")).items()
        }
        if len(questions) > MOST_OPEN:
            self._refuse(f"asks {len(questions)} questions at once; {MOST_OPEN} are possible")
            return
        methods = {key: env.text(asked.get("method")) or "" for key, asked in questions.items()}
        for method in methods.values():
            if not may_ask(self._exchange.capabilities, method):
                self._refuse(f"asks {method}, which this client does not do")
                return
        state = {key: result[key] for key in ("requestState",) if key in result}
        if not questions:
            self._call_again(state)
        answers: env.Members = {}
        for key, asked in questions.items():
            self._asked[key] = self._exchange.session.ask(
                methods[key],
                asked.get("params", env.NOTHING),
                self._exchange.channel,
                self._collector(key, state, answers, len(questions)),
            )

    def _collector(
        self, key: str, state: env.Members, answers: env.Members, count: int
    ) -> Callable[[env.Body, env.Body], None]:
        """What takes one answer of a round, and goes on when all are there."""

        def answered(result: env.Body, error: env.Body) -> None:
            self._asked.pop(key, None)
            if error:
                self.withdraw("another question was answered with an error")
                self._exchange.fail(error)
                return
            answers[key] = env.Raw(bytes(result))
            if len(answers) == count:
                self._call_again({**state, "inputResponses": env.raw(answers)})

        return answered

    def _refuse(self, what: str) -> None:
        self._exchange.refuse(RpcError(INTERNAL_ERROR, f"server {self._server!r} {what}"))

    def withdraw(self, reason: str) -> None:
        """Take back what the client has not answered yet."""
        for asked in self._asked.values():
            self._exchange.session.give_up(asked, reason, self._exchange.channel)
        self._asked.clear()
