"""Instants at the ends of 64 bits: nothing wraps, and no row vanishes without being counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import penstock
from penstock.catalog import Attribute
from penstock.engines.columns import typed
from penstock.engines.lateness import LAST_INSTANT, Progress, on_time
from penstock.errors import PenstockError
from penstock.types import TIMESTAMP

INSTANTS = [5, -1, 2**63 - 1, LAST_INSTANT + 1, -(2**63), LAST_INSTANT, 2**62]


@pytest.mark.parametrize("delay", [0, 5, 2**62, 2**63 - 1])
@pytest.mark.parametrize("size", [1, 3, 7])
def test_rows_after_the_last_instant_are_bad_however_they_are_cut(delay: int, size: int) -> None:
    progress, kept = Progress(), []
    for start in range(0, len(INSTANTS), size):
        part = np.array(INSTANTS[start : start + size], np.int64)
        kept += part[on_time(part, None, progress, delay, None)].tolist()
    assert kept == [5, LAST_INSTANT]
    assert (progress.rows, progress.bad_rows, progress.late_rows, progress.newest) == (7, 5, 0, LAST_INSTANT)


@pytest.mark.parametrize(
    "window", ["[UNBOUNDED]", "[RANGE 1 HOUR]", "[ROWS 2]", "[NOW]", "[RANGE 1 HOUR SLIDE 1 MINUTE]"]
)
@pytest.mark.parametrize("delay", [0, "1 HOUR"])
def test_queries_go_up_to_the_last_instant(window: str, delay: int | str) -> None:
    session = penstock.Session()
    rows = pa.table({"n": list(range(len(INSTANTS))), "ts": INSTANTS})
    session.stream("s", rows, timestamp="ts", delay=delay)
    found = session.query(f"SELECT ISTREAM(n) FROM s {window}").to_arrow().to_pylist()
    assert [row["n"] for row in found] == ([0, 5] if "SLIDE" not in window else [0])


@pytest.mark.parametrize(("unit", "number"), [("s", 2**62), ("ms", 2**62), ("s", -(2**62)), ("ms", 2**63 - 1)])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_times_that_do_not_fit_are_an_error_that_names_the_column(unit: str, number: int, zone: str | None) -> None:
    column = pa.array([0, number], pa.int64()).view(pa.timestamp(unit, zone))
    with pytest.raises(PenstockError, match="in: column t holds a value that is not a TIMESTAMP") as caught:
        typed(column, Attribute("t", TIMESTAMP), "in")
    assert caught.value.hint == "times are at most some 292,000 years from 1970"


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_nanoseconds_are_cut_to_the_microsecond_that_has_begun(zone: str | None) -> None:
    column = pa.array([1_999, 0, None, -1, -1_000, -(2**63)], pa.int64()).view(pa.timestamp("ns", zone))
    numbers = typed(column, Attribute("t", TIMESTAMP), "in").cast(pa.int64()).to_pylist()
    assert numbers == [1, 0, None, -1, -1, -9_223_372_036_854_776]


def test_a_horizon_after_the_last_instant_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = penstock.Session()
    session.stream("s", pa.table({"n": [1], "ts": [1]}), timestamp="ts")
    with pytest.raises(PenstockError, match="is beyond the last instant"):
        session.query("SELECT n FROM s [ROWS 1]").to_arrow(horizon=2**63 - 1)


def test_a_frame_that_is_none_is_refused() -> None:
    session = penstock.Session()
    with pytest.raises(PenstockError, match="s: the frame cannot be turned into Arrow columns"):
        session.stream("s", pd.DataFrame({"n": [1, "x"], "ts": [1, 2]}), timestamp="ts")
