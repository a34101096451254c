"""The hash multiset against a Counter."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import multiset, slots
from tests.seeds import CHEAP

CHANGES = st.tuples(st.integers(0, 2), st.integers(-3, 3), st.integers(-2, 2).filter(bool))


@CHEAP
@given(st.lists(CHANGES, max_size=60), st.integers(0, 60))
def test_a_value_comes_and_goes_once(changes: list[tuple[int, int, int]], rebuilt: int) -> None:
    entries, heads = np.zeros((40, multiset.WIDTH), np.int64), np.zeros(4, np.int64)
    model: Counter[tuple[int, int]] = Counter()
    for position, (owner, value, weight) in enumerate(changes):
        if position == rebuilt:
            heads = np.full(16, 99)
            multiset.rebuild(entries, heads)
        before = model[owner, value] > 0
        model[owner, value] += weight
        turn = multiset.change(entries, heads, owner, value, weight)
        assert turn == (model[owner, value] > 0) - before
        assert slots.in_use(entries) == sum(count != 0 for count in model.values())
