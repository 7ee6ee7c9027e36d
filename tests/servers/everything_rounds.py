"""The everything server's answers in several rounds: results of type `input_required`.

A handler sees one round: what the client answered so far and the state that it brought back. The
state's seal is the server's business (`RequestStateBoundary` in `everything`), so a handler reads
plain text that it wrote itself.
"""

from typing import Any

import mcp_types as types
from everything_content import text
from everything_tools import Context, Tool, content, elicit, missing_capability
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Params = types.CallToolRequestParams | types.GetPromptRequestParams


def form(message: str, name: str, kind: str = "string") -> dict[str, Any]:
    """A request to the user for one value."""
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {
        "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": schema},
    }


def sampling(prompt: str, max_tokens: int) -> dict[str, Any]:
    """A request to the client's model."""
    message = {"role": "user", "content": text(prompt)}
    return {
        "method": "sampling/createMessage",
        "params": {"messages": [message], "maxTokens": max_tokens},
    }


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
NAME = form("What is your name?", "name")


def more(requests: dict[str, Any], state: str | None = None) -> dict[str, Any]:
    """The result that asks for another round."""
    result: dict[str, Any] = {"resultType": "input_required", "inputRequests": requests}
    return result if state is None else {**result, "requestState": state}


def accepted(params: Params, key: str, field: str) -> Any:
    """What the user filled in, or None: not asked yet, declined, or not the expected shape."""
    answer = (params.input_responses or {}).get(key)
    if not isinstance(answer, types.ElicitResult) or answer.action != "accept":
        return None
    return (answer.content or {}).get(field)


def expect_state(params: Params, *expected: str) -> None:
    """Refuse a round whose state is none of the expected ones."""
    if params.request_state not in expected:
        raise MCPError(INVALID_PARAMS, "requestState does not belong to this round")


async def _ask_name(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    name = accepted(params, "user_name", "name")
    if not isinstance(name, str):
        return more({"user_name": NAME})
    return content(text(f"Hello, {name}!"))


async def _ask_model(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    answer = (params.input_responses or {}).get("capital_question")
    if not isinstance(answer, types.CreateMessageResult):
        return more({"capital_question": sampling("What is the capital of France?", 100)})
    return content(text(f"The model says: {getattr(answer.content, 'text', '')}"))


async def _ask_roots(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    answer = (params.input_responses or {}).get("client_roots")
    if not isinstance(answer, types.ListRootsResult):
        return more({"client_roots": ROOTS})
    return content(text("Roots: " + ", ".join(str(root.uri) for root in answer.roots)))


async def _confirm(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    if accepted(params, "confirm", "ok") is None:
        return more({"confirm": form("Please confirm", "ok", "boolean")}, "confirming")
    expect_state(params, "confirming")
    return content(text("state-ok: confirmed"))


async def _ask_three(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    wanted = {
        "user_name": NAME,
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": ROOTS,
    }
    missing = {key: wanted[key] for key in wanted if key not in (params.input_responses or {})}
    if missing:
        return more(missing, "three")
    expect_state(params, "three")
    return content(text(f"All three answered, {accepted(params, 'user_name', 'name')}"))


async def _two_steps(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    name = accepted(params, "step1", "name")
    colour = accepted(params, "step2", "color")
    if colour is not None:
        expect_state(params, "step2")
        return content(text(f"Favorite color noted: {colour}"))
    if name is not None:
        expect_state(params, "step1")
        return more({"step2": form("Step 2: What is your favorite color?", "color")}, "step2")
    return more({"step1": form("Step 1: What is your name?", "name")}, "step1")


async def _what_is_declared(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    declared = ctx.session.client_capabilities or types.ClientCapabilities()
    possible = {
        "user_name": (declared.elicitation, NAME),
        "capital_question": (declared.sampling, sampling("What is the capital of France?", 100)),
        "client_roots": (declared.roots, ROOTS),
    }
    requests = {key: ask for key, (capability, ask) in possible.items() if capability is not None}
    if params.input_responses:
        return content(text("Answered: " + ", ".join(sorted(params.input_responses))))
    if not requests:
        raise missing_capability(elicitation={})
    return more(requests)


async def _stream(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    await ctx.session.report_progress(1, 2, "Asking")
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return await _ask_name(ctx, params)
    answer = await elicit(ctx, "What is your name?", NAME["params"]["requestedSchema"])
    return content(text(f"User response: action={answer.action}, content={answer.content}"))


async def prompt_with_context(ctx: Context, params: types.GetPromptRequestParams) -> dict[str, Any]:
    """The prompt that asks for its context first."""
    context = accepted(params, "user_context", "context")
    if context is None:
        return more({"user_context": form("What context should the prompt use?", "context")})
    message = {"role": "user", "content": text(f"Prompt in the context of {context}")}
    return {"messages": [message]}


TOOLS = [
    Tool("test_input_required_result_elicitation", "Asks for a name", _ask_name),
    Tool("test_input_required_result_sampling", "Asks the model", _ask_model),
    Tool("test_input_required_result_list_roots", "Asks for the roots", _ask_roots),
    Tool("test_input_required_result_request_state", "Asks and keeps a state", _confirm),
    Tool("test_input_required_result_tampered_state", "Refuses a changed state", _confirm),
    Tool("test_input_required_result_multiple_inputs", "Asks three things at once", _ask_three),
    Tool("test_input_required_result_multi_round", "Asks twice", _two_steps),
    Tool("test_input_required_result_capabilities", "Asks what is declared", _what_is_declared),
    Tool("test_streaming_elicitation", "Reports progress, then asks", _stream),
]
