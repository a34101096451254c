"""How the rows of a join hear of what lets them go: they are looked at, or told.

A row that waits for a key is looked at when it comes. Where a row has the keys of all other inputs, a result tells it
when the last of them is there: then it goes with it, since it is in no other. And if what has a key comes and can be in
no result, or leaves its window, all who have that key go at once. So such rows need not ask for keys at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from penstock.closing.join_variables import inputs_with_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import ByCluster, ByKey, ByLifespan, ByNo, ByPunctuation, InTime, Rule
from penstock.retention.purge_tables import PurgeTables

#: Rules for which rows wait until something with certain values comes.
OfKeys = ByKey | ByNo | ByPunctuation | ByLifespan | ByCluster


@dataclass(frozen=True, slots=True)
class Notification:
    """`looked_at` are the inputs whose rows may go, `stars` those of them that are the middle of a star.

    `once` are inputs whose rows go as soon as they are in a result. By rule, `waiting` are the inputs whose rows may
    wait for values that they have, `told` those of them whom results tell, and `woken` those who are looked at then.
    """

    node: PhysicalJoin
    looked_at: tuple[int, ...]
    stars: frozenset[int]
    once: frozenset[int]
    waiting: Mapping[int, frozenset[int]]
    told: Mapping[int, frozenset[int]]
    woken: Mapping[int, frozenset[int]]
    #: Of rules of No the rule of the key that they have; of other rules themselves.
    key_of: Mapping[int, int]

    @staticmethod
    def of(
        node: PhysicalJoin,
        tables: PurgeTables,
        inputs: Collection[int],
        once: Collection[int],
        *,
        stays: bool,
        tests: bool,
    ) -> Notification:
        """Of the rows of some inputs. `stays`: rows of results do. `tests`: there are other predicates than equalities.

        Rows of the inputs of `once` need be in one result only.
        """
        looked_at = tuple(filter(tables.may_go, inputs))
        stars = frozenset(filter(tables.is_star, looked_at))
        keyed = frozenset(filter(tables.are_all_keyed, stars))
        stars, gone = (keyed, frozenset()) if stays else (stars, frozenset() if tests else keyed)
        held = inputs_with_variables(node)
        waiting = {n: frozenset(_waiting(rule, looked_at, held)) for n, rule in enumerate(node.rules)}
        told = {n: gone & frozenset(_alike(rule, waiting[n], held)) for n, rule in enumerate(node.rules)}
        key_of = {
            n: node.rules.index(ByKey(rule.target, rule.variables)) if isinstance(rule, ByNo) else n
            for n, rule in enumerate(node.rules)
        }
        woken = {n: waiting[n] - told[n] - frozenset(_done(rule, node)) for n, rule in enumerate(node.rules)}
        return Notification(node, looked_at, stars, gone.union(once), waiting, told, woken, key_of)

    def unasked(self, number: int) -> Iterator[int]:
        """The rules that need not be asked about the rows of an input."""
        for n, rule in enumerate(self.node.rules):
            if number in self.told[n] or (_is_passing(rule) and number in self.told[self.key_of[n]]):
                yield n

    def is_notified_of_all(self, number: int) -> bool:
        """Whether an input's rows are told of the keys of all others."""
        keys = (n for n, rule in enumerate(self.node.rules) if isinstance(rule, ByKey) and number in self.told[n])
        return len({self.node.rules[n].target for n in keys}) == len(self.node.operands) - 1

    def is_asked_for(self, number: int) -> bool:
        """Whether somebody asks for the keys of a rule of No, by values of his own or of others."""
        key = self.key_of[number]
        return bool(self.waiting[key] - self.told[key]) or not self.stars.issuperset(self.looked_at)

    @property
    def passing(self) -> set[int]:
        """Rules of No whose keys nobody asks for."""
        return {n for n, rule in enumerate(self.node.rules) if _is_passing(rule) and not self.is_asked_for(n)}


def _is_passing(rule: Rule) -> bool:
    """Whether a rule's keys are those of No rows that are not kept."""
    return isinstance(rule, ByNo) and not rule.is_kept


def _waiting(rule: Rule, inputs: Collection[int], held: list[set[int]]) -> Iterator[int]:
    """The inputs whose rows may wait for values that they have by a rule."""
    if isinstance(rule, OfKeys):
        yield from (n for n in inputs if n != rule.target and all(n in held[v] for v in rule.variables))


def _done(rule: Rule, node: PhysicalJoin) -> Iterator[int]:
    """The inputs whose rows wait for none of a rule's target from the first look on: what they join was there."""
    for other in node.rules:
        match other:
            case InTime(target, source, int(reach)) if target == rule.target and reach <= 0:
                yield source


def _alike(rule: Rule, inputs: Collection[int], held: list[set[int]]) -> Iterator[int]:
    """The inputs with which a key's rows share nothing but the key: who has it joins what has it."""
    if isinstance(rule, ByKey):
        for number in inputs:
            if rule.variables == tuple(v for v, own in enumerate(held) if {number, rule.target} <= own):
                yield number
