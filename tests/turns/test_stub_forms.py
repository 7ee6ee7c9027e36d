import json

import pytest

from toolpick.model import ToolEntry
from toolpick.turns import hinted, loaded, stub
from toolpick.turns.excerpts import READ, first_sentence, one_line
from toolpick.turns.stubs import HINT, STAYING_HINT


def test_a_stub_keeps_what_clients_act_on_and_no_schema():
    definition = {
        "name": "s__t",
        "title": "T",
        "description": "Deletes a file. For ever, and without asking.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        "outputSchema": {"type": "object"},
        "annotations": {"destructiveHint": True, "readOnlyHint": False},
        "_meta": {"com.example/n": None},
        "icons": [{"src": "data:,"}],
    }

    assert json.loads(stub(json.dumps(definition).encode())) == {
        "name": "s__t",
        "title": "T",
        "description": f"Deletes a file. {HINT}",
        "inputSchema": {"type": "object"},
        "annotations": {"destructiveHint": True, "readOnlyHint": False},
        "_meta": {"com.example/n": None},
    }


def test_a_stub_without_description_has_the_hint():
    raw = b'{"name":"t","inputSchema":{"type":"object"}}'

    assert json.loads(stub(raw))["description"] == HINT
    assert json.loads(stub(raw, hydrates=False))["description"] == STAYING_HINT


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Reads mail. Then more.", "Reads mail."),
        ("Runs v1.2 (e.g. now) fast! Yes.", "Runs v1.2 (e.g. now) fast!"),
        ("No end\nof line\n\nNext paragraph.", "No end of line"),
        ("查询天气。然后更多。", "查询天气。"),
        ("", ""),
        ("  \n ", ""),
    ],
)
def test_the_first_sentence_is_found(text, sentence):
    assert first_sentence(text, 100) == sentence


def test_long_texts_are_cut_at_a_word_and_read_to_a_bound():
    assert one_line("some words to be cut here", 15) == "some words to…"
    assert one_line("x" * 100, 10) == "x" * 9 + "…"
    assert one_line(" \n " * READ + "never read", 10) == "…"
    assert len(first_sentence("word " * 100_000, 80)) <= 80


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        (b"", {"anthropic/alwaysLoad": True}),
        (b',"_meta":{"a":1.0}', {"a": 1.0, "anthropic/alwaysLoad": True}),
        (b',"_meta":{"anthropic/alwaysLoad":false}', {"anthropic/alwaysLoad": False}),
    ],
)
def test_a_tool_is_marked_to_be_shown_unless_its_server_says_otherwise(meta, expected):
    raw = b'{"name":"t","inputSchema":{"maximum":1e400}%b}' % meta

    marked = loaded(raw)

    assert b'"inputSchema":{"maximum":1e400}' in marked
    assert json.loads(marked)["_meta"] == expected


def test_only_a_tool_that_describes_nothing_is_given_words_to_be_found_by():
    entry = ToolEntry("git-hub", "list_issues", "git-hub__list_issues", b"")
    bare = b'{"name":"t","inputSchema":{}}'
    blank = b'{"name":"t","description":" ","inputSchema":{}}'
    described = b'{"name":"t","description":"Lists.","inputSchema":{}}'

    assert hinted(described, entry) is described
    for raw in (bare, blank):
        assert json.loads(hinted(raw, entry))["_meta"] == {
            "anthropic/searchHint": "git hub list issues"
        }
