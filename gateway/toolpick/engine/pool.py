"""The servers that one session sees, and the catalog that they make together.

A pool owns the links that it made; links of scope ``shared`` belong to the engine and are only
joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import anyio

from toolpick.catalog import Generation, Rules, Shelf, diff, filtered, merge, settle, shelve
from toolpick.downstream.state import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpick.catalog import Difference, Snapshot
    from toolpick.config.settings import GatewaySettings, ServerSettings
    from toolpick.downstream.link import Link
    from toolpick.engine.profile import Profile
    from toolpick.engine.remarks import Remarks


class Reporter(Protocol):
    """Who hears what a pool's servers say. Called on the event loop; must not block."""

    def catalog_changed(self, difference: Difference) -> None:
        """A new generation is there."""
        ...

    def link_changed(self, link: Link) -> None:
        """A server came up, went down, or is being started."""
        ...

    def server_request(
        self, link: Link, id: bytes, method: str, params: bytes, origin: int | None
    ) -> None:
        """A server asks something."""
        ...

    def server_notification(
        self, link: Link, method: str, params: bytes, origin: int | None
    ) -> None:
        """A server says something."""
        ...


def rules(settings: ServerSettings, gateway: GatewaySettings) -> Rules:
    """How a server's offers are shown."""
    prefix = settings.name if settings.prefix is None else settings.prefix
    return Rules(settings.name, prefix, settings.allow, settings.deny, gateway.schemas == "flat")


class Pool:
    """A set of links and the current generation of what they offer."""

    def __init__(
        self,
        links: list[Link],
        gateway: GatewaySettings,
        profile: Profile,
        remarks: Remarks,
        made: dict[Rules, tuple[Snapshot, Shelf]],
    ) -> None:
        """``links`` in the order of the settings.

        Tools that ``profile`` does not allow get into no generation. ``made`` has the last shelf
        of each server, for all pools: sessions that are listed the same hold it once.
        """
        self.links = {link.name: link for link in links}
        self.generation: Generation = merge(0, ())
        self.reporter: Reporter | None = None
        self._profile = profile
        self._rules = {link.name: rules(link.settings, gateway) for link in links}
        self._shelves: dict[str, tuple[Snapshot, Shelf]] = {}
        self._states: dict[str, tuple[State, int]] = {}
        self._made = made
        self._before: dict[str, Shelf] = {}
        self._remarks = remarks
        self._changed = anyio.Event()
        for link in links:
            link.owners.append(self)
        self._rebuild()

    def leave(self) -> None:
        """Stop hearing from the links."""
        for link in self.links.values():
            if self in link.owners:
                link.owners.remove(self)

    async def settled(self, seconds: float) -> bool:
        """Wait until every link's first start has come to an end; False when time ran out first."""
        with anyio.move_on_after(seconds):
            for link in self.links.values():
                await link.settled()
            return True
        return False

    async def until(self, found: Callable[[], bool], seconds: float) -> None:
        """Wait until ``found`` or until no server is starting, at most so many seconds."""
        with anyio.move_on_after(seconds):
            while not found() and self.starting:
                changed = self._changed
                await changed.wait()

    @property
    def starting(self) -> list[str]:
        """Names of the servers whose first start has not come to an end."""
        return [
            link.name
            for link in self.links.values()
            if not link.tried and link.state is not State.STOPPED
        ]

    @property
    def missing(self) -> list[str]:
        """Names of the servers that list nothing yet, or no longer, each with what it is doing."""
        return [
            f"{link.name} ({'starting' if link.state is State.STARTING else 'down'})"
            for link in self.links.values()
            if link.snapshot is None and link.state is not State.STOPPED
        ]

    # -- what links say

    def link_changed(self, link: Link) -> None:
        """Build the next generation when what a link lists has changed."""
        if self.reporter is not None and self._states.get(link.name) != (link.state, link.starts):
            self._states[link.name] = (link.state, link.starts)
            self.reporter.link_changed(link)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        known = self._shelves.get(link.name)
        if (known[0] if known else None) is not link.snapshot:
            self._rebuild()

    def server_request(
        self, link: Link, id: bytes, method: str, params: bytes, origin: int | None
    ) -> None:
        """Hand on."""
        if self.reporter is not None:
            self.reporter.server_request(link, id, method, params, origin)

    def server_notification(
        self, link: Link, method: str, params: bytes, origin: int | None
    ) -> None:
        """Hand on."""
        if self.reporter is not None:
            self.reporter.server_notification(link, method, params, origin)

    def _shelve(self, link: Link) -> Shelf | None:
        """The link's shelf for what it lists now; None when it lists nothing."""
        snapshot = link.snapshot
        if snapshot is None:
            self._shelves.pop(link.name, None)
            return None
        known = self._shelves.get(link.name)
        if known is None or known[0] is not snapshot:
            snapshot, shelf = self._made_before(self._rules[link.name], snapshot)
            link.adopt(snapshot)
            before = self._before.get(link.name)
            shelf = settle(before, shelf) if before is not None else shelf
            self._before[link.name] = shelf
            shelf = filtered(shelf, self._profile.allow, self._profile.deny)
            self._shelves[link.name] = (snapshot, shelf)
        return self._shelves[link.name][1]

    def _made_before(self, rules: Rules, snapshot: Snapshot) -> tuple[Snapshot, Shelf]:
        """The shelf of a snapshot, and the snapshot: those of another session if equal."""
        known = self._made.get(rules)
        if known is None or known[0] != snapshot:
            known = self._made[rules] = (snapshot, shelve(rules, snapshot))
        return known

    def _rebuild(self) -> None:
        shelves = [
            shelf for link in self.links.values() if (shelf := self._shelve(link)) is not None
        ]
        old = self.generation
        self.generation = merge(old.number + 1, shelves, old)
        self._remarks.make((*self.generation.remarks, *self.generation.collisions))
        difference = diff(old, self.generation)
        if self.reporter is not None and difference:
            self.reporter.catalog_changed(difference)
