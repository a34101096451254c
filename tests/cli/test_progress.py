"""Whoever waits for kernels to be compiled can say so."""

from __future__ import annotations

import numba
import pytest

from penstock.cli.progress import ProgressLine
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
