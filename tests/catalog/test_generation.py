import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog.shelves import listed, shelf, tool

from toolpick.catalog import Difference, Generation, Route, diff, listing, merge

STATUS = {"uri": "info://status", "name": "status"}
BY_ID = {"uriTemplate": "info://{id}", "name": "by id"}
ALPHA = shelf(
    "alpha",
    tool("search"),
    tool("only_alpha"),
    prompts=[{"name": "summarize"}],
    resources=[STATUS, {"uri": "info://only/alpha", "name": "a"}],
)
BETA = shelf("beta", tool("search"), prompts=[{"name": "summarize"}], resources=[STATUS])


def test_tools_and_prompts_come_in_the_order_of_the_settings_then_by_name():
    merged = merge(3, [BETA, ALPHA])

    assert list(merged.tools) == ["beta__search", "alpha__only_alpha", "alpha__search"]
    assert list(merged.prompts) == ["beta__summarize", "alpha__summarize"]
    assert merged.tools_bytes == listing(merged.tools.values())
    assert (merged.number, merged.servers, merged.collisions) == (3, ("beta", "alpha"), ())


def test_a_bare_name_has_the_allowed_tools_of_that_name_for_candidates():
    quiet = shelf("quiet", tool("search"), deny=("search",))

    merged = merge(1, [ALPHA, BETA, quiet])

    assert merged.candidates("search") == ("alpha__search", "beta__search")
    assert merged.candidates("Search") == ()


@pytest.mark.parametrize("prefix", ["", "same"])
def test_equal_exposed_names_are_a_collision_that_names_both_servers(prefix):
    first, second = (shelf(name, tool("search"), prefix=prefix) for name in ("one", "two"))

    merged = merge(1, [first, second])

    exposed = f"{prefix}__search" if prefix else "search"
    assert [entry.server for entry in merged.tools.values()] == ["one"]
    assert merged.collisions == (
        f"tool '{exposed}' is offered by both 'one' and 'two', so that of 'two' is left out; "
        "give one of them another prefix",
    )
    assert merged.candidates("search") == (exposed,)


@pytest.mark.parametrize("shelves", [(ALPHA, BETA), (BETA, ALPHA)])
def test_a_uri_of_two_servers_is_exposed_under_a_uri_for_each(shelves):
    merged = merge(1, shelves)

    assert sorted(merged.resources) == [
        "info://only/alpha",
        "toolpick+alpha:info://status",
        "toolpick+beta:info://status",
    ]
    assert {entry["uri"] for entry in listed(merged.resources.values())} == set(merged.resources)
    assert merged.owners("toolpick+alpha:info://status") == (Route("alpha", "info://status"),)
    assert set(merged.owners("info://status")) == {
        Route("alpha", "info://status"),
        Route("beta", "info://status"),
    }
    assert merged.owners("info://only/alpha") == (Route("alpha", "info://only/alpha"),)
    assert merged.owners("info://nobody") == ()


def test_a_rewritten_uri_leads_to_its_server_even_while_nobody_else_shares_it():
    merged = merge(1, [BETA, shelf("alpha")])

    assert merged.owners("toolpick+alpha:info://status") == (Route("alpha", "info://status"),)
    assert merged.owners("toolpick+gone:info://status") == ()
    assert merged.owners("info://status") == (Route("beta", "info://status"),)


def test_a_uri_once_shared_stays_rewritten():
    both = merge(1, [ALPHA, BETA])

    alone = merge(2, [BETA], both)

    assert list(alone.resources) == ["toolpick+beta:info://status"]
    assert alone.owners("info://status") == (Route("beta", "info://status"),)


def test_templates_are_told_apart_and_the_most_telling_match_wins():
    one = shelf("one", templates=[BY_ID, {"uriTemplate": "info://x/{id}", "name": "x"}])
    two = shelf("two", templates=[BY_ID, {"uriTemplate": "{+any}", "name": "any"}])

    merged = merge(1, [one, two])

    assert list(merged.templates) == [
        "info://x/{id}",
        "toolpick+one:info://{id}",
        "toolpick+two:info://{id}",
        "{+any}",
    ]
    assert merged.owners("toolpick+two:info://7") == (Route("two", "info://7"),)
    assert merged.owners("info://x/7") == (Route("one", "info://x/7"),)
    assert merged.owners("info://7") == (Route("one", "info://7"), Route("two", "info://7"))
    assert merged.owners("other://7") == (Route("two", "other://7"),)


def test_a_servers_own_uri_is_exposed_so_that_reading_it_leads_back():
    odd = shelf("odd", resources=[{"uri": "a b", "name": "n"}], templates=[BY_ID])
    merged = merge(1, [ALPHA, BETA, odd])

    assert merged.exposed_uri("alpha", "info://status") == "toolpick+alpha:info://status"
    assert merged.exposed_uri("alpha", "info://only/alpha") == "info://only/alpha"
    assert merged.exposed_uri("beta", "info://only/alpha") == "toolpick+beta:info://only/alpha"
    assert merged.exposed_uri("odd", "a b") == "toolpick+odd:a%20b"
    assert merged.exposed_uri("odd", "info://7") == "info://7"
    assert merged.exposed_uri("beta", "info://7") == "toolpick+beta:info://7"
    assert merged.exposed_uri("beta", "nobody://7") == "nobody://7"


def test_a_difference_counts_content_not_numbers_or_order():
    old = merge(1, [ALPHA, BETA])

    assert not diff(old, merge(2, [BETA, ALPHA]))
    assert diff(old, merge(2, [BETA, ALPHA])) == Difference()


def test_a_difference_says_what_changed():
    old = merge(1, [shelf("s", tool("a"), tool("b"), tool("c"), prompts=[{"name": "p"}])])
    new = merge(2, [shelf("s", tool("a"), tool("b", "New."), tool("d"), resources=[STATUS])])

    assert diff(old, new) == Difference(
        tools=True,
        prompts=True,
        resources=True,
        added=("s__d",),
        removed=("s__c",),
        changed=("s__b",),
    )
    assert diff(Generation(), merge(1, [shelf("s", templates=[BY_ID])])) == Difference(
        resources=True
    )


def test_remarks_and_unmatched_patterns_of_all_shelves_are_kept():
    merged = merge(1, [shelf("a", None), shelf("b", tool("t"), deny=("x",))])

    assert merged.remarks == (
        "a: tool at position 1: left out, since null is no definition",
        "b: deny 'x' matches no tool of this server",
    )
    assert merged.unmatched == ("b: deny 'x'",)


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma"]), unique=True, min_size=1))
def test_tool_names_do_not_depend_on_which_other_servers_are_there(names):
    offered = [tool("search"), tool("a.b"), tool("x" * 60)]
    alone = {
        name: set(merge(1, [shelf(name, *offered)]).tools) for name in ("alpha", "beta", "gamma")
    }

    together = merge(1, [shelf(name, *offered) for name in names])

    assert set(together.tools) == set().union(*(alone[name] for name in names))
