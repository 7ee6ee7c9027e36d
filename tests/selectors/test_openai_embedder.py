"""The OpenAI-compatible embedder against real HTTP."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.selectors.http_script import Reply, Request, Script, serve

from toolpick_selectors.contract import SelectionError, Tool
from toolpick_selectors.embedders import Embedder, describe
from toolpick_selectors.embedders.openai import OPENAI, OpenAIEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = "sk-very-secret-1234567890"
SHORT = Tool("a", "send", "mail", "", "Sends.")


@pytest.fixture
def wire() -> Iterator[Script]:
    with serve() as script:
        yield script


@pytest.fixture
def embedder(wire: Script) -> Iterator[Callable[..., OpenAIEmbedder]]:
    made: list[OpenAIEmbedder] = []

    def make(**options: Any) -> OpenAIEmbedder:
        options = {"model": "small", "base_url": f"{wire.url}/v1/", **options}
        made.append(OpenAIEmbedder(**options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def vectors(*rows: list[float]) -> Reply:
    """The rows in an answer, last first: the index says which is which."""
    listed = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
    return Reply({"data": listed[::-1]})


class Reads:
    """Answers each text with what ``row`` makes of it, refusing more than ``most`` at once."""

    def __init__(self, row: Callable[[str], list[float]], most: int = 1000, chars: int = 0) -> None:
        self._row, self._most, self._chars = row, most, chars

    def __call__(self, request: Request) -> Reply:
        texts = request.body["input"]
        long = self._chars and any(len(text) > self._chars for text in texts)
        if len(texts) > self._most or long:
            return Reply({"error": "too much"}, 413)
        return vectors(*map(self._row, texts))


def asked(wire: Script) -> list[int]:
    return [len(request.body["input"]) for request in wire.requests]


def error_of(work: Callable[[], object]) -> str:
    with pytest.raises(SelectionError) as caught:
        work()
    return str(caught.value)


def test_it_is_an_embedder(embedder):
    assert isinstance(embedder(), Embedder)


def test_queries_become_unit_vectors_in_their_order(wire, embedder):
    wire.say(vectors([3.0, 4.0], [0.0, 0.0]))
    rows = embedder(api_key=KEY, query_prefix="q: ").embed_queries(["one", "\ud800two"])
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 0]], rtol=1e-6)
    assert rows.dtype == np.float32
    [request] = wire.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "small", "input": ["q: one", "q: ?two"]}
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_tools_are_embedded_from_their_description_in_bounded_batches(wire, embedder):
    wire.answer(Reads(lambda text: [1.0, 0.0]))
    tools = [Tool(str(n), f"tool {n}") for n in range(10)]
    assert embedder(batch=4, dimensions=2, tool_prefix="d: ").embed_tools(tools).shape == (10, 2)
    assert asked(wire) == [4, 4, 2]
    assert wire.requests[0].body["input"][0] == "d: " + describe(tools[0])
    assert wire.requests[0].body["dimensions"] == 2
    assert "authorization" not in wire.requests[0].headers


def test_a_long_text_is_embedded_in_parts_and_all_of_it_counts(wire, embedder):
    wire.answer(Reads(lambda text: [1.0, 0.0] if "start" in text else [0.0, 1.0]))
    tool = Tool("a", "start", "", "", "word " * 40)
    [row] = embedder(part_chars=110).embed_tools([tool])
    assert asked(wire) == [2]
    assert row[0] > 0.5
    assert row[1] > 0.5


def test_a_batch_that_is_too_large_is_halved_and_stays_so(wire, embedder):
    wire.answer(Reads(lambda text: [float(text.split()[1].strip(":")) + 1, 1.0], most=3))
    tools = [Tool(str(n), f"tool {n}") for n in range(12)]
    rows = embedder(batch=8).embed_tools(tools)
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], np.arange(1, 13), rtol=1e-5)
    assert asked(wire) == [8, 4, 2, 2, 4, 2, 2, 2, 2]


def test_a_text_that_is_too_long_for_the_endpoint_is_cut(wire, embedder):
    wire.answer(Reads(lambda text: [1.0, 0.0], chars=120))
    [row] = embedder().embed_tools([Tool("a", "name", "", "", "word " * 80)])
    np.testing.assert_allclose(row, [1, 0])


def test_no_texts_make_no_request(wire, embedder):
    assert embedder().embed_tools([]).shape[0] == 0
    assert wire.requests == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again_after_the_time_it_names(wire, embedder, status):
    busy = Reply({}, status, {"Retry-After": "0"})
    wire.say(busy, busy, busy, busy, vectors([1.0]))
    assert embedder().embed_tools([SHORT]).tolist() == [[1.0]]
    assert len(wire.requests) == 5


def test_without_a_time_it_waits_a_little(wire, embedder, monkeypatch):
    monkeypatch.setattr("toolpick_selectors.embedders.openai.FIRST_WAIT", 0.01)
    wire.say(Reply({}, 502), Reply({}, 502), vectors([1.0]))
    assert embedder().embed_tools([SHORT]).tolist() == [[1.0]]


def test_an_endpoint_that_asks_for_long_is_not_asked_again(wire, embedder):
    wire.say(Reply({}, 429, {"Retry-After": "3600"}))
    one = embedder()
    assert error_of(lambda: one.embed_tools([SHORT])) == (
        f"embedding model 'small' at {wire.url}/v1 is busy (HTTP 429) "
        "and asked to be left alone for 3600 s"
    )
    assert len(wire.requests) == 1


def test_after_a_query_that_failed_the_next_ones_fail_at_once(wire, embedder):
    wire.say(Reply({}, 503, {"Retry-After": "0"}))
    one = embedder()
    errors = {error_of(lambda: one.embed_queries(["x"])) for _ in range(5)}
    assert len(errors) == 1
    assert len(wire.requests) == 2


def test_a_refused_key_is_said_and_never_shown(wire, embedder, caplog):
    caplog.set_level(logging.DEBUG)
    wire.say(Reply({"error": f"bad key {KEY}"}, 401))
    one = embedder(api_key=KEY)
    error = error_of(lambda: one.embed_tools([SHORT]))
    assert error.endswith("refused the key (HTTP 401); set api_key_env or api_key")
    assert KEY not in error + caplog.text + repr(vars(one)) + one.model


def test_other_errors_are_quoted_without_the_key(wire, embedder):
    wire.say(Reply({"error": f"no such model {KEY}"}, 404))
    one = embedder(api_key=KEY)
    error = error_of(lambda: one.embed_tools([SHORT]))
    assert 'answered HTTP 404: {"error": "no such model ***"}' in error


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Sign in</html>",
        {},
        [],
        {"data": []},
        {"data": [{"index": 0, "embedding": ["x"]}]},
        {"data": [{"index": 0, "embedding": 1.0}]},
        {"data": [{"index": 0, "embedding": [float("nan")]}]},
        {"data": [{"embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]},
    ],
)
def test_an_answer_without_the_vectors_is_one_error(wire, embedder, body):
    wire.say(Reply(body))
    one = embedder()
    assert f"embedding model 'small' at {wire.url}/v1 " in error_of(
        lambda: one.embed_tools([SHORT])
    )


def test_vectors_of_different_sizes_are_an_error(wire, embedder):
    wire.say(vectors([1.0]), vectors([1.0, 2.0]))
    one = embedder(batch=1)
    assert "different sizes" in error_of(lambda: one.embed_tools([SHORT, SHORT]))


def test_a_text_that_is_refused_for_another_reason_is_one_error(wire, embedder):
    wire.say(Reply({"error": "no"}, 400))
    one = embedder()
    assert "answered HTTP 400" in error_of(lambda: one.embed_tools([SHORT]))


def test_an_endpoint_that_is_silent_or_away_is_named(wire, embedder):
    wire.say(Reply(hang=True))
    one = embedder(query_timeout=0.05)
    silent = f"embedding model 'small' at {wire.url}/v1 did not answer within 0.05 s"
    assert error_of(lambda: one.embed_queries(["x"])) == silent
    away = embedder(base_url="http://user:pass@127.0.0.1:9/v1")
    error = error_of(lambda: away.embed_queries(["x"]))
    assert error.startswith("embedding model 'small' at http://127.0.0.1:9/v1 can't be reached: ")
    assert "pass" not in error + away.model


def test_the_key_comes_from_the_named_variable(wire, embedder, monkeypatch):
    wire.say(vectors([1.0]))
    one = embedder(api_key_env="MY_KEY")
    assert error_of(lambda: one.embed_tools([SHORT])).endswith(
        "can't be asked: the environment variable 'MY_KEY' that holds its key is not set"
    )
    monkeypatch.setenv("MY_KEY", KEY)
    one.embed_tools([SHORT])
    assert wire.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_vendors_key_goes_to_the_vendor_alone(wire, embedder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    wire.say(vectors([1.0]))
    embedder().embed_tools([SHORT])
    assert "authorization" not in wire.requests[0].headers
    assert OpenAIEmbedder()._credential.variable == "OPENAI_API_KEY"
    assert OpenAIEmbedder().model == f"openai:{OPENAI} text-embedding-3-small"


@pytest.mark.parametrize("option", ["batch", "part_chars"])
def test_an_option_that_cannot_be_is_named(embedder, option):
    with pytest.raises(ValueError, match=f"{option}: 0 is less than 1"):
        embedder(**{option: 0})


def test_what_tells_models_apart_is_in_the_identity(embedder):
    kinds = [{}, {"model": "other"}, {"dimensions": 8}, {"tool_prefix": "d: "}]
    assert len({embedder(**options).model for options in kinds}) == len(kinds)
