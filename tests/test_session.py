"""Sessions: streams from Python, queries by name and by text, results as Arrow."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import penstock
from penstock.catalog import Clustered, StreamDef, Unique

SECOND = 1_000_000
BIDS = pa.table(
    {
        "auction": pa.array([1, 2, 1], pa.int32()),
        "price": [10.5, 20.0, None],
        "ts": pa.array([1 * SECOND, 3 * SECOND, 2 * SECOND], pa.timestamp("us", "UTC")),
    }
)
ITEMS = pa.table({"id": [1, 2], "name": ["chair", None]})
TOP = "SELECT auction, MAX(price) AS top FROM bid [RANGE 1 SECOND] GROUP BY auction"


@pytest.fixture
def session() -> penstock.Session:
    session = penstock.Session()
    session.stream("bid", BIDS, timestamp="ts", delay="1 SECOND", constraints=["CLUSTERED BY auction WITHIN 5 ROWS"])
    session.table("item", ITEMS, constraints=["UNIQUE (id)"])
    return session


def rows(found: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.to_pylist()]


EXPECTED = [
    (1 * SECOND, "+", 1, 10.5),
    (2 * SECOND + 1, "-", 1, 10.5),
    (2 * SECOND + 1, "+", 1, None),
    (3 * SECOND, "+", 2, 20.0),
]


@pytest.mark.filterwarnings("ignore::penstock.UnusedProof")
def test_a_query_gives_its_changes_as_arrow(session: penstock.Session) -> None:
    found = session.query(TOP).to_arrow()
    assert found.column_names == ["_ts", "_op", "auction", "top"]
    assert found.schema.field("auction").type == pa.int32()
    assert rows(found) == EXPECTED


@pytest.mark.filterwarnings("ignore::penstock.UnusedProof")
def test_cells_and_a_horizon_can_be_given(session: penstock.Session) -> None:
    assert rows(session.query(TOP).to_arrow(cells=3)) == EXPECTED
    assert rows(session.query(TOP).to_arrow(horizon=2 * SECOND)) == EXPECTED[:1]


@pytest.mark.parametrize(
    "data",
    [
        BIDS.to_pandas(),
        BIDS.to_pandas().astype({"auction": "int64"}),
        BIDS.to_batches()[0],
        iter(BIDS.to_batches(max_chunksize=1)),
        [BIDS.slice(0, 2), BIDS.slice(2)],
        pa.RecordBatchReader.from_batches(BIDS.schema, BIDS.to_batches()),
    ],
    ids=["pandas", "pandas64", "batch", "batches", "tables", "reader"],
)
def test_rows_come_in_many_forms(data: Any) -> None:
    session = penstock.Session()
    session.stream("bid", data, timestamp="ts", delay=timedelta(seconds=1))
    assert str(rows(session.query(TOP).to_arrow())) == str(EXPECTED)


def test_pandas_nan_is_no_value() -> None:
    session = penstock.Session()
    session.stream("s", pd.DataFrame({"x": [1.0, float("nan")], "ts": [1, 2]}), timestamp="ts")
    assert rows(session.query("SELECT COUNT(x) AS n FROM s").to_arrow()) == [(0, "+", 0), (1, "-", 0), (1, "+", 1)]


def test_declarations_can_be_sql_and_read_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("1,5\n2,6\n")
    session = penstock.Session()
    session.sql("CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path 's.csv')")
    (query,) = session.sql("CREATE QUERY all_of_s AS SELECT ISTREAM(a) FROM s")
    assert session.query("ALL_OF_S") is query
    assert rows(query.to_arrow()) == [(5, "+", 1), (6, "+", 2)]


def test_what_is_handed_over_is_declared(session: penstock.Session) -> None:
    bid = session.catalog.get("bid")
    assert isinstance(bid, StreamDef)
    assert [str(attribute.type) for attribute in bid.attributes] == ["INT", "DOUBLE", "TIMESTAMP"]
    assert bid.delay == SECOND
    assert [type(constraint) for constraint in bid.constraints] == [Clustered]
    assert session.catalog.tables[0].constraints == (Unique(("id",)),)


def test_a_declaration_can_be_replaced(session: penstock.Session) -> None:
    session.table("item", pa.table({"id": [1], "name": ["desk"]}))
    query = session.query("SELECT ISTREAM(name) FROM bid [NOW], item WHERE id = auction")
    assert rows(query.to_arrow()) == [(1 * SECOND, "+", "desk"), (2 * SECOND, "+", "desk")]


def test_results_come_one_by_one_and_metrics_after_them() -> None:
    session = penstock.Session()
    session.stream("bid", BIDS.to_batches(max_chunksize=1), timestamp="ts", delay="1 SECOND")
    query = session.query(TOP)
    assert [part.num_rows for part in query.run()] == [1, 3]
    assert sum(line["rows_in"] for line in query.metrics() if line["operator"] == "source") == 3
    assert {line["step"] for line in query.metrics()} == {1, 2, 3, 4}


def test_a_query_explains_itself(session: penstock.Session) -> None:
    query = session.query(TOP)
    assert query.explain().splitlines()[0] == "query"
    assert "partitioned by (bid.auction)" in query.explain(cells=4)
    assert repr(query) == "<query query: auction INT, top DOUBLE>"


def test_no_rows_have_the_schema_of_the_query(session: penstock.Session) -> None:
    found = session.query("SELECT ISTREAM(price) FROM bid WHERE price > 100").to_arrow()
    assert (found.num_rows, found.column_names) == (0, ["_ts", "_op", "price"])


def test_names_that_are_no_words_can_be_handed_over() -> None:
    session = penstock.Session()
    session.stream("my stream", pa.table({"a b": [1], "`": [2]}), timestamp="`")
    assert rows(session.query("SELECT ISTREAM(`a b`) FROM `my stream`").to_arrow()) == [(2, "+", 1)]


def test_columns_that_no_query_reads_may_have_any_type_and_any_name() -> None:
    session = penstock.Session()
    columns = {"a": [1], "b.c d": [2], "list": [[1]], "map": [{"x": 1}], "": [3], "Twice": [4], "twice": [5], "ts": [6]}
    session.stream("s", pa.Table.from_arrays(list(map(pa.array, columns.values())), list(columns)), timestamp="ts")
    assert rows(session.query("SELECT ISTREAM(a, `b.c d`) FROM s").to_arrow()) == [(6, "+", 1, 2)]
    assert session.query("SELECT ISTREAM * FROM s").to_arrow().column_names[2:] == ["a", "b.c d", "ts"]
    for name, why in (("list", "it holds list<"), ("map", "it holds struct<"), ("twice", "there are several columns")):
        with pytest.raises(penstock.PenstockError, match=f"no query can read {name}: {why}"):
            session.query(f"SELECT {name} FROM s")


def test_errors_speak_of_what_was_handed_over() -> None:
    session = penstock.Session()
    with pytest.raises(penstock.PenstockError) as error:
        session.stream("s", BIDS, timestamp="ts", constraints=["UNIQUE (price)", "CLUSTERED BY acution WITHIN 5 ROWS"])
    assert str(error.value).splitlines() == [
        "constraints[1] of s:1:14: there is no column acution",
        "    CLUSTERED BY acution WITHIN 5 ROWS",
        "                 ^^^^^^^",
        "hint: did you mean auction?",
    ]
    with pytest.raises(penstock.PenstockError) as error:
        session.stream("s", pa.table({"a": ["x"], "ts": ["y"]}), timestamp="ts")
    assert "CREATE" not in str(error.value)
    with pytest.raises(penstock.PenstockError) as error:
        session.stream("s", BIDS, timestamp="ts", delay="5 parsecs")
    assert "CREATE" not in str(error.value)


def test_what_cannot_be_is_refused(session: penstock.Session) -> None:
    with pytest.raises(penstock.PenstockError, match="there is no query tpo"):
        session.query("tpo")
    with pytest.raises(penstock.PenstockError, match="the table of s has no column time, which timestamp= names"):
        session.stream("s", BIDS, timestamp="time")
    with pytest.raises(penstock.PenstockError, match=r"a cannot be the time of s: it holds list<.*>"):
        session.stream("s", pa.table({"a": [[1]], "b": [1]}), timestamp="a")
    with pytest.raises(penstock.PenstockError, match="s: int holds no rows"):
        session.stream("s", 5, timestamp="a")
    with pytest.raises(penstock.PenstockError, match="the text has 0 queries"):
        session.query("CREATE TABLE t (a INT)")
    session.sql("CREATE TABLE t (a INT)")
    with pytest.raises(penstock.PenstockError, match="t has no source"):
        session.query("SELECT * FROM t").to_arrow()


def test_batches_can_be_read_once() -> None:
    session = penstock.Session()
    session.stream("bid", iter(BIDS.to_batches()), timestamp="ts", delay="1 SECOND")
    query = session.query(TOP)
    assert query.to_arrow().num_rows == 4
    with pytest.raises(penstock.PenstockError, match="the batches of bid have been read already"):
        query.to_arrow()


def test_a_session_that_only_explains_loads_no_library_for_data() -> None:
    program = """
import sys, penstock
session = penstock.Session()
session.sql("CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts")
session.query("SELECT a FROM s").explain(cells=2)
print(sorted({"numpy", "pyarrow", "pyspark", "numba"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_constraints_that_are_one_text_are_refused(session: penstock.Session) -> None:
    with pytest.raises(penstock.PenstockError, match="constraints are a list of texts") as raised:
        session.table("item", ITEMS, constraints="UNIQUE (id)")
    assert raised.value.hint == "write constraints=['UNIQUE (id)']"


@pytest.mark.parametrize("constraint", ["UNIQUE (ts)) TIMESTAMP BY ts; DROP STREAM s; --", None])
def test_constraints_are_texts_of_constraints(constraint: Any) -> None:
    with pytest.raises(penstock.PenstockError, match="constraints"):
        penstock.Session().stream("s", pa.table({"ts": [1]}), timestamp="ts", constraints=[constraint])


def test_a_delay_is_of_whole_microseconds() -> None:
    with pytest.raises(penstock.PenstockError, match=r"the delay is 1\.5"):
        penstock.Session().stream("s", pa.table({"ts": [1]}), timestamp="ts", delay=1.5)  # type: ignore[arg-type]


def test_a_text_that_is_not_one_query_changes_nothing(session: penstock.Session) -> None:
    before = session.catalog
    with pytest.raises(penstock.PenstockError, match="the text has 0 queries"):
        session.query("DROP STREAM bid")
    assert session.catalog is before
    with pytest.raises(penstock.PenstockError, match="int is no SQL"):
        session.query(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("cells", [0, -1, 1.5, "2", True])
def test_cells_are_a_whole_number_from_1_on(session: penstock.Session, cells: Any) -> None:
    query = session.query(TOP)
    for run in (query.to_arrow, query.explain):
        with pytest.raises(penstock.PenstockError, match="cells is"):
            run(cells=cells)


def test_a_horizon_is_of_whole_microseconds(session: penstock.Session) -> None:
    with pytest.raises(penstock.PenstockError, match="the horizon is '5'"):
        session.query(TOP).to_arrow(horizon="5")  # type: ignore[arg-type]


def test_each_batch_has_all_columns() -> None:
    session = penstock.Session()
    batches = [pa.record_batch({"a": [1], "ts": [1]}), pa.record_batch({"ts": [2]})]
    session.stream("s", iter(batches), timestamp="ts")
    with pytest.raises(penstock.PenstockError, match="s: has no column a"):
        session.query("SELECT a FROM s [NOW]").to_arrow()


def test_changes_of_a_table_are_those_of_a_spark_frame() -> None:
    with pytest.raises(penstock.PenstockError, match="DataFrame is no Spark DataFrame"):
        penstock.latest_changes(pd.DataFrame({"_ts": [1], "_op": ["+"], "a": [1]}), "a")
