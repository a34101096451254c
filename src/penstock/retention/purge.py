"""Purge: a join forgets the rows of its inputs that can join nothing new, and what told it so.

A row is looked at when it comes, and when what it waits for has happened: a clock has reached a value, or something
with certain values has come. So the work follows what happens, not what is stored. The rules are those of
`closing/rules.py`, and `kernels/purge.py` chains them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from penstock.closing.join_variables import columns_of, inputs_with_variables, is_monotone
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import (
    AfterRows,
    ByCluster,
    ByKey,
    ByLifespan,
    ByNo,
    ByOrder,
    ByPunctuation,
    Estimate,
    Static,
    k_of,
)
from penstock.kernels import purge as kernel
from penstock.kernels.clock_waits import no_clocks, set_clocks
from penstock.kernels.evidence import watch_hashes
from penstock.kernels.pointers import address
from penstock.kernels.star import look
from penstock.plan.constraint_report import ConstraintReport
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.probe_paths import Probe
from penstock.retention.arrivals import Arrivals
from penstock.retention.closing_state import ClosingState
from penstock.retention.evidence_purge import EvidencePurge
from penstock.retention.monitors import Monitors
from penstock.retention.no_components import NoComponents
from penstock.retention.notification import Notification, OfKeys
from penstock.retention.punctuation_purge import PunctuationPurge
from penstock.retention.purge_queue import PurgeQueue
from penstock.retention.purge_tables import PurgeTables, wanted_variables
from penstock.retention.rejection import Rejection
from penstock.retention.rows import SlotsByInput, by_input, in_one
from penstock.retention.spill import Spill, Told, counted
from penstock.retention.sweep import Holder, RowCodeOwner
from penstock.retention.wait_timeout import WaitTimeout
from penstock.retention.windows import PurgeableWindow, RecallableWindow
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.events import Events
from penstock.synopsis.indexed_inputs import IndexedInputs
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.store import BySlot
from penstock.synopsis.watch_list import WatchList

#: By slot, of rows that note nothing.
NO_WAITS = np.zeros((0, 0), np.int64)


class Purge:
    """The purge of one join. `windows` are those of the inputs whose rows may be forgotten."""

    def __init__(
        self,
        memory: Memory,
        name: str,
        node: PhysicalJoin,
        core: IndexedInputs,
        paths: Sequence[tuple[Probe, ...]],
        windows: Mapping[int, PurgeableWindow],
        retracts: bool,
        dictionary: Dictionary,
        copies: Sequence[int],
        forgetting: Forgetting = EAGER,
        folder: Path | None = None,
        once: Collection[int] = (),
    ) -> None:
        """`folder`: where rows are spilled to, if some of the rules are probable only.

        `once`: inputs whose rows go as soon as they are in a result, whatever may join them.
        """
        self._memory, self._name, self._core, self._windows = memory, name, core, windows
        self._paths = paths
        self.node = node
        #: Whether results are taken back, so that rows that are in one must stay.
        self._retracts = retracts
        self._closing = ClosingState(memory, name, node)
        self._monitors = Monitors(memory, f"{name}.monitor", node, core, self._closing, dictionary, copies, retracts)
        self._dictionary = dictionary
        self._watches = WatchList(memory, f"{name}.watch", len(core.inputs))
        self.spill = self._spills(folder) if node.probable else None
        self._punctuations = PunctuationPurge(memory, name, node, core, self._closing, self._holds)
        self._held = inputs_with_variables(node)
        self._noted = {
            number: BySlot(memory, f"{name}.stamps{number}", core.inputs[rule.source].store)
            for number, rule in enumerate(node.rules)
            if isinstance(rule, AfterRows)
        }
        self._keys = [(number, rule) for number, rule in enumerate(node.rules) if isinstance(rule, ByKey)]
        self._found_orders = [
            (number, rule.k)
            for number, rule in enumerate(node.rules)
            if isinstance(rule, ByOrder) and isinstance(rule.k, Estimate)
        ]
        self._tables = PurgeTables(node, core, self._closing, self._monitors, self._stamps)
        self._notification = notification = Notification.of(
            node, self._tables, windows, once, stays=retracts, tests=core.has_test
        )
        self._stars = {n: self._tables.star(n, retracts, set(notification.unasked(n))) for n in notification.stars}
        #: Of inputs whose rows are told of keys and wait for clocks only, how these stood (`kernels/clock_waits.py`).
        self._clocked = {n: no_clocks(self._stars[n]) for n in notification.stars if self._wait_for_clocks(n)}
        self._asking = {n: self._tables.star(n, stays=True, without=notification.passing) for n in self._clocked}
        self._awaited = {
            number: BySlot(memory, f"{name}.waits{number}", core.inputs[number].store, self._tables.clock_count)
            for number in windows
            if number not in self._clocked
        }
        # What may have to be taken back waits for its window, and who is under one for nothing else.
        endless = [] if retracts else [n for n in windows if is_monotone(node.operands[n])]
        self.wait_timeout = WaitTimeout(memory, name, core, endless, forgetting.give_up)
        self.ruled_out = Rejection(memory, name, node, core, self._closing, dictionary)
        self._passing = notification.passing
        self._no = NoComponents(memory, name, node, core, self._closing, self._monitors, notification)
        self._evidence = EvidencePurge(
            memory, name, node, core, self._closing, self._monitors, self._no, self._punctuations
        )
        self._queue = PurgeQueue(memory, name, core, {*notification.looked_at, *once})
        self._forgetting = forgetting
        self._begin()
        #: By rule the keys that came as evidence, until those who wait for them have been woken.
        self._learned: list[tuple[int, Ints]] = []
        #: The rows that came since the last purge, and its instant.
        self._since = memory.array(f"{name}.since", 2)

    def __len__(self) -> int:
        """Entries of evidence, of who waits for more of it, and of what is monitored."""
        return len(self._closing) + len(self._watches) + len(self._monitors) + len(self._punctuations)

    @property
    def holders(self) -> list[Holder]:
        """What holds codes of interned values."""
        return (
            self._monitors.holders
            + self._punctuations.holders
            + [
                RowCodeOwner(entries.store.held_column, columns_of(self.node, rule.target, rule.variables))
                for number, rule in enumerate(self.node.rules)
                if isinstance(rule, ByPunctuation | ByLifespan | ByNo | ByCluster)
                for entries in [self._closing.evidence[number]]
            ]
        )

    @property
    def ended(self) -> Mapping[int, Ints]:
        """By rule the values for which the join gives no more results, as was found in the last step."""
        return self._punctuations.ended

    def reports(self) -> list[ConstraintReport]:
        reports = self._monitors.reports() + self._no.reports()
        return reports if self.spill is None else [replace(each, false_negatives=0.0) for each in reports]

    def _spills(self, folder: Path | None) -> Spill:
        assert folder is not None, "rows are spilled, and nobody says where"
        notes = {
            number: [partial(self._stamps, rule) for rule, _ in counted(self.node, number)] for number in self._windows
        }
        windows = cast(Mapping[int, RecallableWindow], self._windows)  # the plan sees to that
        return Spill(
            self._memory, self._name, self.node, self._core, self._paths, windows, notes, self._dictionary, folder
        )

    def gave(self, results: int) -> None:
        """So many results came out, since the last call."""
        self._monitors.gave(results)

    def learn(self, came: Sequence[Deltas], rows: Mapping[int, Deltas | Events], until: int) -> None:
        """Takes evidence, and sees the rows that come, or may come where not all are let in."""
        for number, times, keys, new in self._closing.learn(came, until, self._passing):
            self._punctuations.came(number, times, keys)
            self._learned.append((number, new))
        coming = Arrivals(rows, self._core)
        self._monitors.observe(coming)
        self._no.choose(coming)
        for number, k in self._found_orders:
            self._closing.clocks[self._closing.clock_of(number)] = self._monitors.passed(k)

    def wake(self, events: Sequence[Events]) -> None:
        """Wakes who waits for keys that came."""
        for number, rule in self._keys:
            if len(self._watches) or self._notification.woken[number]:
                own = events[rule.target]
                slots = own.slots[own.signs > 0]
                if self.spill is not None:
                    slots = np.concatenate((slots, self.spill.back(rule.target)))
                if len(slots):
                    self._wake(number, self._core.keys(rule.target, rule.variables, slots))

    def bring_back(self, events: Sequence[Events], until: int) -> Mapping[int, Events]:
        """Brings back what is on disk and may be in a result with a row that comes; all of these have entered.

        So comes what a punctuation may let go for good. Gives the events of those that leave in this step.
        """
        if self.spill is None:
            return {}
        leaving = self.spill.bring_back(events, list(self._told()), until)
        self._queue.examine({number: self.spill.back(number) for number in self._windows})
        return leaving

    def _told(self) -> Iterator[Told]:
        """Of which rows a punctuation has come. Where one might have to stay then, it is left on disk."""
        if self._retracts or (len(self._core.inputs) > 2 and not self._has_limits()):
            return
        for number, keys in self._learned:
            rule = self.node.rules[number]
            if isinstance(rule, ByPunctuation) and len(keys):
                held = set.intersection(*(self._held[v] for v in rule.variables)) - {rule.target}
                yield from ((holder, rule.variables, keys) for holder in held & self._windows.keys())

    def _wake(self, number: int, keys: Ints, *, is_no: bool = False) -> None:
        """Rows that may wait for keys by a rule are looked at: those that have them, and those that watch for them.

        Where what has the key can be in no result, the first can go.
        """
        rule = self.node.rules[number]
        assert isinstance(rule, OfKeys)
        for holder in self._notification.waiting[number]:
            if is_no:
                self._queue.drop_those_with(holder, rule.variables, keys)
            elif holder in self._notification.woken[number]:
                self._queue.examine_those_with(holder, rule.variables, keys)
        if len(self._watches):
            self._queue.examine(
                by_input(*self._watches.waiting_for(watch_hashes(number, keys)), self._notification.looked_at)
            )

    def _leave(self, number: int, events: Events) -> None:
        """Rows leave their window. Those who wait for more than the key of one go: no result would tell them."""
        rules = [(n, rule) for n, rule in self._keys if rule.target == number]
        if rules and len(slots := events.slots[events.signs < 0]):
            self._no.left(number, slots)
            for rule_number, rule in rules:
                keys = self._core.keys(number, rule.variables, slots)
                for holder in self._notification.told[rule_number]:
                    self._queue.drop_those_with(holder, rule.variables, keys)

    def _wake_partners(self, number: int, events: Events) -> None:
        """Rows leave their window, and nobody could know when. Those that join them may have waited for that.

        Who waits because of a row that another one joins hears of it later: when it is twice as old.
        """
        slots = events.slots[events.signs < 0]
        if len(slots) and (self._retracts or len(self._core.inputs) > 2):
            inputs = np.full(len(slots), number, np.int64)
            partners = kernel.partners(inputs, slots, self._tables.tables())
            self._queue.examine(by_input(*partners, self._notification.looked_at))

    def step(self, events: Sequence[Events], entered: Sequence[Events], found: Ints) -> None:
        """Forgets what can go after these events, of which these entered the join.

        `found` are the results that came about, as slots.
        """
        self._stamp(events)
        for number in self._windows:
            self._queue.came(number, events[number])
            self._forget_outsiders(number, events[number], entered[number])
        for number, own in enumerate(events):
            self._leave(number, own)
            if number in self._tables.leaving_at_times_unknown:
                self._wake_partners(number, own)
        for number, keys in self._learned:
            self._wake(self._notification.key_of[number], keys, is_no=isinstance(self.node.rules[number], ByNo))
        self._learned = []
        for number in self._notification.once:
            self._queue.drop(number, found[:, number])
        if self._monitors.lets_go:
            # A k has become smaller, and anybody may have waited for more.
            self._queue.examine_all()
        if self._forgetting.is_lazy and not self._is_due(sum(map(len, events))):
            self._punctuations.put_off()
            self._no.forget()
            return
        self._purge()
        if self.spill is not None:
            self._put_back(self.spill)
        if any(map(len, (late := self.wait_timeout.late(int(self._closing.clocks[kernel.TIME]))).values())):
            self._drop(late)
        self._punctuations.forget(all_that_came=self._forgetting.is_lazy)
        self._no.forget()
        self._evidence.forget()
        self._release()
        if self.spill is not None:
            self.spill.write(int(self._closing.clocks[kernel.TIME]))

    def _is_due(self, rows: int) -> bool:
        """Whether enough has come since the last purge, which then is now."""
        now, lazy = int(self._closing.clocks[kernel.TIME]), self._forgetting
        self._since[0] += rows
        enough = lazy.rows is not None and self._since[0] >= lazy.rows
        if enough or (lazy.time is not None and now - self._since[1] >= lazy.time):
            self._since[:2] = 0, now
            return True
        return False

    def _drop(self, gone: SlotsByInput) -> None:
        """Forgets rows, whatever may join them."""
        if len(self._watches):
            self._watches.drop(*in_one(gone), self._capacities())
        self._forget(gone)

    def _purge(self) -> None:
        """Looks at the rows that are to be looked at, and forgets those that can go.

        None need be looked at again because another went. Had one kept it there, a binding of both waits for what lets
        the other go, by the same rules and at the same time; and so does the row itself.
        """
        todo = {number: self._take(number) for number in self._queue.numbers}
        dropped = {number: slots for number, (_, slots) in todo.items() if len(slots)}
        if dropped:
            self._drop(dropped)
        tables, rules = self._tables.tables(), self._tables.rules()
        gone, unsure = {}, {}
        for number in self._notification.looked_at:
            slots, _ = todo[number]
            gone[number], unsure[number] = self._look(number, slots, tables, rules)
        for number, slots in self._examine(unsure, tables, rules).items():
            gone[number] = np.concatenate((gone[number], slots))
        if self.spill is not None:
            self._keep_probable(gone, tables, self.spill)
        self._forget(gone, looks_again=self.spill is not None)

    def _take(self, number: int) -> tuple[Ints, Ints]:
        """The rows of an input that are to be looked at, and those to be dropped."""
        is_waiting = number in self._awaited and number in self._notification.looked_at
        waits = self._waits(number) if is_waiting else NO_WAITS
        return self._queue.take(number, waits, self._tables.clocks()[: waits.shape[1]])

    def _look(self, number: int, slots: Ints, tables: kernel.Tables, rules: kernel.Rules) -> tuple[Ints, Ints]:
        """Those of the rows that can go, and those of which a star cannot say it."""
        if not len(slots) and number not in self._clocked:
            return slots, slots
        if number in self._clocked:
            clocked, oldest = self._clocked[number], self._windows[number].oldest()
            closes = set_clocks(self._stars[number], tables, rules, oldest, clocked)
            closed = self._queue.new_and_closed(number, slots, clocked, closes=closes)
            return look(closed, self._asking[number], tables, rules, 0)
        if number in self._stars:
            return look(slots, self._stars[number], tables, rules, address(self._waits(number)))
        return slots[:0], slots

    def _wait_for_clocks(self, number: int) -> bool:
        """Whether an input's rows are told of all keys, and wait for nothing else but clocks."""
        notification = self._notification
        return (
            self.spill is None
            and notification.is_notified_of_all(number)
            and self._tables.wait_for_clocks(number, set(notification.unasked(number)))
        )

    def _stamp(self, events: Sequence[Events]) -> None:
        """Notes with rows that came how many rows of the other stream there were then."""
        for number in self._noted:
            rule = self.node.rules[number]
            assert isinstance(rule, AfterRows)
            self._closing.stamp(rule.ticks, events[rule.source], self._stamps(number))

    def _stamps(self, number: int) -> Ints:
        """What is noted with the rows of the source of a rule."""
        return self._noted[number].array()

    def _waits(self, number: int) -> Ints:
        """By slot what each clock has to reach for a row to be looked at."""
        return self._awaited[number].array()

    def _forget_outsiders(self, number: int, events: Events, entered: Events) -> None:
        """Rows that came and are not in the join: with a NULL where they would join, or ruled out."""
        if len(entered) < len(events):
            came, left = events.slots[events.signs > 0], events.slots[events.signs < 0]
            self._windows[number].forget(np.setdiff1d(came[self._core.visibility(number)[came] == 0], left))

    def _examine(self, chosen: SlotsByInput, tables: kernel.Tables, rules: kernel.Rules) -> SlotsByInput:
        """Those of the rows that can go; the others wait."""
        inputs, slots = in_one(chosen)
        if not len(slots):
            return {}
        capacities = self._capacities()
        self._watches.drop(inputs, slots, capacities)
        gone, watching, hashes = kernel.examine(inputs, slots, self._retracts, tables, rules, self._wakes())
        self._watches.add(hashes, inputs[watching], slots[watching], capacities)
        return by_input(inputs[gone], slots[gone], chosen)

    def _wakes(self) -> Ints:
        """The addresses of what clocks have to reach."""
        numbers = range(len(self._core.inputs))
        return np.array([address(self._waits(n)) if n in self._awaited else 0 for n in numbers], np.int64)

    def _keep_probable(self, gone: SlotsByInput, tables: kernel.Tables, spill: Spill) -> None:
        """Spills those of the rows that go that other rules than the probable ones would not let go."""
        rules = self._tables.rules(without=self.node.probable)
        inputs, slots = in_one(gone)
        certain, *_ = kernel.examine(inputs, slots, self._retracts, tables, rules, self._wakes(), spill.filters())
        for number, probable in by_input(np.delete(inputs, certain), np.delete(slots, certain), gone).items():
            spill.keep(number, probable)

    def _put_back(self, spill: Spill) -> None:
        """Spills again what was brought back in this step and is still there: what told it to go may be forgotten.

        Not where rows of results must stay, nor while a k is not known: then it may well be asked for again.
        """
        if self._retracts or not self._has_limits():
            return
        back = {number: self._alive(number, spill.back(number)) for number in self._windows}
        if any(map(len, back.values())):
            for number, slots in back.items():
                spill.keep(number, slots)
            self._drop(back)
            self._queue.examine(
                by_input(*kernel.partners(*in_one(back), self._tables.tables()), self._notification.looked_at)
            )
            self._purge()

    def _has_limits(self) -> bool:
        """Whether each k is known by which rows are spilled."""
        return None not in (self._monitors.limit(k) for rule in self.node.probable if (k := k_of(rule)) is not None)

    def _alive(self, number: int, slots: Ints) -> Ints:
        """Those of the rows that are in the join."""
        alive: Ints = slots[self._core.visibility(number)[slots] != 0]
        return alive

    def _holds(self, number: int, variables: tuple[int, ...], keys: Ints) -> NDArray[np.bool_]:
        """Whether an input has a row with each key, in memory or on disk."""
        held = self._core.holds(number, variables, keys)
        return held if self.spill is None else held | self.spill.holds(number, variables, keys)

    def _forget(self, gone: SlotsByInput, *, looks_again: bool = True) -> None:
        """Rows go. If others will be looked at in this step, they hear of it."""
        self._punctuations.gone(gone)
        for number, slots in gone.items():
            if len(slots):
                self._no.gone(number, slots, looks_again)
                self._core.forget(number, slots)
                self._released[number].append(slots)

    def _release(self) -> None:
        """Takes the rows that were forgotten in this step out of their windows."""
        for number, slots in self._released.items():
            if slots:
                self._windows[number].forget(np.concatenate(slots))
        self._begin()

    def _begin(self) -> None:
        self._released: dict[int, list[Ints]] = {number: [] for number in self._windows}

    def _capacities(self) -> list[int]:
        return [source.store.capacity for source in self._core.inputs]


def looked_up(node: PhysicalJoin) -> set[tuple[int, tuple[int, ...]]]:
    """By which variables the purge looks for rows of which inputs."""
    held = inputs_with_variables(node)
    wanted = {(rule.target, wanted_variables(rule, held)) for rule in node.rules if not isinstance(rule, Static)}
    for rule in node.rules:
        if isinstance(rule, OfKeys):
            wanted |= {(n, rule.variables) for n in set.intersection(*(held[v] for v in rule.variables))}
    for monitor in node.monitors:
        wanted |= {(n, monitor.variables) for n in set.intersection(*(held[v] for v in monitor.variables))}
    return wanted
