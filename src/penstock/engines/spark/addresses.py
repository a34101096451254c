"""Addresses: how packets reach the cells of a plan on Spark.

An address is the number of one cell of one fragment. Fragments that receive nothing are at level 0, the others one
level above those that they receive from, and each level is one stateful operator of the Spark query. A packet for a
higher level travels through the operators below it in the group of a *carrier*, a cell of theirs that passes it on
untouched: so each source is read once. Where every fragment has one cell nothing is gained by that: all of them are one
group of one operator, which steps them one after the other.

Spark puts a group into the partition of its key's hash. Keys are searched so that the cells of a level
fall into different partitions, and depend on nothing but the plan: a restart must find the state under the same keys.
"""

from __future__ import annotations

from itertools import count

from penstock.algebra.physical import Received
from penstock.plan.fragments import Plan

#: The address of what leaves the last operator.
OUT = -1


class Addresses:
    def __init__(self, plan: Plan) -> None:
        #: What is parted in fewer cells than others leaves tasks without rows, but no more than there are cells.
        self.partitions = max(fragment.cells for fragment in plan.fragments)
        levels: list[int] = []
        for fragment in plan.fragments:
            senders = [levels[r.leaf.fragment] for r in fragment.routes if isinstance(r.leaf, Received)]
            levels.append(max(senders, default=-1) + 1 if self.partitions > 1 else 0)
        #: Of each address its fragment and the number of the cell in it.
        self.cells = [(f.number, cell) for f in plan.fragments for cell in range(f.cells)]
        self.level_of = [levels[fragment] for fragment, _ in self.cells]
        self.levels = max(levels) + 1
        self._first = {fragment: self.cells.index((fragment, 0)) for fragment in range(len(plan.fragments))}
        self._on_level = [[a for a, at in enumerate(self.level_of) if at == level] for level in range(self.levels)]
        self._keys = self._search(self.partitions)
        self._found: dict[tuple[int, int], tuple[int, ...]] = {}
        for address, key in enumerate(self._keys):
            place = self.level_of[address], key
            self._found[place] = (*self._found.get(place, ()), address)
        #: The one cell that sees all instants at which rows arrived.
        self.clock = self.of(plan.last.number, 0)

    def of(self, fragment: int, cell: int) -> int:
        return self._first[fragment] + cell

    def key(self, address: int, level: int) -> int:
        """Returns the key of the group in which a packet for an address passes the operator of a level."""
        if address != OUT and self.level_of[address] == level:
            return self._keys[address]
        carriers = self._on_level[level]
        return self._keys[carriers[address % len(carriers)]]

    def at(self, level: int, key: int) -> tuple[int, ...]:
        """Returns the addresses whose group has a key; each comes after those that send to it."""
        return self._found[level, key]

    def _search(self, partitions: int) -> list[int]:
        keys = [0] * len(self.cells)
        if partitions == 1:
            return keys
        for on_level in self._on_level:
            candidates: dict[int, list[int]] = {}
            numbers = count()
            for place, address in enumerate(on_level):
                wanted = place % partitions
                while not candidates.get(wanted):
                    number = next(numbers)
                    candidates.setdefault(spark_hash(number) % partitions, []).append(number)
                keys[address] = candidates[wanted].pop(0)
        return keys


def spark_hash(number: int) -> int:
    """Returns Spark's `hash` of an INT: Murmur3 with the seed 42.

    >>> spark_hash(0), spark_hash(1)
    (933211791, -559580957)
    """
    k = number * 0xCC9E2D51 & 0xFFFFFFFF
    k = _rotated(k, 15) * 0x1B873593 & 0xFFFFFFFF
    h = _rotated(42 ^ k, 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & 0xFFFFFFFF
