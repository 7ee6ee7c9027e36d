"""Answers ``prompts/list`` and ``prompts/get``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.catalog import listing
from toolpick.engine.lists import answer_list, known
from toolpick.errors import INVALID_PARAMS, RpcError
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Exchange


class Prompts:
    """Prompts of all servers, under names like those of tools."""

    def __init__(self, engine: Engine) -> None:
        """Belongs to one engine."""
        self._engine = engine

    def list(self, exchange: Exchange) -> Awaitable[None] | None:
        """List them, on one page."""
        pool = exchange.session.pool
        return answer_list(
            self._engine, exchange, "prompts", lambda: listing(pool.generation.prompts.values())
        )

    def get(self, exchange: Exchange) -> Awaitable[None] | None:
        """Pass on to the server that has it."""
        name = exchange.text_param("name")
        pool = exchange.session.pool
        return known(self._engine, exchange, lambda: name in pool.generation.prompts, self._get)

    def _get(self, exchange: Exchange) -> None:
        name = exchange.text_param("name")
        entry = exchange.session.pool.generation.prompts.get(name)
        if entry is None:
            raise RpcError(INVALID_PARAMS, f"Unknown prompt: {name!r}")
        params = {**exchange.params, "name": env.raw(entry.name)}
        self._engine.tools.forward(exchange, entry.server, params, name=entry.name)
