"""The one pass over the data: every row is shown to what observes its stream, and to what observes references to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.catalog import Reference
from penstock.engines.files import FileSource
from penstock.errors import PenstockError
from penstock.profiling.arrivals import STEP_ROWS, Profiled, ReadRows, UntakenArrivals, in_step, together
from penstock.profiling.candidates import (
    SAMPLE_ROWS,
    Candidate,
    SampledColumn,
    columns_of,
    comparable,
    keys_of_two,
    references,
)
from penstock.profiling.findings import Finding, Profile
from penstock.profiling.links import Links
from penstock.profiling.observer import Observer
from penstock.synopsis.adherence import DigestRoom

#: Words for the digests of values that came long ago, of all columns: 256 MB.
ROOM = 1 << 25

#: Values that are remembered with their first row, if no larger k is of interest: none may fall out in the step that
#: brings it, before the rows that it refers to are looked at.
LEAST_REMEMBERED = 2 * STEP_ROWS

#: Rows of all streams after which a sample is large enough, even if it has none of some stream.
_SAMPLE_OF_ALL = 1 << 18


def profile_files(streams: Sequence[Profiled], most: int, seen: Callable[[int], None]) -> Profile:
    """Reads the streams' files once. `seen` is called with the number of rows read, now and then."""
    batches = []
    for stream in streams:
        names = [attribute.name for attribute in stream.columns]
        read = FileSource(stream.definition).batches([*names, stream.definition.timestamp])
        batches.append(_guessed(read) if stream.guessed else read)
    return profile(streams, batches, most, seen)


def _guessed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches whose types were guessed, so that what does not fit need not be wrong."""
    try:
        yield from batches
    except PenstockError as error:
        hint = "columns and types were taken from the first rows: declare the stream, with USING, in a SQL file"
        raise PenstockError(error.message, hint) from error


def profile(
    streams: Sequence[Profiled],
    batches: Sequence[Iterator[pa.RecordBatch]],
    most: int,
    seen: Callable[[int], None] = lambda rows: None,
) -> Profile:
    """The profile of streams whose rows come in batches, in the order of arrival, with the declared types."""
    arrivals = [UntakenArrivals(stream, rows) for stream, rows in zip(streams, batches, strict=True)]
    profiler = Profiler(streams, most)
    for rows in in_step(arrivals, lambda: seen(sum(stream.progress.rows for stream in arrivals))):
        profiler.observe(rows)
    return profiler.profile(arrivals)


class Profiler:
    """Observes rows in the order of time, those of one instant at once."""

    def __init__(self, streams: Sequence[Profiled], most: int, room: int = ROOM) -> None:
        self._streams = streams
        self._most = most
        shared = DigestRoom(room)
        remembered = max(most, LEAST_REMEMBERED)
        self._observers = [Observer(stream, remembered, shared) for stream in streams]
        self._links = Links(self._observers, ())
        #: Rows that have not been shown yet, until it is chosen what to look at.
        self._sample: list[Sequence[ReadRows | None]] | None = []

    def observe(self, rows: Sequence[ReadRows | None]) -> None:
        """The rows of each stream up to some instant."""
        if self._sample is None:
            self._show(rows)
            return
        self._sample.append(rows)
        counts = [sum(len(part[i] or ()) for part in self._sample) for i in range(len(self._streams))]
        if min(counts) >= SAMPLE_ROWS or sum(counts) >= _SAMPLE_OF_ALL:
            self._choose(self._sample)

    def profile(self, arrivals: Sequence[UntakenArrivals]) -> Profile:
        """What was found; no more rows come."""
        if self._sample is not None:
            self._choose(self._sample)
        referring: list[list[Finding]] = [[] for _ in self._streams]
        for number, finding in self._links.findings():
            referring[number].append(finding)
        parts = zip(self._observers, arrivals, self._streams, referring, strict=True)
        profiles = tuple(observer.profile(each, stream.delay, own) for observer, each, stream, own in parts)
        return Profile(profiles, self._most)

    def _choose(self, sample: list[Sequence[ReadRows | None]]) -> None:
        """Takes the sample for what it shows, and then as rows like any other."""
        self._sample = None
        columns: list[SampledColumn] = []
        for number, observer in enumerate(self._observers):
            parts = [part for rows in sample if (part := rows[number]) is not None]
            if parts:
                sampled = together(parts)
                columns += columns_of(number, observer.attributes, sampled)
                observer.examine(keys_of_two(observer.attributes, sampled))
        times = {number: stream.definition.timestamp for number, stream in enumerate(self._streams)}
        self._links = Links(self._observers, [*self._declared(), *references(columns, times)])
        for rows in sample:
            self._show(rows)

    def _declared(self) -> Iterator[Candidate]:
        """The references of one column that are declared, as far as their columns are looked at."""
        numbers = {stream.definition.name: number for number, stream in enumerate(self._streams)}
        for number, stream in enumerate(self._streams):
            for constraint in stream.definition.constraints:
                if isinstance(constraint, Reference) and len(constraint.columns) == 1 and constraint.parent in numbers:
                    parent = numbers[constraint.parent]
                    (column,), (other,) = constraint.columns, constraint.parent_columns
                    own, its = self._observers[number].type_of(column), self._observers[parent].type_of(other)
                    if own is not None and its is not None and comparable(own, its):
                        yield Candidate(number, column, parent, other)

    def _show(self, rows: Sequence[ReadRows | None]) -> None:
        for observer, part in zip(self._observers, rows, strict=True):
            if part is not None:
                observer.observe(part)
        self._links.observe(rows)
