"""The schedule of a server's starts, as values."""

import pytest

from toolpick.downstream.restarts import DELAYS, LONGEST_START, PATIENCE, STEADY, Restarts, delay


def schedule(start_timeout: float = 20.0) -> Restarts:
    """One without spread."""
    return Restarts(start_timeout, lambda low, high: (low + high) / 2)


def test_each_failure_is_followed_by_a_longer_wait_up_to_a_limit() -> None:
    restarts = schedule()
    waits = []
    for now in range(0, 1000, 100):
        restarts.ended(now, 0.0)
        waits.append(restarts.next_start - now)

    assert waits == pytest.approx([*DELAYS, DELAYS[-1], DELAYS[-1]])


def test_a_server_that_was_up_for_a_while_begins_anew() -> None:
    restarts = schedule()
    for now in range(5):
        restarts.ended(now, 0.0)

    restarts.ended(100.0, STEADY + 1)

    assert restarts.failures == 1
    assert restarts.next_start == pytest.approx(100.0 + DELAYS[0])


def test_a_server_that_was_up_only_for_a_moment_does_not() -> None:
    restarts = schedule()
    restarts.ended(0.0, 0.0)

    restarts.ended(1.0, STEADY - 1)

    assert restarts.failures == 2


def test_an_end_that_is_excused_is_followed_by_a_start_at_once() -> None:
    restarts = schedule()
    restarts.ended(0.0, 0.0)

    restarts.excused(5.0)

    assert (restarts.failures, restarts.next_start) == (0, 5.0)


def test_an_excuse_is_good_once_until_the_server_was_steady() -> None:
    restarts = schedule()
    waits = []
    for now in (100.0, 101.0, 102.0, 122.0 + STEADY):
        restarts.excused(now)
        waits.append(restarts.next_start - now)

    assert waits == pytest.approx([0.0, *DELAYS[:2], 0.0])


def test_a_start_in_another_way_comes_at_once_but_does_not_begin_anew() -> None:
    restarts = schedule()
    restarts.ended(0.0, 0.0)

    restarts.in_another_way(5.0)

    assert (restarts.failures, restarts.next_start) == (1, 5.0)


def test_servers_do_not_come_back_in_step() -> None:
    asked: list[tuple[float, float]] = []

    def spread(low: float, high: float) -> float:
        asked.append((low, high))
        return high

    restarts = Restarts(20.0, spread)
    restarts.ended(0.0, 0.0)

    assert asked == [(0.8, 1.2)]
    assert restarts.next_start == pytest.approx(DELAYS[0] * 1.2)


def test_chance_stays_within_its_bounds() -> None:
    for _ in range(100):
        restarts = Restarts(20.0)
        restarts.ended(0.0, 0.0)
        assert 0.8 * DELAYS[0] <= restarts.next_start <= 1.2 * DELAYS[0]


@pytest.mark.parametrize(
    ("first", "timeouts"),
    [(20.0, [20.0, 40.0, 80.0, 120.0, 120.0]), (200.0, [200.0] * 5), (1.0, [1, 2, 4, 8, 16])],
)
def test_each_start_is_given_more_time_than_the_one_before(
    first: float, timeouts: list[float]
) -> None:
    restarts = schedule(first)
    given = []
    for _ in range(5):
        given.append(restarts.start_timeout)
        assert restarts.longest_start == PATIENCE * restarts.start_timeout
        restarts.ended(0.0, 0.0)

    assert given == timeouts
    assert max(given) <= max(first, LONGEST_START)


def test_the_waits_are_those_of_the_table() -> None:
    assert [delay(failures) for failures in range(1, 12)] == [*DELAYS, *[DELAYS[-1]] * 3]
