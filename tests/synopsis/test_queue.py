"""The queue of slots against a plain list."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.synopsis.memory import Memory
from penstock.synopsis.queue import SlotQueue
from tests.seeds import CHEAP

Step = tuple[str, int]
STEPS = st.lists(st.tuples(st.sampled_from(["push", "scatter", "pop", "take"]), st.integers(0, 9)), max_size=40)


@CHEAP
@given(steps=STEPS, seed=st.integers(0, 99))
def test_a_queue_is_a_list_of_slots(steps: list[Step], seed: int) -> None:
    random = np.random.default_rng(seed)
    memory = Memory()
    queue, expected, left = SlotQueue(memory.scope("q")), list[int](), 0
    for what, count in steps:
        free = sorted(set(range(len(expected) + 20)) - set(expected))
        match what:
            case "push" | "scatter":
                slots = free[:count] if what == "push" else random.permutation(free)[:count].tolist()
                queue.push(np.array(slots, np.int64))
                expected += slots
            case "pop":
                assert queue.pop(min(count, len(expected))).tolist() == expected[:count]
                left, expected = left + min(count, len(expected)), expected[count:]
            case "take":
                # Their times are their places.
                places = np.zeros(1000, np.int64)
                places[expected] = np.arange(left, left + len(expected))
                taken = queue.take(places, left + count)
                assert taken.tolist() == expected[:count]
                left, expected = left + len(taken), expected[count:]
        assert (queue.left, queue.right) == (left, left + len(expected))
        queue = SlotQueue(memory.scope("q"))


def test_slots_in_order_take_no_room() -> None:
    memory = Memory()
    queue = SlotQueue(memory.scope("q"))
    before = memory.nbytes()
    for start in range(0, 100_000, 1000):
        queue.push(np.arange(start, start + 1000))
    assert memory.nbytes() - before <= 16 * 16
    assert queue.pop(500).tolist() == list(range(500))
    assert queue.pop(2000).tolist() == list(range(500, 2500))
