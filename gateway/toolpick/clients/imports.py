"""Servers that a client starts itself, put into the words of our settings, to move behind us.

A server moves whole or not at all: what only its client can fill in keeps it where it is. Knows
no files, and of our settings only the names of a server's keys.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolpick.clients.known import Client

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_BRACED = re.compile(r"\$\{([^}]*)\}")
_OURS = re.compile(rf"{_NAME}(?::-[^}}]*)?")
_BARE = re.compile(rf"\$({_NAME})")
_TRANSPORTS = {
    "stdio": "stdio",
    "sse": "sse",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
}
_SAME = ("command", "args", "env", "cwd", "headers")
_RENAMED = {
    "url": "url",
    "httpUrl": "url",
    "serverUrl": "url",
    "http_headers": "headers",
    "includeTools": "allow",
    "enabled_tools": "allow",
    "excludeTools": "deny",
    "disabled_tools": "deny",
    "startup_timeout_sec": "start_timeout",
    "tool_timeout_sec": "timeout",
}


class Stays(ValueError):
    """A server can't move; the message says why."""


def moved(client: Client, entry: Any) -> dict[str, Any]:
    """A server's table in our settings.

    Raises:
        Stays: it can't move.
    """
    if not isinstance(entry, dict):
        raise Stays("it is no table")
    table: dict[str, Any] = {}
    for key, value in entry.items():
        name = key if key in _SAME else _RENAMED.get(key)
        if name is not None and value not in (None, {}, []):
            table[name] = _filled(client, value)
    _tell_transport(entry, table)
    _tell_environment(entry, table)
    if entry.get("disabled") is True or entry.get("enabled") is False:
        table["enabled"] = False
    milliseconds = entry.get("timeout")
    if isinstance(milliseconds, int) and milliseconds > 0 and client.id == "gemini-cli":
        table["timeout"] = milliseconds / 1000
    if ("command" in table) == ("url" in table):
        raise Stays("it has neither a command nor an address, or both")
    return table


def _tell_transport(entry: Mapping[str, Any], table: dict[str, Any]) -> None:
    said = _TRANSPORTS.get(str(entry.get("type") or entry.get("transport") or ""))
    # Gemini CLI means server-sent events when it says url and nothing else
    if said == "sse" and "url" in table:
        table["transport"] = "sse"


def _tell_environment(entry: Mapping[str, Any], table: dict[str, Any]) -> None:
    """Codex names variables to pass on, and headers that hold one."""
    passed = entry.get("env_vars")
    if isinstance(passed, list) and passed:
        given = {str(name): f"${{{name}:-}}" for name in passed}
        table["env"] = {**given, **table.get("env", {})}
    named = entry.get("env_http_headers")
    headers = (
        {key: f"${{{name}}}" for key, name in named.items()} if isinstance(named, dict) else {}
    )
    if token := entry.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    if headers:
        table["headers"] = {**table.get("headers", {}), **headers}


def _filled(client: Client, value: Any) -> Any:
    """A value with the client's variables written as ours are.

    Raises:
        Stays: it holds something that only the client can fill in.
    """
    if isinstance(value, list):
        return [_filled(client, item) for item in value]
    if isinstance(value, dict):
        return {str(key): _filled(client, item) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    if not client.variable:
        return value.replace("${", "$${")
    if client.id == "gemini-cli":
        value = _BARE.sub(r"${\1}", value)
    return _BRACED.sub(_variable(client), value)


def _variable(client: Client) -> Callable[[re.Match[str]], str]:
    prefix = "env:" if "env:" in client.variable else ""

    def replacement(match: re.Match[str]) -> str:
        inner = match[1]
        if not inner.startswith(prefix) or not _OURS.fullmatch(inner.removeprefix(prefix)):
            raise Stays(f"{match.group()!r} is something that only {client.title} can fill in")
        return f"${{{inner.removeprefix(prefix)}}}"

    return replacement
