"""A row that breaks a constraint with ON VIOLATION ERROR, in a run whose workers die: it stops the run at each start.

What was written by then stays, and when the row is put right the query goes on to the results of the right rows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from tests.engines.spark.killing import set_out
from tests.engines.spark.storm.cases import ROWS_PER_FILE, stormy
from tests.engines.spark.storm.ledger import Ledger
from tests.engines.spark.storm.reaper import seeded
from tests.engines.spark.storm.started import Started

pytestmark = pytest.mark.slow

FILES = 8

#: The file with the wrong row, its first one.
WRONG = 4


@pytest.mark.parametrize("out", ["out.parquet", "out.json"])
def test_a_violation_stops_the_run_whatever_dies(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger: Ledger, out: str
) -> None:
    reaper = seeded(tmp_path, 950, FILES + 1, most=2)
    set_out(reaper, monkeypatch)
    right = Started(spark, stormy("violation error", 950, FILES), tmp_path, out)
    row = WRONG * ROWS_PER_FILE
    items, bids = list(right.made.case.data["item"]), list(right.made.case.data["bid"])
    bids[row] = (f"item {row}", 1, 10 * row + 5)
    right = replace(right, made=replace(right.made, case=replace(right.made.case, data={"item": items, "bid": bids})))
    # The item comes two instants after its bid.
    late = [*items[:row], (*items[row][:2], 10 * row + 7), *items[row + 1 :]]
    wrong = replace(right, made=replace(right.made, case=replace(right.made.case, data={"item": late, "bid": bids})))
    wrong.write_files()
    for _ in range(2):
        with pytest.raises(PenstockError, match=f"a row with id = 'item {row}' at {10 * row + 7} breaks bid"):
            wrong.begin().await_done()
        ledger.refused("a worker is killed, and a row breaks a constraint")
        assert not wrong.results() - right.reference()
    (tmp_path / "in" / "item" / f"part-{WRONG:05d}.parquet").unlink()
    right.write_files()
    right.begin().await_done()
    kind = "a worker is killed, and a row breaks a constraint"
    ledger.enter(kind, reaper.killed(), right.results(), right.reference())
