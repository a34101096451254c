"""More of the corpus: shapes of public jobs, of notebooks and of answers to questions, as their authors write them.

They were written after the lint, which judged some of them wrongly before Spark ran them.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.engines.spark.lint import programs
from tests.engines.spark.lint.programs import Program, W

PUBLIC: dict[str, Program] = {}
program = partial(programs.program, among=PUBLIC)

# Times, as they are computed before the watermark is set.
program("a window struct under the watermark")(
    lambda s: (
        s.events(None)
        .select(F.window("ts", "10 minutes").alias("w"), "user")
        .withWatermark("w", "10 minutes")
        .groupBy("w", "user")
        .count()
    )
)
program("a watermark on the time of a dimension", "update")(
    lambda s: (
        s.events(None)
        .join(s.table().withColumn("updated", F.lit("2023-11-14 00:00:00").cast("timestamp")), "kind")
        .withWatermark("updated", "10 minutes")
        .groupBy(F.window("updated", W), "user")
        .count()
    )
)
program("a watermark on a constant time", "update")(
    lambda s: (
        s.events(None)
        .withColumn("day", F.to_timestamp(F.lit("2023-11-14")))
        .withWatermark("day", "1 day")
        .groupBy("day", "user")
        .count()
    )
)

# Keys, as they are computed.
program("other kinds as one", "update")(
    lambda s: (
        s.events(None)
        .withColumn("k", F.when(F.col("kind").isin("view", "buy"), F.col("kind")).otherwise("other"))
        .groupBy("k")
        .count()
    )
)
program("a lookup in a map of literals", "update")(
    lambda s: (
        s.events(None)
        .withColumn("label", F.create_map(F.lit("view"), F.lit("v"), F.lit("buy"), F.lit("b"))[F.col("kind")])
        .groupBy("label")
        .count()
    )
)

# Duplicates.

# Joins.
program("a range by make_interval")(
    lambda s: s.left().join(
        s.right(), F.expr("cid = vid AND vts BETWEEN cts AND cts + make_interval(0, 0, 0, 0, 1, 0, 0)")
    )
)
program("a range under NOT")(
    lambda s: s.left().join(s.right(), F.expr("cid = vid AND NOT (vts < cts OR vts > cts + INTERVAL 1 HOUR)"))
)
program("two ranges of which one holds")(
    lambda s: s.left().join(
        s.right(),
        F.expr(
            "cid = vid AND (vts BETWEEN cts AND cts + INTERVAL 1 HOUR OR vts BETWEEN cts AND cts + INTERVAL 2 HOURS)"
        ),
    )
)
program("a null-safe key and a range")(
    lambda s: s.left().join(
        s.right(),
        F.col("cid").eqNullSafe(F.col("vid")) & F.expr("vts BETWEEN cts AND cts + INTERVAL 1 HOUR"),
    )
)
program("null-safe times")(lambda s: s.left().join(s.right(), F.expr("cid = vid AND cts <=> vts")))
program("the same bucket under two watermarks")(
    lambda s: (
        s.left(None)
        .withColumn("b", F.date_trunc("hour", "cts"))
        .withWatermark("b", "10 minutes")
        .join(
            s.right(None).withColumn("b", F.date_trunc("hour", "vts")).withWatermark("b", "10 minutes"),
            ["b"],
        )
        .where("cid = vid")
    )
)
program("aggregates side by side")(
    lambda s: (
        s.left()
        .groupBy(F.window("cts", W).alias("w"), F.col("cuser").alias("u"))
        .agg(F.count("*").alias("clicks"))
        .join(
            s.right()
            .groupBy(F.window("vts", W).alias("w"), F.col("vuser").alias("u"))
            .agg(F.count("*").alias("views")),
            ["w", "u"],
            "full",
        )
    )
)

# SQL.


# State and groups of the user's own.
def _sums(frame):  # type: ignore[no-untyped-def]
    return frame.groupby("user", as_index=False)["amount"].sum()


program("applyInPandas of groups")(lambda s: s.events().groupBy("user").applyInPandas(_sums, "user long, amount long"))


def _kept(df: DataFrame) -> DataFrame:
    return df.where("amount > 1").transform(lambda d: d.withColumn("twice", F.col("amount") * 2))
