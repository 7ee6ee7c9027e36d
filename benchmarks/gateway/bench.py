"""How fast toolpick is, measured from outside: `python benchmarks/gateway/bench.py`.

Ten synthetic servers of fifty tools, raw clients over pipes and over HTTP. toolpick and the floor
(a passthrough without features, `floor.py`) run at once and are measured in turn, round by round,
so that noise on the machine falls on both; the ratios are taken within a round. The table goes to
`RESULTS.md` beside this file. Exit status: 1 when a target is missed or something fails.
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import measures  # noqa: E402
import usage  # noqa: E402
from clients import Silent  # noqa: E402
from programs import Broken  # noqa: E402
from table import Row, render  # noqa: E402
from targets import KINDS  # noqa: E402

Rounds = dict[str, list[dict[str, float]]]


@dataclass(frozen=True, slots=True)
class Standing:
    """What a running toolpick weighs: MB with 500 tools, and what so many calls add."""

    memory: float
    growth: float
    calls: int


def speed(folder: Path, rounds: int, calls: int) -> tuple[Rounds, Standing]:
    """Measure all targets in turn, then toolpick's memory."""
    with ExitStack() as stack:
        targets = [stack.enter_context(measures.running(kind, folder / kind)) for kind in KINDS]
        for target in targets:
            measures.bring_up(target)
        ours = targets[KINDS.index("toolpick")]
        memory = usage.resident_mb(ours.pid)
        results: Rounds = {kind: [] for kind in KINDS}
        for number in range(rounds):
            for target in targets:
                figures = measures.one_round(target)
                results[target.kind].append(figures)
                print(f"round {number + 1} {target.kind:14}", _short(figures), flush=True)
        return results, Standing(memory, measures.growth(ours, calls), calls)


def _short(figures: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.3g}" for name, value in figures.items())


def rows(results: Rounds, standing: Standing, hang: Sequence[float], back: float) -> list[Row]:
    """The figures with their targets."""

    def middle(kind: str, key: str) -> float:
        return measures.median([figures[key] for figures in results[kind]])

    def ratio(ours: str, key: str) -> float:
        floor = ours.replace("toolpick", "floor")
        pairs = zip(results[ours], results[floor], strict=True)
        return measures.median([mine[key] / theirs[key] for mine, theirs in pairs])

    pipes, web = "toolpick", "toolpick-http"
    return [
        Row("call, median, stdio", "ms", middle(pipes, "call"), ratio(pipes, "call"), 1.6),
        Row("own CPU per call, stdio", "ms", middle(pipes, "cpu"), ratio(pipes, "cpu"), 2.5),
        Row("call, median, HTTP", "ms", middle(web, "call"), ratio(web, "call"), 2.0),
        Row("own CPU per call, HTTP", "ms", middle(web, "cpu"), ratio(web, "cpu"), None),
        # No bound at 64 in flight: there the ratio is that of the CPU per call.
        Row("64 in flight, stdio", "/s", middle(pipes, "rate"), ratio(pipes, "rate"), None),
        Row("64 in flight, HTTP", "/s", middle(web, "rate"), ratio(web, "rate"), None),
        Row(
            "tools/list of 500, stdio", "ms", middle(pipes, "listing"), ratio(pipes, "listing"), 2.0
        ),
        Row.alone("16 calls of 100 ms at once", "ms", middle(pipes, "burst"), 160),
        Row.alone("initialize answered, one server hung", "ms", hang[0], 350),
        Row.alone("tools of the nine others, one server hung", "ms", hang[1], None),
        Row.alone("a dead server back after", "ms", back, 1000),
        Row.alone("memory with 500 tools", "MB", standing.memory, 45),
        Row.alone(f"growth in {standing.calls:,} calls", "MB", standing.growth, 5),
    ]


def machine() -> str:
    """Cores, memory, system and Python, in a line."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} cores, {pages / 2**30:.0f} GiB, {system}"


def main() -> int:
    """Measure, write the table, and tell what misses its target."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=100_000, help="for the growth of memory")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        folder = Path(scratch)
        try:
            results, standing = speed(folder, options.rounds, options.calls)
            hangs = [
                measures.greeting_with_a_hung_server("toolpick", folder / f"hang-{at}")
                for at in range(3)
            ]
            back = measures.best_of(
                lambda path: measures.recovery("toolpick", path), folder / "recovery", 3
            )
        except (Broken, Silent, OSError) as problem:
            print(f"bench: {problem}", file=sys.stderr)
            return 1
    hang = [measures.median([one[part] for one in hangs]) for part in (0, 1)]
    table = rows(results, standing, hang, back)
    text = render(table, results, machine(), options.rounds)
    options.out.write_text(text)
    print(text)
    return 1 if any(row.missed for row in table) else 0


if __name__ == "__main__":
    sys.exit(main())
