"""Servers as other clients write them in JSON, put into our words.

``claude_desktop_config.json``, ``.mcp.json`` and their like agree on ``mcpServers`` (VS Code:
``servers``) with ``command``, ``args``, ``env`` or ``url`` and ``headers``, and differ in the
rest. What is understood is translated; what only concerns the other client is left aside with a
remark. Our own keys may stand in such a file, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from toolpick.config.keys import SERVER, names
from toolpick.config.values import Field, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolpick.config.source import Place
    from toolpick.errors import Problem

TABLES = ("mcpServers", "servers")

_RENAMED = {
    "type": "transport",
    "disabled": "enabled",
    "httpUrl": "url",
    "serverUrl": "url",
    "includeTools": "allow",
    "excludeTools": "deny",
}
_TRANSPORTS = {"streamable-http": "http", "streamableHttp": "http", "streamable_http": "http"}
_THEIRS = ("alwaysAllow", "autoApprove", "description", "gallery", "icon", "name", "trust")
_INPUT = re.compile(r"\$\{input:[^}]*\}")
_ENV = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


def fields(
    entry: Mapping[str, Any], place: Place, problems: list[Problem], remarks: list[Problem]
) -> list[Field]:
    """Return the keys of one server, ours by name; note what can't be or need not be taken over."""
    found = []
    known = names(SERVER.keys)
    for name, value in entry.items():
        here = place.at(name)
        if name in known:
            found.append(Field(name, _ours(value, here, problems), here))
        elif name in _RENAMED:
            value = _ours(value, here, problems)
            found.append(Field(_RENAMED[name], _meaning(name, value), here))
        elif name in _THEIRS or not nearest(name, known):
            remarks.append(here.problem("is a key of other clients and has no effect here"))
        else:
            found.append(Field(name, value, here))
    return found


def _meaning(name: str, value: Any) -> Any:
    if name == "disabled" and isinstance(value, bool):
        return not value
    if name == "type" and isinstance(value, str):
        return _TRANSPORTS.get(value, value)
    return value


def _ours(value: Any, place: Place, problems: list[Problem]) -> Any:
    """Return a value with the variables of VS Code and Cursor, ``${env:NAME}``, in our form."""
    if isinstance(value, list):
        return [_ours(item, place.at(index), problems) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return {name: _ours(item, place.at(name), problems) for name, item in value.items()}
    if not isinstance(value, str):
        return value
    if _INPUT.search(value):
        what = "asks a question that only the other client can ask; write ${NAME} and set NAME"
        problems.append(place.problem(what))
    return _ENV.sub(r"${\1}", value)
