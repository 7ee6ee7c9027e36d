"""Resource URIs as clients see them, and templates that a URI may come from. Knows no catalog.

A URI passes unchanged unless two servers offer it, or it is no URI at all. Then it is exposed as
``toolpick+<server>:<URI>``: a valid URI whose scheme names the server, so that it leads to that
server whatever else is mounted or up. In the scheme a character of the server's name outside
``[a-z0-9-]`` is written as a dot, its hexadecimal code point, and another dot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

SCHEME = "toolpick+"
ROOM = 2000
"""A template or URI of more characters matches nothing, and so does a template of more holes."""
HOLES = 16

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]*")
_WRAPPED = re.compile(r"toolpick\+([a-z0-9.-]*):(.*)", re.DOTALL | re.IGNORECASE)
_ESCAPED = re.compile(r"\.([0-9a-f]{1,6})\.")
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
# RFC 3986, all that a URI may hold, and the braces of a template
_SAFE = ":/?#[]@!$&'()*+,;=-._~%{}"


def is_uri(text: str) -> bool:
    """Whether a text has a scheme and holds printable ASCII only."""
    return _URI.fullmatch(text) is not None


def wrap_uri(server: str, uri: str) -> str:
    """The URI under which a server's own is exposed when it can't pass unchanged."""
    name = re.sub(r"[^a-z0-9-]", lambda m: f".{ord(m[0]):x}.", server)
    return f"{SCHEME}{name}:{quote(uri, safe=_SAFE)}"


def unwrap_uri(uri: str) -> tuple[str, str] | None:
    """The server and its own URI behind a wrapped one, None when it isn't one.

    The server's URI comes back with what no URI may hold still percent-encoded.
    """
    found = _WRAPPED.fullmatch(uri)
    if found is None:
        return None
    try:
        server = _ESCAPED.sub(lambda m: chr(int(m[1], 16)), found[1].lower())
    except (ValueError, OverflowError):
        return None
    return server, found[2]


def matches(template: str, uri: str) -> bool:
    """Whether a URI may be an expansion of a template (RFC 6570, values read loosely).

    Follows all ways to split the URI at once, so no template can make it slow.
    """
    if max(len(template), len(uri)) > ROOM:
        return False
    reached = {0}
    parts = _parts(template)
    if len(parts) > 2 * HOLES + 1:
        return False
    for part in parts:
        if isinstance(part, str):
            reached = {at + len(part) for at in reached if uri.startswith(part, at)}
        else:
            reached |= _filled(part, uri, reached)
        if not reached:
            return False
    return len(uri) in reached


def literal_length(template: str) -> int:
    """How many characters of a template are fixed: the more, the more telling a match."""
    return len(_EXPRESSION.sub("", template))


@dataclass(frozen=True, slots=True)
class _Hole:
    """One expression: what leads its expansion, and which characters can't be in it."""

    lead: str
    stops: str


def _filled(hole: _Hole, uri: str, starts: set[int]) -> set[int]:
    """Where an expansion that begins at one of ``starts`` may end."""
    ends: set[int] = set()
    for start in sorted(starts):
        if not uri.startswith(hole.lead, start):
            continue
        at = start + len(hole.lead)
        while at <= len(uri) and at not in ends:
            ends.add(at)
            if at < len(uri) and uri[at] in hole.stops:
                break
            at += 1
    return ends


@lru_cache(maxsize=4096)
def _parts(template: str) -> tuple[str | _Hole, ...]:
    parts: list[str | _Hole] = []
    at = 0
    for found in _EXPRESSION.finditer(template):
        parts += [template[at : found.start()], _hole(found[1])]
        at = found.end()
    return (*parts, template[at:])


def _hole(inside: str) -> _Hole:
    operator = inside[:1] if inside[:1] in _HOLES else ""
    if operator == "/" and ("*" in inside or "," in inside):
        return _Hole("/", "?#")
    return _HOLES[operator]


_HOLES = {
    "": _Hole("", "/?#"),
    "+": _Hole("", ""),
    "#": _Hole("#", ""),
    "/": _Hole("/", "/?#"),
    ".": _Hole(".", "/?#"),
    ";": _Hole(";", "/?#"),
    "?": _Hole("?", "#"),
    "&": _Hole("&", "#"),
}
