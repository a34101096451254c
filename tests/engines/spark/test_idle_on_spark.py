"""On Spark the driver decides which streams are idle, and a batch that is tried again follows the same decision."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.engines.spark.idle_watch import IdleWatch
from penstock.engines.spark.query import RunningQuery, build, start
from penstock.engines.spark.source import _PackControl
from penstock.engines.spark.state_directory import StateDirectory
from penstock.engines.spark.work import make_work, tables_of, with_tables
from penstock.errors import PenstockError
from penstock.sql import bind_text
from tests.engines.comparing import Log, bound, expected, table
from tests.engines.spark.pretending import PretendedSpark
from tests.engines.spark.running import frames
from tests.engines.test_idle_streams import SECOND, SQL, Hand, Oracle, with_horizon
from tests.generators import Case, cases


class Quiet(PretendedSpark):
    """Micro-batches between which some streams are said to be idle, now and then too late."""

    def run_idle(self, case: Case, oracle: Oracle) -> Log:
        files = {stream.name: self._files(stream, case) for stream in self.work.streams}
        left = {stream.name: list(case.data[stream.name]) for stream in self.work.streams}
        rows, idle, sequence = dict.fromkeys(files, 0), frozenset[str](), 0
        while any(files.values()):
            tasks: list[list[pa.RecordBatch]] = []
            told: Mapping[str, int] | None = None
            if self.random.random() < 0.5:
                told = {name: count for name, count in rows.items() if self.random.random() < 0.6}
                sequence += 1
                line = json.dumps({"sequence": sequence, "idle": told})
                tasks.append(list(_PackControl(self.work)([pa.record_batch([pa.array([line])], names=["value"])])))
            before = dict(rows)
            for stream in self.work.streams:
                count = min(len(files[stream.name]), self.random.choice((0, 0, 1, 2)))
                taken, files[stream.name] = files[stream.name][:count], files[stream.name][count:]
                read = sum(file.num_rows for file in taken)
                rows[stream.name] += read
                oracle.arrive(stream.name, left[stream.name][:read], case.horizon)
                left[stream.name] = left[stream.name][read:]
                tasks += self._tasks(stream, taken)
            if told is not None:
                idle = frozenset(told)
            idle = frozenset(name for name in idle if rows[name] == before[name])
            self._batch(tasks)
            if any(tasks):
                oracle.go_on(idle)
        self._batch([list(_PackControl(self.work)([pa.record_batch([pa.array(["close"])], names=["value"])]))])
        StateDirectory(self.work.run).remove()
        return self.log


@settings(max_examples=settings().max_examples // 3)
@given(cases(), st.integers(1, 3), st.integers(0, 2**32))
def test_cells_go_on_without_the_streams_that_a_micro_batch_says(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    work = make_work(query, catalog, cells, case.horizon)
    case = with_horizon(case, work.streams)
    work = make_work(query, catalog, cells, case.horizon)
    contents = {t.name: table(t, case.data.get(t.name, ())) for t in tables_of(work, catalog)}
    oracle = Oracle(work.streams)
    spark = Quiet(with_tables(work, contents), Random(seed))
    log = spark.run_idle(case, oracle)
    assert log == expected(replace(case, data={**case.data, **oracle.kept}), query, catalog)
    streams = [note["streams"] for note in spark.notes if "streams" in note]
    if streams and oracle.late:
        assert sum(stream["late_rows"] for stream in streams[0].values()) >= oracle.late


def test_the_driver_tells_the_cells_what_has_changed() -> None:
    clock, told = Hand(), list[Mapping[str, int]]()
    rows = {"shown": 5, "clicked": 3}
    watch = IdleWatch({"clicked": 30}, lambda: (rows, {"shown": 5, "clicked": 3}), told.append, clock)
    watch.examine()
    clock.now = 1000
    watch.examine()
    rows["shown"] = 6
    watch.examine()
    clock.now = 1029
    watch.examine()
    assert told == []
    clock.now = 1030
    for _ in range(3):
        watch.examine()
    assert told == [{"clicked": 3}, {}]
    rows["shown"] = 7
    watch.examine()
    clock.now = 1050
    rows["shown"] = 8
    watch.examine()
    clock.now = 1060
    watch.examine()
    rows["clicked"] = 4
    watch.examine()
    assert told == [{"clicked": 3}, {}, {"clicked": 3}, {}]


def test_a_decision_that_could_not_be_written_is_told_again() -> None:
    clock, told = Hand(), list[Mapping[str, int]]()

    def tell(idle: Mapping[str, int]) -> None:
        told.append(idle)
        if len(told) == 1:
            raise PenstockError("no space left")

    watch = IdleWatch({"clicked": 30}, lambda: ({"shown": 1, "clicked": 0}, {}), tell, clock)
    watch.examine()
    clock.now = 30
    with pytest.raises(PenstockError):
        watch.examine()
    watch.examine()
    assert told[0] == {"clicked": 0}


def write(folder: Path, stream: str, number: int, *rows: tuple[int, int]) -> None:
    (folder / stream).mkdir(parents=True, exist_ok=True)
    columns: dict[str, Any] = {"ad": [ad for ad, _ in rows], "ts": [ts for _, ts in rows]}
    schema = pa.schema([("ad", pa.int64()), ("ts", pa.int64())])
    pq.write_table(pa.table(columns, schema), folder / stream / f"part-{number}.parquet")


def settle(running: RunningQuery) -> None:
    assert running._query is not None
    running._query.processAllAvailable()
    assert running.idle_watch is not None
    running.idle_watch.examine()
    running._query.processAllAvailable()


def test_a_match_comes_on_spark_and_a_restart_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    script = bind_text(SQL).checked()
    for stream in ("shown", "clicked"):
        write(tmp_path / "in", stream, 0)

    def begun(clock: Hand, *, until_done: bool = False) -> RunningQuery:
        return start(
            script.queries[0],
            script.catalog,
            frames(spark, script.catalog, tmp_path / "in", files=10),
            spark=spark,
            out=str(tmp_path / "out.parquet"),
            checkpoint=str(tmp_path / "checkpoint"),
            cells=2,
            until_done=until_done,
            clock=clock,
        )

    def ads() -> list[int]:
        return sorted(row.ad for row in spark.read.parquet(str(tmp_path / "out.parquet")).collect())

    clock = Hand()
    running = begun(clock)
    write(tmp_path / "in", "clicked", 1, (7, 10))
    settle(running)
    write(tmp_path / "in", "shown", 1, (7, 11), (8, 20))
    settle(running)
    assert ads() == []
    clock.now = 30 * SECOND
    settle(running)
    assert ads() == [7]
    (line,) = [m for m in running.operators() if m.operator == "source" and m.stream == "clicked" and m.idle][:1]
    assert line.late_rows == 0
    running.stop()

    running = begun(Hand(), until_done=True)
    write(tmp_path / "in", "clicked", 2, (8, 19), (8, 20))
    running.await_done()
    assert ads() == [7, 8]
    assert running.progress() is not None
    assert sum(m.late_rows for m in running.operators() if m.stream == "clicked") == 1


def test_a_dataframe_refuses_a_stream_that_may_be_idle(spark: SparkSession, tmp_path: Path) -> None:
    script = bind_text(SQL).checked()
    for stream in ("shown", "clicked"):
        write(tmp_path, stream, 0)
    with pytest.raises(PenstockError, match="IDLE AFTER"):
        build(script.queries[0], script.catalog, frames(spark, script.catalog, tmp_path))
