"""The three-way join of the network workload: Penstock embedded, beside DuckDB's batch join of the same Parquet files.

Both read the files and join c, b and o on the packet's identifier; DuckDB joins the whole files once, with the ten
minutes as a condition, and Penstock as a stream, with every change of the sum in the order of time. Each line is the
median of several runs in this process, in turn, both on one thread, in rows per second of CPU time. `ROWS` in the
environment sets the size.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from penstock.engines.embedded_run import open_run
from penstock.sql import bind_text
from penstock.workloads import network

ROWS = int(os.environ.get("ROWS", "2000000"))

DUCKDB = """
SELECT SUM(c.size) FROM '{0}/c/*.parquet' c, '{0}/b/*.parquet' b, '{0}/o/*.parquet' o
WHERE c.pid = b.pid AND b.pid = o.pid
AND greatest(c.ts, b.ts, o.ts) - least(c.ts, b.ts, o.ts) <= 600000000
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network.write(folder, ROWS)
        load = os.getloadavg()[0]
        print(f"network join of {ROWS:,} rows, one thread each, median of 5 runs after one to warm up; load {load:.1f}")
        ours, theirs = measure(lambda: penstock(folder), lambda: duck(folder))
        print(f"  penstock embedded  {ROWS / ours / 1e6:5.2f} million rows/s of CPU")
        print(f"  duckdb batch       {ROWS / theirs / 1e6:5.2f} million rows/s of CPU")
        print(f"  penstock / duckdb  {theirs / ours:5.2f}")
        growth(folder)


def growth(folder: Path) -> None:
    """Work per row and state over a stream ten times as long, with windows of ten seconds."""
    query = network.QUERY.replace("10 MINUTES", "10 SECONDS")
    print("  windows of ten seconds, as the stream gets longer:")
    base: float | None = None
    for share in (0.1, 0.5, 1.0):
        rows = int(ROWS * share)
        network.write(folder, rows)
        peak = [0, 0]
        (spent,) = measure(lambda peak=peak: penstock(folder, query, peak), runs=3)
        base = base or spent / rows
        print(
            f"    {rows:>10,} rows: {spent / rows * 1e9:6.0f} ns per row ({spent / rows / base:4.2f} of the first), "
            f"peak state {peak[0]:,} rows, {peak[1] / 1e6:.1f} MB"
        )


def penstock(folder: Path, query: str = network.QUERY, peak: list[int] | None = None) -> None:
    script = bind_text(network.ddl(folder) + query).checked()
    for result in open_run(script.queries, script.catalog).results():
        if peak is not None and result is not None:
            peak[:] = map(max, zip(peak, result.engine.state(), strict=True))


def duck(folder: Path) -> None:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute(DUCKDB.format(folder)).fetchall()


def measure(*works: Callable[[], None], runs: int = 5) -> list[float]:
    """The median CPU times, in seconds, of several runs in turn, after one of each to warm up."""
    times: list[list[float]] = [[] for _ in works]
    for run in range(runs + 1):
        for work, of_work in zip(works, times, strict=True):
            start = time.process_time()
            work()
            if run:
                of_work.append(time.process_time() - start)
    return [statistics.median(of_work) for of_work in times]


if __name__ == "__main__":
    main()
