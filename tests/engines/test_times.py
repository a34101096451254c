"""Times in whole runs: warnings of doubtful units, and groups that close by what the clocks of a zone show."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import penstock
from penstock.cli import main
from penstock.engines.time_units import likely_unit
from penstock.errors import DoubtfulUnit, PenstockError
from penstock.profiling.sources import stream_of
from penstock.register import check_query
from penstock.sql import bind_text
from penstock.sql.formatting import format_text
from penstock.types import TimeUnit
from tests.engines.comparing import embedded, expected
from tests.generators import Case

DDL = "CREATE STREAM s (k BIGINT, ts BIGINT) TIMESTAMP BY ts{unit}\nUSING csv OPTIONS (path '{path}', header 'true');\n"


@pytest.mark.parametrize(
    ("first", "unit"),
    [
        (0, None), (10**8 - 1, None), (10**8, "SECONDS"), (1_700_000_000, "SECONDS"), (17 * 10**11, "MILLISECONDS"),
        (10**14 - 1, "MILLISECONDS"), (10**14, None), (17 * 10**14, None), (17 * 10**17, "NANOSECONDS"),
    ],
)  # fmt: skip
def test_a_unit_is_told_from_the_first_value(first: int, unit: str | None) -> None:
    assert likely_unit(first) is (None if unit is None else TimeUnit[unit])


def test_python_is_warned_once_per_stream() -> None:
    rows = pa.table({"k": [1, 2], "ts": [1_700_000_000, 1_700_000_001]})
    session = penstock.Session()
    session.stream("s", rows, timestamp="ts")
    session.stream("said", rows, timestamp="ts", unit="SECONDS")
    with pytest.warns(DoubtfulUnit) as caught:
        session.query("SELECT ISTREAM(x.k) FROM s [ROWS 1] AS x, s [ROWS 2] AS y WHERE x.k = y.k").to_arrow()
    assert [str(each.message).partition(",")[0] for each in caught] == ["s: ts starts with 1700000000"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = session.query("SELECT ISTREAM(k) FROM said [RANGE 1 SECOND]").to_arrow()
    assert found.column("_ts").to_pylist() == [1_700_000_000_000_000, 1_700_000_001_000_000]


def test_the_command_line_warns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.csv").write_text("k,ts\n1,1700000000000\n2,1700000000001\n")
    for unit, is_warned in (("", True), (" MICROSECONDS", False), (" MILLISECONDS", False)):
        text = DDL.format(unit=unit, path=tmp_path / "s.csv") + "SELECT ISTREAM(k) FROM s [ROWS 1];"
        (tmp_path / "q.sql").write_text(text)
        assert main(["run", "--engine", "embedded", "--until-done", str(tmp_path / "q.sql")]) == 0
        assert (
            "s: ts starts with 1700000000000, which looks like milliseconds" in capsys.readouterr().err
        ) is is_warned


def test_the_command_line_takes_a_zone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.csv").write_text("at,ts\n2026-07-01 12:00:00,1\n2026-01-01 12:00:00Z,2\n")
    (tmp_path / "q.sql").write_text(
        f"CREATE STREAM s (at TIMESTAMP, ts BIGINT) TIMESTAMP BY ts USING csv "
        f"OPTIONS (path '{tmp_path / 's.csv'}', header 'true'); SELECT ISTREAM(at, HOUR(at) AS h) FROM s [ROWS 1];"
    )
    arguments = ["run", "--engine", "embedded", "--until-done", str(tmp_path / "q.sql")]
    assert main([*arguments, "--time-zone", "Europe/Berlin"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["1,+,2026-07-01 10:00:00Z,12", "2,+,2026-01-01 12:00:00Z,13"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["1,+,2026-07-01 12:00:00,12", "2,+,2026-01-01 12:00:00,12"]
    assert main([*arguments, "--time-zone", "Europe/Berln"]) == 2
    assert "did you mean Europe/Berlin?" in capsys.readouterr().err


def test_a_session_and_its_spark_agree_on_the_zone() -> None:
    session = penstock.Session(time_zone="+02:00")
    naive = pa.table({"ts": pa.array([7_200_000_000], pa.timestamp("us"))})
    session.stream("s", naive, timestamp="ts")
    found = session.query("SELECT ISTREAM(HOUR(ts) AS h, CAST(ts AS STRING) AS t) FROM s").to_arrow()
    assert found.to_pylist() == [{"_ts": 0, "_op": "+", "h": 2, "t": "1970-01-01 02:00:00"}]
    with pytest.raises(PenstockError, match="there is no time zone Mars"):
        penstock.Session(time_zone="Mars")


def test_profile_proposes_a_unit_and_fmt_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("k,ts\n1,1700000000\n")
    assert stream_of(str(tmp_path / "s.csv"), "ts").written_unit is TimeUnit.SECONDS
    text = format_text(DDL.format(unit=" milliseconds delay 1 second", path="s.csv"))
    assert ") TIMESTAMP BY ts MILLISECONDS DELAY 1 SECOND\n" in text
    assert format_text(text) == text


CLOSING = "SELECT {key} AS t, COUNT(*) AS n FROM s GROUP BY {key} EMIT ON CLOSE"
ZONED = "CREATE STREAM s (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 10 MINUTES;"


@pytest.mark.parametrize("key", ["DATE_TRUNC('HOUR', ts)", "DATE_TRUNC('DAY', ts)", "CAST(ts AS DATE)", "YEAR(ts)"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata"])
def test_groups_close_where_clocks_never_fall(zone: str, key: str) -> None:
    """Around an hour that clocks show twice, and one that they skip."""
    random = Random(zone + key)
    changes = (1_518_919_200, 1_541_300_400) if zone == "America/Sao_Paulo" else (1_774_746_000, 1_792_890_000)
    for start in changes:
        times = sorted(start + random.randrange(-100_000, 100_000) for _ in range(25))
        rows = [(n, at * 1_000_000 - random.choice((0, 300_000_000))) for n, at in enumerate(times)]
        case = Case(ZONED, CLOSING.format(key=key), {"s": rows}, None, "")
        script = bind_text(case.script, zone=zone).checked()
        query, catalog = script.queries[0], script.catalog
        assert check_query(query, catalog).safe
        assert embedded(case, query, catalog, 1, 2) == expected(case, query, catalog)


@pytest.mark.parametrize(
    ("zone", "key"), [("Australia/Lord_Howe", "DATE_TRUNC('HOUR', ts)"), ("America/Goose_Bay", "CAST(ts AS DATE)")]
)
def test_groups_of_clocks_that_fall_are_not_safe(zone: str, key: str) -> None:
    script = bind_text(f"{ZONED} {CLOSING.format(key=key)}", zone=zone).checked()
    assert not check_query(script.queries[0], script.catalog).safe
    assert check_query(bind_text(f"{ZONED} {CLOSING.format(key=key)}").checked().queries[0], script.catalog).safe
