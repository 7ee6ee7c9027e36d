"""The stdio front: one client, either era. Its first message decides which."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

import anyio

from toolpick.engine.exchange import CLIENT_KEY, VERSION_KEY
from toolpick.errors import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, FrameError, RpcError
from toolpick.front.backlog import UNHEARD, question
from toolpick.front.messages import (
    BATCHES,
    TOO_DEEP,
    batch_of,
    has_good_id,
    id_of_deep,
    is_batch,
)
from toolpick.front.refusal import Refused
from toolpick.model import Era
from toolpick.wire import envelope as env
from toolpick.wire.own import OwnWire
from toolpick.wire.wire import Wire

if TYPE_CHECKING:
    from toolpick.engine.engine import Engine
    from toolpick.engine.session import Session

log = logging.getLogger("toolpick.stdio")

LASTING = frozenset(
    {
        "notifications/cancelled",
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
    }
)
"""Notifications that a client must not miss."""

GOING_DOWN = RpcError(INTERNAL_ERROR, "toolpick is shutting down")


class ClientWire(Wire, Protocol):
    """A wire to a client."""

    @property
    def behind(self) -> bool:
        """Whether the client reads so slowly that only what it waits for should be sent."""
        ...


class StdioFront:
    """Reads a client's frames from a wire and writes the engine's back."""

    def __init__(self, engine: Engine, wire: ClientWire, profile: str = "") -> None:
        """Nothing is read before ``run``. ``profile`` is the client's, "" for none."""
        self._engine = engine
        self._profile = profile
        self._wire = wire
        self._gone = anyio.Event()
        self.session: Session | None = None

    async def run(self) -> None:
        """Serve until the client closes its end."""
        await self._wire.start(self)
        try:
            await self._gone.wait()
        finally:
            with anyio.CancelScope(shield=True):
                if self.session is not None:
                    if not self._gone.is_set():
                        self.session.refuse_all(GOING_DOWN)
                    await self._engine.close_session(self.session)
                await self._wire.close()

    def send(self, frame: bytes, *, final: bool) -> None:
        """Write one frame; to a client that does not read, only what must not be lost."""
        if final or not self._wire.behind or b'/list_changed"' in frame[:80]:
            self._wire.send(frame)
            return
        asked = question(frame)
        if asked is not None:
            # later: whoever sends the question may not be ready for its answer yet
            self._engine.run(self._unheard, env.Envelope(id=asked.id, error=UNHEARD))

    async def _unheard(self, answer: env.Envelope) -> None:
        if self.session is not None:
            self._engine.answered(self.session, answer)

    def received(self, frame: bytes, origin: int | None) -> None:
        """Take one frame of the client; whatever it holds, the next one is read."""
        try:
            self._take(frame)
        except Exception:
            log.exception("event=bug bytes=%d", len(frame))

    def _take(self, frame: bytes) -> None:
        if self.session is not None and self.session.version == BATCHES and is_batch(frame):
            self._take_batch(frame)
            return
        try:
            message = env.decode(frame)
        except FrameError as error:
            log.warning("event=unreadable bytes=%d", len(frame))
            if isinstance(error.__cause__, RecursionError):
                self._refuse(id_of_deep(frame), RpcError(INVALID_REQUEST, TOO_DEEP))
            else:
                self._refuse(b"", RpcError(PARSE_ERROR, "Parse error: not a JSON-RPC message"))
            return
        self._take_message(message)

    def _take_batch(self, frame: bytes) -> None:
        """Take an array of messages; what they ask for is answered one by one."""
        try:
            messages = batch_of(frame)
        except Refused as refused:
            self._wire.send(refused.body)
            return
        for message in messages:
            self._take_message(message)

    def _take_message(self, message: env.Envelope) -> None:
        if not has_good_id(message):
            text = "Invalid Request: an id must be a string or a number"
            self._refuse(b"", RpcError(INVALID_REQUEST, text))
        elif message.method and message.id:
            self._request(message)
        elif self.session is None:
            log.info(
                "event=ignored method=%r reason=%r", message.method, "before the first request"
            )
        elif message.method:
            self._engine.notified(self.session, message.method, message.params)
        else:
            self._engine.answered(self.session, message)

    def _request(self, message: env.Envelope) -> None:
        try:
            session = self._session_for(message)
        except RpcError as error:
            self._refuse(bytes(message.id), error)
            return
        if session is not None:
            self._engine.handle(session, message, self)

    def _session_for(self, message: env.Envelope) -> Session | None:
        if self.session is None:
            self.session = self._open(message)
        elif message.method == "initialize" and self.session.era is Era.MODERN:
            # a client that probed with server/discover and then fell back to the handshake
            self._engine.run(self._engine.close_session, self.session)
            self.session = self._open(message)
        return self.session

    def _open(self, message: env.Envelope) -> Session | None:
        params = env.members(message.params)
        if message.method == "initialize":
            return self._engine.open_session(
                era=Era.LEGACY,
                version=env.text(params.get("protocolVersion", b"")) or "",
                capabilities=bytes(params.get("capabilities", b"{}")),
                client=bytes(params.get("clientInfo", b"{}")),
                out=self,
                profile=self._profile,
            )
        meta = env.members(params.get("_meta", b""))
        if VERSION_KEY in meta or message.method == "server/discover":
            client = bytes(meta.get(CLIENT_KEY, b"{}"))
            return self._engine.open_session(
                era=Era.MODERN, client=client, out=self, profile=self._profile
            )
        if message.method == "ping":
            self._wire.send(env.result(message.id, b"{}"))
            return None
        hint = "send initialize, or the _meta of a 2026-07-28 request"
        raise RpcError(INVALID_REQUEST, f"{message.method} before initialize; {hint}")

    def _refuse(self, id: env.Body, error: RpcError) -> None:
        self._wire.send(env.failure(id, env.error_object(error)))

    def lost(self, reason: str) -> None:
        """The client is gone."""
        usual = reason.startswith("the client closed")
        log.log(logging.INFO if usual else logging.WARNING, "event=end reason=%r", reason)
        self._gone.set()

    def dropped(self, id: int, reason: str, *, session_gone: bool = False) -> None:
        """Never happens: no request is sent by id here."""


async def serve_stdio(engine: Engine, profile: str = "") -> None:
    """Serve the client that started this process, until it closes stdin."""
    await StdioFront(engine, OwnWire(may_be_missed), profile).run()


def may_be_missed(frame: bytes) -> bool:
    """Whether a client can do without a frame: it is a notification, and of no lasting change."""
    message = env.decode(frame)
    return bool(message.method) and not message.id and message.method not in LASTING
