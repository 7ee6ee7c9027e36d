"""HTTP headers of the two protocol eras.

Legacy servers take the session id and the version; from 2026-07-28 on, the method and the name of
what is called stand in headers as well, so that proxies can route without reading bodies.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MODERN = "2026-07-28"
"""First protocol version without sessions; versions are dates and compare as strings."""
SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
METHOD = "mcp-method"
NAME = "mcp-name"
LAST_EVENT_ID = "last-event-id"
EVENTS = "text/event-stream"
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def encoded(value: str) -> str:
    """The value as a header carries it: as it is, or its UTF-8 as ``=?base64?...?=``.

    Wrapped are values with anything but printable ASCII, with blanks at an end, and those that look
    wrapped already (specification 2026-07-28, basic/transports).
    """
    if not value or (_PLAIN.fullmatch(value) and not _WRAPPED.fullmatch(value)):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def unusable(headers: Mapping[str, str]) -> str:
    """What is wrong with these headers, without their values; "" when nothing is."""
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            return f"header name {name!r} is no HTTP token"
        if value and not _PLAIN.fullmatch(value):
            return f"the value of header {name!r} holds what HTTP can't carry, such as a line end"
    return ""


def media_type(content_type: str) -> str:
    """The type alone, lower-case, without parameters."""
    return content_type.partition(";")[0].strip().lower()
