"""Pruning: what statistics rule out is not read, and nothing that can be seen from outside depends on it."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engines import parquet_files
from penstock.engines.embedded_run import open_run
from penstock.sql import bind_text
from tests.operators.columns import FEW

DDL = """
CREATE STREAM s (
  ts BIGINT, i INT NOT NULL, b BIGINT, d DOUBLE, e DECIMAL(6, 2), f BOOLEAN, t STRING, day DATE, at TIMESTAMP
) TIMESTAMP BY ts DELAY 3 MICROSECONDS USING parquet OPTIONS (path '{path}');
"""

SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("i", pa.int32()),
        ("b", pa.int64()),
        ("d", pa.float64()),
        ("e", pa.decimal128(6, 2)),
        ("f", pa.bool_()),
        ("t", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
    ]
)

FILTERS = [
    "b < 3", "b >= 6", "b = 4", "b <> 4", "b BETWEEN 2 AND 5", "b IN (1, 8)", "b NOT IN (1, 2)", "b IS NULL",
    "b IS NOT NULL", "i < b", "i = b", "NOT (i < 4 OR b > 6)", "i = 1 OR b = 2 AND t = 'k3'", "d < 2.5e0",
    "d > 4e0", "d = 0e0", "e < 3", "e >= 5.25", "f", "NOT f", "t = 'k4'", "t IN ('k1', 'k7')", "t <> 'k2'",
    "day > DATE '1970-01-05'", "at <= TIMESTAMP '1970-01-01 00:00:04'", "b + 1 > 4", "t LIKE '%3'", "b <=> 3",
    "NOT b <=> 3", "1 = 2",
]  # fmt: skip

QUERIES = [
    "SELECT ISTREAM i, b, t FROM s [NOW] WHERE {0};",
    "SELECT RSTREAM COUNT(*) AS n FROM s [RANGE 5 MICROSECONDS] WHERE {0};",
    "SELECT SUM(b) AS total FROM s [ROWS 4] WHERE {0};",
    "SELECT COUNT(*) AS n FROM s [PARTITION BY i ROWS 2] WHERE {0};",
    "SELECT x.b, y.i FROM s [RANGE 4 MICROSECONDS] x, s [NOW] y WHERE x.b = y.b AND x.{0} AND y.i < 3;",
]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows that are late now and then, or lack what has to be there; sorted by their values, or not."""
    count = draw(st.integers(0, 40))
    numbers = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    numbers = sorted(numbers) if draw(st.booleans()) else numbers
    missing = draw(st.sets(st.integers(0, count))) if draw(st.booleans()) else set()
    steps = draw(st.lists(st.sampled_from([0, 1, 2, -5]), min_size=count, max_size=count))
    now, rows = 20, []
    for place, (n, step) in enumerate(zip(numbers, steps, strict=True)):
        now = max(0, now + step)
        lacks = place in missing
        rows.append(
            {
                "ts": None if lacks and n == 7 else now,
                "i": None if lacks and n == 5 else n,
                "b": None if lacks else n,
                "d": draw(st.sampled_from([math.nan, -0.0, n / 2, -math.inf])),
                "e": Decimal(n * 75).scaleb(-2),
                "f": n > 4,
                "t": None if lacks else f"k{n}",
                "day": datetime.date(1970, 1, 1 + n),
                "at": datetime.datetime(1970, 1, 1, 0, 0, n, tzinfo=datetime.UTC),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


def run(script: str) -> tuple[list[list[dict[str, Any]]], list[Any]]:
    """The results of each query, and how far its streams were read."""
    bound = bind_text(script).checked()
    opened = open_run(bound.queries, bound.catalog)
    results: dict[int, list[dict[str, Any]]] = {id(engine): [] for engine in opened.engines}
    for result in opened.results():
        if result is not None:
            results[id(result.engine)] += result.rows.to_pylist()
    return list(results.values()), [replace(e.streams["s"].progress) for e in opened.engines]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pruned")


@settings(FEW, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_nothing_depends_on_what_is_pruned(folder: Path, data: st.DataObject) -> None:
    table = data.draw(tables())
    path = folder / "s.parquet"
    pq.write_table(table, path, row_group_size=data.draw(st.integers(1, 12)))
    filters = data.draw(st.lists(st.sampled_from(FILTERS), min_size=1, max_size=2))
    queries = data.draw(st.lists(st.sampled_from(QUERIES[:4]), min_size=1, max_size=2))
    script = DDL.format(path=path) + "\n".join(
        f"CREATE QUERY q{n} AS " + query.format(" AND ".join(f"({each})" for each in filters))
        for n, query in enumerate(queries)
    )
    with mock.patch.object(parquet_files, "LEAST_PRUNED", 1):
        pruned = run(script)
    with mock.patch.object(parquet_files, "LEAST_PRUNED", 10**9):
        assert pruned == run(script)


@pytest.mark.parametrize(
    ("query", "read"),
    [
        # Of 100 row groups with ten rows each, those that are read whole.
        (QUERIES[0].format("b < 25"), 3),
        (QUERIES[0].format("b >= 25 AND b < 31"), 2),
        (QUERIES[0].format("b IN (5, 995)"), 2),
        (QUERIES[0].format("t = 'k0501'"), 1),
        (QUERIES[0].format("b IS NULL"), 0),
        (QUERIES[0].format("b = 7 AND t LIKE 'k%'"), 1),
        (QUERIES[0].format("t LIKE 'k%'"), 100),
        (QUERIES[1].format("b < 25"), 3),
        (QUERIES[4].format("b < 25"), 3),
        # A window of rows counts those that it does not read.
        (QUERIES[2].format("b < 25"), 100),
    ],
)
def test_row_groups_that_statistics_rule_out_are_read_by_few_columns(tmp_path: Path, query: str, read: int) -> None:
    count = 1000
    names = {"ts": range(count), "i": [5] * count, "b": range(count), "t": [f"k{n:04}" for n in range(count)]}
    if "i < 3" in query:
        names["i"] = [n // 10 for n in range(count)]
    columns = [pa.array(names.get(field.name, [None] * count), field.type) for field in SCHEMA]
    pq.write_table(pa.table(columns, schema=SCHEMA), tmp_path / "s.parquet", row_group_size=10)
    script = DDL.format(path=tmp_path) + query
    seen: list[int] = []

    def counting(batch: pa.RecordBatch) -> pa.RecordBatch:
        assert batch.schema.names == ["ts", "i"]
        seen.append(batch.num_rows)
        return marked(batch)

    marked = parquet_files.marked
    with mock.patch.object(parquet_files, "LEAST_PRUNED", 1), mock.patch.object(parquet_files, "marked", counting):
        _, (progress,) = run(script)
    assert sum(seen) == count - 10 * read
    assert progress.rows == count


def test_strings_that_only_filters_read_are_not_interned(tmp_path: Path) -> None:
    count = 500
    rows = {"ts": range(count), "i": [1] * count, "t": [f"long text {n}" for n in range(count)]}
    columns = [pa.array(rows.get(field.name, [None] * count), field.type) for field in SCHEMA]
    pq.write_table(pa.table(columns, schema=SCHEMA), tmp_path / "s.parquet")

    def interned(query: str) -> int:
        bound = bind_text(DDL.format(path=tmp_path) + query).checked()
        opened = open_run(bound.queries, bound.catalog)
        for _ in opened.results():
            pass
        return len(opened.engines[0]._dictionary)

    # Those that are results are, and only of the rows that pass.
    assert interned("SELECT ISTREAM i FROM s [NOW] WHERE t LIKE '%7' AND UPPER(t) > 'A' AND t <> 'x';") == 0
    assert interned("SELECT ISTREAM t FROM s [NOW] WHERE t LIKE '%77';") == 5


@pytest.mark.parametrize("names", [("a.b", "a"), ("a", "a.b")])
def test_a_column_with_a_dot_has_no_statistics_of_a_struct(tmp_path: Path, names: tuple[str, str]) -> None:
    path = tmp_path / "s.parquet"
    columns = {"a.b": [1, 2, 3], "a": [{"b": 100}, {"b": 200}, {"b": 300}]}
    pq.write_table(pa.table({**{name: columns[name] for name in names}, "ts": [0, 1, 2]}), path)
    script = f"CREATE STREAM s (`a.b` BIGINT, ts BIGINT) TIMESTAMP BY ts USING parquet OPTIONS (path '{path}');"
    with mock.patch.object(parquet_files, "LEAST_PRUNED", 1):
        ((rows,), _) = run(f"{script} SELECT ISTREAM `a.b` FROM s [NOW] WHERE `a.b` < 50;")
    assert [row["a.b"] for row in rows] == [1, 2, 3]
