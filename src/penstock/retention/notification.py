"""How the rows of a join are notified of what lets them be dropped: by the key that they wait for, or by a result.

A row that waits for a key is examined when a row with that key arrives. A row that has the keys of all other inputs is
in one result at most: when that is found, the row is dropped with it. And if a row with a key arrives and can be in no
result, or leaves its window, all rows that have that key are dropped at once. So such rows ask for no keys at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from penstock.closing.join_variables import inputs_with_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import ByCluster, ByKey, ByLifespan, ByNo, ByPunctuation, InTime, Rule
from penstock.retention.purge_tables import PurgeTables
from penstock.retention.retained_join import RetainedJoin

#: Rules for which rows wait until something with certain values comes.
OfKeys = ByKey | ByNo | ByPunctuation | ByLifespan | ByCluster


@dataclass(frozen=True, slots=True)
class Notification:
    """`examined` are the inputs whose rows may be dropped, `stars` those of them that are the middle of a star.

    `once` are inputs whose rows are dropped as soon as they are in a result. By rule, `waiting` are the inputs whose
    rows may wait for values that they have: of these, rows of inputs in `by_result` are notified by results, and rows
    of inputs in `by_key` are examined when the values arrive.
    """

    node: PhysicalJoin
    examined: tuple[int, ...]
    stars: frozenset[int]
    once: frozenset[int]
    waiting: Mapping[int, frozenset[int]]
    by_result: Mapping[int, frozenset[int]]
    by_key: Mapping[int, frozenset[int]]
    #: Of rules of No the rule of the key that they have; of other rules themselves.
    key_of: Mapping[int, int]

    @staticmethod
    def of(join: RetainedJoin, tables: PurgeTables, inputs: Collection[int], once: Collection[int]) -> Notification:
        """How rows of some inputs are notified. Rows of the inputs of `once` need be in one result only."""
        node = join.node
        examined = tuple(filter(tables.may_drop, inputs))
        stars = frozenset(filter(tables.is_star, examined))
        keyed = frozenset(filter(tables.are_all_keyed, stars))
        # With other predicates than equalities, rows that have each other's keys may be in no result.
        gone = frozenset[int]() if join.retracts or join.inputs.has_test else keyed
        stars = keyed if join.retracts else stars
        held = inputs_with_variables(node)
        waiting = {n: frozenset(_waiting(rule, examined, held)) for n, rule in enumerate(node.rules)}
        by_result = {n: gone & frozenset(_alike(rule, waiting[n], held)) for n, rule in enumerate(node.rules)}
        key_of = {
            n: node.rules.index(ByKey(rule.target, rule.variables)) if isinstance(rule, ByNo) else n
            for n, rule in enumerate(node.rules)
        }
        by_key = {n: waiting[n] - by_result[n] - frozenset(_done(rule, node)) for n, rule in enumerate(node.rules)}
        return Notification(node, examined, stars, gone.union(once), waiting, by_result, by_key, key_of)

    def unasked(self, number: int) -> Iterator[int]:
        """The rules that need not be asked about the rows of an input."""
        for n, rule in enumerate(self.node.rules):
            if number in self.by_result[n] or (_is_transient(rule) and number in self.by_result[self.key_of[n]]):
                yield n

    def is_notified_of_all(self, number: int) -> bool:
        """Whether results notify an input's rows of the keys of all others."""
        keys = (n for n, rule in enumerate(self.node.rules) if isinstance(rule, ByKey) and number in self.by_result[n])
        return len({self.node.rules[n].target for n in keys}) == len(self.node.operands) - 1

    def is_asked_for(self, number: int) -> bool:
        """Whether rows ask for the keys of a rule of No, by values of their own or of rows that they join."""
        key = self.key_of[number]
        return bool(self.waiting[key] - self.by_result[key]) or not self.stars.issuperset(self.examined)

    @property
    def transient(self) -> set[int]:
        """Rules of No whose keys no row asks for."""
        return {n for n, rule in enumerate(self.node.rules) if _is_transient(rule) and not self.is_asked_for(n)}


def _is_transient(rule: Rule) -> bool:
    """Whether a rule's keys are those of No rows that are not kept."""
    return isinstance(rule, ByNo) and not rule.is_kept


def _waiting(rule: Rule, inputs: Collection[int], held: list[set[int]]) -> Iterator[int]:
    """The inputs whose rows may wait for values that they have by a rule."""
    if isinstance(rule, OfKeys):
        yield from (n for n in inputs if n != rule.target and all(n in held[v] for v in rule.variables))


def _done(rule: Rule, node: PhysicalJoin) -> Iterator[int]:
    """The inputs whose rows wait for none of a rule's target once they are examined: what they join was there."""
    for other in node.rules:
        match other:
            case InTime(target, source, int(reach)) if target == rule.target and reach <= 0:
                yield source


def _alike(rule: Rule, inputs: Collection[int], held: list[set[int]]) -> Iterator[int]:
    """The inputs with which a key's rows share nothing but the key: all rows that have it join."""
    if isinstance(rule, ByKey):
        for number in inputs:
            if rule.variables == tuple(v for v, own in enumerate(held) if {number, rule.target} <= own):
                yield number
