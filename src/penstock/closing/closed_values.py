"""Closed values: what says that no more change of a relation has certain values of its columns.

Each stream below has to be closed for them: by its own punctuations, by its times, or a while after another stream
whose rows its own follow. That is asked for groups, distinct values and rows of set operations (`groups.py`), and for
rows that a join keeps of inputs that are computed (`row_endings.py`). Of values that have a row already (`is_there`),
a stream with one such row by UNIQUE brings no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.algebra.expressions import substitute
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Relation, SetOp, Unbounded
from penstock.catalog import (
    WithinTime,
)
from penstock.closing import referring_punctuations
from penstock.closing.declarations import constraint_text
from penstock.closing.evidence import values_of
from penstock.closing.group_closers import (
    AfterPunctuation,
    Closers,
    GroupCloser,
    NeverNull,
)
from penstock.closing.joint_keys import Declared, JointKeys, Keys, Stays, either, unless_it_leaves, until_they_left
from penstock.closing.joint_rows import Inside, Joint, JointRows


def closed_values(relation: Relation, keys: Keys, declared: Declared, *, is_there: bool = False) -> Closers | None:
    """What closes a relation for values of expressions over its columns; None if a stream below is not closed."""
    rows = JointRows()
    own = _over(keys, rows.add(relation))
    # Where all rows leave, nothing that is made of them stays; and what shows on close does so as of unbounded streams.
    stays = unless_it_leaves if declared.emits or not rows.lasts else until_they_left
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
        there = [scan for scan in joint.scans if is_there or rows.is_there(scan)]
        for member in joint.bringing:
            if isinstance(member, SetOp):
                own = _closed_sides(member, view.over(member), declared)
            else:
                own = view.closers(member, there, adds=rows.only_adds(member))
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
        schemes = (c for c in own if isinstance(c, AfterPunctuation) and closers.all_close(c))
        best = min(schemes, key=_preference, default=None)
        by = None if best is None else best.at_once
        return tuple(c for c in own if not isinstance(c, AfterPunctuation) or c.at_once == by)

    left = Closers(tuple(map(chosen, closers.streams)), closers.evidence, tuple(map(chosen, closers.adding)))
    return left.reading(left.read)


def _preference(closer: AfterPunctuation) -> tuple[int, int, tuple[int, ...], int]:
    """Schemes with few keys first, and of these such as close groups of NULL as well."""
    return len(closer.keys), len(closer.never_null), closer.keys, closer.evidence


def _over(keys: Keys, inside: Inside) -> Keys:
    """Keys over columns of members."""
    return tuple(None if key is None else substitute(key, inside) for key in keys)


def _closed_sides(node: SetOp, keys: Keys, declared: Declared) -> Closers | None:
    """What closes both sides of a set operation: a row may be of one side alone."""
    found = Closers()
    sides = [(side, _over(keys, dict(zip(node.schema, side.schema, strict=True)))) for side in node.inputs]
    for (side, own_keys), other in zip(sides, reversed(sides), strict=True):
        own = closed_values(side, own_keys, declared)
        for referred in () if declared.certain else _referred_to(side, own_keys, *other, declared):
            own = referred if own is None else either(own, referred)
        if own is None:
            return None
        found += own
    return found


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
            yield Closers(((closer, *own.no_null),), (punctuations,))


def _alone(side: Relation, keys: Keys, declared: Declared) -> tuple[Scan, JointKeys] | None:
    """All rows of a stream, if they alone are a side, and what is known of the keys."""
    rows = JointRows()
    inside = rows.add(side)
    joints = list(rows.joints())
    match joints:
        case [Joint((Scan(spec=Unbounded()) as scan,)) as joint] if not rows.matches:
            return scan, JointKeys(joint, _over(keys, inside), declared)
    return None
