"""Buckets stand for rows: the answer is the reference's, and no more is kept than the register says."""

from __future__ import annotations

from random import Random

import pytest

from penstock.closing.physical_join import PhysicalJoin
from penstock.engines.embedded import EmbeddedEngine
from penstock.operators import machine
from penstock.register.verdict import check_query
from tests.constant.cases import Bounded, bounded_cases
from tests.engines.comparing import batches, embedded, expected
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended


@pytest.mark.parametrize("block", range(4))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed, found in bounded_cases(block * 1000, 12, rows=30):
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (2, Random(seed)), (3, Random(seed + 1))):
            got = embedded(found.case, found.query, found.catalog, cells, cuts)
            assert got == want, (seed, cells, found.case.script)


@pytest.mark.parametrize("block", range(3))
def test_no_more_is_kept_than_the_register_says(block: int) -> None:
    for seed, found in bounded_cases(10_000 + block * 1000, 20, rows=80):
        engine = EmbeddedEngine(found.query, found.catalog, {}, 1 + seed % 3)
        for name, rows in batches(found.case, engine, found.catalog, Random(seed)):
            engine.push(name, rows)
            engine.advance()
            assert_within_bounds(engine, found, seed)
        engine.finish()
        assert_within_bounds(engine, found, seed)


def assert_within_bounds(engine: EmbeddedEngine, found: Bounded, seed: int) -> None:
    for machines in engine._machines:
        for each in machines:
            for gauge in each.gauges:
                if isinstance(gauge.relation, PhysicalJoin) and gauge.relation.buckets:
                    sizes = [b.size for b in gauge.relation.buckets if b is not None]
                    kept = [count() for count in gauge.counts]
                    fits = (size is None or rows <= size for rows, size in zip(kept, sizes, strict=True))
                    assert all(fits), (seed, kept, sizes, found.case.script, found.case.data)


@pytest.mark.parametrize("block", range(2))
def test_buckets_go_on_from_their_pages(block: int) -> None:
    for seed, found in bounded_cases(20_000 + block * 1000, 8, rows=30):
        got = restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed))
        assert got == expected(found.case, found.query, found.catalog), (seed, found.case.script)


def test_spark_s_tasks_and_retries_do_not_matter() -> None:
    for seed, found in bounded_cases(30_000, 8, rows=30):
        got = pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed))
        assert got == expected(found.case, found.query, found.catalog), (seed, found.case.script)


def test_slices_of_a_step_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SLICE", 4)
    for seed, found in bounded_cases(40_000, 12, rows=30):
        got = embedded(found.case, found.query, found.catalog, 1, 0)
        assert got == expected(found.case, found.query, found.catalog), (seed, found.case.script)


def test_a_query_whose_run_keeps_buckets_is_safe() -> None:
    for seed, found in bounded_cases(50_000, 20):
        assert check_query(found.query, found.catalog).safe, (seed, found.case.script)
