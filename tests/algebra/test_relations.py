"""Relations: which trees can be built, which columns they have, and how they are walked and rewritten."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.algebra.expressions import AlgebraError, Column, Comparator, Compare, Expr, Literal
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.relations import (
    NOW,
    Aggregate,
    Aggregation,
    AntiJoin,
    Distinct,
    Join,
    OuterJoin,
    Output,
    PartitionRows,
    Project,
    Query,
    Range,
    Relation,
    Repeat,
    Rows,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    Stream,
    StreamKind,
    Table,
    ToStream,
    Unbounded,
    Window,
    rewrite_relation,
    streams,
    walk_relations,
)
from penstock.types import BIGINT, BOOLEAN, STRING, TIMESTAMP
from tests.algebra.kinds import kinds


def stream(occurrence: str) -> Stream:
    own = (Column(occurrence, "x", BIGINT), Column(occurrence, "ts", TIMESTAMP))
    return Stream("s", occurrence, own, own[1])


A, B, C = (Window(stream(name), Unbounded()) for name in "abc")
AX, ATS = A.schema
BX, BTS = B.schema
ONE = Literal(1, BIGINT)
POSITIVE = Compare(Comparator.GE, AX, ONE)
EQUAL = Compare(Comparator.EQ, AX, BX)
N = Column("", "n", BIGINT)
COUNT = Aggregation(N, AggregateFunction.COUNT, None)
UNION = (SetOperator.UNION, True)

#: One case for each thing that a constructor checks.
WRONG: dict[str, Callable[[], object]] = {
    "a stream with another's column": lambda: Stream("s", "a", (AX, BTS), BTS),
    "a stream with a column twice": lambda: Stream("s", "a", (ATS, ATS), ATS),
    "a stream without its timestamp": lambda: Stream("s", "a", (AX,), ATS),
    "a table with another's column": lambda: Table("t", "t", (AX,)),
    "a table with a column twice": lambda: Table("t", "a", (AX, AX)),
    "a range that reaches forward": lambda: Range(-1),
    "a slide of nothing": lambda: Range(5, 0),
    "no rows": lambda: Rows(0),
    "no rows of a partition": lambda: PartitionRows((AX,), 0),
    "a partition by nothing": lambda: PartitionRows((), 1),
    "a partition by another's column": lambda: Window(stream("a"), PartitionRows((BX,), 1)),
    "inputs for a window": lambda: A.with_inputs((B,)),
    "a selection without a predicate": lambda: Select(A, ()),
    "a selection by a number": lambda: Select(A, (AX,)),
    "a selection by another's column": lambda: Select(A, (EQUAL,)),
    "an output of another type": lambda: Output(Column("", "x", STRING), AX),
    "a projection of nothing": lambda: Project(A, ()),
    "a projection of another's column": lambda: Project(A, (Output(N, BX),)),
    "a projection with a name twice": lambda: Project(A, (Output(N, AX), Output(N, ONE))),
    "a join of one": lambda: Join((A,), ()),
    "a join with itself": lambda: Join((A, A), ()),
    "a join on a number": lambda: Join((A, B), (AX,)),
    "a join on another's column": lambda: Join((A, C), (EQUAL,)),
    "a semijoin with itself": lambda: SemiJoin(A, A, ()),
    "a semijoin on a number": lambda: SemiJoin(A, B, (AX,)),
    "a semijoin on another's column": lambda: SemiJoin(A, C, (EQUAL,)),
    "an antijoin with itself": lambda: AntiJoin(A, A, ()),
    "an antijoin on a number": lambda: AntiJoin(A, B, (AX,)),
    "an antijoin on another's column": lambda: AntiJoin(A, C, (EQUAL,)),
    "an outer join with itself": lambda: OuterJoin(A, A, (), keeps_left=True, keeps_right=False),
    "an outer join that keeps no side": lambda: OuterJoin(A, B, (EQUAL,), keeps_left=False, keeps_right=False),
    "an aggregation of another type": lambda: Aggregation(Column("", "n", STRING), AggregateFunction.SUM, AX),
    "a sum of strings": lambda: Aggregation(N, AggregateFunction.SUM, Literal("", STRING)),
    "a sum of *": lambda: Aggregation(N, AggregateFunction.SUM, None),
    "COUNT(DISTINCT *)": lambda: Aggregation(N, AggregateFunction.COUNT, None, distinct=True),
    "an aggregate of nothing": lambda: Aggregate(A, (), ()),
    "an aggregate by another's column": lambda: Aggregate(A, (Output(N, BX),), ()),
    "an aggregate of another's column": lambda: Aggregate(A, (), (Aggregation(N, AggregateFunction.SUM, BX),)),
    "an aggregate with a name twice": lambda: Aggregate(A, (Output(N, AX),), (COUNT,)),
    "a union of two shapes": lambda: SetOp(*UNION, A, Aggregate(B, (), (COUNT,)), A.schema),
    "a union under another shape": lambda: SetOp(*UNION, A, B, (N,)),
    "a union with a name twice": lambda: SetOp(
        *UNION, Project(A, (Output(AX, AX), Output(N, AX))), Project(B, (Output(BX, BX), Output(N, BX))), (N, N)
    ),
}


@pytest.mark.parametrize("build", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_tree_cannot_be_built(build: Callable[[], object]) -> None:
    with pytest.raises(AlgebraError):
        build()


JOIN = Join((A, B), (EQUAL,))
ONE_OF_EACH: tuple[tuple[Relation, tuple[Column, ...]], ...] = (
    (A, (AX, ATS)),
    (Table("t", "a", (AX,)), (AX,)),
    (Select(A, (POSITIVE,)), (AX, ATS)),
    (Project(A, (Output(N, ONE), Output(AX, AX))), (N, AX)),
    (JOIN, (AX, ATS, BX, BTS)),
    (SemiJoin(A, B, (EQUAL,)), (AX, ATS)),
    (AntiJoin(A, B, ()), (AX, ATS)),
    (OuterJoin(A, B, (EQUAL,), keeps_left=True, keeps_right=False), (AX, ATS, BX, BTS)),
    (Aggregate(A, (Output(AX, AX),), (COUNT,)), (AX, N)),
    (Repeat(A, AX), (AX, ATS)),
    (Distinct(A), (AX, ATS)),
    (SetOp(SetOperator.EXCEPT, False, A, B, C.schema), C.schema),
)


@pytest.mark.parametrize(("relation", "schema"), ONE_OF_EACH, ids=lambda case: type(case).__name__)
def test_a_relation_knows_its_columns(relation: Relation, schema: tuple[Column, ...]) -> None:
    assert relation.schema == schema


@pytest.mark.parametrize("relation", [relation for relation, _ in ONE_OF_EACH], ids=lambda r: type(r).__name__)
def test_a_relation_is_what_its_inputs_make_of_it(relation: Relation) -> None:
    assert relation.with_inputs(relation.inputs) == relation
    assert rewrite_relation(relation, lambda node: node) is relation


def test_one_of_each_kind_of_relation_is_tested() -> None:
    tested = {type(relation).__name__ for relation, _ in ONE_OF_EACH}
    assert tested == kinds(Relation, "penstock.algebra.relations")


def test_now_is_a_range_of_nothing() -> None:
    assert Range(0) == NOW


def test_a_walk_starts_at_the_top_and_goes_from_left_to_right() -> None:
    assert list(walk_relations(Distinct(JOIN))) == [Distinct(JOIN), JOIN, A, B]
    assert [occurrence.occurrence for occurrence in streams(Join((JOIN, C), ()))] == ["a", "b", "c"]


def test_a_rewrite_starts_at_the_leaves() -> None:
    seen: list[Relation] = []

    def note(node: Relation) -> Relation:
        seen.append(node)
        return Select(node, (POSITIVE,)) if node == A else node

    rewritten = rewrite_relation(JOIN, note)
    assert rewritten == Join((Select(A, (POSITIVE,)), B), (EQUAL,))
    assert seen == [A, B, rewritten]


def test_a_query_is_its_relation_with_or_without_a_stream_of_it() -> None:
    log, stream_ = Query("q", A), Query("q", ToStream(StreamKind.ISTREAM, A))
    assert log.relation == stream_.relation == A
    assert log.schema == stream_.schema == (AX, ATS)


def test_a_predicate_is_a_boolean_expression_whatever_it_is() -> None:
    flag: Expr = Literal(None, BOOLEAN)
    assert Select(A, (flag,)).schema == A.schema
