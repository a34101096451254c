"""What trees of joins cost: one MJoin, and trees with subresults, of joins some of whose inputs change more often.

Each join is run as one MJoin, as it is and with all that adapts, and by each of its trees, in turn. Figures are medians
in CPU time of this process, and over the plain MJoin; behind each is what `explain --plans` estimates of it, given the
rates, the rows and the numbers of values of the data. `ROWS` sets how many rows each run reads, `RUNS` how often.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from dataclasses import replace

import numpy as np

from penstock.algebra.join_trees import TreeJoin
from penstock.algebra.named_joins import joins_of
from penstock.algebra.relations import Query
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.engines.embedded import EmbeddedEngine
from penstock.plan.adaptivity import Adaptive
from penstock.plan.join_statistics import JoinStatistics
from penstock.plan.join_trees import join_trees
from penstock.plan.tree_cost import CostModel
from penstock.sql import bind_text
from penstock.workloads.join_orders import JoinWorkload, Stream, chain, sample_point, star

ROWS = int(os.environ.get("ROWS", "200000"))
ROUNDS = int(os.environ.get("RUNS", "3"))
PUSHED = 1 << 16
WINDOW = 5_000


def fast(rate: int, vain: int) -> JoinWorkload:
    """r - s - t, where t is so many times as fast: its row finds so many of s, of which one finds a row of r."""
    keys = WINDOW // vain
    r = Stream("r", 1, {"a": lambda random, count: random.integers(0, WINDOW * vain, count)})
    s = Stream(
        "s",
        1,
        {
            "a": lambda random, count: random.integers(0, WINDOW * vain, count),
            "b": lambda random, count: random.integers(0, keys, count),
        },
    )
    t = Stream("t", rate, {"b": lambda random, count: random.integers(0, keys, count)})
    return JoinWorkload(f"t x {rate}, {vain} vain", (r, s, t), (("r.a", "s.a"), ("s.b", "t.b")), WINDOW)


def run(query: Query, catalog: Catalog, workload: JoinWorkload, adaptive: Adaptive) -> tuple[float, int]:
    """Gives seconds and results."""
    engine = EmbeddedEngine(query, catalog, adaptive=adaptive)
    seconds, results = 0.0, 0
    for piece in workload.pieces(ROWS, PUSHED):
        start = time.process_time()
        for stream, batch in piece.items():
            engine.push(stream, batch)
        results += engine.advance().num_rows
        seconds += time.process_time() - start
    return seconds, results + engine.finish().num_rows


def known(workload: JoinWorkload) -> JoinStatistics:
    """What the data is like."""
    (piece, *_) = workload.pieces(ROWS, 1 << 30)
    values = {
        f"{name}.{column}": float(len(np.unique(batch.column(column).to_numpy()[: workload.window])))
        for name, batch in piece.items()
        for column in batch.schema.names
        if column != "ts"
    }
    rates = {stream.name: float(stream.rate) for stream in workload.streams}
    return JoinStatistics(rates, dict.fromkeys(rates, float(workload.window)), values)


def main() -> None:
    wanted = sys.argv[1:]
    print(f"load {os.getloadavg()[0]:.1f}; {ROWS:,} rows each; ns of CPU per row, over the plain MJoin, and estimated")
    workloads = [fast(1, 1), fast(10, 1), fast(10, 8), fast(100, 8), fast(100, 64)]
    workloads += [star(), chain(), *map(sample_point, ("D1", "D4", "D7"))]
    for workload in workloads:
        if wanted and workload.name not in wanted:
            continue
        measure(workload)


def measure(workload: JoinWorkload) -> None:
    bound = bind_text(workload.script).checked()
    query, catalog = bound.queries[0], bound.catalog
    (join,) = joins_of(normalise(query).relation).values()
    model = CostModel(join, catalog, known(workload), emits_once=True)
    trees = sorted(join_trees(join), key=lambda tree: model.cost(tree).work)
    (flat,) = (tree for tree in trees if tree.is_flat)
    chosen: list[TreeJoin] = [flat, *[tree for tree in trees if not tree.is_flat][:3]]
    ways = [(str(tree), replace(query, trees=(tree,)), Adaptive(mode="off"), tree) for tree in chosen]
    ways.append(("adaptive", query, Adaptive(), flat))
    times: dict[str, list[float]] = {name: [] for name, *_ in ways}
    results = set[int]()
    for _ in range(ROUNDS):
        for name, each, adaptive, _tree in ways:
            seconds, found = run(each, catalog, workload, adaptive)
            times[name].append(seconds / ROWS * 1e9)
            results.add(found)
    assert len(results) == 1, "no tree changes the answer"
    plain = statistics.median(times[str(flat)])
    least = model.cost(flat).work
    print(f"{workload.name}: {plain:,.0f}, {results.pop():,} results", flush=True)
    for name, _, _, tree in ways[1:]:
        print(
            f"  {statistics.median(times[name]) / plain:5.2f}  {model.cost(tree).work / least:5.2f}  {name}", flush=True
        )


if __name__ == "__main__":
    main()
