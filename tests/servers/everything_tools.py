"""The everything server's tools that finish in one go.

Content, progress, logs, requests to the client. Each handler takes the SDK's request context and
the call's parameters and returns a result dictionary. Tools that answer `input_required` live in
`everything_rounds`, the lists themselves in `everything`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from everything_content import WAV as WAV_DATA
from everything_content import embedded, image, text
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

Context = ServerRequestContext[Any, Any]
Handler = Callable[[Context, types.CallToolRequestParams], Awaitable[dict[str, Any]]]

PAUSE = 0.05
"""Seconds between two progress or log notifications; the suite wants them apart."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool definition with what runs it."""

    name: str
    description: str
    handler: Handler
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    extra: dict[str, Any] = field(default_factory=dict)

    def definition(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it."""
        shown = {"name": self.name, "description": self.description, "inputSchema": self.schema}
        return {**shown, **self.extra}


def content(*blocks: dict[str, Any]) -> dict[str, Any]:
    """A call's result made of content blocks."""
    return {"content": list(blocks)}


def fixed(*blocks: dict[str, Any]) -> Handler:
    """A handler that always answers the same blocks."""

    async def answer(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        return content(*blocks)

    return answer


def missing_capability(**capabilities: dict[str, Any]) -> MCPError:
    """The error for a client that did not declare what a tool needs."""
    return MCPError(
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        f"client does not declare {', '.join(capabilities)}",
        {"requiredCapabilities": capabilities},
    )


async def ask(ctx: Context, request: types.ServerRequest, answer: type[Any]) -> Any:
    """Send a request to the client on the stream of the call that caused it."""
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    return await ctx.session.send_request(request, answer, metadata=metadata)


async def elicit(ctx: Context, message: str, schema: dict[str, Any]) -> types.ElicitResult:
    """Ask the user of a handshake-era client to fill in a form."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        raise missing_capability(elicitation={})
    form = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    answer: types.ElicitResult = await ask(
        ctx, types.ElicitRequest(params=form), types.ElicitResult
    )
    return answer


async def log(ctx: Context, data: str) -> None:
    """A log message at level info; the SDK drops it where the client has not asked for it."""
    await ctx.session.send_log_message("info", data, "everything", ctx.request_id)


async def _fail(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    return {
        "isError": True,
        **content(text("This tool intentionally returns an error for testing")),
    }


async def _log_thrice(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    await log(ctx, "Tool execution started")
    await anyio.sleep(PAUSE)
    await log(ctx, "Tool processing data")
    await anyio.sleep(PAUSE)
    await log(ctx, "Tool execution completed")
    return content(text("Tool with logging executed successfully"))


async def _log_once(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    await log(ctx, "test_logging_tool ran")
    return content(text("Logged"))


async def _progress(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"Completed step {done} of 100")
        await anyio.sleep(PAUSE)
    return content(text("Tool with progress executed successfully"))


async def _sample(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise missing_capability(sampling={})
    prompt = types.TextContent(type="text", text=(params.arguments or {})["prompt"])
    request = types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=prompt)], max_tokens=100
        )
    )
    answer = await ask(ctx, request, types.CreateMessageResult)
    return content(text(f"LLM response: {getattr(answer.content, 'text', answer.content)}"))


async def _elicit_form(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    }
    answer = await elicit(ctx, (params.arguments or {})["message"], schema)
    return content(text(f"User response: action={answer.action}, content={answer.content}"))


async def _elicit_defaults(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    }
    schema = {"type": "object", "properties": properties, "required": []}
    answer = await elicit(ctx, "Please check these values", schema)
    return content(text(f"Elicitation completed: action={answer.action}, content={answer.content}"))


async def _elicit_enums(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{number}", "title": f"{word} Option"}
        for number, word in enumerate(("First", "Second", "Third"), start=1)
    ]
    old = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option 3"]}
    properties = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **old},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    schema = {"type": "object", "properties": properties, "required": []}
    answer = await elicit(ctx, "Please choose", schema)
    return content(text(f"Elicitation completed: action={answer.action}, content={answer.content}"))


async def _reconnect(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
        await anyio.sleep(2 * PAUSE)
    return content(text("Reconnection test completed"))


async def _need_sampling(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise missing_capability(sampling={})
    return content(text("The client declares sampling"))


async def _echo(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    arguments = params.arguments or {}
    return {**content(text("Echoed")), "structuredContent": {"arguments": arguments}}


def _strings(*names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
    }


SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

_JSON = '{"test":"data","value":123}'
_REGION = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
_ECHOED = {
    "outputSchema": {"type": "object", "properties": {"arguments": {"type": "object"}}},
    "annotations": {"title": "Echo", "readOnlyHint": True, "idempotentHint": True},
}

TOOLS = [
    Tool(
        "test_simple_text",
        "Answers one text",
        fixed(text("This is a simple text response for testing.")),
    ),
    Tool("test_image_content", "Answers one picture", fixed(image())),
    Tool(
        "test_audio_content",
        "Answers one sound",
        fixed({"type": "audio", "data": WAV_DATA, "mimeType": "audio/wav"}),
    ),
    Tool(
        "test_embedded_resource",
        "Answers one resource",
        fixed(
            embedded(
                "test://embedded-resource", "text/plain", "This is an embedded resource content."
            )
        ),
    ),
    Tool(
        "test_multiple_content_types",
        "Answers a text, a picture and a resource",
        fixed(
            text("Multiple content types test:"),
            image(),
            embedded("test://mixed-content-resource", "application/json", _JSON),
        ),
    ),
    Tool("test_error_handling", "Always fails", _fail),
    Tool("test_tool_with_logging", "Logs three times", _log_thrice),
    Tool("test_logging_tool", "Logs once", _log_once),
    Tool("test_tool_with_progress", "Reports 0, 50 and 100 of 100", _progress),
    Tool("test_sampling", "Asks the client's model", _sample, _strings("prompt")),
    Tool("test_elicitation", "Asks the user", _elicit_form, _strings("message")),
    Tool("test_elicitation_sep1034_defaults", "Asks with defaults", _elicit_defaults),
    Tool("test_elicitation_sep1330_enums", "Asks with all kinds of choices", _elicit_enums),
    Tool("test_reconnection", "Closes its stream before it answers", _reconnect),
    Tool("test_missing_capability", "Needs a client with sampling", _need_sampling),
    Tool("test_echo", "Answers its arguments", _echo, {"type": "object"}, _ECHOED),
    Tool("test_header_parameter", "Has a parameter that travels as a header", _echo, _REGION),
    Tool(
        "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", _echo, SCHEMA_2020_12
    ),
]
