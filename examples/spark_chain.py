"""The network query in Spark's own joins, over the files in a folder: prints what Spark held for it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from penstock.engines.spark.session import spark_session, stderr_to
from penstock.workloads.spark_own import network_join, streams


def main(data: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, stderr_to(Path(folder) / "spark.log"):
        spark = spark_session()
        query = (
            network_join(streams(spark, data))
            .writeStream.format("parquet")
            .option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start(f"{folder}/out.parquet")
        )
        query.awaitTermination()
        operators = [progress["stateOperators"] for progress in query.recentProgress]
        rows = max(sum(operator["numRowsTotal"] for operator in step) for step in operators)
        used = max(sum(operator["memoryUsedBytes"] for operator in step) for step in operators)
        print(f"Spark's own chain of two joins held {rows:,} rows and {used / 1e6:.1f} MB at most")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
