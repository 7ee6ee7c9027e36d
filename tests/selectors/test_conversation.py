import numpy as np
import pytest
from tests.selectors.test_vectors import Counting

from toolpick_selectors import conversation, registry
from toolpick_selectors.contract import Selection, SelectionContext, SelectionError, Tool
from toolpick_selectors.conversation import carried, in_turns, topic
from toolpick_selectors.fused import AsyncFused, Fused
from toolpick_selectors.recent import Recent
from toolpick_selectors.testing import broken_rule, run
from toolpick_selectors.vectors import Vectors

TOOLS = (
    Tool("sky__now", "now", "sky", "", "rain"),
    Tool("sky__week", "week", "sky", "", "later"),
    Tool("post__send", "send", "post", "", "mail"),
    Tool("disk__read", "read", "disk", "", "file"),
    Tool("globe__find", "find", "globe", "", "map"),
)


def scores(*values):
    return np.array(values, np.float32)


def ids(selection):
    return [pick.id for pick in selection.picks]


def context(query, earlier=(), used=(), limit=5, **more):
    return SelectionContext("t", query, tuple(earlier), limit, "", tuple(used), **more)


@pytest.fixture
def selector():
    return Fused(Vectors(Counting()), words=0.4, ratio=0.5, minimum=1)


def test_tools_of_servers_that_were_called_are_lifted_the_last_one_most():
    own = scores(0, 0, 0, 1, 0)

    found = carried(own, (), TOOLS, ("post__send", "sky__now"))

    assert found.argsort(kind="stable")[::-1].tolist() == [3, 1, 0, 2, 4]
    assert found.max() == 1.0
    assert found.tolist() == pytest.approx([0.8, 0.8, 0.64, 1.0, 0.0])


def test_what_earlier_prompts_asked_for_counts_less_with_every_turn():
    nothing = np.zeros(5, np.float32)

    found = carried(nothing, (scores(1, 0, 0, 0, 0), scores(0, 0, 1, 0, 0)), TOOLS, ())

    assert found.tolist() == pytest.approx([1.0, 0.0, conversation.FADE, 0.0, 0.0])


def test_without_anything_before_it_nothing_is_made_likely():
    assert not carried(np.zeros(5, np.float32), (), TOOLS, ("gone__tool",)).any()


def test_one_server_alone_is_not_lifted_where_it_has_no_name():
    nameless = tuple(Tool(tool.id, tool.name) for tool in TOOLS)

    assert carried(scores(0, 1, 0, 0, 0), (), nameless, ("sky__now",)).tolist() == [0, 1, 0, 0, 0]


def test_rankings_take_turns_and_what_both_have_comes_once():
    assert in_turns([7, 1, 2], [3, 7, 4, 5, 6]) == [7, 3, 1, 2, 4, 5, 6]


@pytest.mark.parametrize(
    ("own", "used", "expected"),
    [
        (scores(0, 0, 0, 0, 1), ("sky__now",), "new"),
        (scores(0.6, 0, 0, 0, 1), ("sky__now",), "same"),
        (scores(0, 0, 0, 0, 1), ("globe__find",), "same"),
        (scores(0, 0, 0, 0, 0), ("sky__now",), "same"),
        (scores(0, 0, 0, 0, 1), (), "new"),
    ],
)
def test_a_topic_is_new_where_the_prompt_clearly_asks_for_what_was_not_used(own, used, expected):
    assert topic(own, TOOLS, used) == expected


def test_a_prompt_that_fits_many_tools_alike_starts_no_new_topic():
    many = [Tool(str(n), "x", f"server{n}") for n in range(20)]
    vague, clear = np.full(20, 0.5, np.float32), np.full(20, 0.1, np.float32)
    vague[0] = clear[0] = 1.0

    assert (topic(vague, many, ("19",)), topic(clear, many, ("19",))) == ("same", "new")


def test_a_prompt_that_says_nothing_gets_what_the_conversation_used(selector):
    found = selector.select(context("and porto", ["rain"], ["sky__now"]), TOOLS)

    assert ids(found)[:2] == ["sky__now", "sky__week"]
    assert (found.topic, found.degraded) == ("same", "")
    assert dict(found.picks[0].parts)["conversation"] == 1.0


def test_without_a_call_the_prompt_before_still_says_what_it_is_about(selector):
    assert ids(selector.select(context("and porto", ["mail"]), TOOLS)) == ["post__send"]


def test_a_prompt_without_words_goes_on_with_what_was_used(selector):
    found = selector.select(context("👍", (), ["disk__read"]), TOOLS)

    assert ids(found) == ["disk__read"]


def test_another_matter_comes_first_and_is_said_to_be_new(selector):
    found = selector.select(context("a map", ["rain"], ["sky__now"]), TOOLS)

    assert ids(found)[0] == "globe__find"
    assert "sky__now" in ids(found)
    assert found.topic == "new"


def test_a_tool_that_is_named_comes_first_in_a_conversation_too(selector):
    found = selector.select(context("disk__read", ["rain"], ["sky__now"]), TOOLS)

    assert (found.picks[0].id, found.picks[0].reason) == ("disk__read", "named")


def test_what_fits_nothing_at_all_is_not_ranked(selector):
    assert selector.select(context("xyzzy", ["plugh"]), TOOLS) == Selection(
        (),
        "no tool fits the query or the conversation",
        "no tool fits the query or the conversation",
    )


def test_a_first_prompt_has_no_topic_to_go_on_with(selector):
    assert selector.select(context("rain"), TOOLS).topic == ""


def test_less_likely_tools_are_picked_only_where_they_are_welcome(selector):
    prompt = "rain rain rain rain file"

    assert ids(selector.select(context(prompt), TOOLS)) == ["sky__now"]
    assert ids(selector.select(context(prompt, generous=True), TOOLS)) == ["sky__now", "disk__read"]


@pytest.mark.parametrize("kind", [Fused, AsyncFused])
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_contract_holds_in_a_conversation(kind, limit):
    selector = kind(Vectors(Counting()), words=0.4, ratio=0.5)
    for query in ("rain", "file and mail", "", "nothing known", "sky__now"):
        for used in ((), ("sky__now",), ("gone", "post__send")):
            asked = context(query, ("mail", "", "map"), used, limit)
            found = run(selector, asked, TOOLS)
            assert not broken_rule(found, asked, TOOLS)
            assert run(selector, asked, TOOLS) == found


def test_the_default_selector_follows_a_conversation():
    selector = registry.build("hybrid")
    tools = (
        Tool("w1", "get_forecast", "weather", "", "Rain, wind and temperature in a city."),
        Tool("w2", "get_alerts", "weather", "", "Storm warnings for a region."),
        Tool("n1", "write_note", "notes", "", "Keep a text for later."),
        Tool("m1", "convert", "money", "", "Convert an amount from one currency to another."),
        *(Tool(f"x{n}", f"unrelated_{n}", "other", "", f"Measures part {n}.") for n in range(12)),
    )
    selector.index(tools)

    same = selector.select(context("and in Lisbon?", ["will it rain in Oslo"], ["w1"]), tools)
    new = selector.select(context("convert 20 euros to yen", ["rain in Oslo?"], ["w1"]), tools)

    assert (ids(same)[0], same.topic) == ("w1", "same")
    assert (ids(new)[0], new.topic) == ("m1", "new")


def test_an_embedder_is_asked_for_a_prompt_once_and_for_the_turns_own_at_once():
    embedder = Asked()
    recent = Recent(embedder, most=2)

    recent.of("one", [])
    recent.of("two", ["one"])
    assert recent.of("", ["two", ""])[0] is None
    recent.of("three", ["two", "one"])

    assert embedder.asked == [["one"], ["two"], ["three"]]


def test_only_the_last_prompts_are_remembered():
    embedder = Asked()
    recent = Recent(embedder, most=1)
    recent.of("one", [])
    recent.of("two", [])

    recent.of("three", ["one"])

    assert embedder.asked == [["one"], ["two"], ["three", "one"]]


def test_a_prompt_that_could_not_be_embedded_is_tried_again():
    embedder = Asked()
    recent = Recent(embedder)
    embedder.broken = "away"
    with pytest.raises(SelectionError, match="away"):
        recent.of("one", [])
    embedder.broken = ""

    assert recent.of("one", [])[0].tolist() == [1.0]


class Asked:
    """Embeds everything alike, and remembers what it was asked."""

    def __init__(self):
        self.asked = []
        self.broken = ""

    def embed_queries(self, texts):
        if self.broken:
            raise SelectionError(self.broken)
        self.asked.append(list(texts))
        return np.ones((len(texts), 1), np.float32)
