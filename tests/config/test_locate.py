from pathlib import Path

import pytest

from toolpick.config.locate import locate


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_files_are_looked_for_in_the_documented_order(tmp_path: Path) -> None:
    cwd, home = tmp_path / "cwd", tmp_path / "home"
    last = write(home / ".config" / "toolpick" / "servers.toml")
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "TOOLPICK_CONFIG": ""}

    assert locate(None, environ, cwd, home, "linux") == last
    third = write(tmp_path / "xdg" / "toolpick" / "servers.toml")
    assert locate(None, environ, cwd, home, "linux") == third
    second = write(cwd / "servers.toml")
    assert locate(None, environ, cwd, home, "linux") == second


def test_a_file_that_was_named_is_the_one_even_when_it_is_missing(tmp_path: Path) -> None:
    write(tmp_path / "servers.toml")
    environ = {"TOOLPICK_CONFIG": "other.json"}

    assert locate(None, environ, tmp_path, tmp_path, "linux") == tmp_path / "other.json"
    assert locate(Path("x.toml"), environ, tmp_path, tmp_path, "linux") == Path("x.toml")


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("linux", {}, "home/.config"),
        ("darwin", {}, "home/.config"),
        ("darwin", {}, "home/Library/Application Support"),
        ("win32", {}, "home/AppData/Roaming"),
        ("win32", {"APPDATA": "roaming"}, "roaming"),
    ],
)
def test_each_system_has_its_folder(
    tmp_path: Path, platform: str, environ: dict[str, str], folder: str
) -> None:
    path = write(tmp_path / folder / "toolpick" / "servers.toml")

    assert locate(None, environ, tmp_path, tmp_path / "home", platform) == path


def test_where_nothing_is_there_is_nothing(tmp_path: Path) -> None:
    assert locate(None, {}, tmp_path, tmp_path, "linux") is None
    assert locate(None, {}, tmp_path, tmp_path, "win32") is None
