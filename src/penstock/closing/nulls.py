"""Where no NULL can be: in columns that are NOT NULL, in times, and in what a condition compares.

GROUP BY, DISTINCT and set operations take NULLs for equal, so a NULL is a value like any other, and a punctuation may
close it. Where there is none, nothing has to.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from penstock.algebra.expressions import Column, Expr, Literal, columns
from penstock.algebra.physical import Scan
from penstock.algebra.predicates import unwidened
from penstock.algebra.relations import Stream, Table
from penstock.algebra.rewrites.drop_null_tests import valued
from penstock.catalog import Catalog, Punctuated, StreamDef, TableDef
from penstock.closing.monotone_buckets import never_falls

Columns = frozenset[Column]


def with_values(leaves: Iterable[Scan | Table], on: Iterable[Expr], catalog: Catalog) -> Columns:
    """The columns that hold no NULL in rows of which some predicates are true; of scans those of the stream."""
    return frozenset[Column]().union(_tested(on), *(_of_leaf(leaf, catalog) for leaf in leaves))


def _of_leaf(leaf: Scan | Table, catalog: Catalog) -> Columns:
    if isinstance(leaf, Scan):
        return _declared(leaf.stream, catalog) | _tested(leaf.where)
    definition = catalog.get(leaf.name)
    names = definition.not_null if isinstance(definition, TableDef) else frozenset()
    return frozenset(column for column in leaf.schema if column.name.lower() in names)


def has_value(expr: Expr, known: Set[Expr], times: Columns) -> bool:
    """Whether an expression is never NULL, where some never are. Times of streams are too small to overflow."""
    plain = unwidened(expr)
    if plain in known or (isinstance(plain, Literal) and plain.value is not None):
        return True
    return never_falls(plain) and columns(plain) <= times


def null_never_punctuated(scheme: Punctuated, definition: StreamDef, catalog: Catalog) -> frozenset[str]:
    """The columns of a scheme, in lower case, in which no punctuation of it can have NULL."""
    if scheme.source is not None:
        source = catalog.get(scheme.source)
        assert isinstance(source, StreamDef)
        pairs = zip(scheme.columns, scheme.source_columns, strict=True)
        return frozenset(name.lower() for name, theirs in pairs if theirs.lower() in source.not_null)
    tested = {column.name.lower() for column in valued(scheme.when)} if scheme.when is not None else set()
    return frozenset(name.lower() for name in scheme.columns) & (tested | definition.not_null)


def _declared(stream: Stream, catalog: Catalog) -> Columns:
    definition = catalog.get(stream.name)
    names = definition.not_null if isinstance(definition, StreamDef) else frozenset()
    return frozenset(column for column in stream.schema if column.name.lower() in names) | {stream.timestamp}


def _tested(predicates: Iterable[Expr]) -> Columns:
    return frozenset[Column]().union(*map(valued, predicates))
