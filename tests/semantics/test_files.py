"""Rows from csv, json and parquet, and results into csv."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.sql import bind_text
from tests.reference.files import read_rows, write_csv
from tests.reference.interpreter import run
from tests.semantics.examples import bound

COLUMNS = "n BIGINT, x DOUBLE, p DECIMAL(6, 2), f BOOLEAN, w STRING, b BINARY, d DATE, ts TIMESTAMP"
ROWS = [
    (1, 1.5, Decimal("1.50"), True, "a,é", b"ab", 1, 1_500_000),
    (None, None, None, None, None, None, None, 2_000_000),
]


def declared(using: str, columns: str = COLUMNS) -> StreamDef:
    return stream(bind_text(f"CREATE STREAM s ({columns}) TIMESTAMP BY ts USING {using};").checked().catalog)


def stream(catalog: Catalog) -> StreamDef:
    definition = catalog.get("s")
    assert isinstance(definition, StreamDef)
    return definition


def test_csv_has_null_as_an_empty_field_or_as_backslash_n(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(
        '1,1.5,1.5,true,"a,é",ab,1970-01-02,1970-01-01T00:00:01.5Z\n\\N,,,,\\N,,,1970-01-01 00:00:02\n'
    )
    assert read_rows(declared("csv OPTIONS (path 's.csv')"), base=tmp_path) == ROWS


def test_csv_goes_by_the_names_of_its_header(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,N\n1970-01-01 00:00:01,5\n")
    definition = declared("csv OPTIONS (path 's.csv', header 'true')", "n BIGINT, ts TIMESTAMP")
    assert read_rows(definition, base=tmp_path) == [(5, 1_000_000)]


def test_csv_with_another_separator(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("5;7\n")
    definition = declared("csv OPTIONS (path 's.csv', sep ';')", "n BIGINT, ts BIGINT")
    assert read_rows(definition, base=tmp_path) == [(5, 7)]


def test_what_does_not_read_as_its_type_is_null(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("five,7\n")
    definition = declared("csv OPTIONS (path 's.csv')", "n BIGINT, ts BIGINT")
    assert read_rows(definition, base=tmp_path) == [(None, 7)]


def test_virtual_columns_are_in_no_file(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("5,7\n")
    definition = declared("csv OPTIONS (path 's.csv')", "n BIGINT, VIRTUAL id BIGINT, ts BIGINT")
    assert read_rows(definition, base=tmp_path) == [(5, 7)]


def test_json_lines(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(
        '{"n": 1, "x": 1.5, "p": 1.5, "f": true, "w": "a,é", "b": "YWI=", "d": "1970-01-02", '
        '"ts": "1970-01-01T00:00:01.5Z"}\n\n{"W": null, "TS": "1970-01-01 00:00:02"}\n'
    )
    assert read_rows(declared("json OPTIONS (path 's.json')"), base=tmp_path) == ROWS


def test_json_numbers_keep_all_their_digits(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(
        '{"n": 9223372036854775807, "p": 1234567890123456789012345678901234567.8, "ts": 0}\n'
    )
    definition = declared("json OPTIONS (path 's.json')", "n BIGINT, p DECIMAL(38, 1), ts BIGINT")
    assert read_rows(definition, base=tmp_path) == [(2**63 - 1, Decimal("1234567890123456789012345678901234567.8"), 0)]


def test_json_values_of_another_kind_are_null(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"n": true, "x": "1.5", "f": 1, "w": 7, "b": "?", "d": 3, "ts": "1970-01-01"}\n')
    assert read_rows(declared("json OPTIONS (path 's.json')"), base=tmp_path) == [
        (None, 1.5, None, None, "7", None, None, 0)
    ]


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_parquet(tmp_path: Path, unit: str) -> None:
    columns = {
        "ts": pa.array([1_500_000, 2_000_000], pa.int64()).cast(pa.timestamp("us")).cast(pa.timestamp(unit, "UTC")),
        "d": pa.array([datetime.date(1970, 1, 2), None]),
        "b": pa.array([b"ab", None]),
        "w": pa.array(["a,é", None]),
        "f": pa.array([True, None]),
        "p": pa.array([Decimal("1.50"), None], pa.decimal128(6, 2)),
        "x": pa.array([1.5, None]),
        "N": pa.array([1, None], pa.int32()),
    }
    pq.write_table(pa.table(columns), tmp_path / "s.parquet")
    assert read_rows(declared("parquet OPTIONS (path 's.parquet')"), base=tmp_path) == ROWS


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    for name, text in {"2.csv": "3,3\n", "1.csv": "1,1\n2,2\n", "_SUCCESS": "", ".1.csv.crc": "x"}.items():
        (tmp_path / "s" / name).write_text(text)
    definition = declared("csv OPTIONS (path 's')", "n BIGINT, ts BIGINT")
    assert read_rows(definition, base=tmp_path) == [(1, 1), (2, 2), (3, 3)]


def test_a_path_may_be_given_where_there_is_no_connector(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1,one\n")
    table = bind_text("CREATE TABLE t (id BIGINT, name STRING);").checked().catalog.get("t")
    assert isinstance(table, TableDef)
    assert read_rows(table, tmp_path / "t.csv") == [(1, "one")]


def test_results_are_written_with_time_and_operation(tmp_path: Path) -> None:
    query, catalog = bound(f"CREATE STREAM s ({COLUMNS}) TIMESTAMP BY ts; SELECT * FROM s")
    rows = [*ROWS, (2, math.nan, Decimal("-0.05"), False, 'say "x"', b"", -1, 3_000_000)]
    write_csv(run(query, catalog, {"s": rows}), query.schema, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == (
        "_ts,_op,n,x,p,f,w,b,d,ts\n"
        '1500000,+,1,1.5,1.50,true,"a,é",ab,1970-01-02,1970-01-01 00:00:01.5\n'
        "2000000,+,\\N,\\N,\\N,\\N,\\N,\\N,\\N,1970-01-01 00:00:02\n"
        '3000000,+,2,nan,-0.05,false,"say ""x""","",1969-12-31,1970-01-01 00:00:03\n'
    )
