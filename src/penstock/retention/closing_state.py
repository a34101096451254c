"""What a purge knows: clocks, and the evidence that came for the rules of a join (`closing/rules.py`).

There is a clock for time, one for the rows of each stream that is counted, and one for each order: the value below
which nothing comes any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import ByCluster, ByLifespan, ByNo, ByOrder, ByPunctuation
from penstock.kernels import purge as kernel
from penstock.kernels.ranks import ranks, stamp
from penstock.kernels.recent import Ticks
from penstock.kernels.rising import STAMP, VALUE, above, rise
from penstock.kernels.sets import distinct
from penstock.synopsis.deltas import Deltas, is_null
from penstock.synopsis.events import Events
from penstock.synopsis.evidence import Evidence
from penstock.synopsis.memory import Ints, Memory

_LEAST = -(1 << 63)


class ClosingState:
    def __init__(self, memory: Memory, name: str, node: PhysicalJoin) -> None:
        self._memory, self._name, self._node = memory, name, node
        self.evidence = {
            number: Evidence(memory, f"{name}.evidence{number}", len(rule.variables))
            for number, rule in enumerate(node.rules)
            if isinstance(rule, ByPunctuation | ByLifespan | ByNo | ByCluster)
        }
        size = 1 + len(node.evidence) + len(node.rules)
        #: Time, then the rows of each evidence, then what each rule's target has passed.
        self.clocks = memory.array(f"{name}.clocks", size)[:size]
        if not self.clocks[kernel.TIME]:
            self.clocks[1 + len(node.evidence) :] = _LEAST
        self._counted: list[tuple[int, Ints]] = []
        self._whole: list[tuple[Ints, Ints]] = []

    def __len__(self) -> int:
        return sum(map(len, self.evidence.values()))

    def learn(
        self, came: Sequence[Deltas], until: int, passing: Collection[int] = ()
    ) -> Iterator[tuple[int, Ints, Ints, Ints]]:
        """Takes the evidence of the instants before `until`.

        Gives by rule the times and keys that came, and the new keys of them. What is `passing` is not noted.
        """
        self._counted = [(int(self.clocks[1 + n]), deltas.ts) for n, deltas in enumerate(came)]
        self.clocks[kernel.TIME] = until
        self.clocks[1 : 1 + len(came)] += np.array([len(deltas) for deltas in came], np.int64)
        self._whole = whole = [
            without_nulls(deltas, len(scan.schema)) for deltas, scan in zip(came, self._node.evidence, strict=True)
        ]
        for number, rule in enumerate(self._node.rules):
            match rule:
                case ByPunctuation(evidence=source) | ByNo(evidence=int(source)):
                    ts, keys = whole[source]
                    yield number, ts, keys, keys if number in passing else self.evidence[number].note(keys, ts)
                case ByLifespan(evidence=source):
                    ts, keys = whole[source]
                    # The last one of a value counts: it holds longest.
                    self.evidence[number].forget_keys(distinct(keys))
                    yield number, ts, keys, self.evidence[number].note(keys[::-1], ts[::-1].copy())
                case ByCluster(evidence=source, ticks=ticks):
                    ts, keys = whole[source]
                    since = self.clock_after(ticks, ts)
                    yield number, ts, keys, self.evidence[number].note(keys, since, again=int(ticks is not None))
                case ByOrder(k=int(k)):
                    self._pass(number, rule, k, *whole[rule.evidence])

    def whole(self, evidence: int) -> tuple[Ints, Ints]:
        """The times and values of the evidence that came last."""
        return self._whole[evidence]

    def ticks(self, ticks: int | None) -> Ticks:
        """The clock that counts a stream's rows, in this step; or time."""
        if ticks is None:
            return Ticks(np.zeros(0, np.int64), 0, True)
        before, times = self._counted[ticks]
        return Ticks(times, before, False)

    def clock_after(self, ticks: int | None, ts: Ints) -> Ints:
        """The clock that counts a stream's rows, or time, when these instants of the last step were over."""
        if ticks is None:
            return ts
        before, times = self._counted[ticks]
        return ranks(times, ts, before, after=True)

    def stamp(self, ticks: int, events: Events, stamps: Ints) -> None:
        """Notes with rows that come, by slot, the clock that counts a stream's rows when their instant was over.

        It does not matter what is noted with those that go.
        """
        before, times = self._counted[ticks]
        stamp(times, before, events.ts, events.slots, stamps)

    def clock_before(self, ticks: int | None, ts: Ints) -> Ints:
        """The same when they began."""
        if ticks is None:
            return ts
        before, times = self._counted[ticks]
        return ranks(times, ts, before, after=False)

    def clock(self, ticks: int | None) -> int:
        """What that clock says now."""
        return int(self.clocks[kernel.TIME if ticks is None else 1 + ticks])

    def clock_of(self, number: int) -> int:
        """The clock that a rule reads."""
        rule = self._node.rules[number]
        if isinstance(rule, ByOrder):
            return 1 + len(self._node.evidence) + number
        ticks = getattr(rule, "ticks", None)
        return kernel.TIME if ticks is None else 1 + int(ticks)

    def _pass(self, number: int, rule: ByOrder, k: int, ts: Ints, values: Ints) -> None:
        """Moves the clock of an order. Only values above all before them can move it, so only they wait for that."""
        clock = self.clock_of(number)
        size = self._memory.array(f"{self._name}.passing{number}", 1)
        waiting = self._memory.array(f"{self._name}.order{number}", int(size[0]) + len(ts), 2)
        highest = waiting[size[0] - 1, VALUE] if size[0] else self.clocks[clock]
        stamps, below = self.clock_after(rule.ticks, ts), np.empty(len(ts) + 1, np.int64)
        end, _ = rise(stamps, values[:, 0], int(highest), waiting, int(size[0]), below)
        # Rows up to this one, or this time, have nothing smaller to come.
        oldest = self.clock(rule.ticks) - k - (1 if rule.ticks is None else 0)
        old = above(waiting, end, STAMP, oldest)
        if old:
            self.clocks[clock] = waiting[old - 1, VALUE]
            waiting[: end - old] = waiting[old:end].copy()
        size[0] = end - old


def without_nulls(deltas: Deltas, columns: int) -> tuple[Ints, Ints]:
    """Times and values of rows; a row with a NULL speaks of no other."""
    null = np.zeros(len(deltas), np.bool_)
    if deltas.rows[:, columns:].any():
        for column in range(columns):
            null |= is_null(deltas.rows, column, columns)
    some = ~null if null.any() else slice(None)
    return deltas.ts[some], np.ascontiguousarray(deltas.rows[some, :columns])
