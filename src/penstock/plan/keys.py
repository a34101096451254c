"""Keys: which columns name one row of a relation indefinitely, by what streams and tables declare UNIQUE.

A window holds a stream's row from one instant to another and never again. So a row that a key names comes once and goes
once, and so does a combination of such rows, which is there while all of them are. Two things follow. A key decides
the other columns of its row, at whatever instant (a functional dependency: Armstrong 1974), so rows that agree on it
agree on what they were partitioned by. And where all columns of a relation are a key, no two changes of an instant
concern equal rows: there is nothing to net.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, columns
from penstock.algebra.physical import Keep, Scan
from penstock.algebra.pipelined_filters import PipelinedFilters
from penstock.algebra.relations import Distinct, Output, Project, Relation, Select, Table
from penstock.catalog import Catalog, StreamDef, TableDef, Unique
from penstock.closing.physical_join import JoinKind, PhysicalJoin

Columns = frozenset[Column]


def comes_once(relation: Relation, catalog: Catalog) -> bool:
    """Whether no row of a relation is there twice, and none comes again that went."""
    return _is_key(relation, frozenset(relation.schema), catalog)


def decided(relation: Relation, given: Columns, catalog: Catalog) -> Columns:
    """The columns of a relation whose values the given ones decide."""
    match relation:
        case Scan() | Table() if _is_key(relation, given, catalog):
            return frozenset(relation.schema)
        case Select(below) | Distinct(below):
            return decided(below, given, catalog)
        case Keep(below, kept):
            return decided(below, given, catalog) & frozenset(kept)
        case Project(below, outputs):
            inside = decided(below, _inside(outputs, given), catalog)
            return given | frozenset(output.column for output in outputs if columns(output.expr) <= inside)
        case PhysicalJoin(JoinKind.SEMI | JoinKind.ANTI, (left, _)) | PipelinedFilters(left):
            return decided(left, given, catalog)
        case PhysicalJoin(_, operands, on):
            return _decided_in_join(operands, on, given, catalog)
    return given


def _is_key(relation: Relation, given: Columns, catalog: Catalog) -> bool:
    """Whether the given columns name a row of a relation, which comes once and goes once."""
    match relation:
        case Scan(stream, outputs=outputs):
            return _has_declared(stream.name, _inside(outputs, given), catalog)
        case Table(name):
            return _has_declared(name, given, catalog)
        case Select(below) | Keep(below) | PipelinedFilters(below):
            return _is_key(below, given, catalog)
        case Project(below, outputs):
            return _is_key(below, _inside(outputs, given), catalog)
        case PhysicalJoin(JoinKind.JOIN, operands):
            known = decided(relation, given, catalog)
            return all(_is_key(operand, known & frozenset(operand.schema), catalog) for operand in operands)
    return False


def _decided_in_join(operands: tuple[Relation, ...], on: tuple[Expr, ...], given: Columns, catalog: Catalog) -> Columns:
    """The closure under the operands' dependencies and the equalities, which are true of every combination."""
    known, before = given, frozenset[Column]()
    while known != before:
        before = known
        for operand in operands:
            known |= decided(operand, known & frozenset(operand.schema), catalog)
        for left, right in _equal_columns(on):
            known |= {left, right} if {left, right} & known else set()
    return known


def _equal_columns(on: Iterable[Expr]) -> Iterable[tuple[Column, Column]]:
    for expr in on:
        if isinstance(expr, Compare) and expr.op is Comparator.EQ:
            left, right = expr.left, expr.right
            if isinstance(left, Column) and isinstance(right, Column):
                yield left, right


def _inside(outputs: tuple[Output, ...], given: Columns) -> Columns:
    """The columns that the given outputs repeat."""
    return frozenset(o.expr for o in outputs if o.column in given and isinstance(o.expr, Column))


def _has_declared(name: str, given: Columns, catalog: Catalog) -> bool:
    """Whether a declared key is among the given columns of a stream or table."""
    definition = catalog.get(name)
    if not isinstance(definition, StreamDef | TableDef):
        return False
    names = {column.name.lower() for column in given}
    keys = (constraint.columns for constraint in definition.constraints if isinstance(constraint, Unique))
    return any({column.lower() for column in key} <= names for key in keys)
