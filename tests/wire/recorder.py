"""Who listens to a wire or a peer in tests: keeps everything, in order, and lets a test wait."""

from typing import Any

import anyio

Heard = tuple[Any, ...]


class Recorder:
    """A receiver and a listener; ``heard`` holds the calls as tuples that begin with a name."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self._more = anyio.Event()

    def _keep(self, *call: Any) -> None:
        self.heard.append(call)
        self._more.set()
        self._more = anyio.Event()

    async def first(self, count: int) -> list[Heard]:
        """What was heard, once there are so many."""
        with anyio.fail_after(5):
            while len(self.heard) < count:
                await self._more.wait()
        return self.heard

    async def one(self, name: str) -> Heard:
        """The only call of a name, once it has come."""
        with anyio.fail_after(5):
            while not (found := [call for call in self.heard if call[0] == name]):
                await self._more.wait()
        [call] = found
        return call

    # -- a receiver

    def received(self, frame: bytes, origin: int | None) -> None:
        self._keep("received", frame, origin)

    def dropped(self, id: int, reason: str, *, session_gone: bool = False) -> None:
        self._keep("dropped", id, reason, session_gone)

    def lost(self, reason: str) -> None:
        self._keep("lost", reason)

    # -- a listener

    def on_request(self, id: bytes, method: str, params: bytes, origin: int | None) -> None:
        self._keep("request", id, method, params, origin)

    def on_notification(self, method: str, params: bytes, origin: int | None) -> None:
        self._keep("notification", method, params, origin)

    def on_noise(self, frame: bytes) -> None:
        self._keep("noise", frame)

    def on_lost(self, reason: str) -> None:
        self._keep("lost", reason)
