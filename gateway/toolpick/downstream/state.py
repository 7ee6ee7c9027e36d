"""What a link is doing, as all may see it."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """What a link is doing."""

    STARTING = "starting"
    UP = "up"
    WAITING = "waiting"
    STOPPED = "stopped"
