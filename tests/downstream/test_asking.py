"""Whose call a server's question or notice belongs to, as values."""

from typing import Any

import pytest

from toolpick.downstream.asking import Call, Hearer, whom_to_ask, whom_to_tell
from toolpick.downstream.link import Link
from toolpick.errors import RpcError

MESSAGE, PROGRESS = "notifications/message", "notifications/progress"


class Fake:
    """A call of a client, or an owner."""

    def __init__(self, client: str = "") -> None:
        self.client = client

    def server_request(
        self, link: Link, id: bytes, method: str, params: bytes, origin: int | None
    ) -> None:
        raise AssertionError

    def server_notification(
        self, link: Link, method: str, params: bytes, origin: int | None
    ) -> None:
        raise AssertionError


ADA, ADA_TOO, BOB = Fake("ada"), Fake("ada"), Fake("bob")
OWNER, OTHER = Fake(), Fake()
ONE: dict[int, Call] = {1: ADA}
ONE_CLIENT: dict[int, Call] = {1: ADA, 2: ADA_TOO}
TWO_CLIENTS: dict[int, Call] = {1: ADA, 2: BOB}


@pytest.mark.parametrize(
    ("calls", "owners", "origin", "asked"),
    [
        ({}, [OWNER], None, OWNER),
        ({}, [OWNER, OTHER], None, None),
        ({}, [], None, None),
        (ONE, [OWNER, OTHER], None, ADA),
        (ONE_CLIENT, [OWNER, OTHER], None, ADA_TOO),
        (TWO_CLIENTS, [OWNER, OTHER], None, None),
        (TWO_CLIENTS, [OWNER, OTHER], 2, BOB),
        (ONE_CLIENT, [OWNER], 1, ADA),
        (ONE, [OWNER], 9, ADA),
    ],
)
def test_a_question_goes_to_whom_it_must_be_for(
    calls: dict[int, Call], owners: list[Hearer], origin: int | None, asked: Any
) -> None:
    assert whom_to_ask(calls, owners, origin) is asked


@pytest.mark.parametrize(
    ("params", "origin", "told"),
    [
        (b'{"progressToken":1}', None, [ADA]),
        (b'{"progressToken":"2"}', None, [BOB]),
        (b'{"progressToken":2}', 1, [BOB]),
        (b'{"progressToken":9}', 1, []),
        (b'{"progressToken":"mine"}', None, []),
        (b'{"progressToken":null}', None, []),
        (b"{}", 1, []),
        (b"", 1, []),
    ],
)
def test_progress_goes_to_the_call_of_its_token(
    params: bytes, origin: int | None, told: list[Any]
) -> None:
    assert whom_to_tell(TWO_CLIENTS, [OWNER], PROGRESS, params, origin) == told


@pytest.mark.parametrize(
    ("method", "calls", "origin", "told"),
    [
        (MESSAGE, {}, None, [OWNER, OTHER]),
        (MESSAGE, ONE_CLIENT, None, [ADA_TOO]),
        (MESSAGE, TWO_CLIENTS, None, []),
        (MESSAGE, TWO_CLIENTS, 1, [ADA]),
        ("notifications/cancelled", TWO_CLIENTS, None, [ADA, BOB]),
        ("notifications/resources/updated", TWO_CLIENTS, None, [OWNER, OTHER]),
        ("notifications/other", ONE, 1, [ADA]),
    ],
)
def test_other_notices_go_to_those_whom_they_concern(
    method: str, calls: dict[int, Call], origin: int | None, told: list[Any]
) -> None:
    assert whom_to_tell(calls, [OWNER, OTHER], method, b"{}", origin) == told


def test_progress_that_can_not_be_read_is_an_error() -> None:
    with pytest.raises(RpcError):
        whom_to_tell(ONE, [OWNER], PROGRESS, b"[1]", None)
