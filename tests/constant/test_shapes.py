"""Queries of all shapes that are bounded run from buckets, with the reference's answer, and seldom warn."""

from __future__ import annotations

from random import Random

import pytest

from tests.constant.shapes import shaped_cases, shaped_verdict
from tests.engines.comparing import embedded, expected
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended


@pytest.mark.parametrize("block", range(2))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed, found, _ in shaped_cases(block * 1000, 14, rows=8):
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (3, Random(seed))):
            got = embedded(found.case, found.query, found.catalog, cells, cuts)
            assert got == want, (seed, cells, found.case.script)


def test_what_is_kept_goes_on_from_its_pages() -> None:
    for seed, found, _ in shaped_cases(20_000, 10, rows=8):
        got = restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed))
        assert got == expected(found.case, found.query, found.catalog), (seed, found.case.script)


def test_spark_s_tasks_and_retries_do_not_matter() -> None:
    for seed, found, _ in shaped_cases(30_000, 10, rows=8):
        got = pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed))
        assert got == expected(found.case, found.query, found.catalog), (seed, found.case.script)


def test_nearly_all_that_the_theory_bounds_keep_buckets() -> None:
    seeds = [seed for seed, _, _ in shaped_cases(10_000, 100, 1)]
    verdicts = [shaped_verdict(seed) for seed in range(seeds[0], seeds[-1])]
    short = [verdict.query for verdict in verdicts if any(state.is_shortfall for state in verdict.states)]
    assert len(short) <= 5, short
