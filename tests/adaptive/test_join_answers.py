"""Answers do not depend on how joins find them: every path is replaced at random after every part of a step."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adaptive.random_choices import random_choices
from tests.constant.cases import bounded_cases
from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.engines.test_path_counting import aggregates
from tests.generators import Case, cases
from tests.purging.cases import COUNTED, SLIDING, WINDOWS, purging_case
from tests.purging.spilling import other_case, spilling_case
from tests.purging.test_spill import SPILL, log_of
from tests.seeds import seeds

SOME = settings(max_examples=settings().max_examples // 8)


@SOME
@given(st.one_of(cases(), aggregates()), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_random_paths_give_the_reference_over_cuts_cells_and_restarts(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    with random_choices():
        assert embedded(case, query, catalog, cells, 0) == want
        assert restarted(case, query, catalog, cells, Random(seed)) == want


@pytest.mark.parametrize("seed", seeds(5))
def test_random_paths_give_the_reference_where_rows_are_purged(seed: int) -> None:
    found = purging_case(9000 + seed, windows=(*WINDOWS, *COUNTED, *SLIDING))
    want = expected(found.case, found.query, found.catalog)
    with random_choices():
        for cells, cuts in ((1, 0), (3, Random(seed))):
            assert embedded(found.case, found.query, found.catalog, cells, cuts) == want, found.case.script
        assert restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed)) == want, found.case.script


@pytest.mark.parametrize("seed", seeds(6))
def test_random_paths_give_the_reference_where_rows_are_spilled(seed: int) -> None:
    found = (spilling_case if seed % 2 else other_case)(9000 + seed, 36)
    want = expected(found.case, found.query, found.catalog)
    with random_choices():
        for cuts, cells, restarts in ((Random(seed), 1, True), (seed % 5, 3, False)):
            assert log_of(found, SPILL, cuts, cells, restarts)[0] == want, found.case.script


def test_random_paths_give_the_reference_where_joins_keep_buckets() -> None:
    for seed, found in bounded_cases(0, 3, rows=16):
        want = expected(found.case, found.query, found.catalog)
        with random_choices():
            assert embedded(found.case, found.query, found.catalog, 1, Random(seed)) == want, found.case.script
            assert restarted(found.case, found.query, found.catalog, 2, Random(seed)) == want, found.case.script


@pytest.mark.parametrize("seed", seeds(4))
def test_random_paths_give_the_reference_in_tasks_of_spark(seed: int) -> None:
    found = purging_case(9500 + seed)
    with random_choices():
        got = pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed))
    assert got == expected(found.case, found.query, found.catalog), found.case.script
