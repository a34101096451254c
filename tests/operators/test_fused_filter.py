"""Cheap filters on columns: they pass just the rows that compiled predicates and the reference pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.expressions import (
    And,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    columns,
)
from penstock.algebra.relations import Schema
from penstock.kernels.fused_filter import BLOCK
from penstock.operators.filters.arrow_columns import ArrowColumns
from penstock.operators.filters.clauses import MOST_OPTIONS, Clauses, split
from penstock.operators.filters.columns import RowColumns
from penstock.operators.filters.fused import FusedFilter
from penstock.operators.scalars import compile_filter
from penstock.synopsis.dictionary import Dictionary
from penstock.types import BIGINT, BIGINT_RANGE, BOOLEAN, DOUBLE, INT, STRING, Kind, Type, decimal
from tests.operators.columns import VALUES, arrow, coded, columns_of, or_null
from tests.operators.expressions import of
from tests.operators.predicates import compile_predicate
from tests.reference.scalar import holds
from tests.reference.values import Value

LONGER = decimal(12, 4)


def operands(type_: Type) -> st.SearchStrategy[Expr]:
    """A column or a constant, now and then behind a cast that changes no number."""
    plain = st.one_of(
        st.sampled_from(columns_of(type_)), or_null(VALUES[type_]).map(lambda value: Literal(value, type_))
    )
    cast = [Cast(column, type_) for column in columns_of(INT)] if type_ == BIGINT else []
    return st.one_of(plain, st.sampled_from(cast)) if cast else plain


@st.composite
def single_tests(draw: st.DrawFn) -> Expr:
    type_ = draw(st.sampled_from(list(VALUES)))
    match draw(st.integers(0, 3)):
        case 0:
            return IsNull(draw(st.sampled_from(columns_of(type_))))
        case 1:
            options = draw(st.lists(or_null(VALUES[type_]), min_size=1, max_size=4))
            return In(draw(operands(type_)), tuple(Literal(option, type_) for option in options))
        case 2:
            return draw(st.sampled_from(columns_of(BOOLEAN)))
    return Compare(draw(st.sampled_from(Comparator)), draw(operands(type_)), draw(operands(type_)))


PREDICATES = st.recursive(
    single_tests(),
    lambda parts: st.one_of(
        st.lists(parts, min_size=2, max_size=3).map(lambda args: And(tuple(args))),
        st.lists(parts, min_size=2, max_size=3).map(lambda args: Or(tuple(args))),
        parts.map(Not),
    ),
    max_leaves=6,
)


@st.composite
def rows_for(draw: st.DrawFn, exprs: Sequence[Expr], schema: Schema) -> list[list[Value]]:
    """Rows whose values are often those of the constants, and often those of other columns."""
    constants = {part.type: part.value for expr in exprs for part in _literals(expr)}

    def values(type_: Type) -> st.SearchStrategy[Value]:
        known = [constants[type_]] if type_ in constants else []
        return or_null(st.one_of(st.sampled_from(known), VALUES[type_]) if known else VALUES[type_])

    return draw(st.lists(st.tuples(*(values(column.type) for column in schema)).map(list), max_size=8))


def _literals(expr: Expr) -> list[Literal]:
    return [expr] if isinstance(expr, Literal) else [found for part in expr.parts for found in _literals(part)]


def schema_of(exprs: Sequence[Expr]) -> Schema:
    return tuple(sorted({column for expr in exprs for column in columns(expr)}, key=str))


def in_arrow(rows: list[list[Value]], schema: Schema, dictionary: Dictionary, before: int = 0) -> ArrowColumns:
    """Columns that begin inside of their buffers."""
    padded = [*rows[:1] * before, *rows]
    arrays = [arrow([row[n] for row in padded], column.type).slice(before) for n, column in enumerate(schema)]
    return ArrowColumns(arrays, [column.type for column in schema], dictionary)


@given(st.data())
def test_cheap_filters_pass_the_rows_that_predicates_pass(data: st.DataObject) -> None:
    exprs = data.draw(st.lists(PREDICATES, min_size=1, max_size=4))
    schema = (*schema_of(exprs), Column("t", "row", BIGINT))
    rows = data.draw(rows_for(exprs, schema))
    clauses, others = split(exprs, schema)
    fitting = [expr for expr in exprs if expr not in others]
    dictionary = Dictionary(["a", "b"])
    expected = [holds(fitting, dict(zip(schema, row, strict=True))) for row in rows]
    assembled = coded(rows, schema, dictionary)
    fused = FusedFilter(clauses, schema)
    assert fused.passing(RowColumns(assembled, len(schema)), dictionary).tolist() == expected
    assert fused.passing(in_arrow(rows, schema, dictionary, 3), dictionary).tolist() == expected
    assert compile_predicate(fitting, schema)(assembled, dictionary).tolist() == expected


@given(st.data())
def test_any_predicate_holds_on_arrow_columns_as_it_does_on_rows(data: st.DataObject) -> None:
    """Strings get transient codes, which nothing can tell from those of a dictionary, and which it does not learn."""
    exprs = data.draw(st.lists(of(BOOLEAN), min_size=1, max_size=2))
    schema = (*schema_of(exprs), Column("t", "row", BIGINT))
    rows = data.draw(rows_for(exprs, schema))
    dictionary = Dictionary(["a", "b", "ab"])
    expected = [holds(exprs, dict(zip(schema, row, strict=True))) for row in rows]
    found = compile_filter(exprs, schema)
    columns = in_arrow(rows, schema, dictionary, 2)
    some = np.array([n for n in range(len(rows)) if n % 2], np.int64)
    assert found(columns, dictionary, some).tolist() == [expected[n] for n in some.tolist()]
    assert found(columns, dictionary, None).tolist() == expected
    assert len(dictionary) == 3


@pytest.mark.parametrize("op", Comparator)
@pytest.mark.parametrize("constant", [math.nan, -0.0, 0.0, math.inf, -math.inf, 1.5])
def test_doubles_are_in_the_order_of_sql(op: Comparator, constant: float) -> None:
    """Arrow's own zeros and NaNs, of which there are several, are read as they are."""
    bits = np.array([0x7FF8000000000000, 0x7FF0000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    values = [*bits, -0.0, 0.0, 5e-324, -5e-324, 1.5, -1.5, math.inf, -math.inf]
    column, dictionary = Column("t", "x", DOUBLE), Dictionary()
    expr = Compare(op, column, Literal(constant, DOUBLE))
    arrays = ArrowColumns([pa.array(np.array(values))], [DOUBLE], dictionary)
    clauses, _ = split([expr], (column,))
    found = FusedFilter(clauses, (column,)).passing(arrays, dictionary)
    assert found.tolist() == [holds([expr], {column: float(value) + 0.0}) for value in values]


@pytest.mark.parametrize("bound", [*BIGINT_RANGE, 0])
@pytest.mark.parametrize("op", Comparator)
def test_the_ends_of_bigint(op: Comparator, bound: int) -> None:
    column, dictionary = Column("t", "x", BIGINT), Dictionary()
    values = [*BIGINT_RANGE, -1, 0, 1]
    for expr in (Compare(op, column, Literal(bound, BIGINT)), Compare(op, Literal(bound, BIGINT), column)):
        clauses, others = split([expr, Not(expr)], (column,))
        assert clauses
        assert not others
        for one in ([expr], [Not(expr)]):
            fused = FusedFilter(split(one, (column,))[0], (column,))
            found = fused.passing(ArrowColumns([pa.array(values)], [BIGINT], dictionary), dictionary)
            assert found.tolist() == [holds(one, {column: value}) for value in values]


@pytest.mark.parametrize("op", Comparator)
@pytest.mark.parametrize("constant", ["-2.5000", "2.0000", "2.5000", "0.0001", "99999999.9999"])
@pytest.mark.parametrize("type_", [INT, decimal(6, 2)], ids=str)
def test_a_cast_that_adds_digits_is_read_through(op: Comparator, constant: str, type_: Type) -> None:
    target = decimal(19, 4) if type_ == INT else LONGER
    column, dictionary = Column("t", "x", type_), Dictionary()
    values: list[Value] = [-3, -2, 0, 2, 3, None]
    if type_.kind is Kind.DECIMAL:
        values = [Decimal("-2.50"), Decimal("2.00"), Decimal("2.50"), Decimal("0.00"), None]
    expr = Compare(op, Cast(column, target), Literal(Decimal(constant), target))
    clauses, others = split([expr], (column,))
    assert others == ()
    columns = ArrowColumns([arrow(values, type_)], [type_], dictionary)
    found = FusedFilter(clauses, (column,)).passing(columns, dictionary)
    assert found.tolist() == [holds([expr], {column: value}) for value in values]


def test_blocks_are_filtered_one_by_one() -> None:
    """The last block is short, and in some no row is left after the first clause."""
    numbers = np.arange(3 * BLOCK + 7)
    x, y = Column("t", "x", BIGINT), Column("t", "y", INT)
    columns = ArrowColumns([pa.array(numbers), pa.array(numbers % 7, pa.int32())], [BIGINT, INT], Dictionary())
    exprs = [
        Compare(Comparator.GE, x, Literal(2 * BLOCK - 3, BIGINT)),
        Or((Compare(Comparator.EQ, y, Literal(3, INT)), In(y, (Literal(5, INT), Literal(6, INT))))),
        Not(Compare(Comparator.EQ, Cast(y, BIGINT), x)),
    ]
    clauses, others = split(exprs, (x, y))
    found = FusedFilter(clauses, (x, y)).passing(columns, Dictionary())
    assert others == ()
    assert found.tolist() == [n >= 2 * BLOCK - 3 and n % 7 in (3, 5, 6) for n in numbers.tolist()]


X, NAME = Column("t", "x", BIGINT), Column("t", "name", STRING)


@pytest.mark.parametrize(
    "expr",
    [
        Like(NAME, "a%"),
        Compare(Comparator.LT, NAME, Literal("a", STRING)),
        Compare(Comparator.EQ, Cast(X, DOUBLE), Literal(1.0, DOUBLE)),
        In(X, tuple(Literal(n, BIGINT) for n in range(MOST_OPTIONS + 1))),
        In(X, (X,)),
    ],
    ids=str,
)
def test_what_is_not_cheap_stays_out(expr: Expr) -> None:
    cheap = Compare(Comparator.EQ, NAME, Literal("a", STRING))
    clauses, others = split([expr, cheap, Or((expr, cheap))], (X, NAME))
    assert others == (expr, Or((expr, cheap)))
    assert len(clauses) == 1


def test_constants_alone_pass_all_rows_or_none() -> None:
    rows = RowColumns(np.zeros((2, 2), np.int64), 1)

    def passing(clauses: Clauses) -> list[bool]:
        return FusedFilter(clauses, (X,)).passing(rows, Dictionary()).tolist()

    assert passing(split([Literal(True, BOOLEAN)], (X,))[0]) == [True, True]
    assert passing(split([Literal(None, BOOLEAN)], (X,))[0]) == [False, False]
    assert passing(split([Not(Literal(True, BOOLEAN))], (X,))[0]) == [False, False]
