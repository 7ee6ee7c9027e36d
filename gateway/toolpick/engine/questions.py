"""What servers may ask clients, and what one call's server has asked and not heard the answer to.

Knows nothing of calls that are parked for a modern client, or driven in rounds for a modern server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.errors import INTERNAL_ERROR, RpcError
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from toolpick.engine.exchange import Exchange
    from toolpick.wire.peer import Peer

QUESTIONS = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
"""What a server may ask a client, and the capability that the client must have declared."""
MOST_OPEN = 1_000
"""Most questions that a server may have open at once: of one call, or outside of calls."""


def may_ask(capabilities: bytes, method: str) -> bool:
    """Whether a client with these capabilities can be asked this."""
    return method in QUESTIONS and QUESTIONS[method] in env.members(capabilities)


def too_many() -> RpcError:
    """The answer to a question beyond ``MOST_OPEN``."""
    return RpcError(INTERNAL_ERROR, f"{MOST_OPEN} questions are open; wait for answers first")


class Questions:
    """The open questions of one call, which is request ``call`` at ``peer``."""

    def __init__(self, exchange: Exchange, peer: Peer, call: int) -> None:
        """Nothing was asked yet."""
        self._exchange = exchange
        self._peer = peer
        self._call = call
        self._asked: dict[bytes, bytes] = {}
        """The server's id of what it asked, and the id under which the client was asked."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self._asked)

    def ask(self, id: bytes, method: str, params: bytes) -> None:
        """Put a question to the client; the clock of the call stands still until the answer."""
        peer = self._peer

        def answered(result: env.Body, error: env.Body) -> None:
            self._asked.pop(id, None)
            peer.resume(self._call)
            if error:
                peer.refuse(id, bytes(error))
            else:
                peer.respond(id, bytes(result))

        def progress(members: env.Members) -> None:
            peer.notify("notifications/progress", env.encode(members))

        peer.pause(self._call)
        self._asked[id] = self._exchange.session.ask(
            method, params, self._exchange.channel, answered, progress
        )

    def server_withdrew(self, params: bytes) -> None:
        """Take a question back that the server no longer asks."""
        asked = self._asked.pop(bytes(env.members(params).get("requestId", b"")), None)
        if asked is not None:
            self._give_up(asked, "the server no longer asks")
            self._peer.resume(self._call)

    def withdraw(self, reason: str) -> None:
        """Take all of them back."""
        for asked in self._asked.values():
            self._give_up(asked, reason)
        self._asked.clear()

    def _give_up(self, asked: bytes, reason: str) -> None:
        self._exchange.session.give_up(asked, reason, self._exchange.channel)
