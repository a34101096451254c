"""The rules of the normal form: each keeps what a relation holds, and leaves what it promises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, note

from penstock.algebra.expressions import (
    FALSE,
    TRUE,
    And,
    Arithmetic,
    Column,
    Comparator,
    Compare,
    Expr,
    Literal,
    Not,
    Operator,
    Or,
    columns,
)
from penstock.algebra.printing import expression_text, plan_text
from penstock.algebra.relations import (
    AntiJoin,
    Distinct,
    Join,
    Project,
    Query,
    Relation,
    Select,
    SemiJoin,
    SetOp,
    Shared,
    Stream,
    ToStream,
    Unbounded,
    Window,
    walk_relations,
)
from penstock.algebra.rewrites import RULES, normalise
from penstock.algebra.rewrites.normalise_predicates import normalise_predicates
from penstock.errors import PenstockError
from penstock.sql import bind_text
from penstock.types import BIGINT, INTERVAL, TIMESTAMP
from tests.algebra.strategies import LEFT, RIGHT, Row, predicates, with_row
from tests.generators import Case, Features, cases
from tests.reference.interpreter import run
from tests.reference.scalar import evaluate, holds

OPERANDS = tuple(Window(Stream("s", own[0].scope, own, own[-3]), Unbounded()) for own in (LEFT, RIGHT))


def normal(*given: Expr) -> tuple[Expr, ...]:
    join = normalise_predicates(Join(OPERANDS, given))
    assert isinstance(join, Join)
    return join.on


@given(with_row(predicates()))
def test_a_normalised_predicate_is_true_of_the_same_rows(case: tuple[Expr, Row]) -> None:
    predicate, row = case
    after = normal(predicate)
    note(f"{expression_text(predicate)}\nbecomes\n{' AND '.join(map(expression_text, after))}")
    assert holds(after, row) == (evaluate(predicate, row) is True)


@given(predicates(), predicates())
def test_normalised_predicates_stay_as_they_are(first: Expr, second: Expr) -> None:
    after = normal(first, second)
    assert normal(*after) == after


def test_differences_and_bounds_on_both_sides_are_equalities() -> None:
    """As long as nothing that overflows is equal: a difference that does is NULL."""
    x, y = LEFT[0], RIGHT[0]
    zero, less, more = Literal(0, x.type), Compare(Comparator.LE, x, y), Compare(Comparator.GE, x, y)
    assert x.type == y.type == BIGINT
    equal = (Compare(Comparator.EQ, x, y),)
    assert normal(Compare(Comparator.EQ, Arithmetic(Operator.SUBTRACT, x, y), zero)) == equal
    assert normal(Compare(Comparator.EQ, zero, Arithmetic(Operator.SUBTRACT, y, x))) == equal
    assert normal(less, more) == normal(more, less) == equal
    assert normal(less, Compare(Comparator.LE, y, x)) == equal
    assert normal(Not(Or((Compare(Comparator.LT, y, x), Compare(Comparator.GT, y, x))))) == equal
    differ = Compare(Comparator.NE, Arithmetic(Operator.SUBTRACT, x, y), zero)
    assert normal(differ) == (differ,), "of a difference that overflows it is not true"


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


#: The results are only compared with each other here, so nothing has to be left out for DuckDB's sake.
CASES = cases(Features(max_rows=4, max_sources=2, as_duckdb=False))


@given(CASES)
def test_the_normal_form_of_a_query_has_its_result(case: Case) -> None:
    script = bind_text(case.script).checked()
    query = script.queries[0]
    after = normalise(query)
    note(f"{plan_text(query)}\nbecomes\n{plan_text(after)}")
    assert after.schema == query.schema
    assert repr(run(after, script.catalog, case.data, case.horizon)) == repr(
        run(query, script.catalog, case.data, case.horizon)
    )


@given(CASES)
def test_each_rule_by_itself_keeps_a_query_s_result(case: Case) -> None:
    script = bind_text(case.script).checked()
    query = script.queries[0]
    expected = repr(run(query, script.catalog, case.data, case.horizon))
    for rule in RULES:
        after = with_relation(query, rule(query.relation))
        note(f"{plan_text(query)}\nbecomes by {rule.__name__}\n{plan_text(after)}")
        assert rule(after.relation) == after.relation
        assert repr(run(after, script.catalog, case.data, case.horizon)) == expected


@given(CASES)
def test_the_normal_form_is_normal(case: Case) -> None:
    query = normalise(bind_text(case.script).checked().queries[0])
    note(plan_text(query))
    assert list(faults(query.relation)) == []
    assert normalise(query) == query


def with_relation(query: Query, relation: Relation) -> Query:
    root = replace(query.root, input=relation) if isinstance(query.root, ToStream) else relation
    return replace(query, root=root)


def faults(relation: Relation) -> Iterator[str]:
    """What keeps a relation from being in normal form. No rule moves anything into or out of what is shared."""
    for node in walk_relations(relation):
        for below in node.inputs:
            if is_plain_projection(below) and not isinstance(node, Distinct | SetOp | Shared):
                yield f"a projection below a {type(node).__name__}"
        match node:
            case Join(operands, on):
                yield from (
                    f"a {type(o).__name__} in a join" for o in operands if isinstance(o, Join) or is_plain_projection(o)
                )
                yield from (f"{expression_text(p)} reads one input" for p in on if len(read_of(p, operands)) == 1)
            case Select(Select() | Join() as below):
                yield f"a selection over a {type(below).__name__}"
            case Select(SemiJoin() | AntiJoin() | Distinct() | SetOp() as below, on) if any(map(columns, on)):
                if not any("POWER" in expression_text(predicate) for predicate in on):
                    yield f"a selection over a {type(below).__name__}"
            case SemiJoin(left, right, on):
                yield from (f"{expression_text(p)} reads one side" for p in on if len(read_of(p, (left, right))) == 1)


def is_plain_projection(relation: Relation) -> bool:
    return isinstance(relation, Project) and not isinstance(relation, Shared)


def read_of(predicate: Expr, operands: tuple[Relation, ...]) -> list[Relation]:
    return [operand for operand in operands if columns(predicate) & set(operand.schema)]


@pytest.mark.parametrize("view", ["SELECT x + x AS x FROM v{}", "SELECT x + x AS x FROM v{} GROUP BY x + x"])
def test_an_expression_that_doubles_with_every_view_is_refused(view: str) -> None:
    views = "".join(f"CREATE VIEW v{i + 1} AS {view.format(i)};" for i in range(25))
    declared = "CREATE STREAM v0 (x BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
    query = bind_text(f"{declared}{views}SELECT x FROM v25 WHERE x > 5").checked().queries[0]
    with pytest.raises(PenstockError, match="parts"):
        normalise(query)


DUE, OTHER = Column("a", "us", TIMESTAMP), Column("b", "us", TIMESTAMP)
MICROSECOND = Literal(1, INTERVAL)


def test_a_difference_of_timestamps_that_may_be_null_keeps_its_comparator() -> None:
    same = Not(Compare(Comparator.SAME, Arithmetic(Operator.SUBTRACT, DUE, OTHER), MICROSECOND))
    assert holds(normal(same), {DUE: None, OTHER: 0})


def test_a_sum_of_timestamps_that_may_overflow_stays() -> None:
    long = Arithmetic(Operator.MULTIPLY, MICROSECOND, Literal(2**63 - 1, BIGINT))
    late = Compare(Comparator.LE, OTHER, Arithmetic(Operator.ADD, DUE, long))
    assert normal(late) == (late,)
    assert not holds(normal(late), {DUE: 1, OTHER: 0})
