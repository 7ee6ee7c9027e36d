"""Allow and deny: what passes, and that a shelf keeps exactly that."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.catalog import allowed, filtered
from toolpick.catalog.shelf import Shelf
from toolpick.model import PromptEntry, ToolEntry

NAMES = st.text("ab_", min_size=1, max_size=4)
PATTERNS = st.lists(st.text("ab_*?", min_size=1, max_size=4), max_size=3).map(tuple)


@pytest.mark.parametrize(
    ("allow", "deny", "passes"),
    [
        ((), (), True),
        (("git__*",), (), True),
        (("docs__*",), (), False),
        (("docs__*", "git__log"), (), True),
        ((), ("*__log",), False),
        (("git__log",), ("git__*",), False),
        (("GIT__*",), (), False),
    ],
)
def test_deny_wins_over_allow_and_an_empty_allow_allows_all(
    allow: tuple[str, ...], deny: tuple[str, ...], passes: bool
) -> None:
    assert allowed("git__log", allow, deny) is passes


@given(st.lists(NAMES, max_size=6, unique=True), PATTERNS, PATTERNS)
def test_a_shelf_keeps_the_tools_that_pass_and_all_else(
    names: list[str], allow: tuple[str, ...], deny: tuple[str, ...]
) -> None:
    tools = tuple(ToolEntry("s", name, f"s__{name}", b"{}") for name in names)
    prompts = (PromptEntry("s", "p", "s__p", b"{}"),)
    shelf = Shelf("s", "s", tools, prompts)

    kept = filtered(shelf, allow, deny)

    def matches(tool: ToolEntry, patterns: tuple[str, ...]) -> bool:
        return any(fnmatchcase(tool.exposed, pattern) for pattern in patterns)

    assert kept.prompts == prompts
    assert kept.tools == tuple(
        tool for tool in tools if not matches(tool, deny) and (matches(tool, allow) or not allow)
    )
