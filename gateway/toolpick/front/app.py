"""The ASGI application: which request goes where, once the guards let it in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from toolpick.errors import RpcError
from toolpick.front import headers as head
from toolpick.front import ladder, messages
from toolpick.front.exchanges import Exchanges
from toolpick.front.guards import METHODS, preflight
from toolpick.front.legacy import Legacy
from toolpick.front.modern import Modern
from toolpick.front.refusal import Gone, Refused
from toolpick.front.request import CLOSE, Request
from toolpick.model import LEGACY_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from toolpick.front.guards import Guard
    from toolpick.front.serving import Serving
    from toolpick.front.sessions import Seats

STOPPING = RpcError(-32000, "the gateway is stopping")


class App:
    """Serves ``/mcp``, ``/mcp/PROFILE`` and ``/health``."""

    def __init__(
        self, engine: Serving, guard: Guard, seats: Seats, profiles: Collection[str] = ("",)
    ) -> None:
        """``profiles`` are the names that a path may end with, "" for none."""
        self._guard = guard
        self._seats = seats
        self._profiles = profiles
        self._exchanges = Exchanges(engine)
        self._legacy = Legacy(engine, self._exchanges, seats)
        self._modern = Modern(engine, self._exchanges)
        self._stopping = False

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        """Serve one HTTP request."""
        request = Request(scope, receive, send)
        try:
            await self._route(request)
        except Refused as refused:
            await request.reply(refused.status, refused.body, refused.headers)
        except Gone:
            return

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
        self._exchanges.end(STOPPING.message)
        async with anyio.create_task_group() as ending:
            for seat in self._seats.take_all():
                ending.start_soon(self._legacy.end, seat, STOPPING)
            ending.start_soon(self._modern.close)

    async def _route(self, request: Request) -> None:
        self._guard.check_host(request.headers)
        request.response_headers = self._guard.cors(request.headers)
        if request.method == "OPTIONS":
            await request.reply(204, headers=preflight(request.headers))
            return
        if request.path == "/health":
            await _health(request)
            return
        self._guard.check_token(request.headers)
        profile = self._profile(request.path)
        if self._stopping:
            raise Refused(503, STOPPING.message, STOPPING.code, headers=[CLOSE])
        if request.method == "POST":
            await self._post(request, profile)
        else:
            await self._get_or_delete(request, profile)

    def _profile(self, path: str) -> str:
        room, _, profile = path.removesuffix("/").removeprefix("/").partition("/")
        if room != "mcp" or profile not in self._profiles:
            raise Refused(404, "there is nothing at this path; the endpoint is /mcp")
        return profile

    async def _post(self, request: Request, profile: str) -> None:
        if not head.is_json(request.headers.raw(b"content-type")):
            raise Refused(415, "the body must be JSON; send Content-Type: application/json")
        if request.headers.raw(b"content-encoding") not in (b"", b"identity"):
            raise Refused(415, "the body must not be compressed")
        if not any(head.accepts(request.headers.raw(b"accept"))):
            raise Refused(406, "answers are application/json or text/event-stream; accept both")
        body = await request.body()
        if messages.is_batch(body):
            await self._legacy.post_batch(request, body, profile)
            return
        message = messages.message_of(body)
        try:
            era = self._modern if ladder.is_modern(message, request.headers) else self._legacy
            await era.post(request, message, profile)
        except Refused as refused:
            refused.id = message.id if message.method else b""
            raise

    async def _get_or_delete(self, request: Request, profile: str) -> None:
        version = request.headers.text(head.VERSION)
        modern = version is not None and version not in LEGACY_VERSIONS
        if request.method not in ("GET", "DELETE") or modern:
            allowed = b"POST, OPTIONS" if modern else METHODS
            raise Refused(
                405, f"{request.method} is not allowed here", headers=[(b"allow", allowed)]
            )
        if request.method == "GET":
            await self._legacy.get(request, profile)
        else:
            await self._legacy.delete(request, profile)


async def _health(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        allow = [(b"allow", b"GET, HEAD, OPTIONS")]
        raise Refused(405, f"{request.method} is not allowed here", headers=allow)
    await request.reply(200, b'{"status":"ok"}')
