"""All connections of one HTTP server, and what they share."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import TYPE_CHECKING, Protocol

import anyio

from toolpick.front.connection import Connection

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.front.request import Request


class Service(Protocol):
    """Who answers requests."""

    def admit(self, request: Request) -> None:
        """Look at a request before its body is read.

        Raises:
            Refused: it is not served.
        """
        ...

    def serve(self, request: Request) -> None:
        """Answer a whole request, now or later.

        Raises:
            Refused: it is not served.
        """
        ...


class Connections:
    """All connections of one server, and what they share."""

    def __init__(
        self, service: Service, most: int = 1000, clock: Callable[[], float] = time.time
    ) -> None:
        """``most`` connections are kept; ``clock`` gives seconds since the epoch, for dates."""
        self.service = service
        self.open: dict[Connection, None] = {}
        """The connections, that which has gone unused longest first."""
        self._most = most
        self._clock = clock
        self._date = (0, b"")
        self._lost: anyio.Event | None = None

    def connect(self) -> Connection:
        """The protocol for a new connection."""
        return Connection(self)

    def date_line(self) -> bytes:
        """The Date header, which RFC 9110 wants in every response; made once a second."""
        now = int(self._clock())
        if self._date[0] != now:
            self._date = (now, b"date: %b\r\n" % formatdate(now, usegmt=True).encode())
        return self._date[1]

    def made(self, connection: Connection) -> None:
        """Keep a connection; of too many, one gives way that nothing is due on, or this one."""
        self.open[connection] = None
        if len(self.open) > self._most:
            victim = next((each for each in self.open if each.idle), connection)
            del self.open[victim]
            victim.abort()

    def used(self, connection: Connection) -> None:
        """Take note that a connection had a request answered."""
        if self.open.pop(connection, self) is None:
            self.open[connection] = None

    def close_idle(self, older: float) -> None:
        """Close the connections that have been silent since ``older`` (of the loop's clock)."""
        for connection in list(self.open):
            connection.close_if_idle(older)

    async def close(self, grace: float) -> None:
        """Close each connection once its response is complete and read, or after ``grace`` s."""
        for connection in list(self.open):
            connection.close_when_done()
        with anyio.move_on_after(grace):
            while self.open:
                self._lost = anyio.Event()
                await self._lost.wait()
        for connection in list(self.open):
            connection.abort()

    def lost(self, connection: Connection) -> None:
        """Forget a connection."""
        self.open.pop(connection, None)
        if self._lost is not None:
            self._lost.set()
