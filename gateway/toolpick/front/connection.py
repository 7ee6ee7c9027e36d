"""One client's connection: uvicorn's HTTP/1.1 protocol with three things that it lacks.

A response's head and its first body bytes leave in one write (one packet, one wake-up of the
client); the request being answered is told when its client leaves; and the head of a request has a
size limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from toolpick.front.request import LEAVE, LEFT

if TYPE_CHECKING:
    # only names for annotations: the protocol is driven by uvicorn
    import asyncio  # noqa: TID251

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

HEAD_LIMIT = 64 * 1024
"""Bytes of a request line and its headers."""
_JOIN = 64 * 1024
"""Bytes up to which head and body are copied together; beyond, two writes are cheaper."""


class Connection(HttpToolsProtocol):
    """A connection as uvicorn drives it."""

    _in_head = True
    _unfinished = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Put the joining of writes between uvicorn and the socket."""
        super().connection_made(_Joined(transport))  # type: ignore[arg-type]

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is complete."""
        self._in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Read; a head that grows without end ends the connection."""
        super().data_received(data)
        if not self._in_head:
            self._unfinished = 0
            return
        self._unfinished += len(data)
        if self._unfinished > HEAD_LIMIT and not self.transport.is_closing():
            self.send_400_response(f"the request's head is larger than {HEAD_LIMIT} bytes")

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that is being answered."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        super().connection_lost(exc)
        if cycle is not None and not cycle.response_complete:
            state: dict[str, Any] = cycle.scope["state"]
            state[LEFT] = True
            leave = state.pop(LEAVE, None)
            if leave is not None:
                leave()


class _Joined:
    """A transport that keeps the head of a response back until its first body bytes come."""

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""

    def write(self, data: bytes) -> None:
        if self._head:
            head, self._head = self._head, b""
            if len(data) <= _JOIN:
                self._transport.write(head + data)
                return
            self._transport.write(head)
        elif data.startswith(b"HTTP/1.1 ") and not data.startswith(b"HTTP/1.1 1"):
            self._head = data
            return
        self._transport.write(data)

    def close(self) -> None:
        if self._head:
            self._transport.write(self._head)
            self._head = b""
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
