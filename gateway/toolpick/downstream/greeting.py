"""How a connection to a server begins: which era it speaks, which version, what it offers.

The wish is the client's own era, since servers behave differently in each. A modern wish costs
one probe, ``server/discover``. Servers from before it refuse it, ignore it, answer it without an
id, or exit: a refusal or ``PROBE_WAIT`` seconds of silence are followed by ``initialize`` on the
same connection (a server that is slow to start must not lose its work to a probe), and the first
good answer counts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from toolpick import __version__
from toolpick.errors import METHOD_NOT_FOUND, UNSUPPORTED_VERSION, RpcError
from toolpick.model import LEGACY_VERSIONS, MODERN_VERSIONS, Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.wire.peer import Peer, Reply

PROBE_WAIT = 3.0
"""Seconds of silence after which ``initialize`` is sent beside an unanswered probe."""
OURSELVES = env.raw({"name": "toolpick", "version": __version__})
META = "io.modelcontextprotocol/"


@dataclass(frozen=True, slots=True)
class Greeted:
    """What a server said of itself; ``capabilities`` and ``info`` are decoded one level deep."""

    era: Era
    version: str
    capabilities: env.Members
    info: env.Members
    instructions: str


def envelope_meta(version: str, capabilities: bytes) -> env.Members:
    """The ``_meta`` members that every modern request carries."""
    return {
        META + "protocolVersion": env.raw(version),
        META + "clientInfo": OURSELVES,
        META + "clientCapabilities": env.Raw(capabilities),
    }


def params(
    greeted: Greeted | None,
    capabilities: bytes,
    members: env.Members,
    meta: env.Members | None = None,
) -> bytes:
    """Params as the era of a server wants them; b"" when there is nothing to say."""
    if greeted is not None and greeted.era is Era.MODERN:
        meta = {**envelope_meta(greeted.version, capabilities), **(meta or {})}
    if meta:
        return env.encode({**members, "_meta": meta})
    return env.encode(members) if members else b""


class Greeting:
    """One handshake over a peer. ``announce`` hears the version before a request that needs it."""

    def __init__(
        self, peer: Peer, version: str, capabilities: bytes, announce: Callable[[str], None]
    ) -> None:
        """``version`` is the legacy version to offer, ``capabilities`` the client's, as JSON."""
        self._peer = peer
        self._version = version
        self._capabilities = capabilities
        self._announce = announce
        self._heard: deque[tuple[str, Reply]] = deque()
        self._news = anyio.Event()

    async def legacy(self) -> Greeted:
        """Greet with ``initialize``; a server that knows only the modern era is greeted so.

        Raises:
            RpcError: the server refused, or speaks no version that we know.
        """
        try:
            body = await self._peer.ask("initialize", self._initialize_params())
        except RpcError as error:
            if self._peer.closed:
                raise
            found = await self._discover()
            if found is None:
                raise RpcError(error.code, f"refused initialize: {error.message}") from error
            return found
        return self._initialized(body)

    async def _discover(self) -> Greeted | None:
        """What a server that refused ``initialize`` says of itself, if it is a modern one."""
        self._announce(MODERN_VERSIONS[-1])
        try:
            return self._discovered(
                await self._peer.ask("server/discover", self._discover_params())
            )
        except RpcError:
            return None

    async def modern(self) -> Greeted:
        """Probe with ``server/discover``; fall back to ``initialize``.

        Raises:
            RpcError: the server refused both, or speaks no version that we know.
        """
        self._announce(MODERN_VERSIONS[-1])
        self._send("server/discover", self._discover_params())
        waiting, asked = 1, False
        problem = RpcError(METHOD_NOT_FOUND, "no answer")
        while waiting:
            heard = await self._next(None if asked else PROBE_WAIT)
            if heard is not None:
                waiting -= 1
                found, problem = self._understand(*heard, problem)
                if found is not None:
                    return found
            if not asked and not self._peer.closed:
                self._announce("")
                self._send("initialize", self._initialize_params())
                waiting, asked = waiting + 1, True
        raise problem

    def _send(self, method: str, params: bytes) -> None:
        def done(reply: Reply) -> None:
            self._heard.append((method, reply))
            self._news.set()

        self._peer.request(method, params, done)

    async def _next(self, seconds: float | None) -> tuple[str, Reply] | None:
        """The next answer, None when there is none within so many seconds."""
        with anyio.move_on_after(seconds):
            while not self._heard:
                self._news = anyio.Event()
                await self._news.wait()
        return self._heard.popleft() if self._heard else None

    def _understand(
        self, method: str, reply: Reply, before: RpcError
    ) -> tuple[Greeted | None, RpcError]:
        if reply.error:
            error = env.rpc_error(reply.error)
            return None, error if method == "initialize" else before
        if method == "initialize":
            return self._initialized(bytes(reply.result)), before
        return self._discovered(bytes(reply.result)), before

    def _discover_params(self) -> bytes:
        return env.encode({"_meta": envelope_meta(MODERN_VERSIONS[-1], self._capabilities)})

    def _initialize_params(self) -> bytes:
        return env.encode(
            {
                "protocolVersion": self._version,
                "capabilities": env.Raw(self._capabilities),
                "clientInfo": OURSELVES,
            }
        )

    def _discovered(self, body: bytes) -> Greeted | None:
        said = env.members(body)
        offered = env.value(said.get("supportedVersions", b"[]"))
        if not isinstance(offered, list):
            return None
        mutual = [version for version in MODERN_VERSIONS if version in offered]
        if not mutual:
            return None
        self._announce(mutual[-1])
        meta = env.members(said.get("_meta", b""))
        return _greeted(Era.MODERN, mutual[-1], said, meta.get(META + "serverInfo", b""))

    def _initialized(self, body: bytes) -> Greeted:
        said = env.members(body)
        version = env.text(said.get("protocolVersion", b""))
        if version not in LEGACY_VERSIONS:
            known = ", ".join(LEGACY_VERSIONS)
            raise RpcError(
                UNSUPPORTED_VERSION, f"speaks protocol version {version!r}; toolpick speaks {known}"
            )
        self._announce(version)
        self._peer.notify("notifications/initialized")
        return _greeted(Era.LEGACY, version, said, said.get("serverInfo", b""))


def _greeted(era: Era, version: str, said: env.Members, info: env.Body) -> Greeted:
    try:
        capabilities = env.members(said.get("capabilities", b""))
    except RpcError as error:
        raise RpcError(error.code, "announced capabilities that are no object") from error
    about = env.members(info) if bytes(info)[:1] == b"{" else {}
    return Greeted(era, version, capabilities, about, env.text(said.get("instructions", b"")) or "")
