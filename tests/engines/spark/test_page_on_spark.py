"""The page of a query on Spark: the driver's metrics, shown in a browser while the query runs and when it is over."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect
from pyspark.sql import SparkSession

import penstock
from tests.monitor.page.browser import Window, needs_chromium, started


@pytest.mark.slow
@needs_chromium
def test_a_query_on_spark_has_a_page(spark: SparkSession, tmp_path: Path) -> None:
    rows = 3000
    table = pa.table({"a": [n % 10 for n in range(rows)], "ts": pa.array(range(rows), pa.int64())})
    pq.write_table(table, tmp_path / "s.parquet")
    session = penstock.Session(spark)
    session.sql(f"""
        CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING parquet OPTIONS (path '{tmp_path}/s.parquet');
        CREATE QUERY q AS SELECT a, COUNT(*) AS n FROM s [ROWS 500] GROUP BY a;
    """)
    with session.ui() as server, started() as browser:
        out, checkpoint = str(tmp_path / "out.parquet"), str(tmp_path / "checkpoint")
        running = session.query("q").start(out, checkpoint=checkpoint, cells=2, until_done=True)
        window = Window(browser)
        page = window.open(server.address)
        expect(page.locator(".node").first).to_be_visible()
        running.await_done()
        expect(page.locator("#status")).to_have_text("run is over", timeout=30_000)
        page.locator(".node.source").click()
        expect(page.locator("#inspector")).to_contain_text("rows so far3,000")
        page.locator(".node.scan").click()
        expect(page.locator("#inspector .proved")).to_contain_text("500 rows of s")
        page.get_by_role("tab", name="Cells").click()
        expect(page.locator(".cell-row").first).to_be_visible()
        assert window.wrong == []
