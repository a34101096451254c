"""Purge: a join drops the rows of its inputs that can join nothing new, and the evidence that no row will ask for.

It puts the parts of retention in order: closing state, monitors of k, pending rows, No components, evidence, spill and
wait timeout. The rules are those of `closing/rules.py`; `kernels/purge.py` chains them (004, section 5; thesis 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from penstock.closing.join_variables import inputs_with_variables, is_monotone
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.closing.rules import ByCluster, ByKey, ByLifespan, ByNo, ByOrder, ByPunctuation, Estimate, Static, k_of
from penstock.kernels import purge as kernel
from penstock.plan.constraint_report import ConstraintReport
from penstock.plan.forgetting import Forgetting
from penstock.plan.settings import Settings
from penstock.retention.arrivals import Arrivals
from penstock.retention.closing_state import ClosingState
from penstock.retention.code_owners import CodeOwner
from penstock.retention.evidence_purge import EvidencePurge
from penstock.retention.monitors import Monitors
from penstock.retention.no_components import NoComponents
from penstock.retention.notification import Notification, OfKeys
from penstock.retention.pending_rows import PendingRows
from penstock.retention.punctuation_purge import PunctuationPurge
from penstock.retention.purge_schedule import PurgeSchedule
from penstock.retention.purge_tables import PurgeTables, wanted_variables
from penstock.retention.rejection import Rejection
from penstock.retention.retained_join import RetainedJoin
from penstock.retention.rows import SlotsByInput, by_input, in_one
from penstock.retention.spill import NotifiedRows, Spill
from penstock.retention.stamps import Stamps
from penstock.retention.wait_timeout import WaitTimeout
from penstock.retention.waiting import Waiting
from penstock.retention.windows import PurgeableWindow
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.events import Events
from penstock.synopsis.memory import Ints


class Purge:
    """The purge of one join. `windows` are those of the inputs whose rows may be dropped."""

    def __init__(
        self,
        join: RetainedJoin,
        windows: Mapping[int, PurgeableWindow],
        stamps: Stamps,
        settings: Forgetting,
        spill: Spill | None = None,
    ) -> None:
        self._join, self._windows, self._stamps, self.spill = join, windows, stamps, spill
        self._schedule = PurgeSchedule(join.memory, settings)
        self._closing = ClosingState(join)
        self._monitors = Monitors(join, self._closing)
        self._tables = PurgeTables(join, self._closing, self._monitors, stamps)
        # A left row of a semi-join needs one match.
        once = () if self.node.kind is JoinKind.JOIN else (0,)
        self._notification = Notification.of(join, self._tables, windows, once)
        #: What pending rows wait for, if somebody asks.
        self.waiting = Waiting(join, windows, self._tables)
        self._pending = PendingRows(join, windows, self._tables, self._notification, spills=spill is not None)
        self._punctuations = PunctuationPurge(join, self._closing, self._holds)
        self._no = NoComponents(join, self._closing, self._monitors, self._notification)
        self._evidence = EvidencePurge(join, self._closing, self._monitors, self._no, self._punctuations)
        self.rejection = Rejection(join, self._closing)
        # What may have to be taken back waits for its window, and rows under a window wait for nothing else.
        endless = [] if join.retracts else [n for n in windows if is_monotone(self.node.operands[n])]
        self.wait_timeout = WaitTimeout(join, endless, settings.wait_timeout)
        self._keys = [(number, rule) for number, rule in enumerate(join.rules) if isinstance(rule, ByKey)]
        self._estimated_orders = [
            (number, rule.k)
            for number, rule in enumerate(join.rules)
            if isinstance(rule, ByOrder) and isinstance(rule.k, Estimate)
        ]
        #: By input the slots of rows that were found in results of this step, and are dropped with them.
        self._in_results: dict[int, list[Ints]] = {}
        #: By rule the keys that arrived as evidence, until rows that wait for them have been notified.
        self._learned: list[tuple[int, Ints]] = []
        self._begin()

    def __len__(self) -> int:
        """Entries of evidence, of the watch list, and of what monitors remember."""
        return len(self._closing) + len(self._pending) + len(self._monitors) + len(self._punctuations)

    @property
    def node(self) -> PhysicalJoin:
        return self._join.node

    @property
    def code_owners(self) -> list[CodeOwner]:
        """What stores codes of interned values."""
        evidence = [
            self._join.code_owner(self._closing.evidence[number].store.held_column, rule.target, rule.variables)
            for number, rule in enumerate(self._join.rules)
            if isinstance(rule, ByPunctuation | ByLifespan | ByNo | ByCluster)
        ]
        return [*self._monitors.code_owners, *self._punctuations.code_owners, *evidence]

    @property
    def ended(self) -> Mapping[int, Ints]:
        """By rule the values for which the join gives no more results, as was found in the last step."""
        return self._punctuations.ended

    def reports(self) -> list[ConstraintReport]:
        reports = self._monitors.reports() + self._no.reports()
        return reports if self.spill is None else [replace(each, false_negatives=0.0) for each in reports]

    def adjust(self, settings: Settings) -> None:
        """Takes settings over between two steps."""
        self._schedule.settings = settings.forgetting
        self.wait_timeout.set(settings.forgetting.wait_timeout)
        self._monitors.adjust(settings)

    def gave(self, results: int) -> None:
        """Counts results of the join, for the monitors."""
        self._monitors.gave(results)

    def learn(self, evidence: Sequence[Deltas], arrivals: Mapping[int, Deltas | Events], until: int) -> None:
        """Takes evidence, and shows the monitors the rows that arrive, or might where not all are admitted."""
        for number, times, keys, new in self._closing.learn(evidence, until, self._notification.transient):
            self._punctuations.arrived(number, times, keys)
            self._learned.append((number, new))
        rows = Arrivals(arrivals, self._join.inputs)
        self._monitors.observe(rows)
        self._no.choose(rows)
        for number, k in self._estimated_orders:
            self._closing.clocks[self._closing.clock_of(number)] = self._monitors.passed(k)

    def notify(self, entered: Sequence[Events]) -> None:
        """Notifies rows that wait for keys of the rows with these keys that have entered the join."""
        for number, rule in self._keys:
            if self._pending.may_wait(number):
                own = entered[rule.target]
                slots = own.slots[own.signs > 0]
                if self.spill is not None:
                    slots = np.concatenate((slots, self.spill.back(rule.target)))
                if len(slots):
                    self._pending.notify(number, self._join.inputs.keys(rule.target, rule.variables, slots))

    def bring_back(self, entered: Sequence[Events], until: int) -> Mapping[int, Events]:
        """Brings back rows on disk that may be in a result with a row that arrives; all of these have entered.

        It also brings back rows that a punctuation may let it drop for good. Gives the events of those that leave
        their windows in this step.
        """
        if self.spill is None:
            return {}
        leaving = self.spill.bring_back(entered, list(self._notified()), until)
        self._pending.queue.examine({number: self.spill.back(number) for number in self._windows})
        return leaving

    def _notified(self) -> Iterator[NotifiedRows]:
        """Rows of which a punctuation has arrived. Where one might have to be retained then, it is left on disk."""
        if self._join.retracts or (len(self._join.inputs.inputs) > 2 and not self._has_limits()):
            return
        with_variables = inputs_with_variables(self.node)
        for number, keys in self._learned:
            rule = self._join.rules[number]
            if isinstance(rule, ByPunctuation) and len(keys):
                own = set.intersection(*(with_variables[v] for v in rule.variables)) - {rule.target}
                yield from ((waiting, rule.variables, keys) for waiting in own & self._windows.keys())

    @property
    def asks_for_rows(self) -> bool:
        """Whether it has to know of each result of which rows it is."""
        return bool(self._notification.once) or self.wait_timeout.is_set

    def found(self, slots: Ints) -> None:
        """Notes results of this step, as slots: some rows are dropped as soon as they are in one."""
        for number in self._notification.once:
            self._in_results.setdefault(number, []).append(np.unique(slots[:, number]))

    def step(self, events: Sequence[Events], entered: Sequence[Events]) -> None:
        """Drops what can be dropped after these events, of which these entered the join."""
        self._stamps.stamp(events, self._closing)
        queue, now = self._pending.queue, self._closing.now
        for number in self._windows:
            queue.arrived(number, events[number])
            self._drop_outsiders(number, events[number], entered[number])
        for number, own in enumerate(events):
            self._leave(number, own.slots[own.signs < 0])
        for number, keys in self._learned:
            is_no = isinstance(self._join.rules[number], ByNo)
            self._pending.notify(self._notification.key_of[number], keys, is_no=is_no)
        self._learned = []
        for number, found in self._in_results.items():
            queue.drop(number, np.concatenate(found))
        self._in_results = {}
        if self._monitors.lets_go:
            # A k has become smaller, and any row may have waited for more.
            queue.examine_all()
        if not self._schedule.is_due(sum(map(len, events)), now):
            self._punctuations.put_off()
            self._no.purge()
            return
        self._purge()
        if self.spill is not None:
            self._spill_again(self.spill)
        late = self.wait_timeout.late(now)
        if any(map(len, late.values())):
            self._drop_unexamined(late)
        self._punctuations.purge(all_that_arrived=self._schedule.ends_pause)
        self._no.purge()
        self._evidence.purge()
        self._release()
        if self.spill is not None:
            self.spill.write(now)

    def _leave(self, number: int, slots: Ints) -> None:
        """Rows leave their window. Rows that wait for more than the key of one are dropped: no result would come."""
        if not len(slots):
            return
        rules = [(n, rule) for n, rule in self._keys if rule.target == number]
        if rules:
            self._no.left(number, slots)
        for rule_number, rule in rules:
            keys = self._join.inputs.keys(number, rule.variables, slots)
            for waiting in self._notification.by_result[rule_number]:
                self._pending.queue.drop_those_with(waiting, rule.variables, keys)
        has_partners = self._join.retracts or len(self._join.inputs.inputs) > 2
        if has_partners and number in self._tables.leaving_at_times_unknown:
            self._pending.notify_partners({number: slots})

    def _purge(self) -> None:
        """Examines the candidates, and drops those that can be dropped.

        No row need be examined again because another was dropped. Had one retained it, a binding of both waits for what
        lets the other go, by the same rules and at the same time; and so does the row itself.
        """
        candidates, dropped = self._pending.take()
        if dropped:
            self._drop_unexamined(dropped)
        tables, rules = self._tables.tables(), self._tables.rules()
        gone = self._pending.examined(candidates, tables, rules)
        if self.spill is not None:
            self._spill_probable(gone, tables, self.spill)
        self._drop(gone, examines_again=self.spill is not None)

    def _drop_outsiders(self, number: int, events: Events, entered: Events) -> None:
        """Drops rows that arrived and are not in the join: with a NULL where they would join, or rejected."""
        if len(entered) < len(events):
            arrived, left = events.slots[events.signs > 0], events.slots[events.signs < 0]
            is_absent = self._join.inputs.visibility(number)[arrived] == 0
            self._windows[number].forget(np.setdiff1d(arrived[is_absent], left))

    def _drop_unexamined(self, gone: SlotsByInput) -> None:
        """Drops rows, whatever may join them."""
        self._pending.unwatch(gone)
        self._drop(gone)

    def _drop(self, gone: SlotsByInput, *, examines_again: bool = True) -> None:
        """Takes rows from the join. If others will be examined in this step, they are notified."""
        self._punctuations.gone(gone)
        for number, slots in gone.items():
            if len(slots):
                self._no.gone(number, slots, examines_again)
                self._join.inputs.forget(number, slots)
                self._released[number].append(slots)

    def _release(self) -> None:
        """Takes the rows that were dropped in this step out of their windows."""
        for number, slots in self._released.items():
            if slots:
                self._windows[number].forget(np.concatenate(slots))
        self._begin()

    def _begin(self) -> None:
        self._released: dict[int, list[Ints]] = {number: [] for number in self._windows}

    def _spill_probable(self, gone: SlotsByInput, tables: kernel.Tables, spill: Spill) -> None:
        """Spills those of the rows that are dropped which only the probable rules let go."""
        rules = self._tables.rules(without=self.node.probable)
        inputs, slots = in_one(gone)
        waits = self._pending.wait_addresses()
        certain, *_ = kernel.examine(inputs, slots, self._join.retracts, tables, rules, waits, spill.filters())
        for number, probable in by_input(np.delete(inputs, certain), np.delete(slots, certain), gone).items():
            spill.keep(number, probable)

    def _spill_again(self, spill: Spill) -> None:
        """Spills again what was brought back in this step and is still there: what let it go may be forgotten.

        Not where rows of results are retained, nor while a k is unknown: then it may well be asked for again.
        """
        if self._join.retracts or not self._has_limits():
            return
        back = {number: self._visible(number, spill.back(number)) for number in self._windows}
        if any(map(len, back.values())):
            for number, slots in back.items():
                spill.keep(number, slots)
            self._drop_unexamined(back)
            self._pending.notify_partners(back)
            self._purge()

    def _has_limits(self) -> bool:
        """Whether each k is known by which rows are spilled."""
        return None not in (self._monitors.limit(k) for rule in self.node.probable if (k := k_of(rule)) is not None)

    def _visible(self, number: int, slots: Ints) -> Ints:
        """Those of the rows that are in the join."""
        visible: Ints = slots[self._join.inputs.visibility(number)[slots] != 0]
        return visible

    def _holds(self, number: int, variables: tuple[int, ...], keys: Ints) -> NDArray[np.bool_]:
        """Whether an input has a row with each key, in memory or on disk."""
        held = self._join.inputs.holds(number, variables, keys)
        return held if self.spill is None else held | self.spill.holds(number, variables, keys)


def purge_indexes(node: PhysicalJoin) -> set[tuple[int, tuple[int, ...]]]:
    """The inputs and variables by which a purge finds rows."""
    held = inputs_with_variables(node)
    wanted = {(rule.target, wanted_variables(rule, held)) for rule in node.rules if not isinstance(rule, Static)}
    for rule in node.rules:
        if isinstance(rule, OfKeys):
            wanted |= {(n, rule.variables) for n in set.intersection(*(held[v] for v in rule.variables))}
    for monitor in node.monitors:
        wanted |= {(n, monitor.variables) for n in set.intersection(*(held[v] for v in monitor.variables))}
    return wanted
