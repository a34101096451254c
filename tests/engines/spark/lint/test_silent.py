"""What Spark does wrongly in silence: the lint warns of it, and Spark loses the rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock
from tests.engines.spark.lint.replaying import Batches, streamed_and_batch

#: A row at noon, and its partner after the watermark has passed some of the time in which it may match.
A: Batches = [[(1, "12:00")], [(2, "12:12")], [(3, "12:13")], [(4, "12:16")]]
B: Batches = [[(9, "12:00")], [(9, "12:12")], [(9, "12:13")], [(1, "12:15")]]


def joined(a: DataFrame, b: DataFrame, condition: str) -> DataFrame:
    return (
        a.withWatermark("ats", "0 seconds")
        .alias("a")
        .join(b.withWatermark("bts", "0 seconds").alias("b"), F.expr(condition))
    )


def validity(a: DataFrame, b: DataFrame) -> DataFrame:
    a = a.withWatermark("ats", "0 seconds").withColumn("until", F.expr("ats + INTERVAL 1 HOUR")).alias("a")
    return a.join(b.withWatermark("bts", "0 seconds"), F.expr("aid = bid AND bts >= ats AND bts <= until"))


def twice(a: DataFrame, b: DataFrame) -> DataFrame:
    return joined(a, b, "aid = bid AND bts >= ats AND bts <= ats + INTERVAL 10 MINUTES + INTERVAL 10 MINUTES")


def once(a: DataFrame, b: DataFrame) -> DataFrame:
    return joined(a, b, "aid = bid AND bts >= ats AND bts <= ats + INTERVAL 20 MINUTES")


def both_sides(a: DataFrame, b: DataFrame) -> DataFrame:
    return joined(a, b, "aid = bid AND bts >= ats AND bts - INTERVAL 10 MINUTES <= ats + INTERVAL 10 MINUTES")


def union(a: DataFrame, b: DataFrame) -> DataFrame:
    both = a.withWatermark("ats", "0 seconds").union(b)
    return both.dropDuplicates(["aid", "ats"])


def union_after(a: DataFrame, b: DataFrame) -> DataFrame:
    return a.union(b).withWatermark("ats", "10 minutes").dropDuplicates(["aid", "ats"])


#: A second stream whose times are an hour behind those of the first.
BEHIND: Batches = [[(7, "11:00")], [(7, "11:01")], [(7, "11:02")], [(7, "11:03")]]

Build = Callable[[DataFrame, DataFrame], DataFrame]
LOSING: dict[str, tuple[Build, Batches, str]] = {
    "a range over a computed column": (validity, B, "by ats, not by until"),
    "a watermark on the first side of a union": (union, BEHIND, "first side of the union"),
}
KEEPING: dict[str, tuple[Build, Batches]] = {
    "an interval": (once, B),
    "an interval that is written twice": (twice, B),
    "intervals on both sides": (both_sides, B),
    "a watermark after a union": (union_after, B),
}


def streams(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    a, b = (
        spark.readStream.format("rate")
        .load()
        .select(F.col("value").alias(f"{n}id"), F.col("timestamp").alias(f"{n}ts"))
        for n in "ab"
    )
    return a, b


@pytest.mark.parametrize("name", LOSING)
def test_the_lint_warns_of_what_spark_loses(spark: SparkSession, name: str) -> None:
    build, _, warning = LOSING[name]
    (verdict,) = penstock.check(build(*streams(spark)))
    assert verdict.safe
    assert any(warning in text for text in verdict.warnings)
    assert f"warning: {verdict.warnings[0]}" in str(verdict)


@pytest.mark.parametrize("name", KEEPING)
def test_the_lint_does_not_warn_of_what_spark_keeps(spark: SparkSession, name: str) -> None:
    (verdict,) = penstock.check(KEEPING[name][0](*streams(spark)))
    assert verdict.warnings == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSING)
def test_spark_loses_what_the_lint_warns_of(spark: SparkSession, tmp_path: Path, name: str) -> None:
    build, second, _ = LOSING[name]
    streamed, whole = streamed_and_batch(spark, tmp_path, build, A, second)
    assert len(streamed) < len(whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", KEEPING)
def test_spark_keeps_what_the_lint_does_not_warn_of(spark: SparkSession, tmp_path: Path, name: str) -> None:
    build, second = KEEPING[name]
    streamed, whole = streamed_and_batch(spark, tmp_path, build, A, second)
    assert sorted(streamed) == sorted(whole)
