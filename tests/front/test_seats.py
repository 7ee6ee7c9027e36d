"""Which session is found, which is idle, and which gives way."""

from typing import Any

import pytest

from toolpick.front.outbox import Outbox
from toolpick.front.refusal import Refused
from toolpick.front.sessions import Seat, Seats

HERE: Any = None


class Clock:
    """A clock that a test turns."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def open_seat(seats: Seats, owner: bytes = b"me", profile: str = "") -> Seat:
    return seats.add(HERE, owner, profile, Outbox(lambda _: None, lambda: None))


def test_a_session_is_found_by_its_owner_in_its_profile_only() -> None:
    seats = Seats(5, 100, Clock())
    seat = open_seat(seats, profile="p")
    assert seats.find(seat.id, b"me", "p") is seat
    for id, owner, profile in ((seat.id, b"you", "p"), (seat.id, b"me", ""), ("x", b"me", "p")):
        with pytest.raises(Refused) as caught:
            seats.find(id, owner, profile)
        assert (caught.value.status, str(caught.value)) == (
            404,
            "there is no such session; send initialize again",
        )


def test_idle_sessions_are_taken_out_and_busy_ones_stay() -> None:
    clock = Clock()
    seats = Seats(5, 100, clock)
    idle, used, busy = (open_seat(seats) for _ in range(3))
    busy.answers.add(HERE)
    clock.now += 101
    seats.find(used.id, b"me", "")
    assert seats.take_idle() == [idle]
    assert len(seats) == 2
    assert not seats.remove(idle)
    assert seats.take_all() == [used, busy]


def test_the_longest_idle_session_gives_way_after_a_minute() -> None:
    clock = Clock()
    seats = Seats(2, 10_000, clock)
    assert seats.make_room() is None
    first, second = open_seat(seats), open_seat(seats)
    seats.find(first.id, b"me", "")
    clock.now += 1
    seats.find(second.id, b"me", "")
    clock.now += 59
    with pytest.raises(Refused) as caught:
        seats.make_room()
    assert (caught.value.status, caught.value.headers) == (503, [(b"retry-after", b"30")])
    clock.now += 1
    assert seats.make_room() is first
    assert seats.make_room() is None


def test_a_session_whose_client_never_came_back_gives_way_sooner_and_first() -> None:
    clock = Clock()
    seats = Seats(3, 10_000, clock)
    spoken, silent, late = (open_seat(seats) for _ in range(3))
    seats.find(spoken.id, b"me", "")
    clock.now += 5
    with pytest.raises(Refused):
        seats.make_room()
    clock.now += 1
    seats.find(late.id, b"me", "")
    assert seats.make_room() is silent
    clock.now += 60
    open_seat(seats)
    assert seats.make_room() is spoken


def test_a_seat_does_not_show_its_owner() -> None:
    assert b"secret" not in repr(open_seat(Seats(1, 1, Clock()), b"secret")).encode()
