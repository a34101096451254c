"""Figure 1 of Koudas, Srivastava and Toman: response time over data size, with and without the joins.

The paper ran both queries in MySQL. Here are our exact plan and our counters, with what watches them, and DuckDB on one
thread with the query as it is asked and with the one that counts apart. Seconds are CPU time, with the time to plan:
the least of three runs, one after the other, so that all meet the same load.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from svg import Chart, Line

sys.path.append(str(Path(__file__).parents[1]))

from bench_elimination import measured

SIZES = (100_000, 200_000, 400_000)
REPEATS = 3
NAMES = {
    "exact": "Penstock, join",
    "counters": "Penstock, counters",
    "duckdb join": "DuckDB, join",
    "duckdb apart": "DuckDB, counted apart",
}


def figure_1() -> Chart:
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in NAMES}
    with tempfile.TemporaryDirectory() as place:
        measured(Path(place) / "warm", 20_000)
        for rows in SIZES:
            runs = [measured(Path(place) / f"{rows}", rows) for _ in range(REPEATS)]
            for name, of in points.items():
                of.append((float(rows), min(run[name] for run in runs)))
            print(f"  {rows:,} packets: " + ", ".join(f"{n} {of[-1][1]:.3f} s" for n, of in points.items()), flush=True)
    lines = [Line(shown, points[name]) for name, shown in NAMES.items()]
    return Chart("Handshakes that are not completed", "packets", "seconds", lines, is_logarithmic=True)


ELIMINATION_FIGURES = {"001-1": figure_1}
