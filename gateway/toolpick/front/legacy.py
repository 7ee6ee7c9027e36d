"""Sessions over streamable HTTP, for clients of the versions up to 2025-11-25."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.errors import SERVER_UNAVAILABLE, RpcError
from toolpick.front import headers as head
from toolpick.front import messages
from toolpick.front.backlog import events
from toolpick.front.guards import credential
from toolpick.front.outbox import Outbox
from toolpick.front.refusal import Refused
from toolpick.model import LEGACY_VERSIONS, Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.engine.engine import Engine
    from toolpick.front.answer import Answer
    from toolpick.front.exchanges import Exchanges
    from toolpick.front.headers import Pairs
    from toolpick.front.request import Request
    from toolpick.front.sessions import Seat, Seats

CANCELLED = RpcError(-32800, "the request was cancelled")
ENDED = RpcError(SERVER_UNAVAILABLE, "the session was ended")


class Legacy:
    """Serves POST, GET and DELETE of sessions."""

    def __init__(
        self, engine: Engine, exchanges: Exchanges, seats: Seats, spawn: Callable[..., object]
    ) -> None:
        """``seats`` holds the sessions; ``spawn`` runs what must be waited for."""
        self._engine = engine
        self._exchanges = exchanges
        self._seats = seats
        self._spawn = spawn

    def post(self, request: Request, message: env.Envelope) -> None:
        """Serve one message.

        Raises:
            Refused: it is not served.
        """
        if message.method == "initialize" and message.id:
            self._initialize(request, message)
            return
        seat = self._find(request)
        if self._told(seat, message):
            request.reply(202)
            return
        self._exchanges.start(
            request, message, seat.session, begun=seat.answers.add, ended=self._ended(seat)
        )

    def post_batch(self, request: Request) -> None:
        """Serve an array of messages. Only answers are sent back: progress and questions are lost.

        Raises:
            Refused: it is not served.
        """
        seat = self._find(request)
        if seat.session.version != messages.BATCHES:
            raise Refused(
                400, f"arrays of messages are part of version {messages.BATCHES} only; send one"
            )
        asked = [each for each in messages.batch_of(request.body) if not self._told(seat, each)]
        if not asked:
            request.reply(202)
            return
        finals: list[bytes] = []

        def ended(answer: Answer) -> None:
            self._ended(seat)(answer)
            finals.append(answer.final)
            if len(finals) == len(asked) and not request.done:
                _send_batch(request, finals)

        def leave() -> None:
            for answer in answers:
                answer.leave()

        answers = [self._exchanges.start_mute(request, each, seat.session, ended) for each in asked]
        seat.answers.update(answer for answer in answers if not answer.final)
        request.left = leave

    def get(self, request: Request) -> None:
        """Serve the stream for what belongs to no request. A second one replaces the first.

        Raises:
            Refused: no session, or the client takes no event streams.
        """
        seat = self._find(request)
        if not head.accepts(request.headers.raw(b"accept"))[1]:
            raise Refused(406, "this answers with text/event-stream only; accept it")
        seat.outbox.stream(request, _id_header(seat))

    def delete(self, request: Request) -> None:
        """End a session.

        Raises:
            Refused: there is none.
        """
        seat = self._find(request)
        self._seats.remove(seat)
        self._spawn(self._delete, request, seat)

    async def end(self, seat: Seat, error: RpcError = ENDED) -> None:
        """End a session that was taken out: its requests, its stream, what was started for it."""
        for answer in list(seat.answers):
            answer.end(error)
        seat.outbox.close()
        await self._engine.close_session(seat.session)

    async def _delete(self, request: Request, seat: Seat) -> None:
        await self.end(seat)
        if not request.done:
            request.reply(204)

    def _find(self, request: Request) -> Seat:
        owner = credential(request.headers)
        return self._seats.find(request.headers.text(head.SESSION), owner, request.profile)

    def _ended(self, seat: Seat) -> Callable[[Answer], None]:
        def ended(answer: Answer) -> None:
            seat.answers.discard(answer)
            self._seats.touch(seat)

        return ended

    def _initialize(self, request: Request, message: env.Envelope) -> None:
        victim = self._seats.make_room()
        if victim is not None:
            self._spawn(self.end, victim)
        seat = self._open(request, message)

        def ended(answer: Answer) -> None:
            seat.answers.discard(answer)
            if (answer.left or answer.failed) and self._seats.remove(seat):
                self._spawn(self.end, seat)

        self._exchanges.start(
            request,
            message,
            seat.session,
            headers=_id_header(seat),
            begun=seat.answers.add,
            ended=ended,
        )

    def _open(self, request: Request, message: env.Envelope) -> Seat:
        try:
            params = env.members(message.params)
        except RpcError:
            params = {}  # the engine says what is wrong
        outbox = Outbox(lambda frame: unheard(frame), lambda: self._seats.touch(seat))
        session = self._engine.open_session(
            era=Era.LEGACY,
            version=env.text(params.get("protocolVersion", b"")) or LEGACY_VERSIONS[-1],
            capabilities=bytes(params.get("capabilities", b"{}")),
            client=bytes(params.get("clientInfo", b"{}")),
            out=outbox,
            key=request.principal,
            profile=request.profile,
        )
        unheard = self._exchanges.unheard(session)
        seat = self._seats.add(session, credential(request.headers), request.profile, outbox)
        return seat

    def _told(self, seat: Seat, message: env.Envelope) -> bool:
        """Hand over a notification or an answer; False for a request."""
        if not message.method:
            self._engine.answered(seat.session, message)
        elif not message.id:
            self._engine.notified(seat.session, message.method, message.params)
            if message.method == "notifications/cancelled":
                for answer in list(seat.answers):
                    answer.settle(CANCELLED)
        else:
            return False
        return True


def _id_header(seat: Seat) -> Pairs:
    return [(head.SESSION, seat.id.encode())]


def _send_batch(request: Request, finals: list[bytes]) -> None:
    if head.accepts(request.headers.raw(b"accept"))[0]:
        request.reply(200, b"[%b]" % b",".join(finals))
    else:
        request.events()
        request.write(events(finals), last=True)
