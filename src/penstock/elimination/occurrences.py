"""Occurrences of one stream or table in a relation, and when a row of one is a row of another.

```text
  FROM s [RANGE 1 HOUR] x, s [UNBOUNDED] y        at every instant each row of x is there as a row of y, too
```

Both occurrences read the same rows, late rows are dropped for both, and a window that holds all that another holds does
so at every instant: so the row of x itself is a row of y, with the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.algebra.expressions import Column, Expr, substitute
from penstock.algebra.predicates import unwidened
from penstock.algebra.relations import (
    Join,
    PartitionRows,
    Range,
    Relation,
    Select,
    Table,
    Unbounded,
    Window,
    WindowSpec,
)
from penstock.catalog import Catalog, StreamDef, TableDef, Unique
from penstock.closing.declarations import constraint_text


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A window or table with the filters on its rows."""

    leaf: Window | Table
    predicates: tuple[Expr, ...]

    @property
    def name(self) -> str:
        return self.leaf.stream.occurrence if isinstance(self.leaf, Window) else self.leaf.occurrence

    @property
    def declared(self) -> str:
        return self.leaf.stream.name if isinstance(self.leaf, Window) else self.leaf.name

    def definition(self, catalog: Catalog) -> StreamDef | TableDef | None:
        found = catalog.get(self.declared)
        return found if isinstance(found, (StreamDef, TableDef)) else None

    def keys(self, catalog: Catalog) -> Iterator[tuple[frozenset[str], str]]:
        """The declared keys, in lower case, each as it is written."""
        definition = self.definition(catalog)
        for declared in definition.constraints if definition is not None else ():
            if isinstance(declared, Unique):
                columns = frozenset(column.lower() for column in declared.columns)
                yield columns, f"{self.declared}: {constraint_text(declared)}"

    def is_not_null(self, column: Column, catalog: Catalog) -> bool:
        definition = self.definition(catalog)
        return definition is not None and column.name.lower() in definition.not_null


@dataclass(frozen=True, slots=True)
class Partnership:
    """What declarations promise of an occurrence: each of its rows has a partner in another one."""

    child: Occurrence
    parent: Occurrence
    on: tuple[Expr, ...]
    exists: tuple[str, ...]
    #: The key by which there is one at most, where that matters.
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Elimination:
    """A join that is not run: which occurrence is not joined, and why that changes nothing."""

    occurrence: str
    message: str
    leans_on: tuple[str, ...] = ()
    #: What has to be watched, since data may break it.
    promised: Partnership | None = None

    def __str__(self) -> str:
        by = f" [{'; '.join(self.leans_on)}]" if self.leans_on else ""
        return f"{self.occurrence} is not {'read' if self.promised is None else 'joined'}: {self.message}{by}"


def occurrence(relation: Relation) -> Occurrence | None:
    """A relation as an occurrence with its filters, if it is one."""
    match relation:
        case Select(Window() | Table() as leaf, predicates):
            return Occurrence(leaf, predicates)
        case Window() | Table():
            return Occurrence(relation, ())
    return None


def occurrences(relation: Relation) -> Iterator[Occurrence]:
    """The occurrences whose rows a relation combines as they are."""
    match relation:
        case Join(operands):
            for operand in operands:
                yield from occurrences(operand)
        case Select(Join() as join):
            yield from occurrences(join)
        case _:
            found = occurrence(relation)
            if found is not None:
                yield found


def itself(one: Occurrence, other: Occurrence) -> Mapping[Column, Column] | None:
    """For each column of `other` that of `one`, if each row of `one` is one of `other`, but for its filters."""
    a, b = one.leaf, other.leaf
    if isinstance(a, Table) and isinstance(b, Table):
        return dict(zip(b.columns, a.columns, strict=True)) if a.name == b.name and a.schema != b.schema else None
    if isinstance(a, Window) and isinstance(b, Window) and a.stream.name == b.stream.name and a.schema != b.schema:
        columns = dict(zip(b.schema, a.schema, strict=True))
        return columns if _holds_all_of(b.spec, a.spec, columns) else None
    return None


def passes(one: Occurrence, other: Occurrence, columns: Mapping[Column, Column]) -> bool:
    """Whether the filters of `one` include those of `other`."""
    return {substitute(predicate, columns) for predicate in other.predicates} <= set(one.predicates)


def column_of(expr: Expr) -> Column | None:
    """The column that an expression is, but for its width."""
    plain = unwidened(expr)
    return plain if isinstance(plain, Column) else None


def _holds_all_of(spec: WindowSpec, inner: WindowSpec, columns: Mapping[Column, Column]) -> bool:
    match spec, inner:
        case Unbounded(), _:
            return True
        case Range(width, None), Range(narrower, None):
            return width >= narrower
        case PartitionRows(by, count), PartitionRows(inner_by, inner_count):
            return tuple(columns[column] for column in by) == inner_by and count == inner_count
    return spec == inner
