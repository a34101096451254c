"""What closes entries: groups, distinct values, rows of set operations, and rows that a join keeps of its inputs.

An entry has ended when each stream below is closed for its keys: no more row of the stream comes that concerns it. A
*closer* says when a stream is. `closed_values.py` finds them, and `operators/groups/ending.py` carries them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.algebra.expressions import Column, Expr
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Aggregate, Distinct, PartitionRows, Relation, Schema, SetOp
from penstock.types import TimeUnit


@dataclass(frozen=True, slots=True)
class GroupInTime:
    """So long after the last instant that has the key's value; the key never falls as time goes on."""

    key: int
    expr: Expr
    timestamp: Column
    unit: TimeUnit = TimeUnit.MICROSECONDS
    reach: int = 0


@dataclass(frozen=True, slots=True)
class ByRows:
    """The k of CA(k) or OA(k), which counts rows, or microseconds."""

    k: int
    in_time: bool


@dataclass(frozen=True, slots=True)
class ByReference:
    """The k of RIDS(k) in rows: which evidence has the rows that it counts, and their columns that are referred to."""

    k: int
    ticks: int
    referred: tuple[Column, ...]
    #: As proofs name it.
    declaration: str


@dataclass(frozen=True, slots=True)
class AfterPunctuation:
    """So long after a punctuation, a row of `evidence`, of these keys.

    It may be one of another stream, whose rows those of this one follow, or that refers to what comes of this one.
    NULLs are equal here: a punctuation with NULL closes the group of NULL.
    """

    keys: tuple[int, ...]
    evidence: int
    reach: int = 0
    #: Those of the keys in which no punctuation can have NULL.
    never_null: frozenset[int] = frozenset()
    #: The declaration, as proofs name it.
    scheme: str = ""
    #: If the evidence are all rows of a stream: the end of a cluster of them is as good as a punctuation.
    cluster: ByRows | None = None
    #: If it is a stream whose rows refer to those of this one: what they refer to comes within so many rows more.
    then: ByReference | None = None

    @property
    def at_once(self) -> AfterPunctuation:
        """The end by the same punctuations that does not wait for longer."""
        return AfterPunctuation(self.keys, self.evidence, cluster=self.cluster, then=self.then)


@dataclass(frozen=True, slots=True)
class AfterReference:
    """RIDS(k), for entries that are rows of `evidence`: what these refer to is one of the next k rows.

    A value that has no entry is referred to by none, so nothing has to be noted of it.
    """

    keys: tuple[int, ...]
    evidence: int
    then: ByReference
    reach: int = 0

    @property
    def at_once(self) -> AfterReference:
        return replace(self, reach=0)


@dataclass(frozen=True, slots=True)
class AfterOrder:
    """When rows of `evidence`, all of a stream, have passed the key's value by OA(k)."""

    keys: tuple[int]
    evidence: int
    order: ByRows
    scheme: str = ""


@dataclass(frozen=True, slots=True)
class WithFirstRow:
    """With the group's first row: by UNIQUE, for which NULLs are equal, the stream has just one of the group."""


@dataclass(frozen=True, slots=True)
class NeverNull:
    """From the beginning, for groups with NULL in one of these keys: no row of the stream has NULL there."""

    keys: frozenset[int]


GroupCloser = GroupInTime | AfterPunctuation | AfterReference | AfterOrder | WithFirstRow | NeverNull
#: Those that close a stream so long after something else.
Waiting = GroupInTime | AfterPunctuation | AfterReference
#: Those that read evidence.
Reading = AfterPunctuation | AfterReference | AfterOrder


def later(closer: GroupCloser, by: int) -> GroupCloser:
    """What closes a stream so long after a closer of another, which its rows follow."""
    return replace(closer, reach=closer.reach + by) if isinstance(closer, Waiting) else closer


@dataclass(frozen=True, slots=True)
class Closers:
    """Of each stream below what closes it, any of them, and the evidence that they read."""

    streams: tuple[tuple[GroupCloser, ...], ...] = ()
    evidence: tuple[Scan, ...] = ()
    #: The same of streams that only add entries. No entry waits for them, but what is noted for those to be added does.
    adding: tuple[tuple[GroupCloser, ...], ...] = ()

    def __iter__(self) -> Iterator[GroupCloser]:
        return (closer for own in (*self.streams, *self.adding) for closer in own)

    def __add__(self, other: Closers) -> Closers:
        """What closes both. Evidence that both read, as the same keys, is there once."""
        evidence, places = [*self.evidence], list[int]()
        known = {(scan, self._keys_of(number)): number for number, scan in enumerate(self.evidence)}
        for number, scan in enumerate(other.evidence):
            place = known.setdefault((scan, other._keys_of(number)), len(evidence))
            places.append(place)
            evidence += [scan] if place == len(evidence) else []
        theirs = other._renumbered(places, tuple(evidence))
        return Closers(self.streams + theirs.streams, tuple(evidence), self.adding + theirs.adding)

    def _keys_of(self, evidence: int) -> tuple[int, ...] | None:
        """The keys that the columns of some evidence are; None if it is only counted."""
        return next((c.keys for c in self if isinstance(c, Reading) and c.evidence == evidence), None)

    @property
    def read(self) -> frozenset[int]:
        """The evidence that they read."""
        return frozenset(number for closer in self for number in _evidence(closer))

    def punctuations(self) -> Iterator[AfterPunctuation]:
        return (closer for closer in self if isinstance(closer, AfterPunctuation))

    def all_close(self, end: AfterPunctuation) -> bool:
        """Whether for the values of an end each stream is closed some time, whatever rows have them."""
        return all(any(_speaks(closer, end) for closer in own) for own in (*self.streams, *self.adding))

    def reading(self, some: Iterable[int]) -> Closers:
        """Only those that read some of the evidence, or none."""
        kept = sorted(some)
        places = {number: place for place, number in enumerate(kept)}
        return self._renumbered(places, tuple(self.evidence[number] for number in kept))

    def _renumbered(self, places: Mapping[int, int] | Sequence[int], evidence: tuple[Scan, ...]) -> Closers:
        """The closers whose evidence has a place, at which it is now."""
        known = set(places) if isinstance(places, Mapping) else set(range(len(places)))
        streams, adding = (
            tuple(tuple(_reading(c, places) for c in own if known.issuperset(_evidence(c))) for own in all_of)
            for all_of in (self.streams, self.adding)
        )
        return Closers(streams, evidence, adding)

    def along(self, number: int, columns: Iterable[int | None]) -> list[Column | None]:
        """The columns of evidence that have the values of some keys; None where it has none.

        Rows are counted where all of them come. Clusters of so many rows end in all cells, and in each is noted which,
        until the other streams are closed, too: so where such clusters end, all evidence goes to all cells.
        """
        goes_everywhere = any(_counts(closer, number) or _ends_by_rows(closer) for closer in self)
        keys = None if goes_everywhere else self._keys_of(number)
        held = {} if keys is None else dict(zip(keys, self.evidence[number].schema, strict=True))
        return [None if key is None else held.get(key) for key in columns]


def _speaks(closer: GroupCloser, end: AfterPunctuation) -> bool:
    """Whether a closer needs no more than the values of an end. Of a value that never came no cluster ends."""
    match closer:
        case GroupInTime(key):
            return key in end.keys
        case AfterPunctuation(cluster=ByRows()):
            return closer.at_once == end.at_once
        case AfterPunctuation(keys) | AfterOrder(keys):
            return set(keys) <= set(end.keys)
        case AfterReference():
            return True  # of what has no entry
    return False


def _evidence(closer: GroupCloser) -> tuple[int, ...]:
    match closer:
        case AfterReference(evidence=number, then=then) | AfterPunctuation(evidence=number, then=ByReference() as then):
            return number, then.ticks
        case AfterPunctuation(evidence=number) | AfterOrder(evidence=number):
            return (number,)
    return ()


def _counts(closer: GroupCloser, evidence: int) -> bool:
    """Whether a closer counts the rows of some evidence, or has to see those of all values."""
    match closer:
        case AfterOrder(evidence=number):
            return number == evidence
        case AfterReference(then=then) | AfterPunctuation(then=ByReference() as then):
            return then.ticks == evidence
    return False


def _ends_by_rows(closer: GroupCloser) -> bool:
    """Whether a closer is the end of a cluster by the number of rows that come after it."""
    return isinstance(closer, AfterPunctuation) and closer.cluster is not None and not closer.cluster.in_time


def _reading(closer: GroupCloser, places: Mapping[int, int] | Sequence[int]) -> GroupCloser:
    """The closer, whose evidence has another number."""
    match closer:
        case AfterReference(evidence=number, then=then) | AfterPunctuation(evidence=number, then=ByReference() as then):
            return replace(closer, evidence=places[number], then=replace(then, ticks=places[then.ticks]))
        case AfterPunctuation(evidence=number) | AfterOrder(evidence=number):
            return replace(closer, evidence=places[number])
    return closer


@dataclass(frozen=True, slots=True)
class AfterJoin:
    """Keys for which the join below gives no more results, as one of its rules by punctuations says."""

    keys: tuple[int, ...]
    rule: int


#: What has entries that end.
Ending = Aggregate | Distinct | SetOp | Scan


@dataclass(frozen=True, slots=True)
class GroupEnding(Relation):
    """GROUP BY, DISTINCT or a set operation, whose groups or rows end, or the values that its aggregates keep.

    So is a partitioned window whose partitions end.
    """

    input: Ending
    closers: Closers
    after_join: tuple[AfterJoin, ...] = ()
    #: What the join below says of values, besides the closers: then punctuations of them can be forgotten.
    done_by_join: tuple[AfterJoin, ...] = ()
    #: Whether groups show when they close, and not before.
    emits: bool = False
    values: tuple[EndingValues, ...] = ()

    def _schema(self) -> Schema:
        return self.input.schema

    @property
    def keys(self) -> Schema:
        """What entries that end have in common."""
        match self.input:
            case Aggregate(keys=keys):
                return self.schema[: len(keys)]
            case Scan(spec=PartitionRows(by=by)):
                return by
        return self.schema

    @property
    def evidence(self) -> tuple[Scan, ...]:
        return self.closers.evidence

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input, *self.evidence, *(scan for values in self.values for scan in values.groups.evidence))

    def with_inputs(self, inputs: tuple[Relation, ...]) -> GroupEnding:
        grouping, scans = inputs[0], [scan for scan in inputs[1:] if isinstance(scan, Scan)]
        assert isinstance(grouping, Ending)
        evidence, values = tuple(scans[: len(self.evidence)]), []
        del scans[: len(evidence)]
        for each in self.values:
            own = tuple(scans[: len(each.groups.evidence)])
            del scans[: len(own)]
            groups = each.groups.input.with_inputs(grouping.inputs)
            values.append(replace(each, groups=each.groups.with_inputs((groups, *own))))
        closers = replace(self.closers, evidence=evidence)
        return replace(self, input=grouping, closers=closers, values=tuple(values))

    @property
    def closes_groups(self) -> bool:
        return bool(self.closers.streams or self.after_join)

    @property
    def leans_on_join(self) -> bool:
        """Whether groups, or punctuations that are kept for them, end only by what the join below says."""
        own = bool(self.after_join or self.done_by_join)
        return own or any(values.groups.leans_on_join for values in self.values)


@dataclass(frozen=True, slots=True)
class EndingValues:
    """The values of a DISTINCT aggregate end, as groups by the keys and the value do: then it is enough to count them.

    `groups` is never run; it says what closes such a group.
    """

    aggregation: int
    groups: GroupEnding
