"""Checkpoints and outputs that were damaged between two starts: refused with a clear word, or right; never wrong."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from tests.engines.spark.storm.cases import stormy
from tests.engines.spark.storm.damage import Saved, drawn
from tests.engines.spark.storm.ledger import Ledger
from tests.engines.spark.storm.started import Started

pytestmark = pytest.mark.slow

FILES = 6

#: So many kinds of damage to each kind of file are tried under each seed.
EACH = 1


@pytest.mark.parametrize(("name", "seed"), [("join", 500), ("counts", 501), ("last rows", 502), ("spill", 503)])
def test_a_run_is_damaged(spark: SparkSession, tmp_path: Path, ledger: Ledger, name: str, seed: int) -> None:
    started = Started(spark, stormy(name, seed, FILES), tmp_path / "run")
    folder, random, reference = started.folder, Random(seed), started.reference()
    started.write_files(only=FILES // 2)
    started.read_what_is_there()
    started.write_files()
    saved = Saved(folder, tmp_path / "saved")
    unclear = []
    for damage in drawn(random, EACH):
        damaged = damage.do(folder, random)
        if damaged is None:
            continue
        kind = f"damage to {damage.what}"
        try:
            started.begin().await_done()
        except PenstockError as error:
            ledger.refused(kind)
            if "checkpoint" not in str(error) and str(folder) not in str(error):
                unclear.append(f"{damage}: {error}")
        else:
            try:
                ledger.enter(kind, 1, started.results(), reference, f"{damage} ({damaged})")
            except (PySparkException, Py4JJavaError):
                # Spark does not read results whose log, or one of whose files, is damaged.
                ledger.refused(kind)
        saved.restore()
    assert not unclear, "\n".join([*unclear, ledger.repeat])
