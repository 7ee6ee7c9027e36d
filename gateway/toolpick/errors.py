"""Every error of the gateway, in one tree.

    GatewayError
    ├── ConfigError        the settings file is wrong: all problems at once
    ├── RpcError           a JSON-RPC error to answer with, or one that a server answered with
    ├── FrameError         bytes that are no JSON-RPC message
    ├── ClientFileError    another program's settings file can't be read, changed or written
    ├── ServerError        one downstream server is at fault; names it
    │   ├── ServerStarting     it is not up yet
    │   └── ServerLost         it ended, or its connection did
    ├── HttpFailure        in ``wire``: a request to a server got no usable response
    └── Refused            in ``front``: an HTTP request of a client that is not served

A message is one lowercase sentence: where, what, and what to do. Nothing here ever holds a secret.
"""

from __future__ import annotations

from dataclasses import dataclass

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
SERVER_UNAVAILABLE = -32000


class GatewayError(Exception):
    """The root of all errors that toolpick raises on purpose."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong with a settings file: where, which key, what, and what to write instead."""

    file: str
    line: int
    key: str
    what: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.key}: {self.what}" if self.key else f"{where}: {self.what}"


class ConfigError(GatewayError):
    """The settings can't be used; ``problems`` holds every reason, in the order of the file."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        """Keep all problems; the message has one line each."""
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class RpcError(GatewayError):
    """A JSON-RPC error. ``raw`` is the error object as JSON bytes, kept as a server sent it."""

    def __init__(self, code: int, message: str, raw: bytes = b"") -> None:
        """``raw`` empty means: build the object from code and message."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.raw = raw


class FrameError(GatewayError):
    """Bytes on the wire that are no JSON-RPC message."""


class ClientFileError(GatewayError):
    """Another program's settings file can't be read, changed or written; nothing was changed."""

    def __init__(self, file: str, line: int, what: str) -> None:
        """``line`` 0 means that no single line is to blame."""
        super().__init__(f"{file}:{line}: {what}" if line else f"{file}: {what}")


class ServerError(GatewayError):
    """A downstream server is at fault. ``server`` is its name in the settings."""

    def __init__(self, server: str, what: str) -> None:
        """``what`` continues the sentence that begins with the server's name."""
        super().__init__(f"server {server!r} {what}")
        self.server = server


class ServerStarting(ServerError):
    """The server is not up yet."""


class ServerLost(ServerError):
    """The server ended, or the connection to it did, while an answer was due."""
