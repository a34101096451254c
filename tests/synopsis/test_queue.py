"""The queue of slots against a plain list."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.synopsis.memory import Memory
from penstock.synopsis.queue import SlotQueue

Step = tuple[str, int]
STEPS = st.lists(st.tuples(st.sampled_from(["push", "scatter", "leave", "remove"]), st.integers(0, 9)), max_size=40)


@given(steps=STEPS, seed=st.integers(0, 99))
def test_a_queue_is_a_list_of_slots(steps: list[Step], seed: int) -> None:
    random = np.random.default_rng(seed)
    memory = Memory()
    queue, expected, left = SlotQueue(memory, "q"), list[int](), 0
    for what, count in steps:
        free = sorted(set(range(len(expected) + 20)) - set(expected))
        match what:
            case "push" | "scatter":
                slots = free[:count] if what == "push" else random.permutation(free)[:count].tolist()
                queue.push(np.array(slots, np.int64))
                expected += slots
            case "leave":
                left += min(count, len(expected))
                queue.left, expected = left, expected[count:]
            case "remove":
                gone = random.permutation(expected)[:count].tolist() if expected else []
                queue.remove(np.array(gone, np.int64), 1000)
                expected = [slot for slot in expected if slot not in gone]
        assert (queue.left, queue.right) == (left, left + len(expected))
        assert queue.slots(queue.left, queue.right).tolist() == expected
        start, end = sorted(random.integers(0, len(expected) + 1, 2).tolist())
        assert queue.slots(left + start, left + end).tolist() == expected[start:end]
        queue = SlotQueue(memory, "q")


def test_slots_in_order_take_no_room() -> None:
    memory = Memory()
    queue = SlotQueue(memory, "q")
    before = memory.nbytes()
    for start in range(0, 100_000, 1000):
        queue.push(np.arange(start, start + 1000))
    assert memory.nbytes() - before <= 16 * 16
    assert queue.slots(500, 2500).tolist() == list(range(500, 2500))
