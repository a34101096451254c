"""A disk that fills up under the checkpoint or the output: the query says so, and goes on when there is room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.spark.storm.confinement import verdicts
from tests.engines.spark.storm.full_disk import DISKS
from tests.engines.spark.storm.ledger import Ledger

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [400])
def test_a_disk_fills_up_and_gets_room(tmp_path: Path, ledger: Ledger, seed: int) -> None:
    found = verdicts("full_disk", tmp_path, str(seed))
    refusals = [verdict for verdict in found if verdict.refused is not None]
    assert len(refusals) >= len(DISKS), f"a disk never filled up: {[verdict.kind for verdict in found]}"
    for verdict in found:
        if verdict.refused is not None:
            ledger.refused(verdict.kind)
        else:
            ledger.enter(verdict.kind, 0, verdict.found, verdict.reference)
    unclear = [(verdict.kind, verdict.refused) for verdict in refusals if "space" not in (verdict.refused or "")]
    assert not unclear, f"{unclear}\n{ledger.repeat}"
