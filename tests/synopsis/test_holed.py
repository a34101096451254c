"""A queue with holes does what a list does from which values are taken."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.synopsis.holed import HoledQueue
from penstock.synopsis.memory import Memory
from penstock.synopsis.store import RowStore


@pytest.mark.parametrize("seed", range(30))
def test_a_queue_with_holes_is_a_list(seed: int) -> None:
    random = np.random.default_rng(seed)
    memory = Memory()
    store, clock, expected = RowStore(memory.scope("rows"), 1), 0, list[int]()
    queue = HoledQueue(memory.scope("queue"), store)
    for _ in range(200):
        count = int(random.integers(0, random.choice((2, 20, 3000))))
        times = clock + np.arange(count)
        slots = store.put(times.reshape(-1, 1), times)
        queue.push(slots)
        expected += slots.tolist()
        clock += count
        taken = random.permutation(np.array(expected, np.int64))[: random.integers(0, len(expected) + 1)]
        queue.remove(taken)
        gone = set(taken.tolist())
        expected = [slot for slot in expected if slot not in gone]
        until = int(random.integers(clock - 4000, clock + 1))
        goers = queue.take(store.starts, until)
        left = [slot for slot in expected if store.starts[slot] >= until]
        assert goers.tolist() == expected[: len(expected) - len(left)]
        expected = left
        store.release(np.concatenate((taken, goers)))
        store.end_step()
        assert len(queue) == len(expected)
        assert queue.first == (expected[0] if expected else -1)


def test_slots_come_back_to_where_they_were() -> None:
    memory = Memory()
    store = RowStore(memory.scope("rows"), 1)
    queue, times = HoledQueue(memory.scope("queue"), store), np.arange(100)
    slots = store.put(times.reshape(-1, 1), times)
    queue.push(slots)
    some = np.random.default_rng(0).permutation(slots)[:60]
    queue.remove(some)
    queue.insert(some[:30], store.starts)
    goers = queue.take(store.starts, 1000)
    assert goers.tolist() == sorted(set(slots.tolist()) - set(some[30:].tolist()))


def test_holes_take_no_room_for_long() -> None:
    """However many slots come and go, there is room for a few more than are there."""
    memory = Memory()
    store = RowStore(memory.scope("rows"), 1)
    queue = HoledQueue(memory.scope("queue"), store)
    for start in range(0, 200_000, 1000):
        times = np.arange(start, start + 1000)
        slots = store.put(times.reshape(-1, 1), times)
        queue.push(slots)
        queue.remove(slots[1:])
        store.release(slots[1:])
        store.end_step()
    assert len(queue) == 200
    assert memory.scope("queue").nbytes() < 8 * 4000
