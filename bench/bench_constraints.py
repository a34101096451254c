"""What it costs to exploit constraints (thesis 6.9, table 6.1): CPU time per row against the plain window join.

Each experiment is run plain and with its constraints, one after the other and several times, on the same data, once its
windows are full; the ratios are of medians. Beside them stands how much less is kept. `ROWS` in the environment sets
the size: rows that are measured, after those that fill the windows.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.engines.embedded import EmbeddedEngine
from penstock.sql import bind_text
from penstock.workloads import constraints as data
from penstock.workloads.constraints import FORK, MEETING, PAIR, Graph, StreamTables

sys.path.insert(0, str(Path(__file__).parent / "figures"))
from measured import pieces

ROWS = int(os.environ.get("ROWS", "200000"))
ROUNDS = int(os.environ.get("RUNS", "3"))
PUSHED = 32_768
#: Windows of so many rows, and k, as in the thesis (6.5).
WINDOW = 50_000
KS = (0, 1_000, 5_000, 10_000, 20_000)

Generate = Callable[[int, int], StreamTables]
Declare = Callable[[Graph, str], Mapping[str, Sequence[str]]]
EXPERIMENTS: dict[str, tuple[Graph, Generate, Declare]] = {
    "RIDS": (FORK, data.rids_data, data.with_rids),
    "CA": (MEETING, data.ca_data, data.with_ca),
    "OAP": (MEETING, data.oap_data, data.with_oap),
    "OAC": (PAIR, data.oac_data, data.with_oac),
}


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    #: Rows of state at the end, and bytes.
    rows: int
    bytes: int
    results: int


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f}; CPU time with constraints over plain, and state plain over constrained")
    for name, (graph, generate, declare) in EXPERIMENTS.items():
        fill = WINDOW * graph.cycle
        warm(graph, generate, declare)
        for k in KS:
            tables = generate(fill + ROWS, k)
            choices = {"plain": {}, "constrained": declare(graph, f"WITHIN {k} ROWS")}
            runs = {choice: [] for choice in choices}
            for _ in range(ROUNDS):
                for choice, declared in choices.items():
                    runs[choice].append(run(graph, tables, declared, fill))
            print(f"  {name:5} k = {k:>6,}: {told(runs['plain'], runs['constrained'])}", flush=True)


def told(plain: list[Run], constrained: list[Run]) -> str:
    assert plain[0].results == constrained[0].results, "constraints that hold change no answer"
    before, after = (statistics.median(run.seconds for run in runs) for runs in (plain, constrained))
    return (
        f"{after / ROWS * 1e9:6,.0f} over {before / ROWS * 1e9:6,.0f} ns per row = {after / before:.2f}, "
        f"state rows {plain[0].rows:>7,} over {constrained[0].rows:>7,} = {plain[0].rows / constrained[0].rows:5.1f}"
    )


def warm(graph: Graph, generate: Generate, declare: Declare) -> None:
    """Compiles what is not compiled yet."""
    for declared in ({}, declare(graph, "WITHIN 10 ROWS")):
        run(graph, generate(20_000, 10), declared, 0)


def run(graph: Graph, tables: StreamTables, declared: Mapping[str, Sequence[str]], fill: int) -> Run:
    """CPU time is measured from when so many rows have come."""
    bound = bind_text(f"{graph.ddl(declared)}\n{graph.query(window=WINDOW)}").checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog)
    seconds, results = 0.0, 0
    for count, piece in pieces(tables, PUSHED):
        start = time.process_time()
        for stream, batch in piece.items():
            engine.push(stream, batch)
        results += engine.advance().num_rows
        if count > fill:
            seconds += time.process_time() - start
    return Run(seconds, *engine.state(), results)


if __name__ == "__main__":
    main()
