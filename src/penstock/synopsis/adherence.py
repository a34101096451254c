"""Adherence to k-constraints, observed batch by batch in bounded memory: histograms of the k that rows require.

One class per kind of constraint: OA, CA and RIDS of the thesis. Rows are observed in the order Σ: by time, and rows of
one instant as they arrived. Each counts k in rows and in time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import adherence as kernels
from penstock.kernels.histogram import BUCKETS, tally
from penstock.synopsis.memory import Ints

Bools = NDArray[np.bool_]

#: Digests for which there is always room.
_FEW = 16


@dataclass(slots=True)
class RequiredK:
    """How many rows require which k."""

    rows: int = 0
    #: Rows that require more than was remembered.
    beyond: int = 0
    _counts: Ints = field(default_factory=lambda: np.zeros(BUCKETS, np.int64))
    _largest: Ints = field(default_factory=lambda: np.zeros(BUCKETS, np.int64))

    def observe(self, required: Ints) -> None:
        self.rows += len(required)
        self.beyond += int(np.count_nonzero(required == kernels.BEYOND))
        tally(required, self._counts, self._largest)

    @property
    def exact(self) -> int | None:
        """The least k that all rows adhere to, or None if it is not known."""
        return None if self.beyond else int(self._largest.max())

    def most(self, broken: int) -> int | None:
        """A k that all rows but at most so many adhere to: one that a row requires, less than 1/64 above the least.

        >>> required = RequiredK()
        >>> required.observe(np.array([0, 3, kernels.NONE, 9, kernels.BEYOND]))
        >>> required.most(0), required.most(1), required.most(2), required.most(5)
        (None, 9, 3, 0)
        """
        if self.beyond > broken:
            return None
        # From the largest bucket down, as long as what is left above is few enough.
        above = self.beyond + np.cumsum(self._counts[::-1])
        bucket = BUCKETS - 1 - int(np.searchsorted(above, broken, side="right"))
        return int(self._largest[bucket]) if bucket >= 0 else 0


class Adherence:
    """To one constraint: k in rows, and in microseconds."""

    def __init__(self) -> None:
        self.rows = RequiredK()
        self.time = RequiredK()

    def note(self, rows: Ints, spans: Ints) -> None:
        self.rows.observe(rows)
        self.time.observe(spans)


class OrderedAdherence(Adherence):
    """OA(k) on a column whose words are in the order of its values. Every k up to `most` rows is found exactly."""

    def __init__(self, most: int) -> None:
        super().__init__()
        # A record that falls out has been followed by `most` + 1 others.
        self._records = np.zeros((most + 1, 3), np.int64)
        self._registers = np.zeros(kernels.ORDER_REGISTERS, np.int64)

    def observe(self, values: Ints, nulls: Bools, times: Ints) -> None:
        rows, spans = np.empty_like(times), np.empty_like(times)
        kernels.scrambling(values, nulls, times, self._records, self._registers, rows, spans)
        self.note(rows, spans)


class TooManyValues(Exception):
    """There is no memory for more values."""


@dataclass(slots=True)
class DigestRoom:
    """Words that are left for digests; many may take of one room."""

    words: int

    def take(self, words: int) -> bool:
        if words > self.words:
            return False
        self.words -= words
        return True


class ClusteredAdherence(Adherence):
    """CA(k), and with it uniqueness and the first row of each value. Every k up to `most` rows is found exactly.

    A value that falls out of the ring was followed by `most` + 1 others. Its digest stays, so that it is known when it
    comes again. Without room for digests only values that go up, but for those in the ring, can be told from old ones.
    When another comes, `observe` raises TooManyValues, and nothing more can be said.
    """

    def __init__(self, most: int, width: int, room: DigestRoom) -> None:
        super().__init__()
        size = most + 1
        self._keys = np.zeros((size + 1, width), np.int64)
        self._firsts = np.zeros((size + 1, 3), np.int64)
        self._links = np.zeros(size + 1, np.int64)
        self._heads = np.zeros(1 << size.bit_length(), np.int64)
        self._digests = np.zeros(_FEW, np.int64)
        self._registers = np.zeros(kernels.FIRST_REGISTERS, np.int64)
        self._room = room
        #: Rows with values that an earlier row has.
        self.repeated = 0

    def observe(self, words: Ints, nulls: Bools, times: Ints) -> None:
        rows, spans = np.empty_like(times), np.empty_like(times)
        start = 0
        while True:
            start = kernels.clustering(words, nulls, times, start, *self._state, rows, spans)
            if start == len(words):
                break
            self._make_room()
        self.repeated += int(np.count_nonzero(rows != kernels.NONE))
        self.note(rows, spans)

    def first_rows(self, words: Ints, nulls: Bools) -> tuple[Ints, Ints]:
        """Place and time of the first row that has the values of each of these; NONE, or BEYOND if it fell out."""
        places, times = np.empty(len(words), np.int64), np.empty(len(words), np.int64)
        kernels.first_rows(words, nulls, *self._state, places, times)
        return places, times

    def values(self) -> Ints:
        """Digests of all values that came but NULL, or of the last ones: of one word, the values themselves."""
        out = np.empty(len(self._keys) + len(self._digests), np.int64)
        return out[: kernels.all_digests(self._keys, self._digests, self._registers, out)]

    def count_values(self) -> int:
        held = min(int(self._registers[kernels.INSERTED]), len(self._keys) - 1)
        return held + int(self._registers[kernels.DIGESTS] + self._registers[kernels.ZERO_DIGEST])

    @property
    def knows_all(self) -> bool:
        """Whether `values` are all that came."""
        return not self._registers[kernels.WITHOUT]

    @property
    def has_null(self) -> bool:
        return bool(self._firsts[0, kernels.COUNT])

    def close(self) -> None:
        """Gives back the room for digests."""
        self._room.words += len(self._digests) - _FEW
        self._digests = np.zeros(_FEW, np.int64)

    @property
    def _state(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
        return self._keys, self._firsts, self._links, self._heads, self._digests, self._registers

    def _make_room(self) -> None:
        """For digests; or goes on without them, if words are values and can be compared."""
        if self._registers[kernels.WITHOUT]:
            raise TooManyValues
        if self._room.take(len(self._digests)):
            larger = np.zeros(2 * len(self._digests), np.int64)
            kernels.put_digests(self._digests, larger)
            self._digests = larger
        elif self._keys.shape[1] == 1:
            self._registers[kernels.WITHOUT] = 1
            self.close()
        else:
            raise TooManyValues


class Counter:
    """How many rows of a stream came before a time, as long as it is at most `most` rows ago."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times = np.zeros(0, np.int64)
        #: Rows before those whose times are kept.
        self._before = 0
        self.rows = 0

    def observe(self, times: Ints) -> None:
        cut = max(0, len(self._times) - self._most - 1)
        self._before += cut
        self._times = np.concatenate((self._times[cut:], times))
        self.rows += len(times)

    def before(self, times: Ints) -> Ints:
        """For each time the number of rows with earlier ones, or BEYOND."""
        found = self._before + np.searchsorted(self._times, times, side="left")
        if self._before == 0:
            return found.astype(np.int64, copy=False)
        return np.where(times <= self._times[0], kernels.BEYOND, found)


class ReferenceAdherence(Adherence):
    """RIDS(k): how much later than the first row that refers to it a row comes.

    Rows of different streams and one instant come in any order, so those that refer count as the first of them.
    """

    def observe(self, first_times: Ints, times: Ints, places: Ints, counter: Counter) -> None:
        """Rows of the stream referred to, by time and place; all rows that refer to them by then have been seen."""
        rows = np.full(len(times), kernels.NONE, np.int64)
        spans = rows.copy()
        unknown = first_times == kernels.BEYOND
        later = (first_times >= 0) & (first_times <= times)
        before = counter.before(first_times[later])
        rows[later] = np.where(before == kernels.BEYOND, kernels.BEYOND, places[later] + 1 - before)
        spans[later] = (times - first_times)[later]
        rows[unknown] = spans[unknown] = kernels.BEYOND
        self.note(rows, spans)

    def observe_own(self, first_places: Ints, first_times: Ints, times: Ints, places: Ints) -> None:
        """The same for a stream that refers to itself: its rows come one after the other."""
        rows = np.full(len(times), kernels.NONE, np.int64)
        spans = rows.copy()
        later = (first_places >= 0) & (first_places < places)
        rows[later] = (places - first_places)[later]
        spans[later] = (times - first_times)[later]
        unknown = first_places == kernels.BEYOND
        rows[unknown] = spans[unknown] = kernels.BEYOND
        self.note(rows, spans)
