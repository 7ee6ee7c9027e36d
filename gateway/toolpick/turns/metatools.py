"""The gateway's own two tools: how they are listed, what they take, what a search answers.

A search answer stays under ``ANSWER`` characters whatever the catalog holds, so a model can afford
it. It is text only: clients that prefer structured content over text would show the model both, or
the longer one. Knows no selector: ranked names come in, text goes out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from toolpick.model import META_TOOLS
from toolpick.turns.excerpts import one_line
from toolpick.turns.query import bounded
from toolpick.turns.signature import arguments, flattened, signature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolpick.model import ToolEntry

SEARCH, CALL = META_TOOLS
DETAILS = ("names", "summary", "schema")
DEFAULT_LIMIT = 8
MOST = 50
ANSWER = 9_800
SERVERS = 900
"""Most bytes that the names of servers take in a description."""

_NAME = 50
_LEAST = 40
_ABOUT = {"summary": 200, "schema": 600}
_SIGNATURE = 600
_ARGUMENT = 110
_ARGUMENTS = 12
# A number that no float holds, such as 1e400, is no reason not to show a tool.
_TREE = msgspec.json.Decoder(float_hook=lambda digits: Raw(digits.encode()))
_MEMBERS = msgspec.json.Decoder(dict[str, Raw])
_ALWAYS_LOAD = {"anthropic/alwaysLoad": True}


@dataclass(frozen=True, slots=True)
class Search:
    """What ``search_tools`` was asked; ``server`` is "" for all."""

    query: str
    limit: int = DEFAULT_LIMIT
    detail: str = "summary"
    server: str = ""


class BadSearch(ValueError):
    """The arguments of ``search_tools`` can't be used; the message says what is expected."""


def definitions(entries: Mapping[str, ToolEntry]) -> tuple[bytes, bytes]:
    """``search_tools`` and ``call_tool`` as they are listed over a catalog."""
    counts = Counter(entry.server for entry in entries.values())
    return (
        msgspec.json.encode(
            {
                "name": SEARCH,
                "title": "Search tools",
                "description": (
                    f"Find tools by what they do. There are {catalog_size(counts)}. The tools "
                    "listed to you need not be all: search before saying that something can't be "
                    "done. Gives the names to call and their arguments."
                ),
                "inputSchema": _SEARCH_SCHEMA,
                "annotations": {
                    "title": "Search tools",
                    "readOnlyHint": True,
                    "destructiveHint": False,
                    "idempotentHint": True,
                    "openWorldHint": False,
                },
                "_meta": _ALWAYS_LOAD,
            }
        ),
        msgspec.json.encode(
            {
                "name": CALL,
                "title": "Call a tool",
                "description": (
                    f"Call any tool by the name that {SEARCH} gave, whether or not it is listed. "
                    "The arguments are checked first: a wrong call is answered with what was "
                    "expected. What the call does depends on that tool."
                ),
                "inputSchema": _CALL_SCHEMA,
                "annotations": {
                    "title": "Call a tool",
                    "readOnlyHint": False,
                    "destructiveHint": True,
                    "idempotentHint": False,
                    "openWorldHint": True,
                },
                "_meta": _ALWAYS_LOAD,
            }
        ),
    )


def catalog_size(counts: Mapping[str, int]) -> str:
    """How many tools of which servers there are; of many servers the first are named."""
    total = sum(counts.values())
    said, left = [], SERVERS
    for index, (server, count) in enumerate(counts.items()):
        part = f"{one_line(server, 60)} {count}"
        left -= len(part.encode()) + 2
        if left < 0:
            said.append(f"and {len(counts) - index} more servers")
            break
        said.append(part)
    servers = "1 server" if len(counts) == 1 else f"{len(counts)} servers"
    tools = "1 tool" if total == 1 else f"{total} tools"
    return f"{tools} of {servers}: {', '.join(said)}" if said else "no tools at the moment"


def read_search(given: Any, servers: Sequence[str]) -> Search:
    """The arguments of ``search_tools``, a limit brought into bounds.

    Raises:
        BadSearch: one of them has no meaning.
    """
    if not isinstance(given, dict):
        raise BadSearch("the arguments must be an object with query, limit, detail and server")
    query, limit = given.get("query") or "", given.get("limit")
    detail, server = given.get("detail") or "summary", given.get("server") or ""
    if not isinstance(query, str):
        raise BadSearch(f"query must be text, not {one_line(repr(query), 60)}")
    if detail not in DETAILS:
        raise BadSearch(
            f"detail must be one of {', '.join(DETAILS)}, not {one_line(repr(detail), 60)}"
        )
    if server and server not in servers:
        known = one_line(", ".join(servers), 500)
        raise BadSearch(f"there is no server {one_line(repr(server), 60)}; there are: {known}")
    return Search(bounded(query), _read_limit(limit), detail, server)


def _read_limit(limit: Any) -> int:
    if limit is None:
        return DEFAULT_LIMIT
    try:
        return min(max(int(limit), 1), MOST)
    except (TypeError, ValueError, OverflowError):
        raise BadSearch(f"limit must be a number, not {one_line(repr(limit), 60)}") from None


def search_answer(
    entries: Mapping[str, ToolEntry],
    names: Sequence[str],
    search: Search,
    degraded: str = "",
    missing: Sequence[str] = (),
) -> str:
    """The text that answers a search: the tools ``names``, best first, in the detail asked for.

    ``entries`` are all allowed tools by exposed name; other names are skipped. ``degraded`` says
    why a lesser selector had to do, ``missing`` which servers nothing can be found of.
    """
    found = [entries[name] for name in dict.fromkeys(names) if name in entries]
    note = f"Ranked by a lesser method: {one_line(degraded, 300)}.\n" if degraded else ""
    if missing:
        note += f"Not there at the moment: {one_line(', '.join(missing), 300)}.\n"
    if not found:
        return note + _nothing(entries, search)
    head = f"{len(found)} of {len(entries)} tools, best first. Call one by its name"
    head += (
        f", or with {CALL}.\n" if search.detail != "names" else f"; {SEARCH} has its arguments.\n"
    )
    room = ANSWER - len(note) - len(head) - _NAME * len(found)
    blocks = []
    for index, entry in enumerate(found):
        block = _block(entry, search.detail, max(room // (len(found) - index), 0))
        room -= max(len(block) - _NAME, 0)
        blocks.append(block)
    return f"{note}{head}{''.join(blocks)}"


def text_result(text: str, is_error: bool = False) -> bytes:
    """A tool result with one text block."""
    content = [{"type": "text", "text": text}]
    return msgspec.json.encode({"content": content, **({"isError": True} if is_error else {})})


def arguments_text(entry: ToolEntry) -> str:
    """The arguments of a tool that its client has seen as a stub."""
    schema = _TREE.decode(entry.raw)["inputSchema"]
    lines = "".join(_described(schema, 4 * _SIGNATURE))
    return f"Arguments of {entry.exposed}: {signature(schema, 2 * _SIGNATURE)}{lines}"


def with_text(result: bytes, text: str) -> bytes:
    """A tool's result with one more block of text; as it is where there is no list of blocks."""
    try:
        members = _MEMBERS.decode(result)
    except msgspec.DecodeError:
        return result
    blocks = bytes(members.get("content", b"")).strip()
    if not blocks.endswith(b"]"):
        return result
    more = msgspec.json.encode({"type": "text", "text": text})
    comma = b"" if blocks[:-1].strip() == b"[" else b","
    members["content"] = Raw(b"%b%b%b]" % (blocks[:-1], comma, more))
    return msgspec.json.encode(members)


def _nothing(entries: Mapping[str, ToolEntry], search: Search) -> str:
    counts = Counter(entry.server for entry in entries.values())
    asked = f"Nothing matched {one_line(repr(search.query), 120)}"
    if not search.query.strip():
        asked = "The query is empty, so nothing matched"
    where = f" at server {search.server}" if search.server else ""
    return (
        f"{asked}{where}. Say in other words what the tool should do, with fewer or more general "
        f"words. There are {catalog_size(counts)}."
    )


def _block(entry: ToolEntry, detail: str, room: int) -> str:
    """One tool of an answer, in at most ``room`` characters besides its name."""
    if detail == "names" or room < _LEAST:
        return f"\n{entry.exposed}"
    tree = _TREE.decode(entry.raw)
    schema = tree["inputSchema"]
    called = signature(schema, min(max(room - _ABOUT["summary"], _LEAST), _SIGNATURE))
    lines = [f"\n{entry.exposed}{called if len(called) < room else '(…)'}"]
    left = room - len(called) - 1
    about = tree.get("description") or tree.get("title") or ""
    if entry.name not in entry.exposed and entry.name not in about:
        about = f"{entry.name}: {about}" if about else entry.name
    if about and left > _LEAST:
        lines.append(f"\n  {one_line(about, min(left - 3, _ABOUT[detail]))}")
        left -= len(lines[-1])
    lines += _described(schema, left) if detail == "summary" else _whole(schema, left)
    return "".join(lines) + "\n"


def _whole(schema: dict[str, Any], room: int) -> list[str]:
    """The schema as JSON, or where there is no room for it a remark."""
    text = msgspec.json.encode(schema).decode()
    if len(text) + 3 <= room:
        return [f"\n  {text}"]
    return ["\n  (its schema is too long to show)"] if room > _LEAST else []


def _described(schema: dict[str, Any], room: int) -> list[str]:
    """A line for each argument that has a description, as long as there is room."""
    lines = []
    for name, child, _ in arguments(flattened(schema))[:_ARGUMENTS]:
        text = child.get("description") if isinstance(child, dict) else None
        if not isinstance(text, str) or not text.strip():
            continue
        line = f"\n    {name}: {one_line(text, _ARGUMENT)}"
        room -= len(line)
        if room < 0:
            break
        lines.append(line)
    return lines


_SEARCH_SCHEMA = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "What the tool should do, in a few words or a sentence.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST,
            "default": DEFAULT_LIMIT,
            "description": "Most tools in the answer.",
        },
        "detail": {
            "type": "string",
            "enum": list(DETAILS),
            "default": "summary",
            "description": "names only; summary with arguments; or the full schema.",
        },
        "server": {"type": "string", "description": "Only tools of this server."},
    },
    "required": ["query"],
}
_CALL_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": f"The tool's name as {SEARCH} gave it."},
        "arguments": {"type": "object", "description": "The tool's own arguments."},
    },
    "required": ["name"],
}
