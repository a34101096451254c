"""The parts of the n-way join that can be said in a line: the order of events, and who finds whom in an index."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.hashing import row_hash, row_hashes
from penstock.kernels.index import first, following, link_rows, unlink_rows
from penstock.kernels.mjoin import number_events
from penstock.kernels.pointers import address
from tests.seeds import CHEAP

EVENT = st.tuples(st.integers(0, 12), st.sampled_from([-1, 1]))


@CHEAP
@given(inputs=st.lists(st.lists(EVENT, max_size=12), min_size=1, max_size=4))
def test_events_are_numbered_in_time_and_rows_go_first(inputs: list[list[tuple[int, int]]]) -> None:
    in_time = [sorted(events, key=lambda event: event[0]) for events in inputs]
    together = [event for events in in_time for event in events]
    ts, signs = (np.array([event[part] for event in together], np.int64) for part in (0, 1))
    numbers, order = (np.empty(len(together), np.int64) for _ in range(2))
    ends = np.cumsum([len(events) for events in in_time])
    number_events(ts, signs, ends - [len(events) for events in in_time], ends, numbers, order)
    expected = sorted(range(len(together)), key=lambda place: (*together[place], place))
    assert order.tolist() == expected
    assert numbers[order].tolist() == list(range(1, len(together) + 1))


@CHEAP
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=60))
def test_an_index_finds_the_slots_of_a_key(steps: list[tuple[bool, int]]) -> None:
    heads, links = np.zeros(2, np.int64), np.zeros(len(steps) + 1, np.int64)
    rows = np.array([[key] for _, key in steps], np.int64).reshape(-1, 1)
    hashes = row_hashes(rows, np.arange(len(rows)), np.array([0]))
    where = (address(heads), address(links))
    held: dict[int, list[int]] = {key: [] for key in range(6)}
    for slot, (comes, key) in enumerate(steps):
        if comes or not held[key]:
            link_rows(where[0], 1, where[1], hashes[slot:][:1], np.array([slot]), np.array([1]))
            held[key].append(slot)
        else:
            unlink_rows(*where, np.array([held[key].pop(0)]), np.array([-1]))
        for wanted, slots in held.items():
            found, at = [], first(where[0], 1, row_hash(np.array([[wanted]]), 0, np.array([0])))
            while at >= 0:
                if rows[at, 0] == wanted:
                    found.append(at)
                at = following(where[1], at)
            assert sorted(found) == sorted(slots)


def test_hashes_of_many_rows_are_those_of_each() -> None:
    rows = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, (50, 4))
    some, columns = np.array([3, 3, 49, 0]), np.array([2, 0])
    for chosen in (columns, columns[:1], columns[:0]):
        assert row_hashes(rows, some, chosen).tolist() == [row_hash(rows, row, chosen) for row in some]
