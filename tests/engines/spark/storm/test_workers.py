"""Workers that are killed in every micro-batch: at moments that a seed chooses, and from outside at any time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.engines.spark.killing import set_out
from tests.engines.spark.storm.cases import stormy
from tests.engines.spark.storm.ledger import Ledger
from tests.engines.spark.storm.processes import daemons, workers
from tests.engines.spark.storm.reaper import seeded
from tests.engines.spark.storm.started import Started
from tests.engines.spark.storm.watching import Marauder, Omen

pytestmark = pytest.mark.slow

FILES = 12

#: The query, who writes its results, and who reads its files.
RUNS = (
    ("join", "out.parquet", "workers"),
    ("join", "out.json", "spark"),
    ("panes", "out.json", "workers"),
    ("counts", "out.parquet", "workers"),
    ("counts", "out.json", "spark"),
    ("last rows", "out.parquet", "spark"),
    ("nothing matches", "out.parquet", "workers"),
    ("spill", "out.parquet", "spark"),
    ("spill", "out.json", "workers"),
    ("violation error", "out.parquet", "workers"),
)


@pytest.mark.parametrize(("name", "out", "reader", "seed"), [(*run, seed) for seed, run in enumerate(RUNS)])
def test_workers_are_killed_at_moments_of_each_micro_batch(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ledger: Ledger,
    name: str,
    out: str,
    reader: str,
    seed: int,
) -> None:
    reaper = seeded(tmp_path, seed, FILES + 1)
    set_out(reaper, monkeypatch)
    started = Started(spark, stormy(name, seed, FILES), tmp_path, out, reader)
    started.write_files()
    started.begin().await_done()
    assert reaper.killed() >= FILES // 2
    ledger.enter(
        "a worker is killed at a moment of a micro-batch", reaper.killed(), started.results(), started.reference()
    )


@pytest.mark.parametrize(
    ("name", "out", "victims", "seed"),
    [("join", "out.parquet", workers, 50), ("counts", "out.json", workers, 51), ("join", "out.parquet", daemons, 52)],
)
def test_workers_are_killed_from_outside(
    spark: SparkSession,
    tmp_path: Path,
    ledger: Ledger,
    name: str,
    out: str,
    victims: Callable[[], list[int]],
    seed: int,
) -> None:
    """A daemon is the process that workers are forked from."""
    random = Random(seed)
    omens = [Omen(f"checkpoint/offsets/{batch}", 1, random.random() * 0.6) for batch in range(FILES)]

    def kill() -> bool:
        found = victims()
        if found:
            os.kill(random.choice(found), signal.SIGKILL)
        return bool(found)

    started = Started(spark, stormy(name, seed, FILES), tmp_path, out)
    started.write_files()
    with Marauder(tmp_path, omens[:: 1 if victims is workers else 4], kill) as marauder:
        started.begin().await_done()
    kind = (
        "a worker is killed at any time" if victims is workers else "the process that workers are forked from is killed"
    )
    assert marauder.acts >= 2
    ledger.enter(kind, marauder.acts, started.results(), started.reference())
