"""The No components of a join (thesis 6.3): keys of rows that came and can be in no result.

Who refers to such a row need not wait for it. A key is noted when a row fails its stream's filter, leaves its window,
or is forgotten although others may still refer to it. It is kept until nobody will, as the plan says (`ByNo`), by the
time of its row, order or clusters. Where all who refer to it are told otherwise, or it has left its window, it is there
until the step is over, for those who wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.purge import TIME
from penstock.operators.join import JoinCore
from penstock.operators.knowledge import Knowledge
from penstock.operators.monitors import Monitors
from penstock.plan.rules import ByCluster, ByKey, ByNo, ByOrder, InTime, PurgingJoin
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.memory import Ints, Memory

Bools = NDArray[np.bool_]

#: So few keys are not looked through.
FEW_KEYS = 1024
Closer = InTime | ByOrder | ByCluster


class NoComponents:
    def __init__(
        self, memory: Memory, name: str, node: PurgingJoin, core: JoinCore, knows: Knowledge, monitors: Monitors
    ) -> None:
        self._core, self._knows, self._monitors = core, knows, monitors
        self._rules = {n: rule for n, rule in enumerate(node.rules) if isinstance(rule, ByNo)}
        keys = {(rule.target, rule.variables): n for n, rule in enumerate(node.rules) if isinstance(rule, ByKey)}
        self._watched = {n: keys[rule.target, rule.variables] for n, rule in self._rules.items()}
        #: By rule and input that may ask, the rules that say that it will not.
        self._closers = {n: [list(_closers(node, rule, h)) for h in rule.awaited] for n, rule in self._rules.items()}
        self._left = {n: memory.array(f"{name}.no{n}", 1) for n in self._rules}
        self._passing: list[tuple[int, Ints]] = []

    def watched_as(self, number: int) -> int:
        """The rule under which rows wait for what a rule tells: for the keys of No rows, that of the key."""
        return self._watched.get(number, number)

    def left(self, target: int, slots: Ints) -> None:
        """Notes for this step the keys of an input's rows that leave their window now (6.3.2)."""
        for number, rule in self._rules.items():
            if rule.target == target and len(slots):
                keys = self._core.keys(target, rule.variables, slots)
                self._knows.evidence[number].note(keys, self._core.inputs[target].store.starts[slots])
                self._passing.append((number, keys))

    def gone(self, target: int, slots: Ints) -> None:
        """Notes the keys of an input's rows that are forgotten now, for those who wait for them, and who will."""
        for number, rule in self._rules.items():
            if rule.target == target:
                keys = self._core.keys(rule.target, rule.variables, slots)
                starts = self._core.inputs[rule.target].store.starts[slots]
                open_ = ~self._is_needless(number, keys, starts)
                self._knows.evidence[number].note(keys[open_], starts[open_])

    def forget(self) -> None:
        """Drops keys that nobody will ask for: when there are a quarter more than were left the last time."""
        for number, keys in self._passing:
            self._knows.evidence[number].forget_keys(keys)
        self._passing = []
        for number, rule in self._rules.items():
            kept, left = self._knows.evidence[number], self._left[number]
            if not rule.awaited:
                kept.clear()
            elif len(kept) > max(FEW_KEYS, int(left[0]) * 5 // 4):
                keys, starts = kept.entries()
                kept.forget_keys(keys[self._is_needless(number, keys, starts)])
                left[0] = len(kept)

    def asks(self, cluster: ByCluster, keys: Ints) -> Bools:
        """Which keys of clusters are those of No rows that the cluster may let go."""
        found = np.zeros(len(keys), np.bool_)
        for number, rule in self._rules.items():
            if cluster.variables == rule.variables and cluster.target in rule.awaited:
                found |= self._knows.evidence[number].words(keys) != MISSING
        return found

    def _is_needless(self, number: int, keys: Ints, starts: Ints) -> Bools:
        """Whether nobody asks for these keys any more; without anybody to ask for them later, they are noted still."""
        needless = np.full(len(keys), bool(self._closers[number]))
        for closers in self._closers[number]:
            closed = np.zeros(len(keys), np.bool_)
            for closer_number, closer in closers:
                closed |= self._is_closed(closer_number, closer, self._rules[number], keys, starts)
            needless &= closed
        return needless

    def _is_closed(self, number: int, closer: Closer, rule: ByNo, keys: Ints, starts: Ints) -> Bools:
        clock = self._knows.clocks[self._knows.clock_of(number)]
        closed = np.zeros(len(keys), np.bool_)
        match closer:
            case InTime(reach=reach) if (limit := self._monitors.limit(reach)) is not None:
                closed = self._knows.clocks[TIME] > starts + limit
            case ByOrder(variables=(variable,)):
                closed = keys[:, rule.variables.index(variable)] < clock
            case ByCluster(k=k) if (limit := self._monitors.limit(k)) is not None:
                since = self._knows.evidence[number].words(keys)
                closed = (since != MISSING) & (clock > since + limit)
        return closed


def _closers(node: PurgingJoin, rule: ByNo, asking: int) -> Iterator[tuple[int, Closer]]:
    """The rules that say when an input brings no more rows that ask for a key."""
    for number, other in enumerate(node.rules):
        match other:
            case InTime(target, source) if (target, source) == (asking, rule.target):
                yield number, other
            case ByOrder(target, variables) if target == asking and set(variables) <= set(rule.variables):
                yield number, other
            case ByCluster(target, variables) if target == asking and variables == rule.variables:
                yield number, other
