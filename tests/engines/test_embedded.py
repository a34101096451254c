"""The embedded engine says what the reference says: whatever the cells, the cuts into batches, and the restarts."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.generators import Case, cases


@given(cases(), st.integers(0, 2**32))
def test_any_cut_gives_the_reference(case: Case, seed: int) -> None:
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cuts in (0, 1, Random(seed)):
        assert embedded(case, query, catalog, 1, cuts) == want


@given(cases(), st.sampled_from([2, 5]), st.integers(0, 2**32))
def test_any_number_of_cells_gives_the_reference(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    assert embedded(case, query, catalog, cells, Random(seed)) == expected(case, query, catalog)


@given(cases(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_a_machine_goes_on_from_its_pages(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    assert restarted(case, query, catalog, cells, Random(seed)) == expected(case, query, catalog)
