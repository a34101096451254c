"""The direct test against the paper's enumeration of locally total orders, on random queries."""

from __future__ import annotations

import random

import pytest

from penstock.register.arithmetic import BoundedMemory, judge
from tests.register.arithmetic.orders import is_bounded
from tests.register.arithmetic.queries import TABLE_1, Shape, random_query, show, table_1

SHAPES = [
    Shape(),
    Shape(constants=(0,)),
    Shape(comparisons=(3, 9)),
    Shape(streams=("S", "T", "U"), attributes=1),
]


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("name", sorted(TABLE_1.keys() - {"Q5", "Q8", "Q9"}))
def test_the_enumeration_agrees_with_table_1(name: str, distinct: bool) -> None:
    """But for the queries with most attributes and constants, which take it too long."""
    query = table_1(name, distinct)
    assert is_bounded(query) == isinstance(judge(query), BoundedMemory)


@pytest.mark.parametrize("seed", range(4))
def test_the_direct_test_agrees_with_enumeration(seed: int) -> None:
    _compare(seed, 120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_the_direct_test_agrees_with_enumeration_at_length(seed: int) -> None:
    _compare(seed, 2_000)


def _compare(seed: int, times: int) -> None:
    rng = random.Random(seed)
    bounded = 0
    for _ in range(times):
        query = random_query(rng, rng.choice(SHAPES), rng.random() < 0.6)
        bounded += (expected := is_bounded(query))
        assert isinstance(judge(query), BoundedMemory) == expected, show(query)
    assert times // 4 < bounded < times - times // 4, "both verdicts are tried"
