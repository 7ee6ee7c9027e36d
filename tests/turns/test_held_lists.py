"""Lists of clients whose host's hook names to the model what is not listed."""

from toolpick.model import META_TOOLS
from toolpick.turns import Conversation, Failure, Picks, Policy, Surface
from toolpick.turns.conversation import LISTED

ALLOWED = tuple("abcdefghijklmnopqrst")


def begin(conversation, *names, topic=""):
    return conversation.begin_turn(Picks(names, "why", topic), ALLOWED, named=True)


def held(*names):
    conversation = Conversation(Policy())
    begin(conversation, *names)
    return conversation


def test_a_turns_best_are_listed_and_the_rest_is_left_to_the_hook():
    assert held(*ALLOWED).shown == ALLOWED[:LISTED]


def test_the_list_stays_while_the_topic_does():
    conversation = held("a", "b")

    surface = begin(conversation, "c", "a", topic="same")

    assert surface == Surface(
        "turn", (*META_TOOLS, "a", "b"), "the list stays while the topic does"
    )
    assert conversation.turn == 2


def test_a_new_topic_is_listed():
    conversation = held("a", "b")

    assert begin(conversation, "c", "a", topic="new").names == (*META_TOOLS, "a", "b", "c")


def test_where_nobody_can_tell_the_topic_every_turn_is_listed():
    conversation = held("a")

    assert begin(conversation, "b").names == (*META_TOOLS, "a", "b")


def test_a_list_with_nothing_on_it_does_not_stay_that_way():
    conversation = held()

    assert begin(conversation, "a", topic="same").names == (*META_TOOLS, "a")


def test_what_left_the_catalog_leaves_a_list_that_stays():
    conversation = held("a", "b")

    surface = conversation.begin_turn(Picks(("c",), "", "same"), ("b", "c"), named=True)

    assert surface.names == (*META_TOOLS, "b")


def test_a_failure_keeps_the_list_too():
    conversation = held("a")

    assert conversation.begin_turn(Failure("of it"), ALLOWED, named=True).names == (
        *META_TOOLS,
        "a",
    )


def test_without_a_hook_a_topic_that_stays_is_listed_all_the_same():
    conversation = held("a")

    assert conversation.begin_turn(Picks(("b",), "", "same"), ALLOWED).names == (
        *META_TOOLS,
        "a",
        "b",
    )
