"""The one pass over the data: every row is shown to what observes its stream, and to what observes references to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.catalog import Reference
from penstock.engines.files import FileSource
from penstock.profiling.arrivals import Arrivals, Profiled, Rows, in_step, together
from penstock.profiling.candidates import SAMPLE_ROWS, Candidate, Column, columns_of, keys_of_two, references
from penstock.profiling.findings import Finding, Profile
from penstock.profiling.observer import ANY, Observer, finding_of
from penstock.profiling.telling import like
from penstock.synopsis.adherence import ClusteredAdherence, ReferenceAdherence, Room
from penstock.synopsis.memory import Ints

#: Words for the digests of values that came long ago, of all columns: 256 MB.
ROOM = 1 << 25

#: Rows of all streams after which a sample is large enough, even if it has none of some stream.
_SAMPLE_OF_ALL = 1 << 18

#: Of the values that refer, so many in a hundred are to be found.
_CONTAINED = 90
#: And of the rows that they refer to one in so many may repeat another's value.
_REPEATED = 100
#: Numbers are dense if one in so many is there.
_DENSE = 2


def profile_files(streams: Sequence[Profiled], most: int, seen: Callable[[int], None]) -> Profile:
    """Reads the streams' files once. `seen` is told how many rows have been read, now and then."""
    batches = []
    for stream in streams:
        names = [attribute.name for attribute in stream.columns]
        batches.append(FileSource(stream.definition).batches([*names, stream.definition.timestamp]))
    return profile(streams, batches, most, seen)


def profile(
    streams: Sequence[Profiled],
    batches: Sequence[Iterator[pa.RecordBatch]],
    most: int,
    seen: Callable[[int], None] = lambda rows: None,
) -> Profile:
    """The profile of streams whose rows come in batches, in the order of arrival, with the declared types."""
    arrivals = [Arrivals(stream, rows) for stream, rows in zip(streams, batches, strict=True)]
    profiler = Profiler(streams, most)
    for rows in in_step(arrivals, lambda: seen(sum(stream.progress.rows for stream in arrivals))):
        profiler.observe(rows)
    return profiler.profile(arrivals)


@dataclass(slots=True)
class _Link:
    """Two columns that have values in common: the one refers to the other, and the other way round."""

    candidate: Candidate
    forth: ReferenceAdherence = field(default_factory=ReferenceAdherence)
    back: ReferenceAdherence = field(default_factory=ReferenceAdherence)


@dataclass(frozen=True, slots=True)
class _Common:
    """How many values two columns have, how many of the first are found in the second, and whether that is no chance."""

    values: int
    keys: int
    found: int
    stands: bool


class Profiler:
    """Observes rows in the order of time, those of one instant at once."""

    def __init__(self, streams: Sequence[Profiled], most: int, room: int = ROOM) -> None:
        self._streams = streams
        self._most = most
        shared = Room(room)
        self._observers = [Observer(stream, most, shared) for stream in streams]
        self._links: list[_Link] = []
        #: Rows that have not been shown yet, until it is chosen what to look at.
        self._sample: list[Sequence[Rows | None]] | None = []

    def observe(self, rows: Sequence[Rows | None]) -> None:
        """The rows of each stream up to some instant."""
        if self._sample is None:
            self._show(rows)
            return
        self._sample.append(rows)
        counts = [sum(len(part[i] or ()) for part in self._sample) for i in range(len(self._streams))]
        if min(counts) >= SAMPLE_ROWS or sum(counts) >= _SAMPLE_OF_ALL:
            self._choose(self._sample)

    def profile(self, arrivals: Sequence[Arrivals]) -> Profile:
        """What was found; no more rows come."""
        if self._sample is not None:
            self._choose(self._sample)
        referring: list[list[Finding]] = [[] for _ in self._streams]
        for number, finding in self._references():
            referring[number].append(finding)
        parts = zip(self._observers, arrivals, self._streams, referring, strict=True)
        profiles = tuple(observer.profile(each, stream.delay, own) for observer, each, stream, own in parts)
        return Profile(profiles, self._most)

    def _choose(self, sample: list[Sequence[Rows | None]]) -> None:
        """Takes the sample for what it shows, and then as rows like any other."""
        self._sample = None
        columns: list[Column] = []
        for number, observer in enumerate(self._observers):
            parts = [part for rows in sample if (part := rows[number]) is not None]
            if parts:
                sampled = together(parts)
                columns += columns_of(number, observer.attributes, sampled)
                observer.look_at(keys_of_two(observer.attributes, sampled))
        times = {number: stream.definition.timestamp for number, stream in enumerate(self._streams)}
        links: dict[Candidate, _Link] = {}
        for candidate in [*self._declared(), *references(columns, times)]:
            if candidate not in links and candidate.turned() not in links:
                links[candidate] = _Link(candidate)
        self._links = list(links.values())
        for rows in sample:
            self._show(rows)

    def _declared(self) -> Iterator[Candidate]:
        """The references of one column that are declared."""
        numbers = {stream.definition.name.lower(): number for number, stream in enumerate(self._streams)}
        for number, stream in enumerate(self._streams):
            for constraint in stream.definition.constraints:
                if isinstance(constraint, Reference) and len(constraint.columns) == 1:
                    (column,), (other,) = constraint.columns, constraint.parent_columns
                    parent = numbers.get(constraint.parent.lower())
                    own = parent is not None and self._observers[number].has(column)
                    if parent is not None and own and self._observers[parent].has(other):
                        yield Candidate(number, column, parent, other)

    def _show(self, rows: Sequence[Rows | None]) -> None:
        for observer, part in zip(self._observers, rows, strict=True):
            if part is not None:
                observer.observe(part)
        for link in self._links:
            self._refer(link.candidate, link.forth, rows)
            self._refer(link.candidate.turned(), link.back, rows)

    def _refer(self, candidate: Candidate, adherence: ReferenceAdherence, all_rows: Sequence[Rows | None]) -> None:
        """Shows rows to a reference to them. All rows of these instants that refer have been observed."""
        rows = all_rows[candidate.parent]
        referring = self._referring(candidate)
        if rows is None or referring is None:
            return
        parent = self._observers[candidate.parent]
        column = parent.words(rows, (candidate.parent_column,))
        first_places, first_times = referring.first_rows(column.words, column.nulls)
        places = parent.counter.rows - len(rows) + np.arange(len(rows))
        if candidate.child == candidate.parent:
            adherence.observe_own(first_places, first_times, rows.times, places)
        else:
            adherence.observe(first_times, rows.times, places, parent.counter)

    def _references(self) -> Iterator[tuple[int, Finding]]:
        """The references that stand, both ways, and those that are declared; each with the stream that refers.

        A column may have values of several keys. It is taken to refer to the smallest of them.
        """
        judged = [(link, common) for link in self._links if (common := self._common(link.candidate)) is not None]
        smallest: dict[tuple[int, str], int] = {}
        for link, common in judged:
            if common.stands:
                child = (link.candidate.child, link.candidate.child_column)
                smallest[child] = min(common.keys, smallest.get(child, common.keys))
        for link, common in judged:
            least = smallest.get((link.candidate.child, link.candidate.child_column))
            for number, finding in self._both_ways(link, common):
                if (common.stands and common.keys == least) or self._is_declared(number, finding):
                    yield number, finding

    def _common(self, one: Candidate) -> _Common | None:
        """What two columns have in common, if their values are known."""
        referring, referred = self._referring(one), self._referring(one.turned())
        if referring is None or referred is None:
            return None
        values, keys = referring.values(), referred.values()
        found = int(np.isin(values, keys).sum())
        contained = found > 0 and found * 100 >= len(values) * _CONTAINED
        is_key = self._observers[one.parent].is_key(one.parent_column, _REPEATED)
        stands = contained and is_key and not self._is_chance(one, values, keys)
        return _Common(len(values), len(keys), found, stands)

    def _both_ways(self, link: _Link, common: _Common) -> Iterator[tuple[int, Finding]]:
        forth, back = link.candidate, link.candidate.turned()
        for one, adherence, count in ((forth, link.forth, common.values), (back, link.back, common.keys)):
            parent = self._observers[one.parent].definition.name
            constraint = Reference((one.child_column,), parent, (one.parent_column,), ANY)
            yield one.child, finding_of(constraint, adherence, count, common.found)

    def _is_declared(self, number: int, finding: Finding) -> bool:
        return any(like(finding.constraint, c) for c in self._streams[number].definition.constraints)

    def _referring(self, one: Candidate) -> ClusteredAdherence | None:
        return self._observers[one.child].values_of(one.child_column)

    def _is_chance(self, one: Candidate, values: Ints, keys: Ints) -> bool:
        """Whether small numbers are found in a key that has all numbers: any would be, be it a price or a count."""
        if not self._observers[one.parent].is_integer(one.parent_column):
            return False
        reach = int(keys.max()) - int(keys.min()) + 1
        return _DENSE * len(keys) >= reach and _DENSE * (int(values.max()) - int(values.min()) + 1) < reach
