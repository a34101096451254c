"""Results that leave joins in blocks of one, two or a few combinations are those of the reference."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators import blocks
from penstock.operators.joins import mjoin
from tests.engines.comparing import bound, embedded, expected
from tests.generators import Case, cases


@contextmanager
def blocks_of(size: int) -> Iterator[None]:
    """Joins that are built inside give so many combinations at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mjoin, "BLOCK", size)
        patch.setattr(mjoin, "FEW", 1)
        patch.setattr(blocks, "BLOCK", size)
        yield


@given(cases(), st.sampled_from([1, 2, 5]), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_blocks_of_any_size_give_the_reference(case: Case, size: int, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    with blocks_of(size):
        for cuts in (0, Random(seed)):
            assert embedded(case, query, catalog, cells, cuts) == want
