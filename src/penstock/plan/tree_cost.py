"""What a tree of joins costs: probes, making its subresults, and the rows that it keeps (thesis 5.3 and 5.5.1).

    every change of an input          is stored, and probes the other inputs of its join, one after the other
    every change of a subresult       is made, stored, and probes in turn
    a probe                           costs one, as does each row that it finds

The cost is in probes per second. A subresult saves the probes that find it anew for each row of other inputs, and costs
its own changes: where inputs that change often are joined with a subresult that changes seldom, it earns. With ISTREAM
rows that leave probe nothing at the top, but below they do: a subresult has to know what it loses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from penstock.algebra.expressions import columns
from penstock.algebra.join_trees import JoinTree, TreeJoin, nodes
from penstock.algebra.named_joins import input_names
from penstock.algebra.predicates import ColumnEquality, classify
from penstock.algebra.relations import Join
from penstock.catalog import Catalog
from penstock.closing.join_variables import join_classes
from penstock.plan.join_statistics import NOTHING_GIVEN, InputStatistics, JoinStatistics, input_statistics, selectivity

#: What it costs to store a change of an input, in probes; of a subresult, to make it as well (`bench/bench_trees.py`).
STORED = 8.0


@dataclass(frozen=True, slots=True)
class TreeCost:
    """What a tree takes: work per second, in probes, and rows that all of its joins keep."""

    work: float
    rows: float


class CostModel:
    """Estimates of one join, by sets of its inputs. `emits_once` where results are given as they come, and never taken
    back.
    """

    def __init__(
        self, join: Join, catalog: Catalog, given: JoinStatistics = NOTHING_GIVEN, *, emits_once: bool = False
    ) -> None:
        names = input_names(join)
        assert names is not None
        self._join, self._names, self._emits_once = join, names, emits_once
        self._inputs: Mapping[str, InputStatistics] = {
            name: input_statistics(operand, name, catalog, given)
            for name, operand in zip(names, join.operands, strict=True)
        }
        self._known: dict[frozenset[str], float] = {}

    def cost(self, tree: TreeJoin) -> TreeCost:
        """What a tree costs."""
        work, kept = 0.0, 0.0
        for node in nodes(tree):
            parts = [frozenset(each.streams) for each in node.inputs]
            for number, own in enumerate(parts):
                others = [part for n, part in enumerate(parts) if n != number]
                probing = self.arrivals(own) if node is tree and self._emits_once else self.changes(own)
                work += probing * self._probing(own, others)
                work += self.changes(own) * STORED
                kept += self.rows(own)
        return TreeCost(work, kept)

    def rows(self, names: frozenset[str]) -> float:
        """How many combinations of these inputs there are at a time."""
        found = self._known.get(names)
        if found is None:
            found = prod(self._inputs[name].rows for name in names)
            for classes in self._values:
                held = sorted(number for name, number in classes.items() if name in names)
                found /= prod(held[1:])
            for read, part in self._others:
                found *= part if read <= names else 1.0
            self._known[names] = found
        return found

    def changes(self, names: frozenset[str]) -> float:
        """How often the combinations of these inputs change in a second."""
        return sum(self._inputs[name].changes / self._inputs[name].rows for name in names) * self.rows(names)

    def arrivals(self, names: frozenset[str]) -> float:
        """How many combinations of these inputs there are anew in a second."""
        return sum(self._inputs[name].arrivals / self._inputs[name].rows for name in names) * self.rows(names)

    def _probing(self, own: frozenset[str], others: Iterable[frozenset[str]]) -> float:
        """The probes and matches of one change along its path, which always goes on where it finds least."""
        bound, left, before, work = own, list(others), 1.0, 0.0
        while left:
            target = min(left, key=lambda part: self.rows(bound | part))
            left.remove(target)
            bound |= target
            found = self.rows(bound) / self.rows(own)
            work += before + found
            before = found
        return work

    @cached_property
    def _values(self) -> list[dict[str, float]]:
        """Of each class of equal columns how many values each input that has it takes."""
        found = []
        for same in join_classes(self._join):
            held: dict[str, float] = {}
            for name, operand in zip(self._names, self._join.operands, strict=True):
                own = [self._inputs[name].of(column) for column in operand.schema if column in same]
                held |= {name: max(own)} if own else {}
            found.append(held)
        return found

    @cached_property
    def _others(self) -> list[tuple[frozenset[str], float]]:
        """The inputs that other predicates read, and which part of their combinations passes."""
        own = {name: frozenset(o.schema) for name, o in zip(self._names, self._join.operands, strict=True)}
        found = []
        for predicate in self._join.on:
            if not isinstance(classify(predicate), ColumnEquality):
                read = columns(predicate)
                found.append((frozenset(n for n, schema in own.items() if read & schema), selectivity(predicate)))
        return found


def cheapest(trees: Iterable[TreeJoin], model: CostModel) -> list[tuple[TreeJoin, TreeCost]]:
    """Trees with their costs, the cheapest first; of equal ones that with the fewest joins."""
    costed = [(tree, model.cost(tree)) for tree in trees]
    return sorted(costed, key=lambda each: (each[1].work, each[1].rows, _depth(each[0])))


def _depth(tree: JoinTree) -> int:
    return sum(1 for _ in nodes(tree))
