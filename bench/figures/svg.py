"""Line charts as SVG, written out by hand: no library to pin for a dozen pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

WIDTH, HEIGHT = 680, 380
LEFT, RIGHT, TOP, BOTTOM = 76, 168, 40, 52
COLORS = ("#555555", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00")


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: Sequence[tuple[float, float]]
    #: Points without a line between them.
    is_dotted: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines, or points, with a legend that shows them as they are drawn.

    >>> Chart("", "x", "y", [Line("points", [(1, 2), (2, 3)], is_dotted=True)]).svg().count("<circle")
    5
    """

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    is_logarithmic: bool = False
    x_is_logarithmic: bool = False
    #: Where the horizontal axis begins.
    x_from: float = 0

    def svg(self) -> str:
        return "\n".join((_HEAD, *self._body(), "</svg>")) + "\n"

    def _body(self) -> Iterator[str]:
        xs = [x for line in self.lines for x, _ in line.points]
        ys = [y for line in self.lines for _, y in line.points]
        x_scale = logarithmic if self.x_is_logarithmic else linear
        across, x_ticks = x_scale(min(xs) if self.x_is_logarithmic else self.x_from, max(xs), LEFT, WIDTH - RIGHT)
        scale = logarithmic if self.is_logarithmic else linear
        up, y_ticks = scale(min(ys) if self.is_logarithmic else 0, max(ys), HEIGHT - BOTTOM, TOP)
        yield _text(LEFT, 22, self.title, size=15)
        yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, self.x, anchor="middle")
        middle = (TOP + HEIGHT - BOTTOM) / 2
        yield f'<g transform="translate(16 {middle}) rotate(-90)">{_text(0, 0, self.y, "middle")}</g>'
        for tick in x_ticks:
            yield _path([(across(tick), TOP), (across(tick), HEIGHT - BOTTOM)], "#dddddd", 1)
            yield _text(across(tick), HEIGHT - BOTTOM + 18, _number(tick), anchor="middle")
        for tick in y_ticks:
            yield _path([(LEFT, up(tick)), (WIDTH - RIGHT, up(tick))], "#dddddd", 1)
            yield _text(LEFT - 8, up(tick) + 4, _number(tick), anchor="end")
        for number, line in enumerate(self.lines):
            color = COLORS[number % len(COLORS)]
            places = [(across(x), up(y)) for x, y in line.points]
            at = TOP + 12 + 20 * number
            left, right = (WIDTH - RIGHT + 14, at), (WIDTH - RIGHT + 38, at)
            if line.is_dotted:
                middle_of_both = ((left[0] + right[0]) / 2, at)
                yield from (_dot(place, color) for place in (*places, left, middle_of_both, right))
            else:
                yield _path(places, color, 1.8)
                yield _path([left, right], color, 3)
            yield _text(right[0] + 6, at + 4, line.name)


_HEAD = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">\n'
    f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
)

#: Where a value stands, and the values that are written beside the axis.
Scale = tuple[Callable[[float], float], list[float]]


def linear(least: float, most: float, start: float, end: float) -> Scale:
    """
    >>> place, ticks = linear(0, 70, 0, 100)
    >>> place(35), ticks
    (50.0, [0, 20, 40, 60])
    """
    span = max(most - least, 1e-9)
    rough = span / 4
    power: float = 10 ** floor(log10(rough))
    step = next(power * one for one in (1, 2, 5, 10) if power * one >= rough)
    ticks = [step * number for number in range(ceil(least / step), floor(most / step) + 1)]
    return lambda value: start + (value - least) / span * (end - start), ticks


def logarithmic(least: float, most: float, start: float, end: float) -> Scale:
    """
    >>> place, ticks = logarithmic(20, 5000, 0, 100)
    >>> place(10), place(10000), ticks
    (0.0, 100.0, [10, 100, 1000, 10000])
    """
    low, high = floor(log10(max(least, 1))), ceil(log10(max(most, 2)))
    ticks = [float(10**power) if power < 0 else 10**power for power in range(low, high + 1)]
    return lambda value: start + (log10(max(value, 1)) - low) / (high - low) * (end - start), ticks


def _path(points: Sequence[tuple[float, float]], color: str, width: float) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{color}" stroke-width="{width}"/>'


def _dot(place: tuple[float, float], color: str) -> str:
    return f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="2.5" fill="{color}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 12) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#222222">{escaped}</text>'


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"
