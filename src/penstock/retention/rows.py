"""Rows of the inputs of a join, by the slots that they have in the inputs' stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from penstock.synopsis.memory import Ints

#: Of some inputs the slots of rows.
SlotsByInput = Mapping[int, Ints]


def in_one(rows: SlotsByInput) -> tuple[Ints, Ints]:
    """The input and the slot of each row."""
    inputs = [np.full(len(slots), number, np.int64) for number, slots in rows.items()]
    nothing = np.zeros(0, np.int64)
    return np.concatenate((nothing, *inputs)), np.concatenate((nothing, *rows.values()))


def by_input(inputs: Ints, slots: Ints, numbers: Iterable[int]) -> SlotsByInput:
    """The same the other way round, of rows of these inputs."""
    return {number: slots[inputs == number] for number in numbers}
