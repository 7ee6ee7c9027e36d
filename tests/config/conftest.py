from collections.abc import Callable
from pathlib import Path

import pytest

from toolpick.config.load import Loaded, load
from toolpick.errors import ConfigError


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Loaded]:
    """Write a settings file into an empty folder and load it from there."""
    monkeypatch.chdir(tmp_path)

    def write_and_load(text: str | bytes, file: str = "servers.toml", **environ: str) -> Loaded:
        data = text if isinstance(text, bytes) else text.encode()
        Path(file).write_bytes(data)
        return load(Path(file), environ)

    return write_and_load


@pytest.fixture
def mistakes(read: Callable[..., Loaded]) -> Callable[..., list[str]]:
    """Return every problem of a settings file as text, fatal or not."""

    def all_of(text: str | bytes, file: str = "servers.toml", **environ: str) -> list[str]:
        try:
            problems = read(text, file, **environ).problems
        except ConfigError as error:
            problems = error.problems
        return [str(problem) for problem in problems]

    return all_of
