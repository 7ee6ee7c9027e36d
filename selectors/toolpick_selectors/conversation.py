"""What earlier turns add to a ranking: "and the same for Berlin", "save that", "now the other one".

A short prompt says little; what the conversation used says more. Tools of servers that were called
are lifted, and so is what earlier prompts asked for, the longer ago the less. That ranking and the
prompt's own take turns, so that a person who turns to something else is followed at once. Knows
scores, no texts: what a prompt is worth is the selector's business.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from toolpick_selectors.contract import Tool

T = TypeVar("T")

EARLIER = 2
"""How many prompts before the turn's count."""
FADE = 0.4
"""What a prompt's scores are worth a turn later, as a share."""
LIFT = 0.8
"""What having been called is worth to all tools of a server, where 1 is a prompt's best tool."""
BEFORE = 0.8
"""What is left of the lift for each other server that was called since."""
OWN = 16
"""How many tools of the prompt's own ranking take part beside the conversation's, at most."""

FEW, STEEP, STRANGE = 8, 0.33, 0.5
"""A prompt stands for itself when its best tool leaves the one in place ``FEW`` behind at ``STEEP``
of its score, and those of servers in use at ``STRANGE``."""


def carried(
    own: NDArray[np.float32],
    earlier: Sequence[NDArray[np.float32]],
    tools: Sequence[Tool],
    used: Sequence[str],
) -> NDArray[np.float32]:
    """Scores from 0 to 1 of what the conversation makes likely; nothing but zeros without any.

    ``own`` are the prompt's scores; ``earlier`` those of the prompts before it, the last first;
    ``used`` the ids of the tools called, the last one last.
    """
    scores = own + sum(FADE**age * before for age, before in enumerate(earlier, 1))
    lifts = _lifts(tools, used)
    if lifts:
        scores = scores + np.array([lifts.get(tool.server, 0.0) for tool in tools], np.float32)
    best = scores.max(initial=0)
    return scores / best if best > 0 else scores


def in_turns(own: Sequence[T], carried: Sequence[T]) -> list[T]:
    """Two rankings as one, in which each has its next best in turn; what both have comes once."""
    pairs = zip_longest(own, carried)
    return list(dict.fromkeys(at for pair in pairs for at in pair if at is not None))


def topic(own: NDArray[np.float32], tools: Sequence[Tool], used: Sequence[str]) -> str:
    """Whether a turn is about something "new", or goes on with the "same"."""
    best = own.max(initial=0)
    if best <= 0:
        return "same"
    if len(own) >= FEW and np.partition(own, -FEW)[-FEW] > STEEP * best:
        return "same"
    lifts = _lifts(tools, used)
    known = np.array([tool.server in lifts for tool in tools], np.bool_)
    return "same" if own[known].max(initial=0) > STRANGE * best else "new"


def _lifts(tools: Sequence[Tool], used: Sequence[str]) -> dict[str, float]:
    """What each server that was called lifts its tools by; the one called last the most.

    Where all tools are of one server, or it has no name, its lift would tell nothing apart.
    """
    if not used:
        return {}
    wanted = frozenset(used)
    servers = {tool.id: tool.server for tool in tools if tool.id in wanted}
    called = dict.fromkeys(servers[id] for id in reversed(used) if servers.get(id))
    return {server: LIFT * BEFORE**at for at, server in enumerate(called)}
