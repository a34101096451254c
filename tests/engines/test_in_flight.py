"""Rows in flight: they wait once for their instant, few of them, and metrics show them apart from state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.embedded_run import open_run
from penstock.plan.inputs import inputs
from penstock.plan.settings import StepSizes
from penstock.sql import bind_text

PUNCTUATED = """
CREATE STREAM bid (auction BIGINT, price BIGINT, kind STRING, ts BIGINT, PUNCTUATED BY (auction) WHEN kind = 'close')
TIMESTAMP BY ts MICROSECONDS;
CREATE STREAM item (id BIGINT, seller BIGINT, ts BIGINT, PUNCTUATED BY (id)) TIMESTAMP BY ts MICROSECONDS;
CREATE QUERY q AS SELECT i.seller, b.price FROM bid b, item i WHERE b.auction = i.id;
"""


def bids(start: int, count: int) -> pa.RecordBatch:
    numbers = np.arange(start, start + count)
    kinds = ["close" if number % 10 == 9 else "bid" for number in numbers.tolist()]
    return pa.record_batch({"auction": numbers // 10, "price": numbers, "kind": kinds, "ts": numbers})


@pytest.mark.parametrize("cells", [1, 3])
def test_a_stream_of_a_join_and_of_its_evidence_buffers_a_row_once(cells: int) -> None:
    script = bind_text(PUNCTUATED).checked()
    (query,) = script.queries
    engine = EmbeddedEngine(query, script.catalog, cells=cells)
    routes = [route.leaf for fragment in engine.plan.fragments for route in fragment.routes]
    readers = [leaf for leaf in routes if getattr(leaf, "stream", None) and leaf.stream.name == "bid"]
    assert len(readers) > 1, "the join reads bids, and their punctuations"
    engine.push("bid", bids(0, 100))
    engine.advance()
    totals = engine.totals()
    assert totals.in_flight_rows == 100
    assert totals.in_flight_bytes > 0
    assert totals.state_rows == 0
    engine.push("item", pa.record_batch({"id": [0, 1], "seller": [7, 8], "ts": [0, 1_000]}))
    result = engine.advance()
    assert result.num_rows == 10
    assert engine.totals().in_flight_rows == 2, "the second item, and the newest bid, whose instant is open"


def test_leaves_that_read_the_same_of_a_stream_are_one_view() -> None:
    script = bind_text(
        "CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS;"
        "SELECT a.v FROM s [RANGE 5 SECONDS] a, s [RANGE 9 SECONDS] b, s [NOW] c "
        "WHERE a.k = b.k AND b.k = c.k AND c.v > 3 AND a.v = b.v"
    ).checked()
    (query,) = script.queries
    (fragment,) = EmbeddedEngine(query, script.catalog).plan.fragments
    (only,) = inputs(fragment)
    assert [len(view.leaves) for view in only.views] == [2, 1]
    assert len(only.schema) == 3, "k, v, and the word of bits"


def two_streams(folder: Path, groups: tuple[int, int]) -> str:
    """Two streams of 100,000 rows over the same times, in row groups of very different sizes."""
    for name, rows in zip(("l", "r"), groups, strict=True):
        numbers = np.arange(100_000)
        table = pa.table({"k": numbers % 50_000, "ts": numbers * 10})
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=rows)
    declared = (
        "CREATE STREAM {0} (k BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS USING parquet OPTIONS (path '{1}');"
    )
    return "".join(declared.format(name, folder / f"{name}.parquet") for name in ("l", "r"))


@pytest.mark.parametrize(
    "select",
    [
        "SELECT l.k FROM l [RANGE 1000 MICROSECONDS], r [RANGE 1000 MICROSECONDS] WHERE l.k = r.k",
        "SELECT l.k FROM l, r WHERE l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + 1000",
        "SELECT k FROM l UNION ALL SELECT k FROM r",
    ],
)
@pytest.mark.parametrize("groups", [(100_000, 100), (100, 100_000)])
def test_files_of_very_different_cuts_keep_few_rows_in_flight(
    select: str, groups: tuple[int, int], tmp_path: Path
) -> None:
    script = bind_text(two_streams(tmp_path, groups) + select).checked()
    most = 0
    for result in open_run(script.queries, script.catalog).results():
        assert result is not None
        most = max(most, result.engine.totals().in_flight_rows)
    assert 0 < most <= StepSizes().least + 2  # and the newest row of each stream, whose instant is open


def test_metrics_show_what_is_in_flight_at_the_operator_that_reads_it_first() -> None:
    script = bind_text(PUNCTUATED).checked()
    (query,) = script.queries
    engine = EmbeddedEngine(query, script.catalog)
    engine.push("bid", bids(0, 40))
    engine.push("item", pa.record_batch({"id": [0], "seller": [7], "ts": [19]}))
    engine.advance()
    shown = {line.operator: line.as_json() for line in engine.metrics() if line.in_flight_rows}
    assert {(line["stream"], line["in_flight_rows"]) for line in shown.values()} == {("b", 21), ("i", 1)}
    assert all(line["in_flight_bytes"] > 0 for line in shown.values())
    assert sum(line.state_bytes for line in engine.metrics()) == engine.state()[1]
