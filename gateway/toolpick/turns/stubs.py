"""The short form of a tool: callable by name, its arguments not yet shown.

Keeps name, title, annotations and ``_meta``, so that a client asks for the same confirmations as
for the tool itself. The gateway checks arguments against the real schema when a stub is called.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from toolpick.turns.excerpts import first_sentence

ROOM = 160
HINT = "Arguments are shown by search_tools, and here after the first call."
STAYING_HINT = "Arguments are shown by search_tools."

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
