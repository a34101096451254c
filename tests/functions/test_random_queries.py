"""Random queries that call user functions give what the reference says, however they run."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case, Features, cases
from tests.seeds import IS_THOROUGH

CALLING = Features(user_functions=True, functions=False, casts=False)
some = settings(max_examples=120 if IS_THOROUGH else 40)


@some
@given(cases(CALLING), st.integers(0, 2**32))
def test_any_cut_gives_the_reference(case: Case, number: int) -> None:
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cuts in (0, 1, Random(number)):
        assert embedded(case, query, catalog, 1, cuts) == want


@some
@given(cases(CALLING), st.sampled_from([2, 5]), st.integers(0, 2**32))
def test_any_number_of_cells_gives_the_reference(case: Case, cells: int, number: int) -> None:
    query, catalog = bound(case)
    assert embedded(case, query, catalog, cells, Random(number)) == expected(case, query, catalog)


@some
@given(cases(CALLING), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_a_machine_goes_on_from_its_pages(case: Case, cells: int, number: int) -> None:
    query, catalog = bound(case)
    assert restarted(case, query, catalog, cells, Random(number)) == expected(case, query, catalog)


@some
@given(cases(CALLING), st.integers(1, 3), st.integers(0, 1000))
def test_tasks_and_workers_give_the_reference(case: Case, cells: int, number: int) -> None:
    query, catalog = bound(case)
    assert pretended(case, query, catalog, cells, Random(number)) == expected(case, query, catalog)
