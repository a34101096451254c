"""Declarations as constraints: the one translation from the catalog to the theory.

| declaration | as a constraint |
| --- | --- |
| `CREATE ASSERTION` | itself, of rows for which its conditions are true: NULL makes none of them true |
| `UNIQUE (k)` of s | s x, s y with x.k = y.k: one time, and each column with a value has the same value in both |
| `NOT NULL (a)` of s | s x: x.a = x.a |
| `FOREIGN KEY (a) REFERENCES s (b) WITHIN t` | s y with y.b = x.a is at most t after x; there may be none |
| `... WITHIN 0 ROWS` | s y with y.b = x.a is no later than x |

The time of a row is the number in its timestamp column. Only `THEN EXISTS` promises that a row exists: a reference
bounds when it comes, if it does (thesis 6.6). What the theory cannot express is left out and named; a premise is never
weakened, a conclusion may lose a condition. `DELAY` is about arrival, and says nothing of timestamps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.algebra.expressions import Expr
from penstock.algebra.printing import expression_text
from penstock.catalog import (
    AssertionDef,
    Catalog,
    NotNull,
    OnViolation,
    Reference,
    StreamDef,
    TupleVariable,
    Unique,
    WithinRows,
    WithinTime,
)
from penstock.catalog import Constraint as Declaration
from penstock.closing.declarations import constraint_text
from penstock.elimination.conditions import Beyond, condition_of
from penstock.elimination.constraints import AtMost, Cell, Condition, Constraint, Equal, Row
from penstock.types import TimeUnit


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A declaration, or a part of one, that the theory does not express, and the streams that it is about."""

    declaration: str
    streams: frozenset[str]


@dataclass(frozen=True, slots=True)
class Theory:
    constraints: tuple[Constraint, ...]
    left_out: tuple[LeftOut, ...] = ()


def theory_of(catalog: Catalog, without: str | None = None, about: Iterable[Constraint] = ()) -> Theory:
    """What a catalog promises, but for one assertion, as far as it matters to assertions and to these constraints."""
    assertions = [d for d in catalog.definitions.values() if isinstance(d, AssertionDef) and d.name != without]
    translated = [_assertion(assertion, catalog) for assertion in assertions]
    constraints = [constraint for constraint, _ in translated if constraint is not None]
    left_out = [left for _, left in translated if left is not None]
    for stream in catalog.streams:
        for declaration in stream.constraints:
            if isinstance(declaration, Reference):
                constraints += _reference(declaration, stream, catalog)
            if not _is_expressed(declaration, stream, catalog):
                left_out.append(LeftOut(_named(stream, declaration), frozenset({stream.name})))
    mentioned = _mentioned((*constraints, *about))
    for stream in catalog.streams:
        for declaration in stream.constraints:
            if isinstance(declaration, Unique):
                constraints += _unique(declaration, stream, mentioned)
            elif isinstance(declaration, NotNull):
                constraints += _not_null(declaration, stream, mentioned)
    return Theory(tuple(constraints), tuple(left_out))


def goal_of(assertion: AssertionDef, catalog: Catalog) -> Constraint | Beyond:
    """An assertion as the constraint that is asked for, or what in it the theory does not express."""
    premise, beyond = _conditions(assertion.premise, assertion, catalog)
    conclusion, also_beyond = _conditions(assertion.conclusion, assertion, catalog)
    if beyond or also_beyond:
        return (beyond + also_beyond)[0]
    return Constraint(assertion.name, _rows(assertion.each), premise, _rows(assertion.some), conclusion)


def _assertion(assertion: AssertionDef, catalog: Catalog) -> tuple[Constraint | None, LeftOut | None]:
    streams = frozenset(variable.stream for variable in (*assertion.each, *assertion.some))
    premise, beyond = _conditions(assertion.premise, assertion, catalog)
    if beyond:
        return None, LeftOut(f"assertion {assertion.name}: {beyond[0]}", streams)
    conclusion, beyond = _conditions(assertion.conclusion, assertion, catalog)
    constraint = Constraint(assertion.name, _rows(assertion.each), premise, _rows(assertion.some), conclusion)
    left_out = LeftOut(f"of assertion {assertion.name}: {beyond[0]}", streams) if beyond else None
    return constraint, left_out


def _conditions(
    exprs: Iterable[Expr], assertion: AssertionDef, catalog: Catalog
) -> tuple[tuple[Condition, ...], list[Beyond]]:
    """The conditions that the theory expresses, and what it does not."""
    timestamps = {
        variable.name: _stream(variable.stream, catalog).timestamp for variable in (*assertion.each, *assertion.some)
    }
    conditions: list[Condition] = []
    beyond: list[Beyond] = []
    for expr in exprs:
        translated = condition_of(expr, timestamps)
        if translated is None:
            beyond.append(Beyond(expression_text(expr)))
        else:
            conditions += translated
    return tuple(conditions), beyond


def _rows(variables: Iterable[TupleVariable]) -> tuple[Row, ...]:
    return tuple(Row(variable.stream, variable.name) for variable in variables)


def _stream(name: str, catalog: Catalog) -> StreamDef:
    stream = catalog.get(name)
    assert isinstance(stream, StreamDef), "assertions and references are about streams"
    return stream


def _named(stream: StreamDef, declaration: Declaration) -> str:
    return f"{stream.name}: {constraint_text(declaration)}"


def _mentioned(constraints: Iterable[Constraint]) -> Mapping[str, frozenset[str]]:
    """The columns of each stream that constraints are about."""
    found: dict[str, set[str]] = {}
    for constraint in constraints:
        streams = {row.name: row.stream for row in (*constraint.each, *constraint.some)}
        for condition in (*constraint.premise, *constraint.conclusion):
            if isinstance(condition, Equal):
                for term in (condition.left, condition.right):
                    if isinstance(term, Cell):
                        found.setdefault(streams[term.row], set()).add(term.column)
    return {stream: frozenset(columns) for stream, columns in found.items()}


def _unique(key: Unique, stream: StreamDef, mentioned: Mapping[str, frozenset[str]]) -> Iterator[Constraint]:
    """Rows that agree are one row: of one time, and with the same values where there are values."""
    name, rows = _named(stream, key), (Row(stream.name, "x"), Row(stream.name, "y"))
    agree = _agreement(key.columns, key.columns, stream, stream)
    if agree is None or not set(key.columns) - {stream.timestamp} <= mentioned.get(stream.name, frozenset()):
        return
    yield Constraint(name, rows, agree, (), (AtMost("x", "y", 0), AtMost("y", "x", 0)))
    for attribute in stream.attributes:
        column = attribute.name
        if column in mentioned[stream.name] and column not in (*key.columns, stream.timestamp):
            has_value = Equal(Cell("x", column), Cell("x", column))
            yield Constraint(name, rows, (*agree, has_value), (), (Equal(Cell("x", column), Cell("y", column)),))


def _not_null(declared: NotNull, stream: StreamDef, mentioned: Mapping[str, frozenset[str]]) -> Iterator[Constraint]:
    columns = [column for column in declared.columns if column in mentioned.get(stream.name, frozenset())]
    for cell in (Cell("x", column) for column in columns if column != stream.timestamp):
        yield Constraint(_named(stream, declared), (Row(stream.name, "x"),), (), (), (Equal(cell, cell),))


def _reference(reference: Reference, child: StreamDef, catalog: Catalog) -> Iterator[Constraint]:
    parent = catalog.get(reference.parent)
    most = _latest(reference, child, catalog)
    if isinstance(parent, StreamDef) and most is not None:
        agree = _agreement(reference.columns, reference.parent_columns, child, parent)
        if agree is not None:
            rows = (Row(child.name, "x"), Row(parent.name, "y"))
            yield Constraint(_named(child, reference), rows, agree, (), (AtMost("y", "x", most),))


def _latest(reference: Reference, child: StreamDef, catalog: Catalog) -> int | None:
    """How much later, in the numbers of the timestamp columns, the row may come that a row refers to."""
    parent = catalog.get(reference.parent)
    if (
        not isinstance(parent, StreamDef)
        or parent.unit is not child.unit
        or reference.on_violation is OnViolation.WIDEN
    ):
        return None
    match reference.within:
        case WithinRows(0):
            return 0
        case WithinTime(microseconds):
            return child.unit.in_numbers(microseconds)
    return None


def _agreement(
    columns: Iterable[str], others: Iterable[str], stream: StreamDef, other: StreamDef
) -> tuple[Condition, ...] | None:
    """That x agrees with y on columns; None where one is a time and the other is data."""
    conditions: list[Condition] = []
    for column, other_column in zip(columns, others, strict=True):
        match (column == stream.timestamp, other_column == other.timestamp):
            case (True, True):
                conditions += [AtMost("x", "y", 0), AtMost("y", "x", 0)]
            case (False, False):
                conditions.append(Equal(Cell("x", column), Cell("y", other_column)))
            case _:
                return None
    return tuple(conditions)


def _is_expressed(declaration: Declaration, stream: StreamDef, catalog: Catalog) -> bool:
    """Whether all that a declaration promises is in the theory."""
    match declaration:
        case Unique() | NotNull():
            return True  # that NULLs agree, too, is seen to when a counter-model gets its values
        case Reference(parent=name, within=within):
            if not isinstance(catalog.get(name), StreamDef):
                return True  # a table is there from the start: the reference promises nothing
            exact = isinstance(within, WithinTime) and stream.unit is not TimeUnit.NANOSECONDS
            return exact and _latest(declaration, stream, catalog) is not None
    return False
