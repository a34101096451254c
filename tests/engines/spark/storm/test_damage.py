"""Checkpoints and outputs that were damaged between two starts: refused with a word, or right; never wrong."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from tests.engines.spark.storm.cases import stormy
from tests.engines.spark.storm.damage import Damage, Saved, all_damage
from tests.engines.spark.storm.ledger import Ledger
from tests.engines.spark.storm.started import Started

pytestmark = pytest.mark.slow

FILES = 6

#: So many of all kinds of damage are tried under each seed.
DAMAGES = 14


@pytest.mark.parametrize(("name", "seed"), [("join", 500), ("counts", 501), ("last rows", 502)])
def test_a_checkpoint_is_damaged(spark: SparkSession, tmp_path: Path, ledger: Ledger, name: str, seed: int) -> None:
    started = Started(spark, stormy(name, seed, FILES), tmp_path / "run")
    folder, random, reference = started.folder, Random(seed), started.reference()
    started.write_files(only=FILES // 2)
    started.read_what_is_there()
    started.write_files()
    saved = Saved(folder, tmp_path / "saved")
    for damage in random.sample(all_damage(), DAMAGES):
        if damage.do(folder, random) is None:
            continue
        kind = f"{damage.how} {_what(damage)}"
        try:
            started.begin().await_done()
        except PenstockError as error:
            ledger.refused(kind)
            print(f"{damage}: {error}")
        else:
            ledger.enter(kind, 1, started.results(), reference)
        saved.restore()


def _what(damage: Damage) -> str:
    parts = damage.pattern.split("/")
    return f"a file of {parts[1] if parts[0] == 'checkpoint' else parts[0].split('.')[0]}"
