import threading
import time

import numpy as np
import pytest

from toolpick_selectors.contract import Prepared, SelectionContext, SelectionError, Tool
from toolpick_selectors.fused import AsyncFused, Fused
from toolpick_selectors.kept import Kept
from toolpick_selectors.store import VectorStore
from toolpick_selectors.testing import check_selector
from toolpick_selectors.vectors import BATCH, RETRY, Vectors

WORDS = ("mail", "rain", "file", "map")


class Counting:
    """Embeds by counting four words, and remembers what it was asked."""

    model = "counting-1"

    def __init__(self, *, quick=True):
        self.quick = quick
        self.asked = []
        self.broken = ""
        self.gate = None

    def embed_queries(self, texts):
        if self.broken:
            raise SelectionError(self.broken)
        return self._embed(texts)

    def embed_tools(self, tools):
        if self.gate is not None:
            assert self.gate.wait(5)
        if self.broken:
            raise SelectionError(self.broken)
        self.asked += [tool.description for tool in tools]
        return self._embed([tool.description for tool in tools])

    @staticmethod
    def _embed(texts):
        counts = np.array([[text.count(word) for word in WORDS] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


class Clock:
    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time


def tool(id, description):
    return Tool(id, "same", "", "", description)


MAIL, RAIN, FILE = tool("m", "mail"), tool("r", "rain"), tool("f", "file")


def ask(selector, query, tools, limit=5):
    return selector.select(SelectionContext("t", query, (), limit), tools)


def ids(selection):
    return [pick.id for pick in selection.picks]


@pytest.fixture
def embedder():
    return Counting()


@pytest.fixture
def slow():
    """An embedder that does not answer before its gate opens."""
    embedder = Counting(quick=False)
    embedder.gate = threading.Event()
    yield embedder
    embedder.gate.set()


def fused(vectors, kind=Fused, words=0.4):
    return kind(vectors, words=words, ratio=0.0)


def test_only_new_texts_are_embedded(embedder):
    vectors = Vectors(embedder)
    vectors.of((MAIL, RAIN))
    vectors.of((MAIL, RAIN, FILE))
    vectors.of((FILE,))
    assert embedder.asked == ["mail", "rain", "file"]


def test_the_text_decides_not_the_id(embedder):
    vectors = Vectors(embedder)
    vectors.of((tool("a", "mail"), tool("b", "mail"), tool("c", "rain")))
    rows, there = vectors.of((tool("a", "rain"), tool("d", "mail")))
    assert embedder.asked == ["mail", "rain"]
    assert there.all()
    assert rows.argmax(axis=1).tolist() == [1, 0]


def test_one_name_with_two_texts_is_two_entries(embedder):
    rows, _ = Vectors(embedder).of((MAIL, RAIN))
    assert rows.argmax(axis=1).tolist() == [0, 1]


def test_a_changed_description_is_found_by_its_new_meaning(embedder):
    selector = fused(Vectors(embedder), words=0.0)
    assert ids(ask(selector, "rain", (MAIL, RAIN))) == ["r"]
    assert ids(ask(selector, "rain", (tool("m", "rain"), tool("r", "mail")))) == ["m"]


def test_index_embeds_ahead_in_batches_and_reports_ready(embedder):
    vectors = Vectors(embedder)
    tools = [tool(str(n), f"mail {n}") for n in range(BATCH * 2 + 5)]
    assert vectors.index(tools) == 0
    assert len(embedder.asked) == len(tools)
    assert vectors.of(tools)[1].all()


def test_selecting_never_waits_for_a_slow_embedder(slow):
    vectors = Vectors(slow)
    selector = fused(vectors)
    thread = threading.Thread(target=selector.index, args=((MAIL, RAIN),))
    thread.start()
    selection = ask(selector, "rain", (MAIL, RAIN))
    assert ids(selection) == ["r"]
    assert selection.degraded == "2 of 2 tools have no vector yet: ranked by shared words"
    slow.gate.set()
    thread.join(5)
    assert ask(selector, "rain", (MAIL, RAIN)).degraded == ""


def test_new_tools_are_found_by_their_words_until_they_have_vectors():
    slow = Counting(quick=False)
    selector = fused(Vectors(slow))
    selector.index((MAIL, RAIN))
    selection = ask(selector, "file", (MAIL, RAIN, FILE))
    assert ids(selection) == ["f"]
    assert selection.degraded.startswith("1 of 3 tools")


def test_removed_tools_are_never_offered(embedder):
    selector = fused(Vectors(embedder))
    selector.index((MAIL, RAIN))
    assert ids(ask(selector, "mail", (RAIN,))) == []


def test_a_newer_list_takes_over_from_one_that_is_still_being_indexed(slow):
    vectors = Vectors(slow)
    old = [tool(str(n), f"mail {n}") for n in range(BATCH * 3)]
    answers = {}
    first = threading.Thread(target=lambda: answers.update(old=vectors.index(old)))
    first.start()
    second = threading.Thread(target=lambda: answers.update(new=vectors.index((RAIN,))))
    second.start()
    deadline = time.monotonic() + 5
    while vectors._wanted is None or len(vectors._wanted.keys) > 1:
        assert time.monotonic() < deadline
    slow.gate.set()
    first.join(5)
    second.join(5)
    assert answers == {"old": 0, "new": 0}
    assert "rain" in slow.asked
    assert len(slow.asked) <= BATCH + 1


def test_a_failing_embedder_degrades_to_words_and_is_tried_again_later(embedder, caplog):
    clock = Clock()
    vectors = Vectors(embedder, now=clock)
    selector = fused(vectors)
    embedder.broken = "the model can't be loaded"
    assert selector.index((MAIL, RAIN)) == RETRY
    assert selector.index((MAIL, RAIN)) == RETRY
    selection = ask(selector, "rain", (MAIL, RAIN))
    assert ids(selection) == ["r"]
    assert selection.degraded == "the model can't be loaded; ranked by shared words"
    clock.time += RETRY
    assert selector.index((MAIL, RAIN)) == RETRY * 2
    embedder.broken = ""
    clock.time += RETRY * 2
    assert selector.index((MAIL, RAIN)) == 0
    assert ask(selector, "rain", (MAIL, RAIN)).degraded == ""
    assert [record.message for record in caplog.records] == ["the model can't be loaded"]


def test_a_quick_embedder_that_failed_is_left_alone_for_a_while(embedder):
    clock = Clock()
    vectors = Vectors(embedder, now=clock)
    embedder.broken = "no"
    assert not vectors.of((MAIL,))[1].any()
    embedder.broken = ""
    assert not vectors.of((MAIL,))[1].any()
    clock.time += RETRY
    assert vectors.of((MAIL,))[1].all()


def test_vectors_of_slow_embedders_are_kept_on_disk(tmp_path):
    for times in (1, 0):
        slow = Counting(quick=False)
        store = VectorStore(tmp_path / "vectors.sqlite")
        vectors = Vectors(slow, store)
        vectors.index((MAIL, RAIN))
        assert len(slow.asked) == 2 * times
        assert vectors.of((MAIL, RAIN))[0].argmax(axis=1).tolist() == [0, 1]
        store.close()


def test_what_is_kept_in_memory_is_bounded(embedder, monkeypatch):
    monkeypatch.setattr("toolpick_selectors.vectors.MOST", 10)
    vectors = Vectors(embedder)
    for n in range(50):
        vectors.index((MAIL, tool("x", f"rain {n}")))
    assert len(vectors._known) < 20
    assert embedder.asked.count("mail") == 1


async def test_an_embedder_with_io_is_asked_in_a_thread():
    slow = Counting(quick=False)
    selector = fused(Vectors(slow), AsyncFused)
    selector.index((MAIL, RAIN))
    selection = await ask(selector, "rain", (MAIL, RAIN))
    assert (ids(selection), selection.degraded) == (["r"], "")
    slow.broken = "the endpoint is away"
    selection = await ask(selector, "rain", (MAIL, RAIN))
    assert ids(selection) == ["r"]
    assert selection.degraded == "the endpoint is away; ranked by shared words"
    assert (await ask(selector, "", (MAIL,))).degraded == "the query has no words"


def test_a_query_that_can_not_be_embedded_is_ranked_by_words(embedder):
    selector = fused(Vectors(embedder))
    selector.index((MAIL, RAIN))
    embedder.broken = "out of order"
    selection = ask(selector, "rain", (MAIL, RAIN))
    assert (ids(selection), selection.degraded) == (["r"], "out of order; ranked by shared words")


def test_both_kinds_keep_the_contract(embedder):
    check_selector(lambda: fused(Vectors(Counting())))
    check_selector(lambda: fused(Vectors(Counting(quick=False)), AsyncFused))
    assert isinstance(fused(Vectors(embedder)), Prepared)


def test_a_faint_likeness_without_a_shared_word_is_no_match(embedder):
    faint, clear = tool("f", "mail " + "rain " * 10), tool("c", "mail rain")
    selector = fused(Vectors(embedder))
    assert ask(selector, "mailxyz", (faint,)).degraded == "no tool fits the query"
    assert ids(ask(selector, "mailxyz", (clear,))) == ["c"]


def test_a_weight_outside_its_range_is_refused(embedder):
    with pytest.raises(ValueError, match=r"the weight of words, 1\.5, is not between 0 and 1"):
        fused(Vectors(embedder), words=1.5)


def test_values_are_kept_for_the_lists_used_last():
    made = []
    kept = Kept(lambda tools: made.append(tools) or len(tools), most=2)
    a, b, c = (MAIL,), (RAIN, FILE), (MAIL, RAIN, FILE)
    assert [kept.of(x) for x in (a, b, list(a), c, a, b)] == [1, 2, 1, 3, 1, 2]
    assert made == [a, b, c, b]
