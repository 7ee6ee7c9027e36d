from toolpick.model import Query
from toolpick.turns.query import ROOM, SOURCES, bounded, read_meta, resolve

TEXTS = {
    "meta_query": "from meta",
    "hook_query": "from hook",
    "header_query": "from header",
    "profile_query": "from profile",
    "command_query": "from command",
}


def test_the_strongest_source_wins_in_the_order_of_the_table():
    names = [source.name for source in SOURCES]
    assert names == ["meta", "hook", "header", "profile", "command"]
    for index, name in enumerate(names):
        left = dict(list(TEXTS.items())[index:])
        assert resolve(**left) == Query(f"from {name}", name)


def test_blank_texts_count_as_none():
    assert resolve() is None
    assert resolve(
        meta_query=" \n", hook_query="", command_query=" go ", conversation="c"
    ) == Query("go", "command", "c")


def test_meta_carries_a_query_and_a_conversation():
    meta = {"io.toolpick/query": "find", "io.toolpick/conversation": "c1", "other": 1}

    assert read_meta(meta) == ("find", "c1")
    assert read_meta({"io.toolpick/query": 5, "io.toolpick/conversation": None}) == ("", "")


def test_a_long_query_keeps_its_beginning_and_its_end():
    text = bounded("a" * ROOM + "b" * ROOM)

    assert len(text) == ROOM
    assert text.startswith("aaa")
    assert text.endswith("bbb")
    assert bounded("short") == "short"
