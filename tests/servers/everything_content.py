"""What the everything server has to show: media, prompts, resources, templates, completions.

Plain values and functions from parameters to result dictionaries; it knows nothing of sessions. The
names and texts are those that the official conformance suite asks for.
"""

import base64
import json
import re
import struct
import zlib
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _red_pixel() -> str:
    """A PNG of one red pixel, base64."""
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(bytes([0, 255, 0, 0]))
    body = _chunk(b"IHDR", header) + _chunk(b"IDAT", pixel) + _chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def _silence() -> str:
    """A WAV header with no sample behind it, base64."""
    shape = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    body = b"WAVE" + shape + struct.pack("<4sI", b"data", 0)
    return base64.b64encode(struct.pack("<4sI", b"RIFF", len(body)) + body).decode()


PNG = _red_pixel()
WAV = _silence()

WATCHED = "test://watched-resource"
_TEMPLATE = re.compile(r"test://template/(?P<id>[^/]+)/data")

RESOURCES = [
    {
        "uri": "test://static-text",
        "name": "static-text",
        "description": "A text that never changes",
        "mimeType": "text/plain",
    },
    {
        "uri": "test://static-binary",
        "name": "static-binary",
        "description": "A picture of one pixel",
        "mimeType": "image/png",
    },
    {
        "uri": WATCHED,
        "name": "watched-resource",
        "description": "A text that can be subscribed to",
        "mimeType": "text/plain",
    },
]

TEMPLATES = [
    {
        "uriTemplate": "test://template/{id}/data",
        "name": "template-data",
        "description": "One record by its id",
        "mimeType": "application/json",
    }
]

PROMPTS = [
    {"name": "test_simple_prompt", "description": "One user message"},
    {
        "name": "test_prompt_with_arguments",
        "description": "Repeats its two arguments",
        "arguments": [
            {"name": "arg1", "description": "First value", "required": True},
            {"name": "arg2", "description": "Second value", "required": True},
        ],
    },
    {
        "name": "test_prompt_with_embedded_resource",
        "description": "Carries a resource",
        "arguments": [
            {"name": "resourceUri", "description": "Address of the resource", "required": True}
        ],
    },
    {"name": "test_prompt_with_image", "description": "Carries a picture"},
    {"name": "test_input_required_result_prompt", "description": "Asks for a context first"},
]

DYNAMIC_PROMPT = {"name": "test_dynamic_prompt", "description": "There every other time"}

_CITIES = ["paris", "parma", "perth"]


def text(value: str) -> dict[str, Any]:
    """A text content block."""
    return {"type": "text", "text": value}


def image() -> dict[str, Any]:
    """An image content block."""
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def embedded(uri: str, mime_type: str, value: str) -> dict[str, Any]:
    """A content block that carries a resource."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": value}}


def read_resource(uri: str) -> dict[str, Any]:
    """The contents of a resource; an unknown address is an error that names it."""
    record = _TEMPLATE.fullmatch(uri)
    if record:
        body = json.dumps(
            {"id": record["id"], "templateTest": True, "data": f"Data for ID: {record['id']}"}
        )
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": body}]}
    if uri == "test://static-text":
        value = "This is the content of the static text resource."
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": value}]}
    if uri == "test://static-binary":
        return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": PNG}]}
    if uri == WATCHED:
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "Watched resource"}]}
    raise MCPError(INVALID_PARAMS, "Resource not found", {"uri": uri})


def get_prompt(name: str, arguments: dict[str, str]) -> dict[str, Any]:
    """The messages of a prompt that needs no input from the user."""
    if name == "test_simple_prompt":
        contents = [text("This is a simple prompt for testing.")]
    elif name == "test_prompt_with_arguments":
        arg1, arg2 = _required(arguments, "arg1"), _required(arguments, "arg2")
        contents = [text(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")]
    elif name == "test_prompt_with_embedded_resource":
        uri = _required(arguments, "resourceUri")
        contents = [
            embedded(uri, "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ]
    elif name == "test_prompt_with_image":
        contents = [image(), text("Please analyze the image above.")]
    elif name == DYNAMIC_PROMPT["name"]:
        contents = [text("This prompt comes and goes.")]
    else:
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")
    return {"messages": [{"role": "user", "content": content} for content in contents]}


def complete(value: str) -> dict[str, Any]:
    """Completions of a value, the same for every argument."""
    values = [city for city in _CITIES if city.startswith(value.lower())]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def _required(arguments: dict[str, str], name: str) -> str:
    if name not in arguments:
        raise MCPError(INVALID_PARAMS, f"Missing argument: {name}")
    return arguments[name]
