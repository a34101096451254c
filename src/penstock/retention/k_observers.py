"""The k observers of a join's monitors find what arriving rows require of one k-constraint.

Where a k is found by it, or a run is to stop, they see all rows. Where they only count rows that break what is
declared, they see some, and cost little.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.closing.monitors import Monitor, OfCluster, OfOrder, OfReference
from penstock.kernels.recent import Came, Required, Stored, seen
from penstock.kernels.rising import STAMP, VALUE, above, passed_by, rise
from penstock.retention.arrivals import Arrivals
from penstock.retention.closing_state import ClosingState
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.firsts import ALL, Firsts, Keys, ReferredPlaces
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.recent import THIN, WHOLE, Recent

_LEAST = -(1 << 63)
#: So many values are remembered, whatever k is, where all are seen.
MOST = 1 << 18


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


class Observer(Protocol):
    def __len__(self) -> int: ...

    def observe(self, rows: Arrivals, closing_state: ClosingState, oldest: int) -> Observed:
        """What the rows that came require. What is older than `oldest` need not be remembered."""

    def held_column(self, column: int) -> Ints:
        """A column of the values that it remembers and that may be interned."""

    @property
    def is_large(self) -> bool:
        """Whether it is worth while to forget."""

    def forget_before(self, clock: int, at_once: bool) -> None:
        """What is older is not needed, but for a sample."""

    def weights(self, keys: Ints, since: Ints) -> NDArray[np.float64]:
        """For how many rows each of those stands that has seen what is there since then: those of a sample for more."""


class _OfFirsts:
    """A observer that remembers the first rows of values."""

    def __init__(self, memory: Scope, monitor: Monitor) -> None:
        self._firsts = Firsts(memory, len(monitor.variables), monitor.parameters.p, MOST)

    def __len__(self) -> int:
        return len(self._firsts)

    def held_column(self, column: int) -> Ints:
        return self._firsts.store.held_column(column)

    @property
    def is_large(self) -> bool:
        return self._firsts.is_large

    def forget_before(self, clock: int, at_once: bool) -> None:
        self._firsts.forget_before(clock, at_once)

    def weights(self, keys: Ints, since: Ints) -> NDArray[np.float64]:
        return self._firsts.weights(keys, since)


class ReferenceObserver(_OfFirsts):
    """RIDS: the place of a row among those after the first one that referred to it."""

    def __init__(self, memory: Scope, monitor: OfReference) -> None:
        super().__init__(memory, monitor)
        self._monitor = monitor

    def observe(self, rows: Arrivals, closing_state: ClosingState, oldest: int) -> Observed:
        monitor = self._monitor
        keys, times = rows.of(monitor.source, monitor.variables)
        targets, target_times = rows.of(monitor.target, monitor.variables)
        words = closing_state.clock_after(monitor.ticks, times)
        found, kept = self._firsts.refer(keys, words, targets, monitor.is_key, oldest)
        values, words = keys.values[kept], words[kept]
        if monitor.is_key:
            # What refers to a row that is there requires nothing.
            waits = ~rows.core.holds(monitor.target, monitor.variables, values)
            values, words = values[waits], words[waits]
        self._firsts.meet(values, words)
        return _referred(monitor, rows, targets, target_times, found, closing_state)


class ClusterObserver(_OfFirsts):
    """CA: the rows with other values since the first one with the row's."""

    def __init__(self, memory: Scope, monitor: OfCluster) -> None:
        super().__init__(memory, monitor)
        self._monitor = monitor

    def observe(self, rows: Arrivals, closing_state: ClosingState, oldest: int) -> Observed:
        times, keys = closing_state.whole(self._monitor.evidence)
        words = self._firsts.meet(keys, closing_state.clock_after(self._monitor.ticks, times), again=1)
        return _clustered(self._monitor, len(times), keys, times, words, closing_state)


class _OfRecent:
    """A observer that only counts. It sees less, and remembers a few of the last values."""

    is_large = False

    def __init__(self, memory: Scope, monitor: Monitor) -> None:
        self._recent = Recent(memory, len(monitor.variables))

    def __len__(self) -> int:
        return len(self._recent)

    def held_column(self, column: int) -> Ints:
        return self._recent.held_column(column)

    def forget_before(self, clock: int, at_once: bool) -> None:
        """What is old goes by itself."""

    def weights(self, keys: Ints, since: Ints) -> NDArray[np.float64]:
        return np.full(len(since), self._recent.weight)


class ReferenceCounter(_OfRecent):
    """RIDS, as `ReferenceObserver`."""

    def __init__(self, memory: Scope, monitor: OfReference) -> None:
        super().__init__(memory, monitor)
        self._monitor = monitor

    def observe(self, rows: Arrivals, closing_state: ClosingState, oldest: int) -> Observed:
        monitor, recent = self._monitor, self._recent
        inputs, targets = (monitor.source, monitor.target), rows.count(monitor.target)
        recent.see(rows.count(monitor.source) + targets)
        source, target = (rows.seen(number, monitor.variables, recent.seen) for number in inputs)
        index = rows.core.index_on(monitor.target, monitor.variables)
        stored = rows.core.inputs[monitor.target].store.rows
        there = Stored(stored, index.columns, index.heads, index.mask, index.links)
        found = recent.refer(source, target, closing_state.ticks(monitor.ticks), there, monitor.is_key, oldest)
        return _required(targets, found, monitor.ticks is not None)


class ClusterCounter(_OfRecent):
    """CA, as `ClusterObserver`."""

    def __init__(self, memory: Scope, monitor: OfCluster) -> None:
        super().__init__(memory, monitor)
        self._monitor = monitor

    def observe(self, rows: Arrivals, closing_state: ClosingState, oldest: int) -> Observed:
        times, values = closing_state.whole(self._monitor.evidence)
        self._recent.see(len(times))
        none = np.zeros(0, np.int64)
        came = Came(values, times, np.arange(len(times)), np.arange(values.shape[1]), none, none)
        found = self._recent.meet(seen(came, self._recent.seen), closing_state.ticks(self._monitor.ticks), oldest)
        return _required(len(times), found, counts_itself=False)


class OrderObserver:
    """OA: the rows since the first one with a larger value. Only values above all before them are remembered."""

    def __init__(self, memory: Scope, monitor: OfOrder) -> None:
        self._memory, self._monitor = memory, monitor
        #: [records, rows that were seen]
        self._size = memory.array("size", 2)

    def __len__(self) -> int:
        return int(self._size[0])

    def observe(self, rows: Arrivals, closing_state: ClosingState, oldest: int) -> Observed:
        ticks = self._monitor.ticks
        times, keys = closing_state.whole(self._monitor.evidence)
        self._size[1] += len(times)
        size, below = len(self), np.empty(len(times) + 1, np.int64)
        records = self._records(size + len(times))
        highest = records[size - 1, VALUE] if size else _LEAST
        stamps = closing_state.clock_after(ticks, times)
        self._size[0], count = rise(stamps, keys[:, 0], int(highest), records, size, below)
        some = self._chosen(below[:count], keys)
        # The records go up in value, and the first one above a row that is below the highest came before it.
        words = np.empty(len(some), np.int64)
        passed_by(records, len(self), keys[:, 0], some, words)
        clocks = closing_state.clock_before(ticks, times[some])
        since = _Since(some, clocks, words, np.ones_like(some))
        return _observed(len(times), keys, times, since, ticks is not None)

    def _chosen(self, some: Ints, keys: Ints) -> Ints:
        """Those of the rows that are observed: as in `Firsts`, not all where they are only counted."""
        return some[Keys.of(keys[some]).hashes < ALL >> THIN] if self._is_thinned else some

    @property
    def _is_thinned(self) -> bool:
        return not is_needed(self._monitor) and bool(self._size[1] > WHOLE)

    def held_column(self, column: int) -> Ints:
        """What is in order is a number."""
        return np.zeros(0, np.int64)

    def passed(self, clock: int) -> int:
        """The largest value of rows up to there."""
        records = self._records(0)
        old = above(records, len(self), STAMP, clock)
        return int(records[old - 1, VALUE]) if old else _LEAST

    @property
    def is_large(self) -> bool:
        return len(self) > 1

    def forget_before(self, clock: int, at_once: bool) -> None:
        """The last of the old ones is retained: a row that is smaller than it requires too much to be measured."""
        records = self._records(0)[: len(self)]
        old = above(records, len(self), STAMP, clock - 1)
        if old > 1 and (at_once or 4 * old > len(self)):
            self._size[0] -= old - 1
            records[: len(self)] = records[old - 1 :].copy()

    def weights(self, keys: Ints, since: Ints) -> NDArray[np.float64]:
        return np.full(len(since), float(1 << THIN) if self._is_thinned else 1.0)

    def _records(self, room: int) -> Ints:
        return self._memory.array("records", room, 2)


def is_needed(monitor: Monitor) -> bool:
    """Whether something is done by what a monitor sees; else it only counts."""
    return monitor.varies or monitor.stops


def observer_of(memory: Scope, monitor: Monitor) -> Observer:
    match monitor:
        case OfReference():
            return ReferenceObserver(memory, monitor) if is_needed(monitor) else ReferenceCounter(memory, monitor)
        case OfCluster():
            return ClusterObserver(memory, monitor) if is_needed(monitor) else ClusterCounter(memory, monitor)
        case OfOrder():
            return OrderObserver(memory, monitor)
    raise AssertionError(f"no k observer for {monitor}")


def _required(rows: int, found: Required, counts_itself: bool) -> Observed:
    """Of so many rows, what those require that were found."""
    values, times, clocks, since, partners = found
    required = np.maximum(clocks - since + int(counts_itself), 0)
    return Observed(rows, values, times, required, clocks, since, partners)


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


def _referred(
    monitor: OfReference, rows: Arrivals, targets: Keys, times: Ints, found: ReferredPlaces, closing_state: ClosingState
) -> Observed:
    """What rows require that are referred to."""
    clocks = closing_state.clock_before(monitor.ticks, times[found.places])
    since = _Since(found.places, clocks, found.words, found.partners)
    return _observed(rows.count(monitor.target), targets.values, times, since, monitor.ticks is not None)


def _clustered(
    monitor: OfCluster, count: int, keys: Ints, times: Ints, words: Ints, closing_state: ClosingState
) -> Observed:
    """What rows require whose values have come before."""
    some = np.flatnonzero(words != MISSING)
    clocks = closing_state.clock_before(monitor.ticks, times[some])
    since = _Since(some, clocks, words[some], np.ones_like(some))
    return _observed(count, keys, times, since, counts_itself=False)
