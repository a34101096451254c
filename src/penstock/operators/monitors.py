"""The monitors of a join: they see what rows require of its k-constraints, and tell the purge which k to go by.

A row requires k of a constraint if with a smaller one the purge could have forgotten what the row joins. So rows of one
instant require nothing of each other. Each cell has its monitors, of the rows that it sees, and its own k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.relations import Schema
from penstock.errors import PenstockError
from penstock.kernels.hashing import row_hashes, rows_below
from penstock.kernels.nulls import has_null
from penstock.kernels.rising import STAMP, VALUE, rise
from penstock.kernels.rows import gather
from penstock.operators.estimation import Estimation
from penstock.operators.events import Events
from penstock.operators.join import JoinCore
from penstock.operators.knowledge import Knowledge
from penstock.operators.sweep import Holder, RowsHolder
from penstock.plan.joins import join_variables
from penstock.plan.monitors import Monitor, OfCluster, OfOrder, OfReference
from penstock.plan.rules import Estimate, K, PurgingJoin
from penstock.plan.watched import Watched
from penstock.synopsis.codes import decode_column
from penstock.synopsis.deltas import Deltas, null_masks
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.firsts import ALL, THIN, WHOLE, Firsts, Keys
from penstock.synopsis.memory import Ints, Memory

_LEAST = -(1 << 63)
#: So many values are remembered, whatever k is; and where they only serve to count who broke what is declared.
MOST, MOST_TO_WARN = 1 << 18, 1 << 11


#: Of each input of a join the rows that come in a step: as they arrive, or as they go into its window.
Rows = Mapping[int, Deltas | Events]


class Coming:
    """The same by the values that they have of the join's variables. A NULL joins nothing."""

    def __init__(self, rows: Rows, core: JoinCore) -> None:
        self._rows, self.core = rows, core
        self._known: dict[tuple[int, tuple[int, ...], int], tuple[Keys, Ints]] = {}
        self._stored: dict[int, Ints] = {}

    def count(self, number: int) -> int:
        """How many rows of an input come."""
        own = self._rows[number]
        return len(self._slots(number, own)) if isinstance(own, Events) else len(own)

    def of(self, number: int, variables: tuple[int, ...], below: int = ALL) -> tuple[Keys, Ints]:
        """The values that rows of an input have that come, if their hashes are below that, and their times."""
        sought = number, variables, below
        if sought not in self._known:
            self._known[sought] = self._find(*sought)
        return self._known[sought]

    def _find(self, number: int, variables: tuple[int, ...], below: int) -> tuple[Keys, Ints]:
        own, source = self._rows[number], self.core.inputs[number]
        places = self.core.places(number, variables)
        if isinstance(own, Events):
            rows, times, which = source.store.rows, source.store.starts, self._slots(number, own)
        else:
            rows, times, which = own.rows, own.ts, np.arange(len(own))
        if below == ALL:
            hashes = row_hashes(rows, which, places)
        else:
            which, hashes = rows_below(rows, which, places, below)
        if not isinstance(own, Events):
            null = has_null(rows, which, *null_masks(places.tolist(), source.columns))
            if null.any():
                which, hashes = which[~null], hashes[~null]
        return Keys(gather(rows, which, places), hashes), times[which]

    def _slots(self, number: int, own: Events) -> Ints:
        """Of rows that come, those that have no NULL."""
        if number not in self._stored:
            whole = self.core.without_nulls(number, own)
            self._stored[number] = whole.slots[whole.signs > 0]
        return self._stored[number]


class Observed(NamedTuple):
    """How many rows came, and of those that require some k: their values and times, k, and the clock when each came.

    With them, since when what they must not be far from is there, and how many rows that is.
    """

    rows: int
    keys: Ints
    times: Ints
    required: Ints
    clocks: Ints
    since: Ints
    partners: Ints


class Monitors:
    """`copies`: of each monitor, in how many cells a row is seen."""

    def __init__(
        self,
        memory: Memory,
        name: str,
        node: PurgingJoin,
        core: JoinCore,
        knows: Knowledge,
        dictionary: Dictionary,
        copies: Sequence[int],
    ) -> None:
        self._node, self._core, self._knows, self._dictionary, self._copies = node, core, knows, dictionary, copies
        self._watchers = [_watcher(memory, f"{name}{n}", each) for n, each in enumerate(node.monitors)]
        self._estimations = [Estimation(memory, f"{name}{n}.estimate", each) for n, each in enumerate(node.monitors)]
        self._violations = memory.array(f"{name}.violations", len(node.monitors))
        #: Rows that each has seen; the results of the join; and in thousandths those that each thinks are lost.
        self._rows = memory.array(f"{name}.rows", len(node.monitors))
        self._results = memory.array(f"{name}.results", 1)
        self._lost = memory.array(f"{name}.lost", len(node.monitors))
        self._variables = join_variables(node)
        #: Whether in the last step some k became known, or smaller, so that rows may go which have waited for more.
        self.lets_go = False

    def __len__(self) -> int:
        return sum(map(len, self._watchers))

    @property
    def holders(self) -> list[Holder]:
        """What holds codes of interned values."""
        return [
            RowsHolder(watcher.firsts.store.held_column, self._columns(monitor))
            for monitor, watcher in zip(self._node.monitors, self._watchers, strict=True)
            if isinstance(watcher, _OfFirsts)
        ]

    def watched(self) -> list[Watched]:
        """What is known of each constraint."""
        told: dict[str, Watched] = {}
        for n, (monitor, estimation) in enumerate(zip(self._node.monitors, self._estimations, strict=True)):
            here = Watched(
                monitor.constraint,
                estimation.k,
                estimation.limit is not None,
                int(self._violations[n]),
                self._copies[n],
                int(self._lost[n]) / 1000,
            )
            # Several pairs of inputs may be joined by one reference. The one that sees most rows counts.
            there = told.get(monitor.constraint, here)
            told[monitor.constraint] = max(here, there, key=lambda each: (each.violations, each.false_negatives))
        return list(told.values())

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
        monitor = self._node.monitors[k.monitor]
        now = self._clock(monitor) - (1 if monitor.ticks is None else 0)
        return _LEAST if limit is None else watcher.passed(now - limit)

    def observe(self, rows: Coming) -> None:
        """Rows that come in a step, whose evidence is known, before anything is purged."""
        self.lets_go = False
        for n, (monitor, estimation) in enumerate(zip(self._node.monitors, self._estimations, strict=True)):
            before, clock = estimation.limit, self._clock(monitor)
            watcher = self._watchers[n]
            seen = watcher.observe(rows, self._knows, clock - estimation.remembered)
            self._rows[n] += seen.rows
            if len(seen.required) and (is_needed(monitor) or seen.required.max() > before):
                self._count(n, seen)
                self._miss(n, seen, rows)
            estimation.observe(seen.required, seen.rows, clock)
            limit = estimation.limit
            is_less = limit is not None and (before is None or limit < before)
            self.lets_go |= is_less
            if watcher.is_large or is_less:
                watcher.forget_before(clock - estimation.remembered, is_less)

    def _count(self, number: int, seen: Observed) -> None:
        """Counts the rows that broke what is declared, or stops at the first of them."""
        monitor = self._node.monitors[number]
        if monitor.declared is None:
            return
        broken = np.flatnonzero(seen.required > monitor.declared)
        weights = self._watchers[number].weights(seen.keys[broken], seen.since[broken])
        self._violations[number] += round(float(weights.sum()))
        if len(broken) and monitor.stops:
            first = int(broken[0])
            values = values_text(self._columns(monitor), seen.keys[first], self._dictionary)
            raise violation(monitor.constraint, values, int(seen.times[first]))

    def gave(self, results: int) -> None:
        """So many results came out."""
        self._results[0] += results

    def _miss(self, number: int, seen: Observed, rows: Coming) -> None:
        """Estimates how many results rows miss that came too late: what they join has gone.

        A row that is referred to misses those that refer to it and are not there. Of other rows it is not known what
        has gone, so one for which nothing is there is taken to miss as many results as rows have on average.
        """
        monitor, watcher = self._node.monitors[number], self._watchers[number]
        late = self._estimations[number].may_have_lost(seen.required, seen.clocks)
        if not late.any():
            return
        keys, weights = seen.keys[late], watcher.weights(seen.keys[late], seen.since[late])
        if isinstance(monitor, OfReference):
            is_there = self._is_there(monitor.source, monitor, keys, rows)
            missed = np.where(is_there, 1.0, seen.partners[late]) * (monitor.source in self._node.forgets)
        else:
            has = self._core.has_variables
            others = [n for n in self._node.forgets if n != monitor.target and has(n, monitor.variables)]
            is_missing = np.zeros(len(keys), np.bool_)
            for other in others:
                is_missing |= ~self._is_there(other, monitor, keys, rows)
            results = int(self._results[0]) + int(self._lost[number]) / 1000
            missed = is_missing * (results / int(self._rows[number]))
        self._lost[number] += round(1000 * float((missed * weights).sum()))

    def _is_there(self, number: int, monitor: Monitor, keys: Ints, rows: Coming) -> NDArray[np.bool_]:
        """Whether an input has a row with each key, or one comes in this step."""
        new, _ = rows.of(number, monitor.variables)
        comes = np.isin(Keys.of(keys).hashes, new.hashes)
        return self._core.holds(number, monitor.variables, keys) | comes

    def _columns(self, monitor: Monitor) -> Schema:
        """The target's columns that hold the variables."""
        own = (self._variables[variable][monitor.target] for variable in monitor.variables)
        return tuple(column for column in own if column is not None)

    def _clock(self, monitor: Monitor) -> int:
        return int(self._knows.clock(monitor.ticks))


class _Watcher(Protocol):
    def __len__(self) -> int: ...

    def observe(self, rows: Coming, knows: Knowledge, oldest: int) -> Observed:
        """What the rows that came require. What is older than `oldest` need not be remembered."""

    @property
    def is_large(self) -> bool:
        """Whether it is worth while to forget."""

    def forget_before(self, clock: int, at_once: bool) -> None:
        """What is older is not needed, but for a sample."""

    def weights(self, keys: Ints, since: Ints) -> NDArray[np.float64]:
        """For how many rows each of those stands that has seen what is there since then: those of a sample for more."""


class _OfFirsts:
    """A watcher that remembers the first rows of values."""

    def __init__(self, memory: Memory, name: str, monitor: Monitor) -> None:
        share, most = (monitor.parameters.p, MOST) if is_needed(monitor) else (None, MOST_TO_WARN)
        self.firsts = Firsts(memory, name, len(monitor.variables), share, most)

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def is_large(self) -> bool:
        return self.firsts.is_large

    def forget_before(self, clock: int, at_once: bool) -> None:
        self.firsts.forget_before(clock, at_once)

    def weights(self, keys: Ints, since: Ints) -> NDArray[np.float64]:
        return self.firsts.weights(keys, since)


class _ReferenceWatcher(_OfFirsts):
    """RIDS: the place of a row among those after the first one that referred to it."""

    def __init__(self, memory: Memory, name: str, monitor: OfReference) -> None:
        super().__init__(memory, name, monitor)
        self._monitor = monitor

    def observe(self, rows: Coming, knows: Knowledge, oldest: int) -> Observed:
        monitor = self._monitor
        count = rows.count(monitor.target)
        self.firsts.see(count + rows.count(monitor.source))
        keys, times = rows.of(monitor.source, monitor.variables, self.firsts.seen)
        targets, target_times = rows.of(monitor.target, monitor.variables, self.firsts.seen)
        words = knows.clock_after(monitor.ticks, times)
        found = self.firsts.refer(keys, words, targets, monitor.is_key, oldest)
        values, words = keys.values[found.kept], words[found.kept]
        if monitor.is_key:
            # What refers to a row that is there requires nothing.
            waits = ~rows.core.holds(monitor.target, monitor.variables, values)
            values, words = values[waits], words[waits]
        self.firsts.meet(values, words)
        since = found.words != MISSING
        some = found.places[since]
        clocks = knows.clock_before(monitor.ticks, target_times[some])
        what = _Since(some, clocks, found.words[since], found.partners[since])
        return _observed(count, targets.values, target_times, what, monitor.ticks is not None)


class _ClusterWatcher(_OfFirsts):
    """CA: the rows with other values since the first one with the row's."""

    def __init__(self, memory: Memory, name: str, monitor: OfCluster) -> None:
        super().__init__(memory, name, monitor)
        self._monitor = monitor

    def observe(self, rows: Coming, knows: Knowledge, oldest: int) -> Observed:
        monitor = self._monitor
        times, keys = knows.whole(monitor.evidence)
        count = len(times)
        self.firsts.see(count)
        if self.firsts.seen != ALL:
            chosen, _ = rows_below(keys, np.arange(count), np.arange(keys.shape[1]), self.firsts.seen)
            keys, times = keys[chosen], times[chosen]
        words = self.firsts.meet(keys, knows.clock_after(monitor.ticks, times), again=1)
        some = np.flatnonzero(words != MISSING)
        clocks = knows.clock_before(monitor.ticks, times[some])
        since = _Since(some, clocks, words[some], np.ones_like(some))
        return _observed(count, keys, times, since, counts_itself=False)


class _OrderWatcher:
    """OA: the rows since the first one with a larger value. Only values above all before them are remembered."""

    def __init__(self, memory: Memory, name: str, monitor: OfOrder) -> None:
        self._memory, self._name, self._monitor = memory, name, monitor
        #: [records, rows that were seen]
        self._size = memory.array(f"{name}.size", 2)

    def __len__(self) -> int:
        return int(self._size[0])

    def observe(self, rows: Coming, knows: Knowledge, oldest: int) -> Observed:
        ticks = self._monitor.ticks
        times, keys = knows.whole(self._monitor.evidence)
        self._size[1] += len(times)
        size, below = len(self), np.empty(len(times) + 1, np.int64)
        records = self._records(size + len(times))
        highest = records[size - 1, VALUE] if size else _LEAST
        stamps = knows.clock_after(ticks, times)
        self._size[0], count = rise(stamps, keys[:, 0], int(highest), records, size, below)
        some = self._chosen(below[:count], keys)
        # The records go up in value, and the first one above a row that is below the highest came before it.
        records = records[: self._size[0]]
        words = records[np.searchsorted(records[:, VALUE], keys[some, 0], side="right"), STAMP]
        clocks = knows.clock_before(ticks, times[some])
        since = _Since(some, clocks, words, np.ones_like(some))
        return _observed(len(times), keys, times, since, ticks is not None)

    def _chosen(self, some: Ints, keys: Ints) -> Ints:
        """Those of the rows that are looked at: as in `Firsts`, not all where they only serve to count."""
        return some[Keys.of(keys[some]).hashes < ALL >> THIN] if self._is_thinned else some

    @property
    def _is_thinned(self) -> bool:
        return not is_needed(self._monitor) and bool(self._size[1] > WHOLE)

    def passed(self, clock: int) -> int:
        """The largest value of rows up to there."""
        records = self._records(0)[: len(self)]
        old = int(np.searchsorted(records[:, STAMP], clock, side="right"))
        return int(records[old - 1, VALUE]) if old else _LEAST

    @property
    def is_large(self) -> bool:
        return len(self) > 1

    def forget_before(self, clock: int, at_once: bool) -> None:
        """The last of the old ones stays: a row that is smaller than it requires too much to be measured."""
        records = self._records(0)[: len(self)]
        old = int(np.searchsorted(records[:, STAMP], clock, side="left"))
        if old > 1:
            self._size[0] -= old - 1
            records[: len(self)] = records[old - 1 :].copy()

    def weights(self, keys: Ints, since: Ints) -> NDArray[np.float64]:
        return np.full(len(since), float(1 << THIN) if self._is_thinned else 1.0)

    def _records(self, room: int) -> Ints:
        return self._memory.array(f"{self._name}.records", room, 2)


def is_needed(monitor: Monitor) -> bool:
    """Whether something is done by what a monitor sees; else it only counts."""
    return monitor.varies or monitor.stops


def _watcher(memory: Memory, name: str, monitor: Monitor) -> _Watcher:
    match monitor:
        case OfReference():
            return _ReferenceWatcher(memory, name, monitor)
        case OfCluster():
            return _ClusterWatcher(memory, name, monitor)
        case OfOrder():
            return _OrderWatcher(memory, name, monitor)
    raise AssertionError(f"no watcher for {monitor}")


class _Since(NamedTuple):
    """The rows that require something: which they are, the clock when each came, since when, and how many rows."""

    places: Ints
    clocks: Ints
    words: Ints
    partners: Ints


def _observed(rows: int, keys: Ints, times: Ints, since: _Since, counts_itself: bool) -> Observed:
    """Of so many rows those with these keys and times are seen.

    Some of them require the distance to what is there since a clock stood so.
    """
    places, clocks, words, partners = since
    required = np.maximum(clocks - words + int(counts_itself), 0)
    return Observed(rows, keys[places], times[places], required, clocks, words, partners)


def values_text(columns: Schema, key: Ints, dictionary: Dictionary) -> str:
    """`a = 5 and b = 'x'`."""
    codes = [(column, decode_column(key[n : n + 1], None, column.type, dictionary)) for n, column in enumerate(columns)]
    return " and ".join(f"{column.name} = {value.to_pylist()[0]!r}" for column, value in codes)


def violation(constraint: str, values: str, time: int) -> PenstockError:
    message = f"a row with {values} at {time} breaks {constraint}"
    return PenstockError(message, "put the data right, or declare what holds; ON VIOLATION WARN counts such rows")
