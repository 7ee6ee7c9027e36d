from collections.abc import Sequence

import pytest

from toolpick.hook.beacons import Beacon
from toolpick.hook.finding import of_conversation

SHELL = (20, "bash")
TERMINAL = (10, "kitty")
INIT = (1, "systemd")
CLIENT = (100, "claude")
HOOK = [(101, "sh"), CLIENT, SHELL, TERMINAL, INIT]
"""The processes above a hook of CLIENT."""


def beacon(
    name: str,
    parents: Sequence[tuple[int, str]] = (),
    *,
    session: str = "",
    cwd: str = "/p",
    http: int = 0,
) -> Beacon:
    said = {
        "pid": 7,
        "parents": list(parents),
        "cwd": cwd,
        "session": session,
        "transport": "http" if http else "stdio",
        "port": http,
    }
    return Beacon(name, said)


def found(
    *beacons: Beacon,
    session: str = "s",
    parents: Sequence[tuple[int, str]] = HOOK,
    cwd: str = "/p",
    port: int = 0,
) -> list[str]:
    chosen = of_conversation(beacons, session=session, parents=lambda: parents, cwd=cwd, port=port)
    return [one.path for one in chosen]


def test_the_same_id_of_a_conversation_decides() -> None:
    mine = beacon("mine", [CLIENT, SHELL], session="s")
    other = beacon("other", [CLIENT, SHELL], session="t")

    assert found(mine, other) == ["mine"]


def test_where_every_gateway_has_an_id_the_process_tree_is_not_asked() -> None:
    def ask() -> list[tuple[int, str]]:
        raise AssertionError

    mine = beacon("mine", [CLIENT], session="s")
    chosen = of_conversation([mine], session="s", parents=ask, cwd="/p")

    assert chosen == [mine]


def test_a_second_gateway_of_the_conversation_that_knows_no_id_yet_is_told_too() -> None:
    mine = beacon("mine", [CLIENT, SHELL], session="s")
    fresh = beacon("fresh", [CLIENT, SHELL])

    assert found(mine, fresh) == ["mine", "fresh"]


def test_every_gateway_below_the_client_is_found() -> None:
    first, second = beacon("first", [CLIENT, SHELL]), beacon("second", [(55, "uv"), CLIENT])

    assert found(first, second) == ["first", "second"]


def test_of_a_conversation_with_a_new_id_the_old_gateway_is_found_by_its_client() -> None:
    old = beacon("old", [CLIENT, SHELL], session="before /clear")

    assert found(old) == ["old"]


@pytest.mark.parametrize("shared", [[SHELL, TERMINAL, INIT], [TERMINAL, INIT], [INIT]])
def test_two_clients_below_one_terminal_have_nothing_in_common(
    shared: list[tuple[int, str]],
) -> None:
    assert found(beacon("other", [(200, "codex"), *shared])) == []


def test_the_nearest_common_client_decides_below_an_editor() -> None:
    editor = (30, "code")
    hook = [(101, "sh"), CLIENT, editor, INIT]
    mine, other = beacon("mine", [CLIENT, editor]), beacon("other", [(300, "claude"), editor])

    assert found(mine, other, parents=hook) == ["mine"]


def test_a_login_shell_is_no_client() -> None:
    shell = (20, "-zsh")

    assert found(beacon("other", [(200, "codex"), shell]), parents=[CLIENT, shell]) == []


def test_a_client_far_above_is_none() -> None:
    between = [(number, "node") for number in range(200, 206)]

    assert found(beacon("far", [*between, CLIENT])) == []
    assert found(beacon("near", [CLIENT]), parents=[*between, CLIENT]) == []


def test_a_gateway_that_no_client_started_is_found_by_its_folder() -> None:
    here, there = beacon("here", [SHELL], http=8931), beacon("there", http=8932, cwd="/q")

    assert found(here, there) == ["here"]
    assert found(here, there, cwd="") == []


def test_the_folder_counts_for_a_clients_gateway_only_where_no_process_tree_is_known() -> None:
    known, unknown = beacon("known", [(200, "codex"), SHELL]), beacon("unknown")

    assert found(known, unknown) == ["unknown"]


def test_a_port_names_one_gateway() -> None:
    mine = beacon("mine", [CLIENT], session="s")
    shared = beacon("shared", http=8931, cwd="/q")

    assert found(mine, shared, port=8931) == ["shared"]
    assert found(mine, shared, port=8932) == []
