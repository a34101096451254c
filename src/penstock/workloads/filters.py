"""Streams for pipelined filters (thesis 4.7): windows as filters over one stream, with selectivities that correlate.

The query asks whether a value of `s0` is in each of n windows:

    SELECT ISTREAM(s0.v, s0.ts) FROM s0 [NOW] WHERE s0.v IN (SELECT v FROM s1 [ROWS 10000]) AND ...

A value says itself which windows have it. Its *word* has bit i set if filter i passes it, and window i always holds all
values with bit i: its stream goes round them. So windows slide as in the thesis, and what comes in `s0` decides
the selectivities, which may change from one row to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

Ints = NDArray[np.int64]

WINDOW = 10_000
#: Two filters of a group say the same of so many rows.
AGREEMENT = 0.8
#: Rows of `s0` for each one of another stream, once the windows are full.
ROWS_PER_CHANGE = 10
MOST_FILTERS = 10


@dataclass(frozen=True, slots=True)
class CorrelatedFilters:
    """Filters in groups of Γ. Those of a group have one selectivity and correlate; groups are independent."""

    #: Of each filter, in the order of groups.
    selectivities: tuple[float, ...]
    #: The correlation factor Γ.
    correlation: int = 2

    @property
    def count(self) -> int:
        return len(self.selectivities)

    def words(self, rows: int, random: np.random.Generator) -> Ints:
        """Words of so many rows. A filter takes over what its group says, or decides by itself.

        Two filters agree where both take it over, and where they happen to: q² + (1 - q²) (s² + (1 - s)²) of the rows.
        No q is small enough for selectivities below 0.113 or above 0.887: there the filters are independent.
        """
        words = np.zeros(rows, np.int64)
        for number, selectivity in enumerate(self.selectivities):
            if number % self.correlation == 0:
                of_group = random.random(rows) < selectivity
            by_chance = selectivity**2 + (1 - selectivity) ** 2
            share = sqrt(max(0.0, (AGREEMENT - by_chance) / (1 - by_chance))) if self.correlation > 1 else 0.0
            own = np.where(random.random(rows) < share, of_group, random.random(rows) < selectivity)
            words |= own.astype(np.int64) << number
        return words


def permuted(words: Ints, order: Sequence[int]) -> Ints:
    """Words in which filter `order[i]` says what filter i said.

    >>> permuted(np.array([0b001, 0b110]), (1, 2, 0)).tolist()
    [2, 5]
    """
    found = np.zeros_like(words)
    for number, new in enumerate(order):
        found |= (words >> number & 1) << new
    return found


def script(count: int) -> str:
    """The streams, and the query over so many windows."""
    names = [f"s{number}" for number in range(count + 1)]
    streams = "\n".join(f"CREATE STREAM {name} (v BIGINT, ts BIGINT) TIMESTAMP BY ts;" for name in names)
    filters = "\nAND ".join(f"s0.v IN (SELECT v FROM {name} [ROWS {WINDOW}])" for name in names[1:])
    return f"{streams}\nCREATE QUERY q AS SELECT ISTREAM(s0.v, s0.ts) FROM s0 [NOW]\nWHERE {filters};"


def tables(words: Ints, count: int, random: np.random.Generator) -> Mapping[str, pa.Table]:
    """The rows of all streams, for rows of `s0` with these words, one at an instant. Windows are full at instant 0."""
    assert count <= MOST_FILTERS
    copies = WINDOW >> (count - 1)
    values = words * copies + random.integers(0, copies, len(words))
    found = {"s0": _table(values, np.arange(1, len(words) + 1))}
    changes = ROWS_PER_CHANGE * np.arange(1, len(words) // ROWS_PER_CHANGE + 1)
    every = np.arange(copies << count)
    for number in range(count):
        mine = random.permutation(every[every // copies >> number & 1 == 1])
        times = np.concatenate((np.zeros(WINDOW, np.int64), changes))
        found[f"s{number + 1}"] = _table(np.resize(mine, len(times)), times)
    return found


def _table(values: Ints, times: Ints) -> pa.Table:
    return pa.table({"v": values, "ts": times})


def evaluations(words: Ints, order: Sequence[int]) -> int:
    """How many filters are evaluated on rows of these words in an order."""
    alive, total = np.ones(len(words), np.bool_), 0
    for number in order:
        total += int(np.count_nonzero(alive))
        alive &= words >> number & 1 == 1
    return total


def best_order(words: Ints, costs: Sequence[float]) -> tuple[int, ...]:
    """The order that costs least on rows of these words, of all n!: what a set of filters leaves is all that counts.

    >>> best_order(np.array([0b01, 0b01, 0b11, 0b10]), (1.0, 1.0))
    (1, 0)
    """
    count = len(costs)
    rows = np.bincount(words, minlength=1 << count)
    passing = [int(rows[np.arange(1 << count) & some == some].sum()) for some in range(1 << count)]
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for some in range(1, 1 << count):
        last = (number for number in range(count) if some >> number & 1)
        before = ((number, some & ~(1 << number)) for number in last)
        best.append(min((best[b][0] + costs[n] * passing[b], (*best[b][1], n)) for n, b in before))
    return best[-1][1]
