"""`penstock run` that is ended by signals: the next start goes on, and clears away what was left in shared memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.spark.storm.confinement import verdicts
from tests.engines.spark.storm.ledger import Ledger

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [900])
def test_penstock_run_is_ended_by_signals(tmp_path: Path, ledger: Ledger, seed: int) -> None:
    *signalled, last = verdicts("signals", tmp_path, str(seed))
    ledger.enter("penstock run is ended by a signal", len(signalled), last.found, last.reference)
    for verdict in [*signalled, last]:
        assert not verdict.left, f"{verdict.kind}: {verdict.left} is left\n{ledger.repeat}"
        assert "Traceback" not in (verdict.refused or ""), f"{verdict.kind}: {verdict.refused}\n{ledger.repeat}"
