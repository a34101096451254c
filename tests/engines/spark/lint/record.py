"""Runs the corpus on Spark and records what its state did: `python -m tests.engines.spark.lint.record [NAME...]`.

A program runs for some micro-batches. Its state is what Spark's own metrics say, `numRowsTotal` of all its operators:
it grows if each of the last batches has more.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.engines.spark.lint.corpus import CORPUS
from tests.engines.spark.lint.sources import Streams

RECORDED = Path(__file__).parent / "recorded.json"
BATCHES = 8
#: Programs are many and rows few: compiled code would not pay.
SETTINGS = {
    "shuffle.partitions": "1",
    "session.timeZone": "UTC",
    "streaming.numRecentProgressUpdates": "1000",
    "codegen.wholeStage": "false",
    "codegen.factoryMode": "NO_CODEGEN",
}


def observe(df: DataFrame, mode: str) -> dict[str, object]:
    """Returns what Spark does with a query, `flat`, `grows` or `refused`, and the rows of its state by batch."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            query = df.writeStream.format("noop").outputMode(mode).option("checkpointLocation", folder).start()
        except PySparkException as error:
            return {"spark": "refused", "error": _condition(error)}
        try:
            while query.isActive and len(_rows(query)) < BATCHES:
                time.sleep(0.1)
            error = query.exception()
            rows = _rows(query)[:BATCHES]
        finally:
            query.stop()
    if error is not None:
        return {"spark": "refused", "error": _condition(error)}
    grows = rows[-1] > rows[-2] > rows[-3] > rows[-4]
    return {"spark": "grows" if grows else "flat", "rows": rows}


def _rows(query) -> list[int]:  # type: ignore[no-untyped-def]
    latest = {progress["batchId"]: progress["stateOperators"] for progress in query.recentProgress}
    return [sum(operator["numRowsTotal"] for operator in operators) for _, operators in sorted(latest.items())]


def _condition(error: Exception) -> str:
    found = re.search(r"\[([A-Z_0-9]+(?:\.[A-Z_0-9]+)?)\]", str(error).replace("[STREAM_FAILED]", ""))
    return found[1] if found else str(error).splitlines()[0][:120]


def main(names: list[str]) -> None:
    os.environ.update(PYSPARK_PYTHON=sys.executable, PYTHONPATH=os.pathsep.join(sys.path))
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for key, value in SETTINGS.items():
        builder = builder.config(f"spark.sql.{key}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    wanted = names or [name for name in CORPUS if name not in recorded]

    def one(name: str) -> tuple[str, dict[str, object]]:
        program = CORPUS[name]
        try:
            df = program.build(Streams(spark))
        except PySparkException as error:
            return name, {"spark": "refused", "error": _condition(error)}
        return name, observe(df, program.mode)

    with ThreadPoolExecutor(2) as pool:
        for name, seen in pool.map(one, wanted):
            print(name, seen, flush=True)
            recorded[name] = seen
            kept = {each: recorded[each] for each in CORPUS if each in recorded}
            lines = ",\n".join(f"  {json.dumps(each)}: {json.dumps(what)}" for each, what in kept.items())
            RECORDED.write_text(f"{{\n{lines}\n}}\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
