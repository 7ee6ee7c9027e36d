import os
import sys

import pytest

from toolpick.hook import ancestors as module
from toolpick.hook.ancestors import MOST, ancestors, chain, parsed

TREE = {5: (4, "hook"), 4: (3, "sh"), 3: (1, "client"), 1: (0, "init")}


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not looked at on Windows")
def test_the_parent_of_a_process_comes_first() -> None:
    assert ancestors(os.getpid())[0][0] == os.getppid()


def test_parents_are_followed_to_the_top() -> None:
    assert chain(5, TREE.get) == [(4, "sh"), (3, "client"), (1, "init")]


def test_a_process_that_is_gone_ends_the_chain() -> None:
    assert chain(5, {5: (4, "hook")}.get) == []
    assert chain(9, TREE.get) == []


def test_a_chain_ends_whatever_the_system_says() -> None:
    assert chain(2, {2: (3, "a"), 3: (2, "b")}.get) == [(3, "b")]
    assert len(chain(1, lambda pid: (pid + 1, "p"))) == MOST


def test_what_ps_prints_is_understood() -> None:
    text = "    1     0 /sbin/launchd\n  345     1 /Apps/My App.app/My App\n\nps: odd\n 7 x y\n"

    assert parsed(text) == {1: (0, "launchd"), 345: (1, "My App")}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no ps on Windows")
def test_ps_knows_what_proc_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ancestors(os.getpid())[0][0]
    monkeypatch.setattr(module.os.path, "isdir", lambda path: False)

    assert ancestors(os.getpid())[0][0] == expected


def test_without_ps_no_process_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(module.os.path, "isdir", lambda path: False)

    assert ancestors(os.getpid()) == []
