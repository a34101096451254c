"""What a terminal shows while it waits, and what is counted."""

from __future__ import annotations

import io
from threading import Event

import numba
import pytest

from penstock.cli.progress import Counts, ProgressLine, _spin
from penstock.engines.metrics import QueryTotals, StreamProgress
from penstock.kernels.jit import PLAIN, compiling


@pytest.mark.skipif(PLAIN, reason="nothing is compiled")
def test_a_terminal_sees_that_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with compiling(ProgressLine().compiles):
        twice = numba.njit(lambda number: 2 * number)
        assert (twice(3), twice(4)) == (6, 8)
    assert capsys.readouterr().err == "\r\x1b[Kcompiling kernels, once on this machine: 1 so far"


def test_a_wheel_says_what_is_going_on_and_is_gone_afterwards() -> None:
    terminal, over = io.StringIO(), Event()
    over.set()
    _spin("starting Spark", terminal, over)
    assert terminal.getvalue() == "\r\x1b[K| starting Spark, 0 s\r\x1b[K"


def test_no_wheel_turns_where_nobody_sees_it(capfd: pytest.CaptureFixture[str]) -> None:
    with ProgressLine().waiting("starting Spark"):
        pass
    assert capfd.readouterr().err == ""


def test_a_run_that_goes_on_counts_its_own_rows() -> None:
    counts = Counts()
    now, before = StreamProgress(1200, 3, 2, 9, 0), StreamProgress(1000, 1, 2, 7, 0)
    counts.update([QueryTotals(watermark=9, state_rows=5, state_bytes=80, streams={"s": now})], {"s": before})
    assert counts.summary() == "200 rows in, 0 rows out, 2 late, 0 bad"


def test_the_watermark_is_a_time() -> None:
    assert "watermark 2026-01-01 12:00:00 UTC" in Counts(watermark=1_767_268_800_000_000).line(1.0)


def test_before_the_first_rows_the_line_says_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    ProgressLine().draw("running the first micro-batch")
    ProgressLine(Counts(rows_in=7)).draw("running the first micro-batch")
    first, second = capsys.readouterr().err.split("\x1b[K")[1:]
    assert first == "running the first micro-batch, 0 s\r"
    assert second.startswith("7 rows, ")
