from dataclasses import fields

import pytest

from toolpick.model import Era
from toolpick.turns import UNKNOWN, ClientTraits, choose_mode, in_environment, recognise
from toolpick.turns.clients import ROWS

LARGE = 50_000


def mode(name: str, tokens: int = LARGE, tools: int = 40, environ: dict[str, str] | None = None):
    client = in_environment(recognise(name), environ, tokens)
    return choose_mode(
        "auto",
        era=Era.LEGACY,
        total_tokens=tokens,
        threshold=10_000,
        has_query=True,
        tools=tools,
        client=client,
    )


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("claude-code", "claude-code"),
        ("codex-mcp-client", "codex"),
        ("gemini-cli-mcp-client", "gemini-cli"),
        ("gemini-cli-mcp-client-toolpick", "gemini-cli"),
        ("cursor-vscode", "cursor"),
        ("Visual Studio Code", "vscode"),
        ("Visual-Studio-Code", "vscode"),
        ("Visual Studio Code - Insiders", "vscode"),
        ("claude-ai", "claude-desktop"),
        ("claude-ai (via mcp-remote 0.1.37)", "claude-desktop"),
        ("Zed", "zed"),
        ("windsurf-client", "windsurf"),
        ("opencode", "opencode"),
        ("inspector-client", "inspector"),
        ("mcp-inspector", "inspector"),
        ("", "unknown"),
        ("my-claude-code", "unknown"),
        ("zed-like", "unknown"),
    ],
)
def test_a_client_is_recognised_by_the_name_it_gives_itself(name, known):
    assert recognise(name).name == known


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.traits.name)
def test_every_fact_of_a_row_has_its_source(row):
    facts = {
        field.name
        for field in fields(ClientTraits)
        if field.name != "name" and getattr(row.traits, field.name) != field.default
    }

    assert set(row.sources) == facts
    assert all(row.sources.values())


@pytest.mark.parametrize(
    ("traits", "facts"),
    [
        (
            recognise("claude-code"),
            {"relists", "defers", "name_room", "description_room", "hook", "takes_context"},
        ),
        (recognise("codex-mcp-client"), {"name_room", "hook", "takes_context"}),
        (
            recognise("gemini-cli-mcp-client"),
            {
                *("relists", "in_turn", "exact", "keeps_order", "first_page_only", "name_room"),
                *("hook", "takes_context"),
            },
        ),
        (recognise("cursor-vscode"), {"most", "name_room", "hook"}),
        (recognise("Visual Studio Code"), {"relists", "most", "hook", "takes_context"}),
        (recognise("claude-ai"), {"name_room"}),
        (recognise("Zed"), {"relists"}),
        (recognise("Windsurf"), {"most"}),
        (recognise("opencode"), {"relists"}),
        (recognise("mcp-inspector"), set()),
        (UNKNOWN, set()),
    ],
    ids=lambda value: value.name if isinstance(value, ClientTraits) else "",
)
def test_what_is_known_of_each_client(traits, facts):
    known = {
        field.name
        for field in fields(ClientTraits)
        if field.name != "name" and getattr(traits, field.name) != field.default
    }

    assert known == facts


@pytest.mark.parametrize(
    ("setting", "tokens", "defers"),
    [
        (None, 1, True),
        ("", 1, True),
        ("true", 1, True),
        ("false", LARGE, False),
        ("0", LARGE, False),
        ("auto", 20_000, False),
        ("auto", 20_001, True),
        ("auto:5", 10_000, False),
        ("auto:5", 10_001, True),
        ("auto:x", 20_001, True),
    ],
)
def test_claude_codes_tool_search_is_read_from_its_environment(setting, tokens, defers):
    environ = {} if setting is None else {"ENABLE_TOOL_SEARCH": setting}
    traits = in_environment(recognise("claude-code"), environ, tokens)

    assert (traits.defers, traits.in_turn, traits.unsure) == (defers, not defers, False)


def test_where_the_environment_is_not_known_nothing_is_sure():
    traits = in_environment(recognise("claude-code"), None, LARGE)

    assert (traits.defers, traits.unsure) == (True, True)
    assert in_environment(recognise("Zed"), None, LARGE) == recognise("Zed")


@pytest.mark.parametrize(
    ("name", "environ", "expected"),
    [
        ("gemini-cli-mcp-client", {}, "turn"),
        ("gemini-cli-mcp-client", None, "turn"),
        ("claude-code", {}, "provider"),
        ("claude-code", {"ENABLE_TOOL_SEARCH": "false"}, "search"),
        ("claude-code", None, "search"),
        ("codex-mcp-client", {}, "search"),
        ("cursor-vscode", {}, "search"),
        ("Visual Studio Code", {}, "search"),
        ("claude-ai", {}, "search"),
        ("Zed", {}, "search"),
        ("opencode", {}, "search"),
        ("somebody", {}, "search"),
    ],
)
def test_auto_chooses_by_client_for_a_large_catalog(name, environ, expected):
    assert mode(name, environ=environ)[0] == expected


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.traits.name)
def test_auto_lists_a_small_catalog_in_full_for_everybody(row):
    client = row.traits
    assert (
        choose_mode(
            "auto",
            era=Era.LEGACY,
            total_tokens=10_000,
            threshold=10_000,
            has_query=False,
            tools=40,
            client=client,
        )[0]
        == "full"
    )


def test_auto_never_lists_more_tools_than_a_client_takes():
    assert mode("cursor-vscode", tokens=9_000, tools=80)[0] == "full"
    assert mode("cursor-vscode", tokens=9_000, tools=81) == (
        "search",
        "for cursor, which takes 80 tools, not 81",
    )


def test_auto_says_why():
    assert mode("gemini-cli-mcp-client")[1] == (
        "for gemini-cli, which follows changes of the list and keeps its order, the catalog takes "
        "about 50,000 tokens, more than 10,000"
    )
    assert mode("claude-code", environ={})[1] == (
        "for claude-code, which defers tools itself, the catalog takes about 50,000 tokens, more "
        "than 10,000"
    )
