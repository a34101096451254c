"""The folders of cells' machines in shared memory are deleted while the query runs: they are made again."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.state_directory import StateDirectory
from tests.engines.spark.storm.cases import stormy
from tests.engines.spark.storm.ledger import Ledger
from tests.engines.spark.storm.started import Started
from tests.engines.spark.storm.watching import WRITTEN, Marauder, Omen

pytestmark = pytest.mark.slow

FILES = 12


@pytest.mark.parametrize(("name", "out", "seed"), [("join", "out.parquet", 600), ("counts", "out.json", 601)])
def test_machines_are_deleted_in_each_micro_batch(
    spark: SparkSession, tmp_path: Path, ledger: Ledger, name: str, out: str, seed: int
) -> None:
    random = Random(seed)
    omens = [Omen(random.choice(WRITTEN[:-2]), 1, random.random() * 0.3) for _ in range(FILES)]
    started = Started(spark, stormy(name, seed, FILES), tmp_path, out)
    started.write_files()
    running = started.begin()
    folder = StateDirectory(running._work.run)._folder

    def delete() -> bool:
        """All machines, or one of them."""
        there = sorted(folder.glob("*"))
        if there:
            shutil.rmtree(random.choice([folder, *there]), ignore_errors=True)
        return bool(there)

    with Marauder(tmp_path, omens, delete) as marauder:
        running.await_done()
    assert marauder.acts >= FILES // 3
    ledger.enter("machines in shared memory are deleted", marauder.acts, started.results(), started.reference())
