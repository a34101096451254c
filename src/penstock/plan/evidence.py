"""Evidence: rows of streams that are read for what they say of other rows, such as punctuations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.algebra.expressions import And, Column, Expr, IsNull, Not, Or, substitute
from penstock.algebra.relations import Output, Stream, Unbounded
from penstock.catalog import Catalog, Punctuated, StreamDef
from penstock.plan.physical import Scan


def values_of(definition: StreamDef, scheme: Punctuated, catalog: Catalog) -> Scan | None:
    """The punctuations of a scheme, each as a row of the values of its columns; None if nothing says how they come."""
    if scheme.when is not None:
        return rows_of(definition, scheme.columns, scheme.when)
    if scheme.source is None:
        return None
    source = catalog.get(scheme.source)
    assert isinstance(source, StreamDef)
    return rows_of(source, scheme.source_columns)


def rows_of(definition: StreamDef, names: Iterable[str], when: Expr | None = None) -> Scan:
    """These columns of a stream's rows; `when` is over columns of scope ""."""
    occurrence = f"_{definition.name}"
    schema = tuple(Column(occurrence, a.name, a.type) for a in definition.attributes if not a.virtual)
    by_name = {column.name.lower(): column for column in schema}
    stream = Stream(definition.name, occurrence, schema, by_name[definition.timestamp.lower()])
    where = () if when is None else (substitute(when, {replace(c, scope=""): c for c in schema}),)
    outputs = tuple(Output(by_name[name.lower()], by_name[name.lower()]) for name in names)
    return Scan(stream, Unbounded(), where, outputs)


def refused_by(scan: Scan, definition: StreamDef, names: Iterable[str]) -> Scan | None:
    """These columns of the rows that a scan's filter keeps out; None if it has none."""
    if not scan.where:
        return None
    passes = scan.where[0] if len(scan.where) == 1 else And(scan.where)
    refused = Or((Not(passes), IsNull(passes)))
    return rows_of(definition, names, substitute(refused, {c: replace(c, scope="") for c in scan.stream.schema}))
