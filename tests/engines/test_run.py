"""`penstock run --engine embedded`, from files to files: it says what the reference says."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.catalog import StreamDef, TableDef
from penstock.cli import main
from penstock.engines import files
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.embedded_run import open_run
from penstock.engines.planning import plan_of, read_by
from penstock.sql import Script, bind_text
from tests.cli.conftest import Penstock, penstock  # noqa: F401
from tests.engines.comparing import bound, expected, logged, table
from tests.generators import Case, cases
from tests.reference.files import read_rows, write_csv
from tests.reference.interpreter import run

SCRIPT = """\
CREATE STREAM bid (auction BIGINT, price DECIMAL(9, 2), kind STRING, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND
USING csv OPTIONS (path 'bid.csv', header 'true');
CREATE STREAM item (id BIGINT, seller STRING, ts TIMESTAMP, UNIQUE (id)) TIMESTAMP BY ts
USING json OPTIONS (path 'item');
CREATE TABLE kinds (kind STRING, fee DOUBLE) USING csv OPTIONS (path 'kinds.csv');

CREATE QUERY gain AS
SELECT i.id, i.seller, SUM(b.price) AS total, COUNT(*) AS n
FROM item [RANGE 10 SECONDS] i, bid [RANGE 10 SECONDS] b WHERE i.id = b.auction GROUP BY i.id, i.seller;

CREATE QUERY fees AS
SELECT ISTREAM(auction, price, fee, ts) FROM bid [NOW] JOIN kinds USING (kind) WHERE price > 1;
"""
BIDS = """\
ts,auction,price,kind
1970-01-01 00:00:02,1,10,open
1970-01-01 00:00:01.5,1,2.5,open
1970-01-01 00:00:00.1,1,99,late
,1,1,without a time
1970-01-01 00:00:05,2,7.25,
1970-01-01 00:00:09,\\N,3,"close, ""now""!"
1970-01-01 00:00:14,1,1.25,open
"""
ITEMS = {
    "1.json": '{"id": 1, "seller": "é", "ts": "1970-01-01T00:00:01Z"}\n{"id": 2, "ts": "1970-01-01T00:00:06Z"}\n',
    "2.json": '{"ID": 3, "seller": "x", "ts": "1970-01-01T00:00:20Z"}\n',
}


@pytest.fixture
def auction(penstock: Penstock) -> Penstock:  # noqa: F811
    penstock.file("q.sql", SCRIPT)
    penstock.file("bid.csv", BIDS)
    (penstock.folder / "item").mkdir()
    for name, text in ITEMS.items():
        penstock.file(f"item/{name}", text)
    penstock.file("kinds.csv", 'open,0.5\nclose,\n"close, ""now""!",0.25\n')
    return penstock


def script() -> Script:
    return bind_text(SCRIPT).checked()


def reference(name: str, horizon: int | None = None) -> list[list[str]]:
    """The lines of a query's csv, in no order within an instant."""
    bound_script = script()
    query = next(query for query in bound_script.queries if query.name == name)
    streams, tables = read_by([plan_of(query, bound_script.catalog)], bound_script.catalog)
    data = {definition.name: read_rows(definition) for definition in (*streams, *tables)}
    for stream in streams:  # a row without a time does not exist
        at = [attribute.name for attribute in stream.attributes].index(stream.timestamp)
        data[stream.name] = [row for row in data[stream.name] if row[at] is not None]
    write_csv(run(query, bound_script.catalog, data, horizon), query.schema, Path("expected.csv"))
    return lines("expected.csv")


def lines(path: str) -> list[list[str]]:
    with Path(path).open(newline="") as file:
        header, *rows = csv.reader(file)
    return [header, *sorted(rows, key=lambda row: (int(row[0]), row[1:]))]


def embedded(auction: Penstock, *arguments: str) -> Any:
    return auction("run", "q.sql", "--engine", "embedded", "--until-done", *arguments)


@pytest.mark.parametrize("query", ["gain", "fees"])
@pytest.mark.parametrize("cells", ["1", "3"])
def test_csv_out_is_the_reference(auction: Penstock, query: str, cells: str) -> None:
    done = embedded(auction, "--query", query, "--out", "out.csv", "--cells", cells)
    assert done.code == 0
    assert lines("out.csv") == reference(query)


def test_results_come_in_the_order_of_time_and_what_goes_comes_first(auction: Penstock) -> None:
    embedded(auction, "--query", "gain", "--out", "out.csv")
    with Path("out.csv").open() as file:
        order = [(int(row["_ts"]), "-+".index(row["_op"])) for row in csv.DictReader(file)]
    assert order == sorted(order)


@pytest.mark.parametrize("horizon", [0, 5_000_000, 60_000_000])
def test_the_horizon_is_the_last_instant(auction: Penstock, horizon: int) -> None:
    embedded(auction, "--query", "gain", "--out", "out.csv", "--horizon", str(horizon))
    assert lines("out.csv") == reference("gain", horizon)


def test_all_queries_run_together_and_read_a_stream_once(auction: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    new = files.FileSource.__init__

    def noted(self: files.FileSource, definition: StreamDef | TableDef, zone: str) -> None:
        opened.append(definition.name)
        new(self, definition, zone)

    monkeypatch.setattr(files.FileSource, "__init__", noted)
    assert embedded(auction, "--out", "out/{query}.csv").code == 0
    assert sorted(opened) == ["bid", "item", "kinds"]
    for query in ("gain", "fees"):
        assert lines(f"out/{query}.csv") == reference(query)


def test_json_and_parquet_hold_the_same(auction: Penstock) -> None:
    for form in ("csv", "json", "parquet"):
        embedded(auction, "--query", "fees", "--out", f"out.{form}")
    objects = [json.loads(line) for line in Path("out.json").read_text().splitlines()]
    assert objects[0] == {
        "_ts": 1500000,
        "_op": "+",
        "auction": 1,
        "price": 2.5,
        "fee": 0.5,
        "ts": "1970-01-01 00:00:01.5",
    }
    rows = pq.read_table("out.parquet")
    assert rows.schema.field("price").type == pa.decimal128(9, 2)
    assert (
        rows.column("_ts").to_pylist() == [line["_ts"] for line in objects] == [int(r[0]) for r in lines("out.csv")[1:]]
    )


def test_printed_results_and_the_summary(auction: Penstock) -> None:
    done = embedded(auction, "--query", "fees")
    assert [line.split(",")[:2] for line in done.out.splitlines()][:2] == [["_ts", "_op"], ["1500000", "+"]]
    assert done.err == "7 rows in, 4 rows out, 1 late, 1 bad\n"


def test_several_queries_are_printed_under_their_names(auction: Penstock) -> None:
    printed = embedded(auction).out.splitlines()
    assert {"# gain", "# fees"} <= set(printed)
    assert printed.count("_ts,_op,id,seller,total,n") == printed.count("# gain")


def test_metrics_have_a_line_per_step_and_operator(auction: Penstock) -> None:
    embedded(auction, "--query", "gain", "--out", "out.csv", "--metrics", "m.json")
    found = [json.loads(line) for line in Path("m.json").read_text().splitlines()]
    keys = {
        "step",
        "watermark",
        "query",
        "operator",
        "cell",
        "rows_in",
        "rows_out",
        "state_rows",
        "state_bytes",
        "late_rows",
    }
    assert all(keys <= set(line) for line in found)
    operators = {line["operator"] for line in found}
    assert {"source", "project0", "aggregate1", "join2", "scan3", "scan4", "dictionary"} == operators
    assert len(found) == len({(line["step"], line["operator"], line["stream"], line["cell"]) for line in found})
    bids = [line for line in found if line["operator"] == "source" and line["stream"] == "bid"]
    assert sum(line["rows_in"] for line in bids) == 7
    assert sum(line["late_rows"] for line in bids) == 1
    assert sum(line["bad_rows"] for line in bids) == 1
    assert sum(line["rows_out"] for line in found if line["operator"] == "project0") == len(lines("out.csv")) - 1
    assert found[-1]["watermark"] == 20_000_001


def test_few_rows_wait_for_other_streams(auction: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams of one length, in batches of ten: what waits is about a batch, wherever the files end."""
    monkeypatch.setattr(files, "BATCH_ROWS", 10)
    (auction.folder / "item" / "3.json").write_text(
        "".join(json.dumps({"id": i, "ts": f"1970-01-01 00:{i // 60:02}:{i % 60:02}"}) + "\n" for i in range(20, 600))
    )
    times = "".join(f"1970-01-01 00:{i // 60:02}:{i % 60:02},{i},1,open\n" for i in range(20, 600))
    (auction.folder / "bid.csv").write_text(BIDS + times)
    sql = script()
    running = open_run([sql.queries[0]], sql.catalog)
    waiting = [sum(gauge.state_rows() for gauge in machine.gauges) for machine in _machines(running)]
    assert max(waiting) < 80


def _machines(running: Any) -> Iterator[Any]:
    for result in running.results():
        assert result is not None
        yield result.engine._machines[0][0]


def test_a_stream_that_has_ended_holds_nobody_up(auction: Penstock) -> None:
    sql = script()
    running = open_run([sql.queries[0]], sql.catalog)
    results = [result for result in running.results() if result is not None]
    assert results[-2].engine.watermark == 20_000_001
    assert results[-2].rows.num_rows + results[-1].rows.num_rows > 0


def test_without_until_done_new_files_are_awaited(auction: Penstock) -> None:
    sql = script()
    running = open_run([sql.queries[1]], sql.catalog, until_done=False)
    results = running.results()
    first = next(results)
    assert first is not None
    assert (first.rows.num_rows, first.ends_step) == (3, False)
    end = next(results)
    assert end is not None
    assert (end.rows.num_rows, end.ends_step) == (0, True)
    assert [next(results), next(results)] == [None, None]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_keeps_what_is_closed(
    auction: Penstock, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setattr("penstock.cli.run_embedded.time.sleep", lambda seconds: os.kill(os.getpid(), number))
    done = auction("run", "q.sql", "--engine", "embedded", "--query", "fees", "--out", "out.csv")
    assert done.code == 0
    assert len(lines("out.csv")) == 4


def test_a_stop_within_a_step_keeps_what_the_step_gives(auction: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    advance = EmbeddedEngine.advance_in_blocks

    def pressed(self: EmbeddedEngine) -> Iterator[pa.Table]:
        press_ctrl_c()
        return advance(self)

    monkeypatch.setattr(EmbeddedEngine, "advance_in_blocks", pressed)
    done = auction("run", "q.sql", "--engine", "embedded", "--query", "fees", "--out", "out.csv")
    assert done.code == 0
    assert len(lines("out.csv")) == 4


def test_a_stop_while_a_file_is_read_keeps_what_was_read(auction: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pressing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() == 0 and b"without a time" in self.getvalue():
                press_ctrl_c()
            return super().read(size)

    monkeypatch.setattr("penstock.engines.csv_files.pa.BufferReader", Pressing)
    done = auction("run", "q.sql", "--engine", "embedded", "--query", "fees", "--out", "out.csv")
    assert done.code == 0
    assert len(lines("out.csv")) == 4


def test_a_stop_before_the_end_leaves_no_results(auction: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.engines.sinks._CsvFile._put", press_ctrl_c)
    done = embedded(auction, "--query", "fees", "--out", "out.csv")
    assert done.code == 130
    assert "the results are left out" in done.err
    assert not list(auction.folder.glob("*out.csv*"))


@pytest.mark.parametrize("until_done", [["--until-done"], []])
def test_a_second_ctrl_c_stops_at_once(
    auction: Penstock, monkeypatch: pytest.MonkeyPatch, until_done: list[str]
) -> None:
    """As it does inside of a kernel, whose caller then says SystemError."""

    def pressed_twice(self: Any) -> Any:
        press_ctrl_c()
        try:
            press_ctrl_c()
        except KeyboardInterrupt as interrupt:
            raise SystemError("a kernel returned a result with an exception set") from interrupt

    monkeypatch.setattr(EmbeddedEngine, "advance_in_blocks", pressed_twice)
    done = auction("run", "q.sql", "--engine", "embedded", "--query", "fees", "--out", "out.csv", *until_done)
    assert done.code == 130
    assert "the results are left out" in done.err
    assert "Traceback" not in done.err
    assert not list(auction.folder.glob("*out.csv*"))


def press_ctrl_c(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_results_that_a_disk_does_not_hold_are_left_out(auction: Penstock, kind: str) -> None:
    bids = (f"1970-01-01 00:00:{i // 1000:02},1,{i},open\n" for i in range(2, 40_000))
    auction.file("bid.csv", "ts,auction,price,kind\n" + "".join(bids))
    done = on_a_small_disk(auction, "--query", "fees", "--out", f"out.{kind}")
    assert done.returncode == 2
    assert done.stderr.startswith(f"out.{kind}: ")
    assert "Traceback" not in done.stderr
    assert not list(auction.folder.glob("*out.*"))


def test_where_one_output_cannot_be_written_the_others_leave_nothing(auction: Penstock) -> None:
    auction.file("fees", "a file, and no folder")
    done = embedded(auction, "--out", "{query}/out.csv")
    assert (done.code, done.err.splitlines()[-2]) == (2, "fees/out.csv: File exists")
    assert not list(auction.folder.glob("gain/.*"))


def test_metrics_that_a_disk_does_not_hold_are_an_error(auction: Penstock) -> None:
    auction.file("bid.csv", BIDS + "".join(f"1970-01-01 00:00:{i},1,{i},open\n" for i in range(15, 59)))
    done = on_a_small_disk(auction, "--metrics", "m.json", "--out", "out-{query}.json", "--cells", "16")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2] == "m.json: File too large"
    assert not list(auction.folder.glob("*out*"))


def test_output_that_nobody_takes_is_an_error(auction: Penstock) -> None:
    with Path("/dev/full").open("w") as full:
        done = on_a_small_disk(auction, "--query", "fees", stdout=full)
    assert (done.returncode, done.stderr) == (2, "cannot write: No space left on device\n")


def on_a_small_disk(
    auction: Penstock, *arguments: str, stdout: Any = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    """A run that can write no file of more than 16 kB. Before it one that can, which compiles the kernels."""
    assert embedded(auction, *arguments).code == 0
    for path in [*auction.folder.glob("*out*"), *auction.folder.glob("m.json*")]:
        path.unlink()
    command = [sys.executable, "-m", "penstock.cli", "run", "q.sql", "--engine", "embedded", "--until-done", *arguments]
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
    return subprocess.run(command, check=False, stdout=stdout, stderr=subprocess.PIPE, text=True, preexec_fn=limit)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--query", "gian"], "there is no query gian\nhint: did you mean gain?"),
        (["--out", "out.csv"], "the results of gain, fees cannot go to one place"),
        (["--query", "gain", "--out", "out.txt"], "out.txt: the results have no such form"),
        (["--query", "gain", "--master", "local"], "--master is for Spark"),
        (["--query", "gain", "--metrics", "q.sql/m.json"], "q.sql/m.json: Not a directory"),
    ],
)
def test_what_cannot_be_is_refused(auction: Penstock, arguments: list[str], message: str) -> None:
    done = embedded(auction, *arguments)
    assert done.code == 2
    assert f"\n{message}" in f"\n{done.err}"


def test_a_horizon_without_an_end_is_refused(auction: Penstock) -> None:
    done = auction("run", "q.sql", "--engine", "embedded", "--query", "gain", "--horizon", "5")
    assert (done.code, done.err.splitlines()[0]) == (2, "--horizon goes with --until-done")


def test_idle_streams_without_waiting_are_refused(auction: Penstock) -> None:
    done = embedded(auction, "--query", "gain", "--idle", "30 SECONDS")
    assert (done.code, done.err.splitlines()[0].partition(",")[0]) == (2, "--idle is for runs that wait for new rows")
    done = auction("run", "q.sql", "--engine", "embedded", "--query", "gain", "--idle", "0 SECONDS")
    assert (done.code, done.err.splitlines()[0]) == (2, "a stream is idle after a time that is more than zero")
    with pytest.raises(SystemExit):
        auction("run", "q.sql", "--idle", "-5 SECONDS")


def test_bad_data_ends_the_run_and_leaves_no_results(auction: Penstock) -> None:
    auction.file("bid.csv", BIDS + "1970-01-01 00:00:15,x,1,open\n")
    done = embedded(auction, "--query", "gain", "--out", "out.csv")
    assert done.code == 2
    assert done.err.startswith("bid.csv:9: 'x' in column auction is not a BIGINT\nhint: ")
    assert not list(auction.folder.glob("*out.csv*"))


def test_a_file_without_a_query_is_refused(auction: Penstock) -> None:
    auction.file("q.sql", "CREATE TABLE t (a INT)")
    assert embedded(auction).err.startswith("the file has no query")


@settings(max_examples=25)
@given(cases(), st.sampled_from(["csv", "parquet"]), st.sampled_from([1, 2]))
def test_any_case_runs_through_files(case: Case, form: str, cells: int) -> None:
    """Rows go to parquet files, as text could not tell an empty string from NULL, and come back as `form`."""
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    with TemporaryDirectory() as folder:
        for definition in (*catalog.streams, *catalog.tables):
            pq.write_table(table(definition, case.data[definition.name]), f"{folder}/{definition.name}.parquet")
        Path(f"{folder}/q.sql").write_text(_with_sources(case, folder))
        horizon = [] if case.horizon is None else ["--horizon", str(case.horizon)]
        out = f"{folder}/out.{form}"
        arguments = ["--engine", "embedded", "--until-done", "--out", out, "--cells", str(cells), *horizon]
        arguments.append("--allow-unbounded")
        assert main(["run", f"{folder}/q.sql", *arguments]) == 0
        if form == "parquet":
            assert logged(pq.read_table(out), query) == want
        else:
            with Path(out).open(newline="") as file:
                rows = list(csv.reader(file))[1:]
            assert Counter((int(row[0]), row[1]) for row in rows) == _instants(want)


def _instants(log: Counter[tuple[Any, ...]]) -> Counter[tuple[int, str]]:
    counts: Counter[tuple[int, str]] = Counter()
    for (ts, op, *_), times in log.items():
        counts[ts, op] += times
    return counts


def _with_sources(case: Case, folder: str) -> str:
    """The case's declarations with USING behind each stream and table."""
    statements = []
    for statement in case.ddl.split(";\n"):
        words = statement.split()
        sourced = words[:2] in (["CREATE", "STREAM"], ["CREATE", "TABLE"])
        using = f" USING parquet OPTIONS (path '{folder}/{words[2].strip('`')}.parquet')" if sourced else ""
        statements.append(statement.rstrip(";") + using)
    return ";\n".join([*statements, f"CREATE QUERY q AS {case.query};"])
