"""`penstock profile`: files in, DDL or JSON out, and what is said of data that cannot be profiled."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.catalog import NotNull
from penstock.cli.progress import Bar
from penstock.sql import bind_text
from tests.cli.conftest import Golden, Penstock

START = datetime.datetime(2024, 5, 6, tzinfo=datetime.UTC)

ITEMS = "id,ts\n" + "".join(f"{n},2024-05-06 10:{n:02}:00\n" for n in range(20))
BIDS = "auction,price,at\n" + "".join(f"{n // 2},{n % 5 + 1},2024-05-06 10:{n // 2:02}:3{n % 2}\n" for n in range(40))


def table(rows: int) -> pa.Table:
    times = [START + datetime.timedelta(seconds=n) for n in range(rows)]
    return pa.table({"id": list(range(rows)), "ts": pa.array(times, pa.timestamp("us", tz="UTC"))})


def test_csv_files_as_ddl(penstock: Penstock, golden: Golden) -> None:
    penstock.file("item.csv", ITEMS)
    penstock.file("bid.csv", BIDS)
    done = penstock("profile", "item.csv", "bid.csv")
    assert (done.code, done.err) == (0, "")
    golden("profile.sql", done.out)


def test_json_output(penstock: Penstock, golden: Golden) -> None:
    penstock.file("item.csv", ITEMS)
    penstock.file("bid.csv", BIDS)
    done = penstock("profile", "--json", "item.csv", "bid.csv")
    assert (done.code, done.err) == (0, "")
    assert done.json["schema"] == 1
    golden("profile.json", done.out)


def test_the_printed_ddl_makes_a_join_safe(penstock: Penstock) -> None:
    penstock.file("item.csv", ITEMS)
    penstock.file("bid.csv", BIDS)
    query = "CREATE QUERY q AS SELECT id, price FROM item, bid WHERE id = auction;"
    penstock.file("q.sql", penstock("profile", "item.csv", "bid.csv").out + query)
    done = penstock("check", "q.sql")
    assert (done.code, done.err) == (0, "")
    done = penstock("run", "--engine", "embedded", "--until-done", "q.sql")
    assert done.code == 0
    assert len(done.out.splitlines()) == 41


def test_the_printed_ddl_profiles_the_same_again(penstock: Penstock) -> None:
    penstock.file("item.csv", ITEMS)
    penstock.file("bid.csv", BIDS)
    first = penstock("profile", "item.csv", "bid.csv").out
    penstock.file("shop.sql", first)
    assert penstock("profile", "shop.sql").out == first


def test_all_formats_have_one_profile(penstock: Penstock) -> None:
    penstock.file("s.csv", "id,ts\n" + "".join(f"{n},2024-05-06 00:00:{n:02}\n" for n in range(9)))
    penstock.file("s.json", "".join(json.dumps({"id": n, "ts": f"2024-05-06T00:00:{n:02}Z"}) + "\n" for n in range(9)))
    pq.write_table(table(9), penstock.folder / "s.parquet")
    found = [penstock("profile", f"s.{kind}").out.splitlines() for kind in ("csv", "json", "parquet")]
    assert found[0][:-1] == found[1][:-1] == found[2][:-1]
    assert [lines[-1].split()[1] for lines in found] == ["csv", "json", "parquet"]


def test_a_folder_is_one_stream(penstock: Penstock) -> None:
    folder = penstock.folder / "bid"
    folder.mkdir()
    pq.write_table(table(9).slice(0, 4), folder / "part-0.parquet")
    pq.write_table(table(9).slice(4), folder / "part-1.parquet")
    (folder / "_SUCCESS").touch()
    done = penstock("profile", "bid/")
    assert done.out.startswith("-- bid: 9 rows, ")
    assert "UNIQUE (id)" in done.out


@pytest.mark.parametrize(
    ("time", "expected"),
    [("--time=at", "TIMESTAMP BY at"), ("--time=S.AT", "TIMESTAMP BY at"), ("--time=ts", "TIMESTAMP BY ts")],
)
def test_the_time_is_chosen(penstock: Penstock, time: str, expected: str) -> None:
    penstock.file("s.csv", "at,ts\n" + "".join(f"{n},2024-05-06 00:00:{n:02}\n" for n in range(9)))
    assert expected in penstock("profile", "s.csv", time).out


def test_columns_are_chosen(penstock: Penstock) -> None:
    penstock.file("item.csv", ITEMS)
    penstock.file("bid.csv", BIDS)
    done = penstock("profile", "--columns", "bid.price", "item.csv", "bid.csv")
    constraints = [stream.constraints for stream in bind_text(done.out).checked().catalog.streams]
    assert constraints == [(), (NotNull(("price",)),)]
    assert "auction BIGINT" in done.out


def test_late_rows_are_left_out_by_a_delay(penstock: Penstock) -> None:
    penstock.file("s.csv", "a,ts\n1,2024-05-06 00:01:00\n2,2024-05-06 00:00:55\n3,2024-05-06 00:00:00\n")
    assert "DELAY 2 MINUTES -- 1 MINUTE seen" in penstock("profile", "s.csv").out
    done = penstock("profile", "--delay", "10 seconds", "s.csv")
    assert "; 1 that came later than 10 SECONDS left out" in done.out
    assert "TIMESTAMP BY ts DELAY 10 SECONDS" in done.out


def test_rows_without_a_time_are_left_out(penstock: Penstock) -> None:
    penstock.file("s.csv", "a,ts\n1,2024-05-06 00:01:00\n2,\n3,1960-01-01 00:00:00\n")
    assert "-- s: 1 row, " in penstock("profile", "s.csv").out
    assert "; 2 without a time, or before 1970, left out" in penstock("profile", "s.csv").out


def test_names_that_are_no_words_are_quoted(penstock: Penstock) -> None:
    penstock.file("2024-bids.csv", "from,a b,ts\n1,1,2024-05-06 00:01:00\n2,1,2024-05-06 00:02:00\n")
    done = penstock("profile", "2024-bids.csv")
    (stream,) = bind_text(done.out).checked().catalog.streams
    assert stream.name == "2024-bids"
    assert "UNIQUE (`from`)" in done.out


def test_nulls_and_nan(penstock: Penstock) -> None:
    rows = {"x": [float("nan"), 1.0, None, None, float("nan"), -0.0, 0.0, 2.0], "k": [None, 1, 2, 3, 4, 5, 6, 7]}
    pq.write_table(
        table(8).append_column("x", [rows["x"]]).append_column("k", [rows["k"]]), penstock.folder / "s.parquet"
    )
    keys = {
        tuple(key["columns"]): key["repeated_rows"]
        for key in penstock("profile", "--json", "s.parquet").json["streams"][0]["keys"]
    }
    assert keys == {("id",): 0, ("x",): 3, ("k",): 0}


def test_what_nests_is_left_out_of_parquet(penstock: Penstock) -> None:
    pq.write_table(table(4).append_column("tags", [[[1], [], None, [2]]]), penstock.folder / "s.parquet")
    done = penstock("profile", "s.parquet")
    assert (done.code, "tags" in done.out) == (0, False)


BAD = {
    "missing.csv": (None, "missing.csv: there is no such file or folder"),
    "s.txt": ("a\n", "s.txt: its name does not say what it holds"),
    "empty.csv": ("", "empty.csv: the file is empty"),
    "empty.json": ("", "empty.json: the file is empty"),
    "header.csv": ("a,ts\n", "header.csv: there is no row behind the header"),
    "bare.csv": ("1,2\n3,4\n", "bare.csv: its first line is no header"),
    "timeless.csv": ("a,b\n1,2\n", "timeless.csv: no column is a TIMESTAMP"),
    "two.csv": ("a,b\n2024-05-06 00:00:00,2024-05-06 00:00:00\n", "two.csv: a, b could all be the time"),
    "twice.csv": ("a,A,ts\n1,2,2024-05-06 00:00:00\n", "twice.csv: has 2 columns a"),
    "broken.parquet": ("no parquet", "broken.parquet: it cannot be read as parquet"),
    "broken.json": ("{", "broken.json:1: this is not JSON"),
    "ragged.csv": ("a,ts\n1,2024-05-06 00:00:00\n1\n", "ragged.csv"),
    "none.sql": ("CREATE TABLE t (a INT);", "none.sql: no stream is declared"),
    "kafka.sql": ("CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts USING kafka;", "s: the embedded engine reads"),
    "wrong.sql": ("CREATE STREAM s (ts TIMESTAMP);", "a stream needs the column of its timestamps"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data(penstock: Penstock, name: str) -> None:
    content, message = BAD[name]
    if content is not None:
        penstock.file(name, content)
    done = penstock("profile", name)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "hint: " in done.err


def test_bad_arguments(penstock: Penstock) -> None:
    penstock.file("item.csv", ITEMS)
    for arguments, message in {
        ("--time", "when"): "item.csv: there is no column when for the time",
        ("--columns", "idd"): "there is no column idd\nhint: did you mean id?",
        ("item.csv",): "two streams are named item",
        ("--time", "items.ts"): "there is no stream items\nhint: did you mean item?",
    }.items():
        done = penstock("profile", "item.csv", *arguments)
        assert (done.code, done.out) == (2, "")
        assert message in done.err
    penstock.file("shop.sql", penstock("profile", "item.csv").out)
    assert penstock("profile", "--time", "ts", "shop.sql").err.startswith("--time and --delay are for files")
    with pytest.raises(SystemExit):
        penstock("profile", "--delay", "soon", "item.csv")


def test_a_folder_of_two_kinds_and_files_that_differ(penstock: Penstock) -> None:
    folder = penstock.folder / "mixed"
    folder.mkdir()
    (folder / "a.csv").write_text(ITEMS)
    (folder / "b.csv").write_text(BIDS)
    assert "mixed/b.csv: has no column id" in penstock("profile", "mixed").err
    pq.write_table(table(3), folder / "c.parquet")
    assert "mixed: the folder holds csv and parquet files" in penstock("profile", "mixed").err
    (penstock.folder / "hollow").mkdir()
    assert "hollow: the folder holds no data" in penstock("profile", "hollow").err


def test_a_terminal_sees_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    bar = Bar([60, 40])
    bar.show(50)
    bar.clear()
    assert "[###############...............] 50%  50 rows, " in capsys.readouterr().err


def test_a_row_that_does_not_fit_the_first_ones(penstock: Penstock) -> None:
    rows = [f"{n},2024-05-06 00:00:00\n" for n in range(200_000)]
    penstock.file("s.csv", "".join(["a,ts\n", *rows, "1.5,2024-05-06 00:00:00\n"]))
    done = penstock("profile", "s.csv")
    assert done.code == 2
    assert done.err.startswith(
        "s.csv:200002: '1.5' in column a is not a BIGINT\nhint: columns and types were taken from"
    )


def test_a_table_of_no_rows(penstock: Penstock) -> None:
    pq.write_table(table(0), penstock.folder / "s.parquet")
    done = penstock("profile", "s.parquet")
    assert (done.code, done.out.splitlines()[0]) == (0, "-- s: no rows")
    assert bind_text(done.out).checked().catalog.streams[0].constraints == ()


def test_references_of_other_types_are_not_looked_at(penstock: Penstock) -> None:
    """The values of a DECIMAL and a BIGINT are compared by a join, but have other words."""
    penstock.file("item.csv", ITEMS)
    penstock.file("bid.csv", BIDS)
    sql = """
    CREATE STREAM item (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING csv OPTIONS (path 'item.csv', header 'true');
    CREATE STREAM bid (auction DECIMAL(9, 2), at TIMESTAMP, FOREIGN KEY (auction) REFERENCES item (id) WITHIN 1 ROW)
    TIMESTAMP BY at USING csv OPTIONS (path 'bid.csv', header 'true');
    """
    penstock.file("shop.sql", sql)
    assert "REFERENCES item (id) WITHIN 1 ROW -- as declared; not checked" in penstock("profile", "shop.sql").out
