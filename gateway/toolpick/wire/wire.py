"""What carries frames: the ``Wire`` protocol, and who hears from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_FRAME = 256 * 2**20
"""Largest frame in bytes; a longer one ends the connection that sent it."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What an HTTP wire must know of a request: its id, and what goes into headers.

    ``name`` is the value of the ``Mcp-Name`` header ("" for none), ``headers`` are further ones
    (``Mcp-Param-*``, the protocol version).
    """

    id: int
    method: str
    name: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class Receiver(Protocol):
    """Who hears from a wire. Called on the event loop; must not block."""

    def received(self, frame: bytes, origin: int | None) -> None:
        """Take one frame. ``origin`` is the id of the request on whose stream it came, if known."""
        ...

    def lost(self, reason: str) -> None:
        """Take note that nothing more will come. Called once."""
        ...

    def dropped(self, id: int, reason: str, *, session_gone: bool = False) -> None:
        """Take note that the answer to request ``id`` will never come, though the wire lives.

        ``session_gone``: the server no longer knows the session, so the request was not run.
        """
        ...


class Wire(Protocol):
    """A two-way carrier of frames. ``start`` it once; whoever starts it closes it."""

    async def start(self, receiver: Receiver) -> None:
        """Open the wire.

        Raises:
            OSError: it can't be opened.
        """
        ...

    def send(self, frame: bytes, about: Outgoing | None = None) -> None:
        """Send one frame, without waiting. ``about`` is given for requests only."""
        ...

    def abandon(self, id: int) -> bool:
        """Stop waiting for the answer to ``id``; True when that alone tells the other side."""
        ...

    async def close(self) -> None:
        """Close it; for a child process: end the process and all that it started."""
        ...
