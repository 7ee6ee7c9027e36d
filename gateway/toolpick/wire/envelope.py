"""JSON-RPC envelopes; ``params``, ``result`` and ``error`` are left as raw JSON.

What nobody needs to look into is never decoded, so numbers, key order, nulls and unknown fields of
arguments and results pass byte for byte.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from toolpick.errors import FrameError, RpcError

Raw = msgspec.Raw
NOTHING = Raw(b"")
Members = dict[str, msgspec.Raw]
"""A JSON object decoded one level deep."""
Body = bytes | msgspec.Raw
"""JSON that nobody has looked into."""
_ID = re.compile(rb'"id"\s*:\s*"?(\d+)')


class Envelope(msgspec.Struct):
    """One JSON-RPC message. A missing member is empty (``NOTHING``) or, for ``method``, ""."""

    id: msgspec.Raw = NOTHING
    method: str = ""
    params: msgspec.Raw = NOTHING
    result: msgspec.Raw = NOTHING
    error: msgspec.Raw = NOTHING


_envelopes = msgspec.json.Decoder(Envelope)
_members = msgspec.json.Decoder(Members)
_batches = msgspec.json.Decoder(list[msgspec.Raw])
_encoder = msgspec.json.Encoder()


def decode(frame: bytes) -> Envelope:
    """Read one frame.

    Bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD, the numbers that JSON
    lacks (NaN, Infinity) become null: servers in the wild send all of these, and none of them must
    cost a call.

    Raises:
        FrameError: it is no JSON object, or no JSON-RPC message.
    """
    try:
        if not frame.isascii():
            frame.decode()
        if b"NaN" in frame or b"Infinity" in frame:
            # skipping over a raw member does not look at its words; decoding all of it does
            msgspec.json.decode(frame)
        return _checked(_envelopes.decode(frame))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_leniently(frame)


def salvage(frame: bytes) -> Envelope | None:
    """The message that stands behind some text on the same line, if there is one."""
    at = frame.find(b'{"jsonrpc"', 1)
    if at < 0:
        return None
    try:
        return decode(frame[at:])
    except FrameError:
        return None


def batch(frame: bytes) -> list[bytes]:
    """The messages in a JSON array, which is how 2025-03-26 lets servers send several at once."""
    try:
        return [bytes(one) for one in _batches.decode(frame) if bytes(one).startswith(b"{")]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def torn_id(frame: bytes) -> int | None:
    """The id that an unreadable answer seems to carry, so that nobody waits in vain for it."""
    begin, end = frame[:200], frame[-200:]
    if b'"jsonrpc"' not in begin + end or b'"method"' in begin:
        # the line of a structured log may well have an id
        return None
    found = _ID.search(begin) or _ID.search(end)
    return int(found[1]) if found else None


def _checked(envelope: Envelope) -> Envelope:
    if envelope.method or (envelope.id and (envelope.result or envelope.error)) or envelope.error:
        return envelope
    raise FrameError("a JSON object that is no JSON-RPC message")


def _decode_leniently(frame: bytes) -> Envelope:
    try:
        message = json.loads(frame.decode("utf-8", "replace"), parse_constant=lambda _: None)
        if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            raise FrameError("not a JSON-RPC message")
        text = json.dumps(message, ensure_ascii=False, allow_nan=False)
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return _checked(_envelopes.decode(whole.encode()))
    except (ValueError, RecursionError, msgspec.DecodeError) as error:
        raise FrameError("not a JSON message") from error


def members(raw: Body) -> Members:
    """Decode an object one level deep; empty or null gives {}.

    Raises:
        RpcError: it is no object (-32602).
    """
    if not raw:
        return {}
    try:
        return _members.decode(raw)
    except msgspec.DecodeError as error:
        if bytes(raw) == b"null":
            return {}
        raise RpcError(-32602, "Invalid params: an object is expected") from error


def text(raw: Body | None) -> str | None:
    """The string that ``raw`` encodes, or None when it is no string."""
    data = bytes(raw or b"")
    if data[:1] != b'"':
        return None
    try:
        return str(json.loads(data)) if b"\\" in data else data[1:-1].decode()
    except ValueError:
        return None


def value(raw: Body) -> Any:
    """Decode ``raw`` wholly; big integers and lone surrogates survive."""
    return json.loads(bytes(raw))


def encode(what: Any) -> bytes:
    """JSON of ``what``; ``msgspec.Raw`` members stand as they are."""
    try:
        return _encoder.encode(what)
    except (UnicodeEncodeError, OverflowError, TypeError):
        return json.dumps(what, default=_plain, separators=(",", ":")).encode()


def _plain(what: object) -> Any:
    if isinstance(what, msgspec.Raw):
        return json.loads(bytes(what))
    raise TypeError(f"{type(what).__name__} is no JSON")


def raw(what: Any) -> msgspec.Raw:
    """JSON of ``what``, to stand as a member of something larger."""
    return msgspec.Raw(encode(what))


def request(id: Body, method: str, params: Body) -> bytes:
    """Frame of a request; ``id`` and ``params`` are JSON, ``params`` may be empty."""
    if not params:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b}' % (id, encode(method))
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (id, encode(method), params)


def notification(method: str, params: Body) -> bytes:
    """Frame of a notification."""
    if not params:
        return b'{"jsonrpc":"2.0","method":%b}' % encode(method)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), params)


def result(id: Body, body: Body) -> bytes:
    """Frame of a successful answer."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, body)


def failure(id: Body, error: Body) -> bytes:
    """Frame of an error answer; ``error`` is the error object as JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id or b"null", error)


def error_object(error: RpcError) -> bytes:
    """The error object of an ``RpcError``: as its server sent it, else from code and message."""
    return error.raw or encode({"code": error.code, "message": error.message})


def rpc_error(raw_error: Body) -> RpcError:
    """An ``RpcError`` from the error object that a server sent, whatever it looks like."""
    code, message = -32603, "unreadable error"
    try:
        found = json.loads(bytes(raw_error))
        code = found.get("code", code) if isinstance(found.get("code"), int) else code
        message = str(found.get("message", message))
    except (ValueError, AttributeError):
        return RpcError(code, message)
    return RpcError(code, message, bytes(raw_error))
