"""Joint keys: what closes a stream for the values of keys in joint rows (`joint_rows.py`).

A stream is closed by its own times and punctuations, some time after another whose rows its own follow, so many rows
after one whose rows refer to it, or because others come: by an order, or for values that came by their cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, columns, substitute
from penstock.algebra.physical import Scan
from penstock.algebra.predicates import unwidened
from penstock.algebra.relations import PartitionRows, Range, SetOp, Unbounded
from penstock.catalog import (
    Catalog,
    Clustered,
    OnViolation,
    Ordered,
    Punctuated,
    Reference,
    StreamDef,
    Unique,
    WithinRows,
    WithinTime,
)
from penstock.closing import never_falls
from penstock.closing.closers.time_range import certain_times, declared_times
from penstock.closing.declarations import constraint_text
from penstock.closing.evidence import of_fixed, passed_by, rows_of, values_of
from penstock.closing.group_closers import (
    AfterOrder,
    AfterPunctuation,
    AfterReference,
    ByReference,
    ByRows,
    Closers,
    GroupCloser,
    GroupInTime,
    NeverNull,
    WithFirstRow,
    later,
)
from penstock.closing.join_inputs import JoinInputs
from penstock.closing.joint_rows import Joint
from penstock.closing.nulls import has_value, null_never_punctuated, with_values
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.types import Kind


@dataclass(frozen=True, slots=True)
class Declared:
    """What entries may end by: what is declared; with `certain` nothing that leans on a k.

    With `emits` groups show when they close, and must not close later than they could.
    """

    catalog: Catalog
    certain: bool = False
    emits: bool = False

    def definition(self, scan: Scan) -> StreamDef:
        found = self.catalog.get(scan.stream.name)
        assert isinstance(found, StreamDef)
        return found

    def fixed_k(self, constraint: Clustered | Ordered | Reference) -> ByRows | None:
        """The k of a constraint by which entries may end, unless a run finds it."""
        if self.certain or constraint.on_violation is OnViolation.WIDEN:
            return None
        match constraint.within:
            case WithinRows(k):
                return ByRows(k, in_time=False)
            case WithinTime(microseconds=k):
                return ByRows(k, in_time=True)
        return None


#: How long after its time a row of a window brings changes, at most; None if that is not known.
Stays = Callable[[Scan], int | None]
#: Expressions, where they are known.
Keys = tuple[Expr | None, ...]


class JointKeys:
    """What is equal to each of some keys in joint rows, and closes the streams for them."""

    def __init__(
        self, joint: Joint, keys: Keys, declared: Declared, stays: Stays | None = None, entries: Scan | None = None
    ) -> None:
        """`entries` is the scan whose rows are those that end, if they are one's."""
        self._joint, self._declared, self._stays, self._entries = joint, declared, stays or unless_it_leaves, entries
        #: What columns of scans are in terms of their streams.
        self._inside = {o.column: o.expr for scan in joint.scans for o in scan.outputs}
        self._classes = self._equal()
        self._keys = [() if key is None else self._same(self._resolved(key)) for key in keys]

    def closers(self, scan: Scan, there: Sequence[Scan], *, adds: bool = False) -> Closers | None:
        """What closes a stream: its own closers, or those of one that its rows follow, so much later.

        `there` are the scans of which what ends has a row. If rows of this one only add others, clusters close it as
        well: nothing waits for it but what is noted of clusters.
        """
        stays = self._stays(scan)
        if stays is None:
            return None
        own = either(self._own(scan), self._referred(scan))
        for source, reach in self._followed(scan):
            theirs = either(self._own(source), self._referred(source))
            own = either(own, Closers((tuple(later(c, reach) for c in theirs),), theirs.evidence))
        found = tuple(own)
        is_there = any(scan is each for each in there)
        found += (WithFirstRow(),) * (is_there and any(scan is each for each in self.named_rows()))
        if not found:
            own = self._after_referring(scan)
            found = tuple(own)
        if not found:
            own = self._by_rows(scan, there)
            found = tuple(own)
        elif adds:
            own = either(own, self._by_cluster(scan, there))
            found = tuple(own)
        if not found:
            return None
        return Closers(((*(later(c, stays) for c in found), *self.no_null),), own.evidence)

    @property
    def no_null(self) -> tuple[NeverNull, ...]:
        """What closes entries with NULL where no joint row has it."""
        return (NeverNull(self._never_null),) if self._never_null else ()

    def named_rows(self) -> list[Scan]:
        """The streams that have one row with the keys: by UNIQUE they name it, or a row that they name does."""
        known = {expr for same in self._keys for expr in same}
        named, before = list[Scan](), -1
        while len(named) != before:
            before = len(named)
            for scan in self._joint.scans:
                if all(scan is not each for each in named) and _names_row(scan, known, self._declared):
                    named.append(scan)
                    known |= {same for column in scan.schema for same in self._same(self._resolved(column))}
        return named

    def followed_times(self) -> Iterator[Column]:
        """The times, if they are no keys, of rows that the keys name and that rows of other streams follow."""
        known = {expr for same in self._keys for expr in same}
        followed = {source for source, _ in self._reaches}
        for number, scan in enumerate(self._joint.scans):
            if number in followed and scan.stream.timestamp not in known and any(scan is n for n in self.named_rows()):
                yield scan.stream.timestamp

    def over(self, member: SetOp) -> Keys:
        """Of each key what is equal to it over the columns of a set operation."""
        own = frozenset(member.schema)
        return tuple(next((expr for expr in same if columns(expr) <= own), None) for same in self._keys)

    def _resolved(self, expr: Expr) -> Expr:
        return unwidened(substitute(expr, self._inside))

    def _equal(self) -> Mapping[Expr, tuple[Expr, ...]]:
        classes: dict[Expr, tuple[Expr, ...]] = {}
        for fact in self._joint.on:
            if isinstance(fact, Compare) and fact.op is Comparator.EQ:
                left, right = (self._resolved(unwidened(part)) for part in (fact.left, fact.right))
                both = tuple(dict.fromkeys((*classes.get(left, (left,)), *classes.get(right, (right,)))))
                classes |= dict.fromkeys(both, both)
        return classes

    def _same(self, expr: Expr) -> tuple[Expr, ...]:
        return self._classes.get(expr, (expr,))

    @cached_property
    def _never_null(self) -> frozenset[int]:
        """The keys that are not NULL in any joint row."""
        found = with_values((*self._joint.scans, *self._joint.tables), self._joint.on, self._declared.catalog)
        known = {unwidened(self._inside.get(column, column)) for column in found}
        times = frozenset(scan.stream.timestamp for scan in self._joint.scans)
        return frozenset(
            number for number, same in enumerate(self._keys) if any(has_value(expr, known, times) for expr in same)
        )

    @cached_property
    def _reaches(self) -> Mapping[tuple[int, int], int]:
        """How much later than a row of one scan those of another are that meet it, by their numbers."""
        scans = self._joint.scans
        held = frozenset(column for scan in scans for column in scan.schema)
        # An anti-join may read its right side twice: for the equality, and for all that it compares.
        if len(scans) < 2 or len(held) < sum(len(scan.schema) for scan in scans):
            return {}
        on = tuple(fact for fact in self._joint.on if columns(fact) <= held)
        inputs = JoinInputs(PhysicalJoin(JoinKind.JOIN, scans, on), self._declared.catalog)
        found = certain_times(inputs) if self._declared.certain else declared_times(inputs)
        return {(each.source, each.target): each.reach for each in found if isinstance(each.reach, int)}

    def _followed(self, scan: Scan) -> Iterator[tuple[Scan, int]]:
        """The scans whose rows those of one follow in time, and how far. A row of a partition leaves with any later."""
        if isinstance(scan.spec, PartitionRows):
            return
        numbers = {id(each): number for number, each in enumerate(self._joint.scans)}
        for (source, target), reach in sorted(self._reaches.items()):
            if target == numbers[id(scan)]:
                yield self._joint.scans[source], reach

    def _own(self, scan: Scan) -> Closers:
        """What closes a stream by its own times and punctuations."""
        found: list[GroupCloser] = []
        evidence: list[Scan] = []
        if not isinstance(scan.spec, PartitionRows):
            found += self._times(scan)
        for scheme in self._declared.definition(scan).constraints:
            end = self._punctuated(scan, scheme, len(evidence)) if isinstance(scheme, Punctuated) else None
            if end is not None:
                found.append(end[0])
                evidence.append(end[1])
        return Closers((tuple(found),), tuple(evidence)) if found else Closers()

    def _referred(self, scan: Scan) -> Closers:
        """The end by RIDS(k) in rows of a stream to which the rows refer that end."""
        source = self._entries
        for then, keys, names in () if source is None else self._references(source, scan):
            assert source is not None
            rows = passed_by(source, self._declared.definition(source), names)
            return Closers(((AfterReference(keys, 0, replace(then, ticks=1)),),), (rows, self._ticks(scan)))
        return Closers()

    def _after_referring(self, scan: Scan) -> Closers:
        """The end after punctuations of a stream whose rows refer to those of another, and so many rows of that."""
        for source in self._joint.scans:
            for then, keys, _ in self._references(source, scan):
                theirs = self._own(source)
                by = replace(then, ticks=len(theirs.evidence))
                ends = (c for c in theirs.punctuations() if c.keys == keys)
                # A row with NULL refers to none.
                if after := tuple(replace(c, then=by, never_null=frozenset(keys)) for c in ends):
                    return Closers((after,), (*theirs.evidence, self._ticks(scan)))
        return Closers()

    def _ticks(self, scan: Scan) -> Scan:
        """All rows of a stream, to be counted."""
        return rows_of(self._declared.definition(scan), ())

    def _references(self, source: Scan, scan: Scan) -> Iterator[tuple[ByReference, tuple[int, ...], tuple[str, ...]]]:
        """How rows of a scan refer to those of another by RIDS(k) in rows, by which keys, and by which columns."""
        if source is scan:
            return
        definition = self._declared.definition(source)
        for reference in (each for each in definition.constraints if isinstance(each, Reference)):
            is_parent = reference.parent.lower() == scan.stream.name.lower()
            if not is_parent or (by := self._declared.fixed_k(reference)) is None or by.in_time:
                continue
            named = {column.name.lower(): column for column in scan.stream.schema}
            referred = tuple(named[name.lower()] for name in reference.parent_columns)
            places = [self.place(source, name) for name in reference.columns]
            keys = tuple(place for place in places if place is not None)
            is_same = places == [self.place(scan, column.name) for column in referred]
            if is_same and len(keys) == len(places) and _moves_only(scan, set(referred)):
                text = f"{definition.name}: {constraint_text(reference)}"
                yield ByReference(by.k, 0, referred, text), keys, reference.columns

    def _by_rows(self, scan: Scan, there: Sequence[Scan]) -> Closers:
        """What closes values because others come: the first order that speaks of keys, or if they came the cluster.

        Beside other streams orders are better: they speak of all values.
        """
        definition = self._declared.definition(scan)
        constraints = definition.constraints if isinstance(scan.spec, Unbounded) else ()
        if self._joint.scans != (scan,):
            constraints = tuple(sorted(constraints, key=lambda each: isinstance(each, Clustered)))
        for constraint in constraints:
            if isinstance(constraint, Clustered) and (found := self._cluster(scan, constraint, there)).streams:
                return found
            if isinstance(constraint, Ordered) and (by := self._declared.fixed_k(constraint)) is not None:
                key, evidence = self.place(scan, constraint.column), rows_of(definition, (constraint.column,))
                if key is not None and _is_whole(evidence.schema[0]):
                    text = f"{definition.name}: {constraint_text(constraint)}"
                    return Closers(((AfterOrder((key,), 0, by, text),),), (evidence,))
        return Closers()

    def _by_cluster(self, scan: Scan, there: Sequence[Scan]) -> Closers:
        """The end of the first cluster that speaks of keys."""
        clusters = (each for each in self._declared.definition(scan).constraints if isinstance(each, Clustered))
        found = (self._cluster(scan, each, there) for each in clusters if isinstance(scan.spec, Unbounded))
        return next((each for each in found if each.streams), Closers())

    def _cluster(self, scan: Scan, clustered: Clustered, there: Sequence[Scan]) -> Closers:
        """The end of a cluster, if its values came: what ends has a row of the same stream with them.

        What shows on close may be of one stream only.
        """
        definition, by = self._declared.definition(scan), self._declared.fixed_k(clustered)
        keys = tuple(place for name in clustered.columns if (place := self.place(scan, name)) is not None)
        is_shown = not self._declared.emits or self._joint.scans == (scan,)
        if (
            by is None
            or len(keys) < len(clustered.columns)
            or not is_shown
            or not self._came(scan, clustered, keys, there)
        ):
            return Closers()
        text = f"{definition.name}: {constraint_text(clustered)}"
        cluster = AfterPunctuation(keys, 0, never_null=frozenset(keys), scheme=text, cluster=by)
        return Closers(((cluster,),), (rows_of(definition, clustered.columns),))

    def _came(self, scan: Scan, clustered: Clustered, keys: tuple[int, ...], there: Iterable[Scan]) -> bool:
        """Whether rows of a stream that are there have the values of some keys in the columns of a cluster."""
        same = (each for each in there if each.stream.name.lower() == scan.stream.name.lower())
        return any(tuple(self.place(each, name) for name in clustered.columns) == keys for each in same)

    def _times(self, scan: Scan) -> Iterator[GroupInTime]:
        stream = scan.stream
        for number, same in enumerate(self._keys):
            for expr in same:
                if columns(expr) == {stream.timestamp} and never_falls(expr):
                    yield GroupInTime(number, expr, stream.timestamp, stream.unit)

    def _punctuated(self, scan: Scan, scheme: Punctuated, number: int) -> tuple[AfterPunctuation, Scan] | None:
        """The end by a scheme, which reads the evidence of this number, and the evidence."""
        definition = self._declared.definition(scan)
        punctuations = values_of(definition, scheme, self._declared.catalog)
        if punctuations is None or scheme.lifespan is not None:
            return None  # after a lifespan the values may come again
        named = {column.name.lower(): column for column in scan.stream.schema}
        without = null_never_punctuated(scheme, definition, self._declared.catalog)
        whole = scheme.columns, punctuations
        for names, values in (whole, of_fixed(punctuations, scheme.columns, scan) or whole):
            places = [self.place(scan, name) for name in names]
            if None not in places and _moves_only(scan, {named[name.lower()] for name in names}):
                keys = tuple(place for place in places if place is not None)
                never = frozenset(key for key, name in zip(keys, names, strict=True) if name.lower() in without)
                text = f"{definition.name}: {constraint_text(scheme)}"
                return AfterPunctuation(keys, number, never_null=never, scheme=text), values
        return None

    def place(self, scan: Scan, name: str) -> int | None:
        """Which of the keys a declared column of a stream is equal to."""
        (column,) = (column for column in scan.stream.schema if column.name.lower() == name.lower())
        return next((number for number, same in enumerate(self._keys) if column in same), None)


def either(one: Closers, other: Closers) -> Closers:
    """What closes a stream in either way."""
    both = one + other
    return Closers((tuple(both),), both.evidence)


def unless_it_leaves(scan: Scan) -> int | None:
    """Rows leave never, or only with others of their partition."""
    return 0 if isinstance(scan.spec, Unbounded | PartitionRows) else None


def until_they_left(scan: Scan) -> int | None:
    """Rows leave when their time is over, too: those of a sliding window at its next step."""
    return scan.spec.width + (scan.spec.slide or 1) if isinstance(scan.spec, Range) else unless_it_leaves(scan)


def until_they_entered(scan: Scan) -> int | None:
    """When rows leave does not matter."""
    return scan.spec.lag if isinstance(scan.spec, Range) else 0


def _moves_only(scan: Scan, by: set[Column]) -> bool:
    """Whether rows come and go only with rows that agree with them on these columns: others of their partition do."""
    return not isinstance(scan.spec, PartitionRows) or by <= set(scan.spec.by)


def _is_whole(column: Column) -> bool:
    """Whether a column's codes are in the order of its values."""
    return column.type.is_integer or column.type.kind in (Kind.TIMESTAMP, Kind.DATE)


def _names_row(scan: Scan, known: set[Expr], declared: Declared) -> bool:
    """Whether known columns name one row of a stream."""
    named = {column.name.lower(): column for column in scan.stream.schema}
    keys = (each.columns for each in declared.definition(scan).constraints if isinstance(each, Unique))
    return any(all(named[name.lower()] in known for name in key) for key in keys)
