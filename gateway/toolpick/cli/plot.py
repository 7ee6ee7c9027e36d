"""Curves of recall against tokens, as an SVG written here or a PNG by matplotlib."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from toolpick.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Curves = Mapping[str, Sequence[tuple[float, float]]]

COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8d5a97", "#e28413", "#444444")
WIDTH, HEIGHT, EDGE = 720, 420, 60
TITLE, ACROSS, UP = "Recall against tokens", "tokens of the tools shown, mean", "recall"


def draw(path: Path, curves: Curves) -> None:
    """Write the curves to ``path``; its ending says in which format.

    Raises:
        GatewayError: the ending is neither .svg nor .png, the file can't be written, or a PNG is
            asked for and matplotlib is not there.
    """
    if path.suffix not in (".svg", ".png"):
        raise GatewayError(f"--plot {str(path)!r} ends in neither .svg nor .png")
    try:
        if path.suffix == ".svg":
            path.write_text(svg(curves), encoding="utf-8")
        else:
            _png(path, curves)
    except OSError as error:
        raise GatewayError(f"--plot {str(path)!r} can't be written: {error.strerror}") from error


def svg(curves: Curves) -> str:
    """The curves as an SVG document."""
    most = max((tokens for curve in curves.values() for tokens, _ in curve), default=0) or 1
    step = 10 ** math.floor(math.log10(most))
    step = step if most / step >= 3 else step / 2
    shapes = [_grid(x * step, most) for x in range(int(most / step) + 1)]
    shapes += [_level(share / 5) for share in range(6)]
    for at, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[at % len(COLOURS)]
        points = " ".join(f"{_x(tokens, most):.1f},{_y(recall):.1f}" for tokens, recall in curve)
        shapes.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        shapes.append(_text(EDGE + 20, EDGE + 20 + 18 * at, name, "start", colour))
    shapes.append(_text(WIDTH / 2, HEIGHT - 12, ACROSS))
    shapes.append(_text(WIDTH / 2, 24, TITLE))
    shapes.append(_text(EDGE, EDGE - 14, UP))
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    body = "\n".join(shapes)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{body}\n</svg>\n'


def _x(tokens: float, most: float) -> float:
    return EDGE + (WIDTH - 2 * EDGE) * tokens / most


def _y(recall: float) -> float:
    return HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * recall


def _grid(tokens: float, most: float) -> str:
    x = _x(tokens, most)
    line = f'<path d="M{x:.1f} {_y(0):.1f}V{_y(1):.1f}" stroke="#dddddd"/>'
    return line + _text(x, _y(0) + 18, f"{tokens:,.0f}")


def _level(recall: float) -> str:
    y = _y(recall)
    line = f'<path d="M{EDGE} {y:.1f}H{WIDTH - EDGE}" stroke="#dddddd"/>'
    return line + _text(EDGE - 8, y + 4, f"{recall:.1f}", "end")


def _text(x: float, y: float, text: str, anchor: str = "middle", colour: str = "#333333") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f'<text {place} font-family="sans-serif" font-size="13">{escape(text)}</text>'


def _png(path: Path, curves: Curves) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        what = "needs matplotlib; install toolpick[plot] or write an .svg"
        raise GatewayError(f"--plot {str(path)!r} {what}") from None
    figure = Figure(figsize=(8, 4.6))
    axes = figure.add_subplot(title=TITLE, xlabel=ACROSS, ylabel=UP, ylim=(0, 1))
    for name, curve in curves.items():
        axes.plot([tokens for tokens, _ in curve], [recall for _, recall in curve], label=name)
    axes.grid(visible=True)
    axes.legend()
    figure.savefig(path, dpi=120)
