"""What a change does to a file, for a person to read: the lines that differ and no others.

Other programs' files hold secrets, so no line is shown that stays as it is, and of a long one, or
one that only gets a comma, no more than what differs.
"""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from toolpick.clients.files import Change

LONG = 160
"""Characters of a line beyond which only the part that differs is shown."""
HIDDEN = "***"


def difference(change: Change, secrets: Collection[str] = ()) -> str:
    """The change as a patch without context; ``secrets`` are shown nowhere."""
    if change.after == change.before:
        return f"{change.path}: nothing to change"
    name = str(change.path)
    head = [
        f"--- {name if change.before is not None else 'no file'}",
        f"+++ {name if change.after is not None else 'no file'}",
    ]
    body = "\n".join([*head, *_hunks(_lines(change.before), _lines(change.after))])
    for secret in sorted(secrets, key=len, reverse=True):
        for written in (json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(secret)[1:-1]):
            body = body.replace(written, HIDDEN)
    return body


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8-sig", "replace").splitlines()


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    head, tail = _common(before, after)
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    matcher = SequenceMatcher(None, before, after)
    for kind, start, stop, new_start, new_stop in matcher.get_opcodes():
        if kind == "equal":
            continue
        yield f"@@ line {head + start + 1} @@"
        old, new = _discreet(before[start:stop], after[new_start:new_stop])
        yield from (f"-{line}" for line in old)
        yield from (f"+{line}" for line in new)


def _discreet(old: Sequence[str], new: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Lines that go and come, less what stays of the first where it differs in a comma only."""
    if not old or not new:
        return old, new
    head, tail = _common(old[0], new[0])
    gone, come = (line[head : len(line) - tail] for line in (old[0], new[0]))
    if {gone, come} != {"", ","} and max(len(old[0]), len(new[0])) <= LONG:
        return old, new
    rest = "…" if tail else ""
    first, second = ([f"…{part}{rest}"] if part else [] for part in (gone, come))
    return [*first, *old[1:]], [*second, *new[1:]]


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How much two sequences have in common at their beginning, and then at their end."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    room = shorter - head
    tail = next((at for at in range(room) if old[-1 - at] != new[-1 - at]), room)
    return head, tail
