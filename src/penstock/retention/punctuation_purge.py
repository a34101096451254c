"""The purge of punctuations: a join drops those that none of its rows will ask for again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Relation, Unbounded
from penstock.closing.join_variables import join_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.punctuations_kept import going_without
from penstock.closing.rules import ByCluster, ByKey, ByOrder, ByPunctuation, Estimate, Rule, Static, k_of
from penstock.kernels.sets import among, distinct
from penstock.retention.closing_state import ClosingState
from penstock.retention.code_owners import CodeOwner
from penstock.retention.retained_join import RetainedJoin
from penstock.retention.rows import SlotsByInput
from penstock.synopsis.evidence import MISSING, Evidence
from penstock.synopsis.memory import Ints

#: So few punctuations are not examined.
FEW = 1024
#: Says whether an input has a row with each key of some variables.
Holds = Callable[[int, tuple[int, ...], Ints], NDArray[np.bool_]]


class PunctuationPurge:
    """Drops punctuations that no row will ask for again (004, section 5.1).

    A row asks for a punctuation of its values. None will if, in each input with those values, none is stored and none
    comes: because the input's own punctuation says so, or its order or clusters, its one row with that key has just
    gone, or the punctuation refers to that row, which has come by then. Where two punctuations are each other's
    evidence, they go together. To drop too many would lose no result, only space.

    Rows under a window leave it, whatever they ask for, and others go by a declared k, or by punctuations of another
    scheme. So that punctuations do not grow where rows do not, those that only such rows may ask for, and none that is
    stored does, go when there are many more than were left the last time.
    """

    def __init__(self, join: RetainedJoin, closing_state: ClosingState, holds: Holds) -> None:
        node, memory = join.node, join.memory
        self._join, self._core, self._closing, self._holds = join, join.inputs, closing_state, holds
        self._node = node
        self._rules = {n: rule for n, rule in enumerate(node.rules) if isinstance(rule, ByPunctuation)}
        #: By rule, and what its punctuations refer to, how many rows of that had come, where they are counted.
        self._counted = {
            (n, referred): Evidence(memory.scope("referred", n).scope("input", referred.target), len(rule.variables))
            for n, rule in self._rules.items()
            for referred in rule.referred
            if referred.ticks is not None
        }
        self._left = {n: memory.scope("rule", n).array("left", 1) for n in self._rules}
        #: The rules, but for punctuations, by which an input brings no more rows with some values.
        self._passed = {
            n: rule
            for n, rule in enumerate(node.rules)
            if isinstance(rule, ByOrder | ByCluster) and _is_sure(rule, node)
        }
        #: By rule, the inputs whose rows go in the end without its punctuations: by other rules, or also their windows.
        self._going = _going(node, self._rules)
        leaving = {n for n, operand in enumerate(node.operands) if _leaves(operand)}
        # Rows of a table ask for no punctuation.
        leaving |= {rule.target for rule in node.rules if isinstance(rule, Static)}
        self._leaving = {number: leaving | going for number, going in self._going.items()}
        #: The keys of punctuations that were dropped last: nothing more comes for them, nor is there.
        self.ended: dict[int, Ints] = {}
        self._begin()

    def _begin(self) -> None:
        self._arrived: dict[int, list[Ints]] = {number: [] for number in self._rules}
        self._gone: dict[int, list[Ints]] = {number: [] for number in range(len(self._core.inputs))}

    def __len__(self) -> int:
        return sum(map(len, self._counted.values()))

    @property
    def code_owners(self) -> list[CodeOwner]:
        """What stores codes of interned values."""
        return [
            self._join.code_owner(counted.store.held_column, rule.target, rule.variables)
            for (number, _), counted in self._counted.items()
            for rule in [self._rules[number]]
        ]

    def arrived(self, rule: int, times: Ints, keys: Ints) -> None:
        if rule in self._arrived:
            self._arrived[rule].append(keys)
        for (number, referred), counted in self._counted.items():
            if number == rule:
                counted.note(keys, self._closing.clock_after(referred.ticks, times))

    def gone(self, rows: SlotsByInput) -> None:
        """Rows are dropped; their values are still there until the step ends."""
        if self._rules:
            for number, slots in rows.items():
                self._gone[number].append(slots)

    def put_off(self) -> None:
        """No punctuation is dropped in this step."""
        self.ended = {}
        self._begin()

    def purge(self, all_that_arrived: bool = False) -> None:
        """Drops what is needless, of what something happened to; or of all, where that was not noted."""
        known = {number: self._closing.evidence[number] for number in self._rules}
        many = [
            n
            for n, rule in self._rules.items()
            if (rule.referred or self._leaving[n] or self._passed) and len(known[n]) > 2 * max(FEW, self._left[n][0])
        ]
        for number in self._rules if all_that_arrived else many:
            self._arrived[number] = [known[number].entries().keys]
        self.ended = {
            number: self._needless(number, rule, self._leaving[number] if number in many else set())
            for number, rule in self._rules.items()
        }
        for number, keys in self.ended.items():
            if len(keys):
                known[number].forget_keys(keys)
        for number in many:
            self._left[number][0] = len(known[number])
        for (number, _), counted in self._counted.items():
            counted.forget_keys(self.ended[number])
        self._begin()

    def _needless(self, number: int, rule: ByPunctuation, leaving: Collection[int]) -> Ints:
        """The keys of punctuations that are not needed any more, of those that something happened to.

        It does not matter what inputs ask for later whose rows are `leaving` by themselves.
        """
        inputs = [n for n in range(len(self._core.inputs)) if self._core.has_variables(n, rule.variables)]
        others = [n for n in inputs if n != rule.target]
        keys = [self._gone_keys(n, rule.variables) for n in inputs]
        keys += [k for n, same in self._rules.items() if same.variables == rule.variables for k in self._arrived[n]]
        candidates = np.concatenate([np.zeros((0, len(rule.variables)), np.int64), *keys])
        # Where no input has all these values, rows of several ask together.
        if not len(candidates) or not (others or len(leaving) == len(self._core.inputs)):
            return candidates[:0]
        candidates = distinct(candidates)
        unneeded = np.ones(len(candidates), np.bool_)
        here = self._holds(rule.target, rule.variables, candidates)
        for other in others:
            unneeded &= ~self._holds(other, rule.variables, candidates)
            if other in leaving:
                continue
            by_key = self._has_gone(other, rule, candidates)
            unneeded &= (
                by_key
                | self._is_passed(other, rule, candidates)
                | self._has_come(other, number, candidates)
                | (self._is_punctuated(other, rule, candidates) & ~here)
            )
        if not self._going[number].isdisjoint(leaving):
            # They may still come, and join what is there: then the values have not ended.
            unneeded &= ~here
        unneeded &= self._closing.evidence[number].words(candidates) != MISSING
        return candidates[unneeded]

    def _gone_keys(self, number: int, variables: tuple[int, ...]) -> Ints:
        slots = np.concatenate([np.zeros(0, np.int64), *self._gone[number]])
        return self._core.keys(number, variables, slots)

    def _has_gone(self, number: int, rule: ByPunctuation, keys: Ints) -> NDArray[np.bool_]:
        """Whether the one row of an input with each key has just gone."""
        is_key = any(
            isinstance(other, ByKey) and other.target == number and set(other.variables) <= set(rule.variables)
            for other in self._node.rules
        )
        if not is_key:
            return np.zeros(len(keys), np.bool_)
        return among(keys, self._gone_keys(number, rule.variables))

    def _has_come(self, number: int, rule: int, keys: Ints) -> NDArray[np.bool_]:
        """Whether the one row of an input to which each punctuation refers has come, if it ever does."""
        found = np.zeros(len(keys), np.bool_)
        for referred in self._rules[rule].referred:
            if referred.target != number:
                continue
            if referred.ticks is None:
                since, now = self._closing.evidence[rule].words(keys), self._closing.clock(None) - 1
            else:
                since, now = self._counted[rule, referred].words(keys), self._closing.clock(referred.ticks)
            found |= (since != MISSING) & (now >= since + referred.k)
        return found

    def wait_for(self, cluster: ByCluster, keys: Ints) -> NDArray[np.bool_]:
        """Which keys of clusters have punctuations that may be dropped once these clusters are closed."""
        found = np.zeros(len(keys), np.bool_)
        for number, rule in self._rules.items():
            if rule.target != cluster.target and rule.variables == cluster.variables:
                found |= self._closing.evidence[number].words(keys) != MISSING
        return found

    def _is_passed(self, number: int, rule: ByPunctuation, keys: Ints) -> NDArray[np.bool_]:
        """Whether an input has passed each key, or its cluster is closed."""
        found = np.zeros(len(keys), np.bool_)
        for own_number, own in self._passed.items():
            if own.target == number and set(own.variables) <= set(rule.variables):
                values = keys[:, [rule.variables.index(variable) for variable in own.variables]]
                clock = self._closing.clocks[self._closing.clock_of(own_number)]
                if isinstance(own, ByOrder):
                    found |= values[:, 0] < clock
                else:
                    assert isinstance(own.k, int)
                    since = self._closing.evidence[own_number].words(values)
                    found |= (since != MISSING) & (since + own.k < clock)
        return found

    def _is_punctuated(self, number: int, rule: ByPunctuation, keys: Ints) -> NDArray[np.bool_]:
        found = np.zeros(len(keys), np.bool_)
        for other_number, other in self._rules.items():
            if other.target == number and set(other.variables) <= set(rule.variables):
                places = [rule.variables.index(variable) for variable in other.variables]
                found |= self._closing.evidence[other_number].words(keys[:, places]) != MISSING
        return found


def _going(node: PhysicalJoin, rules: Mapping[int, ByPunctuation]) -> dict[int, frozenset[int]]:
    """By rule the inputs whose rows all go in the end without it, by rules none of whose k may vary."""
    sure = [rule for rule in node.rules if _is_sure(rule, node)]
    going = going_without(join_variables(node), sure, node.forgets, len(node.operands))
    return {number: going[rule] for number, rule in rules.items()}


def _is_sure(rule: Rule, node: PhysicalJoin) -> bool:
    return not isinstance(k_of(rule), Estimate) and rule not in node.probable


def _leaves(operand: Relation) -> bool:
    """Whether the rows of an input leave its window in the end."""
    return isinstance(operand, Scan) and not isinstance(operand.spec, Unbounded)
