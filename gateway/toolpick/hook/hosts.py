"""The hosts whose prompt hooks are understood: what each sends, and what it takes for an answer.

Sources: Claude Code, Codex and Gemini CLI as they were seen to behave (2.1.332, 0.171.0, 0.61.0);
Cursor's and VS Code's documentation of their hooks. A host is recognised by its input alone.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLAUDE_CODE, CODEX, GEMINI_CLI = "claude-code", "codex", "gemini-cli"
CURSOR, VSCODE = "cursor", "vscode"

PROMPTS = {
    "UserPromptSubmit": CLAUDE_CODE,
    "BeforeAgent": GEMINI_CLI,
    "beforeSubmitPrompt": CURSOR,
}
"""Events that carry a prompt, and the host that calls them so unless more is known."""
SELECTION = "BeforeToolSelection"
"""Gemini CLI's question which functions may be called; it comes before every model request."""
HEAD, TAIL = 6000, 2000
"""Characters of a long prompt that are kept: people ask at the beginning or at the end."""
CONTEXT = 9000
"""Most bytes of context: Claude Code and Codex cut what is longer than about 10,000."""


class Call:
    """One run of a hook: which host runs it, for which event, what the person wrote, and where."""

    __slots__ = ("cwd", "event", "host", "prompt", "session")

    def __init__(self, host: str, event: str, prompt: str, session: str, cwd: str) -> None:
        """``session`` is the host's id of the conversation, "" where it gives none."""
        self.host = host
        self.event = event
        self.prompt = prompt
        self.session = session
        self.cwd = cwd


def read(given: bytes) -> Call | None:
    """What a host says on stdin; None where it can't be understood or needs no answer."""
    try:
        said = json.loads(given)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    event = _text(said, "hook_event_name", "hookEventName")
    prompt = _text(said, "prompt").strip()
    if event not in PROMPTS and event != SELECTION:
        return None
    if len(prompt) > HEAD + TAIL:
        prompt = f"{prompt[:HEAD]}\n...\n{prompt[-TAIL:]}"
    session = _text(said, "session_id", "sessionId", "conversation_id")
    return Call(_host(event, said), event, prompt, session, _folder(said))


def _host(event: str, said: dict[str, Any]) -> str:
    if event == SELECTION:
        return GEMINI_CLI
    if event == "UserPromptSubmit" and "turn_id" in said:
        return CODEX
    if event == "UserPromptSubmit" and ("hookEventName" in said or "timestamp" in said):
        return VSCODE
    return PROMPTS[event]


def _folder(said: dict[str, Any]) -> str:
    roots = said.get("workspace_roots")
    if isinstance(roots, list) and roots and isinstance(roots[0], str):
        return roots[0]
    return _text(said, "cwd")


def _text(said: dict[str, Any], *names: str) -> str:
    for name in names:
        if isinstance(said.get(name), str):
            return str(said[name])
    return ""


def answer(call: Call | None, context: str) -> dict[str, Any]:
    """What the host is told: the context where there is some, else that it may go on."""
    if call is not None and call.host == CURSOR:
        # Cursor takes no context at this event
        return {"continue": True}
    if call is None or not context:
        return {}
    return {"hookSpecificOutput": {"hookEventName": call.event, "additionalContext": context}}


def selection(names: list[str], server: str) -> dict[str, Any]:
    """Which functions Gemini CLI may offer its model: these alone, under the names it gives them.

    Names only count with mode ANY, which also makes the model call one of them.
    """
    if not names:
        return {}
    allowed = [f"mcp_{server}_{name}" for name in names]
    config = {"mode": "ANY", "allowedFunctionNames": allowed}
    return {"hookSpecificOutput": {"hookEventName": SELECTION, "toolConfig": config}}


def joined(contexts: list[str]) -> str:
    """The contexts of several gateways, each once, as many as fit."""
    text = ""
    for context in dict.fromkeys(filter(None, contexts)):
        longer = f"{text}\n\n{context}" if text else context
        if len(longer.encode("utf-8", "surrogatepass")) <= CONTEXT:
            text = longer
    return text
