from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from toolpick.model import META_TOOLS
from toolpick.turns import Conversation, Failure, Picks, Policy, Surface

ALLOWED = [*"abcdefgh"]


def begun(*picks, **policy):
    conversation = Conversation(Policy(**policy))
    conversation.begin_turn(Picks(picks), ALLOWED)
    return conversation


def test_a_conversation_begins_with_the_meta_tools():
    assert Conversation(Policy()).surface == Surface("turn", META_TOOLS, "no turn has begun")


def test_meta_tools_then_always_tools_then_what_was_shown_first():
    conversation = begun("c", "b", "h", always=("h", "gone", "g"))

    surface = conversation.begin_turn(Picks(("a", "c", "nobody"), "by words"), ALLOWED)

    assert surface == Surface("turn", (*META_TOOLS, "h", "g", "c", "b", "a"), "by words")
    assert conversation.surface is surface
    assert conversation.turn == 2


def test_what_left_the_catalog_drops_out_and_returns_only_when_picked():
    conversation = begun("a", "b")

    assert conversation.refresh(["b"]).names == (*META_TOOLS, "b")
    assert conversation.refresh(ALLOWED).names == (*META_TOOLS, "b")
    assert conversation.begin_turn(Picks(("a",)), ALLOWED).names == (*META_TOOLS, "b", "a")


def test_found_tools_are_appended_within_the_turn():
    conversation = begun("a")

    assert conversation.found(["c", "a", "nobody"], ALLOWED) == Surface(
        "turn", (*META_TOOLS, "a", "c"), "tools found by search_tools appended"
    )


def test_found_tools_have_a_bound_too():
    conversation = begun("a", max_tools=3)

    assert conversation.found("bcdefgh", ALLOWED).names == (*META_TOOLS, *"abcdef")


def test_what_was_never_used_goes_first_when_there_are_too_many():
    conversation = begun("a", "b", "c", max_tools=6)
    conversation.use("a")

    assert conversation.begin_turn(Picks(("d", "e")), ALLOWED).names == (*META_TOOLS, *"acde")
    conversation.use("c")
    assert conversation.begin_turn(Picks(("f", "g", "d")), ALLOWED).names == (*META_TOOLS, *"cdfg")


def test_the_lowest_picks_go_when_even_they_are_too_many():
    assert begun(*"abcdefgh", max_tools=5).shown == ("a", "b", "c")
    assert begun("a", always=("b", "c"), max_tools=2).surface.names == (*META_TOOLS, "b", "c")


def test_exact_stability_shows_the_picks_only_the_earlier_ones_first():
    conversation = begun("a", "b", "c", stability="exact")

    assert conversation.begin_turn(Picks(("d", "c", "b")), ALLOWED).names == (*META_TOOLS, *"bcd")
    assert conversation.begin_turn(Picks(()), ALLOWED).names == META_TOOLS


def test_an_empty_selection_is_respected():
    conversation = begun(always=("h",))

    assert conversation.surface == Surface("turn", (*META_TOOLS, "h"), "0 tools selected")
    assert begun("a").begin_turn(Picks((), "no tool needed"), ALLOWED) == Surface(
        "turn", (*META_TOOLS, "a"), "no tool needed"
    )


def test_a_failure_keeps_the_previous_list():
    assert begun("a").begin_turn(Failure("the selector took too long"), ALLOWED) == Surface(
        "turn", (*META_TOOLS, "a"), "the previous list is kept, since the selector took too long"
    )


def test_a_failure_with_nothing_shown_lists_every_allowed_tool():
    conversation = Conversation(Policy(always=("c",)))

    assert conversation.begin_turn(Failure("it broke"), ALLOWED) == Surface(
        "turn",
        (*META_TOOLS, "c", *"abdefgh"),
        "every allowed tool is listed, since it broke",
    )


def test_a_failure_over_a_large_catalog_leaves_it_to_search():
    conversation = Conversation(Policy(always=("c",), max_tools=9))

    assert conversation.begin_turn(Failure("it broke"), ALLOWED) == Surface(
        "search",
        (*META_TOOLS, "c"),
        "all 8 tools are reached by search, since it broke",
    )
    assert conversation.refresh(ALLOWED).mode == "search"
    assert conversation.begin_turn(Picks(("a",)), ALLOWED).mode == "turn"


def test_a_turn_that_began_before_any_server_was_up_lists_what_comes():
    conversation = Conversation(Policy())

    assert conversation.begin_turn(Picks(()), []).names == META_TOOLS
    assert conversation.refresh(["a", "b"]) == Surface(
        "turn",
        (*META_TOOLS, "a", "b"),
        "every allowed tool is listed, since there was no tool to choose from",
    )
    assert conversation.refresh(["a", "b", "c"]).names == (*META_TOOLS, "a", "b")


def test_used_tools_are_hydrated_for_the_rest_of_the_conversation():
    conversation = begun("a")

    assert conversation.use("a")
    assert not conversation.use("a")
    assert conversation.use("b")
    conversation.begin_turn(Picks(("c",)), ALLOWED)
    assert conversation.hydrated == {"a", "b"}
    conversation.refresh(["b"])
    assert conversation.hydrated == {"b"}
    assert Conversation(Policy()).hydrated == frozenset()


NAMES = st.sampled_from([f"t{n}" for n in range(12)])
RANKED = st.lists(NAMES, max_size=10)


class ConversationMachine(RuleBasedStateMachine):
    """Turns, searches, failures and catalog changes in any order."""

    @initialize(
        always=st.lists(NAMES, max_size=3),
        max_tools=st.integers(3, 12),
        stability=st.sampled_from(["append", "exact"]),
    )
    def begin(self, always, max_tools, stability):
        self.policy = Policy(tuple(always), max_tools, stability)
        self.conversation = Conversation(self.policy)
        self.allowed = [f"t{n}" for n in range(8)]
        self.failed = False
        self.conversation.refresh(self.allowed)

    def within_the_turn(self, before):
        kept = [name for name in before.names if name in {*self.allowed, *META_TOOLS}]
        if not set(kept) - set(self.conversation.surface.names):
            shown = [name for name in kept if name not in self.policy.always]
            after = self.conversation.surface.names
            assert [n for n in after if n in shown] == shown
            assert [n for n in after if n not in self.policy.always][: len(shown)] == shown
        else:
            raise AssertionError("a tool was removed within a turn")

    @rule(picks=RANKED)
    def turn(self, picks):
        shown = self.conversation.shown
        surface = self.conversation.begin_turn(Picks(tuple(picks)), self.allowed)
        self.failed = False
        after = self.conversation.shown
        earlier = [name for name in after if name in shown]
        assert earlier == [name for name in shown if name in after]
        assert list(after[: len(earlier)]) == earlier
        room = self.policy.max_tools - len(surface.names) + len(after)
        assert len(after) <= max(room, 0)
        beside = set(self.allowed) - set(self.policy.always)
        wanted = [name for name in dict.fromkeys(picks) if name in beside]
        assert set(wanted[: max(room, 0)]) <= set(after)

    @rule()
    def failing_turn(self):
        surface = self.conversation.begin_turn(Failure("it failed"), self.allowed)
        self.failed = True
        assert "it failed" in surface.reason
        everything = len({*self.allowed, *self.policy.always} & set(self.allowed)) + len(META_TOOLS)
        if self.allowed and everything <= self.policy.max_tools:
            assert set(surface.names) & set(self.allowed)

    @rule(names=RANKED)
    def search(self, names):
        before = self.conversation.surface
        self.conversation.found(names, self.allowed)
        self.within_the_turn(before)

    @rule(name=NAMES)
    def call(self, name):
        if name in self.allowed:
            self.conversation.use(name)
            assert name in self.conversation.hydrated

    @rule(allowed=st.lists(NAMES, unique=True))
    def change_the_catalog(self, allowed):
        before = self.conversation.surface
        self.allowed = allowed
        self.conversation.refresh(allowed)
        self.within_the_turn(before)

    @invariant()
    def the_list_is_sound(self):
        names = self.conversation.surface.names
        pinned = tuple(dict.fromkeys(n for n in self.policy.always if n in self.allowed))
        assert len(set(names)) == len(names)
        assert names[: 2 + len(pinned)] == (*META_TOOLS, *pinned)
        assert set(names) <= {*META_TOOLS, *self.allowed}
        assert self.conversation.hydrated <= set(self.allowed)


TestConversationMachine = ConversationMachine.TestCase
TestConversationMachine.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
