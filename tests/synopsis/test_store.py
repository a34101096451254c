"""Row stores: rows come back as they were put, and null words take room from the first NULL on."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.synopsis.memory import Memory
from penstock.synopsis.store import RowStore

#: Steps: how many rows come, of which how many have a NULL, and how many go.
STEPS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 9)), max_size=20)


@given(steps=STEPS)
def test_rows_come_back_as_they_were_put(steps: list[tuple[int, int, int]]) -> None:
    random = np.random.default_rng(0)
    memory = Memory()
    stores = [RowStore(memory.scope("inline"), 3), RowStore(memory.scope("apart"), 3, null_words=1)]
    held: list[list[tuple[int, tuple[int, ...]]]] = [[], []]
    for number, (come, null, go) in enumerate(steps):
        rows = random.integers(0, 100, (come, 3))
        rows[:, 2] = 0
        rows[:null, 2] = 1
        for store, own in zip(stores, held, strict=True):
            slots = store.put(rows, np.full(come, number))
            own.extend(zip(slots.tolist(), map(tuple, rows.tolist()), strict=True))
            gone, own[:] = own[:go], own[go:]
            store.release(np.array([slot for slot, _ in gone], np.int64))
            store.end_step()
            whole = store.whole(np.array([slot for slot, _ in own], np.int64))
            assert [tuple(row) for row in whole.tolist()] == [row for _, row in own]
    assert (stores[1].nulls is None) == (not any(min(come, null) for come, null, _ in steps))


def test_null_words_are_persisted() -> None:
    memory = Memory()
    store = RowStore(memory.scope("s"), 2, null_words=1)
    slots = store.put(np.array([[5, 0], [0, 1]]), np.array([1, 2]))
    again = Memory()
    again.restore(dict(memory.changes()))
    assert RowStore(again.scope("s"), 2, null_words=1).whole(slots).tolist() == [[5, 0], [0, 1]]


def test_an_array_grows_in_place_and_with_zeros() -> None:
    memory = Memory()
    first = memory.scope("a").array("x", 10_000)
    first[:] = 1
    grown = memory.scope("a").array("x", 100_000)
    assert grown.ctypes.data == first.ctypes.data
    assert grown[:10_000].all()
    assert not grown[10_000:].any()
    assert memory.nbytes() == 8 * 100_000
