"""The sampler of a join: counts combinations of some events with every set of other inputs, before any event probes.

Events are picked in proportion to those of each input, among all that would probe: insertions, and deletions of rows
that have been in a result. Those whose first probe finds nothing are among them; else the sample would be biased.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.join_samples import INDEX, Scratch, SetTrees, sample_sets
from penstock.kernels.mjoin import JOINED
from penstock.plan.join_choice import Orders
from penstock.plan.join_sets import MOST_INPUTS, SetNode, set_tree, variable_sets
from penstock.synopsis.events import Events
from penstock.synopsis.indexed_inputs import IndexColumns, JoinInput
from penstock.synopsis.memory import Int32s, Ints

Floats = NDArray[np.float64]

GOLDEN = 0.6180339887498949
#: Events of a part that are sampled at most where a set is found without an index.
SCANNING = 64


@dataclass(frozen=True, slots=True)
class SetSamples:
    """Of some events of one input how many combinations each has (lines), by set of other inputs (columns)."""

    sets: tuple[int, ...]
    estimates: Floats
    #: By other input, how often it was probed by an index, and the rows that were walked over.
    walks: Ints


class JoinSampler:
    """Samples the events of one join. `indexes` are those that are there, in the order of the table of indexes."""

    def __init__(self, inputs: Sequence[JoinInput], orders: Orders, indexes: Iterable[IndexColumns]) -> None:
        self._inputs, self._orders = inputs, orders
        self._indexes = {key: number for number, key in enumerate(indexes)}
        own = variable_sets([source.variables for source in inputs])
        trees = [set_tree(n, own, orders[n], self._columns_found) for n in range(len(inputs))]
        self.sets = tuple(tuple(node.members for node in tree) for tree in trees)
        self._trees = self._laid_out(trees)
        most, checks = max(map(len, trees)), self._trees.columns.shape[1]
        at, cursor, bound = np.empty((3, len(inputs)), np.int64)
        probes, matches = np.empty((2, most), np.int64)
        self._scratch = Scratch(at, cursor, np.empty((len(inputs), checks), np.int64), bound, probes, matches)
        self._most = most
        self._scans = bool((self._trees.nodes[:, INDEX] < 0).any())
        #: Where in its stratum the next pick lies: multiples of the golden ratio are spread evenly.
        self._offset = 0.0

    def serves(self, orders: Orders, indexes: Iterable[IndexColumns]) -> bool:
        """Whether it samples the sets that are wanted in these orders, by the indexes that are there."""
        return list(indexes) == list(self._indexes) and (orders == self._orders or len(self._inputs) <= MOST_INPUTS)

    def sample(
        self,
        count: int,
        events: Sequence[Events],
        numbers: Ints,
        visibility: Sequence[Int32s],
        since: Ints,
        tables: tuple[Ints, Ints],
        wants_going: bool,
    ) -> tuple[list[SetSamples], int]:
        """Samples about so many events of those that have entered. Gives samples by input, and the rows examined."""
        if self._scans:
            count = min(count, SCANNING)
        picked = self._picked(count, events, numbers, visibility, wants_going)
        sources, slots, own_numbers = (np.concatenate(part) for part in zip(*picked, strict=True))
        estimates = np.empty((len(slots), self._most))
        capacities = np.array([len(own) for own in visibility], np.int64)
        walks = np.zeros((len(events), len(events), 2), np.int64)
        how = (tables[0], capacities, tables[1], since, self._trees, self._scratch, estimates, walks)
        examined = sample_sets(sources, slots, own_numbers, *how)
        ends = np.cumsum([len(part[0]) for part in picked])[:-1]
        parts = zip(self.sets, np.split(estimates, ends), walks, strict=True)
        return [SetSamples(sets, own[:, : len(sets)], walked) for sets, own, walked in parts], examined

    def _picked(
        self, count: int, events: Sequence[Events], numbers: Ints, visibility: Sequence[Int32s], wants_going: bool
    ) -> list[tuple[Ints, Ints, Ints]]:
        """By input the sources, slots and numbers of events, one of each stratum."""
        picked, start = [], 0
        self._offset = (self._offset + GOLDEN) % 1
        for n, own in enumerate(events):
            some = -(-count * len(own) // max(1, len(numbers)))
            probing = np.flatnonzero(own.signs > 0) if not wants_going else np.arange(len(own))
            some = min(some, len(probing))
            places = probing[((np.arange(some) + self._offset) * len(probing) / max(1, some)).astype(np.int64)]
            if wants_going:
                slots = own.slots[places]
                places = places[(own.signs[places] > 0) | (visibility[n][slots] & JOINED != 0)]
            picked.append((np.full(len(places), n), own.slots[places], numbers[start + places]))
            start += len(own)
        return picked

    def _columns_found(self, target: int, variables: tuple[int, ...]) -> int:
        """By how many columns an input is found at least, if these variables are bound."""
        found = self._usable(target, variables)
        return 0 if found is None else len(found)

    def _usable(self, target: int, variables: tuple[int, ...]) -> tuple[int, ...] | None:
        """The columns of the best index on some of these variables."""
        bound = {self._inputs[target].variables[v] for v in variables}
        usable = [columns for owner, columns in self._indexes if owner == target and bound.issuperset(columns)]
        return max((columns for columns in usable if columns), key=len, default=None)

    def _laid_out(self, trees: Sequence[tuple[SetNode, ...]]) -> SetTrees:
        """The trees as arrays, for the kernel."""
        starts = np.cumsum([0, *map(len, trees)])
        checks = max(1, *(len(node.variables) for tree in trees for node in tree))
        nodes = np.full((starts[-1], 6), -1, np.int64)
        columns, key_inputs, key_columns = np.zeros((3, len(nodes), checks), np.int64)
        for source, tree in enumerate(trees):
            first, last = int(starts[source]), dict[int, int]()
            bounds: list[Mapping[int, tuple[int, int]]] = []
            for number, node in enumerate(tree, first):
                parent = node.parent + first if node.parent >= 0 else -1
                bound = bounds[node.parent] if node.parent >= 0 else self._values(source)
                bounds.append({**self._values(node.target), **bound})
                index = self._usable(node.target, node.variables)
                own = self._inputs[node.target].variables
                checked = sorted(node.variables, key=lambda v: _place(index, own[v]))
                which = -1 if index is None else self._indexes[node.target, index]
                nodes[number] = node.target, which, -1, -1, parent, len(checked)
                columns[number, : len(checked)] = [column for v in checked if (column := own[v]) is not None]
                for place, v in enumerate(checked):
                    key_inputs[number, place], key_columns[number, place] = bound[v]
                if parent in last:
                    nodes[last[parent], 3] = number
                elif parent >= 0:
                    nodes[parent, 2] = number
                last[parent] = number
        return SetTrees(starts, nodes, columns, key_inputs, key_columns)

    def _values(self, number: int) -> dict[int, tuple[int, int]]:
        """Where the values of an input's variables are."""
        own = self._inputs[number].variables
        return {v: (number, column) for v, column in enumerate(own) if column is not None}


def _place(index: tuple[int, ...] | None, column: int | None) -> int:
    """The place of a column: those of an index come first, in its order."""
    return index.index(column) if index and column in index else 1 << 30
