"""Drivers that are killed with all their processes when a seeded file appears, again and again on one checkpoint."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.engines.comparing import bound, expected
from tests.engines.spark.running import write_files
from tests.engines.spark.storm.cases import ROWS_PER_FILE, stormy
from tests.engines.spark.storm.driver import Errand
from tests.engines.spark.storm.driving import each_code, found_by, log_of, until_done
from tests.engines.spark.storm.ledger import Ledger
from tests.engines.spark.storm.watching import Omen

pytestmark = pytest.mark.slow

FILES = 14
KILLS = 8

RUNS = (
    ("join", "out.parquet", "workers"),
    ("counts", "out.parquet", "spark"),
    ("panes", "out.json", "spark"),
    ("spill", "out.parquet", "workers"),
)


@pytest.mark.parametrize(("name", "out", "reader", "seed"), [(*run, 100 + seed) for seed, run in enumerate(RUNS)])
def test_a_driver_is_killed_again_and_again(
    tmp_path: Path, ledger: Ledger, name: str, out: str, reader: str, seed: int
) -> None:
    made = stormy(name, seed, FILES)
    query, catalog = bound(made.case)
    write_files(made.case, catalog, tmp_path / "in", rows_per_file=ROWS_PER_FILE)
    random = Random(seed)
    last = Errand(str(tmp_path), name, seed, FILES, out, reader)

    def doomed() -> Errand:
        omen = Omen.drawn(random, most=2, seconds=random.choice((0, 0.3)))
        return replace(last, victim="driver", omens=((omen.pattern, omen.files, omen.seconds),))

    codes = until_done(each_code([*(doomed() for _ in range(KILLS)), last]))
    assert codes[-1] == 0, f"the last driver failed\n{log_of(tmp_path)}\n{ledger.repeat}"
    assert set(codes) <= {0, -signal.SIGKILL}, f"{codes}\n{log_of(tmp_path)}\n{ledger.repeat}"
    killed = codes.count(-signal.SIGKILL)
    assert killed >= KILLS // 2, codes
    reference = expected(made.case, query, catalog)
    ledger.enter("a driver is killed with all its processes", killed, found_by(tmp_path)[0], reference)
