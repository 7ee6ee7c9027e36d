"""One request of a client, from its arrival to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from toolpick.errors import INVALID_PARAMS, RpcError
from toolpick.model import Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.engine.session import Session

META = "io.modelcontextprotocol/"
VERSION_KEY = META + "protocolVersion"
CAPABILITIES_KEY = META + "clientCapabilities"
CLIENT_KEY = META + "clientInfo"
LOG_LEVEL_KEY = META + "logLevel"
SERVER_KEY = META + "serverInfo"
SUBSCRIPTION_KEY = META + "subscriptionId"
QUERY_KEY = "io.toolpick/query"
CONVERSATION_KEY = "io.toolpick/conversation"


class Channel(Protocol):
    """Where frames for a client go: a front's promise to deliver them, in order."""

    def send(self, frame: bytes, *, final: bool) -> None:
        """Deliver one frame, without waiting; ``final`` marks the answer itself. Never raises."""
        ...


class Exchange:
    """A request in flight, answered once: by ``reply``, by ``fail``, or never, after ``cancel``."""

    __slots__ = (
        "_on_cancel",
        "channel",
        "done",
        "header_query",
        "id",
        "meta",
        "method",
        "params",
        "session",
        "token",
    )

    def __init__(
        self,
        session: Session,
        id: bytes,
        method: str,
        params: env.Body,
        channel: Channel,
        header_query: str,
    ) -> None:
        """Take ``id`` and ``params`` as JSON; ``header_query`` is "" if there is none.

        Raises:
            RpcError: ``params`` or its ``_meta`` is no object.
        """
        self.session = session
        self.id = id
        self.method = method
        self.channel = channel
        self.header_query = header_query
        self.params: env.Members = env.members(params)
        meta = self.params.pop("_meta", None)
        self.meta: env.Members = env.members(meta) if meta is not None else {}
        self.token: bytes = bytes(self.meta.get("progressToken", b""))
        self.done = False
        self._on_cancel: Callable[[str], None] | None = None

    @property
    def modern(self) -> bool:
        """Whether the client speaks the era of self-contained requests."""
        return self.session.era is Era.MODERN

    @property
    def capabilities(self) -> bytes:
        """The client's capabilities as JSON: this request's own (modern) or the session's."""
        if self.modern:
            return bytes(self.meta.get(CAPABILITIES_KEY, b"{}"))
        return self.session.capabilities

    def text_param(self, key: str) -> str:
        """A required string among the params.

        Raises:
            RpcError: it is missing or no string (-32602).
        """
        found = env.text(self.params.get(key, b""))
        if found is None:
            raise RpcError(INVALID_PARAMS, f"Invalid params: {key!r} must be a string")
        return found

    def reply(self, body: env.Body) -> None:
        """Answer with a result, as JSON of an object, exactly as it is to be sent."""
        if not self.done:
            self._end()
            self.channel.send(env.result(self.id, body), final=True)

    def fail(self, error: env.Body) -> None:
        """Answer with an error object."""
        if not self.done:
            self._end()
            self.channel.send(env.failure(self.id, error), final=True)

    def refuse(self, error: RpcError) -> None:
        """Answer with an error."""
        self.fail(env.error_object(error))

    def notify(self, method: str, params: env.Body) -> None:
        """Send a notification that belongs to this request; dropped once it is answered."""
        if not self.done:
            self.channel.send(env.notification(method, params), final=False)

    def on_cancel(self, what: Callable[[str], None]) -> None:
        """Run ``what`` with the reason when the client gives this request up."""
        self._on_cancel = what

    def cancel(self, reason: str) -> None:
        """The client no longer wants an answer; none will be sent."""
        if not self.done:
            what = self._on_cancel
            self._end()
            if what is not None:
                what(reason)

    def _end(self) -> None:
        self.done = True
        self._on_cancel = None
        if self.session.in_flight.get(self.id) is self:
            # a client may have used the id again
            del self.session.in_flight[self.id]
