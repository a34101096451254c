"""Files as the embedded engine reads and writes them: what they mean, and what is said of files that are wrong."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.algebra.relations import Query
from penstock.catalog import StreamDef, TableDef
from penstock.engines import blocks, files
from penstock.engines.files import FileSource
from penstock.engines.sinks import open_sink
from penstock.engines.spark.output import _CsvFields
from penstock.errors import PenstockError
from penstock.sql import bind_text
from penstock.types import STRING
from tests.engines.comparing import table
from tests.reference.files import read_rows, write_csv
from tests.reference.interpreter import run
from tests.semantics.test_files import COLUMNS

JSON_LINES = """\
{"n": 1, "x": 1.5, "p": 1.5, "f": true, "w": "a,é", "b": "YWI=", "d": "1970-01-02", "ts": "1970-01-01T00:00:01.5Z"}

{"W": null, "TS": "1970-01-01 00:00:02", "more": [1]}
{"n": "7", "x": 3, "p": "2.555", "w": 7, "ts": "1970-01-03", "b": ""}
"""
CSV_LINES = """\
1,1.5,1.5,true,"a,é",ab,1970-01-02,1970-01-01T00:00:01.5Z
\\N,,,,\\N,,,1970-01-01 00:00:02

 +7 ,1e3,2.555,no,"say ""x""
twice",,0001-01-01,1970-01-03
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def declared(using: str, columns: str = COLUMNS) -> StreamDef:
    definition = bind_text(f"CREATE STREAM s ({columns}) TIMESTAMP BY ts USING {using};").checked().catalog.get("s")
    assert isinstance(definition, StreamDef)
    return definition


def read(definition: StreamDef) -> pa.Table:
    names = [attribute.name for attribute in definition.attributes if not attribute.virtual]
    return pa.Table.from_batches(FileSource(definition).batches(names))


def expected(definition: StreamDef) -> pa.Table:
    return table(definition, read_rows(definition))


def refused(definition: StreamDef) -> str:
    with pytest.raises(PenstockError) as caught:
        read(definition)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_a_file_means_what_the_reference_says(here: Path, form: str) -> None:
    definition = declared(f"{form} OPTIONS (path 's.{form}')")
    if form == "parquet":
        (here / "s.json").write_text(JSON_LINES)
        pq.write_table(expected(declared("json OPTIONS (path 's.json')")), "s.parquet")
    else:
        (here / f"s.{form}").write_text({"csv": CSV_LINES, "json": JSON_LINES}[form])
    assert read(definition).to_pylist() == expected(definition).to_pylist()


@pytest.mark.parametrize("form", ["csv", "json"])
def test_it_means_the_same_cut_into_any_blocks(here: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / f"s.{form}").write_text({"csv": CSV_LINES, "json": JSON_LINES}[form])
    definition = declared(f"{form} OPTIONS (path 's.{form}')")
    for size in (7, 20, 90):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
        assert read(definition).to_pylist() == expected(definition).to_pylist()


def test_batches_are_small(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BATCH_ROWS", 3)
    (here / "s.csv").write_text("".join(f"{i},{i}\n" for i in range(10)))
    source = FileSource(declared("csv OPTIONS (path 's.csv')", "n BIGINT, ts BIGINT"))
    assert [batch.num_rows for batch in source.batches(["n"])] == [3, 3, 3, 1]


def test_csv_goes_by_the_names_of_its_header_whatever_their_case(here: Path) -> None:
    (here / "s.csv").write_bytes(b"\xef\xbb\xbfTS,other,N\r\n7,x,5\r\n")
    definition = declared("csv OPTIONS (path 's.csv', header 'true')", "n BIGINT, ts BIGINT")
    assert read(definition).to_pylist() == [{"n": 5, "ts": 7}]


def test_csv_options(here: Path) -> None:
    (here / "s.csv").write_text("5;'a;b';7\nnone;;8\n")
    definition = declared(
        "csv OPTIONS (path 's.csv', sep ';', quote '\\'', nullValue 'none')", "n BIGINT, w STRING, ts BIGINT"
    )
    assert read(definition).to_pylist() == [{"n": 5, "w": "a;b", "ts": 7}, {"n": None, "w": None, "ts": 8}]


def test_compressed_files_are_read(here: Path) -> None:
    (here / "s.csv.gz").write_bytes(gzip.compress(b"5,7\n"))
    assert read(declared("csv OPTIONS (path 's.csv.gz')", "n BIGINT, ts BIGINT")).to_pylist() == [{"n": 5, "ts": 7}]


def test_a_folder_is_read_in_the_order_of_names_and_so_is_a_pattern(here: Path) -> None:
    (here / "s").mkdir()
    for name, text in {
        "2.csv": "3,3\n",
        "1.csv": "1,1\n2,2\n",
        "_SUCCESS": "",
        ".1.csv.crc": "x",
        "3.txt": "4,4\n",
    }.items():
        (here / "s" / name).write_text(text)
    columns = "n BIGINT, ts BIGINT"
    assert read(declared("csv OPTIONS (path 's')", columns)).column("n").to_pylist() == [1, 2, 3, 4]
    assert read(declared("csv OPTIONS (path 's/*.csv')", columns)).column("n").to_pylist() == [1, 2, 3]


def test_new_files_are_followed(here: Path) -> None:
    (here / "s").mkdir()
    (here / "s" / "1.csv").write_text("1,1\n")
    batches = FileSource(declared("csv OPTIONS (path 's')", "n BIGINT, ts BIGINT")).following(["n"])
    assert [next(batches).to_pylist(), next(batches)] == [[{"n": 1}], None]  # type: ignore[union-attr]
    (here / "s" / "2.csv").write_text("2,2\n")
    assert [next(batches).to_pylist(), next(batches)] == [[{"n": 2}], None]  # type: ignore[union-attr]


@pytest.mark.parametrize("empty", ["", "n,ts\n"])
def test_an_empty_file_has_no_rows(here: Path, empty: str) -> None:
    (here / "s.csv").write_text(empty)
    source = FileSource(declared("csv OPTIONS (path 's.csv', header 'true')", "n BIGINT, ts BIGINT"))
    assert sum(batch.num_rows for batch in source.batches(["n"])) == 0


def test_a_table_has_its_declared_types_even_without_rows(here: Path) -> None:
    (here / "t.csv").write_text("")
    definition = bind_text("CREATE TABLE t (id INT, name STRING) USING csv OPTIONS (path 't.csv')").catalog.get("t")
    assert isinstance(definition, TableDef)
    assert FileSource(definition).table().schema == pa.schema([("id", pa.int32()), ("name", pa.string())])


WRONG_TEXTS: dict[str, tuple[str, str, str]] = {
    "a value of another type": ("csv", "1,1\n\nfive,7\n", "s.csv:3: 'five' in column n is not a BIGINT"),
    "a value behind a quoted line break": ("csv", '1,1,"a\nb"\nx,7,c\n', "s.csv:3: 'x' in column n is not a BIGINT"),
    "a field too few": ("csv", "1,1\n2\n", "s.csv:2: 1 field instead of 2"),
    "a field too many": ("csv", "1,1\n2,2,2\n", "s.csv:2: 3 fields instead of 2"),
    "a quote that does not end": ("csv", '1,1\n2,"2\n', "s.csv:2: the file ends inside a quoted field"),
    "text that is not UTF-8": ("csv", "1,1\n2,\udcff\n", "s.csv: from line 1 on it is not UTF-8"),
    "a number in json that is none": ("json", '{"n": 1, "ts": 1}\n{"n": "x"}\n', 's.json:2: "x" in n is not a BIGINT'),
    "a fraction in json": ("json", '{"n": 1.5, "ts": 1}\n', "s.json:1: 1.5 in n is not a BIGINT"),
    "a list in json": ("json", '{"n": [1]}\n', "s.json:1: [1] in n is not a BIGINT"),
    "an object that is cut off": ("json", '{"n": 1, "ts": 1}\n{"n": 1, "t', "s.json:2: this is not JSON"),
    "json that is no object": ("json", "[1]\n", "s.json:1: this is not a JSON object"),
    "json that is not UTF-8": ("json", '{"n": "\udcff"}\n', "s.json:1: it is not UTF-8"),
}


@pytest.mark.parametrize("wrong", WRONG_TEXTS)
def test_what_is_wrong_with_a_text_file_is_said_with_its_line(here: Path, wrong: str) -> None:
    form, text, message = WRONG_TEXTS[wrong]
    (here / f"s.{form}").write_bytes(text.encode("utf-8", "surrogateescape"))
    columns = "n BIGINT, ts BIGINT, w STRING" if text.startswith("1,1,") else "n BIGINT, ts BIGINT"
    assert refused(declared(f"{form} OPTIONS (path 's.{form}')", columns)).startswith(message)


@pytest.mark.parametrize(("form", "text"), [("csv", "five,7\n"), ("json", '{"n": "five", "ts": 7}\n')])
def test_a_lenient_mode_reads_what_is_wrong_as_null(here: Path, form: str, text: str) -> None:
    (here / f"s.{form}").write_text(text)
    definition = declared(f"{form} OPTIONS (path 's.{form}', mode 'PERMISSIVE')", "n BIGINT, ts BIGINT")
    assert read(definition).to_pylist() == [{"n": None, "ts": 7}]


def test_a_missing_column_is_said(here: Path) -> None:
    (here / "s.csv").write_text("a,ts\n1,1\n")
    assert (
        refused(declared("csv OPTIONS (path 's.csv', header 'true')", "n INT, ts BIGINT")) == "s.csv: has no column n"
    )
    pq.write_table(pa.table({"a": [1], "ts": [1]}), "s.parquet")
    assert refused(declared("parquet OPTIONS (path 's.parquet')", "n INT, ts BIGINT")) == "s.parquet: has no column n"


def test_parquet_of_other_types_is_refused(here: Path) -> None:
    pq.write_table(pa.table({"n": ["1"], "ts": [1]}), "s.parquet")
    definition = declared("parquet OPTIONS (path 's.parquet')", "n INT, ts BIGINT")
    assert refused(definition) == "s.parquet: column n holds string, not INT"
    pq.write_table(pa.table({"n": [2**40], "ts": [1]}), "s.parquet")
    assert refused(definition).startswith("s.parquet: column n holds a value that is not an INT")


def test_a_truncated_parquet_file_is_refused(here: Path) -> None:
    pq.write_table(pa.table({"n": [1], "ts": [1]}), "s.parquet")
    (here / "s.parquet").write_bytes((here / "s.parquet").read_bytes()[:-20])
    assert refused(declared("parquet OPTIONS (path 's.parquet')", "n BIGINT, ts BIGINT")).startswith(
        "s.parquet: it cannot be read as parquet"
    )


@pytest.mark.parametrize(
    ("using", "message"),
    [
        ("kafka OPTIONS (path 'x')", "s: the embedded engine reads csv, json, parquet, not kafka"),
        ("csv OPTIONS (path 'x', heder 'true')", "s: the embedded engine has no option heder for csv"),
        ("csv OPTIONS (header 'true')", "s: there is no path to read from"),
        ("csv OPTIONS (path 'x', mode 'loose')", "s: there is no mode loose"),
        ("csv OPTIONS (path 'x')", "x: there is no such file, which s reads"),
    ],
)
def test_a_source_that_cannot_be_is_refused(using: str, message: str) -> None:
    assert refused(declared(using)) == message


ROWS: list[tuple[Any, ...]] = [
    (1, 1.5, None, True, "a,é", b"ab", 1, 1_500_000),
    (None, None, None, None, None, None, None, 2_000_000),
    (2, float("nan"), None, False, 'say "x"\n', b"", -1, 3_000_000),
    (3, 0.0, None, False, "", b"\\N", 0, 4_000_000),
    (4, 0.0, None, False, "\\N", b"x", 0, 5_000_000),
]


def results() -> tuple[Query, pa.Table]:
    """A query's results, as the reference has them."""
    script = bind_text(f"CREATE STREAM s ({COLUMNS}) TIMESTAMP BY ts; SELECT * FROM s").checked()
    query, stream = script.queries[0], script.catalog.get("s")
    assert isinstance(stream, StreamDef)
    write_csv(run(query, script.catalog, {"s": ROWS}), query.schema, Path("expected.csv"))
    rows = table(stream, ROWS)
    stamps = [pa.array([row[-1] for row in ROWS]), pa.array(["+"] * len(ROWS))]
    return query, pa.Table.from_arrays([*stamps, *rows.columns], names=["_ts", "_op", *rows.column_names])


def test_csv_is_written_as_the_reference_writes_it(here: Path) -> None:
    query, rows = results()
    sink = open_sink("out/of.csv", query)
    sink.write(rows.slice(0, 2))
    sink.write(rows.slice(2))
    sink.finish()
    sink.publish()
    assert (here / "out/of.csv").read_text() == (here / "expected.csv").read_text()


def test_what_is_printed_is_csv(capsys: pytest.CaptureFixture[str]) -> None:
    query, rows = results()
    sink = open_sink("-", query)
    sink.write(rows)
    sink.finish()
    sink.publish()
    assert capsys.readouterr().out == Path("expected.csv").read_text()


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_what_is_written_reads_as_the_same(form: str) -> None:
    query, rows = results()
    sink = open_sink(f"out.{form}", query)
    sink.write(rows)
    sink.finish()
    sink.publish()
    options = f"path 'out.{form}'" + (", header 'true'" if form == "csv" else "")
    columns = f"_ts BIGINT, _op STRING, {COLUMNS}"
    again = read(declared(f"{form} OPTIONS ({options})", columns))
    assert str(again.to_pylist()) == str(rows.to_pylist())


def test_quotes_tell_a_text_from_null(here: Path) -> None:
    """A text that is empty or `\\N` is quoted. Without quotes both are NULL."""
    (here / "s.csv").write_text('"",1\n,2\n"\\N",3\n\\N,4\n')
    definition = declared("csv OPTIONS (path 's.csv')", "w STRING, ts BIGINT")
    assert read(definition).column("w").to_pylist() == ["", None, "\\N", None]
    query, rows = results()
    sink = open_sink("out.csv", query)
    sink.write(rows.slice(3))
    sink.finish()
    sink.publish()
    written = (here / "out.csv").read_text().splitlines()
    assert '\\N,false,"","\\N",' in written[1]
    assert '\\N,false,"\\N",x,' in written[2]


def test_a_result_that_is_not_whole_has_no_name(here: Path) -> None:
    query, rows = results()
    for form in ("csv", "json", "parquet"):
        sink = open_sink(f"out.{form}", query)
        sink.write(rows)
        assert not (here / f"out.{form}").exists()
        sink.abandon()
    assert [path.name for path in here.iterdir()] == ["expected.csv"]


def test_csv_refuses_bytes_that_are_no_text() -> None:
    query, rows = results()
    sink = open_sink("out.csv", query)
    with pytest.raises(PenstockError, match="a value of b is not UTF-8"):
        sink.write(rows.set_column(7, "b", pa.array([b"\xff"] * rows.num_rows)))
    sink.abandon()


def test_spark_csv_refuses_a_text_that_it_would_write_as_null() -> None:
    """Spark's writer has no quotes around it."""
    fields = _CsvFields([("w", STRING)], "UTC")
    (kept,) = fields([pa.record_batch({"w": ["", None, "N"]})])
    assert kept.to_pylist() == [{"w": ""}, {"w": None}, {"w": "N"}]
    with pytest.raises(PenstockError, match="a value of w is the text"):
        list(fields([pa.record_batch({"w": ["\\N"]})]))


@pytest.mark.parametrize("path", ["out.txt", "out"])
def test_an_unknown_form_is_refused(path: str) -> None:
    with pytest.raises(PenstockError, match="the results have no such form"):
        open_sink(path, results()[0])


@pytest.mark.parametrize("size", [1, 5, 7, 11, 64])
def test_rows_do_not_depend_on_where_csv_is_cut_into_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """A quote inside of a text opens nothing, and a byte order mark inside of a file is a character."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    text = '5" pipe,1,x\n"a\nb","2",c"\n\ufeffd,3,\r\n,4,e""f\r"""","5","g\r\nh"\r\n"",6,""'
    Path("s.csv").write_bytes(text.encode())
    found = read(declared("csv OPTIONS (path 's.csv')", "a STRING, ts BIGINT, b STRING"))
    rows = [('5" pipe', 1, "x"), ("a\nb", 2, 'c"'), ("\ufeffd", 3, None)]
    rows += [(None, 4, 'e""f'), ('"', 5, "g\r\nh"), ("", 6, "")]
    assert [tuple(row.values()) for row in found.to_pylist()] == rows


def test_a_compressed_file_of_no_bytes_is_cut_off() -> None:
    definition = declared("csv OPTIONS (path 's.csv.gz')", "ts BIGINT")
    Path("s.csv.gz").write_bytes(gzip.compress(b""))
    assert list(FileSource(definition).batches(["ts"])) == []
    Path("s.csv.gz").write_bytes(b"")
    with pytest.raises(PenstockError, match=r"s\.csv\.gz: it is empty"):
        list(FileSource(definition).batches(["ts"]))
