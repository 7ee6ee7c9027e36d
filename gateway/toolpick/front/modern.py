"""Requests of the modern era: each stands alone, and closing its response cancels it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.errors import RpcError
from toolpick.front import headers as head
from toolpick.front import ladder, mirrors
from toolpick.front.refusal import Refused
from toolpick.model import Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from toolpick.engine.engine import Engine
    from toolpick.engine.session import Session
    from toolpick.front.answer import Answer
    from toolpick.front.exchanges import Exchanges
    from toolpick.front.request import Request


class Modern:
    """Serves POSTs. There is one session of the engine for each profile and principal."""

    def __init__(self, engine: Engine, exchanges: Exchanges) -> None:
        """Nothing is opened before the first request."""
        self._engine = engine
        self._exchanges = exchanges
        self._sessions: dict[tuple[str, str], Session] = {}

    def post(self, request: Request, message: env.Envelope) -> None:
        """Serve one message.

        Raises:
            Refused: it is not served.
        """
        if not message.method:
            raise Refused(400, "Invalid Request: this version has no questions to answer")
        if not message.id:
            # nothing is told to a server this way; closing the response is what cancels a request
            ladder.check_version(request.headers.text(head.VERSION))
            request.reply(202)
            return
        declared = ladder.climb(message, request.headers)
        session = self._session(request, declared)
        if message.method == "tools/call":
            self._check_mirrors(session, message, request)
        elif message.method == "subscriptions/listen" and not _takes_streams(request):
            raise Refused(406, "subscriptions/listen answers with text/event-stream only")
        self._exchanges.start(request, message, session, status=_status)

    async def close(self) -> None:
        """End the sessions."""
        while self._sessions:
            _, session = self._sessions.popitem()
            await self._engine.close_session(session)

    def _session(self, request: Request, declared: ladder.Declared) -> Session:
        place = (request.profile, request.principal)
        session = self._sessions.get(place)
        if session is None:
            session = self._engine.open_session(
                era=Era.MODERN,
                version=declared.version,
                capabilities=declared.capabilities,
                client=declared.client,
                out=None,
                key=request.principal,
                profile=request.profile,
            )
            self._sessions[place] = session
        return session

    def _check_mirrors(self, session: Session, message: env.Envelope, request: Request) -> None:
        params = env.members(message.params)
        name = env.text(params.get("name", b""))
        schema = self._engine.input_schema(session, name) if name else None
        if schema:
            try:
                mirrors.check(schema, params.get("arguments", b""), request.headers)
            except RpcError as error:
                raise Refused(400, error.message, error.code) from error


def _takes_streams(request: Request) -> bool:
    return head.accepts(request.headers.raw(b"accept"))[1]


def _status(answer: Answer) -> int:
    return ladder.status_of(answer.final) if answer.failed else 200
