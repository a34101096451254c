"""Sides of a set operation whose punctuations refer to the other side.

A row may be of one side alone, so that rows of a side refer to the other says nothing by itself: there may be none. But
a punctuation that is a row of its stream refers to the other side, too. What it refers to comes within the reference's
time, and then the other side is closed for its values as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.algebra.expressions import Column, Expr, substitute
from penstock.algebra.predicates import unwidened
from penstock.algebra.relations import Project, Relation, Select, Unbounded, Window
from penstock.catalog import Catalog, OnViolation, Punctuated, Reference, StreamDef, WithinTime
from penstock.closing.bounds import BoundKind
from penstock.closing.endings import Ending
from penstock.closing.scheme_closers import guard, window_closers

#: A side that is all rows of a stream, and which of its columns are those of the set operation.
Side = tuple[Window, Mapping[Column, Column]]


def referring_punctuations(definition: StreamDef, parent: str) -> Iterator[tuple[Punctuated, Reference]]:
    """The schemes of a stream whose punctuations are rows that refer to rows of another, which come in time."""
    references = [c for c in definition.constraints if isinstance(c, Reference) and c.parent.lower() == parent.lower()]
    for scheme in definition.constraints:
        if isinstance(scheme, Punctuated) and scheme.when is not None and scheme.lifespan is None:
            names = {name.lower() for name in scheme.columns}
            for reference in references:
                is_timed = isinstance(reference.within, WithinTime) and reference.on_violation is not OnViolation.WIDEN
                if is_timed and {name.lower() for name in reference.columns} <= names:
                    yield scheme, reference


def side_of(relation: Relation, own: Mapping[Column, Expr]) -> Side | None:
    """A side, if it is all rows of a stream but for a filter; `own` are the set operation's columns in its words."""
    match relation:
        case Select(below):
            return side_of(below, own)
        case Project(below, outputs):
            inside = {output.column: output.expr for output in outputs}
            return side_of(below, {column: substitute(expr, inside) for column, expr in own.items()})
        case Window(spec=Unbounded()):
            plain = ((column, unwidened(expr)) for column, expr in own.items())
            return relation, {column: expr for column, expr in plain if isinstance(expr, Column)}
    return None


def ending_by_reference(one: Side, other: Side, asked: frozenset[Column], catalog: Catalog) -> Ending | None:
    """How a side ends for the values of these columns, after punctuations of the other."""
    (window, columns), (referring, own) = one, other
    definition = catalog.get(referring.stream.name)
    assert isinstance(definition, StreamDef)
    for scheme, reference in referring_punctuations(definition, window.stream.name):
        known = {own[column].name.lower(): column for column in asked if column in own}
        theirs = {column: columns[column].name.lower() for column in asked if column in columns}
        pairs = zip(reference.columns, reference.parent_columns, strict=True)
        agree = all(theirs.get(known[a.lower()]) == b.lower() if a.lower() in known else False for a, b in pairs)
        if agree and {name.lower() for name in scheme.columns} <= known.keys():
            return _ending(referring, window, scheme, reference, definition, catalog)
    return None


def _ending(
    child: Window, parent: Window, scheme: Punctuated, reference: Reference, definition: StreamDef, catalog: Catalog
) -> Ending:
    name = child.stream.occurrence
    named = {column.name.lower(): str(column) for column in child.stream.schema}
    columns = {named[column.lower()] for column in scheme.columns}
    closed = next(
        closer
        for closer in window_closers(child, name, catalog)
        if set(closer.scheme.attributes) == columns and closer.open.kind is BoundKind.OPEN
    )
    then = guard(name, parent, reference, definition)
    text = f"{parent.stream.occurrence} is closed after a row that refers to it, by {', '.join(then.leans_on)}"
    return Ending((closed.open, then.open), (text,), (*closed.leans_on, *then.leans_on), by_time=False)
