"""A guard judges every streaming query before it starts, and a job under the lint starts none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock
from penstock import UnboundedState, UnsafeStream
from penstock.cli import main
from penstock.errors import PenstockError

JOB = """
import sys
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.appName("job").getOrCreate()
print("reading", sys.argv[1:])
raw = spark.readStream.format("kafka").option("subscribe", "clicks").load()
clicks = raw.select(F.from_json(F.col("value").cast("string"), "user long, ts timestamp").alias("j")).select("j.*")
by_user = clicks.groupBy("user").count().writeStream.queryName("by_user").outputMode("update").format("console").start()
windows = clicks.withWatermark("ts", "10 minutes").groupBy(F.window("ts", "1 hour"), "user").count()


def save(batch, number):
    raise AssertionError("a job under the lint runs no batch")


hourly = windows.writeStream.foreachBatch(save).queryName("hourly").start()
windows.writeStream.toTable("hours", queryName="table", checkpointLocation="/nowhere")
while hourly.isActive:
    pass
hourly.awaitTermination()
spark.streams.awaitAnyTermination()
spark.stop()
"""


def stream(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")


def test_a_guard_refuses_what_is_not_safe(spark: SparkSession) -> None:
    with penstock.guard(spark, unsafe="refuse"):
        writer = (
            stream(spark).groupBy("value").count().writeStream.queryName("totals").format("noop").outputMode("update")
        )
        with pytest.raises(UnsafeStream, match="totals: not safe\none group is kept for every value of value"):
            writer.start()
        with pytest.raises(UnsafeStream, match="Spark refuses it"):
            writer.start(outputMode="append")


def test_a_guard_lets_what_is_safe_start(spark: SparkSession, tmp_path: Path) -> None:
    with penstock.guard(spark, unsafe="refuse"):
        query = stream(spark).writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
        query.stop()


def test_a_guard_warns_and_starts(spark: SparkSession, tmp_path: Path) -> None:
    writer = stream(spark).groupBy("value").count().writeStream.format("noop").outputMode("update")
    writer = writer.option("checkpointLocation", str(tmp_path))
    with penstock.guard(spark):
        with pytest.warns(UnboundedState, match="every value of value"):
            query = writer.start()
        query.stop()


def test_a_guard_knows_declared_columns(spark: SparkSession) -> None:
    with penstock.guard(spark, unsafe="refuse", finite=["value"]):
        query = stream(spark).groupBy("value").count().writeStream.format("noop").outputMode("complete").start()
        query.stop()


def test_a_guard_takes_two_ways(spark: SparkSession) -> None:
    with pytest.raises(PenstockError, match="is not a way to guard"):
        penstock.guard(spark, unsafe="ignore")


def test_a_writer_is_checked_in_its_output_mode(spark: SparkSession) -> None:
    df = stream(spark).withWatermark("ts", "1 minute").groupBy(F.window("ts", "1 minute")).count()
    (found,) = penstock.check(df.writeStream.queryName("windows").outputMode("complete"))
    assert (found.name, found.output_mode, found.safe) == ("windows", "complete", False)
    assert penstock.check(df.writeStream)[0].safe
    assert penstock.check(df, output_mode="update")[0].safe
    assert not penstock.check(df, output_mode="complete")[0].safe


def test_groupby_alone_is_no_query(spark: SparkSession) -> None:
    with pytest.raises(PenstockError, match="is not yet a query"):
        penstock.check(stream(spark).groupBy("value"))
    with pytest.raises(PenstockError, match="cannot be checked"):
        penstock.check(spark)
    with pytest.raises(PenstockError, match="no output mode often"):
        penstock.check(stream(spark), output_mode="often")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("job.py").write_text(JOB)
    return "job.py"


def test_a_job_is_judged_without_kafka_and_starts_nothing(
    spark: SparkSession, job: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", job, "--json", "--", "--date", "today"]) == 1
    printed = capsys.readouterr()
    assert "reading ['--date', 'today']" in printed.err
    report = json.loads(printed.out)
    found = [(q["file"], q["line"], q["name"], q["output_mode"], q["safe"]) for q in report["queries"]]
    assert found == [
        ("job.py", 9, "by_user", "update", False),
        ("job.py", 17, "hourly", "append", True),
        ("job.py", 18, "table", "append", True),
    ]
    assert report["errors"] == []
    assert not spark.streams.active
    assert main(["lint", job, "--finite", "user"]) == 0


def test_reports_of_a_job(spark: SparkSession, job: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", job])
    assert capsys.readouterr().out.startswith("job.py:9: by_user: not safe\none group is kept for every value of user")
    main(["lint", "--format", "github", job])
    assert re.match(r"::error file=job.py,line=9,title=by_user::by_user: not safe%0Aone group", capsys.readouterr().out)
    main(["lint", "--format", "sarif", job])
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("unbounded-state", "error")
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 9}


def test_a_job_that_fails_is_bad_input(spark: SparkSession, job: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.py").write_text("import sys\nx = 1\nraise ValueError('no bucket')\n")
    Path("unreachable.py").write_text(
        "from pyspark.sql import SparkSession\nSparkSession.active().readStream.format('delta').load('/x')\n"
    )
    Path("leaving.py").write_text("raise SystemExit(3)\n")
    Path("batch.py").write_text("print('nothing to start')\n")
    assert main(["lint", "broken.py", "unreachable.py", "leaving.py"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "broken.py:3: ValueError: no bucket"
    assert lines[2].startswith("unreachable.py:2: ")
    assert lines[4] == "leaving.py:1: the script ended with exit code 3"
    assert main(["lint", "batch.py"]) == 0
    assert capsys.readouterr().out == "no streaming query was started\n"
    assert main(["lint", "missing.py"]) == 2
    assert main(["lint", "job.sql"]) == 2


def test_files_that_are_not_there_are_read_by_their_schema(spark: SparkSession, job: str) -> None:
    Path("files.py").write_text(
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.active()\n"
        "df = spark.readStream.schema('id long, ts timestamp').parquet('s3://bucket/events')\n"
        "df.withWatermark('ts', '1 hour').dropDuplicates(['id', 'ts']).writeStream.format('parquet').start('s3://bucket/out')\n"
    )
    assert main(["lint", "files.py"]) == 0
