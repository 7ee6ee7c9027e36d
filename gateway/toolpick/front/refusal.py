"""The requests that get an HTTP status and a JSON-RPC error instead of service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolpick.errors import INTERNAL_ERROR, INVALID_REQUEST, GatewayError
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from toolpick.front.headers import Pairs


class Refused(GatewayError):
    """A request that is not served. ``headers`` go into the response."""

    def __init__(
        self,
        status: int,
        message: str,
        code: int = INVALID_REQUEST,
        *,
        data: Any = None,
        headers: Pairs | None = None,
    ) -> None:
        """``data`` goes into the error object unless it is None."""
        super().__init__(message)
        self.status = status
        self.headers = headers or []
        error: dict[str, Any] = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self.id: env.Body = b""
        """Of the message that is refused, as JSON; empty while nobody has read it."""
        self._error = env.encode(error)

    @property
    def body(self) -> bytes:
        """The JSON-RPC error."""
        return env.failure(self.id, self._error)


def bug() -> Refused:
    """For what should not have happened; the log says more."""
    return Refused(500, "toolpick failed; its log says why", INTERNAL_ERROR)
