"""Legacy sessions by their ids: who may use one, how many there are, which are idle.

Knows no HTTP beyond the status of a refusal; whoever takes a session out of here ends it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolpick.errors import INTERNAL_ERROR
from toolpick.front.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.engine.session import Session
    from toolpick.front.answer import Answer
    from toolpick.front.outbox import Outbox

EVICTABLE = 60.0
"""Seconds without use after which a session gives way to a new one when all places are taken."""
UNSPOKEN = 5.0
"""The same for a client that has not said a word since it was greeted: it is likely gone."""
_RETRY = (b"retry-after", b"30")


@dataclass(slots=True, eq=False)
class Seat:
    """One legacy session as its clients reach it."""

    id: str
    session: Session
    owner: bytes = field(repr=False)
    """Stands for the credential that opened it."""
    profile: str
    outbox: Outbox
    used: float
    """When it was last used, in seconds of the clock of its ``Seats``."""
    spoken: bool = False
    """Whether its client has come back since it was greeted."""
    answers: set[Answer] = field(default_factory=set)
    """Responses that are being made."""

    @property
    def busy(self) -> bool:
        """Whether a request is in flight or a stream open."""
        return bool(self.answers) or self.outbox.open


class Seats:
    """All legacy sessions."""

    def __init__(self, limit: int, idle: float, clock: Callable[[], float]) -> None:
        """At most ``limit`` sessions, each ended ``idle`` seconds after its last use."""
        self._seats: dict[str, Seat] = {}
        self._limit = limit
        self._idle = idle
        self._clock = clock

    def __len__(self) -> int:
        """How many there are."""
        return len(self._seats)

    def find(self, id: str | None, owner: bytes, profile: str) -> Seat:
        """The session of a request, marked as used.

        Raises:
            Refused: no id (400); no such session, or not this client's (404, the same words).
        """
        if not id:
            raise Refused(400, "the header Mcp-Session-Id is missing; send initialize first")
        seat = self._seats.get(id)
        if seat is None or seat.owner != owner or seat.profile != profile:
            raise Refused(404, "there is no such session; send initialize again")
        self.touch(seat)
        seat.spoken = True
        return seat

    def touch(self, seat: Seat) -> None:
        """Mark a session as used."""
        seat.used = self._clock()

    def make_room(self) -> Seat | None:
        """Take out the session that gives way to a new one, None when there is room.

        Raises:
            Refused: all places are taken by sessions in use (503).
        """
        if len(self._seats) < self._limit:
            return None
        unused = [seat for seat in self._seats.values() if self._gives_way(seat)]
        if not unused:
            text = f"all {self._limit} sessions are in use; try again later"
            raise Refused(503, text, INTERNAL_ERROR, headers=[_RETRY])
        longest = min(unused, key=lambda seat: (seat.spoken, seat.used))
        return self._seats.pop(longest.id)

    def _gives_way(self, seat: Seat) -> bool:
        patience = EVICTABLE if seat.spoken else UNSPOKEN
        return not seat.busy and self._clock() - seat.used > patience

    def add(self, session: Session, owner: bytes, profile: str, outbox: Outbox) -> Seat:
        """Give a session an id that nobody can guess."""
        seat = Seat(secrets.token_hex(16), session, owner, profile, outbox, self._clock())
        self._seats[seat.id] = seat
        return seat

    def remove(self, seat: Seat) -> bool:
        """Take a session out; False when it was."""
        return self._seats.pop(seat.id, None) is not None

    def take_idle(self) -> list[Seat]:
        """Take out all that nobody has used for too long."""
        oldest = self._clock() - self._idle
        idle = [seat for seat in self._seats.values() if not seat.busy and seat.used < oldest]
        for seat in idle:
            del self._seats[seat.id]
        return idle

    def take_all(self) -> list[Seat]:
        """Take out every session."""
        seats = list(self._seats.values())
        self._seats.clear()
        return seats

    def tick(self) -> None:
        """Give quiet streams a sign of life."""
        for seat in self._seats.values():
            seat.outbox.tick()
