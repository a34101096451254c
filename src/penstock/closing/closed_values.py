"""Closed values: what says that no more change of a relation has certain values of its columns.

Each stream below has to be closed for them: by its own punctuations, by its times, or a while after another stream
whose rows its own follow. That is asked for groups, distinct values and rows of set operations (`groups.py`), and for
rows that a join keeps of inputs that are computed (`row_endings.py`). Of values that have a row already (`is_there`),
a stream with one such row by UNIQUE brings no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, columns, substitute
from penstock.algebra.physical import Scan
from penstock.algebra.predicates import unwidened
from penstock.algebra.relations import PartitionRows, Range, Relation, SetOp, Unbounded
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
from penstock.closing import never_falls, referring_punctuations
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
from penstock.closing.joint_rows import Inside, Joint, JointRows
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


#: How long after its time a row of a window brings changes, at most; None if that is not known.
Stays = Callable[[Scan], int | None]
#: Expressions, where they are known.
Keys = tuple[Expr | None, ...]


def closed_values(relation: Relation, keys: Keys, declared: Declared, *, is_there: bool = False) -> Closers | None:
    """What closes a relation for values of expressions over its columns; None if a stream below is not closed."""
    rows = JointRows()
    own = _over(keys, rows.add(relation))
    # Where all rows leave, nothing that is made of them stays; and what shows on close does so as of unbounded streams.
    stays = for_ever if declared.emits or not rows.lasts else until_they_left
    return closed_rows(rows, own, declared, stays, is_there=is_there and not rows.matches)


def closed_rows(
    rows: JointRows, keys: Keys, declared: Declared, stays: Stays | None = None, *, is_there: bool = False
) -> Closers | None:
    """The same for all that joint rows are of; the keys are over columns of its members.

    `stays` says how long after its time a row matters; if it is not given, rows never leave, or not by time.
    """
    found = Closers()
    for joint in rows.joints():
        view = JointKeys(joint, keys, declared, stays, rows.entries)
        for member in joint.bringing:
            if isinstance(member, SetOp):
                own = _closed_sides(member, view.over(member), declared)
            else:
                own = view.closers(member, is_there=is_there or rows.is_there(member))
            if rows.only_adds(member):
                own = Closers(adding=((),)) if own is None else Closers((), own.evidence, own.streams)
            if own is None:
                return None
            found += own
    return found


def forgettable(closers: Closers | None) -> Closers | None:
    """With one scheme for each stream, whose punctuations are forgotten: they alone say that all streams are closed.

    Of two, those of the second would find those gone that they go with. None if some would be kept indefinitely.
    """
    before = None
    while closers is not None and closers != before:
        before, closers = closers, _one_scheme_each(closers)
        if not all(any(not isinstance(closer, NeverNull) for closer in own) for own in closers.streams):
            return None
        is_noted = any(isinstance(closer, AfterPunctuation) for own in closers.streams for closer in own)
        closers = closers if is_noted else replace(closers, adding=())
    return closers


def _one_scheme_each(closers: Closers) -> Closers:
    """Of each stream the closers by times, and by the scheme with the fewest keys that says enough of all streams."""

    def chosen(own: tuple[GroupCloser, ...]) -> tuple[GroupCloser, ...]:
        schemes = (c for c in own if isinstance(c, AfterPunctuation) and closers.all_close(frozenset(c.keys)))
        best = min(schemes, key=lambda closer: (len(closer.keys), closer.keys, closer.evidence), default=None)
        by = None if best is None else best.at_once
        return tuple(c for c in own if not isinstance(c, AfterPunctuation) or c.at_once == by)

    left = Closers(tuple(map(chosen, closers.streams)), closers.evidence, tuple(map(chosen, closers.adding)))
    return left.reading(left.read)


def _over(keys: Keys, inside: Inside) -> Keys:
    """Keys over columns of members."""
    return tuple(None if key is None else substitute(key, inside) for key in keys)


class JointKeys:
    """What is equal to each of some keys in joint rows, and closes the streams for them."""

    def __init__(
        self, joint: Joint, keys: Keys, declared: Declared, stays: Stays | None = None, entries: Scan | None = None
    ) -> None:
        """`entries` is the scan whose rows are those that end, if they are one's."""
        self._joint, self._declared, self._stays, self._entries = joint, declared, stays or for_ever, entries
        #: What columns of scans are in terms of their streams.
        self._inside = {o.column: unwidened(o.expr) for scan in joint.scans for o in scan.outputs}
        self._classes = self._equal()
        self._keys = [() if key is None else self._same(self._resolved(key)) for key in keys]

    def closers(self, scan: Scan, *, is_there: bool) -> Closers | None:
        """What closes a stream: its own closers, or those of one that its rows follow, so much later."""
        stays = self._stays(scan)
        if stays is None:
            return None
        own = _either(self._own(scan), self._referred(scan))
        for source, reach in self._followed(scan):
            theirs = _either(self._own(source), self._referred(source))
            own = _either(own, Closers((tuple(later(c, reach) for c in theirs),), theirs.evidence))
        found = tuple(own)
        found += (WithFirstRow(),) * (is_there and any(scan is each for each in self.named_rows()))
        if not found:
            own = self._after_referring(scan)
            found = tuple(own)
        if not found:
            own = self._by_rows(scan, is_there=is_there and self._joint.scans == (scan,))
            found = tuple(own)
        if not found:
            return None
        no_null = (NeverNull(self._never_null),) if self._never_null else ()
        return Closers(((*(later(c, stays) for c in found), *no_null),), own.evidence)

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
        known = {self._inside.get(column, column) for column in found}
        times = frozenset(scan.stream.timestamp for scan in self._joint.scans)
        return frozenset(
            number for number, same in enumerate(self._keys) if any(has_value(expr, known, times) for expr in same)
        )

    @cached_property
    def _reaches(self) -> Mapping[tuple[int, int], int]:
        """How much later than a row of one scan those of another are that meet it, by their numbers."""
        scans = self._joint.scans
        held = frozenset(column for scan in scans for column in scan.schema)
        if len(scans) < 2:
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
        if source is scan or self._declared.certain:
            return
        definition = self._declared.definition(source)
        for reference in (each for each in definition.constraints if isinstance(each, Reference)):
            is_parent = reference.parent.lower() == scan.stream.name.lower()
            if not is_parent or (by := _fixed_k(reference)) is None or by.in_time:
                continue
            named = {column.name.lower(): column for column in scan.stream.schema}
            referred = tuple(named[name.lower()] for name in reference.parent_columns)
            places = [self.place(source, name) for name in reference.columns]
            keys = tuple(place for place in places if place is not None)
            is_same = places == [self.place(scan, column.name) for column in referred]
            if is_same and len(keys) == len(places) and _moves_only(scan, set(referred)):
                text = f"{definition.name}: {constraint_text(reference)}"
                yield ByReference(by.k, 0, referred, text), keys, reference.columns

    def _by_rows(self, scan: Scan, *, is_there: bool) -> Closers:
        """What closes values because others come: the first order that speaks of keys, or if they came the cluster."""
        definition = self._declared.definition(scan)
        for constraint in definition.constraints if isinstance(scan.spec, Unbounded) else ():
            if not isinstance(constraint, Clustered | Ordered) or (by := _fixed_k(constraint)) is None:
                continue
            names = constraint.columns if isinstance(constraint, Clustered) else (constraint.column,)
            keys = tuple(place for name in names if (place := self.place(scan, name)) is not None)
            evidence, text = rows_of(definition, names), f"{definition.name}: {constraint_text(constraint)}"
            if isinstance(constraint, Clustered) and len(keys) == len(names) and is_there:
                cluster = AfterPunctuation(keys, 0, never_null=frozenset(keys), scheme=text, cluster=by)
                return Closers(((cluster,),), (evidence,))
            if isinstance(constraint, Ordered) and keys and _is_whole(evidence.schema[0]):
                return Closers(((AfterOrder((keys[0],), 0, by, text),),), (evidence,))
        return Closers()

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


def _either(one: Closers, other: Closers) -> Closers:
    """What closes a stream in either way."""
    both = one + other
    return Closers((tuple(both),), both.evidence)


def for_ever(scan: Scan) -> int | None:
    """Rows leave never, or only with others of their partition."""
    return 0 if isinstance(scan.spec, Unbounded | PartitionRows) else None


def until_they_left(scan: Scan) -> int | None:
    """Rows leave when their time is over, too."""
    return scan.spec.width + 1 if isinstance(scan.spec, Range) and scan.spec.slide is None else for_ever(scan)


def until_they_entered(scan: Scan) -> int | None:
    """When rows leave does not matter."""
    return scan.spec.lag if isinstance(scan.spec, Range) else 0


def _moves_only(scan: Scan, by: set[Column]) -> bool:
    """Whether rows come and go only with rows that agree with them on these columns: others of their partition do."""
    return not isinstance(scan.spec, PartitionRows) or by <= set(scan.spec.by)


def _fixed_k(constraint: Clustered | Ordered | Reference) -> ByRows | None:
    """The k of a constraint, unless a run finds it."""
    match constraint.within:
        case WithinRows(k) if constraint.on_violation is not OnViolation.WIDEN:
            return ByRows(k, in_time=False)
        case WithinTime(microseconds=k) if constraint.on_violation is not OnViolation.WIDEN:
            return ByRows(k, in_time=True)
    return None


def _is_whole(column: Column) -> bool:
    """Whether a column's codes are in the order of its values."""
    return column.type.is_integer or column.type.kind in (Kind.TIMESTAMP, Kind.DATE)


def _names_row(scan: Scan, known: set[Expr], declared: Declared) -> bool:
    """Whether known columns name one row of a stream."""
    named = {column.name.lower(): column for column in scan.stream.schema}
    keys = (each.columns for each in declared.definition(scan).constraints if isinstance(each, Unique))
    return any(all(named[name.lower()] in known for name in key) for key in keys)


def _closed_sides(node: SetOp, keys: Keys, declared: Declared) -> Closers | None:
    """What closes both sides of a set operation: a row may be of one side alone."""
    found = Closers()
    sides = [(side, tuple(_renamed(key, node, side) for key in keys)) for side in node.inputs]
    for (side, own_keys), other in zip(sides, reversed(sides), strict=True):
        own = closed_values(side, own_keys, declared)
        for referred in () if declared.certain else _referred_to(side, own_keys, *other, declared):
            own = referred if own is None else _either(own, referred)
        if own is None:
            return None
        found += own
    return found


def _renamed(key: Expr | None, node: SetOp, side: Relation) -> Expr | None:
    """A key over columns of a set operation, over those of a side."""
    inside: dict[Column, Expr] = dict(zip(node.schema, side.schema, strict=True))
    return None if key is None else substitute(key, inside)


def _referred_to(
    side: Relation, keys: Keys, other: Relation, other_keys: Keys, declared: Declared
) -> Iterator[Closers]:
    """What closes a stream that is a side alone after punctuations of the other that refer to its rows."""
    one, referring = _alone(side, keys, declared), _alone(other, other_keys, declared)
    if one is None or referring is None:
        return
    (scan, own), (source, theirs) = one, referring
    definition = declared.definition(source)
    for scheme, reference in referring_punctuations(definition, scan.stream.name):
        places = [theirs.place(source, name) for name in scheme.columns]
        pairs = zip(reference.columns, reference.parent_columns, strict=True)
        agree = all(theirs.place(source, a) == own.place(scan, b) is not None for a, b in pairs)
        punctuations = values_of(definition, scheme, declared.catalog)
        if agree and None not in places and punctuations is not None:
            assert isinstance(reference.within, WithinTime)
            closed = tuple(place for place in places if place is not None)
            # A row with NULL refers to none.
            refers = {name.lower() for name in reference.columns}
            never = frozenset(p for name, p in zip(scheme.columns, closed, strict=True) if name.lower() in refers)
            text = f"{definition.name}: {constraint_text(scheme)}"
            closer = AfterPunctuation(closed, 0, reference.within.microseconds, never, text)
            yield Closers(((closer,),), (punctuations,))


def _alone(side: Relation, keys: Keys, declared: Declared) -> tuple[Scan, JointKeys] | None:
    """All rows of a stream, if they alone are a side, and what is known of the keys."""
    rows = JointRows()
    inside = rows.add(side)
    joints = list(rows.joints())
    match joints:
        case [Joint((Scan(spec=Unbounded()) as scan,)) as joint] if not rows.matches:
            return scan, JointKeys(joint, _over(keys, inside), declared)
    return None
