"""Requests of clients in the making, of both eras: from a message to its answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from toolpick.front import headers as head
from toolpick.front.answer import Answer
from toolpick.front.backlog import UNHEARD, question
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.engine.engine import Engine
    from toolpick.engine.session import Session
    from toolpick.errors import RpcError
    from toolpick.front.headers import Pairs
    from toolpick.front.request import Request

log = logging.getLogger("toolpick.http")


def _nothing(answer: Answer) -> None:
    return


def _always_ok(answer: Answer) -> int:
    return 200


class Exchanges:
    """Starts exchanges; knows which have no answer yet."""

    def __init__(self, engine: Engine, spawn: Callable[..., object]) -> None:
        """``spawn`` runs an async function, with its arguments, as a task that somebody owns."""
        self._engine = engine
        self._spawn = spawn
        self._open: set[Answer] = set()

    def start(
        self,
        request: Request,
        message: env.Envelope,
        session: Session,
        *,
        status: Callable[[Answer], int] = _always_ok,
        headers: Pairs | None = None,
        begun: Callable[[Answer], None] = _nothing,
        ended: Callable[[Answer], None] = _nothing,
    ) -> None:
        """Hand a request to the engine and its answer to the client; both may be over on return.

        ``status`` is asked for plain answers only: a stream is a 200. ``begun`` and ``ended`` frame
        the time without an answer. When the client leaves, the exchange is cancelled: that is what
        the modern era says; in the legacy era a lost connection is no cancellation, as the answer
        might be fetched later, but here it can't be.
        """
        json, streams = head.accepts(request.headers.raw(b"accept"))

        def plain(answer: Answer) -> None:
            request.reply(status(answer), answer.final, headers)

        def over(answer: Answer) -> None:
            self._open.discard(answer)
            ended(answer)

        answer = Answer(
            message.id,
            plain=plain if json else None,
            stream=request if streams else None,
            ended=over,
            unheard=self.unheard(session),
            headers=headers,
        )
        self._open.add(answer)
        begun(answer)
        request.left = answer.leave
        self._handle(request, message, session, answer)

    def start_mute(
        self,
        request: Request,
        message: env.Envelope,
        session: Session,
        ended: Callable[[Answer], None],
    ) -> Answer:
        """Hand a request to the engine whose answer is only collected; ``ended`` says when."""
        answer = Answer(
            message.id, plain=_nothing, stream=None, ended=ended, unheard=self.unheard(session)
        )
        self._handle(request, message, session, answer)
        return answer

    def unheard(self, session: Session) -> Callable[[bytes], None]:
        """What is done with frames that the client will not get: nobody waits for an answer."""

        def refuse(frame: bytes) -> None:
            asked = question(frame)
            if asked is None:
                log.debug("event=undelivered")
            else:
                answer = env.Envelope(id=asked.id, error=UNHEARD)
                # later: whoever sends the question may not be ready for its answer yet
                self._spawn(self._refuse, session, answer)

        return refuse

    def tick(self) -> None:
        """Give quiet streams a sign of life."""
        for answer in list(self._open):
            answer.tick()

    def end(self, error: RpcError) -> None:
        """Answer all that is open with an error."""
        for answer in list(self._open):
            answer.end(error)

    def _handle(
        self, request: Request, message: env.Envelope, session: Session, answer: Answer
    ) -> None:
        query = request.headers.raw(head.QUERY)
        exchange = self._engine.handle(session, message, answer, head.query(query) if query else "")
        if not answer.final:
            answer.exchange = exchange

    async def _refuse(self, session: Session, answer: env.Envelope) -> None:
        self._engine.answered(session, answer)
