"""Cuts texts of any length down to a line or a sentence.

Never reads more than ``READ`` characters.
"""

from __future__ import annotations

import re

READ = 4000

_END = re.compile(r"[.!?](?=\s)|[\u3002\uff01\uff1f]")
_ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "approx.", "incl.", "resp.", "no.", "cf.")


def one_line(text: str, room: int) -> str:
    """A text on one line, cut at a word where it is longer than ``room`` characters."""
    line = " ".join(text[:READ].split())
    if len(line) <= room and len(text) <= READ:
        return line
    cut = line[: room - 1]
    return f"{cut.rsplit(' ', 1)[0] if ' ' in cut[room // 2 :] else cut}…"


def first_sentence(text: str, room: int) -> str:
    """The first sentence of a text, on one line of at most ``room`` characters."""
    paragraph = text[:READ].strip().split("\n\n", 1)[0]
    line = " ".join(paragraph.split())
    for end in _END.finditer(line):
        sentence = line[: end.end()]
        if not sentence.lower().endswith(_ABBREVIATIONS):
            return one_line(sentence, room)
    return one_line(line, room)
