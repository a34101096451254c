"""The workloads in Spark's own operators, to compare with: joins with watermarks and ranges of time, and windows."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from penstock.workloads import sliding, star


def streams(session: SparkSession, data: Path) -> dict[str, DataFrame]:
    """The streams whose files lie in the folders of a folder, one file per micro-batch."""
    found = {}
    for folder in sorted(data.iterdir()):
        schema = session.read.parquet(str(folder)).schema
        reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        found[folder.name] = reader.parquet(str(folder))
    return found


def _marked(frame: DataFrame, name: str) -> DataFrame:
    """A stream with its name before each column, and a watermark on its time."""
    others = [f.col(column).alias(f"{name}_{column}") for column in frame.columns if column != "ts"]
    ts = f.timestamp_micros(f.col("ts")).alias(f"{name}_ts")
    return frame.select(*others, ts).withWatermark(f"{name}_ts", "0 seconds")


def _near(one: str, other: str, reach: str) -> str:
    return f"{one}_ts BETWEEN {other}_ts - INTERVAL {reach} AND {other}_ts + INTERVAL {reach}"


def network_join(streams: dict[str, DataFrame]) -> DataFrame:
    """A chain of two joins with watermarks and ranges; one event time is dropped in between, or Spark refuses."""
    c, b, o = (_marked(streams[link], link) for link in ("c", "b", "o"))
    two = c.join(b, f.expr(f"c_pid = b_pid AND {_near('c', 'b', '10 MINUTES')}")).drop("c_ts")
    three = two.join(o, f.expr(f"b_pid = o_pid AND {_near('b', 'o', '10 MINUTES')}"))
    return three.select("c_pid", "c_size")


def star_join(streams: dict[str, DataFrame]) -> DataFrame:
    """A chain of three joins; each satellite's time is dropped behind its join."""
    reach = f"{star.WINDOW - 1} MILLISECONDS"
    joined = _marked(streams["hub"], "hub")
    for satellite in star.SATELLITES:
        other = _marked(streams[satellite], satellite)
        condition = f"hub_{satellite} = {satellite}_key AND {_near('hub', satellite, reach)}"
        joined = joined.join(other, f.expr(condition)).drop(f"{satellite}_ts")
    return joined.select("hub_id", *(f"{satellite}_id" for satellite in star.SATELLITES))


def auction_join(streams: dict[str, DataFrame]) -> DataFrame:
    """Items and bids of up to an hour later: without punctuations a time has to end the wait."""
    item, bid = _marked(streams["item"], "i"), _marked(streams["bid"].where("kind = 'bid'"), "b")
    near = "b_ts BETWEEN i_ts AND i_ts + INTERVAL 1 HOUR"
    joined = item.join(bid, f.expr(f"i_id = b_auction AND {near}"))
    return joined.select("i_id", "i_seller", "b_bidder", "b_price")


def sliding_aggregate(streams: dict[str, DataFrame]) -> DataFrame:
    """A row for each window and sensor, when the watermark has passed the window."""
    rows = _marked(streams["reading"], "s")
    window = f.window("s_ts", f"{sliding.RANGE_SECONDS} seconds", f"{sliding.SLIDE_SECONDS} seconds")
    return rows.groupBy(window, "s_sensor").agg(f.sum("s_value").alias("total"), f.count("*").alias("readings"))
