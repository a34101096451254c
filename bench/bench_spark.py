"""The network join on Spark: Penstock, beside Spark's own chain of two stream-stream joins with watermarks and ranges.

Both read the same Parquet files in the same micro-batches on local[2], each in a process of its own, and write Parquet.
What is counted is the wall time from the start of the query to its end, without the start of the JVM, the CPU time of
all processes meanwhile, and the most bytes of state that were reported. `ROWS` and `FILES` in the environment set the
size.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from penstock.workloads import network

ROWS = int(os.environ.get("ROWS", "2000000"))
FILES = int(os.environ.get("FILES", "4"))
RANGE = "INTERVAL 10 MINUTES"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network.write(folder / "data", ROWS, FILES)
        print(f"network join of {ROWS:,} rows in {FILES} micro-batches on local[2]; load {os.getloadavg()[0]:.1f}")
        ours, theirs = (measured(side, folder) for side in ("penstock", "spark"))
        for side, result in (("penstock", ours), ("spark's own joins", theirs)):
            print(
                f"  {side:18} {ROWS / result['wall']:>10,.0f} rows/s  {ROWS / result['cpu']:>10,.0f} rows/s of CPU  "
                f"{result['state'] / 1e6:8.1f} MB of state at most  {result['results']:,} results"
            )
        ratios = (theirs["wall"] / ours["wall"], theirs["cpu"] / ours["cpu"], theirs["state"] / ours["state"])
        print("  penstock is {:.1f} times as fast, {:.1f} times in CPU, with 1/{:.1f} of the state".format(*ratios))


def measured(side: str, folder: Path) -> dict[str, float]:
    """Runs one side in a process of its own and gives what it says of itself."""
    command = [sys.executable, __file__, side, str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def penstock(folder: Path) -> dict[str, float]:
    from penstock.engines.spark import spark_session, start
    from penstock.sql import bind_text

    spark = spark_session("local[2,4]")
    query = network.QUERY.replace("SUM(c.size) AS total", "ISTREAM(c.pid AS pid, c.size AS size)")
    script = bind_text(network.ddl(folder / "data") + query).checked()
    schema = "pid BIGINT, size BIGINT, ts BIGINT"
    frames = {
        link: spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "data" / link))
        for link in network.SHARES
    }
    clock = Clock()
    running = start(
        script.queries[0],
        script.catalog,
        frames,
        {},
        spark=spark,
        out=str(folder / "ours.parquet"),
        checkpoint=str(folder / "ours"),
        cells=2,
        until_done=True,
    )
    running.await_done(clock.tick)
    by_step: dict[int, int] = {}
    for metric in running.metrics():
        by_step[metric.step] = by_step.get(metric.step, 0) + (metric.state_bytes or 0)
    results = spark.read.parquet(str(folder / "ours.parquet")).count()
    return clock.read() | {"state": max(by_step.values(), default=0), "results": results}


def spark(folder: Path) -> dict[str, float]:
    from pyspark.sql import functions as f

    from penstock.engines.spark import spark_session

    session = spark_session("local[2,4]")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    sides = {}
    for link in network.SHARES:
        rows = session.readStream.schema("pid BIGINT, size BIGINT, ts BIGINT").option("maxFilesPerTrigger", 1)
        frame = rows.parquet(str(folder / "data" / link))
        sides[link] = frame.select(
            f.col("pid").alias(f"{link}_pid"),
            f.col("size").alias(f"{link}_size"),
            f.timestamp_micros(f.col("ts")).alias(f"{link}_ts"),
        ).withWatermark(f"{link}_ts", "0 seconds")
    bounds = f"{{0}}_ts >= {{1}}_ts - {RANGE} AND {{0}}_ts <= {{1}}_ts + {RANGE}"
    two = sides["c"].join(sides["b"], f.expr(f"c_pid = b_pid AND {bounds.format('c', 'b')}")).drop("c_ts")
    three = two.join(sides["o"], f.expr(f"b_pid = o_pid AND {bounds.format('b', 'o')}"))
    clock = Clock()
    running = (
        three.select("c_pid", "c_size")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "theirs"))
        .trigger(availableNow=True)
        .start(str(folder / "theirs.parquet"))
    )
    while running.isActive:
        clock.tick()
        running.awaitTermination(0.2)
    clock.tick()
    state = [sum(o["memoryUsedBytes"] for o in p["stateOperators"]) for p in running.recentProgress]
    results = session.read.parquet(str(folder / "theirs.parquet")).count()
    return clock.read() | {"state": max(state, default=0), "results": results}


class Clock:
    """Wall time, and the CPU time of this process and of all that it started."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._first = self._cpu()
        self._seen: dict[int, float] = {}

    def tick(self) -> None:
        self._seen |= self._cpu()

    def read(self) -> dict[str, float]:
        self.tick()
        cpu = sum(spent - self._first.get(pid, 0.0) for pid, spent in self._seen.items())
        return {"wall": time.perf_counter() - self._start, "cpu": cpu}

    def _cpu(self) -> dict[int, float]:
        me = psutil.Process()
        spent = {}
        for process in (me, *me.children(recursive=True)):
            try:
                times = process.cpu_times()
                spent[process.pid] = times.user + times.system
            except psutil.NoSuchProcess:
                continue
        return spent


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        side, folder = sys.argv[1], Path(sys.argv[2])
        print(json.dumps(penstock(folder) if side == "penstock" else spark(folder)))
