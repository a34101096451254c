"""The results of a step flow to the sink in blocks, in the order of time, each before the next is computed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.embedded_run import EmbeddedRun
from penstock.operators import machine
from penstock.sql import bind_text

JOIN = """
CREATE STREAM l (k BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS;
CREATE STREAM r (k BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS;
CREATE QUERY q AS SELECT l.k FROM l, r WHERE l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + 10;
"""


def rows() -> pa.RecordBatch:
    numbers = np.arange(200)
    return pa.record_batch({"k": numbers % 7, "ts": numbers})


def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of few rows, each of which gives its results in a block."""
    for name, rows_ in (("SLICE", 16), ("SMALLEST_BLOCK", 1)):
        monkeypatch.setattr(machine, name, rows_)


def engine_of(cells: int = 1) -> EmbeddedEngine:
    script = bind_text(JOIN).checked()
    (query,) = script.queries
    return EmbeddedEngine(query, script.catalog, cells=cells)


@pytest.mark.parametrize("cells", [1, 3])
def test_the_blocks_of_a_step_together_are_its_results(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, cut = engine_of(cells), engine_of(cells)
    for name in ("l", "r"):
        whole.push(name, rows())
        cut.push(name, rows())
    want = whole.advance()
    cut_small(monkeypatch)
    blocks = list(cut.advance_in_blocks())
    assert len(blocks) > 5 if cells == 1 else len(blocks) == 1
    got = pa.concat_tables(blocks)
    order = [("_ts", "ascending"), ("_op", "ascending"), ("k", "ascending")]
    assert got.sort_by(order).equals(want.sort_by(order))
    instants = got.column("_ts").to_numpy()
    assert (instants[1:] >= instants[:-1]).all()
    assert cut.finish().equals(whole.finish())


def test_a_block_is_given_before_the_next_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_small(monkeypatch)
    engine = engine_of()
    for name in ("l", "r"):
        engine.push(name, rows())
    blocks = engine.advance_in_blocks()
    first = next(blocks)
    assert max(first.column("_ts").to_pylist()) < 100
    assert next(line.rows_out for line in engine.metrics() if line.operator.startswith("join")) < 100
    assert sum(block.num_rows for block in blocks) > first.num_rows


def test_each_step_of_a_run_ends_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_small(monkeypatch)
    engine = engine_of()
    results = list(EmbeddedRun([engine], {name: iter([rows()]) for name in ("l", "r")}).results())
    ends = [result.ends_step for result in results if result is not None]
    assert ends.count(True) == 3, "a step per batch, and the last one"
    assert ends.count(False) > 3
    assert ends[-1]
