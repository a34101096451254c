"""Penstock on Spark beside Spark's own operators: the network join, a star join of four, and a sliding aggregate; the
network join with constraints, and auctions that punctuations close.

Both sides read the same Parquet files in the same micro-batches on local[2] and write Parquet, each in a process of its
own. A process first runs the query on little data, so that code is compiled and workers are up, and then several times
on all of it; medians are printed. What is counted is the wall time from the start of the query to its end, the CPU time
of all processes meanwhile, and the most bytes of state that were reported.

Penstock's streams are declared, so that its workers read the files and write the results; Spark keeps the books.
The sides are alike but for this: Spark has no windows of rows, and its chain for the star keeps one time only, so there
each satellite is within reach of the hub and not of the other satellites, which gives more results; its streams declare
their ids UNIQUE to Penstock, which Spark cannot be told; and both keep their state in RocksDB, because Spark's default
provider runs out of the default heap with the network's rows.

`ROWS`, `FILES`, `RUNS` and `ONLY` (a workload's name) in the environment say how much.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from penstock.engines.metrics import DICTIONARY
from penstock.workloads import auction, network, sliding, star
from penstock.workloads.spark_own import auction_join, network_join, sliding_aggregate, star_join, streams

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = int(os.environ.get("ROWS", "2000000"))
FILES = int(os.environ.get("FILES", "4"))
RUNS = int(os.environ.get("RUNS", "3"))
ONLY = os.environ.get("ONLY")

Figures = dict[str, float]


@dataclass(frozen=True)
class Workload:
    name: str
    #: Rows, as a part of `ROWS`.
    share: float
    module: Any
    spark: Callable[[dict[str, DataFrame]], DataFrame]


class Constrained:
    """The network with what is known of it declared."""

    RESULTS = network.RESULTS
    write = staticmethod(network.write)

    @staticmethod
    def ddl(folder: Path) -> str:
        return network.ddl(folder, constrained=True)


WORKLOADS = (
    Workload("network", 1.0, network, network_join),
    Workload("star", 0.04, star, star_join),
    Workload("sliding", 1.0, sliding, sliding_aggregate),
    Workload("constrained", 1.0, Constrained, network_join),
    Workload("auction", 0.5, auction, auction_join),
)


def main() -> None:
    print(f"local[2], {FILES} micro-batches, medians of {RUNS} runs after a small one; load {os.getloadavg()[0]:.1f}")
    for workload in WORKLOADS:
        if ONLY in (None, workload.name):
            compare(workload)


def compare(workload: Workload) -> None:
    rows = int(ROWS * workload.share)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workload.module.write(folder / "data", rows, FILES)
        workload.module.write(folder / "little", max(1000, rows // 20), 2)
        print(f"{workload.name}, {rows:,} rows")
        ours, theirs = (measured(workload, side, folder) for side in ("penstock", "spark"))
    for side, found in (("penstock", ours), ("spark's own", theirs)):
        print(
            f"  {side:12} {rows / found['wall']:>10,.0f} rows/s  {rows / found['cpu']:>10,.0f} rows/s of CPU  "
            f"{found['state'] / 1e6:8.1f} MB and {found['state_rows']:,.0f} rows of state at most  "
            f"{found['results']:,.0f} results",
            flush=True,
        )
    ratios = (theirs["wall"] / ours["wall"], theirs["cpu"] / ours["cpu"], theirs["state"] / max(1, ours["state"]))
    rows_ratio = theirs["state_rows"] / max(1, ours["state_rows"])
    print("  penstock is {:.1f} times as fast, {:.1f} times in CPU,".format(*ratios[:2]), end=" ")
    print(f"with 1/{ratios[2]:.1f} of the bytes and 1/{rows_ratio:.1f} of the rows of state")


def measured(workload: Workload, side: str, folder: Path) -> Figures:
    """Runs one side in a process of its own and gives the medians of what it says of itself."""
    command = [sys.executable, __file__, workload.name, side, str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{workload.name} failed on the side of {side}:\n{done.stdout}{done.stderr}")
    runs: list[Figures] = json.loads(done.stdout.splitlines()[-1])
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def run_side(workload: Workload, side: str, folder: Path) -> list[Figures]:
    from penstock.engines.spark.session import spark_session

    session = spark_session("local[2,4]")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    run = penstock if side == "penstock" else spark
    run(workload, session, folder / "little", folder / f"{side}-little")
    return [run(workload, session, folder / "data", folder / f"{side}-{number}") for number in range(RUNS)]


def penstock(workload: Workload, session: SparkSession, data: Path, out: Path) -> Figures:
    from penstock.engines.planning import plan_of
    from penstock.engines.spark.declared import frames_of
    from penstock.engines.spark.query import start
    from penstock.sql import bind_text

    declared = workload.module.ddl(data).replace("OPTIONS (", "OPTIONS (maxFilesPerTrigger '1', ")
    script = bind_text(declared + workload.module.RESULTS).checked()
    planned = plan_of(script.queries[0], script.catalog, 2)
    clock = Clock()
    running = start(
        script.queries[0],
        script.catalog,
        *frames_of(planned, script.catalog, session),
        spark=session,
        out=str(out / "out.parquet"),
        checkpoint=str(out / "checkpoint"),
        cells=2,
        until_done=True,
        planned=planned,
    )
    running.await_done(clock.tick)
    figures = clock.read()
    size: dict[int, int] = {}
    rows: dict[int, int] = {}
    for metric in running.operators():
        size[metric.step] = size.get(metric.step, 0) + metric.state_bytes
        if metric.operator != DICTIONARY:
            rows[metric.step] = rows.get(metric.step, 0) + metric.state_rows
    results = session.read.parquet(str(out / "out.parquet")).count()
    state = {"state": max(size.values(), default=0), "state_rows": max(rows.values(), default=0)}
    return figures | state | {"results": results}


def spark(workload: Workload, session: SparkSession, data: Path, out: Path) -> Figures:
    clock = Clock()
    running = (
        workload.spark(streams(session, data))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(out / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(out / "out.parquet"))
    )
    # This raises the error of a query that has failed; one that is not active any more may have.
    while not running.awaitTermination(1):
        clock.tick()
    figures = clock.read()
    steps = [p["stateOperators"] for p in running.recentProgress]
    size = max((sum(o["memoryUsedBytes"] for o in step) for step in steps), default=0)
    rows = max((sum(o["numRowsTotal"] for o in step) for step in steps), default=0)
    results = session.read.parquet(str(out / "out.parquet")).count()
    return figures | {"state": size, "state_rows": rows, "results": results}


class Clock:
    """Wall time, and the CPU time of this process and of all that it started."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._first = self._cpu()
        self._seen: dict[int, float] = {}

    def tick(self) -> None:
        self._seen |= self._cpu()

    def read(self) -> Figures:
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
        chosen = next(workload for workload in WORKLOADS if workload.name == sys.argv[1])
        print(json.dumps(run_side(chosen, sys.argv[2], Path(sys.argv[3]))))
