"""Rewrites resource URIs inside results, where a server's own would lead to another server too.

Knows the shapes of results that carry URIs: content blocks of tools and prompts, and what a read
returns. Everything else in a result stays byte for byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

if TYPE_CHECKING:
    from toolpick.catalog.generation import Generation

Fields = dict[str, Raw]

_FIELDS = msgspec.json.Decoder(Fields)
_ITEMS = msgspec.json.Decoder(list[Raw])
_TEXT = msgspec.json.Decoder(str)


def rewrite_links(generation: Generation, server: str, result: bytes) -> bytes:
    """A server's result with each URI as clients know it; the same object if that changes nothing.

    Only URIs that would not lead back to this server alone are rewritten, so this costs nothing as
    long as no two servers share one.
    """
    if b'"uri"' not in result or not may_rewrite(generation, server):
        return result
    try:
        fields = _FIELDS.decode(result)
        changed = [
            _in_list(generation, server, fields, "content"),
            _in_list(generation, server, fields, "contents"),
            _in_messages(generation, server, fields),
        ]
    except (msgspec.DecodeError, RecursionError):  # not a shape that we know: it passes as it is
        return result
    return msgspec.json.encode(fields) if any(changed) else result


def may_rewrite(generation: Generation, server: str) -> bool:
    """Whether any URI of this server can need rewriting."""
    if generation.shared:
        return True
    others = {entry.server for entry in generation.resources.values()}
    others |= {entry.server for entry in generation.templates.values()}
    return bool(others - {server}) or any(
        entry.uri != entry.exposed for entry in generation.resources.values()
    )


def _in_list(generation: Generation, server: str, fields: Fields, key: str) -> bool:
    """Rewrite the URIs of the blocks in one list of a result."""
    if not _holds(fields, key, b"["):
        return False
    items = _ITEMS.decode(fields[key])
    changed = False
    for index, item in enumerate(items):
        if bytes(item)[:1] != b"{":
            continue
        block = _FIELDS.decode(item)
        if _in_block(generation, server, block):
            items[index] = Raw(msgspec.json.encode(block))
            changed = True
    if changed:
        fields[key] = Raw(msgspec.json.encode(items))
    return changed


def _in_block(generation: Generation, server: str, block: Fields) -> bool:
    """Rewrite the URI of a link, of a read's part, or of the resource embedded in a block."""
    changed = _uri(generation, server, block)
    if _holds(block, "resource", b"{"):
        inner = _FIELDS.decode(block["resource"])
        if _uri(generation, server, inner):
            block["resource"] = Raw(msgspec.json.encode(inner))
            changed = True
    return changed


def _in_messages(generation: Generation, server: str, fields: Fields) -> bool:
    """Rewrite the URIs of a prompt's messages."""
    if not _holds(fields, "messages", b"["):
        return False
    messages = [_FIELDS.decode(message) for message in _ITEMS.decode(fields["messages"])]
    changed = False
    for message in messages:
        if _holds(message, "content", b"{"):
            block = _FIELDS.decode(message["content"])
            if _in_block(generation, server, block):
                message["content"] = Raw(msgspec.json.encode(block))
                changed = True
    if changed:
        fields["messages"] = Raw(msgspec.json.encode(messages))
    return changed


def _uri(generation: Generation, server: str, holder: Fields) -> bool:
    if not _holds(holder, "uri", b'"'):
        return False
    uri = _TEXT.decode(holder["uri"])
    exposed = generation.exposed_uri(server, uri)
    if exposed == uri:
        return False
    holder["uri"] = Raw(msgspec.json.encode(exposed))
    return True


def _holds(fields: Fields, key: str, start: bytes) -> bool:
    return key in fields and bytes(fields[key])[:1] == start
