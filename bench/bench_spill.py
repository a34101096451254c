"""What it costs to lose nothing: CPU time with rows that are probably unnecessary on disk, over without.

The experiments are those of `bench_constraints.py`, once with a k that holds and once with one that about a hundredth
of the rows break. Where k holds, the answers are the same; where not, the numbers of results tell what was lost. Beside
them stand rows in memory and on disk at the end. `ROWS` in the environment sets how many rows are measured.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.engines.embedded import EmbeddedEngine
from penstock.plan.constraint_report import OnDisk
from penstock.plan.forgetting import Forgetting
from penstock.sql import bind_text
from penstock.workloads.constraints import Graph, StreamTables

sys.path.insert(0, str(Path(__file__).parent / "figures"))
from bench_constraints import EXPERIMENTS, PUSHED, ROUNDS, ROWS, WINDOW
from measured import pieces

K = 1_000


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    results: int
    rows: int
    on_disk: OnDisk


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f}; k = {K:,}; CPU time with spill over without")
    for name, (graph, generate, declare) in EXPERIMENTS.items():
        fill = WINDOW * graph.cycle
        for spill in (False, True):  # Compiles what is not compiled yet.
            run(graph, generate(20_000, 10), declare(graph, "WITHIN 9 ROWS"), 0, spill)
        tables = generate(fill + ROWS, K)
        for what, k in (("holds", K), ("broken", K * 99 // 100)):
            runs: dict[bool, list[Run]] = {False: [], True: []}
            for _ in range(ROUNDS):
                for spill, done in runs.items():
                    done.append(run(graph, tables, declare(graph, f"WITHIN {k} ROWS"), fill, spill))
            print(f"  {name:5} {what:6}: {told(runs[False], runs[True])}", flush=True)


def told(without: list[Run], spilt: list[Run]) -> str:
    before, after = (statistics.median(run.seconds for run in runs) for runs in (without, spilt))
    one, other = without[0], spilt[0]
    return (
        f"{after / ROWS * 1e9:6,.0f} over {before / ROWS * 1e9:6,.0f} ns per row = {after / before:.2f}, "
        f"lost {other.results - one.results:>4,} of {other.results:>7,}, rows in memory {other.rows:>6,} and "
        f"{one.rows:>6,}, on disk {other.on_disk.rows:>6,}, brought back {other.on_disk.brought_back:>6,}"
    )


def run(graph: Graph, tables: StreamTables, declared: Mapping[str, Sequence[str]], fill: int, spill: bool) -> Run:
    """CPU time is measured from when so many rows have come."""
    bound = bind_text(f"{graph.ddl(declared)}\n{graph.query(window=WINDOW)}").checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog, forgetting=Forgetting(spill=spill))
    seconds, results = 0.0, 0
    for count, piece in pieces(tables, PUSHED):
        start = time.process_time()
        for stream, batch in piece.items():
            engine.push(stream, batch)
        results += engine.advance().num_rows
        if count > fill:
            seconds += time.process_time() - start
    engine.close()
    return Run(seconds, results, engine.state()[0], engine.totals().on_disk)


if __name__ == "__main__":
    main()
