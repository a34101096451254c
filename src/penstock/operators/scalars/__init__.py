"""Scalar expressions over batches of coded rows.

An expression is compiled once, to a closure that asks the closures of its parts for vectors and applies a rule to them;
the rules lie in the files of this folder. Its meaning is the one that `penstock.algebra.expressions` states: NULL
propagates, logic has three values, and arithmetic never fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.expressions import (
    TRUE,
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Negate,
    Not,
    Or,
    conjunction,
)
from penstock.algebra.relations import Schema
from penstock.algebra.user_functions import UserCall, calls_user
from penstock.operators.filters.columns import Columns, RowColumns
from penstock.operators.functions import arrays, calls, choices, outcomes
from penstock.operators.functions.failures import Tally
from penstock.operators.scalars import casts, composed, logic, numbers, strings, text_patterns, text_tests, times
from penstock.operators.scalars.vectors import Batch, Evaluate, VectorRule, constant
from penstock.synopsis.codes import Nulls
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.types import Type


class Scalar(Protocol):
    def __call__(
        self, rows: Ints, dictionary: Dictionary, wanted: NDArray[np.bool_] | None = None
    ) -> tuple[Ints, Nulls]:
        """Gives codes and NULLs. User functions are called on the rows that are wanted only."""


Filter = Callable[[Columns, Dictionary, Ints | None], NDArray[np.bool_]]
Conjuncts = Callable[[Columns, Dictionary, Ints | None], "outcomes.Outcome"]


def compile_scalar(expr: Expr, schema: Schema, tally: Tally | None = None) -> Scalar:
    """What gives, for rows of a schema, the codes of an expression, and where it is NULL (None: nowhere).

    The codes of a bare column are a view of the rows. `tally` counts where user functions failed and gave NULL.
    """
    evaluate, tally = _compile(expr, schema), tally or Tally()

    def scalar(rows: Ints, dictionary: Dictionary, wanted: NDArray[np.bool_] | None = None) -> tuple[Ints, Nulls]:
        batch = Batch(RowColumns(rows, len(schema)), dictionary)
        with np.errstate(all="ignore"), nullcontext() if wanted is None else batch.calls.only(wanted):
            vector = evaluate(batch)
            if (failures := batch.calls.failures()) is not None:
                failures.raise_first()
            tally.add(batch.calls.nulled())
            return batch.codes(vector, expr.type)

    return scalar


def compile_filter(exprs: Sequence[Expr], schema: Schema) -> Filter:
    """What tells, for all rows of columns or for some by number, where all of some predicates are true.

    None of them calls a user function.
    """
    assert not any(map(calls_user, exprs))
    evaluate = _compile(conjunction(tuple(exprs)), schema)

    def holds(columns: Columns, dictionary: Dictionary, some: Ints | None) -> NDArray[np.bool_]:
        batch = Batch(columns, dictionary, some)
        with np.errstate(all="ignore"):
            true = logic.is_true(evaluate(batch))
        return true if len(true) == len(batch) else np.repeat(true, len(batch))

    return holds


def compile_conjuncts(exprs: Sequence[Expr], schema: Schema) -> Conjuncts:
    """What gives, for all rows of columns or for some, the outcome of conjuncts: where all are true, or one failed."""
    plain = conjunction(tuple(expr for expr in exprs if not calls_user(expr)))
    conjuncts = [_compile(expr, schema) for expr in (plain, *filter(calls_user, exprs)) if expr != TRUE]

    def outcome(columns: Columns, dictionary: Dictionary, some: Ints | None) -> outcomes.Outcome:
        batch = Batch(columns, dictionary, some)
        with np.errstate(all="ignore"):
            return outcomes.outcome_of(conjuncts, batch)

    return outcome


def _compile(expr: Expr, schema: Schema) -> Evaluate:
    if isinstance(expr, Column):
        position, type_ = schema.index(expr), expr.type
        return lambda batch: batch.column(position, type_)
    if isinstance(expr, Literal):
        return constant(expr.value, expr.type)
    compiled = _argument if isinstance(expr, UserCall) else _compile
    parts = tuple(compiled(part, schema) for part in expr.parts)
    if (test := text_tests.text_test(expr)) is not None:
        return text_tests.evaluation(test, expr, schema, parts[0])
    rule = _rule(expr)
    match expr:
        case Case() if calls_user(expr):
            return choices.case(parts, len(expr.conditions), rule)
        case Call("COALESCE") if calls_user(expr):
            return choices.coalesce(parts, rule)
    return lambda batch: rule(batch, [part(batch) for part in parts])


def _argument(expr: Expr, schema: Schema) -> Evaluate:
    """What computes an argument of a user function, which sees values and no codes."""
    if not isinstance(expr, Column):
        return _compile(expr, schema)
    position, type_ = schema.index(expr), expr.type
    return lambda batch: batch.argument(position, type_)


def _rule(expr: Expr) -> VectorRule:
    match expr:
        case Compare():
            return logic.comparison(expr.op, expr.left.type)
        case And():
            return logic.all_of
        case Or():
            return logic.any_of
        case Not():
            return logic.not_
        case IsNull():
            return logic.is_null
        case In():
            return logic.membership(expr.arg.type)
        case Arithmetic():
            return numbers.arithmetic(expr.op, expr.left.type, expr.right.type, expr.type)
        case Negate():
            return numbers.negation(expr.type)
        case Case():
            return logic.case(len(expr.conditions))
        case Cast():
            return casts.cast(expr.arg.type, expr.type, expr.zone)
        case Call():
            return _call(expr)
        case UserCall(function) if function.vectorized:
            return calls.rule_of(function, arrays.of_arrays(function))
        case UserCall(function):
            return calls.rule_of(function, calls.of_values(function))
    raise AssertionError(f"no expression: {expr!r}")


_FUNCTIONS: dict[str, Callable[[Sequence[Type], Type], VectorRule]] = {
    **logic.FUNCTIONS,
    **numbers.FUNCTIONS,
    **strings.FUNCTIONS,
    **times.FUNCTIONS,
    **composed.FUNCTIONS,
}


def _call(expr: Call) -> VectorRule:
    if expr.function == "DATE_TRUNC":
        return _truncation(expr)
    if expr.function in text_patterns.FUNCTIONS:
        return text_patterns.rule_of(expr)
    if expr.function in times.SHOWN:
        return times.SHOWN[expr.function](expr.args[0].type, expr.zone)
    return _FUNCTIONS[expr.function](tuple(arg.type for arg in expr.args), expr.type)


def _truncation(expr: Call) -> VectorRule:
    """The unit is a literal, so it is known here; of a NULL one any will do."""
    unit = expr.args[0]
    assert isinstance(unit, Literal) and (unit.value is None or isinstance(unit.value, str))
    truncate = times.truncation(unit.value or "DAY", expr.zone)
    return lambda batch, args: truncate(batch, args[1:]) if unit.value is not None else args[0]
