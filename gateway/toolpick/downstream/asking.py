"""Whose call a server speaks of, when it asks something or reports on a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolpick.downstream.link import Link


class Hearer(Protocol):
    """Who hears what a server says. Called on the event loop; must not block."""

    def server_request(
        self, link: Link, id: bytes, method: str, params: bytes, origin: int | None
    ) -> None:
        """The server asks something; answer through ``link.peer``."""
        ...

    def server_notification(
        self, link: Link, method: str, params: bytes, origin: int | None
    ) -> None:
        """The server says something that is not about its lists."""
        ...


class Call(Hearer, Protocol):
    """A request in flight at a server."""

    @property
    def client(self) -> object:
        """Whose request it is: equal for all calls of one client, different for two."""
        ...


Calls = dict[int, Call]
"""The requests in flight on one connection, by id, oldest first."""


def whom_to_ask(
    calls: Mapping[int, Call], owners: Iterable[Hearer], origin: int | None
) -> Hearer | None:
    """Who a server's question is for; None when that can't be told.

    That is the call on whose stream it came, else the youngest call if only one client has any,
    else the only owner.
    """
    if origin is not None and origin in calls:
        return calls[origin]
    if calls:
        return _youngest_of_one_client(calls)
    only = list(owners)
    return only[0] if len(only) == 1 else None


def whom_to_tell(
    calls: Mapping[int, Call],
    owners: Iterable[Hearer],
    method: str,
    params: bytes,
    origin: int | None,
) -> list[Hearer]:
    """Who hears a notification: the call that it belongs to, else everyone it may concern."""
    if method == "notifications/progress":
        token = bytes(env.members(params).get("progressToken", b"")).strip(b'"')
        call = calls.get(int(token)) if token.isdigit() else None
        return [call] if call is not None else []
    if method == "notifications/cancelled":
        # of a question, by the server's own id: it means nothing to anyone but who passed it on
        return list(calls.values())
    if origin is not None and origin in calls:
        return [calls[origin]]
    if method == "notifications/message" and calls:
        # it may quote one client's call, which is no business of another's
        youngest = _youngest_of_one_client(calls)
        return [youngest] if youngest is not None else []
    return list(owners)


def _youngest_of_one_client(calls: Mapping[int, Call]) -> Call | None:
    youngest = list(calls.values())[-1]
    return youngest if all(call.client == youngest.client for call in calls.values()) else None
