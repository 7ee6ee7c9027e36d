"""Wires over HTTP as tests want them: started, listened to, and closed at the end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.wire.raw_http import Asked
from tests.wire.recorder import Recorder

from toolpick.wire.http import HttpWire
from toolpick.wire.wire import Outgoing

INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
SESSION = "5e55-10a"


@asynccontextmanager
async def wired(
    url: str, version: str = "", headers: dict[str, str] | None = None
) -> AsyncIterator[tuple[HttpWire, Recorder]]:
    """A streamable HTTP wire; with a version, as it is after a handshake without a session."""
    recorder = Recorder()
    wire = HttpWire(url, headers or {})
    await wire.start(recorder)
    wire.version = version
    try:
        yield wire, recorder
    finally:
        await wire.close()


def send(wire: HttpWire, id: int, method: str = "tools/call", name: str = "", **headers: str):
    """Send a request without params."""
    more = {key.replace("_", "-"): value for key, value in headers.items()}
    frame = b'{"jsonrpc":"2.0","id":%d,"method":"%b"}' % (id, method.encode())
    wire.send(frame, Outgoing(id, method, name, more))


def note(wire: HttpWire, method: str) -> None:
    """Send a notification without params."""
    wire.send(b'{"jsonrpc":"2.0","method":"%b"}' % method.encode())


async def in_session(wire: HttpWire, recorder: Recorder) -> None:
    """Shake hands with a server that calls ``greet``; what was heard is forgotten."""
    send(wire, 1, "initialize")
    await recorder.first(1)
    wire.version = "2025-06-18"
    wire.send(INITIALIZED)
    recorder.heard.clear()


async def greet(asked: Asked) -> bool:
    """Answer what belongs to a session but is no request of a test; False for everything else."""
    if asked.rpc == "initialize":
        await asked.result({}, mcp_session_id=SESSION)
    elif asked.rpc == "DELETE":
        await asked.answer(200)
    elif asked.rpc.startswith("notifications/"):
        await asked.answer(202)
    else:
        return False
    return True
