"""What is proposed makes a query bounded, and nothing less of it does."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from penstock.register.arithmetic import BoundedMemory, BoundSide, ConjunctiveQuery, Missing, UnboundedMemory, judge
from tests.reference.bounded_memory.repair import Repair, bound, repairs
from tests.register.arithmetic.queries import SHAPES, B, D, random_query, show, table_1


def applied(query: ConjunctiveQuery, repair: Repair) -> ConjunctiveQuery:
    return bound(replace(query, distinct=query.distinct or repair.distinct), repair.bounds)


def test_q4_needs_distinct_or_bounds() -> None:
    above, below = BoundSide.ABOVE, BoundSide.BELOW
    assert set(repairs(table_1("Q4", distinct=False))) == {
        Repair(frozenset(), distinct=True),
        Repair(frozenset({Missing(B, above), Missing(B, below)})),
        Repair(frozenset({Missing(B, above), Missing(D, below)})),
        Repair(frozenset({Missing(B, below), Missing(D, above)})),
        Repair(frozenset({Missing(D, above), Missing(D, below)})),
    }


def test_a_bounded_query_needs_nothing() -> None:
    assert repairs(table_1("Q4", distinct=True)) == ()


@pytest.mark.parametrize("name", ["integers", "differences", "unequal", "dense", "names", "three", "one"])
def test_repairs_repair_and_are_smallest(name: str) -> None:
    rng, tried = random.Random(7), 0
    for _ in range(12):
        query = random_query(rng, SHAPES[name], rng.random() < 0.5)
        if isinstance(judge(query), BoundedMemory):
            assert repairs(query) == ()
            continue
        for repair in repairs(query):
            tried += 1
            assert isinstance(judge(applied(query, repair)), BoundedMemory), show(query)
            for one in repair.bounds:
                less = frozenset(
                    b for b in repair.bounds if b != one and (name != "dense" or b.attribute != one.attribute)
                )
                if all(b.attribute.domain.value == "integer" for b in repair.bounds) or name == "dense":
                    assert isinstance(judge(applied(query, replace(repair, bounds=less))), UnboundedMemory), show(query)
    assert tried
