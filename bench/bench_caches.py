"""What subresult caches earn: a chain of three with 1 to 64 vain rows per lookup, joins of the thesis, and a join whose
predicate is a Python function of both sides.

Each join is run without caches, with all candidates of its paths that do not overlap (forced), and as the tuner chooses
(adaptive), in turn. Figures are medians in CPU time of this process, and over the plain join. `ROWS` sets how many rows
each run reads, `RUNS` how often.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.joins.mjoin import JoinCore
from penstock.plan.adaptivity import Adaptive
from penstock.plan.caches import Cache, CacheChoice
from penstock.sql import bind_text
from penstock.workloads.join_orders import JoinWorkload, Stream, chain, sample_point, star

ROWS = int(os.environ.get("ROWS", "200000"))
ROUNDS = int(os.environ.get("RUNS", "3"))
PUSHED = 1 << 16
WINDOW = 5_000
#: Rows of t for one of r and of s.
RATE = 10


def vain(rows: int) -> JoinWorkload:
    """r - s - t: a row of t finds so many of s, of which one finds a row of r."""
    keys = WINDOW // rows

    def draw(domain: int) -> Callable[[np.random.Generator, int], np.ndarray]:
        return lambda random, count: random.integers(0, domain, count)

    r, s = Stream("r", 1, {"a": draw(WINDOW * rows)}), Stream("s", 1, {"a": draw(WINDOW * rows), "b": draw(keys)})
    return JoinWorkload(
        f"{rows} vain", (r, s, Stream("t", RATE, {"b": draw(keys)})), (("r.a", "s.a"), ("s.b", "t.b")), WINDOW
    )


def run(workload: JoinWorkload, adaptive: Adaptive, prepare: Callable[[JoinCore], None]) -> tuple[float, int, JoinCore]:
    """Gives seconds, results, and the join."""
    bound = bind_text(workload.script).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog, adaptive=adaptive)
    (join,) = engine._machines[0][0].joins
    prepare(join)
    seconds, results = 0.0, 0
    for piece in workload.pieces(ROWS, PUSHED):
        start = time.process_time()
        for stream, batch in piece.items():
            engine.push(stream, batch)
        results += engine.advance().num_rows
        seconds += time.process_time() - start
    return seconds, results + engine.finish().num_rows, join


def forced(join: JoinCore) -> None:
    """Uses all caches that do not overlap, the longest first."""
    used: list[Cache] = []
    for cache in sorted(join.cache_candidates(), key=lambda each: (len(each.semijoined), -len(each.members))):
        if not any(cache.overlaps(other) for other in used):
            used.append(cache)
    join.use_caches(CacheChoice(tuple(used), memory=1 << 23))


def main() -> None:
    wanted = sys.argv[1:]
    print(f"load {os.getloadavg()[0]:.1f}; {ROWS:,} rows each; ns of CPU per row, and over the plain join")
    print(f"  {'':8} {'plain':>8} {'forced':>14} {'adaptive':>14} {'hits':>6} {'results':>10}")
    joins = [*map(vain, (1, 4, 8, 16, 32, 64)), star(), chain(), *map(sample_point, ("D1", "D4", "D7"))]
    ways = ((Adaptive(mode="off"), _plain), (Adaptive(mode="off"), forced), (Adaptive(), _plain))
    for workload in joins:
        if wanted and workload.name not in wanted:
            continue
        times: list[list[float]] = [[] for _ in ways]
        for _ in range(ROUNDS):
            found = [run(workload, *way) for way in ways]
            assert len({count for _, count, _ in found}) == 1, "caches change no answer"
            for own, (seconds, *_) in zip(times, found, strict=True):
                own.append(seconds)
        plain, *others = (statistics.median(own) / ROWS * 1e9 for own in times)
        ratios = " ".join(f"{each:7,.0f} ({each / plain:4.2f})" for each in others)
        counts = found[1][2].cache_counts().values()
        rate = sum(each.hits for each in counts) / max(1, sum(each.lookups for each in counts))
        print(f"  {workload.name:8} {plain:8,.0f} {ratios} {rate:6.2f} {found[0][1]:10,}", flush=True)


def _plain(join: JoinCore) -> None:
    pass


if __name__ == "__main__":
    main()
