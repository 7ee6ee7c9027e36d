"""Estimates how many tokens a definition costs a model, from its bytes alone.

A linear count of character classes, fitted to two public tokenizers at once: the mean of OpenAI's
o200k_base and Anthropic's published one, on half of 4,610 real definitions. They differ by 5 % from
each other; ``benchmarks/tokens.py`` measures the error on any other definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ESTIMATE_METHOD = "estimated from character classes"

_CHARACTER = 0.131
_SPACE = 0.085
_CAPITAL = 0.197
_DIGIT = 0.631
_FOREIGN = 0.364
_MARK = 0.987
# A tokenizer takes marks that stand together, such as `":"`, as one token.
_MARK_PAIR = -1.649


def _class_of(byte: int) -> str:
    if byte >= 0xC0:
        return "u"  # the first byte of a character beyond ASCII
    if byte >= 0x80:
        return "v"
    letter = chr(byte)
    if letter.isalpha():
        return "A" if letter.isupper() else "a"
    return "0" if letter.isdigit() else " " if letter == " " else "."


_CLASSES = "".join(map(_class_of, range(256))).encode()


def estimate_tokens(raw: bytes) -> int:
    """About how many tokens a JSON text takes; at least 1."""
    classes = raw.translate(_CLASSES)
    tokens = (
        _CHARACTER * len(raw)
        + _SPACE * classes.count(b" ")
        + _CAPITAL * classes.count(b"A")
        + _DIGIT * classes.count(b"0")
        + _FOREIGN * classes.count(b"u")
        + _MARK * classes.count(b".")
        + _MARK_PAIR * classes.count(b"..")
    )
    return max(1, round(tokens))


def estimate_total(definitions: Iterable[bytes]) -> int:
    """About how many tokens a list of definitions takes."""
    return sum(map(estimate_tokens, definitions))


def estimate_reread(before: Sequence[bytes], after: Sequence[bytes], keeps_order: bool) -> int:
    """About how many tokens of a changed list a model reads again, its prompt cache being lost.

    A cache holds up to the first difference; where a client sorts tools itself, nothing is sure to
    come before that. What follows the tools in a prompt is lost, too, and not counted.
    """
    same = 0
    if keeps_order:
        for old, new in zip(before, after, strict=False):
            if old != new:
                break
            same += 1
    return estimate_total(after[same:])
