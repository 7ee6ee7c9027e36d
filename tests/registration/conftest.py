"""A home and a project of their own, and the command run there."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from toolpick.cli import main

VARIABLES = ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "APPDATA")


@dataclass(frozen=True)
class Desk:
    """Where a person works; ``run`` gives exit code, output and complaints of a command."""

    home: Path
    project: Path
    command: str
    run: Callable[..., tuple[int, str, str]]

    def files(self) -> dict[str, bytes]:
        """Every file below the home and the project, by its path from there."""
        return {
            str(path.relative_to(base)): path.read_bytes()
            for base in (self.home, self.project)
            for path in sorted(base.rglob("*"))
            if path.is_file()
        }

    def folders(self) -> set[Path]:
        return {path for path in self.home.rglob("*") if path.is_dir()}


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    home, project, programs = (tmp_path / name for name in ("home", "project", "bin"))
    for folder in (home, project, programs):
        folder.mkdir()
    command = programs / "toolpick"
    command.touch(mode=0o755)
    for name in (*VARIABLES, "TOOLPICK_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setattr(sys, "argv", [str(command)])
    monkeypatch.chdir(project)
    (project / "servers.toml").write_text('[servers.time]\ncommand = "mcp-server-time"\n')

    def run(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        out, err = capsys.readouterr()
        return code, out.replace(os.sep, "/"), err

    return Desk(home, project, str(command), run)
