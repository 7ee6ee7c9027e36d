"""The names that clients see, made from a server's prefix and its own names. Knows no catalog.

An exposed name is ``<prefix>__<name>``: only ``[A-Za-z0-9_-]``, at most ``LIMIT`` characters, so
that it stays within 64 when a client puts ``mcp__toolpick__`` in front. A name that fits stays as
it is. One that had to be changed ends in a hash of the original, so that it depends on nothing
else that is mounted and two that look alike once cleaned still differ.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from toolpick.model import META_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable

LIMIT = 48
SEPARATOR = "__"
RESERVED = frozenset(META_TOOLS)
"""Names of the meta-tools, which no server's bare name may take."""

_LEGAL = re.compile(rf"[A-Za-z0-9_-]{{1,{LIMIT}}}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
_PREFIX_ROOM = 24
_DIGEST = 8


def exposed_name(prefix: str, name: str, attempt: int = 0) -> str:
    """The exposed name of ``name``; ``attempt`` above 0 gives another one for the same input."""
    prefix = clean_prefix(prefix)
    plain = f"{prefix}{SEPARATOR}{name}" if prefix else name
    if not attempt and _LEGAL.fullmatch(plain) and plain not in RESERVED:
        return plain
    head = f"{_cut(prefix, _PREFIX_ROOM)}{SEPARATOR}" if prefix else ""
    body = _ascii(name) or "item"
    if not head and not body[0].isalpha():
        body = f"t_{body}"
    mark = _digest("\0".join((prefix, name, str(attempt or ""))), _DIGEST)
    room = LIMIT - len(head) - len(mark) - 1
    return f"{head}{body[:room].rstrip('_-')}_{mark}"


@lru_cache(maxsize=1024)
def clean_prefix(prefix: str) -> str:
    """A prefix with legal characters only: itself if legal, else cleaned with a hash behind it."""
    if not _ILLEGAL.search(prefix):
        return prefix
    word = _ascii(prefix)
    if not word[:1].isalpha():
        word = f"s_{word}".rstrip("_")
    return f"{word[: _PREFIX_ROOM - 7]}_{_digest(prefix, 6)}"


def assign_names(prefix: str, names: Iterable[str]) -> dict[str, str]:
    """Exposed names for all of one server's names, each different; the order given does not matter.

    Only a name made to look like another's hashed form can lead to a second attempt.
    """
    ordered = sorted(set(names))
    plain = {name: exposed_name(prefix, name) for name in ordered}
    kept = {name for name in ordered if not was_changed(prefix, name, plain[name])}
    taken = {plain[name] for name in kept}
    for name in ordered:
        attempt = 0
        while name not in kept and plain[name] in taken:
            attempt += 1
            plain[name] = exposed_name(prefix, name, attempt)
        taken.add(plain[name])
    return plain


def was_changed(prefix: str, name: str, exposed: str) -> bool:
    """Whether the server's own name can no longer be read in the exposed one."""
    prefix = clean_prefix(prefix)
    return exposed != (f"{prefix}{SEPARATOR}{name}" if prefix else name)


def _ascii(text: str) -> str:
    """The legal part of a text: accents dropped, each run of anything else one underscore."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return _ILLEGAL.sub("_", bare).strip("_-")


def _cut(prefix: str, room: int) -> str:
    return prefix if len(prefix) <= room else f"{prefix[: room - 7]}_{_digest(prefix, 6)}"


def _digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]
