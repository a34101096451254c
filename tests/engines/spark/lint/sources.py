"""Streams for the corpus: deterministic, with an hour of event time in each micro-batch, and opaque as Kafka's are.

The columns are parsed from JSON, so that a plan does not show what values they take.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

ROWS = 24
SCHEMA = (
    "id long, user long, kind string, amount long, at string, ms long, ts timestamp, items array<long>, flag boolean"
)


class Streams:
    """What the programs of the corpus read."""

    def __init__(self, spark: SparkSession, rate: str = "rate-micro-batch") -> None:
        self.spark = spark
        self._rate = rate

    def kafka(self, shift: int = 0) -> DataFrame:
        """A stream with the columns of Kafka's: event times lie one minute apart, shifted by so many seconds."""
        options = {"rowsPerBatch": ROWS, "advanceMillisPerBatch": 3_600_000, "startTimestamp": 1_700_000_000_000}
        reader = self.spark.readStream.format(self._rate)
        rows = reader.options(**options, numPartitions=1).load() if "micro" in self._rate else reader.load()
        number = F.col("value")
        ts = F.col("timestamp") + F.make_dt_interval(secs=number % ROWS * 60 + shift)
        body = F.to_json(
            F.struct(
                number.alias("id"),
                (number * 31).alias("user"),
                F.element_at(F.array(F.lit("view"), F.lit("click"), F.lit("buy")), (number % 3 + 1).cast("int")).alias(
                    "kind"
                ),
                (number % 100).alias("amount"),
                F.date_format(ts, "yyyy-MM-dd HH:mm:ss").alias("at"),
                F.unix_millis(ts).alias("ms"),
                F.date_format(ts, "yyyy-MM-dd'T'HH:mm:ss.SSSXXX").alias("ts"),
                F.array(number, number + 1).alias("items"),
                (number % 2 == 0).alias("flag"),
            )
        )
        key = number.cast("string").cast("binary").alias("key")
        return rows.select(key, F.concat(F.lit(" "), body).cast("binary").alias("value"), F.col("timestamp"))

    def events(self, watermark: str | None = "10 minutes", shift: int = 0) -> DataFrame:
        parsed = self.kafka(shift).select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("j")).select("j.*")
        return parsed.withWatermark("ts", watermark) if watermark else parsed

    def left(self, watermark: str | None = "10 minutes") -> DataFrame:
        """Clicks: cid, cuser, cts."""
        return self._named(self.events(None), "c", watermark).alias("clicks")

    def right(self, watermark: str | None = "5 minutes") -> DataFrame:
        """Views, half a minute after the clicks: vid, vuser, vts."""
        return self._named(self.events(None, 30), "v", watermark).alias("views")

    def third(self, watermark: str | None = "5 minutes") -> DataFrame:
        return self._named(self.events(None, 45), "o", watermark).alias("orders")

    def table(self) -> DataFrame:
        """A static table: five kinds with names."""
        return self.spark.createDataFrame([("view", "A"), ("click", "B"), ("buy", "C")], "kind string, label string")

    def _named(self, df: DataFrame, lead: str, watermark: str | None) -> DataFrame:
        wanted = ("id", "user", "kind", "amount", "ts", "ms")
        named = df.select(*(F.col(name).alias(f"{lead}{name}") for name in wanted))
        return named.withWatermark(f"{lead}ts", watermark) if watermark else named
