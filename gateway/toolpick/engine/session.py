"""What the gateway knows of one client: its era, what it declared, what it was shown.

A legacy session lives from ``initialize`` to its end. A modern one has no wire of its own: it
stands for everything that one deployment serves to one principal, and holds nothing that a single
request could change for the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import anyio

from toolpick.engine.profile import Profile
from toolpick.errors import RpcError
from toolpick.turns import UNKNOWN, Pasts
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.catalog import Route
    from toolpick.engine.exchange import Channel, Exchange
    from toolpick.engine.hooks import Turn
    from toolpick.engine.pool import Pool
    from toolpick.model import Era, Query
    from toolpick.turns import ClientTraits, Conversation, Surface


LONGEST_NAME = 200
"""Most characters of a client's name, and of its version."""


@dataclass(slots=True, eq=False)
class Session:
    """One client, or all that share a ``key`` and a profile.

    ``out`` is where messages go that belong to no request, None for nowhere.
    """

    key: str
    era: Era
    version: str
    capabilities: bytes
    client: bytes
    out: Channel | None
    pool: Pool
    conversation: Conversation
    profile: Profile = field(default_factory=Profile)
    traits: ClientTraits = UNKNOWN
    """What is known of the client; of several that share a session nothing is."""
    in_flight: dict[bytes, Exchange] = field(default_factory=dict)
    """Requests without an answer, by id; unused where ids of several clients may clash."""
    listening: list[Exchange] = field(default_factory=list)
    """Open ``subscriptions/listen`` requests."""
    asked: dict[bytes, Callable[[env.Body, env.Body], None]] = field(default_factory=dict)
    """Requests that were sent to the client, by id; called with result and error."""
    asked_progress: dict[bytes, Callable[[env.Members], None]] = field(default_factory=dict)
    """Who wants the progress of what the client was asked, by progress token."""
    subscriptions: dict[str, Route] = field(default_factory=dict)
    """Resources that the client wants to hear of, by the URI that it used."""
    asked_for: set[str] = field(default_factory=set)
    """Kinds of list, besides tools, that the client has read: prompts, resources."""
    waited: bool = False
    """Whether a list has waited for starting servers; it does so once."""
    next_id: int = 0
    log_level: str = ""
    query: Query | None = None
    surface: Surface | None = None
    listed: tuple[bytes, ...] | None = None
    """The definitions that the client was last shown or told of, None before its first list."""
    chosen: tuple[str, str] = ("", "")
    """Text and conversation of the query that the current surface was chosen for."""
    measured: tuple[int, int] = (-1, 0)
    """Number of a generation, and about how many tokens it takes."""
    meta_definitions: tuple[int, tuple[bytes, ...]] = (-1, ())
    """Number of a generation, and how the meta-tools are listed over it."""
    shown: tuple[object, tuple[bytes, ...]] = (None, ())
    """What a surface was made of, and its definitions."""
    array: tuple[object, object, bytes] = (None, None, b"")
    """Definitions of meta-tools and of tools, and the array that lists them."""
    said: str = ""
    """The mode that was last logged."""
    picks: tuple[str, ...] = ()
    """What was selected for the current turn, best first, whether or not it is listed."""
    pasts: Pasts = field(default_factory=Pasts)
    """What its conversations have been about."""
    found: set[str] = field(default_factory=set)
    """What searches of this client found."""
    explained: set[str] = field(default_factory=set)
    """Stubs whose arguments this client was told."""
    calls: int = 0
    """Calls of tools since the last prompt."""
    host_session: str = ""
    """The host's id of the conversation, from its prompt hook."""
    turn: Turn | None = None
    """How far it is with the last prompt of a hook."""
    lists: int = 0
    """Lists of tools that were answered."""
    changes: int = 0
    """Changes of the list of tools that the client was told of."""
    reread: int = 0
    """About how many tokens of definitions a model read again for these."""
    unheeded: int = 0
    """Changes in a row after which the client did not list again in time."""
    closed: bool = False
    number: int = field(default_factory=count().__next__)
    """No other session of this process ever has it."""
    _listing: anyio.Event = field(default_factory=anyio.Event)

    @property
    def client_name(self) -> str:
        """What the client calls itself, with its version; "" when it does not say."""
        name, version = client_info(self.client)
        return f"{name} {version}".strip()

    def note_list(self) -> None:
        """A list of tools was answered."""
        self.lists += 1
        self.unheeded = 0
        listing, self._listing = self._listing, anyio.Event()
        listing.set()

    async def until_listed(self, count: int) -> None:
        """Wait until so many lists of tools have been answered in all."""
        while self.lists < count:
            await self._listing.wait()

    def ask(
        self,
        method: str,
        params: env.Body,
        channel: Channel,
        answered: Callable[[env.Body, env.Body], None],
        progress: Callable[[env.Members], None] | None = None,
    ) -> bytes:
        """Send a request to the client on ``channel``; ``answered`` gets result and error.

        ``progress`` gets the client's, where the params ask for any.
        """
        self.next_id += 1
        id = env.encode(f"toolpick-{self.next_id}")
        self.asked[id] = answered
        if progress is not None and b'"progressToken"' in bytes(params):
            params = self._with_token(id, params, progress)
        channel.send(env.request(id, method, params), final=False)
        return id

    def _with_token(
        self, id: bytes, params: env.Body, progress: Callable[[env.Members], None]
    ) -> env.Body:
        """Params under a token of our own: two servers may use the same."""
        members = env.members(params)
        meta = env.members(members.get("_meta", b""))
        token = meta.get("progressToken")
        if token is None:
            return params
        self.asked_progress[id] = lambda told: progress({**told, "progressToken": token})
        meta["progressToken"] = env.Raw(id)
        return env.encode({**members, "_meta": meta})

    def answered(self, id: bytes, result: env.Body, error: env.Body) -> None:
        """Take the client's answer to something that it was asked."""
        waiting = self.asked.pop(id, None)
        self.asked_progress.pop(id, None)
        if waiting is not None:
            waiting(result, error)

    def give_up(self, id: bytes, reason: str, channel: Channel) -> None:
        """Withdraw a request that was sent to the client."""
        self.asked_progress.pop(id, None)
        if self.asked.pop(id, None) is not None:
            params = b'{"requestId":%b,"reason":%b}' % (id, env.encode(reason))
            channel.send(env.notification("notifications/cancelled", params), final=False)

    def pass_progress(self, members: env.Members) -> None:
        """Take the client's progress on something that it was asked."""
        wanted = self.asked_progress.get(bytes(members.get("progressToken", b"")))
        if wanted is not None:
            wanted(members)

    def refuse_all(self, error: RpcError) -> None:
        """Answer everything in flight with an error, for a gateway that goes down."""
        for exchange in [*self.in_flight.values(), *self.listening]:
            exchange.refuse(error)


def client_info(client: bytes) -> tuple[str, str]:
    """Name and version of a client as its ``clientInfo`` has them, "" for what it does not say.

    Each is cut at ``LONGEST_NAME``: both are logged, and shown in a line.
    """
    try:
        members = env.members(client)
    except RpcError:
        return "", ""
    name, version = env.text(members.get("name")) or "", env.text(members.get("version")) or ""
    return name[:LONGEST_NAME], version[:LONGEST_NAME]
