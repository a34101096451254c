"""The corpus: streaming programs as people write them, whose state Spark bounds, lets grow, or refuses to keep.

Shapes are those of Spark's programming guide, of public jobs, and of mistakes. `record.py` runs each on Spark; what it
saw is in `recorded.json`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from tests.engines.spark.lint.sources import SCHEMA, Streams

Build = Callable[[Streams], DataFrame]


@dataclass(frozen=True)
class Program:
    build: Build
    mode: str = "append"
    finite: tuple[str, ...] = ()


PROGRAMS: dict[str, Program] = {}


def program(
    name: str, mode: str = "append", finite: tuple[str, ...] = (), *, among: dict[str, Program] = PROGRAMS
) -> Callable[[Build], Build]:
    """Adds the program below it, or that it is called with, to others."""

    def add(build: Build) -> Build:
        assert name not in among, name
        among[name] = Program(build, mode, finite)
        return build

    return add


def both(name: str, build: Build, finite: tuple[str, ...] = (), modes: str = "append update complete") -> None:
    for mode in modes.split():
        program(f"{name}, {mode}", mode, finite)(build)


W = "1 hour"

# Without state.
program("a filter")(lambda s: s.events().where("amount > 5").select("id"))
program("a projection of kafka")(lambda s: s.kafka().selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)"))
program("explode")(lambda s: s.events().select("id", F.explode("items").alias("item")))
program("a union of two streams")(lambda s: s.events().select("id", "ts").union(s.events(None, 30).select("id", "ts")))
program("a static join")(lambda s: s.events().join(s.table(), "kind"))
program("a static left outer join")(lambda s: s.events().join(s.table(), "kind", "left"))
program("a static semi join")(lambda s: s.events().join(s.table(), "kind", "left_semi"))
program("a static anti join")(lambda s: s.events().join(s.table(), "kind", "left_anti"))
program("a broadcast static join")(lambda s: s.events().join(F.broadcast(s.table()), "kind"))
program("a sample")(lambda s: s.events().sample(0.5))
program("repartition and select")(lambda s: s.events().repartition(2, "id").select("id"))
program("na.fill")(lambda s: s.events().na.fill({"kind": "none"}))
program("mapInPandas")(lambda s: s.events().mapInPandas(unchanged, SCHEMA))
program("a python udf")(lambda s: s.events().select(F.udf(lambda v: v + 1, "long")("id").alias("next")))
program("limit")(lambda s: s.events().limit(5))


def unchanged(frames):  # type: ignore[no-untyped-def]
    yield from frames


# Windowed counts: the guide's first example, and what people put in place of its time column.
both("the guide's word count", lambda s: s.events(None).groupBy("id").count())
both("a windowed count without watermark", lambda s: s.events(None).groupBy(F.window("ts", W), "kind").count())
both("a windowed count", lambda s: s.events().groupBy(F.window("ts", W), "kind").count())
both("a windowed count by user", lambda s: s.events().groupBy(F.window("ts", W), "user").count())
both(
    "a sliding count",
    lambda s: s.events().groupBy(F.window("ts", W, "20 minutes"), "user").count(),
    modes="append update",
)
both(
    "a window with an offset",
    lambda s: s.events().groupBy(F.window("ts", W, W, "15 minutes")).count(),
    modes="append update",
)
both(
    "sessions",
    lambda s: s.events().groupBy(F.session_window("ts", "5 minutes"), "user").count(),
    modes="append complete",
)
program("sessions without watermark", "complete")(
    lambda s: s.events(None).groupBy(F.session_window("ts", "5 minutes"), "user").count()
)
program("sessions with a gap by kind")(
    lambda s: (
        s.events()
        .groupBy(F.session_window("ts", F.when(F.col("kind") == "buy", "5 seconds").otherwise("5 minutes")), "user")
        .count()
    )
)
program("a window over to_timestamp")(
    lambda s: (
        s.events(None)
        .withColumn("t", F.to_timestamp("at"))
        .withWatermark("t", "10 minutes")
        .groupBy(F.window("t", W), "user")
        .count()
    )
)
program("a window over timestamp_seconds")(
    lambda s: (
        s.events(None)
        .withColumn("t", F.timestamp_seconds(F.col("ms") / 1000))
        .withWatermark("t", "10 minutes")
        .groupBy(F.window("t", W), "user")
        .count()
    )
)
program("a window over timestamp_millis in sql")(
    lambda s: (
        s.events(None)
        .selectExpr("*", "timestamp_millis(ms) AS t")
        .withWatermark("t", "10 minutes")
        .groupBy(F.window("t", W))
        .agg(F.sum("amount"))
    )
)
program("a window over a cast string")(
    lambda s: (
        s.events(None)
        .withColumn("t", F.col("at").cast("timestamp"))
        .withWatermark("t", "10 minutes")
        .groupBy(F.window("t", W), "kind")
        .agg(F.avg("amount"))
    )
)
program("a window over a shifted time")(
    lambda s: (
        s.events(None)
        .withColumn("t", F.col("ts") + F.expr("INTERVAL 2 HOURS"))
        .withWatermark("t", "10 minutes")
        .groupBy(F.window("t", W), "user")
        .count()
    )
)
program("a window over a struct field")(
    lambda s: (
        s.kafka()
        .select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("j"))
        .select("j.ts", "j.user")
        .withWatermark("ts", "10 minutes")
        .groupBy(F.window("ts", W), "user")
        .count()
    )
)
program("a window over coalesce")(
    lambda s: (
        s.events(None)
        .withColumn("t", F.coalesce("ts", F.to_timestamp("at")))
        .withWatermark("t", "10 minutes")
        .groupBy(F.window("t", W), "user")
        .count()
    )
)
program("a window over a truncated time")(
    lambda s: (
        s.events(None)
        .withColumn("t", F.date_trunc("minute", "ts"))
        .withWatermark("t", "10 minutes")
        .groupBy(F.window("t", W), "user")
        .count()
    )
)
program("a window after explode")(
    lambda s: s.events().select("ts", F.explode("items").alias("item")).groupBy(F.window("ts", W), "item").count()
)
program("a watermark after explode")(
    lambda s: (
        s.events(None)
        .select("ts", F.explode("items").alias("item"))
        .withWatermark("ts", "10 minutes")
        .groupBy(F.window("ts", W), "item")
        .count()
    )
)
program("a window after na.fill")(
    lambda s: (
        s.events(None)
        .na.fill({"kind": "none"})
        .withWatermark("ts", "10 minutes")
        .groupBy(F.window("ts", W), "kind")
        .count()
    )
)
program("a window after na.drop")(
    lambda s: s.events().na.drop(subset=["ts", "id"]).groupBy(F.window("ts", W), "id").count()
)
program("a window after a static join")(
    lambda s: s.events().join(s.table(), "kind").groupBy(F.window("ts", W), "label").count()
)
program("a watermark after a static join")(
    lambda s: (
        s.events(None)
        .join(s.table(), "kind")
        .withWatermark("ts", "10 minutes")
        .groupBy(F.window("ts", W), "user")
        .count()
    )
)
program("a window after mapInPandas")(
    lambda s: (
        s.events(None)
        .mapInPandas(unchanged, SCHEMA)
        .withWatermark("ts", "10 minutes")
        .groupBy(F.window("ts", W), "user")
        .count()
    )
)
program("mapInPandas after the watermark", "update")(
    lambda s: s.events().mapInPandas(unchanged, SCHEMA).groupBy(F.window("ts", W), "user").count()
)
program("a window of kafka's own timestamp")(
    lambda s: s.kafka().withWatermark("timestamp", "10 minutes").groupBy(F.window("timestamp", W), "key").count()
)
program("a renamed time")(
    lambda s: s.events().withColumnRenamed("ts", "event_time").groupBy(F.window("event_time", W), "user").count()
)
program("a selected alias of the time")(
    lambda s: s.events().select(F.col("ts").alias("t"), "user").groupBy(F.window("t", W), "user").count()
)
program("the time itself as a key")(lambda s: s.events().groupBy("ts", "user").count())
program("a window and the time")(lambda s: s.events().groupBy(F.window("ts", W), "ts").count())
program("a window of a computed time", "update")(
    lambda s: s.events().groupBy(F.window(F.col("ts") + F.expr("INTERVAL 1 HOUR"), W), "user").count()
)
program("a window of another time", "update")(
    lambda s: s.events().withColumn("seen", F.to_timestamp("at")).groupBy(F.window("seen", W), "user").count()
)
program("the time replaced after its watermark", "update")(
    lambda s: s.events().withColumn("ts", F.date_trunc("hour", "ts")).groupBy("ts", "user").count()
)
program("to_timestamp of the time after its watermark", "update")(
    lambda s: s.events().withColumn("ts", F.to_timestamp("ts")).groupBy(F.window("ts", W), "user").count()
)
program("a watermark after the aggregate", "update")(
    lambda s: (
        s.events(None)
        .groupBy(F.window("ts", W), "user")
        .count()
        .withColumn("end", F.col("window.end"))
        .withWatermark("end", "10 minutes")
    )
)
program("grouped by date_trunc", "update")(lambda s: s.events().groupBy(F.date_trunc("hour", "ts"), "user").count())
program("grouped by to_date", "update")(lambda s: s.events().groupBy(F.to_date("ts"), "user").count())
program("grouped by window start", "update")(
    lambda s: s.events().select(F.window("ts", W).start.alias("start"), "user").groupBy("start", "user").count()
)
program("grouped by window end", "update")(
    lambda s: s.events().select(F.window("ts", W).end.alias("end"), "user").groupBy("end", "user").count()
)
program("a window selected before", "update")(
    lambda s: s.events().select(F.window("ts", W).alias("w"), "user").groupBy("w", "user").count()
)
program("a window with withColumn", "update")(
    lambda s: s.events().withColumn("w", F.window("ts", W)).groupBy("w", "user").count()
)

# Finitely many keys.
program("a remainder", "update")(lambda s: s.events(None).groupBy(F.col("id") % 7).count())
program("a remainder under a name", "update")(lambda s: s.events(None).groupBy((F.col("id") % 7).alias("m")).count())
program("pmod of a hash", "update")(lambda s: s.events(None).groupBy(F.pmod(F.hash("id"), F.lit(8))).count())
program("abs of a hash", "update")(lambda s: s.events(None).groupBy((F.abs(F.hash("user")) % 4).alias("shard")).count())
program("the minute", "update")(lambda s: s.events(None).groupBy(F.minute("ts")).count())
program("the minute, watermark", "update")(lambda s: s.events().groupBy(F.minute("ts")).count())
program("the second", "update")(lambda s: s.events(None).groupBy(F.second("ts")).count())
program("the quarter", "update")(lambda s: s.events(None).groupBy(F.quarter("ts")).count())
program("date_format of a part", "update")(lambda s: s.events(None).groupBy(F.date_format("ts", "mm")).count())
program("a boolean", "update")(lambda s: s.events(None).groupBy("flag").count())
program("a predicate", "update")(lambda s: s.events(None).groupBy((F.col("amount") > 50).alias("big")).count())
program("a case", "update")(
    lambda s: (
        s.events(None)
        .withColumn("size", F.when(F.col("amount") < 10, "s").when(F.col("amount") < 50, "m").otherwise("l"))
        .groupBy("size")
        .count()
    )
)
program("an IN filter", "update")(lambda s: s.events(None).where("kind IN ('view', 'click')").groupBy("kind").count())
program("a long IN filter", "update")(
    lambda s: s.events(None).where(F.col("kind").isin(*(f"k{n}" for n in range(15)), "view")).groupBy("kind").count()
)
program("an equality filter", "update")(
    lambda s: s.events(None).where("kind = 'buy'").groupBy("kind").agg(F.sum("amount"))
)
program("a BETWEEN filter", "update")(
    lambda s: s.events(None).where("amount BETWEEN 1 AND 20").groupBy("amount").count()
)
program("an OR filter", "update")(
    lambda s: s.events(None).where("kind = 'buy' OR kind = 'view'").groupBy("kind").count()
)
program("a negated filter", "update")(
    lambda s: s.events(None).where("NOT (kind = 'buy' AND amount > 5)").groupBy("id").count()
)
program("a key of a static table", "update")(lambda s: s.events(None).join(s.table(), "kind").groupBy("label").count())
program("the join key of a static table", "update")(
    lambda s: s.events(None).join(s.table(), "kind").groupBy("kind").count()
)
program("a key of a static left join", "update")(
    lambda s: s.events(None).join(s.table(), "kind", "left").groupBy("label").count()
)
program("a stream's key of a static left join", "update")(
    lambda s: s.events(None).join(s.table(), "kind", "left").groupBy("user").count()
)
program("a declared key", "update", ("kind",))(lambda s: s.events(None).groupBy("kind").count())
program("a declared key, complete", "complete", ("kind",))(lambda s: s.events(None).groupBy("kind").count())
program("a declared key in upper case", "update", ("kind",))(
    lambda s: s.events(None).groupBy(F.upper("kind").alias("k")).count()
)
program("a declared key and another", "update", ("kind",))(lambda s: s.events(None).groupBy("kind", "user").count())
program("no key", "update")(lambda s: s.events(None).agg(F.sum("amount"), F.max("ts")))
program("no key, complete", "complete")(lambda s: s.events(None).agg(F.count("*")))
program("a literal key", "update")(lambda s: s.events(None).groupBy(F.lit("all").alias("k")).count())
program("a salted key", "update")(lambda s: s.events(None).groupBy((F.rand(1) * 4).cast("int").alias("salt")).count())
program("a salted floor", "update")(lambda s: s.events(None).groupBy(F.floor(F.rand(1) * 4).alias("salt")).count())
program("a random key", "update")(lambda s: s.events(None).groupBy(F.rand(1).alias("r")).count())
program("a uuid", "update")(lambda s: s.events(None).groupBy(F.expr("uuid()").alias("u")).count())
program("a udf as a key", "update")(
    lambda s: s.events(None).groupBy(F.udf(lambda v: v + 1, "long")("id").alias("n")).count()
)
program("a substring", "update")(lambda s: s.events(None).groupBy(F.concat(F.lit("u"), "user").alias("name")).count())
program("approx_count_distinct", "update")(lambda s: s.events(None).agg(F.approx_count_distinct("user")))
program("min_by and last", "update")(lambda s: s.events(None).agg(F.min_by("id", "ts"), F.last("kind")))
program("distinct of declared", "append", ("kind",))(lambda s: s.events().select("kind").dropDuplicates())
program("dropDuplicates of a filter")(
    lambda s: s.events(None).where("kind IN ('view', 'click')").dropDuplicates(["kind"])
)

# Grouping sets: some of them lack the window.
both("cube with the window", lambda s: s.events().cube("user", F.window("ts", W)).count(), modes="update append")
both(
    "rollup ending with the window",
    lambda s: s.events().rollup("user", F.window("ts", W)).count(),
    modes="update append",
)
program("rollup starting with the window", "update")(lambda s: s.events().rollup(F.window("ts", W), "user").count())
program("cube of a declared key", "update", ("kind",))(lambda s: s.events().cube("kind", F.window("ts", W)).count())
program("cube without the window", "update")(lambda s: s.events().cube("user", "kind").count())
program("rollup of two windows' sets", "update")(
    lambda s: sql_over_events(
        s,
        "SELECT w, user, count(*) FROM (SELECT window(ts, '1 hour') AS w, user, kind FROM e) "
        "GROUP BY GROUPING SETS ((w, user), (w))",
    )
)
program("grouping sets without the window", "update")(
    lambda s: sql_over_events(
        s,
        "SELECT w, user, count(*) FROM (SELECT window(ts, '1 hour') AS w, user, kind FROM e) "
        "GROUP BY GROUPING SETS ((w), (user))",
    )
)


def sql_over_events(s: Streams, text: str, watermark: str | None = "10 minutes") -> DataFrame:
    s.events(watermark).createOrReplaceTempView("e")
    return s.spark.sql(text)


# Chains.
program("the guide's chained windows")(
    lambda s: (
        s.events()
        .groupBy(F.window("ts", "10 minutes"), "user")
        .count()
        .groupBy(F.window(F.window_time("window"), W), "user")
        .count()
    )
)
program("chained windows of a window")(
    lambda s: (
        s.events()
        .groupBy(F.window("ts", "10 minutes"), "user")
        .count()
        .groupBy(F.window("window", W))
        .agg(F.sum("count"))
    )
)
program("chained windows by window_time under a name")(
    lambda s: (
        s.events()
        .groupBy(F.window("ts", "10 minutes"), "user")
        .agg(F.sum("amount").alias("total"))
        .select(F.window_time("window").alias("t"), "user", "total")
        .groupBy(F.window("t", W), "user")
        .agg(F.max("total"))
    )
)
program("chained windows by the end")(
    lambda s: (
        s.events()
        .groupBy(F.window("ts", "10 minutes"), "user")
        .count()
        .select(F.col("window.end").alias("t"), "user")
        .groupBy(F.window("t", W), "user")
        .count()
    )
)
program("windows of deduplicated rows")(
    lambda s: s.events().dropDuplicates(["id", "ts"]).groupBy(F.window("ts", W), "user").count()
)
program("windows of rows once within the watermark")(
    lambda s: s.events().dropDuplicatesWithinWatermark(["id"]).groupBy(F.window("ts", W), "user").count()
)
program("windows of rows once for ever")(
    lambda s: s.events().dropDuplicates(["id"]).groupBy(F.window("ts", W), "user").count()
)
program("windows of a join")(
    lambda s: (
        s.left()
        .join(s.right(), F.expr("cid = vid AND vts BETWEEN cts AND cts + INTERVAL 1 HOUR"))
        .groupBy(F.window("cts", W), "cuser")
        .count()
    )
)
program("windows of a left join")(
    lambda s: (
        s.left()
        .join(s.right(), F.expr("cid = vid AND vts BETWEEN cts AND cts + INTERVAL 1 HOUR"), "left")
        .groupBy(F.window("cts", W), "cuser")
        .count()
    )
)
program("the other time of a left join as a key")(
    lambda s: (
        s.left()
        .join(s.right(), F.expr("cid = vid + 1000000 AND vts BETWEEN cts AND cts + INTERVAL 1 HOUR"), "left")
        .select("cid", "vts")
        .groupBy("vts", "cid")
        .count()
    )
)
program("dropDuplicates by the other time of a left join")(
    lambda s: (
        s.left()
        .join(s.right(), F.expr("cid = vid + 1000000 AND vts BETWEEN cts AND cts + INTERVAL 1 HOUR"), "left")
        .select("cid", "vts")
        .dropDuplicates(["cid", "vts"])
    )
)
program("a join of an aggregate by window")(
    lambda s: (
        s.left()
        .groupBy(F.window("cts", W), "cuser")
        .count()
        .join(
            s.right().groupBy(F.window("vts", W), "vuser").count().withColumnRenamed("window", "w2"),
            F.expr("window = w2 AND cuser = vuser"),
        )
    )
)
program("a join of an aggregate by window_time")(
    lambda s: (
        s.left()
        .groupBy(F.window("cts", W), "cuser")
        .count()
        .select(F.window_time("window").alias("t"), "cuser", "count")
        .join(s.right(), F.expr("cuser = vuser AND vts BETWEEN t - INTERVAL 1 HOUR AND t"))
    )
)
program("sort of an aggregate", "complete")(lambda s: s.events(None).groupBy("user").count().orderBy(F.desc("count")))
program("sort of few groups", "complete", ("kind",))(
    lambda s: s.events(None).groupBy("kind").count().orderBy(F.desc("count"))
)
program("limit of sorted groups", "complete")(
    lambda s: s.events(None).groupBy("user").count().orderBy(F.desc("count")).limit(3)
)

# dropDuplicates and distinct.
program("dropDuplicates by id")(lambda s: s.events().dropDuplicates(["id"]))
program("dropDuplicates by id without watermark")(lambda s: s.events(None).dropDuplicates(["id"]))
program("dropDuplicates by id and time")(lambda s: s.events().dropDuplicates(["id", "ts"]))
program("dropDuplicates of all columns")(lambda s: s.events().drop("items").dropDuplicates())
program("dropDuplicates of all but the time")(lambda s: s.events().select("id", "user").dropDuplicates())
program("distinct with the time")(lambda s: s.events().select("ts", "user").distinct())
program("distinct without the time", "update")(lambda s: s.events().select("user").distinct())
program("distinct without the time, append")(lambda s: s.events().select("user").distinct())
program("within the watermark")(lambda s: s.events().dropDuplicatesWithinWatermark(["id"]))
program("within no watermark")(lambda s: s.events(None).dropDuplicatesWithinWatermark(["id"]))
program("dropDuplicates by a renamed time")(
    lambda s: s.events().withColumnRenamed("ts", "t").dropDuplicates(["id", "t"])
)
program("dropDuplicates by a truncated time")(
    lambda s: s.events().withColumn("hour", F.date_trunc("hour", "ts")).dropDuplicates(["id", "hour"])
)
program("dropDuplicates by a window")(
    lambda s: s.events().withColumn("w", F.window("ts", W)).dropDuplicates(["id", "w"])
)
program("dropDuplicates of a sample")(lambda s: s.events().sample(0.5).dropDuplicates(["id", "ts"]))
program("dropDuplicates of a union")(
    lambda s: s.events().select("id", "ts").union(s.events(shift=30).select("id", "ts")).dropDuplicates(["id", "ts"])
)
program("dropDuplicates of a union, watermark left")(
    lambda s: s.events().select("id", "ts").union(s.events(None, 30).select("id", "ts")).dropDuplicates(["id", "ts"])
)
program("dropDuplicates of a union, watermark right")(
    lambda s: (
        s.events(None).select("id", "ts").union(s.events(shift=30).select("id", "ts")).dropDuplicates(["id", "ts"])
    )
)
program("dropDuplicates of a union, watermark above")(
    lambda s: (
        s.events(None)
        .select("id", "ts")
        .unionByName(s.events(None, 30).select("ts", "id"))
        .withWatermark("ts", "10 minutes")
        .dropDuplicates(["id", "ts"])
    )
)
program("windows of a union, watermark above")(
    lambda s: (
        s.events(None)
        .unionByName(s.events(None, 30))
        .withWatermark("ts", "10 minutes")
        .groupBy(F.window("ts", W), "user")
        .count()
    )
)
program("windows of a union of three")(
    lambda s: (
        s.events()
        .select("ts", "user")
        .union(s.events(shift=30).select("ts", "user"))
        .union(s.events(shift=45).select("ts", "user"))
        .groupBy(F.window("ts", W), "user")
        .count()
    )
)
program("groups of a union that widens", "update")(
    lambda s: (
        s.events(None)
        .select(F.col("amount").cast("int").alias("n"))
        .union(s.events(None, 30).select("id"))
        .groupBy("n")
        .count()
    )
)
program("few groups of a union", "update")(
    lambda s: (
        s.events(None)
        .select((F.col("id") % 3).alias("n"))
        .union(s.events(None, 30).select((F.col("id") % 5).alias("n")))
        .groupBy("n")
        .count()
    )
)
program("many groups of a union", "update")(
    lambda s: (
        s.events(None).select((F.col("id") % 3).alias("n")).union(s.events(None, 30).select("id")).groupBy("n").count()
    )
)
program("stream with batch in a union")(lambda s: s.events().select("kind").union(s.table().select("kind")))

# Joins.
RANGE = "cid = vid AND vts >= cts AND vts <= cts + INTERVAL 1 HOUR"
for kind in ("inner", "left", "right", "full", "left_semi"):
    program(f"a range join, {kind}")(lambda s, kind=kind: s.left().join(s.right(), F.expr(RANGE), kind))  # type: ignore[misc]
    program(f"an equality join, {kind}")(lambda s, kind=kind: s.left().join(s.right(), F.expr("cid = vid"), kind))  # type: ignore[misc]
program("a range join, left_anti")(lambda s: s.left().join(s.right(), F.expr(RANGE), "left_anti"))
program("a range join without watermarks")(lambda s: s.left(None).join(s.right(None), F.expr(RANGE)))
program("a range join with the left watermark")(lambda s: s.left().join(s.right(None), F.expr(RANGE)))
program("a range join with the right watermark")(lambda s: s.left(None).join(s.right(), F.expr(RANGE)))
program("a left join with the left watermark")(lambda s: s.left().join(s.right(None), F.expr(RANGE), "left"))
program("a left join with the right watermark")(lambda s: s.left(None).join(s.right(), F.expr(RANGE), "left"))
program("half a range")(lambda s: s.left().join(s.right(), F.expr("cid = vid AND vts >= cts")))
program("the other half of a range")(
    lambda s: s.left().join(s.right(), F.expr("cid = vid AND vts <= cts + INTERVAL 1 HOUR"))
)
program("a range in where")(
    lambda s: s.left().join(s.right(), F.expr("cid = vid")).where("vts BETWEEN cts AND cts + INTERVAL 1 HOUR")
)
program("a range with column functions")(
    lambda s: s.left().join(
        s.right(),
        (F.col("cid") == F.col("vid"))
        & (F.col("vts") >= F.col("cts") - F.expr("INTERVAL 10 MINUTES"))
        & (F.col("vts") <= F.col("cts") + F.expr("INTERVAL 1 HOUR")),
    )
)
program("a range without equality")(
    lambda s: s.left().join(s.right(), F.expr("vts BETWEEN cts AND cts + INTERVAL 1 MINUTE"))
)
program("a range of seconds")(
    lambda s: s.left().join(s.right(), F.expr("cid = vid AND cast(vts AS long) - cast(cts AS long) BETWEEN 0 AND 3600"))
)
program("a range of unix_timestamp")(
    lambda s: s.left().join(
        s.right(), F.expr("cid = vid AND unix_timestamp(vts) - unix_timestamp(cts) BETWEEN 0 AND 3600")
    )
)
program("a range of casts")(
    lambda s: s.left().join(
        s.right(),
        F.expr(
            "cid = vid AND cast(vts AS long) >= cast(cts AS long) AND cast(vts AS long) <= cast(cts AS long) + 3600"
        ),
    )
)
program("a range of doubles")(
    lambda s: s.left().join(
        s.right(), F.expr("cid = vid AND cast(vts AS double) - cast(cts AS double) <= 60.5 AND vts >= cts")
    )
)
program("a range of differences")(
    lambda s: s.left().join(s.right(), F.expr("cid = vid AND vts - cts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 HOUR"))
)
program("a range in days")(
    lambda s: s.left().join(
        s.right(), F.expr("cid = vid AND vts >= cts AND vts <= cts + INTERVAL '0 01:00:00' DAY TO SECOND")
    )
)
program("a range in months")(
    lambda s: s.left().join(s.right(), F.expr("cid = vid AND vts >= cts AND vts <= cts + INTERVAL 1 MONTH"))
)
program("a range of timestampdiff")(
    lambda s: s.left().join(s.right(), F.expr("cid = vid AND timestampdiff(MINUTE, cts, vts) BETWEEN 0 AND 60"))
)
program("a range of datediff")(lambda s: s.left().join(s.right(), F.expr("cid = vid AND datediff(vts, cts) = 0")))
program("a range of numbers")(
    lambda s: s.left().join(s.right(), F.expr("cid = vid AND vms BETWEEN cms AND cms + 3600000"))
)
program("a range over a column of minutes")(
    lambda s: s.left().join(
        s.right(), F.expr("cid = vid AND vts >= cts AND vts <= cts + make_dt_interval(0, 0, camount)")
    )
)
program("equal times")(lambda s: s.left().join(s.right(), F.expr("cid = vid AND cts = vts")))
program("equal times with one watermark")(lambda s: s.left().join(s.right(None), F.expr("cid = vid AND cts = vts")))
program("equal times alone")(lambda s: s.left().join(s.right(), F.expr("cts = vts")))
program("equal times, left")(lambda s: s.left().join(s.right(), F.expr("cid = vid AND cts = vts"), "left"))
program("equal hours")(
    lambda s: s.left().join(s.right(), F.expr("cid = vid AND date_trunc('hour', cts) = date_trunc('hour', vts)"))
)
program("equal windows")(
    lambda s: (
        s.left()
        .withColumn("w", F.window("cts", W))
        .join(s.right().withColumn("w", F.window("vts", W)), "w")
        .where("cid = vid")
    )
)
program("equal windows and ids")(
    lambda s: (
        s.left()
        .withColumn("id", F.col("cid"))
        .withColumn("w", F.window("cts", W))
        .join(s.right().withColumn("id", F.col("vid")).withColumn("w", F.window("vts", W)), ["w", "id"], "left")
    )
)
program("a computed key")(
    lambda s: s.left().join(s.right(), F.expr("cid - 50 = vid AND vts BETWEEN cts AND cts + INTERVAL 1 HOUR"))
)
program("a computed key without range")(lambda s: s.left().join(s.right(), F.expr("cid - 50 = vid")))
program("a key in upper case")(
    lambda s: s.left().join(
        s.right(), F.expr("upper(ckind) = upper(vkind) AND cid = vid AND vts BETWEEN cts AND cts + INTERVAL 1 HOUR")
    )
)
program("a join of renamed columns")(
    lambda s: (
        s.left()
        .withColumnRenamed("cts", "t")
        .join(s.right(), F.expr("cid = vid AND vts BETWEEN t AND t + INTERVAL 1 HOUR"))
    )
)
program("a join with itself")(lambda s: _with_itself(s.events().select("id", "ts")))
program("a join with itself by id")(lambda s: _with_itself(s.events().select("id", "ts"), "id = id2"))
program("a join of computed times")(
    lambda s: (
        s.left(None)
        .withColumn("t", F.timestamp_millis("cms"))
        .withWatermark("t", "10 minutes")
        .drop("cts")
        .join(
            s.right(None).withColumn("u", F.timestamp_millis("vms")).withWatermark("u", "10 minutes").drop("vts"),
            F.expr("cid = vid AND u BETWEEN t AND t + INTERVAL 1 HOUR"),
        )
    )
)
program("a range over another time")(
    lambda s: (
        s.left()
        .withColumn("seen", F.timestamp_millis("cms"))
        .join(s.right(), F.expr("cid = vid AND vts BETWEEN seen AND seen + INTERVAL 1 HOUR"))
    )
)
program("a range over the end of a validity")(
    lambda s: (
        s.left()
        .withColumn("until", F.expr("cts + INTERVAL 1 MINUTE"))
        .join(s.right(), F.expr("cid = vid AND vts >= cts AND vts <= until"))
    )
)
program("a range of other times on both sides")(
    lambda s: (
        s.left()
        .withColumn("c2", F.timestamp_millis("cms"))
        .join(
            s.right().withColumn("v2", F.timestamp_millis("vms")),
            F.expr("cid = vid AND v2 BETWEEN c2 AND c2 + INTERVAL 1 HOUR"),
        )
    )
)
program("a join after a static join")(
    lambda s: s.left().join(s.table(), F.expr("ckind = kind")).join(s.right(), F.expr(RANGE))
)
program("a join of filters")(
    lambda s: s.left().where("ckind = 'click'").join(s.right().where("vkind = 'view'"), F.expr(RANGE))
)
program("a join with a constant key")(
    lambda s: s.left().where("ckind = 'buy'").join(s.right().where("vkind = 'buy'"), F.expr("ckind = vkind"))
)
program("a join of deduplicated sides")(
    lambda s: s.left().dropDuplicatesWithinWatermark(["cid"]).join(s.right(), F.expr(RANGE))
)
program("a cross join")(lambda s: s.left().crossJoin(s.right()))
program("a join on a boolean")(lambda s: s.left().join(s.right(), F.expr("cid > vid")))
program("a contradiction")(
    lambda s: s.left().join(s.right(), F.expr("cid = vid AND vts > cts + INTERVAL 1 HOUR AND vts < cts"))
)
program("three streams that keep all times")(
    lambda s: (
        s.left()
        .join(s.right(), F.expr(RANGE))
        .join(s.third(), F.expr("oid = cid AND ots BETWEEN cts AND cts + INTERVAL 1 HOUR"))
    )
)
program("three streams that drop a time")(
    lambda s: (
        s.left()
        .join(s.right(), F.expr(RANGE))
        .drop("vts")
        .join(s.third(), F.expr("oid = cid AND ots BETWEEN cts AND cts + INTERVAL 1 HOUR"))
    )
)
program("a static table left outer a stream")(lambda s: s.table().join(s.events(), "kind", "left"))
program("a stream right outer a static table")(lambda s: s.events().join(s.table(), "kind", "right"))
program("a full join with a static table")(lambda s: s.events().join(s.table(), "kind", "full"))
program("an update join", "update")(lambda s: s.left().join(s.right(), F.expr(RANGE)))
program("an update left join", "update")(lambda s: s.left().join(s.right(), F.expr(RANGE), "left"))
program("a complete join", "complete")(lambda s: s.left().join(s.right(), F.expr(RANGE)))
program("an IN subquery of a stream")(lambda s: sql_over_both(s, "SELECT cid FROM c WHERE cid IN (SELECT vid FROM v)"))
program("an EXISTS subquery with a range")(
    lambda s: sql_over_both(
        s,
        "SELECT cid FROM c WHERE EXISTS "
        "(SELECT 1 FROM v WHERE vid = cid AND vts BETWEEN cts AND cts + INTERVAL 1 HOUR)",
    )
)
program("a NOT EXISTS subquery")(
    lambda s: sql_over_both(s, "SELECT cid FROM c WHERE NOT EXISTS (SELECT 1 FROM v WHERE vid = cid)")
)
program("sql with a CTE")(
    lambda s: sql_over_both(
        s,
        "WITH x AS (SELECT * FROM c WHERE ckind = 'click'), y AS (SELECT vid, vts FROM v) "
        "SELECT x.cid FROM x JOIN y ON x.cid = y.vid "
        "AND y.vts BETWEEN x.cts - INTERVAL 5 MINUTES AND x.cts + INTERVAL 5 MINUTES",
    )
)
program("sql by window", "update")(
    lambda s: sql_over_events(s, "SELECT window(ts, '1 hour') w, user, sum(amount) FROM e GROUP BY 1, 2")
)
program("sql by a key", "update")(
    lambda s: sql_over_events(s, "SELECT user, sum(amount) FROM e GROUP BY user HAVING count(*) > 1")
)


def _with_itself(df: DataFrame, condition: str = "id = id2 AND ts2 BETWEEN ts AND ts + INTERVAL 1 HOUR") -> DataFrame:
    return df.join(df.select(F.col("id").alias("id2"), F.col("ts").alias("ts2")), F.expr(condition))


def sql_over_both(s: Streams, text: str) -> DataFrame:
    s.left().createOrReplaceTempView("c")
    s.right().createOrReplaceTempView("v")
    return s.spark.sql(text)


program("dropDuplicates of a join that keeps both times")(
    lambda s: s.left().join(s.right(), F.expr(RANGE)).dropDuplicates(["cid", "cts"])
)
program("within the watermark of a join that keeps both times")(
    lambda s: s.left().join(s.right(), F.expr(RANGE)).dropDuplicatesWithinWatermark(["cid"])
)
program("dropDuplicates of a join that drops a time")(
    lambda s: s.left().join(s.right(), F.expr(RANGE)).drop("vts").dropDuplicates(["cid", "cts"])
)
program("a join on a window of an aggregate and a range")(
    lambda s: (
        s.left()
        .groupBy(F.window("cts", "10 minutes"), "cid")
        .count()
        .select("cid", F.col("window.end").alias("e"), F.window_time("window").alias("t"))
        .join(s.right(), F.expr("cid = vid AND vts BETWEEN t - INTERVAL 1 HOUR AND t + INTERVAL 1 HOUR"))
    )
)
program("an interval written twice")(
    lambda s: s.left().join(
        s.right(), F.expr("cid = vid AND vts >= cts AND vts <= cts + INTERVAL 10 MINUTES + INTERVAL 10 MINUTES")
    )
)
program("intervals on both sides")(
    lambda s: s.left().join(
        s.right(), F.expr("cid = vid AND vts - INTERVAL 10 MINUTES <= cts + INTERVAL 10 MINUTES AND vts >= cts")
    )
)

# Set operations and what Spark refuses.
program("intersect")(lambda s: s.left().select("cts", "cid").intersect(s.right().select("vts", "vid")))
program("except")(lambda s: s.left().select("cts", "cid").exceptAll(s.right().select("vts", "vid")))
program("subtract")(lambda s: s.left().select("cts", "cid").subtract(s.right().select("vts", "vid")))
program("a window function")(
    lambda s: s.events().withColumn("n", F.row_number().over(Window.partitionBy("user").orderBy("ts")))
)
program("countDistinct", "update")(lambda s: s.events().groupBy(F.window("ts", W)).agg(F.countDistinct("user")))
program("sort in append")(lambda s: s.events().orderBy("ts"))
program("limit in update", "update")(lambda s: s.events().limit(5))
program("complete without an aggregate", "complete")(lambda s: s.events())
program("two aggregates in update", "update")(
    lambda s: s.events().groupBy(F.window("ts", "10 minutes"), "user").count().groupBy(F.window("window", W)).count()
)

# Names and shapes of public jobs.
program("a count of clicks by hour, minute and user", "update")(
    lambda s: s.events().groupBy(F.hour("ts"), F.minute("ts"), "user").count()
)
program("the last state of each user", "update")(
    lambda s: s.events().groupBy("user").agg(F.max_by("kind", "ts").alias("last"), F.max("ts").alias("at"))
)
program("revenue by kind and window after a filter")(
    lambda s: (
        s.events()
        .where("kind = 'buy'")
        .groupBy(F.window("ts", "10 minutes"), "kind")
        .agg(F.sum("amount").alias("revenue"))
    )
)
program("late and early", "update")(
    lambda s: (
        s.events().where(F.col("ts") > F.expr("current_timestamp() - INTERVAL 100000 HOURS")).groupBy("user").count()
    )
)
program("an array of structs exploded by window")(
    lambda s: (
        s.events()
        .select("ts", "user", F.explode(F.arrays_zip("items", "items")).alias("z"))
        .select("ts", "z.*")
        .toDF("ts", "x", "y")
        .groupBy(F.window("ts", W), "x")
        .agg(F.sum("y"))
    )
)
program("an inline view by window and static name")(
    lambda s: (
        s.events()
        .join(F.broadcast(s.table()), "kind", "left")
        .withColumn("label", F.coalesce("label", F.lit("?")))
        .groupBy(F.window("ts", W, "30 minutes"), "label")
        .agg(F.count("*").alias("n"), F.avg("amount"))
    )
)
program("few labels without a window", "update")(
    lambda s: (
        s.events(None)
        .join(F.broadcast(s.table()), "kind", "left")
        .withColumn("label", F.coalesce("label", F.lit("?")))
        .groupBy("label")
        .agg(F.count("*"))
    )
)
program("a struct as a key", "update")(lambda s: s.events(None).groupBy(F.struct("user", "kind").alias("k")).count())
program("a rounded number", "update")(lambda s: s.events(None).groupBy(F.round(F.col("id") / 10).alias("tens")).count())
program("a bucket of a number", "update")(
    lambda s: s.events(None).groupBy(F.expr("width_bucket(amount, 0, 100, 10)").alias("b")).count()
)
program("an id of a json path", "update")(
    lambda s: (
        s.kafka()
        .select(F.get_json_object(F.col("value").cast("string"), "$.user").alias("user"), "timestamp")
        .withWatermark("timestamp", "10 minutes")
        .groupBy(F.window("timestamp", W), "user")
        .count()
    )
)
program("a key of a json path without window", "update")(
    lambda s: (
        s.kafka()
        .select(F.get_json_object(F.col("value").cast("string"), "$.user").alias("user"))
        .groupBy("user")
        .count()
    )
)
program("split of a text by window")(
    lambda s: (
        s.kafka()
        .select(F.explode(F.split(F.col("value").cast("string"), " ")).alias("word"), "timestamp")
        .withWatermark("timestamp", "10 minutes")
        .groupBy(F.window("timestamp", "10 minutes", "5 minutes"), "word")
        .count()
    )
)
program("two watermarks, one after the other")(
    lambda s: (
        s.events()
        .withColumn("t", F.timestamp_millis("ms"))
        .drop("ts")
        .withWatermark("t", "5 minutes")
        .groupBy(F.window("t", W), "user")
        .count()
    )
)
program("dropDuplicates, then a join")(
    lambda s: s.left().dropDuplicates(["cid", "cts"]).join(s.right().dropDuplicates(["vid", "vts"]), F.expr(RANGE))
)
program("a join with columns of one name")(
    lambda s: (
        s.events()
        .select("id", "ts", "kind")
        .alias("x")
        .join(
            s.events(shift=30).select("id", "ts").alias("y"),
            F.expr("x.id = y.id AND y.ts BETWEEN x.ts - INTERVAL 10 MINUTES AND x.ts + INTERVAL 10 MINUTES"),
        )
    )
)
program("a join using a column")(
    lambda s: s.events().select("id", "kind", "ts").join(s.events(shift=30).select("id", "amount"), "id")
)
program("a join using the time")(
    lambda s: s.events().select("id", "ts").join(s.events().select("id", "ts", "kind"), ["id", "ts"])
)

# Values that are collected, and state of the user's own.
program("collected by window")(lambda s: s.events().groupBy(F.window("ts", W)).agg(F.collect_list("id")))
program("collected by user", "update")(lambda s: s.events().groupBy("user").agg(F.collect_set("kind")))
program("pivot of a window", "update")(
    lambda s: (
        s.events()
        .groupBy(F.window("ts", W))
        .agg(*(F.sum(F.when(F.col("kind") == k, 1)).alias(k) for k in ("view", "buy")))
    )
)


def _counting(key, frames, state):  # type: ignore[no-untyped-def]
    state.update((1,))
    yield pd.DataFrame({"user": [key[0]]})


program("applyInPandasWithState", "update")(
    lambda s: s.events().groupBy("user").applyInPandasWithState(_counting, "user long", "n long", "update", "NoTimeout")
)
