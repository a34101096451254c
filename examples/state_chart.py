"""Charts of state, for a terminal and as SVG for a page. A line is a name and its points: rows read, rows kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[int, int]]

WIDTH, HEIGHT = 60, 14
MARKS = "●▲■◆"
COLOURS = ("#c62828", "#ef6c00", "#2e7d32", "#1565c0")


def text_chart(lines: Mapping[str, Points]) -> str:
    """Returns a chart of characters.

    >>> print(text_chart({"grows": [(0, 0), (100, 100)], "stays": [(0, 10), (100, 10)]}).splitlines()[-2].strip())
    ● grows: 100 rows at most
    """
    right, top = _extent(lines)
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]
    for mark, points in zip(MARKS, lines.values(), strict=False):
        for column in range(WIDTH):
            kept = _at(points, column * right / (WIDTH - 1))
            if kept is not None:
                cells[HEIGHT - 1 - round(kept * (HEIGHT - 1) / top)][column] = mark
    side = [f"{top:>11,} │", *([" " * 11 + " │"] * (HEIGHT - 2)), f"{0:>11} │"]
    drawn = [f"{left}{''.join(row).rstrip()}" for left, row in zip(side, cells, strict=True)]
    axis = " " * 12 + "└" + "─" * WIDTH
    scale = f"{0:>13} rows read{right:>{WIDTH - 10},}"
    named = [
        f"  {mark} {name}: {max(kept for _, kept in points):,} rows at most" for mark, (name, points) in _marked(lines)
    ]
    return "\n".join(["rows kept", *drawn, axis, scale, *named])


def svg_chart(lines: Mapping[str, Points], title: str) -> str:
    """Returns a chart as SVG, with a light and a dark form."""
    right, top = _extent(lines)
    left, width, above, height = 70, 560, 40, 260

    def place(point: tuple[int, int]) -> str:
        return f"{left + width * point[0] / right:.1f},{above + height - height * point[1] / top:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 350" role="img" aria-label="{escape(title)}">',
        "<style>text{font:14px sans-serif;fill:#333}.a{stroke:#999;fill:none}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>",
        f'<text x="{left}" y="22" style="font-weight:bold">{escape(title)}</text>',
        f'<path class="a" d="M{left} {above}V{above + height}H{left + width}"/>',
    ]
    for share in (0, 0.5, 1):
        y = above + height - height * share
        parts.append(f'<text x="{left - 6}" y="{y + 5:.0f}" text-anchor="end">{short(round(top * share))}</text>')
        x = left + width * share
        label = short(round(right * share)) + (" rows read" if share == 1 else "")
        parts.append(f'<text x="{x:.0f}" y="{above + height + 20}" text-anchor="middle">{label}</text>')
    for colour, (name, points) in zip(COLOURS, lines.items(), strict=False):
        path = " ".join(map(place, points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        y = above + height - height * points[-1][1] / top
        parts.append(f'<text x="{left + width + 8}" y="{y + 5:.0f}" style="fill:{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"])


def short(count: int) -> str:
    """Returns a number of rows, short.

    >>> short(0), short(1_500), short(400_000)
    ('0', '1.5k', '400k')
    """
    return str(count) if count < 1000 else f"{count / 1000:.3g}k"


def _extent(lines: Mapping[str, Points]) -> tuple[int, int]:
    points = [point for line in lines.values() for point in line]
    return max(1, *(read for read, _ in points)), max(1, *(kept for _, kept in points))


def _at(points: Points, read: float) -> int | None:
    """Returns what was kept after so many rows: the last that is known by then."""
    known = [kept for rows, kept in points if rows <= read]
    return known[-1] if known else None


def _marked(lines: Mapping[str, Points]) -> list[tuple[str, tuple[str, Points]]]:
    return list(zip(MARKS, lines.items(), strict=False))
