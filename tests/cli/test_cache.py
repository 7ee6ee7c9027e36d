"""``toolpick cache``: what it shows, what it clears, what it says of a store out of reach."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from toolpick.cli import main
from toolpick_selectors.store import VectorStore

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("FASTEMBED_CACHE_PATH", raising=False)
    return tmp_path / "toolpick"


def keep_vectors(folder: Path, count: int = 3) -> None:
    store = VectorStore(folder / "vectors.sqlite")
    store.save("model@1", {str(n): np.ones(4, np.float32) for n in range(count)})
    store.close()


def test_an_empty_cache_is_shown_and_not_created(folder, capsys):
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == (
        f"vectors: 0 in {folder / 'vectors.sqlite'}, 0.0 MB\nmodels:  {folder / 'models'}, 0.0 MB\n"
    )
    assert not folder.exists()


def test_what_each_model_has_is_shown(folder, capsys):
    keep_vectors(folder)
    assert main(["cache"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"vectors: 3 in {folder / 'vectors.sqlite'}, ")
    today = time.strftime("%Y-%m-%d", time.gmtime())
    assert [line.split() for line in lines[1:3]] == [
        ["model", "vectors", "last", "used"],
        ["model@1", "3", today],
    ]


def test_it_is_shown_as_json_too(folder, capsys):
    keep_vectors(folder)
    (folder / "models").mkdir()
    (folder / "models" / "graph").write_bytes(b"x" * 1000)
    (folder / "models" / "link").symlink_to(folder / "models" / "graph")
    assert main(["cache", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == {
        "path": str(folder / "vectors.sqlite"),
        "bytes": shown["bytes"],
        "vectors": 3,
        "by_model": [{"model": "model@1", "vectors": 3, "used": shown["by_model"][0]["used"]}],
        "set_aside": "",
        "problem": "",
        "models": {"path": str(folder / "models"), "bytes": 1000},
    }


def test_clearing_forgets_the_vectors(folder, capsys):
    keep_vectors(folder)
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"removed 3 vectors from {folder / 'vectors.sqlite'}\n"
    assert main(["cache", "--clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == 0


def test_a_damaged_store_is_mentioned(folder, capsys):
    folder.mkdir()
    (folder / "vectors.sqlite").write_bytes(b"no database" * 100)
    assert main(["cache"]) == 0
    aside = folder / "vectors.sqlite.damaged"
    assert f"a damaged store was moved to {aside}; --clear removes it" in capsys.readouterr().out


def test_a_store_that_cannot_be_used_is_an_exit_code(folder, capsys):
    (folder / "vectors.sqlite").mkdir(parents=True)
    assert main(["cache"]) == 1
    assert "can't be used" in capsys.readouterr().out
