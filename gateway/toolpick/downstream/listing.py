"""Reads a server's lists: every page, each entry kept as the server wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolpick.errors import RpcError
from toolpick.model import Snapshot
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Ask = Callable[[str, env.Members], Awaitable[bytes]]

MAX_PAGES = 1_000
MAX_ENTRIES = 20_000
"""Most entries of one list; the rest is left out."""
MAX_BYTES = 64 * 2**20
"""Most bytes that the entries of one list may take; the rest is left out."""
_entries = msgspec.json.Decoder(list[msgspec.Raw])

KINDS = {
    "tools": ("tools/list", "tools"),
    "prompts": ("prompts/list", "prompts"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
}
"""Kind of entry -> method that lists it, key of the result."""


async def read(ask: Ask, kind: str, remark: Callable[[str], None]) -> tuple[bytes, ...]:
    """All entries of one list, page by page.

    A cursor that comes again, or a list without end, is cut there and remarked on.

    Raises:
        RpcError: the server answered an error, or no list.
    """
    method, key = KINDS[kind]
    found: list[bytes] = []
    first: list[bytes] = []
    seen: set[bytes] = set()
    cursor = b""
    size = 0
    for _ in range(MAX_PAGES):
        page = env.members(await ask(method, {"cursor": msgspec.Raw(cursor)} if cursor else {}))
        entries = [bytes(entry) for entry in _page(page, method, key)]
        if cursor == b'""' and entries == first:
            # a cursor like any other, but some servers mean the end by it, and begin anew
            return tuple(found)
        first = first or entries
        for entry in entries:
            size += len(entry)
            if size > MAX_BYTES or len(found) == MAX_ENTRIES:
                remark(f"{method}: cut after {len(found)} entries, since the list is too long")
                return tuple(found)
            found.append(entry)
        cursor = bytes(page.get("nextCursor", b""))
        if not cursor or cursor in (b"null", b"false"):
            return tuple(found)
        if cursor in seen:
            remark(f"{method}: cut after {len(found)} entries, since its pages do not end")
            return tuple(found)
        seen.add(cursor)
    remark(f"{method}: cut after {MAX_PAGES} pages")
    return tuple(found)


def _page(page: env.Members, method: str, key: str) -> list[msgspec.Raw]:
    if key not in page:
        raise RpcError(-32603, f"answered {method} without {key!r}")
    try:
        return _entries.decode(page[key])
    except msgspec.DecodeError as error:
        raise RpcError(-32603, f"answered {method} with {key!r} that is no array") from error


def offered(capabilities: env.Members) -> set[str]:
    """The kinds of list that a server's capabilities announce; tools are always asked for.

    An empty object announces as much as a full one; null and false do not.
    """
    kinds = {"tools"} if "tools" in capabilities or not capabilities else set()
    for capability, more in (("prompts", {"prompts"}), ("resources", {"resources", "templates"})):
        if bytes(capabilities.get(capability, b"null")) not in (b"null", b"false"):
            kinds |= more
    return kinds


def snapshot(lists: dict[str, tuple[bytes, ...]]) -> Snapshot:
    """A snapshot of the lists read; a kind that was not read is empty."""
    return Snapshot(*(lists.get(kind, ()) for kind in KINDS))
