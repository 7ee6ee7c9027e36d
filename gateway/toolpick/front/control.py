"""Where hooks and ``toolpick status`` reach a running gateway: one JSON line in, one out.

A Unix socket in a folder of the user's alone, or, where there are none, a loopback port and a
secret; beside it a beacon that says whose gateway this is. Whoever can connect is the same user.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from toolpick.engine.hooks import Hooks
from toolpick.engine.status import status
from toolpick.hook import beacons
from toolpick.hook.ancestors import ancestors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from toolpick.engine.engine import Engine

    Command = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]

log = logging.getLogger("toolpick.control")

SESSION = "CLAUDE_CODE_SESSION_ID"
"""Claude Code gives it to the servers that it starts; its hooks are told the same id."""
LARGEST = 262_144
"""Most bytes of a request."""
PATIENCE = 5.0
"""Seconds that a caller has to say what it wants."""


class Control:
    """The control socket of one gateway."""

    def __init__(
        self, engine: Engine, environ: Mapping[str, str], *, tcp: bool | None = None
    ) -> None:
        """``tcp``: listen on a loopback port; None: only where there are no Unix sockets."""
        self._engine = engine
        self._environ = environ
        self._tcp = not hasattr(socket, "AF_UNIX") if tcp is None else tcp
        self._secret = secrets.token_hex(16) if self._tcp else ""
        self._path = ""
        self._said: dict[str, Any] = {}
        hooks = Hooks(engine)
        self._commands: dict[str, Command] = {
            "prompt": self._prompt,
            "selection": hooks.selection,
            "status": self._status,
        }
        self._hooks = hooks

    async def run(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until cancelled. Where no place can be had a warning is logged, and that is all."""
        try:
            listener = await self._open()
        except OSError as error:
            log.warning("note=%r", f"no hook can reach this gateway: {error}")
            task_status.started()
            return
        try:
            task_status.started()
            await listener.serve(self._serve)
        finally:
            self._remove()
            with anyio.CancelScope(shield=True):
                await listener.aclose()

    def serves_http(self, port: int) -> None:
        """Tell hooks that clients reach this gateway over HTTP at a port."""
        self._say(transport="http", port=port)

    async def _open(self) -> anyio.abc.Listener[anyio.abc.SocketStream]:
        folder = beacons.own_folder(self._environ)
        sweep(folder)
        self._path = str(Path(folder) / f"{os.getpid()}-{secrets.token_hex(3)}.json")
        tcp = 0
        listener: Any
        if self._tcp:
            listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
            tcp = listener.extra(anyio.abc.SocketAttribute.local_port)
        else:
            place = self._path.removesuffix(".json") + ".sock"
            listener = await anyio.create_unix_listener(place, mode=0o600, backlog=64)
        self._say(
            pid=os.getpid(),
            parents=ancestors(os.getpid()),
            cwd=str(Path.cwd()),
            session=self._environ.get(SESSION, "") if self._engine.client_environ else "",
            transport="stdio" if self._engine.client_environ is not None else "http",
            tcp=tcp,
            secret=self._secret,
        )
        return listener  # type: ignore[no-any-return]

    def _say(self, **said: Any) -> None:
        """Write the beacon anew, with what is new."""
        self._said.update(said)
        if self._path:
            with suppress(OSError):
                beacons.write(self._path, self._said)

    def _remove(self) -> None:
        for suffix in (".json", ".sock"):
            with suppress(OSError):
                Path(self._path).with_suffix(suffix).unlink()

    # -- requests

    async def _serve(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            try:
                with anyio.fail_after(PATIENCE):
                    reading = BufferedByteReceiveStream(stream)
                    line = await reading.receive_until(b"\n", LARGEST)
                await stream.send(await self._answered(line) + b"\n")
            except (
                TimeoutError,
                anyio.EndOfStream,
                anyio.IncompleteRead,
                anyio.DelimiterNotFound,
                anyio.BrokenResourceError,
                anyio.ClosedResourceError,
            ):
                return

    async def _answered(self, line: bytes) -> bytes:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        try:
            return json.dumps(await self._answer(said)).encode()
        except Exception:
            log.exception("event=bug bytes=%d", len(line))
            return b'{"error": "toolpick failed at this; its log says why"}'

    async def _answer(self, said: object) -> dict[str, Any]:
        if not isinstance(said, dict):
            return {"error": "a request is one JSON object on a line"}
        # what is no text is no secret: json.loads lets halves of characters pass
        secret = str(said.get("secret", "")).encode("utf-8", "replace")
        if not hmac.compare_digest(secret, self._secret.encode()) and self._secret:
            return {"error": "the secret is missing or wrong"}
        command = self._commands.get(str(said.get("command")))
        if command is None:
            return {"error": f"there is no such command; there are {', '.join(self._commands)}"}
        return await command(said)

    async def _prompt(self, said: Mapping[str, Any]) -> dict[str, Any]:
        session = str(said.get("session_id") or "")
        if session and self._said.get("transport") == "stdio" and self._said["session"] != session:
            # the host began another conversation with the same gateway, or named it only now
            self._say(session=session)
        return await self._hooks.prompt(said)

    async def _status(self, said: Mapping[str, Any]) -> dict[str, Any]:
        here = {"pid": os.getpid(), "cwd": self._said["cwd"], "port": self._said.get("port", 0)}
        return {**here, **status(self._engine)}


def sweep(folder: str) -> None:
    """Remove what gateways left behind that are gone."""
    for path in Path(folder).glob("*.sock"):
        if not _answers(str(path)):
            with suppress(OSError):
                path.unlink()
    for path in Path(folder).glob("*.json"):
        beacon = beacons.read(str(path))
        if beacon is None or (beacon.tcp and _answers(beacon.tcp)) or Path(beacon.socket).exists():
            continue
        beacon.remove()


def _answers(place: str | int) -> bool:
    """Whether somebody listens at a Unix socket or a loopback port; in doubt somebody does."""
    family = socket.AF_INET if isinstance(place, int) else socket.AF_UNIX
    with socket.socket(family) as probe:
        probe.settimeout(0.05)
        try:
            probe.connect(("127.0.0.1", place) if isinstance(place, int) else place)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True
