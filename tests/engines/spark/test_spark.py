"""Queries on Spark itself: small micro-batches, restarts, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.engines.spark.query import build
from penstock.engines.spark.session import check_session
from penstock.errors import PenstockError
from tests.engines.comparing import bound, expected
from tests.engines.spark.examples import QUERIES, example
from tests.engines.spark.running import begin, frames, listed, on_spark, results, tables, write_files
from tests.generators import Case, cases


def test_a_query_goes_on_where_it_was_stopped(spark: SparkSession, tmp_path: Path) -> None:
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", only=2)
    running = begin(spark, case, query, catalog, tmp_path, cells=2, until_done=False)
    assert running._query is not None
    running._query.processAllAvailable()
    running.stop()
    write_files(case, catalog, tmp_path / "in")
    again = begin(spark, case, query, catalog, tmp_path, cells=2)
    again.await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)

    progress = again.progress()
    assert progress is not None
    assert progress.watermark == 12
    assert progress.state_rows > 0
    assert progress.streams["bid"].late_rows == 1
    assert {line["cell"] for line in again.metrics() if line["operator"] != "source"} == {0, 1}

    once_more = begin(spark, case, query, catalog, tmp_path, cells=2)
    once_more.await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)

    with pytest.raises(PenstockError, match="number of cells changed"):
        begin(spark, case, query, catalog, tmp_path, cells=3)


def test_files_that_are_all_there_take_one_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in")
    running = begin(spark, case, query, catalog, tmp_path, given=listed(spark, catalog, tmp_path / "in", files=None))
    running.await_done()
    assert {line.step for line in running.operators()} == {0}
    assert results(spark, tmp_path, query) == expected(case, query, catalog)


def test_what_a_start_closed_that_ended_before_it_read_anything_is_open_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", only=1)
    first = begin(spark, case, query, catalog, tmp_path, until_done=False)
    assert first._query is not None
    first._query.processAllAvailable()
    first.stop()
    (tmp_path / "checkpoint" / "penstock" / "control" / "close-earlier").write_text("close\n")
    write_files(case, catalog, tmp_path / "in")
    begin(spark, case, query, catalog, tmp_path).await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)


def test_what_a_micro_batch_closed_that_was_not_done_stays_closed(spark: SparkSession, tmp_path: Path) -> None:
    """Its results may be there already, so it must give the same again."""
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in")
    given = listed(spark, catalog, tmp_path / "in", files=None)
    begin(spark, case, query, catalog, tmp_path, given=given).await_done()
    (tmp_path / "checkpoint" / "commits" / "0").unlink()
    (tmp_path / "checkpoint" / "commits" / ".0.crc").unlink(missing_ok=True)
    again = begin(spark, case, query, catalog, tmp_path, given=given, until_done=False)
    assert again._query is not None
    again._query.processAllAvailable()
    again.stop()
    begin(spark, case, query, catalog, tmp_path, given=given).await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)


def test_bad_input_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path)
    given, static = frames(spark, catalog, tmp_path), tables(spark, case, catalog)

    def refused(message: str, **changed: object) -> None:
        with pytest.raises(PenstockError, match=message):
            build(query, catalog, {**given, **changed}, static)  # type: ignore[arg-type]

    refused("the rows of bid have no column auction", bid=given["bid"].drop("auction"))
    refused(
        "auction of bid is declared BIGINT, but the data has string", bid=given["bid"].withColumn("auction", F.lit("x"))
    )
    refused("the DataFrame of bid is not a stream", bid=spark.read.parquet(str(tmp_path / "bid")))
    with pytest.raises(PenstockError, match="there is no DataFrame of that name"):
        build(query, catalog, given)
    with pytest.raises(PenstockError, match="the Spark session has UTC"):
        check_session(spark, "Europe/Berlin")


def test_a_session_of_the_users_own_gets_what_queries_need(spark: SparkSession, tmp_path: Path) -> None:
    provider, partitions = "spark.sql.streaming.stateStore.providerClass", "spark.sql.shuffle.partitions"
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in")
    own = spark.newSession()
    own.conf.unset(provider)
    own.conf.set(partitions, "200")
    theirs = own.conf.get(provider)
    running = begin(own, case, query, catalog, tmp_path, cells=2)
    running.await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)
    assert (own.conf.get(provider), own.conf.get(partitions)) == (theirs, "200")

    build(query, catalog, frames(own, catalog, tmp_path / "in"), tables(own, case, catalog), cells=2)
    assert "RocksDB" in str(own.conf.get(provider))
    assert own.conf.get(partitions) == "2"


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("name", QUERIES)
def test_an_example_gives_what_the_reference_says(spark: SparkSession, tmp_path: Path, name: str, cells: int) -> None:
    case = example(name)
    query, catalog = bound(case)
    assert on_spark(spark, case, query, catalog, tmp_path, cells=cells) == expected(case, query, catalog)


@pytest.mark.slow
def test_random_queries_give_what_the_reference_says(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    @seed(20)
    @settings(max_examples=12, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(cases(), st.integers(1, 3))
    def check(case: Case, cells: int) -> None:
        query, catalog = bound(case)
        folder = tmp_path_factory.mktemp("case")
        assert on_spark(spark, case, query, catalog, folder, cells=cells) == expected(case, query, catalog), case

    check()


@pytest.mark.slow
def test_rows_without_a_timestamp_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    case = example("filter")
    rows = [*case.data["bid"], (1, 5, "a", None), (1, 5, "a", -3)]
    query, catalog = bound(case)
    write_files(replace(case, data={**case.data, "bid": rows}), catalog, tmp_path / "in")
    running = begin(spark, case, query, catalog, tmp_path)
    running.await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)
    progress = running.progress()
    assert progress is not None
    assert progress.streams["bid"].bad_rows == 2
