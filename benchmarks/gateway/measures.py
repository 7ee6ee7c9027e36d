"""The measurements: what one target costs in a round, and how it bears faults.

Plain functions from a target to a figure. Nothing here knows what the figures are compared with.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import usage
from clients import PATIENCE, Client, Silent, failed
from targets import NO_FAULT, SERVERS, TOOLS, Fault, Target, start

SEQUENTIAL, BUSY, LISTS = 3000, 20_000, 40
"""How many calls one after the other, calls at 64 in flight, and lists a round has."""

HANGING, DYING = 3, 4


@contextmanager
def running(kind: str, folder: Path, fault: Fault = NO_FAULT) -> Iterator[Target]:
    """A gateway that ends with the block."""
    target = start(kind, folder, fault)
    try:
        yield target
    finally:
        target.client.close()


def wait_for_tools(client: Client, count: int) -> None:
    """Ask for the list until it is complete.

    Raises:
        Silent: It is not within a minute.
    """
    deadline = time.perf_counter() + PATIENCE
    while len(client.request("tools/list")["result"]["tools"]) < count:
        if time.perf_counter() > deadline:
            raise Silent(f"fewer than {count} tools")
        time.sleep(0.02)


def bring_up(target: Target) -> None:
    """Greet, wait for all tools, and warm the path to each server."""
    target.client.greet()
    wait_for_tools(target.client, SERVERS * TOOLS)
    load = target.client.load(target.call, 16, 500)
    if load.failed:
        raise Silent(f"{load.failed} of 500 calls failed")


def one_round(target: Target) -> dict[str, float]:
    """The hot path: calls one by one, calls at 64 in flight, lists."""
    before = usage.cpu_seconds(target.pid)
    calls = target.client.load(target.call, 1, SEQUENTIAL)
    cpu = 1000 * (usage.cpu_seconds(target.pid) - before) / SEQUENTIAL
    busy = target.client.load(target.call, 64, BUSY)
    lists = sorted(_timed(target) for _ in range(LISTS))
    burst = target.client.load(lambda at: target.call(at, wait_ms=100), 16, 16)
    if calls.failed or busy.failed or burst.failed:
        raise Silent(f"{target.kind}: calls failed")
    return {
        "call": calls.p50,
        "cpu": cpu,
        "rate": busy.rate,
        "listing": lists[LISTS // 2],
        "burst": 1000 * burst.wall,
    }


def _timed(target: Target) -> float:
    begin = time.perf_counter()
    target.client.request("tools/list")
    return 1000 * (time.perf_counter() - begin)


def growth(target: Target, calls: int) -> float:
    """MB that a gateway grows by in so many calls, 64 in flight."""
    before = usage.resident_mb(target.pid)
    load = target.client.load(target.call, 64, calls)
    if load.failed:
        raise Silent(f"{load.failed} of {calls} calls failed")
    return usage.resident_mb(target.pid) - before


def greeting_with_a_hung_server(kind: str, folder: Path) -> tuple[float, float]:
    """Milliseconds from start to `initialize` answered, and to the tools of all healthy servers."""
    with running(kind, folder, Fault(HANGING, ("--hang",))) as target:
        target.client.greet()
        greeted = time.perf_counter() - target.client.started
        wait_for_tools(target.client, (SERVERS - 1) * TOOLS)
        return 1000 * greeted, 1000 * (time.perf_counter() - target.client.started)


def recovery(kind: str, folder: Path) -> float:
    """Milliseconds from the call in which a server dies until a call to it works again."""
    died = folder.with_name(folder.name + "-died")
    with running(kind, folder, Fault(DYING, ("--die-once", str(died)))) as target:
        target.client.greet()
        wait_for_tools(target.client, SERVERS * TOOLS)
        begin = time.perf_counter()
        first = _works(target)
        while not _works(target):
            if time.perf_counter() > begin + 12:
                raise Silent("the dead server is not back within 12 s")
            time.sleep(0.02)
        if first and not died.exists():
            raise Silent("the server did not die")
        return 1000 * (time.perf_counter() - begin)


def _works(target: Target) -> bool:
    return not failed(target.client.request("tools/call", target.call(DYING)))


def median(values: list[float]) -> float:
    """The middle value, the upper one of two."""
    return sorted(values)[len(values) // 2]


def best_of(measure: Callable[[Path], float], folder: Path, times: int) -> float:
    """The median of a measurement that starts its own gateway."""
    return median([measure(folder.with_name(f"{folder.name}-{at}")) for at in range(times)])
