"""``${NAME}`` and ``${NAME:-default}`` in strings. Knows nothing of files or keys.

A ``$`` that begins neither form stays as written, so that ``pa$$word`` needs no escape. The one
escape there is: ``$${`` stands for a literal ``${``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What the name of a variable looks like."""

_FORM = re.compile(r"\$\$\{|\$\{(?P<name>" + NAME.pattern + r")(?::-(?P<default>[^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Filled:
    """A string with its variables filled in, and what could not be."""

    text: str = field(repr=False)
    unset: tuple[str, ...] = ()
    """Variables that are not set and have no default, each once, in the order of the string."""
    nested: tuple[str, ...] = ()
    """Variables whose default holds another ``${``, which is not understood."""
    used: tuple[str, ...] = field(default=(), compare=False)
    """Variables whose values stand in the text now."""


def fill(text: str, environ: Mapping[str, str]) -> Filled:
    """Replace each form in ``text``; as in a shell, a default also stands for an empty variable."""
    unset: dict[str, None] = {}
    nested: dict[str, None] = {}
    used: dict[str, None] = {}

    def replacement(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        if name is None:
            return "${"
        if environ.get(name):
            used[name] = None
        if default is None:
            if name not in environ:
                unset[name] = None
            return environ.get(name, "")
        if "${" in default:
            nested[name] = None
        return environ.get(name) or default

    return Filled(_FORM.sub(replacement, text), tuple(unset), tuple(nested), tuple(used))
