"""Windows that hold the same rows are stored once (thesis 2.3.1)."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.sql import bind_text

S = "CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;"


def rows_kept(select: str, cells: int = 1) -> int:
    """The rows that all operators keep after ten rows of s came."""
    script = bind_text(f"{S} CREATE QUERY q AS {select};").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog, cells=cells)
    numbers = list(range(10))
    engine.push("s", pa.record_batch({"a": numbers, "b": numbers, "ts": numbers}))
    engine.end("s")
    engine.finish()
    return engine.state()[0]


@pytest.mark.parametrize("window", ["RANGE 1 HOUR", "ROWS 10", "PARTITION BY a ROWS 10", "UNBOUNDED"])
def test_equal_windows_are_stored_once(window: str) -> None:
    assert rows_kept(f"SELECT x.a FROM s [{window}] x, s [{window}] y WHERE x.a = y.a ALLOW UNBOUNDED") == 10


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        ("RANGE 1 HOUR", "RANGE 2 HOURS", "x.a = y.a"),
        ("RANGE 1 HOUR", "ROWS 10", "x.a = y.a"),
        ("RANGE 1 HOUR", "RANGE 1 HOUR", "x.a = y.b"),
        ("RANGE 1 HOUR", "RANGE 1 HOUR", "x.a = y.a AND y.b >= 0"),
    ],
)
def test_windows_that_differ_are_not(one: str, other: str, where: str) -> None:
    assert rows_kept(f"SELECT x.a FROM s [{one}] x, s [{other}] y WHERE {where} ALLOW UNBOUNDED") == 20


def test_rows_of_a_cell_are_shared_where_both_come_to_it() -> None:
    select = "SELECT x.a FROM s [RANGE 1 HOUR] x, s [RANGE 1 HOUR] y WHERE x.a = y.a"
    assert rows_kept(select, cells=3) == rows_kept(select)
