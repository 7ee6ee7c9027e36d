"""Prompts with keys, encoded files and other words that are none."""

import random
import string
import tracemalloc

import pytest

from toolpick_selectors.contract import Prepared, SelectionContext, Selector, Tool
from toolpick_selectors.registry import Parts, build

MEGABYTE = 1024 * 1024
TOOLS = tuple(
    Tool(f"s__{name}", name, "s", description=f"{name} the thing".replace("_", " "))
    for name in (
        "read_file",
        "send_mail",
        "list_branches",
        "get_forecast",
        "play_music",
        "book_room",
    )
)
BLOBS = {
    "letters": "w" * 8000,
    "sharp s": "ß" * 8000,
    "accents": "é" * 8000,
    "German": "und der die das " + "Donaudampfschifffahrt" * 380,
    "marks": "e" + "\u0301" * 8000,
    "ideographs": "日" * 8000,
    "ligatures": "ﷺ" * 8000,
    "capitals": "wW" * 4000,
    "digits": "1a" * 4000,
    "dots": "a." * 4000,
}


def made(kind: str) -> Selector:
    selector = build(kind, {}, Parts())
    assert isinstance(selector, Selector)
    if isinstance(selector, Prepared):
        selector.index(TOOLS)
    return selector


def first(selector: Selector, query: str) -> str:
    picks = selector.select(SelectionContext("1", query), TOOLS).picks
    return picks[0].id if picks else ""


@pytest.mark.parametrize("kind", ["lexical", "keyword", "hybrid"])
def test_a_word_of_thousands_of_letters_takes_next_to_no_memory(kind: str) -> None:
    selector = made(kind)
    for blob in BLOBS.values():
        first(selector, f"{blob[:100]} forecast")  # what is read at the first query
    for name, blob in BLOBS.items():
        tracemalloc.start()
        try:
            found = first(selector, f"forecast {blob}")
            held, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert (name, found) == (name, "s__get_forecast")
        assert (name, peak < 16 * MEGABYTE, held < MEGABYTE) == (name, True, True)


@pytest.mark.parametrize("kind", ["lexical", "keyword", "hybrid"])
def test_words_that_do_not_come_again_are_not_remembered(kind: str) -> None:
    selector = made(kind)
    chance = random.Random(5)
    blobs = ["".join(chance.choices(string.ascii_letters, k=7000)) for _ in range(60)]
    first(selector, f"forecast {blobs.pop()}")
    tracemalloc.start()
    try:
        for blob in blobs:
            assert first(selector, f"forecast {blob}") == "s__get_forecast"
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < MEGABYTE
