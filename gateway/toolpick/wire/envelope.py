"""JSON-RPC envelopes; ``params``, ``result`` and ``error`` are left as raw JSON.

What nobody needs to look into is never decoded, so numbers, key order, nulls and unknown fields of
arguments and results pass byte for byte.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from toolpick.errors import INTERNAL_ERROR, INVALID_PARAMS, FrameError, RpcError

Raw = msgspec.Raw
NOTHING = Raw(b"")
Members = dict[str, msgspec.Raw]
"""A JSON object decoded one level deep."""
Body = bytes | msgspec.Raw
"""JSON that nobody has looked into."""


class Envelope(msgspec.Struct):
    """One JSON-RPC message. A missing member is empty (``NOTHING``) or, for ``method``, ""."""

    id: msgspec.Raw = NOTHING
    method: str = ""
    params: msgspec.Raw = NOTHING
    result: msgspec.Raw = NOTHING
    error: msgspec.Raw = NOTHING


class _Unnamed(msgspec.Struct):
    """An answer of a server that writes every member it knows, null where it has none."""

    method: None
    id: msgspec.Raw = NOTHING
    result: msgspec.Raw = NOTHING
    error: msgspec.Raw = NOTHING


_NUMBER = re.compile(rb'(\d{1,19})(?:\.0+)?|"(\d{1,19})"')
_envelopes = msgspec.json.Decoder(Envelope)
_unnamed = msgspec.json.Decoder(_Unnamed)
_members = msgspec.json.Decoder(Members)
_encoder = msgspec.json.Encoder()
_DEEP = "Invalid params: nested too deeply"


def decode(frame: bytes) -> Envelope:
    """Read one frame.

    Bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD, the numbers that JSON
    lacks (NaN, Infinity) become null, control characters are escaped and a byte order mark is
    skipped: servers in the wild send all of these, and none of them must cost a call.

    Raises:
        FrameError: it is no JSON object, or no JSON-RPC message; a ``RecursionError`` is the cause
            where it is nested too deeply to be read.
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


def _checked(envelope: Envelope) -> Envelope:
    if envelope.method or (envelope.id and (envelope.result or envelope.error)) or envelope.error:
        return envelope
    raise FrameError("a JSON object that is no JSON-RPC message")


def _decode_leniently(frame: bytes) -> Envelope:
    try:
        return _checked(_named(_unnamed.decode(frame)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, FrameError):
        pass
    try:
        text = frame.decode("utf-8", "replace").removeprefix("\ufeff")
        message = json.loads(text, strict=False, parse_constant=lambda _: None)
        if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            raise FrameError("not a JSON-RPC message")
        text = json.dumps(message, ensure_ascii=False, allow_nan=False)
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return _checked(_envelopes.decode(whole.encode()))
    except (ValueError, RecursionError, msgspec.DecodeError) as error:
        raise FrameError("not a JSON message") from error


def _named(answer: _Unnamed) -> Envelope:
    return Envelope(answer.id, "", NOTHING, answer.result, answer.error)


def number(id: bytes) -> int | None:
    """The id of one of our requests, also from servers that make a text or a fraction of it."""
    found = _NUMBER.fullmatch(id)
    return int(found[1] or found[2]) if found else None


def members(raw: Body) -> Members:
    """Decode an object one level deep; empty or null gives {}.

    Raises:
        RpcError: it is no object, or nested too deeply (-32602).
    """
    if not raw:
        return {}
    try:
        return _members.decode(raw)
    except msgspec.DecodeError as error:
        if bytes(raw) == b"null":
            return {}
        raise RpcError(INVALID_PARAMS, "Invalid params: an object is expected") from error
    except RecursionError as error:
        raise RpcError(INVALID_PARAMS, _DEEP) from error


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
    """Decode ``raw`` wholly; big integers and lone surrogates survive.

    Integers of more digits than Python reads (4300) become what a float is that large.

    Raises:
        RpcError: it is nested too deeply (-32602).
    """
    data = bytes(raw)
    try:
        return json.loads(data)
    except RecursionError as error:
        raise RpcError(INVALID_PARAMS, _DEEP) from error
    except ValueError:
        return json.loads(data, parse_int=_integer)


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


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


def sound_error(raw_error: Body) -> bytes:
    """An error object with the whole number and the text that clients insist on.

    The same bytes where it has both; else what the server said is kept as ``data``.
    """
    said = _loaded(raw_error)
    members = said if isinstance(said, dict) else {}
    code, message = members.get("code"), members.get("message")
    if type(code) is int and isinstance(message, str):
        return bytes(raw_error)
    if isinstance(code, float) and code.is_integer():
        code = int(code)
    if not isinstance(message, str):
        message = said if isinstance(said, str) and said else "the server gave no reason"
    made = {"code": code if type(code) is int else INTERNAL_ERROR, "message": message}
    if members:
        made["data"] = members.get("data", members)
    return encode(made)


def _loaded(raw: Body) -> Any:
    try:
        return json.loads(bytes(raw))
    except (ValueError, RecursionError):
        return None


def rpc_error(raw_error: Body) -> RpcError:
    """An ``RpcError`` from the error object that a server sent, whatever it looks like."""
    code, message = INTERNAL_ERROR, "unreadable error"
    try:
        found = json.loads(bytes(raw_error))
        code = found.get("code", code) if isinstance(found.get("code"), int) else code
        message = str(found.get("message", message))
    except (ValueError, AttributeError):
        return RpcError(code, message)
    return RpcError(code, message, bytes(raw_error))
