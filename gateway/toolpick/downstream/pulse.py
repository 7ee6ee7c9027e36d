"""Finds out whether a server that left a request unanswered is still there.

It is asked something that every server answers at once. Whatever it says meanwhile counts as a sign
of life, also of a server that does one thing after the other and is still busy with the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from toolpick.errors import RpcError
from toolpick.model import Era
from toolpick.wire.peer import TIMED_OUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.wire import envelope as env
    from toolpick.wire.peer import Peer

SILENCE = 20.0
"""Seconds that a server may be silent at least."""
QUESTIONS = {Era.LEGACY: "ping", Era.MODERN: "server/discover"}


class Pulse:
    """The pulse of one connection."""

    def __init__(self, peer: Peer, params: Callable[[env.Members], bytes], seconds: float) -> None:
        """``params`` makes them as the era wants; a server may be silent for so many seconds.

        Those of a call, as a rule: who takes that long for one thing may do so for another.
        """
        self._peer = peer
        self._params = params
        self._seconds = max(seconds, SILENCE)
        self._doubted = anyio.Event()

    def doubt(self) -> None:
        """Note that a request was not answered in time."""
        self._doubted.set()

    async def stops(self, era: Era) -> str:
        """Wait until the server gives no sign of life any more; returns what to say of it."""
        while True:
            await self._doubted.wait()
            self._doubted = anyio.Event()
            if await self._silent(QUESTIONS[era]):
                return f"has said nothing for {self._seconds:g} s, whatever it was asked"

    async def _silent(self, question: str) -> bool:
        heard = self._peer.heard
        try:
            await self._peer.ask(question, self._params({}), timeout=self._seconds)
        except RpcError as error:
            # one that waits for its client's answer need not read anything else
            waits = self._peer.waits_for_client
            return error.code == TIMED_OUT and self._peer.heard == heard and not waits
        return False
