"""The results as a Markdown document. Knows nothing of how the figures came about."""

# ruff: noqa: RUF001 (the signs are meant)

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from measures import median
from peers import PEERS

HEAD = """\
# How fast toolpick is

Ten stdio servers of fifty tools each, all 500 tools listed; the median of {rounds} rounds, measured
from outside by `make bench` on {date}.

Machine: {machine}; others used it too.

*Floor*: a passthrough of 200 lines without deadlines, restarts, notifications or sessions, measured
in turn with toolpick in the same run. It is as little as a gateway in Python can do, so the ratio
to it says more than a figure does. *Own CPU*: user and system time of the gateway's process,
without the servers.
"""
PEER_NOTE = """\
## Others

The figures of other gateways were measured earlier, with the same method, on a machine of the same
kind that was busier: compare the size, not the digits. *Burst*: 16 calls of 100 ms at once.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its value, its ratio to the floor, and what it must keep to."""

    title: str
    unit: str
    value: float
    ratio: float | None
    bound: float | None

    @classmethod
    def alone(cls, title: str, unit: str, value: float, bound: float | None) -> Self:
        """A figure that is bounded itself."""
        return cls(title, unit, value, None, bound)

    @property
    def missed(self) -> bool:
        """Whether the bound is not kept."""
        if self.bound is None:
            return False
        measured = self.value if self.ratio is None else self.ratio
        return measured > self.bound

    def cells(self) -> str:
        """The row in Markdown."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} ×"
        unit = self.unit if self.ratio is None else "×"
        bound = "" if self.bound is None else f"≤ {self.bound:g} {unit}"
        missed = " **missed**" if self.missed else ""
        return f"| {self.title} | {number(self.value)} {self.unit} | {ratio} | {bound}{missed} |"


def number(value: float | None) -> str:
    """A figure with three digits, more only before the point."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def render(
    rows: list[Row], results: dict[str, list[dict[str, float]]], machine: str, rounds: int
) -> str:
    """The whole document."""
    date = datetime.now(UTC).date().isoformat()
    lines = [HEAD.format(rounds=rounds, date=date, machine=machine)]
    lines += ["| | toolpick | to the floor | target |", "| --- | --- | --- | --- |"]
    lines += [row.cells() for row in rows]
    lines += ["", PEER_NOTE, *peer_lines(rows, results), ""]
    return "\n".join(lines)


def peer_lines(rows: list[Row], results: dict[str, list[dict[str, float]]]) -> list[str]:
    """toolpick, the floor and the others side by side."""
    head = ["", "call ms", "CPU ms", "64 in flight /s", "list of 500 ms", "burst ms", "memory MB"]
    head += ["a server hangs at start", "a dead server is back"]
    lines = [_line(head), _line(["---"] * len(head))]
    values = {row.title: row for row in rows}
    memory = values["memory with 500 tools"].value
    back = values["a dead server back after"].value
    for kind, figures in results.items():
        middle = {key: median([one[key] for one in figures]) for key in figures[0]}
        cells = [number(middle[key]) for key in ("call", "cpu", "rate", "listing", "burst")]
        ours = kind == "toolpick"
        more = [number(memory), "served at once", f"{back / 1000:.1f} s"] if ours else ["", "", ""]
        lines.append(_line([f"**{kind}**" if kind.startswith("toolpick") else kind, *cells, *more]))
    for peer in PEERS:
        cells = [peer.call, peer.cpu, peer.per_second, peer.listing, peer.burst, peer.memory]
        lines.append(_line([peer.name, *map(number, cells), peer.hang, peer.back]))
    return lines


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
