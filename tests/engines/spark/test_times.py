"""Times on Spark: zones as Spark reckons them, texts in files, units of BIGINT times, and what the driver warns of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock
from penstock.algebra.zones import zone_of
from penstock.engines.spark.session import TIME_ZONE
from penstock.errors import DoubtfulUnit, PenstockError

ZONES = (
    "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo",
    "America/Havana", "America/Goose_Bay", "+05:45",
)  # fmt: skip
UNITS = ("MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
FUNCTIONS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
#: Where clocks are changed in most zones: before 1970 and after 2037, too.
YEARS = (1883, 1892, 1916, 1941, 1986, 2011, 2018, 2026, 2045, 2399)


@contextmanager
def in_zone(spark: SparkSession, zone: str) -> Iterator[None]:
    before = spark.conf.get(TIME_ZONE)
    spark.conf.set(TIME_ZONE, zone)
    try:
        yield
    finally:
        spark.conf.set(TIME_ZONE, str(before))


def instants(zone: str) -> list[int]:
    starts = [(year - 1970) * 31_556_952 for year in YEARS]
    near = [c.at for c in zone_of(zone).changes if any(start <= c.at < start + 31_556_952 for start in starts)]
    found = [at + away for at in (*near, *starts) for away in (-3601, -1800, -1, 0, 1, 1799, 3599, 40_000)]
    return [at * 1_000_000 + at % 7 for at in found]


def selected() -> list[str]:
    exprs = [f"{function}(ts) AS {function.lower()}" for function in FUNCTIONS]
    exprs += [f"UNIX_MICROS(DATE_TRUNC('{unit}', ts)) AS to_{unit.lower()}" for unit in UNITS]
    exprs += ["CAST(ts AS STRING) AS text", "CAST(CAST(ts AS DATE) AS STRING) AS date"]
    exprs += ["UNIX_MICROS(CAST(CAST(ts AS DATE) AS TIMESTAMP)) AS midnight"]
    return [*exprs, "UNIX_MICROS(CAST(shown AS TIMESTAMP)) AS read"]


def test_functions_give_what_spark_gives(spark: SparkSession) -> None:
    """The times that a text shows are skipped in some zones, and shown twice in others."""
    given, theirs, ours = {}, [], []
    for zone in ZONES:
        times = instants(zone)
        shown = pa.array(times, pa.timestamp("us")).cast(pa.string()).to_pylist()
        given[zone] = pa.table(
            {"n": range(len(times)), "ts": pa.array(times, pa.timestamp("us", "UTC")), "shown": shown, "at": times}
        )
        with in_zone(spark, zone):
            frame = spark.createDataFrame(given[zone].drop_columns(["at"]))
            theirs.append(frame.selectExpr(f"'{zone}' AS zone", "n", *selected()))
        session = penstock.Session(time_zone=zone)
        at = pa.array(range(len(times)), pa.int64())
        session.stream("s", given[zone].drop_columns(["at"]).append_column("t", at), timestamp="t")
        answer = session.query(f"SELECT ISTREAM(n, {', '.join(selected())}) FROM s").to_arrow()
        ours += [{"zone": zone, **row} for row in answer.drop_columns(["_ts", "_op"]).to_pylist()]
    found = reduce(DataFrame.union, theirs).toArrow().to_pylist()
    want = {(row["zone"], row["n"]): row for row in found}
    differing = [
        (row["zone"], given[row["zone"]]["at"][row["n"]].as_py(), name, row[name], theirs_of[name])
        for row in ours
        for name in row
        if row[name] != (theirs_of := want[row["zone"], row["n"]])[name]
    ]
    assert not differing, "\n".join(map(str, differing[:20]))
    assert len(ours) == len(found)


DDL = """
CREATE STREAM s (k BIGINT, at TIMESTAMP, ts BIGINT) TIMESTAMP BY ts {unit}
USING csv OPTIONS (path '{folder}/s', header 'true');
CREATE STREAM b (k BIGINT, ts BIGINT) TIMESTAMP BY ts {unit}
USING csv OPTIONS (path '{folder}/b', header 'true');
"""
TEXTS = [
    "2026-03-29 02:30:00", "2026-03-29 01:30:00", "2026-10-25 02:30:00", "2026-10-25 02:30:00Z",
    "2026-07-01T12:00:00+05:00", "1945-05-24 02:30:00.123456", "2050-07-01 12:00:00",
]  # fmt: skip


def written(folder: Path, times: list[int]) -> None:
    for name in ("s", "b"):
        (folder / name).mkdir()
    lines = [f"{n},{text},{at}" for n, (text, at) in enumerate(zip(TEXTS, times, strict=False))]
    (folder / "s" / "1.csv").write_text("k,at,ts\n" + "\n".join(lines) + "\n")
    (folder / "b" / "1.csv").write_text("k,ts\n" + "".join(f"{n},{at}\n" for n, at in enumerate(times)))


def on_spark(query: penstock.session.Query, folder: Path, name: str = "out.parquet") -> Counter[tuple[Any, ...]]:
    query.start(
        str(folder / name), checkpoint=str(folder / f"{name}.checkpoint"), cells=1, until_done=True
    ).await_done()
    return Counter(tuple(row.values()) for row in pq.read_table(folder / name).to_pylist())


def rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def test_a_session_has_the_zone_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Texts in files, literals and functions: the same in both engines, and as Spark's own reader has them."""
    written(tmp_path, list(range(0, 70_000, 10_000)))
    text = """
    SELECT ISTREAM(s.k, s.at, HOUR(s.at) AS h, CAST(s.at AS STRING) AS t, s.at < TIMESTAMP '2026-03-29 03:30:00' AS e)
    FROM s, b WHERE s.k = b.k AND b.ts BETWEEN s.ts AND s.ts + 5000"""
    with in_zone(spark, "Europe/Berlin"):
        session = penstock.Session(spark)
        assert session.time_zone == "Europe/Berlin"
        session.sql(DDL.format(folder=tmp_path, unit="MILLISECONDS"))
        query = session.query(text)
        assert query.verdict.safe
        found = on_spark(query, tmp_path)
        own = spark.read.csv(str(tmp_path / "s"), header=True, schema="k BIGINT, at TIMESTAMP, ts BIGINT")
        theirs = own.selectExpr(
            "k", "at", "HOUR(at) AS h", "CAST(at AS STRING) AS t", "at < TIMESTAMP '2026-03-29 03:30:00' AS e"
        )
        want = {row["k"]: tuple(row.values()) for row in theirs.toArrow().to_pylist()}
        assert {row[2]: row[2:] for row in found} == want
        assert {row[0] for row in found} == {at * 1_000_000 for at in range(0, 70, 10)}
        assert rows(query.to_arrow()) == found
    with pytest.raises(PenstockError, match="declared in the time zone Europe/Berlin, and the Spark session has UTC"):
        query.start(str(tmp_path / "x.parquet"), checkpoint=str(tmp_path / "x"))
    again = penstock.Session(spark)
    again.sql(DDL.format(folder=tmp_path, unit="MILLISECONDS"))
    with pytest.raises(PenstockError, match="written in the time zone Europe/Berlin, and now it is UTC"):
        on_spark(again.query(text), tmp_path)


def test_the_driver_warns_of_times_in_another_unit(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path, [1_700_000_000 + n for n in range(7)])
    session = penstock.Session(spark)
    session.sql(DDL.format(folder=tmp_path, unit=""))
    query = session.query("SELECT ISTREAM(k) FROM s [RANGE 1 SECOND]")
    with pytest.warns(DoubtfulUnit, match=r"s: ts starts with 1700000000, which looks like seconds"):
        on_spark(query, tmp_path)
