"""The text with which a prompt hook names a turn's tools to the model, for hosts that show it.

Best first and under ``ROOM`` bytes, since hosts cut what is longer. Knows no client: it is told
which tools to name and how they can be called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolpick.model import META_TOOLS
from toolpick.turns.excerpts import first_sentence
from toolpick.turns.signature import signature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpick.model import ToolEntry

ROOM = 8_900
"""Most bytes of the whole text."""
ABOUT = 200
ARGUMENTS = 500

_SEARCH, _CALL = META_TOOLS
_TREE = msgspec.json.Decoder(float_hook=lambda digits: msgspec.Raw(digits.encode()))


def context(entries: Iterable[ToolEntry], prefix: str = "", *, through: bool = True) -> str:
    """What to tell the model of these tools; "" for none.

    ``prefix`` stands before their names where the model may call them directly though it has not
    been shown them, "" where it may not. ``through``: whether it has ``call_tool``.
    """
    lines = [_line(entry) for entry in entries]
    if not lines:
        return ""
    text = _head(prefix, through)
    room = ROOM - len(text.encode())
    for line in lines:
        room -= len(line.encode())
        if room < 0:
            break
        text += line
    return text


def _head(prefix: str, through: bool) -> str:
    ways = []
    if prefix:
        ways.append(f"directly as {prefix}NAME")
    if through:
        ways.append(f"with {_CALL}, which takes the name and the arguments")
    how = f" Call one {', or '.join(ways)}." if ways else ""
    more = f" Anything else is found with {_SEARCH}." if through else ""
    return f"Tools that may serve this request, best first.{how}{more}\n"


def _line(entry: ToolEntry) -> str:
    tree = _TREE.decode(entry.raw)
    schema = tree.get("inputSchema")
    about = tree.get("description") or tree.get("title") or ""
    called = signature(schema, ARGUMENTS) if isinstance(schema, dict) else "()"
    said = first_sentence(about, ABOUT) if isinstance(about, str) else ""
    return f"- {entry.exposed}{called}{': ' if said else ''}{said}\n"
