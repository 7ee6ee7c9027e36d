import os
import stat
import sys
from pathlib import Path

import pytest

from toolpick.hook import beacons

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders have no owner there")

SAID = {
    "pid": 12,
    "parents": [[11, "claude"], [1, "init"]],
    "cwd": "/p",
    "session": "s",
    "transport": "stdio",
    "tcp": 0,
    "secret": "",
}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_made_for_the_user_alone(tmp_path: Path) -> None:
    found = beacons.own_folder({"XDG_RUNTIME_DIR": str(tmp_path)})

    assert found == str(tmp_path / "toolpick")
    assert mode(tmp_path / "toolpick") == 0o700


def test_without_a_runtime_folder_it_lies_in_the_temporary_one(tmp_path: Path) -> None:
    environ = {"XDG_RUNTIME_DIR": str(tmp_path / "missing"), "TMPDIR": str(tmp_path)}
    if Path(f"/run/user/{os.getuid()}").is_dir():
        pytest.skip("this system has a runtime folder")

    assert beacons.own_folder(environ) == str(tmp_path / f"toolpick-{os.getuid()}")


def test_a_named_folder_replaces_all_others(tmp_path: Path) -> None:
    environ = {"TOOLPICK_RUNTIME_DIR": str(tmp_path / "mine"), "XDG_RUNTIME_DIR": str(tmp_path)}

    assert beacons.folders(environ) == [str(tmp_path / "mine")]


def test_a_folder_whose_sockets_would_have_too_long_names_is_passed_over() -> None:
    long = "/" + "x" * 90

    assert beacons.folders({"XDG_RUNTIME_DIR": long, "TMPDIR": long}) == [
        f"/run/user/{os.getuid()}/toolpick",
        f"/tmp/toolpick-{os.getuid()}",
    ]


def test_rights_of_others_to_the_users_own_folder_are_taken_away(tmp_path: Path) -> None:
    (tmp_path / "toolpick").mkdir(mode=0o755)

    beacons.own_folder({"XDG_RUNTIME_DIR": str(tmp_path)})

    assert mode(tmp_path / "toolpick") == 0o700


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="is not a folder of this user's"):
        beacons.own_folder({"TOOLPICK_RUNTIME_DIR": str(tmp_path / "run")})


def test_a_folder_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    uid = os.getuid()
    monkeypatch.setattr(beacons.os, "getuid", lambda: uid + 1)

    with pytest.raises(OSError, match="is not a folder of this user's"):
        beacons.own_folder({"TOOLPICK_RUNTIME_DIR": str(tmp_path / "run")})
    assert beacons.read_all({"TOOLPICK_RUNTIME_DIR": str(tmp_path / "run")}) == []


def test_a_folder_that_others_can_write_to_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    beacons.write(str(folder / "a.json"), SAID)
    folder.chmod(0o777)

    assert beacons.read_all({"TOOLPICK_RUNTIME_DIR": str(folder)}) == []


def test_a_beacon_says_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "12-ab.json"
    beacons.write(str(path), SAID)

    found = beacons.read(str(path))

    assert found is not None
    assert (found.pid, found.parents, found.cwd) == (12, [(11, "claude"), (1, "init")], "/p")
    assert (found.session, found.transport, found.port, found.tcp) == ("s", "stdio", 0, 0)
    assert found.socket == str(tmp_path / "12-ab.sock")
    assert mode(path) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["12-ab.json"]


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", "{}", '{"pid": "x"}', '{"pid": 1, "parents": [7]}']
)
def test_what_is_no_beacon_is_left_out(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    (folder / "a.json").write_text(text)
    (folder / "b.sock").write_text("")
    beacons.write(str(folder / "c.json"), SAID)

    found = beacons.read_all({"TOOLPICK_RUNTIME_DIR": str(folder)})

    assert [one.path for one in found] == [str(folder / "c.json")]


def test_no_folder_holds_no_beacons(tmp_path: Path) -> None:
    assert beacons.read_all({"TOOLPICK_RUNTIME_DIR": str(tmp_path / "missing")}) == []


def test_removing_a_beacon_takes_its_socket_too(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    beacons.write(str(path), SAID)
    (tmp_path / "a.sock").write_text("")
    found = beacons.read(str(path))
    assert found is not None

    found.remove()
    found.remove()

    assert list(tmp_path.iterdir()) == []
