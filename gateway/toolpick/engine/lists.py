"""Answers lists: waits for starting servers, once a session, and frames the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.engine import modern
from toolpick.errors import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Exchange


def answer_list(
    engine: Engine, exchange: Exchange, key: str, build: Callable[[], bytes]
) -> Awaitable[None] | None:
    """Answer with the array that ``build`` gives, at once where there is nothing to wait for.

    Raises:
        RpcError: a cursor was sent; there is only one page, so none was ever given out.
    """
    cursor = exchange.params.get("cursor")
    if cursor is not None and bytes(cursor) != b"null":
        raise RpcError(INVALID_PARAMS, "Invalid params: unknown cursor; the list has one page")
    exchange.session.asked_for.add("prompts" if key == "prompts" else "resources")
    if must_wait(exchange):
        return _answer_later(engine, exchange, key, build)
    frame(exchange, key, build())
    return None


def known(
    engine: Engine,
    exchange: Exchange,
    found: Callable[[], bool],
    answer: Callable[[Exchange], Awaitable[None] | None],
) -> Awaitable[None] | None:
    """Answer at once where what is asked for is known, else when starting servers had their time.

    A client may name a tool, a prompt or a resource that it knows from an earlier session.
    """
    if found() or not exchange.session.pool.starting:
        return answer(exchange)
    return _answer_when_known(engine, exchange, found, answer)


async def _answer_when_known(
    engine: Engine,
    exchange: Exchange,
    found: Callable[[], bool],
    answer: Callable[[Exchange], Awaitable[None] | None],
) -> None:
    await exchange.session.pool.until(found, engine.settings.gateway.list_wait)
    waiting = answer(exchange)
    if waiting is not None:
        await waiting


def must_wait(exchange: Exchange) -> bool:
    """Whether this is the session's first list and servers are still starting."""
    return not exchange.session.waited and bool(exchange.session.pool.starting)


async def wait(engine: Engine, exchange: Exchange) -> None:
    """Wait for starting servers, at most ``list_wait`` seconds and only once a session."""
    session = exchange.session
    await session.pool.settled(engine.settings.gateway.list_wait)
    session.waited = True


async def _answer_later(
    engine: Engine, exchange: Exchange, key: str, build: Callable[[], bytes]
) -> None:
    await wait(engine, exchange)
    frame(exchange, key, build())


def frame(exchange: Exchange, key: str, array: bytes) -> None:
    """Answer with one array, as the client's era wants it."""
    members = b'"%b":%b' % (key.encode(), array)
    exchange.reply(modern.ours(members, cacheable=True) if exchange.modern else b"{%b}" % members)
