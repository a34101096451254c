"""Counting instead of joining: SYN, SYN-ACK and ACK packets with attacks, by exact joins and by counters (001, 5).

In one run, on the same Parquet files, in CPU time, each after one small run to warm up: our exact plan and our
counters, embedded, with the time that their plans take; DuckDB on one thread with the query as it is asked and with the
one that counts apart, as the paper did in MySQL. The time of counters is given with monitors of one key in 64, and
without. `ROWS` sets the packets in all (default 300000); `SIZES` draws figure 1, response time over data size, as
`SIZES=100000,200000,400000`. `SPARK=1` adds Spark's own join and anti-join (an outer join, as Spark has no streaming
anti-join) on local[2], and both of our plans on Spark, over `SPARK_ROWS` packets (default 150000), each after a run
over few packets, since a Java process is slow at first: wall-clock time from the start of the query to its end, and CPU
time of all processes, which says more where others use the machine. `SPARK=ours` leaves Spark's own joins out.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from penstock import Session
from penstock.workloads import packets

ROWS = int(os.environ.get("ROWS", "300000"))
SPARK_ROWS = int(os.environ.get("SPARK_ROWS", "150000"))
#: About so many buckets of five minutes.
BUCKETS = 6
SIZES = [int(size) for size in os.environ.get("SIZES", "").split(",") if size]

JOINED = """
SELECT epoch_us(s.time) // 300000000 AS tb, COUNT(*) AS cnt
FROM '{0}/syn/*.parquet' s JOIN '{0}/synack/*.parquet' sa
  ON s.ip = sa.ip AND sa.time >= s.time AND sa.time - s.time <= INTERVAL 5 SECONDS
WHERE NOT EXISTS (SELECT 1 FROM '{0}/ack/*.parquet' a
                  WHERE sa.ip = a.ip AND a.time >= sa.time AND a.time - sa.time <= INTERVAL 5 SECONDS)
GROUP BY tb ORDER BY tb
"""
APART = """
SELECT tb, least(s, sa) - a AS cnt FROM (
  SELECT epoch_us(time) // 300000000 AS tb, count(*) FILTER (kind = 0) AS s, count(*) FILTER (kind = 1) AS sa,
         count(*) FILTER (kind = 2) AS a
  FROM (SELECT time, 0 AS kind FROM '{0}/syn/*.parquet' UNION ALL SELECT time, 1 FROM '{0}/synack/*.parquet'
        UNION ALL SELECT time, 2 FROM '{0}/ack/*.parquet') GROUP BY tb) ORDER BY tb
"""


def ours(folder: Path, name: str, ignore: bool = False) -> tuple[float, dict[int, tuple[int, int]]]:
    """Seconds, and by bucket the ends of the interval that is left at the end."""
    text = packets.ddl(folder) + packets.QUERIES
    if ignore:
        text = "\n".join(
            line.replace(";", " ON VIOLATION IGNORE;") if line.startswith("CREATE ASSERTION") else line
            for line in text.splitlines()
        )
    session = Session()
    found = {query.name: query for query in session.sql(text)}
    begun = time.process_time()
    held: dict[int, tuple[int, int]] = {}
    for table in found[name].run():
        columns = table.to_pydict() if table.num_rows < 100_000 else table.slice(table.num_rows - 1000).to_pydict()
        low, high = (columns.get(f"cnt{end}", columns["cnt"]) for end in ("_low", "_high"))
        held |= {tb: (a, b) for tb, op, a, b in zip(columns["tb"], columns["_op"], low, high, strict=True) if op == "+"}
    return time.process_time() - begun, held


def duck(folder: Path, text: str) -> tuple[float, dict[int, int]]:
    connection = duckdb.connect(config={"threads": 1})
    begun = time.process_time()
    rows = connection.execute(text.format(folder)).fetchall()
    return time.process_time() - begun, dict(rows)


def measured(folder: Path, rows: int) -> dict[str, float]:
    """Seconds of each, after a check that every interval holds the exact count."""
    packets.write(folder, rows, rate=max(20, rows // BUCKETS // 900))
    exact, truth = duck(folder, JOINED)
    apart, _ = duck(folder, APART)
    joined, _ = ours(folder, "asked")
    counted, intervals = ours(folder, "approximated")
    unwatched, _ = ours(folder, "approximated", ignore=True)
    assert all(low <= truth.get(tb, 0) <= high for tb, (low, high) in intervals.items()), "an interval lacks the count"
    if intervals:
        width = sum(high - low for low, high in intervals.values()) / len(intervals)
        mean = sum(truth.get(tb, 0) for tb in intervals) / len(intervals)
        print(f"  {len(intervals)} closed buckets, mean width {width:.0f} of mean count {mean:.0f}")
    return {"exact": joined, "counters": counted, "unwatched": unwatched, "duckdb join": exact, "duckdb apart": apart}


def spark_own(folder: Path) -> float:
    """Spark's own streaming joins over the same files, all of them at once, on local[2]."""
    from pyspark.sql import functions as F

    from penstock.engines.spark.session import spark_session

    spark = spark_session("local[2]")

    def stream(name: str) -> Any:
        schema = spark.read.parquet(str(folder / name)).schema
        frame = spark.readStream.schema(schema).parquet(str(folder / name))
        return frame.select(F.col("time").alias(f"{name}_time"), F.col("ip").alias(f"{name}_ip")).withWatermark(
            f"{name}_time", "1 second"
        )

    five = F.expr("INTERVAL 5 SECONDS")
    syn, synack, ack = (stream(name) for name in packets.STREAMS)
    pairs = syn.join(
        synack,
        (F.col("syn_ip") == F.col("synack_ip"))
        & (F.col("synack_time") >= F.col("syn_time"))
        & (F.col("synack_time") <= F.col("syn_time") + five),
    )
    # An operator must not read two event times, so the second is a plain time from here on, and the range of the second
    # join is given for the first, too: it follows from the conditions.
    pairs = pairs.select("syn_time", "synack_ip", (F.col("synack_time") + F.expr("INTERVAL 0 SECONDS")).alias("answer"))
    open_ = pairs.join(
        ack,
        (F.col("synack_ip") == F.col("ack_ip"))
        & (F.col("ack_time") >= F.col("answer"))
        & (F.col("ack_time") <= F.col("answer") + five)
        & (F.col("ack_time") >= F.col("syn_time"))
        & (F.col("ack_time") <= F.col("syn_time") + five + five),
        "left_outer",
    ).where("ack_ip IS NULL")
    counts = open_.select("syn_time").groupBy(F.window("syn_time", "5 minutes")).count()
    with tempfile.TemporaryDirectory() as place:
        begun = time.perf_counter()
        writer = counts.writeStream.outputMode("append").trigger(availableNow=True).format("parquet")
        writer.option("checkpointLocation", f"{place}/c").start(f"{place}/out").awaitTermination()
        return time.perf_counter() - begun


def ours_on_spark(folder: Path, name: str) -> float:
    from penstock.engines.spark.session import spark_session

    with tempfile.TemporaryDirectory() as place:
        session = Session(spark_session("local[2]"))
        found = {query.name: query for query in session.sql(packets.ddl(folder) + packets.QUERIES)}
        begun = time.perf_counter()
        running = found[name].start(f"{place}/out.parquet", checkpoint=f"{place}/c", until_done=True)
        running.await_done()
        return time.perf_counter() - begun


def cpu_seconds() -> float:
    """The CPU time of this process and of all that it has started, also of those that have ended."""
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
            used[int(entry.parent.name)] = sum(map(int, fields[11:15]))
    tree = [os.getpid()]
    for process in tree:
        tree += children.get(process, [])
    return sum(used.get(process, 0) for process in tree) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        measured(Path(place) / "warm", 20_000)
        for rows in SIZES or [ROWS]:
            folder = Path(place) / str(rows)
            took = measured(folder, rows)
            for name, seconds in took.items():
                print(f"  {name:>13}: {seconds:8.3f} s, {rows / seconds:>12,.0f} rows/s")
            print(f"{rows:,} packets: counters {took['exact'] / took['counters']:.1f} times the exact plan,")
            print(f"  {took['exact'] / took['unwatched']:.1f} times if nothing is watched,")
            print(f"  DuckDB counts apart {took['duckdb join'] / took['duckdb apart']:.1f} times as fast as it joins")
        if os.environ.get("SPARK"):
            compare_on_spark(Path(place) / "spark")


def compare_on_spark(folder: Path) -> None:
    """Spark's own joins, and our plans on Spark, over the same files; each says when it is done."""
    few = folder / "few"
    packets.write(few, 20_000, rate=20)
    packets.write(folder, SPARK_ROWS, rate=max(20, SPARK_ROWS // BUCKETS // 900))
    print(f"{SPARK_ROWS:,} packets on Spark, local[2]", flush=True)
    runs: dict[str, Callable[[Path], float]] = {
        "Spark's own joins": spark_own,
        "our exact plan": partial(ours_on_spark, name="asked"),
        "our counters": partial(ours_on_spark, name="approximated"),
    }
    if os.environ["SPARK"] == "ours":
        del runs["Spark's own joins"]
    took: dict[str, tuple[float, float]] = {}
    for name, run in runs.items():
        run(few)
        before = cpu_seconds()
        wall = run(folder)
        took[name] = wall, cpu_seconds() - before
        rate = f"{SPARK_ROWS / wall:>10,.0f} rows/s"
        print(f"  {name:>17}: {wall:6.1f} s, {rate}, {took[name][1]:6.1f} s of CPU", flush=True)
    counted = took.pop("our counters")
    for name, (wall, cpu) in took.items():
        print(f"  counters: {wall / counted[0]:.1f} times {name}, {cpu / counted[1]:.1f} times in CPU time")


if __name__ == "__main__":
    main()
