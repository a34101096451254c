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
from penstock.synopsis.adherence import ReferenceAdherence, Room
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
    declared: bool
    forth: ReferenceAdherence = field(default_factory=ReferenceAdherence)
    back: ReferenceAdherence = field(default_factory=ReferenceAdherence)


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
        links = {candidate: _Link(candidate, True) for candidate in self._declared()}
        for candidate in references(columns, times):
            if candidate.turned() not in links:
                links.setdefault(candidate, _Link(candidate, False))
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
        referring = self._observers[candidate.child].values_of(candidate.child_column)
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
        """The references that stand, both ways, each with the number of the stream that refers.

        A column may have values of several keys. It is taken to refer to the smallest of them.
        """
        standing: dict[tuple[int, str], tuple[int, list[tuple[int, Finding]]]] = {}
        for link in self._links:
            ends = self._ends(link)
            if ends is None:
                continue
            size, findings = ends
            if link.declared:
                yield from findings
                continue
            child = (link.candidate.child, link.candidate.child_column)
            if child not in standing or size < standing[child][0]:
                standing[child] = (size, findings)
        for _, findings in standing.values():
            yield from findings

    def _ends(self, link: _Link) -> tuple[int, list[tuple[int, Finding]]] | None:
        """How many values the key of a link has, and the references both ways; None if the link does not stand."""
        one = link.candidate
        child, parent = self._observers[one.child], self._observers[one.parent]
        referring, referred = child.values_of(one.child_column), parent.values_of(one.parent_column)
        if referring is None or referred is None:
            return None
        values, keys = referring.values(), referred.values()
        found = int(np.isin(values, keys).sum())
        contained = found > 0 and found * 100 >= len(values) * _CONTAINED
        stands = contained and parent.is_key(one.parent_column, _REPEATED) and not self._is_chance(one, values, keys)
        if not (stands or link.declared):
            return None
        there = Reference((one.child_column,), parent.definition.name, (one.parent_column,), ANY)
        back = Reference((one.parent_column,), child.definition.name, (one.child_column,), ANY)
        forth = (one.child, finding_of(there, link.forth, len(values), found))
        return len(keys), [forth, (one.parent, finding_of(back, link.back, len(keys), found))]

    def _is_chance(self, one: Candidate, values: Ints, keys: Ints) -> bool:
        """Whether small numbers are found in a key that has all numbers: any would be, be it a price or a count."""
        if not self._observers[one.parent].is_integer(one.parent_column):
            return False
        reach = int(keys.max()) - int(keys.min()) + 1
        return _DENSE * len(keys) >= reach and _DENSE * (int(values.max()) - int(values.min()) + 1) < reach
