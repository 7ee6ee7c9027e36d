"""Answers ``completion/complete``: the server that has the prompt or template knows the values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.engine.lists import known
from toolpick.errors import INVALID_PARAMS, RpcError
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Exchange


class Completions:
    """Passes completions on."""

    def __init__(self, engine: Engine) -> None:
        """Belongs to one engine."""
        self._engine = engine

    def complete(self, exchange: Exchange) -> Awaitable[None] | None:
        """Pass on with the server's own name or URI in the reference."""
        ref = env.members(exchange.params.get("ref", b""))
        wanted = env.text(ref.get("name")) or env.text(ref.get("uri")) or ""
        pool = exchange.session.pool

        def found() -> bool:
            return wanted in pool.generation.prompts or wanted in pool.generation.templates

        return known(self._engine, exchange, found, self._complete)

    def _complete(self, exchange: Exchange) -> None:
        ref = env.members(exchange.params.get("ref", b""))
        generation = exchange.session.pool.generation
        name, uri = env.text(ref.get("name", b"")), env.text(ref.get("uri", b""))
        if name is not None and name in generation.prompts:
            prompt = generation.prompts[name]
            server, ref["name"] = prompt.server, env.raw(prompt.name)
        elif uri is not None and (
            entry := generation.templates.get(uri) or generation.resources.get(uri)
        ):
            server, ref["uri"] = entry.server, env.raw(entry.uri)
        else:
            raise RpcError(INVALID_PARAMS, f"Unknown reference: {name or uri!r}")
        self._engine.tools.forward(exchange, server, {**exchange.params, "ref": env.raw(ref)})
