"""The demo's auctions in plain PySpark: what `penstock.check` says of the joins, and how much Spark keeps for them.

    python auction_on_spark.py DATA STATE.json

prints the verdicts, and writes by the name of each join the rows read and the rows kept after each micro-batch.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock
from penstock.engines.spark.session import stderr_to


def streams(spark: SparkSession, data: Path) -> tuple[DataFrame, DataFrame]:
    def stream(name: str) -> DataFrame:
        schema = spark.read.parquet(str(data / name)).schema
        rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(data / name))
        return rows.withColumn("ts", F.timestamp_micros("ts"))

    items = stream("item").withColumnRenamed("ts", "opened").alias("items")
    bids = stream("bid").where("kind = 'bid'").withColumnRenamed("ts", "at").alias("bids")
    return items, bids


def plain(items: DataFrame, bids: DataFrame) -> DataFrame:
    return items.join(bids, F.expr("id = auction"))


def with_range(items: DataFrame, bids: DataFrame) -> DataFrame:
    items = items.withWatermark("opened", "0 seconds")
    bids = bids.withWatermark("at", "0 seconds")
    return items.join(bids, F.expr("id = auction AND at BETWEEN opened AND opened + INTERVAL 5 MINUTES"))


IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

JOINS = {"Spark's join": plain, "Spark's join, within 5 minutes": with_range}

SHOWN = {
    "Spark's join": 'items.join(bids, expr("id = auction"))',
    "Spark's join, within 5 minutes": (
        'items.withWatermark("opened", "0 seconds").join(\n'
        '    bids.withWatermark("at", "0 seconds"),\n'
        '    expr("id = auction AND at BETWEEN opened AND opened + INTERVAL 5 MINUTES"))'
    ),
}


def kept(joined: DataFrame, folder: Path) -> list[tuple[int, int]]:
    """Runs a join over all files, one at a time, and returns the rows read and kept after each micro-batch."""
    counted = joined.writeStream.format("noop").option("checkpointLocation", str(folder)).trigger(availableNow=True)
    query = counted.start()
    query.awaitTermination()
    points, read = [(0, 0)], 0
    for progress in query.recentProgress:
        read += progress["numInputRows"]
        points.append((read, sum(operator["numRowsTotal"] for operator in progress["stateOperators"])))
    return points


def main(data: Path, state: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with stderr_to(Path(folder) / "spark.log"):
            # Spark's own settings, but for as many partitions as there are cores.
            spark = penstock.spark_session(**{"spark.sql.streaming.stateStore.providerClass": IN_MEMORY})
            items, bids = streams(spark, data)
            joins = {name: join(items, bids) for name, join in JOINS.items()}
            for name, joined in joins.items():
                print("\n".join(f"    {line}" for line in SHOWN[name].splitlines()), end="\n\n")
                print(*penstock.check(joined), end="\n\n", flush=True)
            points = {name: kept(joined, Path(folder) / str(n)) for n, (name, joined) in enumerate(joins.items())}
            spark.stop()
        state.write_text(json.dumps(points))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
