"""The No components of a join (thesis 6.3): keys of rows that came and can be in no result.

A row that refers to such a row need not wait for it. A key is noted when a row fails its stream's filter, leaves its
window, or is dropped although others may still refer to it. It is kept until no row will, as the plan says (`ByNo`), by
the time of its row, order or clusters, or until its row would have left its window of rows. Where all rows that refer
to it are notified otherwise, or it has left its window, it is *transient*: it is kept until the step is over, for the
rows that wait for it.

RIDS(k) notifies them, too, but k rows later; and where k is large, more rows wait than keys would be kept (6.10). Where
clusters say when a key can be dropped, there is a choice, and it is made for the smaller size over time: while keys are
kept, the join counts how many rows refer to them. Of these, by Little's law, k for each arriving row would wait. If
that is less than the keys, they are not kept, until k doubles.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Rows
from penstock.closing.join_variables import columns_of
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import ByCluster, ByNo, ByOrder, InTime
from penstock.kernels.purge import TIME
from penstock.plan.constraint_report import ConstraintReport
from penstock.retention.arrivals import Arrivals
from penstock.retention.closing_state import ClosingState
from penstock.retention.left_rows import LeftRows
from penstock.retention.monitors import Monitors
from penstock.retention.notification import Notification
from penstock.retention.retained_join import RetainedJoin
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.memory import Ints

Bools = NDArray[np.bool_]

#: So few keys are not examined, and others when there are so many times as many as were left the last time.
FEW_KEYS, MORE_KEYS = 1024, 1.25
#: So many rows are counted at least before the join chooses whether keys are kept.
PANE = 1000
#: What a choice goes by: whether keys are not kept, since which clock it is counted, how many rows would have waited
#: since then, summed over the rows that came, and k when it was last chosen.
_NOT_KEPT, _BEGAN, _WAITED, _K = range(4)
NoCloser = InTime | ByOrder | ByCluster


class NoComponents:
    """Keeps the keys of a join's No rows for as long as rows ask for them."""

    def __init__(
        self, join: RetainedJoin, closing_state: ClosingState, monitors: Monitors, notification: Notification
    ) -> None:
        node, memory = join.node, join.memory
        self._core, self._closing, self._monitors = join.inputs, closing_state, monitors
        self._rules = {n: rule for n, rule in enumerate(node.rules) if isinstance(rule, ByNo)}
        self._notification = notification
        #: By rule and input that may ask, the rules that say that it will not.
        self._closers = {n: [list(_closers(node, rule, h)) for h in _askers(rule)] for n, rule in self._rules.items()}
        self._names = {n: _name(node, rule) for n, rule in self._rules.items()}
        self._choices = {n: memory.scope("rule", n).array("choice", 4) for n, rule in self._rules.items() if rule.late}
        self._left = {n: memory.scope("rule", n).array("left", 1) for n in self._rules}
        windows = {rule.target: node.operands[rule.target] for rule in self._rules.values() if rule.is_kept}
        self._left_rows = {
            target: LeftRows(memory.scope("left_rows", target), scan.spec.count)
            for target, scan in windows.items()
            if isinstance(scan, Scan) and isinstance(scan.spec, Rows)
        }
        self._transient: list[tuple[int, Ints]] = []

    def reports(self) -> list[ConstraintReport]:
        """Where there is a choice, whether keys are kept."""
        return [ConstraintReport(self._names[number], None, self._keeps(number)) for number in self._choices]

    def choose(self, rows: Arrivals) -> None:
        """Counts arriving rows, after the keys of this step, and chooses whether keys are kept."""
        for target, left in self._left_rows.items():
            left.arrive(rows.times(target))
        for number, choice in self._choices.items():
            late = self._rules[number].late
            limits = [limit for rule in late if (limit := self._monitors.limit(rule.k)) is not None]
            clock, largest = self._closing.clock(late[0].ticks), max(limits, default=0)
            lasted = clock - int(choice[_BEGAN])
            if len(limits) < len(late) or (choice[_NOT_KEPT] and largest >= 2 * choice[_K]):
                # Without k nothing else notifies them; and where it has grown, more would wait than was counted.
                choice[:4] = 0, clock, 0, 0
            elif not choice[_NOT_KEPT]:
                choice[_WAITED] += sum(map(int.__mul__, limits, self._asking(number, rows)))
                if lasted >= max(PANE, largest):
                    is_less = int(choice[_WAITED]) // lasted < len(self._closing.evidence[number])
                    choice[:4] = is_less, clock, 0, max(largest, 1)

    def _asking(self, number: int, rows: Arrivals) -> Iterator[int]:
        """How many rows of each input that is notified late refer to keys that are kept."""
        for rule in self._rules[number].late:
            keys, _ = rows.of(rule.source, self._rules[number].variables)
            yield int((self._closing.evidence[number].words(keys.values) != MISSING).sum())

    def _keeps(self, number: int) -> bool:
        """Whether keys are kept for longer than a step."""
        if number in self._choices:
            return not self._choices[number][_NOT_KEPT]
        return bool(self._rules[number].awaited)

    def left(self, target: int, slots: Ints) -> None:
        """Notes for this step the keys of an input's rows that leave their window now (6.3.2)."""
        for number, rule in self._rules.items():
            if rule.target == target and self._notification.is_asked_for(number):
                keys = self._core.keys(target, rule.variables, slots)
                new = self._closing.evidence[number].note(keys, self._core.inputs[target].store.starts[slots])
                self._transient.append((number, new))

    def gone(self, target: int, slots: Ints, at_once: bool) -> None:
        """Notes the keys of an input's rows that are dropped now, for rows that wait for them later, or `at_once`."""
        for number, rule in self._rules.items():
            if rule.target == target and (at_once or rule.is_kept):
                keys = self._core.keys(rule.target, rule.variables, slots)
                starts = self._core.inputs[rule.target].store.starts[slots]
                open_ = ~self._is_needless(number, keys, starts)
                self._closing.evidence[number].note(keys[open_], starts[open_])

    def purge(self) -> None:
        """Drops keys that no row will ask for, when there are many more than were left the last time."""
        for number, keys in self._transient:
            self._closing.evidence[number].forget_keys(keys)
        self._transient = []
        for number in self._rules:
            kept, left = self._closing.evidence[number], self._left[number]
            if not self._keeps(number):
                kept.clear()
            elif len(kept) > max(FEW_KEYS, MORE_KEYS * int(left[0])):
                slots, keys, starts = kept.entries()
                kept.forget(slots[self._is_needless(number, keys, starts)])
                left[0] = len(kept)

    def asks(self, cluster: ByCluster, keys: Ints) -> Bools:
        """Which keys of clusters are those of No rows that the cluster may let go."""
        found = np.zeros(len(keys), np.bool_)
        for number, rule in self._rules.items():
            if cluster.variables == rule.variables and cluster.target in _askers(rule):
                found |= self._closing.evidence[number].words(keys) != MISSING
        return found

    def _is_needless(self, number: int, keys: Ints, starts: Ints) -> Bools:
        """Whether no row asks for these keys any more; keys for which none asks later are noted still."""
        needless = np.full(len(keys), self._keeps(number))
        for closers in self._closers[number]:
            closed = np.zeros(len(keys), np.bool_)
            for closer_number, closer in closers:
                closed |= self._is_closed(closer_number, closer, self._rules[number], keys, starts)
            needless &= closed
        left = self._left_rows.get(self._rules[number].target)
        if left is not None and self._keeps(number):
            needless |= starts < left.until()
        return needless

    def _is_closed(self, number: int, closer: NoCloser, rule: ByNo, keys: Ints, starts: Ints) -> Bools:
        clock = self._closing.clocks[self._closing.clock_of(number)]
        closed = np.zeros(len(keys), np.bool_)
        match closer:
            case InTime(reach=reach) if (limit := self._monitors.limit(reach)) is not None:
                closed = self._closing.clocks[TIME] > starts + limit
            case ByOrder(variables=(variable,)):
                closed = keys[:, rule.variables.index(variable)] < clock
            case ByCluster(k=k) if (limit := self._monitors.limit(k)) is not None:
                since = self._closing.evidence[number].words(keys)
                closed = (since != MISSING) & (clock > since + limit)
        return closed


def _askers(rule: ByNo) -> tuple[int, ...]:
    """The inputs for which keys may be kept."""
    return rule.awaited or tuple(late.source for late in rule.late)


def _name(node: PhysicalJoin, rule: ByNo) -> str:
    columns = columns_of(node, rule.target, rule.variables)
    return f"{columns[0].scope}: No of ({', '.join(column.name for column in columns)})"


def _closers(node: PhysicalJoin, rule: ByNo, asking: int) -> Iterator[tuple[int, NoCloser]]:
    """The rules that say when an input brings no more rows that ask for a key."""
    for number, other in enumerate(node.rules):
        match other:
            case InTime(target, source) if (target, source) == (asking, rule.target):
                yield number, other
            case ByOrder(target, variables) if target == asking and set(variables) <= set(rule.variables):
                yield number, other
            case ByCluster(target, variables) if target == asking and variables == rule.variables:
                yield number, other
