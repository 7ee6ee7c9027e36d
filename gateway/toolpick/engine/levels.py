"""Log levels, and whether a server's log message is loud enough for who hears it."""

from __future__ import annotations

from toolpick.wire import envelope as env

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Quietest first (RFC 5424, as MCP takes it over)."""


def loud_enough(params: bytes, wanted: str | None) -> bool:
    """Whether ``notifications/message`` params reach a level; unknown levels always do."""
    level = env.text(env.members(params).get("level", b"")) or "info"
    if wanted not in LEVELS or level not in LEVELS:
        return True
    return LEVELS.index(level) >= LEVELS.index(wanted)
