"""Evidence: rows of streams that are read for what they say of other rows, such as punctuations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from penstock.algebra.expressions import And, Column, Comparator, Compare, Expr, IsNull, Literal, Not, Or, substitute
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Output, Stream, Unbounded
from penstock.catalog import Catalog, Punctuated, StreamDef

#: So many of the values that a scheme's punctuations closed a guard remembers in each cell, to reject rows that come
#: all the same (`synopsis/punctuated.py`). Texts among them stay in the dictionary as long.
REMEMBERED = 1 << 16


def values_of(definition: StreamDef, scheme: Punctuated, catalog: Catalog) -> Scan | None:
    """The punctuations of a scheme, each as a row of the values of its columns; None if nothing says how they come."""
    if scheme.when is not None:
        return rows_of(definition, scheme.columns, scheme.when)
    if scheme.source is None:
        return None
    source = catalog.get(scheme.source)
    assert isinstance(source, StreamDef)
    return rows_of(source, scheme.source_columns)


def of_fixed(punctuations: Scan, names: Iterable[str], scan: Scan) -> tuple[tuple[str, ...], Scan] | None:
    """The punctuations that speak of a scan's rows where its filter fixes some of their columns, and the other columns.

    `names` are the columns of the scheme. Nothing, if none of them is fixed, or all are.
    """
    fixed = {column.name.lower(): literal for column, literal in _fixed(scan)}
    pairs = list(zip(names, punctuations.outputs, strict=True))
    constant = {o: fixed[n.lower()] for n, o in pairs if n.lower() in fixed and o.expr.type == fixed[n.lower()].type}
    if not constant or len(constant) == len(pairs):
        return None
    where = tuple(Compare(Comparator.EQ, output.expr, literal) for output, literal in constant.items())
    rest = tuple((name, output) for name, output in pairs if output not in constant)
    outputs = tuple(output for _, output in rest)
    return tuple(name for name, _ in rest), replace(punctuations, where=punctuations.where + where, outputs=outputs)


def _fixed(scan: Scan) -> Iterator[tuple[Column, Literal]]:
    for predicate in scan.where:
        match predicate:
            case Compare(Comparator.EQ, Column() as column, Literal() as literal):
                yield column, literal


def rows_of(definition: StreamDef, names: Iterable[str], when: Expr | None = None) -> Scan:
    """These columns of a stream's rows; `when` is over columns of scope ""."""
    occurrence = f"_{definition.name}"
    schema = tuple(Column(occurrence, a.name, a.type) for a in definition.attributes if not a.virtual)
    by_name = {column.name.lower(): column for column in schema}
    stream = Stream(definition.name, occurrence, schema, by_name[definition.timestamp.lower()], definition.unit)
    where = () if when is None else (substitute(when, {replace(c, scope=""): c for c in schema}),)
    outputs = tuple(Output(by_name[name.lower()], by_name[name.lower()]) for name in names)
    return Scan(stream, Unbounded(), where, outputs)


def passed_by(scan: Scan, definition: StreamDef, names: Iterable[str]) -> Scan:
    """These columns of the rows that pass a scan's filter."""
    return rows_of(definition, names, _own(_filter(scan), scan) if scan.where else None)


def refused_by(scan: Scan, definition: StreamDef, names: Iterable[str]) -> Scan | None:
    """These columns of the rows that a scan's filter keeps out; None if it has none."""
    if not scan.where:
        return None
    passes = _filter(scan)
    return rows_of(definition, names, _own(Or((Not(passes), IsNull(passes))), scan))


def _filter(scan: Scan) -> Expr:
    return scan.where[0] if len(scan.where) == 1 else And(scan.where)


def _own(predicate: Expr, scan: Scan) -> Expr:
    """A predicate on rows of a scan, over columns of scope ""."""
    return substitute(predicate, {c: replace(c, scope="") for c in scan.stream.schema})
