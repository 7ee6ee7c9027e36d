"""How a client is greeted, in both eras, and what it sets for its session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.downstream.greeting import OURSELVES
from toolpick.engine import modern
from toolpick.engine.levels import LEVELS
from toolpick.errors import INVALID_PARAMS, RpcError
from toolpick.model import MODERN_VERSIONS, Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from toolpick.downstream.link import Link
    from toolpick.engine.engine import Engine
    from toolpick.engine.exchange import Exchange
    from toolpick.engine.session import Session

CAPABILITIES = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
}
INSTRUCTIONS = (
    "toolpick stands in front of several MCP servers. Tools are named server__tool. When the list "
    "holds search_tools, it shows only a part of what there is: search for what you need, then "
    "call the tool that was found by its name, or through call_tool."
)


class Greetings:
    """Answers ``initialize``, ``server/discover``, ``ping`` and ``logging/setLevel``."""

    def __init__(self, engine: Engine) -> None:
        """Belongs to one engine."""
        self._engine = engine

    def initialize(self, exchange: Exchange) -> None:
        """Answer at once, whatever the servers do."""
        exchange.reply(
            env.encode(
                {
                    "protocolVersion": exchange.session.version,
                    "capabilities": {**CAPABILITIES, "logging": {}},
                    "serverInfo": OURSELVES,
                    "instructions": INSTRUCTIONS,
                }
            )
        )

    def discover(self, exchange: Exchange) -> None:
        """Say what is spoken and offered here."""
        said = {
            "supportedVersions": list(MODERN_VERSIONS),
            "capabilities": {**CAPABILITIES, "logging": {}},
            "instructions": INSTRUCTIONS,
        }
        exchange.reply(modern.ours(env.encode(said)[1:-1], cacheable=True))

    def ping(self, exchange: Exchange) -> None:
        """Answer at once."""
        exchange.reply(b"{}")

    def set_level(self, exchange: Exchange) -> None:
        """Remember the level and tell every server that logs."""
        level = exchange.text_param("level")
        if level not in LEVELS:
            raise RpcError(
                INVALID_PARAMS, f"Invalid params: level {level!r} is not one of {', '.join(LEVELS)}"
            )
        exchange.session.log_level = level
        for link in exchange.session.pool.links.values():
            pass_level(exchange.session, link)
        exchange.reply(b"{}")


def pass_level(session: Session, link: Link) -> None:
    """Tell one server the level that the client wants."""
    if not session.log_level or link.peer is None or link.greeted is None:
        return
    if link.greeted.era is Era.LEGACY and "logging" in link.greeted.capabilities:
        link.peer.request(
            "logging/setLevel", env.encode({"level": session.log_level}), lambda _: None, timeout=30
        )
