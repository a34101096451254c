"""Executors of a cluster on one machine that are killed when seeded files appear."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.engines.comparing import bound, expected
from tests.engines.spark.running import write_files
from tests.engines.spark.storm.cases import ROWS_PER_FILE, stormy
from tests.engines.spark.storm.driver import Errand
from tests.engines.spark.storm.driving import each_code, found_by, log_of
from tests.engines.spark.storm.ledger import Ledger
from tests.engines.spark.storm.watching import Omen

pytestmark = pytest.mark.slow

FILES = 14
KILLS = 8

RUNS = (
    ("join", "out.parquet", "workers"),
    ("counts", "out.json", "spark"),
    ("spill", "out.parquet", "spark"),
)


@pytest.mark.parametrize(("name", "out", "reader", "seed"), [(*run, 200 + seed) for seed, run in enumerate(RUNS)])
def test_executors_are_killed_one_after_the_other(
    tmp_path: Path, ledger: Ledger, name: str, out: str, reader: str, seed: int
) -> None:
    made = stormy(name, seed, FILES)
    query, catalog = bound(made.case)
    write_files(made.case, catalog, tmp_path / "in", rows_per_file=ROWS_PER_FILE)
    random = Random(seed)
    omens = [Omen.drawn(random, most=2, seconds=0.3) for _ in range(KILLS)]
    described = tuple((omen.pattern, omen.files, omen.seconds) for omen in omens)
    master = "local-cluster[2,1,1024]"
    errand = Errand(str(tmp_path), name, seed, FILES, out, reader, master, "executor", described)
    assert list(each_code([errand])) == [0], f"the driver failed\n{log_of(tmp_path)}\n{ledger.repeat}"
    found, killed = found_by(tmp_path)
    assert killed >= KILLS // 2
    ledger.enter("an executor is killed", killed, found, expected(made.case, query, catalog))
