"""Purge: a join forgets the rows of its inputs that can join nothing new, and what told it so.

A row is looked at when it comes, when it was in a result, when a partner of it went, and when what it waits for has
happened: a clock has reached a value, or something with certain values has come. So the work follows what happens, not
what is stored. The rules are those of `plan/rules.py`, and `kernels/purge.py` chains them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.relations import Range, Relation
from penstock.kernels import purge as kernel
from penstock.kernels.evidence import watch_hashes
from penstock.kernels.pointers import address
from penstock.operators.events import Events
from penstock.operators.join import JoinCore
from penstock.operators.knowledge import Knowledge
from penstock.operators.monitors import Monitors, values_text, violation
from penstock.operators.no_components import NoComponents
from penstock.operators.spill import Spill, counted
from penstock.operators.sweep import Holder, RowsHolder
from penstock.operators.windows import ForgettingWindow
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.joins import holders_of
from penstock.plan.physical import Scan
from penstock.plan.rules import (
    AfterRows,
    ByCluster,
    ByKey,
    ByNo,
    ByOrder,
    ByPunctuation,
    Estimate,
    InTime,
    PurgingJoin,
    Rule,
    Static,
    k_of,
)
from penstock.plan.watched import Watched
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.watch_list import WatchList

_KINDS = {
    Static: kernel.STATIC,
    InTime: kernel.IN_TIME,
    AfterRows: kernel.AFTER_ROWS,
    ByPunctuation: kernel.PUNCTUATED,
    ByKey: kernel.BY_KEY,
    ByNo: kernel.IN_NO,
    ByCluster: kernel.CLUSTERED,
    ByOrder: kernel.ORDERED,
}


#: What is put off until the next purge.
_LOOK_AT, _DONE_WITH = 1, 2

#: So few clusters are not looked through.
FEW_CLUSTERS = 1024


class Rows(NamedTuple):
    """Rows of a join's inputs."""

    inputs: Ints
    slots: Ints

    def of(self, number: int) -> Ints:
        mine: Ints = self.slots[self.inputs == number]
        return mine


#: Says whether an input has a row with each key of some variables.
Holds = Callable[[int, tuple[int, ...], Ints], NDArray[np.bool_]]


def rows_of(number: int, slots: Ints) -> Rows:
    return Rows(np.full(len(slots), number, np.int64), slots)


class Purge:
    """The purge of one join. `windows` are those of the inputs whose rows may be forgotten."""

    def __init__(
        self,
        memory: Memory,
        name: str,
        node: PurgingJoin,
        core: JoinCore,
        windows: Mapping[int, ForgettingWindow],
        retracts: bool,
        dictionary: Dictionary,
        copies: Sequence[int],
        forgetting: Forgetting = EAGER,
        folder: Path | None = None,
    ) -> None:
        """`folder`: where rows are spilled to, if some of the rules are probable only."""
        self._memory, self._name, self._core, self._windows = memory, name, core, windows
        self.node = node
        #: Whether results are taken back, so that rows that are in one must stay.
        self._retracts = retracts
        self._knows = Knowledge(memory, name, node)
        self._monitors = Monitors(memory, f"{name}.monitor", node, core, self._knows, dictionary, copies)
        self._dictionary = dictionary
        self._watches = WatchList(memory, f"{name}.watch", len(core.inputs))
        self.spill = self._spills(dictionary, folder) if node.probable else None
        self._punctuations = PunctuationPurge(node, core, self._knows, self._holds)
        self._no = NoComponents(memory, name, node, core, self._knows, self._monitors)
        self._held = holders_of(node)
        lines = [[-1 if column is None else column for column in source.variables] for source in core.inputs]
        # Of a variable that nobody has, where there is none.
        self._columns = np.array([line or [-1] for line in lines], np.int64)
        self._reaches = np.array([_reach(operand) for operand in node.operands], np.int64)
        self._has = np.array([sum(1 << v for v, c in enumerate(line) if c >= 0) for line in lines], np.int64)
        #: The clocks that rules read.
        read = {kernel.TIME, *map(self._knows.clock_of, range(len(node.rules)))}
        self._clock_numbers = np.array(sorted(read), np.int64)
        self._turn = memory.array(f"{name}.turn", 1)
        self._forgetting = forgetting
        #: The rows that came since the last purge, and its instant.
        self._since = memory.array(f"{name}.since", 2)
        self._woken: list[Rows] = []

    def __len__(self) -> int:
        """Entries of evidence, of who waits for more of it, and of what is monitored."""
        return len(self._knows) + len(self._watches) + len(self._monitors)

    @property
    def holders(self) -> list[Holder]:
        """What holds codes of interned values."""
        return self._monitors.holders + [
            RowsHolder(entries.store.held_column, self.node.keys_of(rule.target, rule.variables))
            for number, rule in enumerate(self.node.rules)
            if isinstance(rule, ByPunctuation | ByNo | ByCluster)
            for entries in [self._knows.evidence[number]]
        ]

    @property
    def ended(self) -> Mapping[int, Ints]:
        """By rule the values for which the join gives no more results, as was found in the last step."""
        return self._punctuations.ended

    def violations(self) -> int:
        """How many rows came that a punctuation had ruled out."""
        return int(self._memory.array(f"{self._name}.violations", 1)[0])

    def watched(self) -> list[Watched]:
        watched = self._monitors.watched() + self._no.watched()
        return watched if self.spill is None else [replace(each, false_negatives=0.0) for each in watched]

    def _spills(self, dictionary: Dictionary, folder: Path | None) -> Spill:
        assert folder is not None, "rows are spilled, and nobody says where"
        notes = {
            number: [partial(self._stamps, rule, after) for rule, after in counted(self.node, number)]
            for number in self._windows
        }
        return Spill(self._memory, self._name, self.node, self._core, self._windows, notes, dictionary, folder)

    def gave(self, results: int) -> None:
        """So many results came out, since the last call."""
        self._monitors.gave(results)

    def learn(self, came: Sequence[Deltas], rows: Mapping[int, Deltas | Events], until: int) -> None:
        """Takes evidence, and sees the rows that come, or may come where not all are let in."""
        hashes = []
        for number, keys in self._knows.learn(came, until):
            self._punctuations.came(number, keys)
            hashes.append(watch_hashes(self._no.watched_as(number), keys))
        self._woken = [self._waiting_for(own) for own in hashes]
        self._monitors.observe(came, rows)
        self._no.choose(rows)
        for number, rule in enumerate(self.node.rules):
            if isinstance(rule, ByOrder) and isinstance(rule.k, Estimate):
                self._knows.clocks[self._knows.clock_of(number)] = self._monitors.passed(rule.k)

    def allowed(self, number: int, events: Events) -> Events:
        """The events of an input without rows whose values a punctuation had closed before."""
        ruled_out = np.zeros(len(events), np.bool_)
        for rule_number, rule in enumerate(self.node.rules):
            if isinstance(rule, ByPunctuation) and rule.target == number and len(events):
                closed = self._knows.evidence[rule_number].words(self._core.keys(number, rule.variables, events.slots))
                starts = self._core.inputs[number].store.starts[events.slots]
                late = (closed != MISSING) & (closed < starts) & (events.signs > 0)
                if late.any():
                    late &= ~self._core.has_null(number, events.slots)  # a punctuation says nothing of NULLs
                ruled_out |= late
                if rule.stops is not None and late.any():
                    slot = events.slots[late][0]
                    columns = self.node.evidence[rule.evidence].schema
                    key = self._core.keys(number, rule.variables, np.array([slot]))[0]
                    told = values_text(columns, key, self._dictionary)
                    raise violation(rule.stops, told, int(self._core.inputs[number].store.starts[slot]))
        if not ruled_out.any():
            return events
        self._memory.array(f"{self._name}.violations", 1)[0] += int(ruled_out.sum())
        kept = ~np.isin(events.slots, events.slots[ruled_out])
        return Events(events.ts[kept], events.signs[kept], events.slots[kept])

    def wake(self, events: Sequence[Events]) -> None:
        """Wakes who waits for keys that came."""
        for number, rule in enumerate(self.node.rules):
            if isinstance(rule, ByKey) and len(self._watches):
                own = events[rule.target]
                hashes = self._core.watched(number, rule.target, rule.variables, own.slots[own.signs > 0])
                self._woken.append(self._waiting_for(hashes))

    def bring_back(self, events: Sequence[Events], until: int) -> Mapping[int, Events]:
        """Brings back what is on disk and may be in a result with a row that comes; all of these have entered.

        Gives the events of those that leave their windows in this step.
        """
        if self.spill is None:
            return {}
        leaving = self.spill.bring_back(events, until)
        self._woken += [rows_of(number, slots) for number, slots in self.spill.back.items()]
        return leaving

    def _waiting_for(self, hashes: Ints) -> Rows:
        return Rows(*self._watches.waiting_for(hashes))

    def step(self, events: Sequence[Events], in_results: Ints, done_with: Rows | None = None) -> None:
        """Forgets what can go after these events, all that came, of which rows in these slots were in results.

        Rows that somebody is `done_with` go, whatever may join them.
        """
        self._stamp(events)
        for number, own in enumerate(events):
            self._no.left(number, own.slots[own.signs < 0])
        todo = list(self._woken)
        for number in self._windows:
            came = events[number].slots[events[number].signs > 0]
            todo += [rows_of(number, slots) for slots in (came, in_results[:, number])]
        self._forget_outsiders(events)
        done = [] if done_with is None else [done_with]
        if self._forgetting.is_lazy:
            if self._monitors.lets_go:
                todo += [rows_of(number, self._waiting(number)) for number in self._windows]
            self._put_off(todo, _LOOK_AT)
            self._put_off(done, _DONE_WITH)
            if not self._is_due(sum(map(len, events))):
                self._punctuations.put_off()
                self._no.forget()
                return
            todo, done = self._was_put_off()
        todo += [rows_of(number, self._waiting(number)) for number in self._windows]
        if done:
            self._drop(self._alive(done))
        self._purge(todo)
        self._give_up()
        self._punctuations.forget(all_that_came=self._forgetting.is_lazy)
        self._no.forget()
        self._forget_clusters()
        if self.spill is not None:
            self.spill.write(int(self._knows.clocks[kernel.TIME]))

    def _is_due(self, rows: int) -> bool:
        """Whether enough has come since the last purge, which then is now."""
        now, lazy = int(self._knows.clocks[kernel.TIME]), self._forgetting
        self._since[0] += rows
        enough = lazy.rows is not None and self._since[0] >= lazy.rows
        if enough or (lazy.time is not None and now - self._since[1] >= lazy.time):
            self._since[:2] = 0, now
            return True
        return False

    def _put_off(self, rows: Sequence[Rows], what: int) -> None:
        for some in rows:
            for number in self._windows:
                marks = self._put_off_marks(number)
                slots = some.of(number)
                marks[slots] = np.maximum(marks[slots], what)

    def _was_put_off(self) -> tuple[list[Rows], list[Rows]]:
        """The rows to look at, and those that somebody is done with, since the last purge."""
        found: tuple[list[Rows], list[Rows]] = ([], [])
        for number in self._windows:
            marks = self._put_off_marks(number)
            for rows, what in zip(found, (_LOOK_AT, _DONE_WITH), strict=True):
                rows.append(rows_of(number, np.flatnonzero(marks == what)))
            marks[:] = 0
        return found

    def _put_off_marks(self, number: int) -> Ints:
        return self._memory.array(f"{self._name}.put_off{number}", self._core.inputs[number].store.capacity)

    def _give_up(self) -> None:
        """Drops the rows that have waited too long, if results are never taken back."""
        if self._forgetting.give_up is None or self._retracts:
            return
        oldest = int(self._knows.clocks[kernel.TIME]) - self._forgetting.give_up
        for number in self._windows:
            alive = np.flatnonzero(self._core.lives(number) != 0)
            late = alive[self._core.inputs[number].store.starts[alive] < oldest]
            self._memory.array(f"{self._name}.given_up", 1)[0] += len(late)
            self._drop(rows_of(number, late))

    def in_time(self, found: Ints, times: Ints) -> NDArray[np.bool_]:
        """Which results are of rows none of which was given up before: no row of an input waits longer than that."""
        kept = np.ones(len(found), np.bool_)
        if self._forgetting.give_up is not None and not self._retracts:
            for number in self._windows:
                starts = self._core.inputs[number].store.starts[found[:, number]]
                kept &= times - starts <= self._forgetting.give_up
        return kept

    def given_up(self) -> int:
        """How many rows were dropped because they waited too long."""
        return int(self._memory.array(f"{self._name}.given_up", 1)[0])

    def _drop(self, gone: Rows) -> None:
        """Forgets rows, whatever may join them."""
        self._watches.drop(*gone, self._capacities())
        self._forget(gone)

    def _purge(self, todo: Sequence[Rows]) -> None:
        chosen, tables = self._alive(todo), self._tables()
        while len(chosen.slots):
            gone = self._examine(chosen, tables)
            if self.spill is not None:
                self._keep_probable(gone, tables, self.spill)
            self._forget(gone)
            chosen = self._alive([Rows(*kernel.partners(*gone, self._wanted(), tables))])

    def _stamp(self, events: Sequence[Events]) -> None:
        """Notes with rows that came how many rows of the other stream there were then."""
        for number, rule in enumerate(self.node.rules):
            if isinstance(rule, AfterRows):
                own = events[rule.source]
                slots = own.slots[own.signs > 0]
                starts = self._core.inputs[rule.source].store.starts[slots]
                self._stamps(number, rule)[slots] = self._knows.clock_after(rule.ticks, starts)

    def _stamps(self, number: int, rule: AfterRows) -> Ints:
        return self._memory.array(f"{self._name}.stamps{number}", self._core.inputs[rule.source].store.capacity)

    def _waiting(self, number: int) -> Ints:
        """The rows to look at again: those whose clock has come, or all, if a k has become smaller."""
        return np.flatnonzero(self._core.lives(number)) if self._monitors.lets_go else self._awake(number)

    def _awake(self, number: int) -> Ints:
        """The rows whose clock has come."""
        return kernel.awake(self._waits(number), self._core.lives(number), self._clocks())

    def _waits(self, number: int) -> Ints:
        """By slot what each clock has to reach for a row to be looked at."""
        capacity = self._core.inputs[number].store.capacity
        return self._memory.array(f"{self._name}.waits{number}", capacity, len(self._clock_numbers))

    def _clocks(self) -> Ints:
        clocks: Ints = self._knows.clocks[self._clock_numbers]
        return clocks

    def _forget_outsiders(self, events: Sequence[Events]) -> None:
        """Rows that came and are not in the join: with a NULL where they would join, or ruled out."""
        for number, window in self._windows.items():
            own = events[number]
            came = own.slots[own.signs > 0]
            outside = came[self._core.lives(number)[came] == 0]
            if len(outside):
                window.forget(np.setdiff1d(outside, own.slots[own.signs < 0]))

    def _alive(self, todo: Sequence[Rows]) -> Rows:
        """Each row once, of those that are in the join and may be forgotten."""
        self._turn[0] += 1
        notes = np.zeros((len(self._core.inputs), 2), np.int64)
        for number in self._windows:
            turns = self._memory.array(f"{self._name}.turns{number}", self._core.inputs[number].store.capacity)
            notes[number] = address(self._core.lives(number)), address(turns)
        inputs, slots = (np.concatenate(parts) for parts in zip(*todo, strict=True))
        return Rows(*kernel.each_once(inputs, slots, notes, int(self._turn[0])))

    def _examine(self, chosen: Rows, tables: kernel.Tables) -> Rows:
        capacities = self._capacities()
        self._watches.drop(*chosen, capacities)
        wakes = [address(self._waits(n)) if n in self._windows else 0 for n in range(len(capacities))]
        found = kernel.examine(*chosen, self._retracts, tables, self._rules(), np.array(wakes, np.int64))
        gone, watching, hashes = found
        self._watches.add(hashes, chosen.inputs[watching], chosen.slots[watching], capacities)
        return Rows(chosen.inputs[gone], chosen.slots[gone])

    def _keep_probable(self, gone: Rows, tables: kernel.Tables, spill: Spill) -> None:
        """Spills those of the rows that go that other rules than the probable ones would not let go."""
        wakes = np.array([address(self._waits(n)) if n in self._windows else 0 for n in range(len(self._has))])
        rules = self._rules(without=self.node.probable)
        certain, _, _ = kernel.examine(*gone, self._retracts, tables, rules, wakes, spill.filters())
        is_probable = np.ones(len(gone.slots), np.bool_)
        is_probable[certain] = False
        for number in self._windows:
            spill.keep(number, gone.slots[is_probable & (gone.inputs == number)])

    def _holds(self, number: int, variables: tuple[int, ...], keys: Ints) -> NDArray[np.bool_]:
        """Whether an input has a row with each key, or may have one on disk."""
        held = self._core.holds(number, variables, keys)
        return held if self.spill is None else held | self.spill.may_hold(number, variables, keys)

    def _forget(self, gone: Rows) -> None:
        self._punctuations.gone(gone)
        for number, window in self._windows.items():
            if len(slots := gone.of(number)):
                self._no.gone(number, slots)
                self._core.forget(number, slots)
                window.forget(slots)

    def _forget_clusters(self) -> None:
        """Drops closed clusters that no stored row waits for, when there are twice as many as were left."""
        for number, rule in enumerate(self.node.rules):
            if not isinstance(rule, ByCluster):
                continue
            clusters = self._knows.evidence[number]
            left = self._memory.array(f"{self._name}.clusters{number}", 1)
            if self._monitors.lets_go:
                left[0] = 0
            if len(clusters) > max(FEW_CLUSTERS, 2 * int(left[0])):
                keys, since = clusters.entries()
                limit = self._monitors.limit(rule.k)
                limit = self._monitors.most(rule.k) if limit is None else limit
                needless = since + limit < self._knows.clocks[self._knows.clock_of(number)]
                for holder in set.intersection(*(self._held[v] for v in rule.variables)) - {rule.target}:
                    needless &= ~self._core.holds(holder, rule.variables, keys)
                needless &= ~self._no.asks(rule, keys)
                clusters.forget_keys(keys[needless])
                left[0] = len(clusters)

    def _wanted(self) -> Ints:
        return np.array([number in self._windows for number in range(len(self._core.inputs))], np.int64)

    def _capacities(self) -> list[int]:
        return [source.store.capacity for source in self._core.inputs]

    def _tables(self) -> kernel.Tables:
        stores = [
            (address(source.store.rows), address(source.store.starts), source.store.rows.shape[1])
            for source in self._core.inputs
        ]
        stores += [(address(own.store.rows), 0, own.width + 1) for own in self._knows.evidence.values()]
        lines = [(owner, tuple(index.columns.tolist()), index) for (owner, _), index in self._core.indexes()]
        own = [
            (len(self._core.inputs) + n, tuple(range(entries.width)), entries.index)
            for n, entries in enumerate(self._knows.evidence.values())
        ]
        most = max([1, *(len(columns) for _, columns, _ in lines + own)])
        columns, variables = (np.full((len(lines + own), most), -1, np.int64) for _ in range(2))
        indexes = np.zeros((len(lines + own), 6), np.int64)
        for n, (store, held, index) in enumerate(lines + own):
            columns[n, : len(held)] = held
            if n < len(lines):
                variables[n, : len(held)] = [self._core.variable(store, column) for column in held]
            bits = sum(1 << v for v in variables[n, : len(held)].tolist() if v >= 0)
            indexes[n] = (store, len(held), index.heads, index.links, index.mask, bits)
        return kernel.Tables(np.array(stores, np.int64), indexes, columns, variables, self._columns, self._has)

    def _rules(self, without: Sequence[Rule] = ()) -> kernel.Rules:
        """The rules as the kernel reads them, but for some."""
        rules = self.node.rules
        keyed = ByKey | ByNo | ByPunctuation | ByCluster
        most = max([1, *(len(rule.variables) for rule in rules if isinstance(rule, keyed))])
        lines, variables = np.zeros((len(rules), 9), np.int64), np.zeros((len(rules), most), np.int64)
        for number, rule in enumerate(rules):
            line = lines[number]
            line[kernel.KIND], line[kernel.TARGET] = _KINDS[type(rule)], rule.target
            line[kernel.CLOCK] = np.searchsorted(self._clock_numbers, self._knows.clock_of(number))
            if isinstance(rule, ByKey | ByNo | ByPunctuation | ByCluster | ByOrder):
                line[kernel.KEYS] = len(rule.variables)
                variables[number, : len(rule.variables)] = rule.variables
                line[kernel.INDEX] = self._index_number(number, rule)
            line[kernel.NEEDS] = sum(1 << v for v in wanted_variables(rule, self._held))
            match rule:
                case InTime(_, source, reach):
                    line[kernel.SOURCE], line[kernel.LIMIT] = source, 1 + (self._monitors.limit(reach) or 0)
                case AfterRows(_, source, rows):
                    line[kernel.SOURCE], line[kernel.LIMIT] = source, self._monitors.limit(rows) or 0
                    line[kernel.STAMPS] = address(self._stamps(number, rule))
                case ByCluster():
                    line[kernel.LIMIT] = 1 + (self._monitors.limit(rule.k) or 0)
            if not self._is_on(rule) or rule in without:
                line[kernel.NEEDS] = -1  # More than can be known, so that the rule never applies.
        return kernel.Rules(lines, variables, self._clocks(), self._reaches)

    def _is_on(self, rule: Rule) -> bool:
        k = k_of(rule)
        return k is None or self._monitors.limit(k) is not None

    def _index_number(self, number: int, rule: Rule) -> int:
        if isinstance(rule, ByKey):
            return self._core.index_number(rule.target, rule.variables)
        count = len(self._core.indexes())
        return count + list(self._knows.evidence).index(number) if number in self._knows.evidence else 0


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
        candidates = np.unique(np.concatenate([np.zeros((0, len(rule.variables)), np.int64), *keys]), axis=0)
        if not others or not len(candidates):
            return candidates[:0]
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
        gone = self._gone_keys(number, rule.variables)
        known = set(map(tuple, gone.tolist()))
        return np.array([tuple(key) in known for key in keys.tolist()], np.bool_)

    def _is_punctuated(self, number: int, rule: ByPunctuation, keys: Ints) -> NDArray[np.bool_]:
        found = np.zeros(len(keys), np.bool_)
        for other_number, other in self._rules.items():
            if other.target == number and set(other.variables) <= set(rule.variables):
                places = [rule.variables.index(variable) for variable in other.variables]
                found |= self._knows.evidence[other_number].words(keys[:, places]) != MISSING
        return found


def looked_up(node: PurgingJoin) -> set[tuple[int, tuple[int, ...]]]:
    """By which variables the purge looks for rows of which inputs."""
    held = holders_of(node)
    wanted = {(rule.target, wanted_variables(rule, held)) for rule in node.rules if not isinstance(rule, Static)}
    for rule in node.rules:
        if isinstance(rule, ByPunctuation | ByCluster):
            wanted |= {(n, rule.variables) for n in set.intersection(*(held[v] for v in rule.variables))}
    for monitor in node.monitors:
        wanted |= {(n, monitor.variables) for n in set.intersection(*(held[v] for v in monitor.variables))}
    return wanted


def wanted_variables(rule: Rule, held: Sequence[set[int]]) -> tuple[int, ...]:
    """The variables that must be known for a rule, by which rows of its target are then found."""
    match rule:
        case InTime(target, source) | AfterRows(target, source):
            return tuple(v for v, own in enumerate(held) if {target, source} <= own)
        case Static():
            return ()
    return rule.variables


def _reach(operand: Relation) -> int:
    """How long after its time a row leaves its window; -1 if it does not, or not in time."""
    is_timed = isinstance(operand, Scan) and isinstance(operand.spec, Range) and operand.spec.slide is None
    return operand.spec.width if isinstance(operand, Scan) and isinstance(operand.spec, Range) and is_timed else -1
