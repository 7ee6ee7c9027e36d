"""Responses in the making, of both eras: from a request to its last byte."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from toolpick.errors import RpcError
from toolpick.front import headers as head
from toolpick.front.answer import Answer
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.engine.session import Session
    from toolpick.front.headers import Pairs
    from toolpick.front.request import Request
    from toolpick.front.serving import Serving

log = logging.getLogger(__name__)
UNHEARD = RpcError(-32000, "the client did not take the question")


class Exchanges:
    """Starts exchanges and delivers their answers; knows which are in the making."""

    def __init__(self, engine: Serving) -> None:
        """Begin with none."""
        self._engine = engine
        self._open: set[Answer] = set()

    def answer(
        self, request: Request, message: env.Envelope, session: Session | None = None
    ) -> Answer:
        """A place for the answer to a message; ``session`` is who is told of unheard questions."""
        accepts = head.accepts(request.headers.raw(b"accept"))
        return Answer(message.id, accepts, self.unheard(session))

    def mute_answer(self, message: env.Envelope, session: Session) -> Answer:
        """A place for an answer that nothing can come before."""
        return Answer(message.id, (True, False), self.unheard(session))

    def begin(
        self, session: Session, message: env.Envelope, answer: Answer, request: Request
    ) -> None:
        """Hand a message to the engine. It may be answered when this returns."""
        query = request.headers.raw(head.QUERY)
        answer.exchange = self._engine.handle(
            session, message, answer, head.query(query) if query else ""
        )

    async def deliver(
        self,
        answer: Answer,
        request: Request,
        status: Callable[[Answer], int],
        headers: Pairs | None = None,
    ) -> None:
        """Send the response; when the client leaves, the exchange is cancelled.

        That is what the modern era says. In the legacy era a lost connection is no cancellation, as
        the answer might be fetched later: here it can't be, so the work is stopped, too.
        """
        if answer.final:
            await answer.deliver(request, status, headers or [])
            return
        self._open.add(answer)
        request.on_leave(answer.leave)
        try:
            await answer.deliver(request, status, headers or [])
        finally:
            answer.leave()
            self._open.discard(answer)

    def unheard(self, session: Session | None) -> Callable[[env.Envelope], None]:
        """What is done with a message that the client will not get."""

        def refuse(message: env.Envelope) -> None:
            if session is not None and message.method and message.id:
                error = env.raw({"code": UNHEARD.code, "message": UNHEARD.message})
                self._engine.answered(session, env.Envelope(id=message.id, error=error))
            else:
                log.debug("a message was not delivered: method=%s", message.method)

        return refuse

    def tick(self) -> None:
        """Give quiet streams a sign of life."""
        for answer in self._open:
            answer.tick()

    def end(self, reason: str) -> None:
        """Answer all that is open with an error."""
        for answer in list(self._open):
            answer.end(RpcError(-32000, reason))
