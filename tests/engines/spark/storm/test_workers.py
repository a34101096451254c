"""Workers that are killed in every micro-batch, at moments that a seed chooses."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.engines.comparing import bound, expected
from tests.engines.spark.killing import set_out
from tests.engines.spark.running import begin, json_results, listed, results, write_files
from tests.engines.spark.storm.cases import ROWS_PER_FILE, stormy
from tests.engines.spark.storm.ledger import Ledger
from tests.engines.spark.storm.reaper import seeded

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
def test_workers_are_killed_in_each_micro_batch(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ledger: Ledger,
    name: str,
    out: str,
    reader: str,
    seed: int,
) -> None:
    made = stormy(name, seed, FILES)
    reaper = seeded(tmp_path, seed, FILES + 1)
    set_out(reaper, monkeypatch)
    query, catalog = bound(made.case)
    write_files(made.case, catalog, tmp_path / "in", rows_per_file=ROWS_PER_FILE)
    given = listed(spark, catalog, tmp_path / "in") if reader == "workers" else None
    options = {"cells": 2, "given": given, "out": out, "forgetting": made.forgetting}
    begin(spark, made.case, query, catalog, tmp_path, **options).await_done()
    read = results if out == "out.parquet" else json_results
    found, reference = read(spark, tmp_path, query), expected(made.case, query, catalog)
    assert reaper.killed() >= FILES // 2
    ledger.enter("a worker is killed at a moment of a micro-batch", reaper.killed(), found, reference)
