import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.catalog.names import LIMIT, RESERVED, assign_names, clean_prefix, exposed_name

LEGAL = re.compile(rf"[A-Za-z0-9_-]{{1,{LIMIT}}}")
NAMES = st.text(min_size=1, max_size=80) | st.from_regex(r"[a-z_]{1,80}", fullmatch=True)
PREFIXES = st.sampled_from(["", "time", "my shop.é", "天气", "p" * 40]) | st.text(max_size=30)


@given(PREFIXES, st.lists(NAMES, unique=True, max_size=20))
def test_exposed_names_are_legal_and_all_different(prefix, names):
    exposed = assign_names(prefix, names)

    assert list(exposed) == sorted(names)
    assert all(LEGAL.fullmatch(name) for name in exposed.values())
    assert len(set(exposed.values())) == len(names)
    assert not RESERVED & set(exposed.values())


@given(PREFIXES, NAMES, st.lists(NAMES, max_size=10))
def test_a_name_does_not_depend_on_its_neighbours(prefix, name, others):
    assert assign_names(prefix, [name, *others])[name] == exposed_name(prefix, name)


@pytest.mark.parametrize(
    ("prefix", "name", "exposed"),
    [
        ("time", "get_current_time", "time__get_current_time"),
        ("", "test_simple_text", "test_simple_text"),
        ("git", "a__b", "git__a__b"),
        ("git", "9-lives", "git__9-lives"),
        ("git", "git.get-commit", "git__git_get-commit_cd580465"),
        ("maps", "百度地图", "maps__item_5bc588bd"),
        ("", "9.lives", "t_9_lives_8b2d4f6e"),
        ("", "call_tool", "call_tool_7a95568d"),
        ("my shop.é", "buy", "my_shop_e_1764af__buy"),
        ("天", "buy", "s_49da61__buy"),
        ("crm", "x" * 44, "crm__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_0bd414f5"),
        ("p" * 30, "x" * 30, "ppppppppppppppppp_22d7d7__xxxxxxxxxxxxx_f1b2b49f"),
    ],
)
def test_a_name_stays_the_same_from_version_to_version(prefix, name, exposed):
    assert exposed_name(prefix, name) == exposed


def test_a_name_made_to_look_like_a_hashed_one_takes_nothing_from_it():
    hashed = exposed_name("s", "a.b")
    own = hashed.removeprefix("s__")

    exposed = assign_names("s", ["a.b", own])

    assert exposed[own] == hashed
    assert exposed["a.b"] == exposed_name("s", "a.b", 1) != hashed


def test_a_legal_prefix_is_kept_and_any_other_is_told_apart_by_a_hash():
    assert clean_prefix("my-shop_2") == "my-shop_2"
    assert clean_prefix("my shop") != clean_prefix("my.shop")
