"""A memory budget on Spark: the read limit of the next micro-batch follows from what rows took, and nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from penstock.engines.memory_budget import COPIES
from penstock.engines.planning import plan_of
from penstock.engines.spark.declared import frames_of
from penstock.engines.spark.listing import ListedFiles, files_at_once
from penstock.engines.spark.metrics import Taken
from penstock.engines.spark.query import start
from penstock.engines.spark.reading_watch import ReadingWatch
from penstock.monitor.control import Controls
from penstock.monitor.sysstream import properties
from penstock.plan.setting_change import SettingChange
from penstock.plan.settings import Settings, StepSizes
from penstock.sql import bind_text

FILES, ROWS = 24, 500
SQL = """
CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS USING {} OPTIONS (path '{}');
CREATE QUERY q AS SELECT ISTREAM(a, ts) FROM s [RANGE 1 SECOND];
"""


@dataclass
class Pretended:
    """A query whose micro-batches are what a test says."""

    settings: Settings = field(default_factory=Settings)
    latest: Taken | None = None
    files: Mapping[str, int | None] = field(default_factory=dict)
    notes: list[SettingChange] = field(default_factory=list)

    def taken(self) -> Taken | None:
        return self.latest

    def limit_files(self, files: Mapping[str, int | None]) -> bool:
        self.files = files
        return True

    def note(self, change: SettingChange) -> None:
        self.notes.append(change)


def took(
    batch: int, rows: Mapping[str, int], files: list[int], *, newest: Mapping[str, int] | None = None, kept: int = 0
) -> Taken:
    """A micro-batch whose rows took 100 bytes each, after which so many are kept, of 100 bytes as well."""
    return Taken(batch, rows, newest or dict.fromkeys(rows, 9), files, 100 * sum(rows.values()), kept, 100 * kept, 0)


def test_reading_begins_with_a_file_and_follows_what_rows_cost_and_what_is_kept() -> None:
    query = Pretended(Settings(memory=100 * COPIES * 4_000))
    watch = ReadingWatch(query, {"s": None}, {"s": 0}, None)
    watch.examine()
    assert query.files == {"s": 1}
    query.latest = took(0, {"s": 500}, [1])
    watch.examine()
    assert query.files == {"s": 8}
    query.latest = took(1, {"s": 8_000}, [8])
    watch.examine()
    assert query.files == {"s": 4}, "files are larger than the first"
    query.latest = took(2, {"s": 4_000}, [4], kept=18_000)
    watch.examine()
    assert query.files == {"s": 1}, "state leaves room for 1,000 rows"
    query.latest = took(3, {"s": 1_000}, [1], kept=10 * 24_000)
    watch.examine()
    assert query.files == {"s": 1}, "reading goes on, so that what can be purged goes"
    assert [change.after for change in query.notes] == ["s 1", "s 8", "s 4", "s 1"]
    query.settings = Settings()
    watch.examine()
    assert query.files == {"s": None}
    assert query.notes[-1].after == "off"


def test_the_proven_bound_counts_from_the_start() -> None:
    query = Pretended(Settings(memory=100 * COPIES * 4_000), took(0, {"s": 500}, [1], kept=500))
    ReadingWatch(query, {"s": None}, {"s": 0}, 500).examine()
    assert query.files == {"s": 4}
    ReadingWatch(query, {"s": None}, {"s": 0}, 18_000).examine()
    assert query.files == {"s": 2}


def test_a_stream_that_is_ahead_is_read_as_slowly_as_can_be() -> None:
    query = Pretended(Settings(memory=100 * COPIES * 4_000))
    query.latest = took(0, {"s": 100, "r": 100}, [1, 1, 0], newest={"s": 500, "r": 900})
    ReadingWatch(query, {"s": None, "r": None}, {"s": 0, "r": 100}, None).examine()
    assert query.files == {"s": 32, "r": 1}


def test_a_read_limit_and_what_is_declared_hold_beside_a_budget() -> None:
    query = Pretended(Settings(steps=StepSizes(read_limit=2_100)), took(0, {"s": 500}, [1]))
    ReadingWatch(query, {"s": None}, {"s": 0}, None).examine()
    assert query.files == {"s": 4}
    ReadingWatch(query, {"s": 3}, {"s": 0}, None).examine()
    assert query.files == {"s": 3}
    query.settings = replace(query.settings, memory=1)
    ReadingWatch(query, {"s": 3}, {"s": 0}, None).examine()
    assert query.files == {"s": 1}


def write_files(folder: Path) -> None:
    (folder / "s").mkdir()
    for part in range(FILES):
        rows = pa.array(range(part * ROWS, (part + 1) * ROWS), pa.int64())
        path = folder / "s" / f"{part:03d}.parquet"
        pq.write_table(pa.table({"a": rows, "ts": rows}), path)
        os.utime(path, (1_000_000_000 + part, 1_000_000_000 + part))


def test_a_backlog_is_read_in_micro_batches_that_fit_and_none_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path)
    script = bind_text(SQL.format("parquet", tmp_path / "s")).checked()
    (query,) = script.queries
    planned = plan_of(query, script.catalog, 1)
    streams, tables = frames_of(planned, script.catalog, spark, slowly=True)
    out = str(tmp_path / "out.parquet")
    running = start(
        query, script.catalog, streams, tables, spark=spark, out=out, checkpoint=str(tmp_path / "c"), planned=planned,
        until_done=True, memory=300_000,
    )  # fmt: skip
    running.await_done()
    assert sorted(spark.read.parquet(out).toArrow().column("a").to_pylist()) == list(range(FILES * ROWS))
    lines = running.operators()
    read = [line.rows_in for line in lines if line.operator == "source" and line.rows_in]
    assert sum(read) == FILES * ROWS
    assert read[0] == ROWS, "the first micro-batch is a file, because nothing is known by then"
    assert max(read) < FILES * ROWS
    limits = [change.after for line in lines for change in line.changes if change.name == "memory.read_limit"]
    assert limits
    told = [row for row in properties(lines, 0) if row.kind == "setting" and row.entity == "memory.read_limit"]
    assert {row.text for row in told} == set(limits)


def test_a_read_limit_takes_effect_while_the_query_runs(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path)
    script = bind_text(SQL.format("parquet", tmp_path / "s")).checked()
    (query,) = script.queries
    planned = plan_of(query, script.catalog, 1)
    streams, tables = frames_of(planned, script.catalog, spark, slowly=True)
    running = start(
        query, script.catalog, streams, tables, spark=spark, out=str(tmp_path / "out.parquet"),
        checkpoint=str(tmp_path / "c"), planned=planned, until_done=True,
    )  # fmt: skip
    controls = Controls([running])
    controls.set("read_limit", str(100 * ROWS))
    controls.apply()
    running.await_done()
    read = [line.rows_in for line in running.operators() if line.operator == "source" and line.rows_in]
    assert sum(read) == FILES * ROWS
    assert len(read) < FILES, "it was one file for each micro-batch before"


def test_of_streams_that_spark_reads_nothing_can_be_said() -> None:
    frame = cast(Any, object())
    files, other = ListedFiles(frame, "csv", {}, False, 3), ListedFiles(frame, "csv", {}, False, limits_bytes=True)
    assert files_at_once({"s": files, "r": frame, "t": other}) == ({"s": 3}, ["r", "t"])
