"""Remarks on what servers list: each once, and never a flood."""

import pytest

from toolpick.engine import remarks
from toolpick.engine.remarks import Remarks


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    told = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return told


def test_each_remark_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    made = Remarks()
    made.make(["a", "b", "a"])
    made.make(["b", "c"])
    made.make(["a"])

    assert said(caplog) == ["note='a'", "note='b'", "note='c'"]


def test_many_at_once_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    made = Remarks()
    made.make(str(number) for number in range(25))
    made.make(str(number) for number in range(25))

    told = said(caplog)
    assert len(told) == 21
    assert told[-1] == "note='5 more remarks like these; toolpick check shows them'"


def test_a_server_that_always_says_something_else_is_heard_only_so_long(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remarks, "IN_ALL", 3)
    made = Remarks()
    for number in range(9):
        made.make([str(number)])

    last = "note='further remarks on what servers list are not logged'"
    assert said(caplog) == ["note='0'", "note='1'", "note='2'", last]
