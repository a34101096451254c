"""The rules of the normal form: each keeps what a relation holds, and leaves what it promises."""

from __future__ import annotations

from hypothesis import given, note

from penstock.algebra.expressions import (
    FALSE,
    TRUE,
    And,
    Comparator,
    Compare,
    Expr,
    Literal,
    Not,
    Or,
    columns,
)
from penstock.algebra.printing import expression_text
from penstock.algebra.relations import Join, Stream, Unbounded, Window
from penstock.algebra.rewrites.normalise_predicates import normalise_predicates
from tests.algebra.strategies import LEFT, RIGHT, Row, predicates, rows
from tests.reference.scalar import evaluate, holds

OPERANDS = tuple(Window(Stream("s", own[0].scope, own, own[-3]), Unbounded()) for own in (LEFT, RIGHT))


def normal(*given: Expr) -> tuple[Expr, ...]:
    join = normalise_predicates(Join(OPERANDS, given))
    assert isinstance(join, Join)
    return join.on


@given(predicates(), rows())
def test_a_normalised_predicate_is_true_of_the_same_rows(predicate: Expr, row: Row) -> None:
    after = normal(predicate)
    note(f"{expression_text(predicate)}\nbecomes\n{' AND '.join(map(expression_text, after))}")
    assert holds(after, row) == (evaluate(predicate, row) is True)


@given(predicates(), predicates())
def test_normalised_predicates_stay_as_they_are(first: Expr, second: Expr) -> None:
    after = normal(first, second)
    assert normal(*after) == after


@given(predicates())
def test_normalised_predicates_have_their_shape(predicate: Expr) -> None:
    after = normal(predicate)
    assert FALSE not in after or after == (FALSE,)
    for conjunct in after:
        assert not isinstance(conjunct, And)
        assert conjunct != TRUE
    for part in logic(*after):
        assert not isinstance(part, Literal) or after == (FALSE,)
        if isinstance(part, Not):
            assert not isinstance(part.arg, Not | And | Or | Literal)
            assert not isinstance(part.arg, Compare) or part.arg.op is Comparator.SAME
        if isinstance(part, Compare):
            assert columns(part.left) or not columns(part.right)


def logic(*given: Expr) -> list[Expr]:
    """The expressions and what is below their connectives."""
    found: list[Expr] = []
    for expr in given:
        found += [expr, *(logic(*expr.parts) if isinstance(expr, And | Or | Not) else [])]
    return found
