"""Which request goes where, once the guards let it in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from toolpick.errors import SERVER_UNAVAILABLE, RpcError
from toolpick.front import headers as head
from toolpick.front import ladder, messages
from toolpick.front.exchanges import Exchanges
from toolpick.front.guards import METHODS, preflight
from toolpick.front.legacy import Legacy
from toolpick.front.modern import Modern
from toolpick.front.refusal import Refused
from toolpick.front.request import CLOSE
from toolpick.model import LEGACY_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from toolpick.engine.engine import Engine
    from toolpick.front.guards import Guard
    from toolpick.front.request import Request
    from toolpick.front.sessions import Seats

STOPPING = RpcError(SERVER_UNAVAILABLE, "the gateway is stopping")
HEALTH = "/health"


class App:
    """Serves ``/mcp``, ``/mcp/PROFILE`` and ``/health``."""

    def __init__(
        self,
        engine: Engine,
        guard: Guard,
        seats: Seats,
        spawn: Callable[..., object],
        profiles: Collection[str] = ("",),
        usual: str = "",
    ) -> None:
        """``spawn`` runs an async function as a task that somebody owns.

        ``profiles`` are the names that a path may end with, "" for none; ``usual`` is the profile
        of a path that ends with none.
        """
        self._guard = guard
        self._seats = seats
        self._profiles = profiles
        self._usual = usual
        self._exchanges = Exchanges(engine, spawn)
        self._legacy = Legacy(engine, self._exchanges, seats, spawn)
        self._modern = Modern(engine, self._exchanges)
        self._stopping = False

    def admit(self, request: Request) -> None:
        """Check all that can be checked before the body is read.

        Raises:
            Refused: it is not served.
        """
        headers = request.headers
        self._guard.check_host(headers)
        request.response_headers = self._guard.cors(headers)
        if request.method == "OPTIONS" or request.path == HEALTH:
            return
        request.principal = self._guard.check_token(headers)
        request.profile = self._profile(request)
        if request.method == "POST":
            _check_post(request)

    def serve(self, request: Request) -> None:
        """Answer a request that was admitted.

        Raises:
            Refused: it is not served.
        """
        if request.method == "OPTIONS":
            request.reply(204, headers=preflight(request.headers))
        elif request.path == HEALTH:
            _report_health(request)
        elif self._stopping:
            raise Refused(503, STOPPING.message, STOPPING.code, headers=[CLOSE])
        elif request.method == "POST":
            self._post(request)
        else:
            self._get_or_delete(request)

    async def tick(self) -> None:
        """Called every few seconds: signs of life for quiet streams, an end to idle sessions."""
        self._exchanges.tick()
        self._seats.tick()
        async with anyio.create_task_group() as ending:
            for seat in self._seats.take_idle():
                ending.start_soon(self._legacy.end, seat)

    async def close(self) -> None:
        """Answer what is open with an error, end all sessions, refuse what still comes."""
        self._stopping = True
        self._exchanges.end(STOPPING)
        async with anyio.create_task_group() as ending:
            for seat in self._seats.take_all():
                ending.start_soon(self._legacy.end, seat, STOPPING)
            ending.start_soon(self._modern.close)

    def _profile(self, request: Request) -> str:
        """The profile of a request: that of its token, or else that of its path."""
        room, _, profile = request.path.removesuffix("/").removeprefix("/").partition("/")
        own = request.principal
        # whoever may use one profile only is not told which others there are
        if room != "mcp" or profile not in (("", own) if own else self._profiles):
            raise Refused(404, "there is nothing at this path; the endpoint is /mcp")
        return own or profile or self._usual

    def _post(self, request: Request) -> None:
        if messages.is_batch(request.body):
            self._legacy.post_batch(request)
            return
        message = messages.message_of(request.body)
        try:
            era = self._modern if ladder.is_modern(message, request.headers) else self._legacy
            era.post(request, message)
        except Refused as refused:
            refused.id = message.id if message.method else b""
            raise

    def _get_or_delete(self, request: Request) -> None:
        version = request.headers.text(head.VERSION)
        modern = version is not None and version not in LEGACY_VERSIONS
        if modern or request.method not in ("GET", "DELETE"):
            raise _not_allowed(request, b"POST, OPTIONS" if modern else METHODS)
        if request.method == "GET":
            self._legacy.get(request)
        else:
            self._legacy.delete(request)


def _check_post(request: Request) -> None:
    headers = request.headers
    if not head.is_json(headers.raw(b"content-type")):
        raise Refused(415, "the body must be JSON; send Content-Type: application/json")
    if headers.raw(b"content-encoding") not in (b"", b"identity"):
        raise Refused(415, "the body must not be compressed")
    if not any(head.accepts(headers.raw(b"accept"))):
        raise Refused(406, "answers are application/json or text/event-stream; accept both")


def _report_health(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        raise _not_allowed(request, b"GET, HEAD, OPTIONS")
    request.reply(200, b'{"status":"ok"}')


def _not_allowed(request: Request, allowed: bytes) -> Refused:
    return Refused(405, f"{request.method} is not allowed here", headers=[(b"allow", allowed)])
