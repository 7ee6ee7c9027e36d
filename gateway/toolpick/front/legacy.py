"""Sessions over streamable HTTP, for clients of the versions up to 2025-11-25."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.errors import RpcError
from toolpick.front import headers as head
from toolpick.front import messages
from toolpick.front.guards import credential
from toolpick.front.mailbox import events
from toolpick.front.outbox import Outbox
from toolpick.front.refusal import Refused
from toolpick.model import LEGACY_VERSIONS, Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from toolpick.front.answer import Answer
    from toolpick.front.exchanges import Exchanges
    from toolpick.front.headers import Pairs
    from toolpick.front.request import Request
    from toolpick.front.serving import Serving
    from toolpick.front.sessions import Seat, Seats

CANCELLED = RpcError(-32800, "the request was cancelled")
ENDED = RpcError(-32000, "the session was ended")
_BATCHES = "2025-03-26"


class Legacy:
    """Serves POST, GET and DELETE of sessions."""

    def __init__(self, engine: Serving, exchanges: Exchanges, seats: Seats) -> None:
        """``seats`` holds the sessions."""
        self._engine = engine
        self._exchanges = exchanges
        self._seats = seats

    async def post(self, request: Request, message: env.Envelope, profile: str) -> None:
        """Serve one message.

        Raises:
            Refused: it is not served.
        """
        if message.method == "initialize" and message.id:
            await self._initialize(request, message, profile)
            return
        seat = self._find(request, profile)
        if not self._told(seat, message):
            await self._converse(request, message, seat)
            return
        await request.reply(202)

    async def post_batch(self, request: Request, body: bytes, profile: str) -> None:
        """Serve an array of messages. Only answers are sent back: progress and questions are lost.

        Raises:
            Refused: it is not served.
        """
        seat = self._find(request, profile)
        if seat.session.version != _BATCHES:
            raise Refused(
                400, f"arrays of messages are part of version {_BATCHES} only; send one at a time"
            )
        asked = [each for each in messages.batch_of(body) if not self._told(seat, each)]
        if not asked:
            await request.reply(202)
            return
        answers = [self._exchanges.mute_answer(each, seat.session) for each in asked]
        seat.answers.update(answers)
        try:
            for each, answer in zip(asked, answers, strict=True):
                self._exchanges.begin(seat.session, each, answer, request)
            if await _all_finished(request, answers):
                await _send_batch(request, [answer.final for answer in answers])
        finally:
            seat.answers.difference_update(answers)
            self._seats.touch(seat)

    async def get(self, request: Request, profile: str) -> None:
        """Serve the stream for what belongs to no request. A second one replaces the first.

        Raises:
            Refused: no session, or the client takes no event streams.
        """
        seat = self._find(request, profile)
        if not head.accepts(request.headers.raw(b"accept"))[1]:
            raise Refused(406, "this answers with text/event-stream only; accept it")
        await seat.outbox.stream(request, _id_header(seat))
        self._seats.touch(seat)

    async def delete(self, request: Request, profile: str) -> None:
        """End a session.

        Raises:
            Refused: there is none.
        """
        seat = self._find(request, profile)
        self._seats.remove(seat)
        await self.end(seat)
        await request.reply(204)

    async def end(self, seat: Seat, error: RpcError = ENDED) -> None:
        """End a session that was taken out: its requests, its stream, what was started for it."""
        for answer in list(seat.answers):
            answer.end(error)
        seat.outbox.close()
        await self._engine.close_session(seat.session)

    def _find(self, request: Request, profile: str) -> Seat:
        return self._seats.find(
            request.headers.text(head.SESSION), credential(request.headers), profile
        )

    async def _initialize(self, request: Request, message: env.Envelope, profile: str) -> None:
        victim = self._seats.make_room()
        seat = self._open(request, message, profile)
        answer = self._exchanges.answer(request, message, seat.session)
        seat.answers.add(answer)
        try:
            self._exchanges.begin(seat.session, message, answer, request)
            await self._exchanges.deliver(answer, request, _always_ok, _id_header(seat))
        finally:
            seat.answers.discard(answer)
            if (not answer.final or answer.failed) and self._seats.remove(seat):
                await self._engine.close_session(seat.session)
            if victim is not None:
                await self.end(victim)

    def _open(self, request: Request, message: env.Envelope, profile: str) -> Seat:
        try:
            params = env.members(message.params)
        except RpcError:
            params = {}
        wanted = env.text(params.get("protocolVersion", b""))
        outbox = Outbox()
        session = self._engine.open_session(
            era=Era.LEGACY,
            version=wanted if wanted in LEGACY_VERSIONS else LEGACY_VERSIONS[-1],
            capabilities=bytes(params.get("capabilities", b"{}")),
            client=bytes(params.get("clientInfo", b"{}")),
            out=outbox,
            key=profile,
        )
        outbox.attach(self._exchanges.unheard(session))
        return self._seats.add(session, credential(request.headers), profile, outbox)

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

    async def _converse(self, request: Request, message: env.Envelope, seat: Seat) -> None:
        answer = self._exchanges.answer(request, message, seat.session)
        seat.answers.add(answer)
        try:
            self._exchanges.begin(seat.session, message, answer, request)
            await self._exchanges.deliver(answer, request, _always_ok)
        finally:
            seat.answers.discard(answer)
            self._seats.touch(seat)


def _always_ok(answer: Answer) -> int:
    return 200


def _id_header(seat: Seat) -> Pairs:
    return [(head.SESSION, seat.id.encode())]


async def _all_finished(request: Request, answers: list[Answer]) -> bool:
    """Wait for all; False when the client left."""

    def leave() -> None:
        for answer in answers:
            answer.leave()

    request.on_leave(leave)
    try:
        return all([await answer.finished() for answer in answers])
    finally:
        leave()


async def _send_batch(request: Request, frames: list[bytes]) -> None:
    if head.accepts(request.headers.raw(b"accept"))[0]:
        await request.reply(200, b"[%b]" % b",".join(frames))
        return
    await request.events()
    await request.write(events(frames), last=True)
