"""The vector store: what it keeps, what it survives, what it bounds."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from toolpick_selectors.store import ModelShare, StoreSummary, VectorStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolpick_selectors.vector_file import Vector


def vector(*numbers: float) -> Vector:
    return np.array(numbers, np.float32)


def plain(found: dict[str, Vector]) -> dict[str, list[float]]:
    return {text: row.tolist() for text, row in found.items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "vectors.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Callable[..., VectorStore]]:
    opened: list[VectorStore] = []

    def make(**options: object) -> VectorStore:
        opened.append(VectorStore(path, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def test_what_was_saved_is_found_by_another_store(store):
    store().save("m@1", {"a": vector(1, 2), "b": vector(3, 4)})
    assert plain(store().load("m@1", ["a", "b", "c"])) == {"a": [1, 2], "b": [3, 4]}


def test_another_model_or_version_is_a_miss(store):
    cache = store()
    cache.save("m@1", {"a": vector(1)})
    assert cache.load("m@2", ["a"]) == {}
    assert cache.load("m@", ["1a"]) == {}


def test_saving_again_replaces(store):
    cache = store()
    cache.save("m", {"a": vector(1)})
    cache.save("m", {"a": vector(2)})
    assert plain(cache.load("m", ["a"])) == {"a": [2]}


def test_any_text_is_a_key_however_many_there_are(store):
    cache = store()
    texts = ["", "\ud800", "🙂\x00", *(f"text {n}" for n in range(1200))]
    cache.save("m", {text: vector(n) for n, text in enumerate(texts)})
    assert plain(cache.load("m", texts)) == {text: [n] for n, text in enumerate(texts)}


def test_asking_for_nothing_touches_no_disk(store, path):
    cache = store()
    assert cache.load("m", []) == {}
    cache.save("m", {})
    assert cache.clear() == 0
    assert cache.summary() == StoreSummary(str(path), 0, 0, (), "", "")
    assert not path.parent.exists()


def test_summary_says_what_each_model_holds(store, path):
    cache = store(now=lambda: 1000)
    cache.save("one", {"a": vector(1), "b": vector(2)})
    cache.save("two", {"a": vector(1)})
    found = cache.summary()
    shares = (ModelShare("one", 2, 1000), ModelShare("two", 1, 1000))
    assert found == StoreSummary(str(path), found.bytes, 3, shares, "", "")
    assert found.bytes > 0


def test_clear_forgets_everything(store, path):
    cache = store()
    cache.save("m", {str(n): np.ones(256, np.float32) for n in range(1000)})
    before = cache.summary().bytes
    path.with_name("vectors.sqlite.damaged").write_text("old")
    assert cache.clear() == 1000
    assert cache.load("m", ["1"]) == {}
    after = cache.summary()
    assert (after.vectors, after.set_aside) == (0, "")
    assert after.bytes < before / 10


def test_two_processes_write_and_read_at_once(store, path):
    script = """
import sys, numpy as np
from pathlib import Path
from toolpick_selectors.store import VectorStore
store = VectorStore(Path(sys.argv[1]))
for n in range(60):
    store.save("m", {f"{sys.argv[2]} {n}": np.full(64, n, np.float32)})
    assert store.load("m", [f"{sys.argv[2]} {n}"])
assert not store.summary().problem, store.summary().problem
"""
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(path), who], stderr=subprocess.PIPE)
        for who in ("left", "right")
    ]
    errors = [process.communicate(timeout=60)[1].decode() for process in running]
    assert errors == ["", ""]
    wanted = [f"{who} {n}" for who in ("left", "right") for n in range(60)]
    assert sorted(store().load("m", wanted)) == sorted(wanted)


@pytest.mark.parametrize("damage", ["garbage", "half", "empty table", "zeroed pages"])
def test_a_damaged_file_is_a_miss_and_is_begun_anew(store, path, caplog, damage):
    first = store()
    first.save("m", {str(n): np.full(256, n, np.float32) for n in range(500)})
    first.close()
    if damage == "garbage":
        path.write_bytes(b"this is no database" * 1000)
    elif damage == "half":
        os.truncate(path, path.stat().st_size // 2)
    elif damage == "empty table":
        path.unlink()
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE vectors (something TEXT)")
        other.close()
    else:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (size - 4096))
    cache = store()
    assert cache.load("m", [str(n) for n in range(500)]) == {}
    cache.save("m", {"new": vector(7)})
    assert plain(cache.load("m", ["new"])) == {"new": [7]}
    summary = cache.summary()
    assert (summary.vectors, summary.problem) == (1, "")
    assert summary.set_aside == str(path) + ".damaged"
    assert [record.message for record in caplog.records if "is damaged" in record.message]


def test_damage_while_open_is_repaired_too(store, path):
    cache = store()
    cache.save("m", {str(n): np.full(256, n, np.float32) for n in range(500)})
    other = sqlite3.connect(path)
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    cache.load("m", [str(n) for n in range(500)])
    cache.save("m", {"new": vector(7)})
    assert plain(cache.load("m", ["new"])) == {"new": [7]}
    assert cache.summary().problem == ""


def test_a_vector_with_a_flipped_bit_is_a_miss(store, path):
    cache = store()
    cache.save("m", {"a": vector(1), "b": vector(2)})
    with sqlite3.connect(path) as other:
        other.execute("UPDATE vectors SET checksum = checksum + 1 WHERE rowid = 1")
    other.close()
    assert plain(cache.load("m", ["a", "b"])) == {"b": [2]}


def test_a_folder_that_cannot_be_written_to_is_said_once(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    cache = VectorStore(blocked / "vectors.sqlite", now=iter(range(0, 10_000, 100)).__next__)
    for _ in range(3):
        cache.save("m", {"a": vector(1)})
        assert cache.load("m", ["a"]) == {}
    assert len(caplog.records) == 1
    assert str(blocked / "vectors.sqlite") in caplog.text
    assert "name a folder that can be written to" in caplog.text
    assert "can't be used" in cache.summary().problem or cache.summary().vectors == 0


def test_an_unusable_store_is_left_alone_for_a_while_and_tried_again(tmp_path):
    folder = tmp_path / "file"
    folder.write_text("not a folder")
    clock = [1000.0]
    cache = VectorStore(folder / "vectors.sqlite", now=lambda: clock[0])
    cache.save("m", {"a": vector(1)})
    folder.unlink()
    cache.save("m", {"a": vector(1)})
    assert cache.load("m", ["a"]) == {}
    clock[0] += 61
    cache.save("m", {"a": vector(1)})
    assert plain(cache.load("m", ["a"])) == {"a": [1]}
    assert cache.summary().problem == ""
    cache.close()


def test_a_file_that_another_process_holds_is_a_miss(store, path, caplog, monkeypatch):
    monkeypatch.setattr("toolpick_selectors.vector_file.LOCK_SECONDS", 0.05)
    with caplog.at_level(logging.WARNING):
        cache = store()
        cache.save("m", {"a": vector(1)})
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        cache.save("m", {"b": vector(2)})
        holder.execute("ROLLBACK")
        holder.close()
    assert "locked" in caplog.text
    assert plain(cache.load("m", ["a", "b"])) == {"a": [1]}


def test_the_size_is_bounded_and_the_longest_unused_goes_first(store, path):
    clock = [0.0]
    most = 1 << 20
    cache = store(max_bytes=most, now=lambda: clock[0])
    cache.save("m", {"kept in use": np.ones(256, np.float32)})
    for batch in range(30):
        clock[0] += 10_000
        cache.save("m", {f"{batch} {n}": np.ones(256, np.float32) for n in range(100)})
        assert cache.load("m", ["kept in use"])
    cache.close()
    assert path.stat().st_size <= most
    cache = store()
    assert cache.load("m", ["0 0"]) == {}
    assert cache.load("m", ["29 99"])
