"""Pending rows: the stored rows of a join that may be dropped, and what each of them waits for.

A row is a *candidate* when it arrives, and when what it waits for has happened: a clock has reached a value, or a row
or punctuation with certain values has arrived. So a purge examines rows to which something happened, not all:

    arrival, notification, clock ──▶ purge queue ──▶ examined ──▶ can be dropped
                                         ▲               │
                                         └── waits ◀─────┘  for clocks, by slot, or for values, by the watch list

`kernels/star.py` decides a block of rows where all rules speak of a row directly; `kernels/purge.py` follows bindings
from row to row, whatever the join graph.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.kernels import purge as kernel
from penstock.kernels.clock_waits import no_clocks, set_clocks
from penstock.kernels.evidence import watch_hashes
from penstock.kernels.pointers import address
from penstock.kernels.sets import among, distinct
from penstock.kernels.star import examine_star
from penstock.retention.notification import Notification, OfKeys
from penstock.retention.purge_queue import PurgeQueue
from penstock.retention.purge_tables import PurgeTables
from penstock.retention.retained_join import RetainedJoin
from penstock.retention.rows import SlotsByInput, by_input, in_one
from penstock.retention.windows import PurgeableWindow
from penstock.synopsis.memory import Ints
from penstock.synopsis.store import BySlot
from penstock.synopsis.watch_list import WatchList

#: By slot, of rows that note no waits.
NO_WAITS = np.zeros((0, 0), np.int64)


class PendingRows:
    """Of the inputs that have `windows` of which rows may be dropped. `spills`: whether some of them go to disk."""

    def __init__(
        self,
        join: RetainedJoin,
        windows: Mapping[int, PurgeableWindow],
        tables: PurgeTables,
        notification: Notification,
        *,
        spills: bool,
    ) -> None:
        self._join, self._windows, self._tables, self._notification = join, windows, tables, notification
        self._watches = WatchList(join.memory.scope("watch"), len(join.inputs.inputs))
        self._queue = PurgeQueue(join, {*notification.examined, *notification.once})
        self._stars = {n: tables.star(n, join.retracts, set(notification.unasked(n))) for n in notification.stars}
        #: Of inputs whose rows are notified of keys and wait for clocks only, the clocks (`kernels/clock_waits.py`).
        self._clocked = {
            n: no_clocks(self._stars[n])
            for n in notification.stars
            if not spills
            and notification.is_notified_of_all(n)
            and tables.wait_for_clocks(n, set(notification.unasked(n)))
        }
        self._asking = {n: tables.star(n, retained=True, without=notification.transient) for n in self._clocked}
        self._awaited = {
            n: BySlot(join.memory.scope("input", n), "waits", join.inputs.inputs[n].store, tables.clock_count)
            for n in windows
            if n not in self._clocked
        }

    def __len__(self) -> int:
        """Entries of the watch list."""
        return len(self._watches)

    @property
    def queue(self) -> PurgeQueue:
        """The rows that the next purge examines or drops."""
        return self._queue

    def notify(self, number: int, keys: Ints, *, is_no: bool = False) -> None:
        """Makes candidates of the rows that may wait for keys by a rule: those that have them, or watch for them.

        Where the row with a key can be in no result (`is_no`), the rows that have it can be dropped.
        """
        rule = self._join.rules[number]
        assert isinstance(rule, OfKeys)
        for waiting in self._notification.waiting[number]:
            if is_no:
                self._queue.drop_those_with(waiting, rule.variables, keys)
            elif waiting in self._notification.by_key[number]:
                self._queue.examine_those_with(waiting, rule.variables, keys)
        if len(self._watches):
            self.examine(*self._watches.waiting_for(watch_hashes(number, keys)))

    def may_wait(self, number: int) -> bool:
        """Whether some row may wait for a key by a rule."""
        return bool(len(self._watches) or self._notification.by_key[number])

    def notify_partners(self, gone: SlotsByInput) -> None:
        """Rows are gone at a time that was not known before: those that join them may have waited for that.

        So may rows that join these, and so on: a chain of bindings reaches each other input once at most.
        """
        tables, found, known = self._tables.tables(), in_one(gone), np.zeros((0, 2), np.int64)
        for _ in range(len(self._join.inputs.inputs) - 1):
            reached = distinct(np.stack(kernel.partners(*found, tables), axis=1))
            new = reached[~among(reached, known)]
            if not len(new):
                return
            known, found = np.concatenate((known, new)), (new[:, 0].copy(), new[:, 1].copy())
            self.examine(*found)

    def examine(self, inputs: Ints, slots: Ints) -> None:
        """Makes candidates of rows, those of inputs that may drop some."""
        self._queue.examine(by_input(inputs, slots, self._notification.examined))

    def take(self) -> tuple[SlotsByInput, SlotsByInput]:
        """The candidates, and the rows that are to be dropped unexamined; none of them is queued any more."""
        taken = {number: self._take(number) for number in self._queue.numbers}
        candidates = {number: taken[number][0] for number in self._notification.examined}
        return candidates, {number: slots for number, (_, slots) in taken.items() if len(slots)}

    def _take(self, number: int) -> tuple[Ints, Ints]:
        is_waiting = number in self._awaited and number in self._notification.examined
        waits = self._waits(number) if is_waiting else NO_WAITS
        return self._queue.take(number, waits, self._tables.clocks()[: waits.shape[1]])

    def examined(self, candidates: SlotsByInput, tables: kernel.Tables, rules: kernel.Rules) -> dict[int, Ints]:
        """Those of the candidates that can be dropped; the others wait."""
        gone, unsure = {}, {}
        for number, slots in candidates.items():
            gone[number], unsure[number] = self._examine_star(number, slots, tables, rules)
        for number, slots in self.followed(unsure, tables, rules).items():
            gone[number] = np.concatenate((gone[number], slots))
        return gone

    def _examine_star(self, number: int, slots: Ints, tables: kernel.Tables, rules: kernel.Rules) -> tuple[Ints, Ints]:
        """Those of the candidates that can be dropped, and those of which the rules of a star do not say it."""
        if not len(slots) and number not in self._clocked:
            return slots, slots
        if number in self._clocked:
            clocked, oldest = self._clocked[number], self._windows[number].oldest()
            closes = set_clocks(self._stars[number], tables, rules, oldest, clocked)
            closed = self._queue.new_and_closed(number, slots, clocked, closes=closes)
            return examine_star(closed, self._asking[number], tables, rules, 0)
        if number in self._stars:
            return examine_star(slots, self._stars[number], tables, rules, address(self._waits(number)))
        return slots[:0], slots

    def followed(self, candidates: SlotsByInput, tables: kernel.Tables, rules: kernel.Rules) -> SlotsByInput:
        """Those of the candidates that can be dropped, by the rows that they join; the others wait."""
        inputs, slots = in_one(candidates)
        if not len(slots):
            return {}
        capacities = self._join.capacities()
        self._watches.drop(inputs, slots, capacities)
        gone, watching, hashes = kernel.examine(
            inputs, slots, self._join.retracts, tables, rules, self.wait_addresses()
        )
        self._watches.add(hashes, inputs[watching], slots[watching], capacities)
        return by_input(inputs[gone], slots[gone], candidates)

    def unwatch(self, gone: SlotsByInput) -> None:
        """Takes rows that are dropped unexamined from the watch list."""
        if len(self._watches):
            self._watches.drop(*in_one(gone), self._join.capacities())

    def wait_addresses(self) -> Ints:
        """Of each input where the clocks are that its rows wait for, by slot."""
        numbers = range(len(self._join.inputs.inputs))
        return np.array([address(self._waits(n)) if n in self._awaited else 0 for n in numbers], np.int64)

    def _waits(self, number: int) -> Ints:
        """By slot what each clock has to reach for a row to be a candidate."""
        return self._awaited[number].array()
