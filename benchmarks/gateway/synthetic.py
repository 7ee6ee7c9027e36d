"""A server of made-up tools, fast enough to be measured through: standard library, no SDK.

`python synthetic.py NAME TOOLS` speaks MCP over its pipes. Tools are the same for the same name
and number. A call answers its arguments as text; the argument `wait_ms` delays the answer without
holding up others. `--hang` never answers `initialize`; `--die-once FILE` ends at the first call,
unless the file exists, and makes it.
"""

import argparse
import json
import os
import random
import sys
import threading
from pathlib import Path
from typing import Any

VERBS = ("get", "list", "create", "update", "delete", "search", "export", "merge", "archive")
NOUNS = ("issue", "branch", "invoice", "customer", "page", "event", "message", "metric", "secret")
FIELDS = ("owner", "query", "limit", "cursor", "state", "since", "format", "path", "title", "body")
PROSE = (
    "returns matching items page by page filtered by the given fields with optional order use it "
    "when details of an existing item are wanted and never to change anything every entry carries "
    "its identifier owner labels time of change and a short summary"
)
WORDS = PROSE.split()
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def field(draw: random.Random) -> dict[str, Any]:
    """The schema of one parameter."""
    kind = draw.choice(["string", "string", "integer", "boolean", "array"])
    schema: dict[str, Any] = {"type": kind, "description": " ".join(draw.choices(WORDS, k=6))}
    if kind == "array":
        schema["items"] = {"type": "string"}
    if kind == "integer":
        schema |= {"minimum": 1, "maximum": 100, "default": 20}
    return schema


def tools(name: str, count: int) -> list[dict[str, Any]]:
    """Definitions of about 500 bytes each."""
    draw = random.Random(name)
    made = []
    for number in range(count):
        verb, noun = draw.choice(VERBS), draw.choice(NOUNS)
        names = draw.sample(FIELDS, draw.randint(2, 4))
        about = " ".join(draw.choices(WORDS, k=draw.randint(18, 32)))
        schema = {"type": "object", "properties": {key: field(draw) for key in names}}
        described = f"{verb.title()} {noun}s: {about}."
        made.append(
            {"name": f"{verb}_{noun}_{number}", "description": described, "inputSchema": schema}
        )
    return made


class Server:
    """Answers one client, line by line."""

    def __init__(self, name: str, count: int, hang: bool, die_once: Path | None) -> None:
        self._name = name
        self._hang = hang
        self._die_once = die_once
        self._listed = _json({"tools": tools(name, count)})
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Answer until stdin ends."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "id" in message and "method" in message:
                self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params") or {}
        if method == "tools/call":
            self._call(message["id"], params.get("arguments") or {})
        elif method == "tools/list":
            self._write(message["id"], b'"result":' + self._listed)
        elif method == "initialize":
            if not self._hang:
                self._write(message["id"], b'"result":' + self._greeting(params))
        elif method == "ping":
            self._write(message["id"], b'"result":{}')
        else:
            self._write(message["id"], b'"error":{"code":-32601,"message":"Method not found"}')

    def _greeting(self, params: dict[str, Any]) -> bytes:
        asked = params.get("protocolVersion")
        version = asked if asked in VERSIONS else VERSIONS[-1]
        about = {"name": self._name, "version": "1.0"}
        return _json(
            {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        )

    def _call(self, request_id: Any, arguments: dict[str, Any]) -> None:
        if self._die_once is not None and not self._die_once.exists():
            self._die_once.touch()
            os._exit(3)
        block = {"type": "text", "text": json.dumps(arguments)}
        body = b'"result":' + _json({"content": [block], "isError": False})
        wait = arguments.get("wait_ms", 0)
        if wait:
            threading.Timer(wait / 1000, self._write, (request_id, body)).start()
        else:
            self._write(request_id, body)

    def _write(self, request_id: Any, body: bytes) -> None:
        line = b'{"jsonrpc":"2.0","id":' + _json(request_id) + b"," + body + b"}\n"
        with self._lock:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(description="A server of made-up tools.")
    parser.add_argument("name")
    parser.add_argument("tools", type=int)
    parser.add_argument("--hang", action="store_true")
    parser.add_argument("--die-once", type=Path)
    options = parser.parse_args()
    Server(options.name, options.tools, options.hang, options.die_once).serve()


if __name__ == "__main__":
    main()
