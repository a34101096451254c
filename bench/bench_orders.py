"""What the order costs in which the rows of a join probe its inputs: stars, a chain, a cycle, D1 to D8 of the thesis.

Each join is run along the paths as written, along those that it chooses itself, along the best and along the worst.
Orders without products are all tried on fewer rows, those of all inputs at the same time, since the path of an input
costs the same whatever the others do; the best has the fewest probes and matches. Beside them the paths as written are
run in whole steps, as they are not cut into parts. Then a star drifts: its satellites exchange their multiplicities,
and the clairvoyant uses the best paths of each period from its first row on. Each figure is the median of several runs
in turn, in CPU time of this process. `ROWS` in the environment sets how many rows each run reads.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from unittest.mock import patch

from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.joins.mjoin import JoinCore
from penstock.plan.adaptivity import FULL, OFF, Adaptive
from penstock.plan.join_choice import JoinChoice
from penstock.plan.probe_paths import Paths, Variables, paths_in_order
from penstock.sql import bind_text
from penstock.workloads.join_orders import PHASES, JoinWorkload, drifting_star, star, workloads

ROWS = int(os.environ.get("ROWS", "100000"))
ROUNDS = int(os.environ.get("RUNS", "3"))
PUSHED = 1 << 16
NEVER_CUT = 1 << 60
PERIODS = 4


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f}; {ROWS:,} rows each; ns of CPU per row, and over the paths as written")
    print("  " + " ".join([f"{'':6} {'as written':>10}", *(f"{name:>14}" for name in COLUMNS), f"{'results':>10}"]))
    for workload in workloads():
        best, worst = extremes(workload)
        ways: list[Way] = [
            partial(run, workload, ROWS),
            partial(run, workload, ROWS, adaptive=FULL),
            partial(run, workload, ROWS, [best]),
            partial(run, workload, ROWS, [worst]),
            partial(in_whole_steps, workload),
        ]
        compare(workload.name, ways)
    print(f"  {'':6} {'as written':>10} {'adaptive':>14} {'clairvoyant':>14}")
    drifting = drifting_star(PERIODS)
    best_of = [extremes(star(phase))[0] for phase in PHASES]
    clairvoyant = [best_of[period % len(PHASES)] for period in range(PERIODS)]
    rows = PERIODS * ROWS
    drifts: list[Way] = [
        partial(run, drifting, rows),
        partial(run, drifting, rows, adaptive=FULL),
        partial(run, drifting, rows, clairvoyant),
    ]
    compare(drifting.name, drifts, rows)


COLUMNS = ("adaptive", "best", "worst", "whole steps")
Way = Callable[[], tuple[float, int, JoinCore]]


def compare(name: str, ways: Sequence[Way], rows: int = ROWS) -> None:
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        found = [way() for way in ways]
        results = {count for _, count, _ in found}
        assert len(results) == 1, "paths change no answer"
        for own, (seconds, *_) in zip(times, found, strict=True):
            own.append(seconds)
    written, *others = (statistics.median(own) / rows * 1e9 for own in times)
    ratios = " ".join(f"{each:7,.0f} ({each / written:4.2f})" for each in others)
    print(f"  {name:6} {written:10,.0f} {ratios} {results.pop():10,}", flush=True)


def in_whole_steps(workload: JoinWorkload) -> tuple[float, int, JoinCore]:
    with patch.multiple("penstock.operators.machine", SMALLEST_PART=NEVER_CUT, LARGEST_PART=NEVER_CUT):
        return run(workload, ROWS)


def run(
    workload: JoinWorkload, rows: int, paths: Sequence[Paths] = (), adaptive: Adaptive = OFF
) -> tuple[float, int, JoinCore]:
    """Gives seconds, results, and the join, which has counted its probes. Each paths are used for a period."""
    bound = bind_text(workload.script).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog, adaptive=adaptive)
    (join,) = engine._machines[0][0].joins
    seconds, results = 0.0, 0
    pushed = PUSHED if len(paths) < 2 else -(-rows // len(paths))
    for number, piece in enumerate(workload.pieces(rows, pushed)):
        start = time.process_time()
        if number < len(paths):
            join.use(JoinChoice(paths[number]))
        for stream, batch in piece.items():
            engine.push(stream, batch)
        results += engine.advance().num_rows
        seconds += time.process_time() - start
    return seconds, results + engine.finish().num_rows, join


def extremes(workload: JoinWorkload) -> tuple[Paths, Paths]:
    """The paths with the fewest, and with the most probes and matches."""
    rows = max(ROWS // 5, 4 * workload.window * len(workload.streams))
    _, _, join = run(workload, 0)
    variables = [source.variables for source in join.inputs]
    orders = [list(connected(start, variables)) for start in range(len(variables))]
    costs: list[dict[Sequence[int], int]] = [{} for _ in orders]
    for number in range(max(map(len, orders))):
        tried = [own[number % len(own)] for own in orders]
        _, _, join = run(workload, min(rows, ROWS), [paths_in_order(variables, tried)])
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
