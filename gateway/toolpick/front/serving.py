"""What the HTTP front asks of the engine behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from toolpick.engine.exchange import Channel, Exchange
    from toolpick.engine.session import Session
    from toolpick.model import Era
    from toolpick.wire import envelope as env


class Serving(Protocol):
    """The engine, as far as a front sees it. Only ``close_session`` waits; nothing raises."""

    def open_session(
        self,
        *,
        era: Era,
        version: str,
        capabilities: bytes,
        client: bytes,
        out: Channel | None,
        key: str = "",
    ) -> Session:
        """Make a legacy session, or give the one modern session that belongs to ``key``."""
        ...

    def handle(
        self, session: Session, message: env.Envelope, channel: Channel, header_query: str = ""
    ) -> Exchange | None:
        """Take a request; its answer goes to ``channel``, perhaps before this returns."""
        ...

    def notified(self, session: Session, method: str, params: env.Body) -> None:
        """Take a notification of the client."""
        ...

    def answered(self, session: Session, message: env.Envelope) -> None:
        """Take a client's answer to a request that it was sent."""
        ...

    def input_schema(self, session: Session, name: str) -> bytes | None:
        """JSON of a tool's input schema, None when there is no such tool."""
        ...

    async def close_session(self, session: Session) -> None:
        """End a session and what was started for it."""
        ...
