"""Which era a server is greeted in, as values."""

import pytest

from toolpick.config.settings import ServerSettings
from toolpick.downstream.eras import EraWish
from toolpick.model import Era

LEGACY, MODERN = Era.LEGACY, Era.MODERN
DIED = "exited with code 1"


def wish(client: Era, learnt: dict[str, Era] | None = None, **settings: str) -> EraWish:
    return EraWish(ServerSettings("srv", **settings), client, {} if learnt is None else learnt)


@pytest.mark.parametrize(
    ("client", "settings", "learnt", "modern"),
    [
        (LEGACY, {}, {}, False),
        (MODERN, {}, {}, True),
        (MODERN, {}, {"srv": LEGACY}, False),
        (MODERN, {}, {"other": LEGACY}, True),
        (LEGACY, {"era": "modern"}, {}, True),
        (MODERN, {"era": "legacy"}, {}, False),
        (MODERN, {"era": "modern"}, {"srv": LEGACY}, True),
        (MODERN, {"transport": "sse"}, {}, False),
        (MODERN, {"transport": "sse", "era": "modern"}, {}, False),
    ],
)
def test_the_settings_decide_and_then_what_is_known_and_then_the_client(
    client: Era, settings: dict[str, str], learnt: dict[str, Era], modern: bool
) -> None:
    assert wish(client, learnt, **settings).modern is modern


@pytest.mark.parametrize("spoken", [LEGACY, MODERN])
def test_what_a_server_answered_to_the_probe_is_remembered_for_all(spoken: Era) -> None:
    learnt: dict[str, Era] = {}

    wish(MODERN, learnt).worked(spoken)

    assert learnt == {"srv": spoken}
    assert wish(MODERN, learnt).modern is (spoken is MODERN)


def test_a_server_that_was_not_probed_teaches_nothing() -> None:
    learnt: dict[str, Era] = {}

    wish(LEGACY, learnt).worked(LEGACY)

    assert learnt == {}


@pytest.mark.parametrize("reason", [DIED, "was ended by SIGKILL", "closed its stdout"])
def test_a_server_that_ends_at_the_probe_is_next_started_without(reason: str) -> None:
    learnt: dict[str, Era] = {}
    tried = wish(MODERN, learnt)

    assert tried.ended_ungreeted(reason) is True
    assert tried.modern is False
    tried.worked(LEGACY)
    assert learnt == {"srv": LEGACY}


def test_a_server_that_ends_without_a_probe_as_well_is_probed_again() -> None:
    tried = wish(MODERN)
    tried.ended_ungreeted(DIED)

    assert tried.ended_ungreeted(DIED) is False
    assert tried.modern is True


@pytest.mark.parametrize("client", [LEGACY, MODERN])
def test_a_failure_that_is_no_end_is_not_put_down_to_the_probe(client: Era) -> None:
    assert wish(client).ended_ungreeted("could not be started: no such file") is False


def test_where_the_settings_want_the_probe_nothing_is_put_down_to_it() -> None:
    tried = wish(LEGACY, era="modern")

    assert tried.ended_ungreeted(DIED) is False
    assert tried.modern is True
