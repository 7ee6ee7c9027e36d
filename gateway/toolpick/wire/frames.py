"""Finds the messages in a frame, where servers put more into one than a message.

One message is the rule. Some servers send several in an array, and some share stdout with whatever
else prints there. Knows no requests.
"""

from __future__ import annotations

import json
import re

import msgspec

from toolpick.errors import FrameError
from toolpick.wire import envelope as env

BEGINNINGS = 8
"""Places of a line where a message is looked for in vain before the rest of it is given up."""
_ID = re.compile(rb'"id"\s*:\s*"?(\d+)')
_BEGIN = re.compile(r'\{\s*"(?:jsonrpc|id|method|params|result|error)"\s*:')
_LENIENT = json.JSONDecoder(strict=False)
_batches = msgspec.json.Decoder(list[msgspec.Raw])


class Unreadable(FrameError):
    """A frame without a message. ``id`` is that of the answer that it seems to be, if any.

    ``deep``: it is nested more deeply than can be read.
    """

    def __init__(self, id: int | None, deep: bool) -> None:
        """What it is, is said by whoever knows whether the answer is waited for."""
        super().__init__("no JSON-RPC message")
        self.id = id
        self.deep = deep


def messages(frame: bytes) -> list[env.Envelope]:
    """The messages of a frame, in order.

    Raises:
        Unreadable: there is none.
    """
    try:
        return [env.decode(frame)]
    except FrameError as error:
        found = batch(frame) or salvage(frame)
        if not found:
            raise Unreadable(torn_id(frame), isinstance(error.__cause__, RecursionError)) from None
        return found


def batch(frame: bytes) -> list[env.Envelope]:
    """The messages in a JSON array, which is how 2025-03-26 lets servers send several at once."""
    try:
        each = _batches.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    return [message for one in each if (message := _decoded(bytes(one))) is not None]


def salvage(frame: bytes) -> list[env.Envelope]:
    """The messages that share a line with other text or with each other.

    Only what names itself JSON-RPC counts: the objects of a structured log have ids too.
    """
    if b'"jsonrpc"' not in frame:
        return []
    text = frame.decode("utf-8", "replace")
    found: list[env.Envelope] = []
    at, missed = text.find("{"), 0
    while at >= 0 and missed < BEGINNINGS:
        try:
            value, end = _LENIENT.raw_decode(text, at)
        except (ValueError, RecursionError):
            missed += 1
            begin = _BEGIN.search(text, at + 1)
            at = begin.start() if begin else -1
            continue
        message = _decoded(text[at:end].encode()) if "jsonrpc" in value else None
        if message is not None:
            found.append(message)
        at = text.find("{", end)
    return found


def torn_id(frame: bytes) -> int | None:
    """The id that an unreadable answer seems to carry, so that nobody waits in vain for it."""
    begin, end = frame[:200], frame[-200:]
    if b'"jsonrpc"' not in begin + end or b'"method"' in begin:
        # the line of a structured log may well have an id
        return None
    found = _ID.search(begin) or _ID.search(end)
    return int(found[1]) if found else None


def _decoded(frame: bytes) -> env.Envelope | None:
    try:
        return env.decode(frame)
    except FrameError:
        return None
