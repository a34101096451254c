"""Places among sorted values, against numpy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.ranks import ranks, stamp
from tests.seeds import CHEAP

LARGEST = (1 << 63) - 1
SMALL = st.integers(-20, 20)
ANY = st.one_of(SMALL, st.sampled_from([-(1 << 63), LARGEST - 1, LARGEST]))


@CHEAP
@given(st.lists(ANY), st.lists(ANY), SMALL)
def test_ranks_are_those_of_binary_search(ordered: list[int], values: list[int], start: int) -> None:
    known, wanted = np.sort(np.array(ordered, np.int64)), np.array(values, np.int64)
    for after, side in ((False, "left"), (True, "right")):
        expected = start + np.searchsorted(known, wanted, side=side)  # type: ignore[call-overload]
        assert ranks(known, wanted, start, after).tolist() == expected.tolist()
        assert ranks(known, np.sort(wanted), start, after).tolist() == sorted(expected.tolist())


@CHEAP
@given(st.lists(SMALL), st.lists(SMALL), SMALL)
def test_rows_are_stamped(ordered: list[int], times: list[int], start: int) -> None:
    known, ts = (np.sort(np.array(some, np.int64)) for some in (ordered, times))
    slots, stamps = np.arange(len(ts))[::-1].copy(), np.empty(len(ts), np.int64)
    stamp(known, start, ts, slots, stamps)
    assert stamps[slots].tolist() == (start + np.searchsorted(known, ts, side="right")).tolist()
