"""Self-joins without duplicates: occurrences that say nothing new are left out (appendix C); answers stay the same."""

from __future__ import annotations

import random

from penstock.register.arithmetic import (
    BoundedMemory,
    ComparedAttribute,
    Comparison,
    ConjunctiveQuery,
    Op,
    StreamOccurrence,
    UnboundedMemory,
    judge,
)
from penstock.register.arithmetic.folding import fold
from tests.register.arithmetic.interpreter import brute_force
from tests.register.arithmetic.queries import ALL, Shape, eq, lt, random_query, show

A1, B1 = ComparedAttribute("S1", "A"), ComparedAttribute("S1", "B")
A2, B2 = ComparedAttribute("S2", "A"), ComparedAttribute("S2", "B")
TWICE = (StreamOccurrence("S1", "S"), StreamOccurrence("S2", "S"))


def test_example_c_1() -> None:
    query = ConjunctiveQuery(TWICE, (eq(A1, 10), eq(A1, A2), eq(B1, B2), lt(10, B1)), (A1,), distinct=True)
    verdict = judge(query)
    assert isinstance(verdict, BoundedMemory)
    assert verdict.folded == (("S2", "S1"),)
    assert [(s.stream, s.size) for s in verdict.synopses] == [("S1", 1)]


def test_with_duplicates_nothing_folds() -> None:
    query = ConjunctiveQuery(TWICE, (eq(A1, 10), eq(A1, A2), eq(B1, B2), lt(10, B1)), (A1,), distinct=False)
    assert fold(query) == (query, ())
    assert isinstance(judge(query), UnboundedMemory)


def test_a_query_that_appendix_c_does_not_fold_is_a_filter() -> None:
    query = ConjunctiveQuery(TWICE, (eq(A1, A2), lt(10, B1), lt(10, B2)), (), distinct=True)
    verdict = judge(query)
    assert isinstance(verdict, BoundedMemory)
    assert (verdict.folded, verdict.size) == ((("S2", "S1"),), 1)


def test_components_fold_together() -> None:
    """S2 and T2 fold onto S1 and T1; neither does alone."""
    streams = (
        StreamOccurrence("S1", "S"),
        StreamOccurrence("T1", "T"),
        StreamOccurrence("S2", "S"),
        StreamOccurrence("T2", "T"),
    )
    d1, d2 = ComparedAttribute("T1", "D"), ComparedAttribute("T2", "D")
    query = ConjunctiveQuery(streams, (eq(A1, d1), lt(0, A1), lt(A1, 5), eq(A2, d2)), (A1,), distinct=True)
    small, stands = fold(query)
    assert ([stream.name for stream in small.streams], stands) == (["S1", "T1"], (("S2", "S1"), ("T2", "T1")))
    verdict = judge(query)
    assert isinstance(verdict, BoundedMemory)
    assert verdict.size == 8


def test_what_has_a_value_folds_onto_what_has_one() -> None:
    """S2 and S3 fold together, for of B of S1 nothing is said: it may be NULL."""
    streams = (*TWICE, StreamOccurrence("S3", "S"))
    b3 = ComparedAttribute("S3", "B")
    query = ConjunctiveQuery(streams, (lt(0, A1), lt(0, A2), eq(B2, b3)), (A1,), distinct=True)
    assert fold(query)[1] == (("S3", "S2"),)
    said = ConjunctiveQuery(streams, (*query.conditions, lt(B1, 5)), (A1,), distinct=True)
    assert fold(said)[1] == (("S2", "S1"), ("S3", "S1"))


def test_what_is_said_of_an_occurrence_through_another_is_kept() -> None:
    """S2 stands between two attributes of S1; folded away, it leaves the difference of one that it made."""
    query = ConjunctiveQuery(TWICE, (lt(A1, A2), lt(A2, B1), Comparison(A1, Op.LE, 0)), (), distinct=True)
    small, _ = fold(query)
    assert len(small.streams) in (1, 2)
    rng = random.Random(5)
    for _ in range(50):
        rows = [("S", {"A": rng.randint(-3, 3), "B": rng.randint(-3, 3)}) for _ in range(5)]
        assert brute_force(query, rows) == brute_force(small, rows)


def test_folding_keeps_the_answers() -> None:
    rng, folded = random.Random(6), 0
    shapes = [
        Shape(streams=("S1", "S2"), bases=("S", "S"), comparisons=(1, 6), ops=ALL, offsets=(0, 0, 1)),
        Shape(streams=("S1", "S2", "S3"), bases=("S", "S", "S"), attributes=2, comparisons=(1, 6), ops=ALL),
    ]
    for _ in range(150):
        query = random_query(rng, rng.choice(shapes), distinct=True)
        small, stands = fold(query)
        folded += bool(stands)
        rows = [("S", {"a0": rng.randint(-2, 5), "a1": rng.randint(-2, 5)}) for _ in range(6)]
        assert brute_force(query, rows) == brute_force(small, rows), show(query)
    assert folded > 30
