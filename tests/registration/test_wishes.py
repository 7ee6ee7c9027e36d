"""What counts as toolpick's in another program's file, and how files are changed together."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolpick.cli.install import program
from toolpick.clients.files import Change, apply, read
from toolpick.clients.wishes import Command, add, found, is_our_hook, is_ours, quoted, remove
from toolpick.errors import ClientFileError


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("toolpick hook", True),
        ("/usr/local/bin/toolpick hook --server x", True),
        ("'/my programs/toolpick' hook", True),
        ('"C:\\Program Files\\toolpick.exe" hook', True),
        ("C:\\bin\\toolpick.exe hook --port 1", True),
        ("/usr/bin/python3 -m toolpick hook", True),
        ("toolpick check", False),
        ("toolpicker hook", False),
        ("my-hook toolpick", False),
        ("toolpick 'hook", False),
        ("", False),
        (None, False),
        (5, False),
    ],
)
def test_a_hook_is_known_wherever_the_program_is(command: Any, ours: bool) -> None:
    assert is_our_hook(command) is ours


@pytest.mark.parametrize(
    ("entry", "ours"),
    [
        ({"command": "toolpick", "args": ["serve"]}, True),
        ({"command": "C:\\bin\\Toolpick.EXE"}, True),
        ({"command": "/usr/bin/python", "args": ["-m", "toolpick", "serve"]}, True),
        ({"command": "/usr/bin/python", "args": ["-m", "other"]}, False),
        ({"command": "npx", "args": ["toolpick"]}, False),
        ({"url": "http://127.0.0.1:8931/mcp"}, True),
        ({"httpUrl": "https://tools.example/mcp/docs/"}, True),
        ({"serverUrl": "https://tools.example/sse"}, False),
        ({"url": 5}, False),
        ({}, False),
        ("toolpick", False),
        (None, False),
    ],
)
def test_an_entry_is_known_by_what_it_starts_or_where_it_leads(entry: Any, ours: bool) -> None:
    assert is_ours(entry) is ours


def test_words_are_quoted_for_the_shell_of_the_system() -> None:
    words = ["C:\\my programs\\toolpick.exe", "hook"]

    assert quoted(words, "win32") == '"C:\\my programs\\toolpick.exe" hook'
    assert quoted(["/my programs/toolpick", "hook"], "darwin") == "'/my programs/toolpick' hook"
    assert is_our_hook(quoted(words, "win32"))


def test_what_stands_among_hooks_and_is_none_is_passed_over() -> None:
    wish = Command(("hooks", "e"), "toolpick hook", {"command": ""}, grouped=True)
    text = '{"hooks": {"e": [5, {"hooks": 5}, {"hooks": [5, {"command": 5}]}]}}'

    assert found(text, wish, toml=False) is None
    assert remove(text, wish, toml=False, keep=lambda _: True) == text
    changed = add(text, wish, toml=False)
    assert remove(changed, wish, toml=False, keep=lambda _: True) == text


def test_hooks_of_others_in_the_same_group_stay() -> None:
    wish = Command(("e",), "toolpick hook", {"command": ""}, grouped=True)
    text = '{"e": [{"hooks": [{"command": "a"}, {"command": "/b/toolpick hook"}]}]}'

    assert remove(text, wish, toml=False, keep=lambda _: False) == (
        '{"e": [{"hooks": [{"command": "a"}]}]}'
    )


def test_a_file_that_was_changed_in_between_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("now")

    with pytest.raises(ClientFileError) as caught:
        apply([Change(path, b"before", b"after", None, tmp_path)])

    assert str(caught.value) == f"{path}: was changed by another program just now; try again"
    assert read(path) == b"now"


def test_a_folder_in_place_of_a_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ClientFileError, match="can't be read: is a directory"):
        read(tmp_path)


def test_the_program_is_found_beside_the_interpreter_or_started_as_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert program() == (str(tmp_path / "python"), "-m", "toolpick")

    beside = tmp_path / "toolpick"
    beside.touch()
    assert program() == (str(beside),)

    beside.chmod(0o755)
    monkeypatch.setattr(sys, "executable", "/elsewhere/python")
    assert program() == (str(beside),)


def test_the_module_is_the_command() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "toolpick", "--version"], capture_output=True, check=True
    )
    assert ended.stdout.startswith(b"toolpick ")
