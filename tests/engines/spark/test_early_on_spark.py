"""On Spark a match comes in the micro-batch that brings its second row, and a restart goes on where it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.engines.spark.query import RunningQuery, start
from penstock.engines.spark.work import make_work
from penstock.sql import bind_text
from tests.engines.spark.running import frames
from tests.engines.spark.test_idle_on_spark import write
from tests.engines.test_early_results import SQL


def test_a_match_comes_though_one_stream_is_quiet(spark: SparkSession, tmp_path: Path) -> None:
    script = bind_text(SQL).checked()
    for stream in ("shown", "clicked"):
        write(tmp_path / "in", stream, 0)

    def begun(*, until_done: bool = False) -> RunningQuery:
        return start(
            script.queries[0],
            script.catalog,
            frames(spark, script.catalog, tmp_path / "in", files=10),
            spark=spark,
            out=str(tmp_path / "out.parquet"),
            checkpoint=str(tmp_path / "checkpoint"),
            cells=2,
            until_done=until_done,
        )

    def matches() -> list[tuple[int, int]]:
        found = spark.read.parquet(str(tmp_path / "out.parquet")).collect()
        return sorted((row["_ts"], row["ad"]) for row in found)

    running = begun()
    assert running._query is not None
    write(tmp_path / "in", "clicked", 1, (7, 12))
    running._query.processAllAvailable()
    write(tmp_path / "in", "shown", 1, (7, 10), (8, 20), (9, 100))
    running._query.processAllAvailable()
    assert matches() == [(12, 7)]
    running.stop()

    running = begun(until_done=True)
    write(tmp_path / "in", "clicked", 2, (8, 19), (8, 50), (9, 130))
    running.await_done()
    assert matches() == [(12, 7), (50, 8), (130, 9)]


def test_a_checkpoint_is_of_a_query_that_is_early_or_not() -> None:
    script = bind_text(SQL).checked()
    waiting = replace(script.queries[0], early=False)
    works = [make_work(query, script.catalog, 2, None) for query in (script.queries[0], waiting)]
    assert works[0].fingerprint != works[1].fingerprint
