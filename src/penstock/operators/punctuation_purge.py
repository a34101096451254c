"""The purge of punctuations: those that no row of a join will ask for again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.sets import among, distinct
from penstock.operators.join import JoinCore
from penstock.operators.knowledge import Knowledge
from penstock.operators.rows import Rows
from penstock.plan.rules import ByKey, ByPunctuation, PurgingJoin
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.memory import Ints

#: Says whether an input has a row with each key of some variables.
Holds = Callable[[int, tuple[int, ...], Ints], NDArray[np.bool_]]


class PunctuationPurge:
    """Drops punctuations that nobody will ask for again (004, section 5.1).

    A row asks for a punctuation of its values. None will if, in each input with those values, none is stored and none
    comes: because the input's own punctuation says so, or its one row with that key has just gone. Where two
    punctuations are each other's evidence, they go together. To drop too many would lose no result, only space.
    """

    def __init__(self, node: PurgingJoin, core: JoinCore, knows: Knowledge, holds: Holds) -> None:
        self._node, self._core, self._knows, self._holds = node, core, knows, holds
        self._rules = {n: rule for n, rule in enumerate(node.rules) if isinstance(rule, ByPunctuation)}
        #: The keys of punctuations that were dropped last: nothing more comes for them, nor is there.
        self.ended: dict[int, Ints] = {}
        self._begin()

    def _begin(self) -> None:
        self._came: dict[int, list[Ints]] = {number: [] for number in self._rules}
        self._gone: dict[int, list[Ints]] = {number: [] for number in range(len(self._core.inputs))}

    def came(self, rule: int, keys: Ints) -> None:
        if rule in self._came:
            self._came[rule].append(keys)

    def gone(self, rows: Rows) -> None:
        """Rows are forgotten; their values are still there until the step ends."""
        if self._rules:
            for number in set(rows.inputs.tolist()):
                self._gone[number].append(rows.of(number))

    def put_off(self) -> None:
        """Nothing is forgotten this time."""
        self.ended = {}
        self._begin()

    def forget(self, all_that_came: bool = False) -> None:
        """Drops what is needless, of what something happened to; or of all, where that was not noted."""
        if all_that_came:
            self._came = {number: [self._knows.evidence[number].entries()[0]] for number in self._rules}
        self.ended = {number: self._needless(number, rule) for number, rule in self._rules.items()}
        for number, keys in self.ended.items():
            if len(keys):
                self._knows.evidence[number].forget_keys(keys)
        self._begin()

    def _needless(self, number: int, rule: ByPunctuation) -> Ints:
        """The keys of punctuations that are not needed any more, of those that something happened to."""
        holders = [n for n in range(len(self._core.inputs)) if self._core.has_variables(n, rule.variables)]
        others = [n for n in holders if n != rule.target]
        keys = [self._gone_keys(n, rule.variables) for n in holders]
        keys += [k for n, same in self._rules.items() if same.variables == rule.variables for k in self._came[n]]
        candidates = np.concatenate([np.zeros((0, len(rule.variables)), np.int64), *keys])
        if not others or not len(candidates):
            return candidates[:0]
        candidates = distinct(candidates)
        unneeded = np.ones(len(candidates), np.bool_)
        here = self._holds(rule.target, rule.variables, candidates)
        for other in others:
            by_key = self._has_gone(other, rule, candidates)
            unneeded &= ~self._holds(other, rule.variables, candidates)
            unneeded &= by_key | (self._is_punctuated(other, rule, candidates) & ~here)
        unneeded &= self._knows.evidence[number].words(candidates) != MISSING
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

    def _is_punctuated(self, number: int, rule: ByPunctuation, keys: Ints) -> NDArray[np.bool_]:
        found = np.zeros(len(keys), np.bool_)
        for other_number, other in self._rules.items():
            if other.target == number and set(other.variables) <= set(rule.variables):
                places = [rule.variables.index(variable) for variable in other.variables]
                found |= self._knows.evidence[other_number].words(keys[:, places]) != MISSING
        return found
