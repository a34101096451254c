"""The monitors of a join: they see what rows require of its k-constraints, and tell the purge which k to go by.

A row requires k of a constraint if with a smaller one the purge could have forgotten what the row joins. So rows of one
instant require nothing of each other. Each cell has its monitors, of the rows that it sees, and its own k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from penstock.operators.estimation import NOTHING, Estimation
from penstock.operators.events import Events
from penstock.operators.gauges import Watched
from penstock.operators.join import JoinCore
from penstock.operators.knowledge import Knowledge, without_nulls
from penstock.operators.sweep import Holder, RowsHolder
from penstock.plan.joins import join_variables
from penstock.plan.monitors import Monitor, OfCluster, OfOrder, OfReference
from penstock.plan.rules import Estimate, K, PurgingJoin
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.firsts import Firsts
from penstock.synopsis.memory import Ints, Memory

_LEAST = -(1 << 63)


class Monitors:
    def __init__(self, memory: Memory, name: str, node: PurgingJoin, core: JoinCore, knows: Knowledge) -> None:
        self._node, self._core, self._knows = node, core, knows
        self._watchers = [_watcher(memory, f"{name}{n}", each) for n, each in enumerate(node.monitors)]
        self._estimations = [Estimation(memory, f"{name}{n}.estimate", each) for n, each in enumerate(node.monitors)]
        #: Whether in the last step some k became known, or smaller, so that rows may go which have waited for more.
        self.lets_go = False

    def __len__(self) -> int:
        return sum(map(len, self._watchers))

    @property
    def holders(self) -> list[Holder]:
        """What holds codes of interned values."""
        columns = [next(column for column in own if column is not None) for own in join_variables(self._node)]
        return [
            RowsHolder(watcher.firsts.store.held_column, tuple(columns[v] for v in monitor.variables))
            for monitor, watcher in zip(self._node.monitors, self._watchers, strict=True)
            if isinstance(watcher, _OfFirsts)
        ]

    def watched(self) -> list[Watched]:
        """What is known of each constraint."""
        return [
            Watched(monitor.constraint, estimation.k, estimation.limit is not None)
            for monitor, estimation in zip(self._node.monitors, self._estimations, strict=True)
        ]

    def limit(self, k: K) -> int | None:
        """The k to purge by; None: not at all."""
        return self._estimations[k.monitor].limit if isinstance(k, Estimate) else k

    def most(self, k: K) -> int:
        """The largest k that there may be to purge by."""
        return self._estimations[k.monitor].most if isinstance(k, Estimate) else k

    def passed(self, k: Estimate) -> int:
        """The value below which nothing comes any more, by an order."""
        watcher, limit = self._watchers[k.monitor], self._estimations[k.monitor].limit
        assert isinstance(watcher, _OrderWatcher)
        return _LEAST if limit is None else watcher.passed(self._clock(self._node.monitors[k.monitor]) - limit)

    def observe(self, came: Sequence[Deltas], events: Sequence[Events]) -> None:
        """Evidence and rows that came in a step, before anything is purged."""
        self.lets_go = False
        for monitor, watcher, estimation in zip(self._node.monitors, self._watchers, self._estimations, strict=True):
            before, clock = estimation.limit, self._clock(monitor)
            estimation.observe(watcher.required(came, events, self._core, self._knows), clock)
            after = estimation.limit
            is_less = after is not None and (before is None or after < before)
            self.lets_go |= is_less
            watcher.forget_before(clock - estimation.remembered, monitor.parameters.p, is_less)

    def _clock(self, monitor: Monitor) -> int:
        return int(self._knows.clock(monitor.ticks))


class _Watcher(Protocol):
    def __len__(self) -> int: ...

    def required(self, came: Sequence[Deltas], events: Sequence[Events], core: JoinCore, knows: Knowledge) -> Ints:
        """The k that each row requires that came, or NOTHING."""

    def forget_before(self, clock: int, share: float, at_once: bool) -> None:
        """What is older is not needed, but for a sample."""


class _OfFirsts:
    """A watcher that remembers the first rows of values."""

    def __init__(self, memory: Memory, name: str, width: int) -> None:
        self.firsts = Firsts(memory, name, width)

    def __len__(self) -> int:
        return len(self.firsts)

    def forget_before(self, clock: int, share: float, at_once: bool) -> None:
        self.firsts.forget_before(clock, share, at_once)


class _ReferenceWatcher(_OfFirsts):
    """RIDS: the place of a row among those after the first one that referred to it."""

    def __init__(self, memory: Memory, name: str, monitor: OfReference) -> None:
        super().__init__(memory, name, len(monitor.variables))
        self._monitor = monitor

    def required(self, came: Sequence[Deltas], events: Sequence[Events], core: JoinCore, knows: Knowledge) -> Ints:
        monitor = self._monitor
        keys, times = _coming(monitor.source, monitor.variables, events, core)
        if monitor.is_key:
            # What refers to a row that is there requires nothing.
            waits = ~core.holds(monitor.target, monitor.variables, keys)
            keys, times = keys[waits], times[waits]
        self.firsts.meet(keys, knows.clock_after(monitor.ticks, times))
        keys, times = _coming(monitor.target, monitor.variables, events, core)
        since = self.firsts.words(keys)
        if monitor.is_key:
            self.firsts.forget_keys(np.unique(keys[since != MISSING], axis=0))
        return _distance(since, knows.clock_before(monitor.ticks, times) + 1)


class _ClusterWatcher(_OfFirsts):
    """CA: the rows with other values since the first one with the row's."""

    def __init__(self, memory: Memory, name: str, monitor: OfCluster) -> None:
        super().__init__(memory, name, len(monitor.variables))
        self._monitor = monitor

    def required(self, came: Sequence[Deltas], events: Sequence[Events], core: JoinCore, knows: Knowledge) -> Ints:
        monitor = self._monitor
        times, keys = without_nulls(came[monitor.evidence], len(monitor.variables))
        since = self.firsts.meet(keys, knows.clock_after(monitor.ticks, times), again=1)
        return _distance(since, knows.clock_before(monitor.ticks, times))


class _OrderWatcher:
    """OA: the rows since the first one with a larger value. Only values above all before them are remembered."""

    def __init__(self, memory: Memory, name: str, monitor: OfOrder) -> None:
        self._memory, self._name, self._monitor = memory, name, monitor
        self._size = memory.array(f"{name}.size", 1)

    def __len__(self) -> int:
        return int(self._size[0])

    def required(self, came: Sequence[Deltas], events: Sequence[Events], core: JoinCore, knows: Knowledge) -> Ints:
        times, keys = without_nulls(came[self._monitor.evidence], 1)
        values, known = keys[:, 0], self._records(0)
        start = known[-1:, 1] if len(known) else np.array([_LEAST])
        highest = np.maximum.accumulate(np.concatenate((start, values)))[:-1]
        rises = values > highest
        stamps = knows.clock_after(self._monitor.ticks, times)
        records = np.concatenate((known, np.column_stack((stamps[rises], values[rises]))))
        self._keep(records)
        # The records go up in value, and the first one above a row that is below the highest came before it.
        first = np.searchsorted(records[:, 1], values, side="right")
        is_low = values < highest
        since = np.full(len(values), MISSING, np.int64)
        since[is_low] = records[first[is_low], 0]
        return _distance(since, knows.clock_before(self._monitor.ticks, times) + 1)

    def passed(self, clock: int) -> int:
        """The largest value of rows up to there."""
        records = self._records(0)
        old = int(np.searchsorted(records[:, 0], clock, side="right"))
        return int(records[old - 1, 1]) if old else _LEAST

    def forget_before(self, clock: int, share: float, at_once: bool) -> None:
        """The last of the old ones stays: a row that is smaller than it requires too much to be measured."""
        records = self._records(0)
        old = int(np.searchsorted(records[:, 0], clock, side="left"))
        if old > 1:
            self._keep(records[old - 1 :].copy())

    def _keep(self, records: Ints) -> None:
        self._size[0] = len(records)
        self._records(len(records))[:] = records

    def _records(self, room: int) -> Ints:
        size = int(self._size[0])
        return self._memory.array(f"{self._name}.records", max(room, size), 2)[:size]


def _watcher(memory: Memory, name: str, monitor: Monitor) -> _Watcher:
    match monitor:
        case OfReference():
            return _ReferenceWatcher(memory, name, monitor)
        case OfCluster():
            return _ClusterWatcher(memory, name, monitor)
        case OfOrder():
            return _OrderWatcher(memory, name, monitor)
    raise AssertionError(f"no watcher for {monitor}")


def _coming(number: int, variables: tuple[int, ...], events: Sequence[Events], core: JoinCore) -> tuple[Ints, Ints]:
    """The values that rows of an input have that come, and their times."""
    own = core.without_nulls(number, events[number])
    slots = own.slots[own.signs > 0]
    return core.keys(number, variables, slots), core.inputs[number].store.starts[slots]


def _distance(since: Ints, now: Ints) -> Ints:
    return np.where(since == MISSING, NOTHING, np.maximum(now - since, 0))
