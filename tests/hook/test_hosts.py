import json
from typing import Any

import pytest

from toolpick.hook import hosts

CLAUDE = {
    "session_id": "s-1",
    "transcript_path": "/home/a/.claude/projects/p/s-1.jsonl",
    "cwd": "/home/a/p",
    "prompt_id": "p-1",
    "permission_mode": "default",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "What time is it?",
}
CODEX = {**CLAUDE, "turn_id": "t-1", "model": "gpt-5.1"}
GEMINI = {
    "session_id": "s-1",
    "transcript_path": "/t",
    "cwd": "/home/a/p",
    "hook_event_name": "BeforeAgent",
    "timestamp": "2026-11-29T20:00:00Z",
    "prompt": "What time is it?",
}
CURSOR = {
    "conversation_id": "s-1",
    "generation_id": "g-1",
    "workspace_roots": ["/home/a/p"],
    "hook_event_name": "beforeSubmitPrompt",
    "prompt": "What time is it?",
    "attachments": [],
}
VSCODE = {
    "timestamp": "2026-11-29T20:00:00Z",
    "hookEventName": "UserPromptSubmit",
    "sessionId": "s-1",
    "transcript_path": "/t",
    "cwd": "/home/a/p",
    "prompt": "What time is it?",
}


def read(said: Any) -> hosts.Call | None:
    return hosts.read(json.dumps(said).encode())


def fields(call: hosts.Call | None) -> tuple[str, ...]:
    assert call is not None
    return call.host, call.event, call.prompt, call.session, call.cwd


@pytest.mark.parametrize(
    ("said", "host", "event"),
    [
        (CLAUDE, "claude-code", "UserPromptSubmit"),
        (CODEX, "codex", "UserPromptSubmit"),
        (GEMINI, "gemini-cli", "BeforeAgent"),
        (CURSOR, "cursor", "beforeSubmitPrompt"),
        (VSCODE, "vscode", "UserPromptSubmit"),
    ],
)
def test_each_host_is_recognised_by_what_it_says(
    said: dict[str, Any], host: str, event: str
) -> None:
    assert fields(read(said)) == (host, event, "What time is it?", "s-1", "/home/a/p")


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"\xff\xfe",
        b"no JSON",
        b"[]",
        b"17",
        b'"text"',
        b"[" * 100_000,
        b"{}",
        b'{"hook_event_name": "PreToolUse", "prompt": "x"}',
        b'{"hook_event_name": 7, "prompt": "x"}',
    ],
)
def test_what_is_no_prompt_is_nothing(given: bytes) -> None:
    assert hosts.read(given) is None


def test_missing_and_strange_members_count_as_empty() -> None:
    said = {"hook_event_name": "UserPromptSubmit", "prompt": 5, "session_id": None, "cwd": []}

    assert fields(read(said)) == ("claude-code", "UserPromptSubmit", "", "", "")


def test_of_a_long_prompt_the_beginning_and_the_end_are_kept() -> None:
    call = read({**CLAUDE, "prompt": f"begin{'x' * 100_000}end"})

    assert call is not None
    assert len(call.prompt) == hosts.HEAD + hosts.TAIL + len("\n...\n")
    assert call.prompt.startswith("begin")
    assert call.prompt.endswith("end")


@pytest.mark.parametrize("said", [CLAUDE, CODEX, GEMINI, VSCODE])
def test_context_is_given_as_the_host_takes_it(said: dict[str, Any]) -> None:
    call = read(said)
    assert call is not None

    assert hosts.answer(call, "Use this.") == {
        "hookSpecificOutput": {"hookEventName": call.event, "additionalContext": "Use this."}
    }
    assert hosts.answer(call, "") == {}


def test_cursor_is_only_told_to_go_on() -> None:
    assert hosts.answer(read(CURSOR), "Use this.") == {"continue": True}
    assert hosts.answer(read(CURSOR), "") == {"continue": True}


def test_nobody_is_told_nothing() -> None:
    assert hosts.answer(None, "Use this.") == {}


def test_the_allowed_functions_have_the_names_that_gemini_cli_gives_them() -> None:
    assert hosts.selection(["call_tool", "a__b"], "mine") == {
        "hookSpecificOutput": {
            "hookEventName": "BeforeToolSelection",
            "toolConfig": {
                "mode": "ANY",
                "allowedFunctionNames": ["mcp_mine_call_tool", "mcp_mine_a__b"],
            },
        }
    }
    assert hosts.selection([], "mine") == {}


def test_contexts_of_several_gateways_are_joined_as_far_as_they_fit() -> None:
    long = "é" * 4400

    assert hosts.joined([]) == ""
    assert hosts.joined(["one", "", "one", "two"]) == "one\n\ntwo"
    assert hosts.joined([long, "no" * 200, "yes"]) == f"{long}\n\nyes"
