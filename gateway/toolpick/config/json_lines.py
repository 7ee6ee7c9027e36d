"""The line of every key in a JSON document, and which keys are given twice.

Knows nothing of settings. Like ``toml_lines`` it walks text that has been accepted already, here
by ``json``, which keeps the last of two equal keys without a word.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from json import JSONDecoder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolpick.config.toml_lines import Keys

_GAP = re.compile(r"[ \t\r\n,:]*")
_DECODER = JSONDecoder()
_SCALAR = re.compile(r"[^ \t\r\n,\]}]+")


def json_lines(text: str) -> tuple[Mapping[Keys, int], tuple[tuple[Keys, int], ...]]:
    """Return the line, from 1, of each key and array element, and every key that came again.

    A key that is given twice has the line of its last mention, as its value is the last one; the
    second result has the key with the line of its first. ``text`` must be valid JSON.
    """
    walk = _Walk(text)
    walk.skip(_GAP)
    walk.value(())
    return walk.lines, tuple(walk.again)


class _Walk:
    """One pass over a document: a position that only moves on, and what was found so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.breaks = [place for place, char in enumerate(text) if char == "\n"]
        self.lines: dict[Keys, int] = {}
        self.again: list[tuple[Keys, int]] = []

    def value(self, path: Keys) -> None:
        opening = self.text[self.at]
        if opening == "{":
            self.items(path, "}")
        elif opening == "[":
            self.items(path, "]")
        elif opening == '"':
            self.string()
        else:
            self.skip(_SCALAR)

    def items(self, path: Keys, closing: str) -> None:
        """Pass an array or object, up to and with its closing bracket."""
        seen: set[str] = set()
        count = 0
        self.at += 1
        self.skip(_GAP)
        while self.text[self.at] != closing:
            line = bisect_left(self.breaks, self.at) + 1
            if closing == "}":
                inner: Keys = (*path, self.string())
                self.skip(_GAP)
                if inner[-1] in seen:
                    self.again.append((inner, self.lines[inner]))
                seen.add(str(inner[-1]))
            else:
                inner = (*path, count)
            self.lines[inner] = line
            self.value(inner)
            self.skip(_GAP)
            count += 1
        self.at += 1

    def string(self) -> str:
        value, self.at = _DECODER.raw_decode(self.text, self.at)
        return str(value)

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        assert match, "the text is no valid JSON"
        self.at = match.end()
