"""The body of a POST: one JSON-RPC message, or, in one old version, an array of them."""

from __future__ import annotations

import msgspec

from toolpick.errors import PARSE_ERROR, FrameError
from toolpick.front.refusal import Refused
from toolpick.wire import envelope as env
from toolpick.wire.depth import cut

_arrays = msgspec.json.Decoder(list[msgspec.Raw])
_ID_BEGINS = b'"-0123456789'
BATCHES = "2025-03-26"
"""The one version whose clients may send arrays."""
MOST = 500
"""Messages of one array: they are begun in one go, and meanwhile no other client is served."""
TOO_DEEP = "Invalid Request: the message is nested too deeply"


def is_batch(body: bytes) -> bool:
    """Whether a body is an array."""
    return body[:1] == b"[" or body.lstrip()[:1] == b"["


def message_of(body: bytes) -> env.Envelope:
    """The one message of a body.

    Raises:
        Refused: it is no JSON (-32700), or no message or nested too deeply (-32600).
    """
    try:
        message = env.decode(body)
    except FrameError as error:
        if isinstance(error.__cause__, RecursionError):
            refused = Refused(400, TOO_DEEP)
            refused.id = id_of_deep(body)
            raise refused from error
        try:
            msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            raise Refused(400, "Parse error: the body is no JSON", PARSE_ERROR) from error
        raise Refused(400, "Invalid Request: the body is no JSON-RPC message") from error
    if not has_good_id(message):
        raise Refused(400, "Invalid Request: an id must be a string or a number")
    return message


def has_good_id(message: env.Envelope) -> bool:
    """Whether a message's id may be one; answers that nobody waits for may have any."""
    return not (message.method and message.id) or bytes(message.id)[:1] in _ID_BEGINS


def id_of_deep(frame: bytes) -> env.Body:
    """The id of a request that is nested too deeply to be read, empty where none can be found."""
    try:
        message = env.decode(cut(frame))
    except FrameError:
        return b""
    return message.id if message.method and has_good_id(message) else b""


def batch_of(body: bytes) -> list[env.Envelope]:
    """The messages of an array.

    Raises:
        Refused: it is none, empty or too long, or a member is no message that may be in a batch.
    """
    try:
        frames = _arrays.decode(body)
    except RecursionError as error:
        raise Refused(400, TOO_DEEP) from error
    except msgspec.DecodeError as error:
        raise Refused(400, "Parse error: the body is no JSON", PARSE_ERROR) from error
    if len(frames) > MOST:
        text = f"Invalid Request: the batch has more than {MOST} messages; send them in several"
        raise Refused(400, text)
    messages = [message_of(bytes(frame)) for frame in frames]
    if not messages:
        raise Refused(400, "Invalid Request: the batch is empty")
    if any(message.method == "initialize" for message in messages):
        raise Refused(400, "Invalid Request: initialize can't be part of a batch")
    return messages
