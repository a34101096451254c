"""`penstock warm` runs queries of every kind, and says where it has put what it compiled."""

from __future__ import annotations

import pytest

from penstock.engines.warming import BATCHES
from penstock.kernels.jit import PLAIN, cache_folder
from tests.cli.conftest import Penstock


@pytest.mark.skipif(PLAIN, reason="nothing is compiled")
def test_warm_says_where_kernels_are(penstock: Penstock) -> None:
    done = penstock("warm", "--processes", "1")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("kernels are compiled, after ")
    assert done.out.endswith(f" s, in {cache_folder()}\n")


def test_warm_may_be_quiet_and_draws_a_bar_on_terminals(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.engines.warming.warm_batch", lambda number: BATCHES[number][0])
    assert penstock("warm", "--quiet", "--processes", "1").out == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    done = penstock("warm", "--processes", "1")
    assert f"[#####...............] 1/{len(BATCHES)}  {BATCHES[0][0]} done" in done.err
