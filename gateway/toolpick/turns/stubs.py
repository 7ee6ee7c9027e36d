"""Other forms of a tool: a stub, callable by name though its arguments are not shown; hints added.

A stub keeps name, title, annotations and ``_meta``, so that a client asks for the same
confirmations as for the tool itself. The gateway checks arguments against the real schema when a
stub is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from toolpick.turns.excerpts import first_sentence

if TYPE_CHECKING:
    from toolpick.model import ToolEntry

ROOM = 160
HINT = "Arguments are shown by search_tools, and here after the first call."
STAYING_HINT = "Arguments are shown by search_tools."


class _Described(msgspec.Struct):
    description: str = ""


_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_KEPT = ("annotations", "_meta")


def stub(raw: bytes, hydrates: bool = True) -> bytes:
    """The stub of a tool; ``hydrates`` is false where it stays one after the first call."""
    fields = _FIELDS.decode(raw)
    text = msgspec.json.decode(fields["description"], type=str) if "description" in fields else ""
    sentence = first_sentence(text, ROOM)
    hint = HINT if hydrates else STAYING_HINT
    form: dict[str, Raw] = {key: fields[key] for key in ("name", "title") if key in fields}
    form["description"] = Raw(msgspec.json.encode(f"{sentence} {hint}".strip()))
    form["inputSchema"] = Raw(b'{"type":"object"}')
    form.update((key, fields[key]) for key in _KEPT if key in fields)
    return msgspec.json.encode(form)


def loaded(raw: bytes) -> bytes:
    """The tool marked so that a host which defers tools shows it to its model all the same."""
    return _with_meta(raw, "anthropic/alwaysLoad", True)


def hinted(raw: bytes, entry: ToolEntry) -> bytes:
    """The tool with words by which a host that defers tools finds it, where it describes nothing.

    A host may search the hint in place of the description, so no other tool gets one.
    """
    if b'"description"' in raw and msgspec.json.decode(raw, type=_Described).description.strip():
        return raw
    words = f"{entry.server} {entry.name}".replace("_", " ").replace("-", " ")
    return _with_meta(raw, "anthropic/searchHint", words)


def _with_meta(raw: bytes, key: str, value: object) -> bytes:
    """A definition with one more member in ``_meta``; what its server says there stays."""
    fields = _FIELDS.decode(raw)
    meta = _FIELDS.decode(fields["_meta"]) if "_meta" in fields else {}
    if key in meta:
        return raw
    fields["_meta"] = Raw(msgspec.json.encode({**meta, key: value}))
    return msgspec.json.encode(fields)
