"""The fastembed embedder with a real tiny ONNX model: from a folder, and fetched from loopback."""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.selectors.hub import Hub, serve
from tests.selectors.tiny_models import WORDS, write_embedder

from toolpick_selectors.contract import SelectionError, Tool
from toolpick_selectors.embedders import Embedder
from toolpick_selectors.embedders.fastembed import Fastembed, _Window
from toolpick_selectors.onnx import download as downloading
from toolpick_selectors.onnx.download import DownloadError, Files, download
from toolpick_selectors.onnx.fetch import FOLDER, NETWORK, explain, mark
from toolpick_selectors.onnx.held import Held
from toolpick_selectors.onnx.source import local_folder, model_folder
from toolpick_selectors.registry import Parts

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "sentence-transformers/all-MiniLM-L6-v2"
REPO = "Qdrant/all-MiniLM-L6-v2-onnx"
TOOLS = (
    Tool("mail", "send_email", "", "", "send email to my boss"),
    Tool("sky", "forecast", "", "", "weather rain city"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_embedder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own settings, and nowhere to go."""
    for name in ("FASTEMBED_CACHE_PATH", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


@pytest.fixture
def hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serve(Hub(REPO, folder)) as place:
        monkeypatch.setenv("HF_ENDPOINT", place.url)
        yield place


def fetched(cache: Path, **options: Any) -> Fastembed:
    return Fastembed(model=NAME, parts=Parts(folder=cache), **options)


def error_of(embedder: Fastembed) -> str:
    with pytest.raises(SelectionError) as caught:
        embedder.embed_tools(TOOLS)
    return str(caught.value)


def damage(cache: Path) -> Path:
    """What an interrupted download leaves: half a graph, and no tokenizer."""
    [graph] = cache.rglob("snapshots/*/model.onnx")
    os.truncate(graph.resolve(), 200)
    (graph.parent / "tokenizer.json").unlink()
    return graph


def test_a_model_in_a_folder_is_loaded_offline_and_ranks(folder, tmp_path):
    embedder = Fastembed(model=str(folder), parts=Parts(folder=tmp_path / "unused"))
    assert isinstance(embedder, Embedder)
    tools = embedder.embed_tools(TOOLS)
    queries = embedder.embed_queries(["an email to my boss", "rain in the city", "\ud800"])
    assert (queries @ tools.T).argmax(axis=1).tolist()[:2] == [0, 1]
    np.testing.assert_allclose(np.linalg.norm(tools, axis=1), 1, rtol=1e-5)
    assert not queries[2].any()
    assert not (tmp_path / "unused").exists()


def test_the_whole_of_a_long_description_counts(folder):
    embedder = Fastembed(model=str(folder), parts=Parts())
    long = Tool("long", "send", "", "", "send " * 15 + "forecast " * 15 + "path " * 500)
    [vector] = embedder.embed_tools([long])
    assert [vector[2 + WORDS.index(word)] > 0 for word in ("send", "forecast", "path")] == [
        True
    ] * 3


def test_a_text_is_cut_where_the_models_own_window_ends(folder):
    embedder = Fastembed(model=str(folder), parts=Parts())
    window = _Window(embedder._held.get(math.inf), "")
    text = " ".join(f"send{n} to" for n in range(20))
    pieces = window.cut(text)
    assert " ".join(pieces) == text
    assert [len(piece.split()) for piece in pieces] == [16, 16, 8]
    assert window.cut("x" * 5000) == ["x" * 5000]


def test_where_the_window_cannot_be_told_texts_are_cut_by_length():
    assert [len(piece) for piece in _Window(SimpleNamespace(), "").cut("word " * 500)] == [
        999,
        999,
        500,
    ]


def test_no_tools_are_no_vectors(folder):
    assert Fastembed(model=str(folder), parts=Parts()).embed_tools([]).shape[0] == 0


def test_known_models_get_the_prefixes_that_they_were_trained_with():
    embedder = Fastembed(model="intfloat/multilingual-e5-large", parts=Parts())
    assert (embedder._query_prefix, embedder._tool_prefix) == ("query: ", "passage: ")
    other = Fastembed(model="intfloat/multilingual-e5-large", tool_prefix="t: ", parts=Parts())
    assert (other._query_prefix, other._tool_prefix) == ("query: ", "t: ")
    assert embedder.model != other.model


def test_the_identity_of_a_folder_changes_with_its_files(folder, tmp_path):
    copy = tmp_path / "tiny"
    shutil.copytree(folder, copy)
    before = Fastembed(model=str(copy), parts=Parts()).model
    assert before == Fastembed(model=str(copy), parts=Parts()).model
    (copy / "tokenizer.json").write_text("{}")
    assert before != Fastembed(model=str(copy), parts=Parts()).model


@pytest.mark.parametrize(
    ("content", "what"),
    [(None, "there is no folder"), ({}, "has no model.onnx"), ({"x.onnx": "no graph"}, "x.onnx")],
)
def test_a_folder_without_a_model_is_named(tmp_path, content, what):
    place = tmp_path / "model"
    if content is not None:
        place.mkdir()
        for name, text in content.items():
            (place / name).write_text(text)
    error = error_of(Fastembed(model=str(place), parts=Parts()))
    assert error.startswith(f"embedding model {str(place)!r} can't be loaded: ")
    assert what in error


def test_an_unknown_model_is_said_with_the_nearest():
    error = error_of(Fastembed(model="BAAI/bge-small-en-v1.6", parts=Parts()))
    assert "is none that fastembed knows; did you mean 'BAAI/bge-small-en-v1.5'" in error


def test_an_unknown_pooling_is_named(folder):
    with pytest.raises(ValueError, match="pooling: 'max' is not one of mean, cls, last, none"):
        Fastembed(model=str(folder), pooling="max", parts=Parts())


def test_a_model_is_fetched_once_and_then_needs_no_request(hub, tmp_path):
    told: list[str] = []
    parts = Parts(folder=tmp_path, progress=told.append)
    first = Fastembed(model=NAME, parts=parts).embed_tools(TOOLS)
    assert sorted(hub.fetched) == sorted(hub.files)
    assert told
    assert told[0].startswith(f"embedding model '{NAME}': 0 of 0 MB fetched")
    hub.requests.clear()
    np.testing.assert_array_equal(fetched(tmp_path).embed_tools(TOOLS), first)
    assert hub.requests == []


def test_a_good_cache_works_without_a_network(hub, tmp_path, monkeypatch):
    fetched(tmp_path).embed_tools(TOOLS)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert fetched(tmp_path).embed_tools(TOOLS).shape == (2, 2 + len(WORDS))


def test_a_damaged_cache_is_repaired_by_one_download(hub, tmp_path, caplog):
    fetched(tmp_path).embed_tools(TOOLS)
    graph = damage(tmp_path)
    hub.requests.clear()
    assert fetched(tmp_path).embed_tools(TOOLS).shape[0] == 2
    assert sorted(hub.fetched) == sorted(hub.files)
    assert f"'{graph}' is damaged" in caplog.text


def test_a_model_that_is_no_good_is_named_with_its_path_and_fetched_once(hub, tmp_path):
    hub.files["model.onnx"] = b"this is no graph, whatever its name says"
    clock = [0.0]
    embedder = fetched(tmp_path)
    embedder._held._now = lambda: clock[0]
    error = error_of(embedder)
    [graph] = tmp_path.rglob("snapshots/*/model.onnx")
    assert f"was fetched but can't be loaded from '{graph}': " in error
    hub.requests.clear()
    clock[0] += 1000
    assert f"was fetched but can't be loaded from '{graph}': " in error_of(embedder)
    assert hub.requests == []


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        (
            "error",
            "it answered HTTP 503; if this machine needs a proxy or a mirror, set HTTPS_PROXY",
        ),
        ("html", "it answered with something else, perhaps a page to sign in; if this machine"),
        ("missing", "it has no such model for you; check the name, or set HF_TOKEN"),
    ],
)
def test_a_download_that_fails_says_from_where_and_what_helps(hub, tmp_path, mode, why):
    hub.mode = mode
    embedder = fetched(tmp_path)
    error = error_of(embedder)
    models = tmp_path / "models"
    assert error.startswith(
        f"embedding model '{NAME}' is not there: it can't be fetched from {hub.url} "
        f"into '{models}': {why}"
    )
    assert "\n" not in error


def test_a_failed_download_is_tried_again_later_without_a_restart(hub, tmp_path):
    hub.mode = "error"
    clock = [0.0]
    embedder = fetched(tmp_path)
    embedder._held._now = lambda: clock[0]
    first = error_of(embedder)
    hub.mode = "good"
    asked = len(hub.requests)
    assert error_of(embedder) == first
    assert len(hub.requests) == asked
    clock[0] += 11
    assert embedder.embed_tools(TOOLS).shape[0] == 2


def test_a_place_that_is_not_there_is_named_without_its_password(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://user:secret@127.0.0.1:9")
    error = error_of(fetched(tmp_path))
    assert "it can't be fetched from http://127.0.0.1:9 into " in error
    assert "secret" not in error


def test_offline_is_honoured_and_said(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "true")
    error = error_of(fetched(tmp_path))
    assert error.endswith(
        f"it is not whole in '{tmp_path / 'models'}', and HF_HUB_OFFLINE forbids to fetch it; "
        "unset that once"
    )
    assert hub.requests == []


def test_a_folder_that_cannot_be_written_to_is_said_with_the_variable(hub, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    error = error_of(fetched(blocked))
    assert error.endswith("name a folder that can be written to in FASTEMBED_CACHE_PATH")


def test_a_download_that_stalls_is_given_up(hub, tmp_path):
    hub.mode = "stall"
    with pytest.raises(DownloadError, match=r"fetching it stalled for \d+ s at 0 bytes; if this"):
        download(Files(REPO, ("model.onnx",)), tmp_path, stall=1.0)


def test_a_query_does_not_wait_for_a_download(hub, tmp_path):
    hub.mode = "stall"
    embedder = fetched(tmp_path)
    for _ in range(20):
        with pytest.raises(SelectionError, match="is still being") as caught:
            embedder.embed_queries(["x"])
    assert "is still being fetched" in str(caught.value)


def test_two_processes_that_start_at_once_fetch_once_and_both_work(hub, tmp_path):
    script = """
import sys
from pathlib import Path
from toolpick_selectors.contract import Tool
from toolpick_selectors.embedders.fastembed import Fastembed
from toolpick_selectors.registry import Parts
embedder = Fastembed(model=sys.argv[1], parts=Parts(folder=Path(sys.argv[2])))
print(embedder.embed_tools([Tool("a", "send_email", "", "", "send email")]).shape[0])
"""
    for _ in range(2):
        running = [
            subprocess.Popen(
                [sys.executable, "-c", script, NAME, str(tmp_path)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        said = [process.communicate(timeout=50) for process in running]
        assert [out for out, _ in said] == ["1\n", "1\n"], said
        assert sorted(hub.fetched) == sorted(hub.files)
        damage(tmp_path)  # and once more from a damaged cache
        hub.requests.clear()


def test_the_fetching_process_ends_when_whoever_started_it_does(hub, tmp_path):
    hub.mode = "stall"
    asked = {"repo": REPO, "files": ["model.onnx"], "folder": str(tmp_path), "mark": None}
    child = subprocess.Popen(
        [sys.executable, "-m", "toolpick_selectors.onnx.fetch", json.dumps(asked)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(timeout=10) == 1


def test_a_process_that_wants_to_end_does_not_wait_for_a_download(hub, tmp_path):
    hub.mode = "stall"
    script = """
import sys, anyio
from functools import partial
from pathlib import Path
from toolpick_selectors.contract import Tool
from toolpick_selectors.embedders.fastembed import Fastembed
from toolpick_selectors.registry import Parts
embedder = Fastembed(model=sys.argv[1], parts=Parts(folder=Path(sys.argv[2])))
async def main():
    embed = partial(embedder.embed_tools, [Tool("a", "a")])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(anyio.to_thread.run_sync, embed, abandon_on_cancel=True))
        while not embedder._held._fetching:
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
anyio.run(main)
"""
    command = [sys.executable, "-c", script, NAME, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_model_that_is_opened_tells_nobody_and_leaves_nothing_in_the_home_folder(
    folder, tmp_path
):
    script = """
import sys
from toolpick_selectors.contract import Tool
from toolpick_selectors.embedders.fastembed import Fastembed
from toolpick_selectors.registry import Parts
print(Fastembed(model=sys.argv[1], parts=Parts()).embed_tools([Tool("a", "a")]).shape[0])
"""
    unset = ("ORT_DISABLE_TELEMETRY", "CI", "XDG_CACHE_HOME")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env["HOME"] = str(tmp_path)
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, timeout=50, check=False)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (0, b"1\n", [])


def test_a_fetching_process_that_dies_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(downloading.sys, "executable", shutil.which("false"))
    with pytest.raises(DownloadError, match=r"the process that fetched it into .* ended early"):
        download(Files(REPO, ("model.onnx",)), tmp_path)


class Scripted:
    """A source that gives what it is told to, each time it is opened."""

    name = "model 'x'"

    def __init__(self, *outcomes: object) -> None:
        self._outcomes = iter(outcomes)

    def files(self) -> None:
        return None

    def open(self, folder: Path) -> object:
        outcome = next(self._outcomes)
        if isinstance(outcome, threading.Event):
            outcome.wait(5)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def test_a_model_is_loaded_once_however_many_ask(tmp_path):
    held: Held[object] = Held(Scripted("the model"), tmp_path)
    assert [held.get(math.inf), held.get(0.0)] == ["the model", "the model"]


def test_who_does_not_want_to_wait_is_told_so(tmp_path):
    slow = threading.Event()
    held: Held[object] = Held(Scripted(slow), tmp_path)
    with pytest.raises(SelectionError, match="model 'x' is still being loaded"):
        held.get(0.01)
    slow.set()
    assert held.get(math.inf) is slow


def test_failures_are_spaced_wider_and_wider(tmp_path):
    clock = [0.0]
    source = Scripted(OSError("one"), OSError("two"), "the model")
    held: Held[object] = Held(source, tmp_path, now=lambda: clock[0])
    seen = []
    for step in (0.0, 9.0, 2.0, 12.0, 9.0):
        clock[0] += step
        try:
            seen.append(str(held.get(math.inf)))
        except SelectionError as error:
            seen.append(str(error).removeprefix("model 'x' can't be loaded: "))
    assert seen == ["one", "one", "two", "two", "the model"]


def test_what_nobody_foresaw_is_an_error_too(tmp_path, caplog):
    class Odd(Scripted):
        def files(self) -> None:
            raise RuntimeError("odd")

    held: Held[object] = Held(Odd(), tmp_path)
    with caplog.at_level(logging.CRITICAL), pytest.raises(SelectionError, match="loaded: odd"):
        held.get(math.inf)


@pytest.mark.parametrize(
    ("error", "explained"),
    [
        (PermissionError(13, "Permission denied"), ("Permission denied", FOLDER)),
        (OSError(28, "No space left on device"), ("No space left on device", FOLDER)),
        (ConnectionRefusedError(111, "Connection refused"), ("Connection refused", NETWORK)),
        (ValueError(""), ("ValueError", NETWORK)),
        (ValueError("x" * 500), ("x" * 160, NETWORK)),
        (
            OSError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"),
            ("its certificate is not trusted", "set SSL_CERT_FILE to your network's certificates"),
        ),
        (type("ReadTimeout", (Exception,), {})(), ("it did not answer in time", NETWORK)),
    ],
)
def test_a_failure_is_explained_with_what_may_help(error, explained):
    assert explain(error) == explained


def test_the_cause_behind_an_error_is_what_is_said():
    outer = RuntimeError("cannot download")
    outer.__cause__ = ConnectionResetError(104, "Connection reset by peer")
    assert explain(outer) == ("Connection reset by peer", NETWORK)


def test_a_file_is_told_from_its_replacement(tmp_path):
    path = tmp_path / "file"
    assert mark(path) is None
    path.write_text("a")
    first = mark(path)
    path.write_text("ab")
    assert first not in (None, mark(path))


def test_models_are_kept_where_the_person_said_then_where_the_variable_says(monkeypatch, tmp_path):
    cache = Path("/cache")
    assert model_folder("", cache) == Path("/cache/models")
    assert model_folder("", None).name == "fastembed_cache"
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", "/variable")
    assert model_folder("", cache) == Path("/variable")
    assert model_folder("~/said", cache) == Path("~/said").expanduser()


def test_a_name_is_a_folder_when_it_is_written_like_one_or_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    assert local_folder("here") == tmp_path / "here"
    assert local_folder("./gone") == tmp_path / "gone"
    assert local_folder("/gone") == Path("/gone")
    assert local_folder("BAAI/bge-small-en-v1.5") is None
