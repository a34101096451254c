"""Joins forget rows on Spark as they do elsewhere, and go on forgetting after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from tests.engines.comparing import bound, expected
from tests.engines.spark.killing import MOMENTS, Reaper, set_out
from tests.engines.spark.running import begin, on_spark, results, write_files
from tests.generators import Case
from tests.purging.cases import purging_case

DDL = """
CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM closed (auction BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT,
    PUNCTUATED BY (auction) FROM closed (auction)) TIMESTAMP BY ts;
"""
QUERY = "SELECT i.id, b.price FROM item i, bid b WHERE i.id = b.auction"
ITEMS = 40
#: An item comes every ten instants, has three bids, and is closed.
DATA = {
    "item": [(i, 10 * i) for i in range(ITEMS)],
    "bid": [(i, price, 10 * i + price) for i in range(ITEMS) for price in (1, 2, 3)],
    "closed": [(i, 10 * i + 5) for i in range(ITEMS)],
}


def test_an_auction_holds_its_open_items(spark: SparkSession, tmp_path: Path) -> None:
    case = Case(DDL, QUERY, DATA, None, "")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=12, only=3)
    running = begin(spark, case, query, catalog, tmp_path, cells=2, until_done=False)
    assert running._query is not None
    running._query.processAllAvailable()
    running.stop()
    write_files(case, catalog, tmp_path / "in", rows_per_file=12)
    again = begin(spark, case, query, catalog, tmp_path, cells=2)
    again.await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)
    last = max(line["step"] for line in again.metrics())
    assert sum(line["state_rows"] for line in again.metrics() if line["step"] == last) < 6


def test_a_random_join_gives_what_the_reference_says(spark: SparkSession, tmp_path: Path) -> None:
    found = purging_case(7)
    got = on_spark(spark, found.case, found.query, found.catalog, tmp_path, cells=2)
    assert got == expected(found.case, found.query, found.catalog)


#: Six items with two bids each.
FEW = {
    "item": DATA["item"][:6],
    "bid": [(i, price, 10 * i + price) for i in range(6) for price in (1, 3)],
    "closed": DATA["closed"][:6],
}
GROUPED = (
    "SELECT i.id, COUNT(*) AS bids, MAX(b.price) AS dearest FROM item i, bid b WHERE i.id = b.auction GROUP BY i.id"
)
QUERIES = {
    "join": QUERY,
    "groups that end": GROUPED,
    "groups that show when they close": f"{GROUPED} EMIT ON CLOSE",
    "anti-join": "SELECT id FROM item WHERE NOT EXISTS (SELECT * FROM bid b WHERE b.auction = id AND b.price > 2)",
}


def test_workers_die_and_each_group_still_comes_once_when_it_closes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reaper = Reaper(str(tmp_path), {0: MOMENTS[1], 1: MOMENTS[3], 2: MOMENTS[5]})
    set_out(reaper, monkeypatch)
    case = Case(DDL, f"{QUERIES['groups that show when they close']} ALLOW UNBOUNDED", FEW, None, "")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=6, only=1)
    running = begin(spark, case, query, catalog, tmp_path, cells=2, until_done=False)
    assert running._query is not None
    running._query.processAllAvailable()
    running.stop()
    write_files(case, catalog, tmp_path / "in", rows_per_file=6)
    begin(spark, case, query, catalog, tmp_path, cells=2).await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)
    assert reaper.killed() == {0, 1, 2}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "first"), [(name, n) for n, name in enumerate(QUERIES)], ids=str)
def test_a_worker_dies_in_each_micro_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, first: int
) -> None:
    """Two bids a file make six micro-batches, and a seventh closes time: 28 kill points in all."""
    moments = [MOMENTS[(first + batch) % len(MOMENTS)] for batch in range(7)]
    # No source has rows when time is closed.
    moments[-1] = moments[-1] if moments[-1] != MOMENTS[0] else MOMENTS[3]
    reaper = Reaper(str(tmp_path), dict(enumerate(moments)))
    set_out(reaper, monkeypatch)
    case = Case(DDL, f"{QUERIES[name]} ALLOW UNBOUNDED", FEW, None, "")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=2)
    begin(spark, case, query, catalog, tmp_path, cells=2).await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)
    assert reaper.killed() == set(range(7))


BROKEN = """
CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT,
    FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 ROWS{then}) TIMESTAMP BY ts;
"""
#: The bids of every tenth item come before it.
EARLY = {
    "item": [(i, 10 * i + 5) for i in range(ITEMS)],
    "bid": [(i, 1, 10 * i + (1 if i % 10 == 0 else 7)) for i in range(ITEMS)],
}


def test_rows_that_break_a_reference_are_told_to_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    query, catalog = bound(case := Case(BROKEN.format(then=""), f"{QUERY} ALLOW UNBOUNDED", EARLY, None, ""))
    write_files(case, catalog, tmp_path / "in")
    running = begin(spark, case, query, catalog, tmp_path, cells=2)
    running.await_done()
    progress = running.progress()
    assert progress is not None
    (reports,) = progress.constraints
    assert reports.constraint == "bid: FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 ROWS"
    assert reports.broken == 4


def test_such_a_row_may_stop_the_query(spark: SparkSession, tmp_path: Path) -> None:
    then = " ON VIOLATION ERROR"
    query, catalog = bound(case := Case(BROKEN.format(then=then), f"{QUERY} ALLOW UNBOUNDED", EARLY, None, ""))
    write_files(case, catalog, tmp_path / "in")
    running = begin(spark, case, query, catalog, tmp_path, cells=1)
    with pytest.raises(PenstockError) as stopped:
        running.await_done()
    assert stopped.value.message.startswith("a row with id = 0 at 5 breaks bid: FOREIGN KEY (auction)")
