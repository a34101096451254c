"""Compiled expressions: on random rows they give just what the reference evaluator gives."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.expressions import (
    TRUE,
    And,
    Arithmetic,
    Call,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    In,
    Like,
    Literal,
    Negate,
    Operator,
    Or,
    columns,
)
from penstock.algebra.functions import FUNCTIONS
from penstock.algebra.relations import Schema
from penstock.operators.scalars import compile_scalar
from penstock.synopsis.codes import encode_column
from penstock.synopsis.deltas import assemble
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.types import BIGINT, BIGINT_RANGE, BOOLEAN, DOUBLE, STRING, Type
from tests.operators.columns import FEW, VALUES, arrow, coded, columns_of, or_null, same_nulls
from tests.operators.expressions import CALLS, CASTS, OPERATIONS, PATTERNS, anything, calls, leaves, of
from tests.operators.predicates import compile_predicate
from tests.reference.scalar import evaluate, holds
from tests.reference.values import Value

Rows = list[dict[Column, Value]]


@given(st.data())
def test_random_expressions_are_as_the_reference_says(data: st.DataObject) -> None:
    expr = data.draw(anything(3))
    check(expr, data.draw(rows_for(expr)))


@given(st.data())
def test_random_predicates_hold_where_the_reference_says(data: st.DataObject) -> None:
    exprs = data.draw(st.lists(of(BOOLEAN), max_size=3))
    rows = data.draw(rows_for(*exprs))
    schema = schema_of(exprs)
    dictionary = Dictionary()
    found = compile_predicate(exprs, schema)(matrix(rows, schema, dictionary), dictionary)
    assert found.tolist() == [holds(exprs, row) for row in rows]


@pytest.mark.parametrize("name", FUNCTIONS)
@FEW
@given(data=st.data())
def test_functions(name: str, data: st.DataObject) -> None:
    types = data.draw(st.sampled_from([types for called, types in CALLS if called == name]))
    expr = data.draw(calls(name, types, 0))
    check(expr, data.draw(rows_for(expr)))


@pytest.mark.parametrize("op", Operator)
@given(data=st.data())
def test_arithmetic(op: Operator, data: st.DataObject) -> None:
    _, left, right = data.draw(st.sampled_from([operation for operation in OPERATIONS if operation[0] is op]))
    expr = Arithmetic(op, data.draw(leaves(left)), data.draw(leaves(right)))
    check(expr, data.draw(rows_for(expr)))


@pytest.mark.parametrize("target", VALUES, ids=str)
@FEW
@given(data=st.data())
def test_casts(target: Type, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from([source for source, to in CASTS if to == target]))
    expr = Cast(data.draw(leaves(source)) if source in VALUES else Literal(None, source), target)
    check(expr, data.draw(rows_for(expr)))


@pytest.mark.parametrize("type_", VALUES, ids=str)
@FEW
@given(data=st.data())
def test_comparisons(type_: Type, data: st.DataObject) -> None:
    expr = Compare(data.draw(st.sampled_from(Comparator)), data.draw(leaves(type_)), data.draw(leaves(type_)))
    check(expr, data.draw(rows_for(expr)))


@given(data=st.data())
def test_membership(data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from(list(VALUES)))
    options = data.draw(st.lists(leaves(type_), min_size=1, max_size=5))
    expr = In(data.draw(leaves(type_)), tuple(options))
    check(expr, data.draw(rows_for(expr)))


@pytest.mark.parametrize("escape", ["\\", "a", "%", "_"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern: str, escape: str) -> None:
    texts: list[Value] = [
        "",
        "a",
        "b",
        "ab",
        "a%",
        "%",
        "_",
        "\\",
        "a\\",
        "\n",
        "é",
        "aéa",
        "a\nb",
        None,
        "abab",
        "__x",
    ]
    (column, _) = columns_of(STRING)
    check(Like(column, pattern, escape), [{column: text} for text in texts])


def test_the_opposite_of_the_lowest_integer_is_null() -> None:
    column, _ = columns_of(BIGINT)
    rows: Rows = [{column: value} for value in (BIGINT_RANGE[0], BIGINT_RANGE[0] + 1, None, 0)]
    check(Negate(column), rows)
    check(Arithmetic(Operator.DIVIDE, column, Literal(-1, BIGINT)), rows)
    check(Arithmetic(Operator.MULTIPLY, column, Literal(-1, BIGINT)), rows)
    check(Arithmetic(Operator.MULTIPLY, Literal(-1, BIGINT), column), rows)
    check(Arithmetic(Operator.MODULO, column, Literal(-1, BIGINT)), rows)


@pytest.mark.parametrize("base", [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -8.0, 1e200, math.inf, -math.inf, math.nan])
def test_powers_at_the_edges(base: float) -> None:
    column, _ = columns_of(DOUBLE)
    exponents = [0.0, 1.0, -1.0, 2.0, -3.0, 0.5, -0.5, 1e300, math.inf, -math.inf, math.nan, 400.0, 401.0]
    check(Call("POWER", (Literal(base, DOUBLE), column)), [{column: exponent} for exponent in exponents])


def test_strings_that_only_an_expression_sees_are_not_kept() -> None:
    column, _ = columns_of(STRING)
    dictionary = Dictionary()
    rows = coded([["a"], ["b"]], (column,), dictionary)
    upper = Call("UPPER", (column,))
    found = compile_predicate([Compare(Comparator.LE, upper, Literal("A", STRING))], (column,))(rows, dictionary)
    assert found.tolist() == [True, False]
    assert len(dictionary) == 2
    codes, _ = compile_scalar(upper, (column,))(rows, dictionary)
    assert dictionary.values(codes) == ["A", "B"]


def test_one_compiled_expression_serves_many_dictionaries() -> None:
    column, _ = columns_of(STRING)
    equal = compile_predicate([Compare(Comparator.EQ, column, Literal("x", STRING))], (column,))
    for before in ([], ["y"], ["x", "y"]):
        dictionary = Dictionary(before)
        assert equal(coded([["y"], ["x"]], (column,), dictionary), dictionary).tolist() == [False, True]


def test_constants_are_stretched_over_the_rows() -> None:
    rows = assemble([], 3)
    codes, nulls = compile_scalar(Literal(7, BIGINT), ())(rows, Dictionary())
    assert codes.tolist() == [7, 7, 7]
    assert nulls is None
    codes, nulls = compile_scalar(Literal(None, STRING), ())(rows, Dictionary())
    assert codes.tolist() == [0, 0, 0]
    assert nulls is not None
    assert nulls.all()
    assert compile_predicate([], ())(rows, Dictionary()).tolist() == [True] * 3
    assert compile_predicate([TRUE], ())(rows[:0], Dictionary()).tolist() == []


def test_results_do_not_depend_on_how_rows_are_batched() -> None:
    column, other = columns_of(DOUBLE)
    power = Call("POWER", (Call("EXP", (column,)), other))
    expr = Arithmetic(Operator.ADD, power, Call("LN", (Call("ABS", (other,)),)))
    values = np.random.default_rng(7).normal(size=(1000, 2))
    rows = coded(values.tolist(), (column, other), Dictionary())
    scalar = compile_scalar(expr, (column, other))
    whole, _ = scalar(rows, Dictionary())
    assert whole.tolist() == [int(scalar(rows[n : n + 1], Dictionary())[0][0]) for n in range(len(rows))]


def test_columns_beyond_the_first_word_of_null_bits() -> None:
    schema = tuple(Column("t", f"c{n}", BIGINT) for n in range(130))
    nulls: list[Value] = [None if n % 3 == 0 else n for n in range(130)]
    either = Or(tuple(Compare(Comparator.LT, column, Literal(0, BIGINT)) for column in schema[60:70]))
    for expr in (schema[63], schema[64], schema[126], schema[129], either, And((either, either))):
        check(expr, [dict(zip(schema, nulls, strict=True)), dict.fromkeys(schema, 1)], schema)


def check(expr: Expr, rows: Rows, schema: Schema | None = None) -> None:
    """Codes and NULLs of a compiled expression are those of the values that the reference computes."""
    schema = schema or schema_of([expr])
    dictionary = Dictionary()
    codes, nulls = compile_scalar(expr, schema)(matrix(rows, schema, dictionary), dictionary)
    expected = [evaluate(expr, row) for row in rows]
    wanted, wanted_nulls = encode_column(arrow(expected, expr.type), expr.type, dictionary)
    assert same_nulls(nulls, wanted_nulls, len(rows)), (codes.tolist(), nulls, expected)
    assert codes.tolist() == wanted.tolist(), (codes.tolist(), expected)


def matrix(rows: Rows, schema: Schema, dictionary: Dictionary) -> Ints:
    return coded([[row[column] for column in schema] for row in rows], schema, dictionary)


def schema_of(exprs: Sequence[Expr]) -> Schema:
    read = frozenset[Column]().union(*map(columns, exprs))
    return tuple(sorted(read, key=lambda column: column.name)) or tuple(columns_of(BOOLEAN))


def rows_for(*exprs: Expr) -> st.SearchStrategy[Rows]:
    row = st.fixed_dictionaries({column: or_null(VALUES[column.type]) for column in schema_of(exprs)})
    return st.lists(row, max_size=6)
