"""Plain Spark queries under the register: what Spark accepts in silence is found, and Spark's own clean-up agrees."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock
from penstock.errors import PenstockError
from penstock.register import Verdict

Build = Callable[[DataFrame, DataFrame], DataFrame]

RANGE = "av = bv AND bts >= ats AND bts <= ats + INTERVAL 1 HOUR"


def streams(spark: SparkSession, watermarks: str = "ab") -> tuple[DataFrame, DataFrame]:
    a = spark.readStream.format("rate").load().toDF("ats", "av")
    b = spark.readStream.format("rate").load().toDF("bts", "bv")
    a = a.withWatermark("ats", "10 minutes") if "a" in watermarks else a
    return a.alias("a"), (b.withWatermark("bts", "5 minutes") if "b" in watermarks else b).alias("b")


def verdict(df: DataFrame) -> Verdict:
    (found,) = penstock.check(df)
    return found


def test_two_aliases_of_one_dataframe_keep_their_names(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load().select(F.col("timestamp").alias("at"), F.col("value").alias("id"))
    text = str(verdict(rate.alias("x").join(rate.alias("y"), F.expr("x.id = y.id"))))
    assert "every row of x is kept, because a row of y may always match it" in text
    assert "y.at BETWEEN x.at - INTERVAL 1 HOUR AND x.at + INTERVAL 1 HOUR" in text


UNSAFE: dict[str, tuple[str, Build]] = {
    "an inner join without watermark or range": ("", lambda a, b: a.join(b, F.expr("av = bv"))),
    "an inner join without a range": ("ab", lambda a, b: a.join(b, F.expr("av = bv"))),
    "a range without watermarks": ("", lambda a, b: a.join(b, F.expr(RANGE))),
    "a range with one watermark": ("a", lambda a, b: a.join(b, F.expr(RANGE))),
    "a range on one side": ("ab", lambda a, b: a.join(b, F.expr("av = bv AND bts >= ats"))),
    "dropDuplicates without the time": ("a", lambda a, b: a.dropDuplicates(["av"])),
    "an aggregate by a key, in update mode": ("a", lambda a, b: a.groupBy("av").count()),
    "an aggregate by a rounded time": ("a", lambda a, b: a.groupBy(F.date_trunc("hour", "ats")).count()),
    "an aggregate by a window without a watermark": ("", lambda a, b: a.groupBy(F.window("ats", "1 hour")).count()),
    "values collected without end": ("a", lambda a, b: a.agg(F.collect_set("av"))),
    "times collected without end": ("a", lambda a, b: a.agg(F.collect_set("ats"))),
    "a union without duplicates": ("", lambda a, b: a.union(b).distinct()),
    "a key that a program computes": ("a", lambda a, b: a.groupBy(F.udf(lambda v: v + 1, "long")("av")).count()),
}
SAFE: dict[str, tuple[str, Build]] = {
    "a filter": ("", lambda a, b: a.where("av > 5").select("av")),
    "a range with watermarks": ("ab", lambda a, b: a.join(b, F.expr(RANGE))),
    "a semi-join in a range": ("ab", lambda a, b: a.join(b, F.expr(RANGE), "left_semi")),
    "an outer join in a range": ("ab", lambda a, b: a.join(b, F.expr(RANGE), "left_outer")),
    "equal times": ("ab", lambda a, b: a.join(b, F.expr("av = bv AND ats = bts"))),
    "equal times with one watermark": ("a", lambda a, b: a.join(b, F.expr("av = bv AND ats = bts"))),
    "dropDuplicates with the time": ("a", lambda a, b: a.dropDuplicates(["av", "ats"])),
    "dropDuplicatesWithinWatermark": ("a", lambda a, b: a.dropDuplicatesWithinWatermark(["av"])),
    "an aggregate by a window": ("a", lambda a, b: a.groupBy(F.window("ats", "1 hour"), "av").count()),
    "an aggregate by a window that slides": (
        "a",
        lambda a, b: a.groupBy(F.window("ats", "1 hour", "5 minutes")).count(),
    ),
    "an aggregate by sessions": ("a", lambda a, b: a.groupBy(F.session_window("ats", "10 minutes"), "av").count()),
    "an aggregate by a remainder": ("", lambda a, b: a.groupBy(F.col("av") % 10).count()),
    "a join of a stream with itself": (
        "a",
        lambda a, b: a.join(a.select(F.col("ats").alias("bts"), F.col("av").alias("bv")), F.expr(RANGE)),
    ),
    "an aggregate without keys": ("", lambda a, b: a.agg(F.sum("av"))),
    "an aggregate by few values": ("", lambda a, b: a.where("av IN (1, 2)").groupBy("av").count()),
    "a union": ("ab", lambda a, b: a.union(b)),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_what_spark_accepts_in_silence_is_found(spark: SparkSession, name: str) -> None:
    watermarks, build = UNSAFE[name]
    found = verdict(build(*streams(spark, watermarks)))
    assert not found.safe
    assert "kept" in found.message or "keeps" in found.message


@pytest.mark.parametrize("name", SAFE)
def test_what_spark_bounds_is_safe(spark: SparkSession, name: str) -> None:
    watermarks, build = SAFE[name]
    found = verdict(build(*streams(spark, watermarks)))
    assert found.safe, str(found)


def test_the_remedies_are_spark_s_own(spark: SparkSession) -> None:
    a, b = streams(spark, "a")
    assert str(verdict(a.join(b, F.expr("av = bv")))).endswith(
        "any of these would make it safe:\n"
        '  1. b.withWatermark("bts", "10 minutes")\n'
        "     ... AND b.bts BETWEEN a.ats - INTERVAL 1 HOUR AND a.ats + INTERVAL 1 HOUR"
    )


def test_a_join_with_a_static_table_keeps_nothing(spark: SparkSession) -> None:
    a, _ = streams(spark, "")
    assert verdict(a.join(spark.range(9), F.expr("av = id"))).states == ()


def test_a_contradiction_is_told(spark: SparkSession) -> None:
    a, b = streams(spark)
    found = verdict(a.join(b, F.expr("av = bv AND bts > ats + INTERVAL 1 HOUR AND bts < ats")))
    assert found.message == "safe, but no row can ever satisfy its conditions"


def test_spark_sql_is_checked_over_views(spark: SparkSession) -> None:
    a, b = streams(spark)
    a.createOrReplaceTempView("lint_a")
    b.createOrReplaceTempView("lint_b")
    joined = "SELECT av FROM lint_a x JOIN lint_b y ON x.av = y.bv"
    assert penstock.check_sql(spark, f"{joined} AND y.bts BETWEEN x.ats - INTERVAL 5 MINUTES AND x.ats").safe
    assert "every row of x is kept" in penstock.check_sql(spark, joined).message


def test_a_static_dataframe_is_refused(spark: SparkSession) -> None:
    with pytest.raises(PenstockError, match="not streaming"):
        penstock.check(spark.range(3))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in UNSAFE | SAFE if "join" in name or "range" in name or "equal" in name]
)
def test_spark_s_own_clean_up_agrees(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Spark prints what it removes from each side of a join: a side that it never cleans is unbounded here."""
    watermarks, build = (UNSAFE | SAFE)[name]
    df = build(*streams(spark, watermarks))
    cleaned = clean_up(df, tmp_path)
    kept = {state.stream: state.is_safe for state in verdict(df).states}
    sides = ("a (the left one)", "a (the right one)") if "itself" in name else ("a", "b")
    assert dict(zip(sides, cleaned, strict=True)) == kept


def clean_up(df: DataFrame, folder: Path) -> tuple[bool, bool]:
    """Whether Spark ever removes rows of the left and of the right side."""
    running = df.writeStream.format("noop").option("checkpointLocation", str(folder)).start()
    try:
        deadline = time.monotonic() + 120
        while running.lastProgress is None and time.monotonic() < deadline:
            time.sleep(0.2)
        plan = running._jsq.explainInternal(False)
    finally:
        running.stop()
    found = re.search(r"state cleanup \[ (left .*?), (right .*?) \]", plan)
    assert found is not None, plan
    return "= null" not in found[1], "= null" not in found[2]
