import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.model import META_TOOLS, Era
from toolpick.turns import ClientTraits, Surface, choose_mode, fixed_surface, with_quota

ALLOWED = ["a", "b", "c", "d"]


@pytest.mark.parametrize("mode", ["full", "turn", "search", "stubs", "provider"])
def test_a_mode_that_is_set_is_taken(mode):
    assert choose_mode(mode, era=Era.MODERN, total_tokens=10**6, threshold=1, has_query=False) == (
        mode,
        f'surface = "{mode}" is set',
    )


@pytest.mark.parametrize(
    ("tokens", "client", "choice"),
    [
        (
            10_000,
            None,
            (
                "full",
                "the catalog takes about 10,000 tokens, not more than threshold_tokens = 10,000",
            ),
        ),
        (
            10_001,
            None,
            (
                "search",
                "the catalog takes about 10,001 tokens, more than 10,000; legacy client, "
                "a query source exists",
            ),
        ),
        (
            20_000,
            ClientTraits("Codex"),
            (
                "search",
                "for Codex, the catalog takes about 20,000 tokens, more than 10,000; "
                "legacy client, a query source exists",
            ),
        ),
    ],
)
def test_auto_goes_by_size_and_says_why(tokens, client, choice):
    assert (
        choose_mode(
            "auto",
            era=Era.LEGACY,
            total_tokens=tokens,
            threshold=10_000,
            has_query=True,
            client=client,
        )
        == choice
    )


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("full", ("a", "b", "c", "d")),
        ("search", (*META_TOOLS, "c", "a")),
        ("turn", (*META_TOOLS, "c", "a")),
        ("stubs", (*META_TOOLS, "c", "a", "b", "d")),
        ("provider", (*META_TOOLS, "c", "a", "b", "d")),
    ],
)
def test_meta_tools_and_always_tools_come_first(mode, names):
    always = ["c", "gone", "a", "c"]

    assert fixed_surface(mode, ALLOWED, always, "why") == Surface(mode, names, "why")


def test_one_big_server_does_not_crowd_out_the_rest():
    ranked = ["b1", "b2", "b3", "b4", "s1", "b5", "t1"]

    assert with_quota(ranked, lambda name: name[0], 5, 2) == ("b1", "b2", "b3", "s1", "t1")
    assert with_quota(ranked, lambda name: name[0], 9, 2) == tuple(ranked)


@given(
    st.lists(st.sampled_from(["a1", "a2", "a3", "b1", "b2", "c1"])),
    st.integers(0, 8),
    st.integers(1, 4),
)
def test_a_quota_leaves_no_place_empty_and_keeps_the_order(ranked, limit, per_server):
    distinct = list(dict.fromkeys(ranked))

    chosen = with_quota(ranked, lambda name: name[0], limit, per_server)

    assert len(chosen) == min(limit, len(distinct))
    assert list(chosen) == [name for name in distinct if name in chosen]
