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
from itertools import pairwise

import numpy as np
import pyarrow as pa

import penstock
from penstock.catalog import Catalog
from penstock.engines.embedded import EmbeddedEngine
from penstock.functions import user_function
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
    for cache in sorted(join.caching.candidates(), key=lambda each: (len(each.semijoined), -len(each.members))):
        if not any(cache.overlaps(other) for other in used):
            used.append(cache)
    join.caching.use(CacheChoice(tuple(used), memory=1 << 23))


@penstock.function(arguments=["STRING", "STRING"], returns="DOUBLE")
def likeness(left: str, right: str) -> float:
    """How many pairs of letters that follow each other two names have in common (Dice)."""
    pairs, others = ({*pairwise(name)} for name in (left, right))
    return 2 * len(pairs & others) / max(1, len(pairs) + len(others))


@penstock.function(arguments=["BIGINT", "BIGINT"], returns="BIGINT")
def distance(left: int, right: int) -> int:
    """How many bits differ: hardly any work."""
    return (left ^ right).bit_count()


#: The predicates, each with the rows of both windows.
FUNCTIONS = {"likeness": ("likeness(a.name, b.name) > 0.6", 300), "distance": ("distance(a.n, b.n) < 2", 300)}
NAMES = 200


def run_function(predicate: str, window: int, adaptive: Adaptive) -> tuple[float, int]:
    """A join of two streams on a predicate of a Python function of both sides. Gives seconds and results."""
    columns = "(n BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts"
    catalog = Catalog().calling(user_function(likeness)).calling(user_function(distance))
    text = f"CREATE STREAM a {columns}; CREATE STREAM b {columns};"
    text += f"SELECT a.n, b.n AS m FROM a [ROWS {window}], b [ROWS {window}] WHERE {predicate};"
    bound = bind_text(text, catalog=catalog).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog, adaptive=adaptive)
    random, rows = np.random.default_rng(0), ROWS // 100
    seconds, results = 0.0, 0
    for start in range(0, rows, 1000):
        for place, stream in enumerate("ab"):
            numbers = random.integers(0, NAMES, 500)
            names = [f"name {number * 7919 % 1000:04} of {number % 13}" for number in numbers]
            times = 2 * np.arange(start, start + 500) + place
            batch = pa.RecordBatch.from_pydict({"n": numbers, "name": names, "ts": times})
            begin = time.process_time()
            engine.push(stream, batch)
            seconds += time.process_time() - begin
        begin = time.process_time()
        results += engine.advance().num_rows
        seconds += time.process_time() - begin
    return seconds / rows, results


def functions(wanted: list[str]) -> None:
    for name, (predicate, window) in FUNCTIONS.items():
        if wanted and name not in wanted:
            continue
        times: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            found = [run_function(predicate, window, Adaptive(mode=mode)) for mode in ("off", "full")]
            assert found[0][1] == found[1][1], "caches change no answer"
            for own, (seconds, _) in zip(times, found, strict=True):
                own.append(seconds)
        off, full = (statistics.median(own) * 1e9 for own in times)
        print(f"  {name:8} {off:8,.0f} {'':14} {full:7,.0f} ({full / off:4.2f}) {'':6} {found[0][1]:10,}", flush=True)


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
        counts = found[1][2].caching.counts().values()
        rate = sum(each.hits for each in counts) / max(1, sum(each.lookups for each in counts))
        print(f"  {workload.name:8} {plain:8,.0f} {ratios} {rate:6.2f} {found[0][1]:10,}", flush=True)
    functions(wanted)


def _plain(join: JoinCore) -> None:
    pass


if __name__ == "__main__":
    main()
