"""Joins of unbounded streams that keep a constant number of buckets: memory and work per row over a long run.

Queries of the paper's table 1, over streams that are made as they are read: Q4 without duplicates, which keeps a
skyline, and Q3 with a count per group, which keeps counters, and with sums, which keeps these beside them. State and
work are printed after each tenth. Beside them stands the plain join, which keeps all rows, over the first of them.
`ROWS` in the environment sets how many each reads. Times are CPU times of this process, without making the rows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import physical
from penstock.closing.physical_join import with_physical_joins
from penstock.engines.embedded import EmbeddedEngine
from penstock.sql import bind_text

ROWS = int(os.environ.get("ROWS", "100000000"))
#: Rows of each stream that are pushed at a time.
PUSHED = 100_000

DDL = """
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM t (d BIGINT, ts BIGINT) TIMESTAMP BY ts;
"""
QUERIES = {
    "Q4, without duplicates": "SELECT DISTINCT s.a FROM s, t WHERE s.b < t.d AND s.a > 10 AND s.a < 20",
    "Q3, counted": "SELECT s.a, COUNT(*) AS n FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20 GROUP BY s.a",
    "Q3, summed": "SELECT s.a, SUM(s.b) AS n FROM s, t WHERE s.a = t.d AND s.a > 10 AND t.d < 20 GROUP BY s.a",
}


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f}")
    for title, select in QUERIES.items():
        list(run(select, 8 * PUSHED, 1))  # compiles what is not compiled yet
        print(f"{title}: {select}")
        kept = measured(select, ROWS)
        few = 2 * PUSHED
        with patch(
            "penstock.plan.passes.with_constant_synopses",
            lambda relation, _: with_physical_joins(physical(relation)),
        ):
            ((seconds, *_),) = run(select, few, 1)
        plain = seconds / few * 1e9
        print(
            f"  the plain join over {few:,} rows: {plain:.0f} ns per row, {plain / kept:.1f} times that of all",
            flush=True,
        )


def measured(select: str, rows: int) -> float:
    """Prints state and work after each tenth, and gives the nanoseconds per row."""
    tenth = rows / 10
    works = []
    for number, (seconds, state_rows, state_bytes) in enumerate(run(select, rows, 10), start=1):
        works.append(seconds / tenth * 1e9)
        state = f"{state_rows} rows and {state_bytes:,} bytes of state"
        work = f"{works[-1]:.0f} ns per row, {tenth / seconds / 1e6:.2f} million rows per second"
        print(f"  {number * tenth:>13,.0f} rows: {state}, {work}", flush=True)
    print(f"  work per row in the last tenth: {works[-1] / works[0]:.2f} times that in the first")
    return sum(works) / len(works)


def run(select: str, rows: int, parts: int) -> Iterator[tuple[float, int, int]]:
    """CPU seconds of each part of a run, with the rows and bytes of state at its end."""
    script = bind_text(f"{DDL} CREATE QUERY q AS {select} ALLOW UNBOUNDED;").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog)
    steps = rows // (2 * PUSHED)
    seconds, part = 0.0, 1
    for number, batches in enumerate(generated(steps), start=1):
        start = time.process_time()
        for stream, batch in batches.items():
            engine.push(stream, batch)
        engine.advance()
        seconds += time.process_time() - start
        if number * parts >= steps * part:
            yield seconds, *engine.state()
            seconds, part = 0.0, part + 1


def generated(steps: int) -> Iterator[dict[str, pa.RecordBatch]]:
    """The same stretch of time of both streams. A row in a hundred of s is between 10 and 20, and so of t."""
    random = np.random.default_rng(1)
    for step in range(steps):
        ts = pa.array(np.arange(step * PUSHED, (step + 1) * PUSHED))
        a, b, d = (random.integers(0, 900, PUSHED) for _ in range(3))
        yield {
            "s": pa.record_batch({"a": pa.array(a), "b": pa.array(b + 1000), "ts": ts}),
            "t": pa.record_batch({"d": pa.array(d), "ts": ts}),
        }


if __name__ == "__main__":
    main()
