"""Witnesses separate: after any two sets of a family's rows, some rows lead to different new answers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest

from penstock.register.arithmetic import BoundedMemory, ConjunctiveQuery, FamilyRow, UnboundedMemory, judge
from tests.register.arithmetic.interpreter import brute_force
from tests.register.arithmetic.queries import SHAPES, TABLE_1, random_query, show, table_1


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("name", sorted(TABLE_1))
def test_the_witnesses_of_table_1_separate(name: str, distinct: bool) -> None:
    query = table_1(name, distinct)
    verdict = judge(query)
    if isinstance(verdict, UnboundedMemory):
        assert_separates(query, verdict, 6)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_the_witnesses_of_random_queries_separate(name: str) -> None:
    _run(name, seed=1, times=30)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHAPES))
def test_the_witnesses_of_random_queries_separate_at_length(name: str) -> None:
    for seed in range(10):
        _run(name, seed=100 + seed, times=200)


def test_a_witness_can_be_long() -> None:
    verdict = judge(table_1("Q8", distinct=True))
    assert isinstance(verdict, UnboundedMemory)
    assert verdict.witness is not None
    family = verdict.witness.family(500)
    assert len({tuple(sorted(row.values.items())) for row in family.items}) == 500
    assert family.separating(frozenset({3, 499}), frozenset({499}))


def _run(name: str, seed: int, times: int) -> None:
    rng, shown, open_ = random.Random(seed), 0, 0
    for _ in range(times):
        query = random_query(rng, SHAPES[name], rng.random() < 0.5)
        verdict = judge(query)
        if isinstance(verdict, BoundedMemory):
            continue
        if verdict.witness is None:
            open_ += 1
            assert query.joins_itself, show(query)  # elsewhere, unbounded is always proved
        else:
            shown += 1
            assert_separates(query, verdict, 3)
    assert shown > 2 * open_


def assert_separates(query: ConjunctiveQuery, verdict: UnboundedMemory, size: int) -> None:
    assert verdict.witness is not None
    family = verdict.witness.family(size)
    sets = [frozenset(some) for number in range(size + 1) for some in combinations(range(size), number)]
    for one, other in combinations(sets, 2):
        rows = plain(family.separating(one, other))
        first, second = (plain(family.items[n] for n in sorted(some)) for some in (one, other))
        assert new(query, first, rows) != new(query, second, rows), f"{show(query)}\n{first}\n{second}\n{rows}"


def plain(rows: Iterable[FamilyRow]) -> list[tuple[str, Any]]:
    return [(row.stream, row.values) for row in rows]


def new(
    query: ConjunctiveQuery, before: list[tuple[str, Any]], after: list[tuple[str, Any]]
) -> Counter[tuple[Any, ...]]:
    return brute_force(query, before + after) - brute_force(query, before)
