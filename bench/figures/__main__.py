"""Draws figures of the thesis into docs/figures: `make figures`, or some of them by their numbers.

Those of chapters 4 and 5 are in `filter_figures.py` and `cache_figures.py`, and that of Koudas et al. (001) is in
`elimination_figures.py`. What those of chapter 6 show is what joins keep: rows, and keys of No components and of
clusters. Indexes are not counted, as in the thesis. Where k is declared, nobody looks for violations, so that monitors
keep nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from cache_figures import CACHE_FIGURES
from elimination_figures import ELIMINATION_FIGURES
from filter_figures import FILTER_FIGURES, table_4_2
from measured import Run, run, watched_run
from svg import Chart, Line

from penstock.workloads import constraints as data
from penstock.workloads.adherence import varying
from penstock.workloads.constraints import FORK, MEETING, PAIR, PAIR_OF_TWO, Graph, StreamTables

FOLDER = Path(__file__).parents[2] / "docs" / "figures"
KS = (0, 1_000, 5_000, 10_000, 20_000)
#: Rows between two points.
STEP = 7_000
#: The least and the largest of a k that varies; rows between two looks at it, and of which missing results are counted.
LOW_HIGH = (500, 3_000)
WATCHED_STEP, BLOCK = 1_000, 4_000
Declared = Mapping[str, Sequence[str]]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number, draw in FIGURES.items():
        if number in (sys.argv[1:] or FIGURES):
            chart = draw()
            (FOLDER / f"figure-{number}.svg").write_text(chart.svg())
            print(f"figure {number}: {chart.title}", flush=True)
    if not sys.argv[1:] or "table-4.2" in sys.argv[1:]:
        table_4_2()


def within(k: int) -> str:
    return f"WITHIN {k} ROWS ON VIOLATION IGNORE"


def of_ks(
    title: str,
    graph: Graph,
    rows: int,
    generate: Callable[[int, int], StreamTables],
    declare: Callable[[Graph, str], Declared],
    is_logarithmic: bool = False,
) -> Chart:
    """What is kept over time for each k, against the window join that knows of no constraint."""
    lines = [Line("window join", measured("window join", graph, generate(rows, 0), {}))]
    for k in KS:
        points = measured(f"k = {k:,}", graph, generate(rows, k), declare(graph, within(k)))
        lines.append(Line(f"k = {k:,}", points))
    return Chart(title, "rows so far", "rows and keys kept", lines, is_logarithmic)


def measured(title: str, graph: Graph, tables: StreamTables, declared: Declared) -> list[tuple[float, float]]:
    found = run(f"{graph.ddl(declared)}\n{graph.query()}", tables, STEP)
    told(title, found)
    return list(zip(found.rows, found.kept, strict=True))


def told(title: str, found: Run) -> None:
    per_row = found.seconds / found.rows[-1] * 1e9
    print(
        f"  {title:18} {found.kept[-1]:>8,} kept at the end, {max(found.kept):>8,} at most, "
        f"{found.results:,} results, {per_row:,.0f} ns per row",
        flush=True,
    )


def figure_6_17() -> Chart:
    tables = data.ca_oac_data(500_000, 5_000)
    ca, oac = data.with_ca(FORK, within(0)), data.with_oac(FORK, within(5_000), "s3")
    choices: dict[str, Declared] = {
        "window join": {},
        "CA": ca,
        "OAC": oac,
        "CA and OAC": data.together(ca, oac),
    }
    lines = [Line(name, measured(name, FORK, tables, declared)) for name, declared in choices.items()]
    return Chart("CA(0) and OAC(5,000) together", "rows so far", "rows and keys kept", lines)


def figure_6_18() -> Chart:
    """After 600,000 rows, with a filter that lets one row of ten through."""
    kept: dict[str, list[tuple[float, float]]] = {"CA": [], "RIDS": [], "CA and RIDS": []}
    for k in (0, 500, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000):
        tables = data.ca_rids_data(600_000, k, 5_000)
        ca, rids = data.with_ca(PAIR_OF_TWO, within(5_000)), data.with_rids(PAIR_OF_TWO, within(k))
        for name, declared in {"CA": ca, "RIDS": rids, "CA and RIDS": data.together(ca, rids)}.items():
            found = run(f"{PAIR_OF_TWO.ddl(declared)}\n{PAIR_OF_TWO.query(selectivity=10)}", tables, STEP)
            told(f"{name}, k = {k:,}", found)
            kept[name].append((k, found.kept[-1]))
    lines = [Line(name, points) for name, points in kept.items()]
    return Chart("CA(5,000) and RIDS(k) together", "k of RIDS", "rows and keys kept after 600,000", lines)


def of_varying_k(
    title: str,
    graph: Graph,
    rows: int,
    generate: Callable[[int, tuple[int, int]], StreamTables],
    declare: Callable[[Graph, str], Declared],
    inferred: str,
) -> Chart:
    """The k that a monitor finds, as k varies; and how many results are missing, of each 4,000 rows."""
    low, high = LOW_HIGH
    tables = generate(rows, LOW_HIGH)
    query = graph.query()
    _, all_times, _ = watched_run(f"{graph.ddl({})}\n{query}", tables, WATCHED_STEP)
    said, times, guessed = watched_run(f"{graph.ddl(declare(graph, inferred))}\n{query}", tables, WATCHED_STEP)
    blocks = np.arange(0, rows + BLOCK, BLOCK)
    there, found = (np.histogram(one, blocks)[0] for one in (all_times, times))
    missing = [(float(end), 100 * (1 - f / t)) for end, f, t in zip(blocks[1:], found, there, strict=True) if t > f]
    worst = max((share for _, share in missing), default=0.0)
    print(
        f"  {len(all_times) - len(times):,} of {len(all_times):,} results missing, {guessed:,.0f} by the monitor's "
        f"estimate; at most {worst:.2f}% of {BLOCK:,} rows, in {len(missing)} of {len(blocks) - 1} blocks",
        flush=True,
    )
    print("  missing, by block: " + ", ".join(f"{end:,.0f}: {share:.2f}%" for end, share in missing), flush=True)
    actual = varying(len(said), low, high)
    used = sum(one.k is not None for one in said) / len(said)
    print(f"  in use {100 * used:.0f}% of the time", flush=True)
    return Chart(
        title,
        "rows so far",
        "k, and missing results in 1/100 %",
        [
            Line("k of the data", [(one.rows, float(k)) for one, k in zip(said, actual, strict=True)]),
            Line("k that is used", [(one.rows, float(one.k or 0)) for one in said], is_dotted=True),
            Line("missing, 1/100 %", [(end, 100 * share) for end, share in missing], is_dotted=True),
        ],
    )


FIGURES: dict[str, Callable[[], Chart]] = {
    "6.10": lambda: of_ks("RIDS(k)", FORK, 500_000, data.rids_data, data.with_rids),
    "6.11": lambda: of_varying_k(
        "Monitoring RIDS(k)", FORK, 420_000, data.rids_data, data.with_rids, "INFERRED (c 1, p 0.01, w 500)"
    ),
    "6.13": lambda: of_varying_k(
        "Monitoring CA(k)", MEETING, 440_000, data.ca_data, data.with_ca, "INFERRED (c 1.2, p 0.01, w 1000)"
    ),
    "6.15": lambda: of_varying_k(
        "Monitoring OAP(k)", MEETING, 440_000, data.oap_data, data.with_oap, "INFERRED (c 1.2, w 1000)"
    ),
    "6.12": lambda: of_ks("CA(k)", MEETING, 700_000, data.ca_data, data.with_ca, is_logarithmic=True),
    "6.14": lambda: of_ks("OAP(k)", MEETING, 700_000, data.oap_data, data.with_oap, is_logarithmic=True),
    "6.16": lambda: of_ks("OAC(k)", PAIR, 400_000, data.oac_data, data.with_oac),
    "6.17": figure_6_17,
    "6.18": figure_6_18,
    **FILTER_FIGURES,
    **CACHE_FIGURES,
    **ELIMINATION_FIGURES,
}


if __name__ == "__main__":
    main()
