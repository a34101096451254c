"""User functions travel to Spark's workers with the query, or are refused before it starts."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import penstock
from penstock import PenstockError
from penstock.functions.files import catalog_of_files
from tests.engines.comparing import bound, expected
from tests.engines.spark.running import on_spark
from tests.generators import Case, Features, cases

FUNCTIONS = """
import penstock

LIMIT = 1

def _distance(a, b):
    return abs(a - b)

@penstock.function(arguments=["BIGINT", "BIGINT"], returns="BOOLEAN", null="skip")
def near(a, b):
    return _distance(a, b) <= LIMIT

@penstock.function(arguments=["STRING"], returns="BIGINT", on_error="null")
def number(t):
    return int(t)

@penstock.function(arguments=["BIGINT"], returns="BIGINT")
def inverse(a):
    return 12 // a
"""
JOIN = "SELECT a, b, number(t) AS n FROM s [ROWS 9], r [ROWS 9] WHERE near(a, b) AND number(u) > 0"


def written(folder: Path) -> None:
    for name, columns in {
        "s": {"a": [1, 5, 0], "t": ["7", "x", "9"]},
        "r": {"b": [2, 4, 9], "u": ["1", "2", "?"]},
    }.items():
        times = pa.array(range(3), pa.timestamp("us", "UTC"))
        (folder / name).mkdir()
        pq.write_table(pa.table({**columns, "ts": times}), folder / name / "0.parquet")


def session_of(spark: SparkSession | None, folder: Path, functions: str) -> penstock.Session:
    (folder / "functions.py").write_text(functions)
    session = penstock.Session(spark)
    session.catalog = catalog_of_files([str(folder / "functions.py")])
    for name, columns in {"s": "a BIGINT, t STRING", "r": "b BIGINT, u STRING"}.items():
        session.sql(
            f"CREATE STREAM {name} ({columns}, ts TIMESTAMP) TIMESTAMP BY ts USING parquet "
            f"OPTIONS (path '{folder / name}')"
        )
    return session


def rows(found: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_a_join_on_a_function_of_a_file_and_a_restart_with_another(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path)
    query = session_of(spark, tmp_path, FUNCTIONS).query(JOIN)
    out, checkpoint = str(tmp_path / "out.parquet"), str(tmp_path / "checkpoint")
    query.start(out, checkpoint=checkpoint, cells=2, until_done=True).await_done()
    expected = rows(session_of(None, tmp_path, FUNCTIONS).query(JOIN).to_arrow())
    assert [row[2:] for row in expected] == [(1, 2, 7), (5, 4, None)]
    assert rows(spark.read.parquet(out).toArrow()) == expected
    errors = [(line["operator"], line["function_errors"]) for line in query.metrics() if line["function_errors"]]
    assert sorted(errors) == [("project0", 1), ("source", 1)]

    changed = session_of(spark, tmp_path, FUNCTIONS.replace("LIMIT = 1", "LIMIT = 2")).query(JOIN)
    with pytest.raises(PenstockError, match="functions, horizon or number of cells changed since the checkpoint"):
        changed.start(out, checkpoint=checkpoint, cells=2, until_done=True)
    moved = session_of(spark, tmp_path, f"# a comment\n{FUNCTIONS}").query(JOIN)
    moved.start(out, checkpoint=checkpoint, cells=2, until_done=True).stop()


def test_an_error_in_a_worker_is_told_as_it_is_in_this_process(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path)
    text = "SELECT inverse(a) AS i FROM s"
    query = session_of(spark, tmp_path, FUNCTIONS).query(text)
    with pytest.raises(PenstockError) as on_spark:
        query.start(
            str(tmp_path / "out.parquet"), checkpoint=str(tmp_path / "c"), cells=1, until_done=True
        ).await_done()
    with pytest.raises(PenstockError) as embedded:
        session_of(None, tmp_path, FUNCTIONS).query(text).to_arrow()
    assert str(on_spark.value) == str(embedded.value)
    assert str(embedded.value).startswith("inverse(0) raised ZeroDivisionError")


@pytest.mark.slow
def test_random_queries_give_what_the_reference_says(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    @seed(20)
    @settings(max_examples=8, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(cases(Features(user_functions=True, functions=False, casts=False)), st.integers(1, 3))
    def check(case: Case, cells: int) -> None:
        query, catalog = bound(case)
        folder = tmp_path_factory.mktemp("case")
        assert on_spark(spark, case, query, catalog, folder, cells=cells) == expected(case, query, catalog), case

    check()


def test_what_cannot_be_pickled_is_refused_before_the_query_starts(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path)
    lock, session = threading.Lock(), session_of(spark, tmp_path, FUNCTIONS)

    def locked(a: int) -> int:
        with lock:
            return a

    def counted(a: int) -> int:
        return int(spark.range(a).count())

    for name, function in {"locked": locked, "counted": counted}.items():
        session.function(name, function, arguments=["BIGINT"], returns="BIGINT")
        for text in (f"SELECT {name}(a) AS b FROM s", f"SELECT MAX({name}(a)) AS b FROM s [ROWS 9]"):
            with pytest.raises(PenstockError) as raised:
                session.query(text).dataframe()
            assert raised.value.message.startswith(f"{name} cannot be sent to Spark's workers: ")
            assert raised.value.hint is not None
