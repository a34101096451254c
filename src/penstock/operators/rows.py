"""Rows of the inputs of a join, by the slots that they have in the inputs' stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from penstock.synopsis.memory import Ints


class Rows(NamedTuple):
    """Rows of a join's inputs."""

    inputs: Ints
    slots: Ints

    def of(self, number: int) -> Ints:
        mine: Ints = self.slots[self.inputs == number]
        return mine


def rows_of(number: int, slots: Ints) -> Rows:
    return Rows(np.full(len(slots), number, np.int64), slots)


def in_one(rows: Sequence[Rows]) -> Rows:
    return Rows(*map(np.concatenate, zip(*rows, strict=True)))
