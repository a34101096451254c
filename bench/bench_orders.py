"""What the order costs in which the rows of a join probe its inputs: a star, a chain, a cycle, D1 to D8 of the thesis.

Each join is run along the paths as written, along the best and along the worst. Orders without products are all tried
on fewer rows, those of all inputs at the same time, since the path of an input costs the same whatever the others do;
the best has the fewest probes and matches. Beside them the paths as written are run in whole steps, as they are not cut
into parts. Each is the median of several runs in turn, in CPU time of this process. `ROWS` in the environment sets how
many rows each run reads.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import permutations
from unittest.mock import patch

from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.joins.mjoin import JoinCore
from penstock.plan.adaptivity import FULL, OFF, Adaptive
from penstock.plan.join_choice import JoinChoice
from penstock.plan.probe_paths import Paths, Variables, paths_in_order
from penstock.sql import bind_text
from penstock.workloads.join_orders import JoinWorkload, workloads

ROWS = int(os.environ.get("ROWS", "100000"))
ROUNDS = int(os.environ.get("RUNS", "3"))
PUSHED = 1 << 16
NEVER_CUT = 1 << 60


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f}; {ROWS:,} rows each; ns of CPU per row, and over the paths as written")
    print(
        f"  {'':6} {'as written':>10} {'adaptive':>14} {'best':>14} {'worst':>14} {'whole steps':>14} {'results':>10}"
    )
    for workload in workloads():
        best, worst = extremes(workload)
        times: list[list[float]] = [[] for _ in range(5)]
        for _ in range(ROUNDS):
            found = [run(workload, None, ROWS), run(workload, None, ROWS, FULL)]
            found += [run(workload, paths, ROWS) for paths in (best, worst)]
            with patch.multiple("penstock.operators.machine", SMALLEST_PART=NEVER_CUT, LARGEST_PART=NEVER_CUT):
                found.append(run(workload, None, ROWS))
            results = {count for _, count, _ in found}
            assert len(results) == 1, "paths change no answer"
            for own, (seconds, *_) in zip(times, found, strict=True):
                own.append(seconds)
        written, *others = (statistics.median(own) / ROWS * 1e9 for own in times)
        ratios = " ".join(f"{each:7,.0f} ({each / written:4.2f})" for each in others)
        print(f"  {workload.name:6} {written:10,.0f} {ratios} {results.pop():10,}", flush=True)


def run(
    workload: JoinWorkload, paths: Paths | None, rows: int, adaptive: Adaptive = OFF
) -> tuple[float, int, JoinCore]:
    """Gives seconds, results, and the join, which has counted its probes."""
    bound = bind_text(workload.script).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog, adaptive=adaptive)
    (join,) = engine._machines[0][0].joins
    if paths is not None:
        join.use(JoinChoice(paths))
    seconds, results = 0.0, 0
    for piece in workload.pieces(rows, PUSHED):
        start = time.process_time()
        for stream, batch in piece.items():
            engine.push(stream, batch)
        results += engine.advance().num_rows
        seconds += time.process_time() - start
    return seconds, results + engine.finish().num_rows, join


def extremes(workload: JoinWorkload) -> tuple[Paths, Paths]:
    """The paths with the fewest, and with the most probes and matches."""
    rows = max(ROWS // 5, 4 * workload.window * len(workload.streams))
    _, _, join = run(workload, None, 0)
    variables = [source.variables for source in join.inputs]
    orders = [list(connected(start, variables)) for start in range(len(variables))]
    costs: list[dict[Sequence[int], int]] = [{} for _ in orders]
    for number in range(max(map(len, orders))):
        tried = [own[number % len(own)] for own in orders]
        _, _, join = run(workload, paths_in_order(variables, tried), min(rows, ROWS))
        counts = join.probe_counts()
        for own, order, *of_input in zip(costs, tried, counts.probes, counts.matches, strict=True):
            own[order] = sum(map(sum, of_input))
    best, worst = ([choose(own, key=own.__getitem__) for own in costs] for choose in (min, max))
    return paths_in_order(variables, best), paths_in_order(variables, worst)


def connected(start: int, variables: Sequence[Variables]) -> Iterator[Sequence[int]]:
    """The orders in which each input shares a variable with those before it."""
    own = [{v for v, column in enumerate(columns) if column is not None} for columns in variables]
    for order in permutations(n for n in range(len(variables)) if n != start):
        bound = set(own[start])
        for n in order:
            if not own[n] & bound:
                break
            bound |= own[n]
        else:
            yield order


if __name__ == "__main__":
    main()
