"""Doors: rows that join nothing when they come, and never will, are not stored at all.

Such a row waits for no row of some input, because what it joins there came before it, or comes at its own instant
(a rule `InTime` with no reach). So it is enough to look for one when all rows of its instant are there. The purge would
find the same a little later, at many times the cost.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from penstock.closing.join_variables import inputs_with_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import ByKey, InTime
from penstock.kernels.hashing import row_hashes
from penstock.kernels.index import may_have
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.indexed_inputs import IndexedInputs


class Admission:
    """The doors of a join's inputs, of which only the rows of some may be left out."""

    def __init__(self, node: PhysicalJoin, core: IndexedInputs, some: Collection[int]) -> None:
        self._core = core
        held = inputs_with_variables(node)
        timed = [(rule, rule.reach) for rule in node.rules if isinstance(rule, InTime)]
        edges = [(rule.source, rule.target) for rule, reach in timed if isinstance(reach, int) and reach <= 0]
        guarded = {source for source, _ in edges if source in some and not _is_awaited(source, node, held)}
        #: The inputs, each behind those whose rows it is asked for.
        self.order: list[int] = []
        #: By input those that it is asked for, each with the variables that they share.
        self._asked: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        while len(self.order) < len(core.inputs):
            left = [number for number in range(len(core.inputs)) if number not in self.order]
            wanted = {n: {target for source, target in edges if source == n and n in guarded} for n in left}
            # Where inputs ask for each other, one of them has to come first.
            chosen = min(left, key=lambda n: (len(wanted[n] - set(self.order)), n))
            asked = sorted(wanted[chosen] & set(self.order))
            self._asked[chosen] = [(target, _shared(chosen, target, held)) for target in asked]
            self.order.append(chosen)

    def admit_rows(self, number: int, came: Deltas) -> Deltas:
        """The rows that may join something. Those of the inputs before are in their indexes."""
        for target, variables in self._asked[number]:
            if len(came):
                index = self._core.index_on(target, variables)
                hashes = row_hashes(came.rows, np.arange(len(came)), self._core.places(number, variables))
                found = np.empty(len(came), np.int64)
                came = came.take(found[: may_have(index.heads, index.mask, hashes, found)])
        return came


def _shared(one: int, other: int, held: list[set[int]]) -> tuple[int, ...]:
    """The variables that two inputs have."""
    return tuple(v for v, holders in enumerate(held) if {one, other} <= holders)


def _is_awaited(number: int, node: PhysicalJoin, held: list[set[int]]) -> bool:
    """Whether a row of another input may wait for one of this by its key alone. It must then see it come."""
    keys = [rule for rule in node.rules if isinstance(rule, ByKey) and rule.target == number]
    others = {other for key in keys for variable in key.variables for other in held[variable]} - {number}
    timed = {rule.source for rule in node.rules if isinstance(rule, InTime) and rule.target == number}
    return not others <= timed
