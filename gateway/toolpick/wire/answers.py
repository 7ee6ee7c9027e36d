"""What the body of an HTTP response says about the request that it answers."""

from __future__ import annotations

from toolpick.errors import INVALID_PARAMS, METHOD_NOT_FOUND, FrameError
from toolpick.wire import envelope as env
from toolpick.wire import frames

_FORGETFUL = (b"session", b"not initialized")
_HINTS = {
    401: "check the headers in the settings",
    403: "check the headers in the settings",
    404: "check the url and the transport in the settings",
    405: "check the url and the transport in the settings",
    501: "check the url and the transport in the settings",
}


def addressed(frame: bytes, id: int) -> tuple[bytes, bool]:
    """The frame, and whether it answers request ``id``; an error to nobody is given that id."""
    try:
        found = frames.messages(frame)
    except frames.Unreadable:
        return frame, False
    if any(not message.method and env.number(bytes(message.id)) == id for message in found):
        return frame, True
    [message, *more] = found
    if message.error and not (message.method or more) and env.number(bytes(message.id)) is None:
        return env.failure(b"%d" % id, message.error), True
    return frame, False


def error_in(body: bytes) -> bytes:
    """The JSON-RPC error object that an HTTP error carries, b"" when there is none."""
    try:
        return bytes(env.decode(body).error)
    except FrameError:
        return b""


def forgot_session(status: int, body: bytes, error: bytes) -> bool:
    """Whether a refusal means that the session is unknown, so that the request was not run.

    404 says so (specification 2025-11-25, basic/transports), unless it is an unknown method.
    Servers built like the TypeScript SDK's examples say 400 and tell more in the text.
    """
    code = env.rpc_error(error).code if error else 0
    if status == 404:
        return code != METHOD_NOT_FOUND
    text = body[:1000].lower()
    return status == 400 and code != INVALID_PARAMS and any(word in text for word in _FORGETFUL)


def refusal(status: int, excerpt: str) -> str:
    """A refusal in words, with what may help."""
    said = f": {excerpt}" if excerpt else ""
    hint = f"; {_HINTS[status]}" if status in _HINTS else ""
    return f"answered with HTTP status {status}{said}{hint}"
