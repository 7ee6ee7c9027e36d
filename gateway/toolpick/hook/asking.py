"""Asks several gateways at once, and takes no longer than it is given."""

from __future__ import annotations

import json
import select
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from toolpick.hook.beacons import Beacon

LARGEST = 1_000_000
"""Most bytes of an answer."""
TAKEN = 0.1
"""Seconds that a gateway has to take a request; one that hangs must not cost the others theirs."""


def ask(
    beacons: Sequence[Beacon], request: Mapping[str, Any], deadline: float
) -> list[dict[str, Any]]:
    """What each gateway answers before ``deadline``, a ``time.monotonic``; others are left out.

    What a dead gateway left behind is removed.
    """
    waiting: dict[socket.socket, bytes] = {}
    answers = []
    try:
        for beacon in beacons:
            connection = _sent(beacon, request, deadline)
            if connection is not None:
                waiting[connection] = b""
        while waiting and (left := deadline - time.monotonic()) > 0:
            for connection in select.select(list(waiting), [], [], left)[0]:
                waiting[connection] += (part := _received(connection))
                if not part or b"\n" in part or len(waiting[connection]) > LARGEST:
                    answers.append(_read(waiting.pop(connection)))
                    connection.close()
    finally:
        for connection in waiting:
            connection.close()
    return [answer for answer in answers if answer]


def _sent(beacon: Beacon, request: Mapping[str, Any], deadline: float) -> socket.socket | None:
    """A connection on which the request has been sent; None where there is nobody."""
    connection = _open(beacon, deadline)
    if connection is None:
        return None
    said = {**request, "secret": beacon.secret} if beacon.secret else request
    try:
        connection.sendall(json.dumps(said).encode() + b"\n")
    except OSError:
        connection.close()
        return None
    return connection


def _open(beacon: Beacon, deadline: float) -> socket.socket | None:
    family = socket.AF_INET if beacon.tcp else getattr(socket, "AF_UNIX", None)
    left = deadline - time.monotonic()
    if family is None or left <= 0:
        return None
    connection = socket.socket(family)
    connection.settimeout(min(left, TAKEN))
    try:
        connection.connect(("127.0.0.1", beacon.tcp) if beacon.tcp else beacon.socket)
    except (ConnectionRefusedError, FileNotFoundError):
        connection.close()
        beacon.remove()
        return None
    except OSError:
        connection.close()
        return None
    return connection


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65_536)
    except OSError:
        return b""


def _read(line: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}
