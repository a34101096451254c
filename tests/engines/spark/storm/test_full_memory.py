"""Shared memory that fills up while a query runs: its cells go on in their workers, and no row counts twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.spark.storm.confinement import verdicts
from tests.engines.spark.storm.ledger import Ledger

pytestmark = pytest.mark.slow

#: Free KB of shared memory.
SIZES = ("300", "600", "1000", "1400", "2000")


@pytest.mark.parametrize("seed", [300])
def test_shared_memory_fills_up(tmp_path: Path, ledger: Ledger, seed: int) -> None:
    for verdict in verdicts("full_memory", tmp_path, str(seed), *SIZES):
        assert verdict.refused is None, f"{verdict.kind}: {verdict.refused}\n{ledger.repeat}"
        ledger.enter("shared memory is full", 1, verdict.found, verdict.reference, verdict.kind)
