"""Synopses run: they give the answers of brute force, and never take more entries than was promised."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from penstock.register.arithmetic import BoundedMemory, ConjunctiveQuery, Domain, judge
from penstock.register.arithmetic.folding import fold
from tests.register.arithmetic.interpreter import Machine, Space, brute_force
from tests.register.arithmetic.queries import SHAPES, random_query, show, table_1

NUMERIC = [name for name in SHAPES if name != "names"]


@pytest.mark.parametrize("name", NUMERIC)
def test_synopses_answer_random_queries(name: str) -> None:
    _run(name, seed=1, times=40)


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMERIC)
def test_synopses_answer_random_queries_at_length(name: str) -> None:
    for seed in range(10):
        _run(name, seed=100 + seed, times=300)


def test_the_promised_size_is_reached_by_q9() -> None:
    query = table_1("Q9", distinct=True)
    verdict = judge(query)
    assert isinstance(verdict, BoundedMemory)
    rows = [{"D": 51 + n, "E": 100 - n} for n in range(25)]
    synopsis = verdict.synopses[1]
    assert len(rows) == synopsis.size
    space = Space(query)
    assert not any(space.covered(synopsis, row, [other for other in rows if other != row]) for row in rows)


def _run(name: str, seed: int, times: int) -> None:
    rng, checked = random.Random(seed), 0
    for _ in range(times):
        query = random_query(rng, SHAPES[name], rng.random() < 0.6)
        verdict = judge(query)
        if isinstance(verdict, BoundedMemory):
            _check(rng, query, verdict)
            checked += 1
    assert checked > times // 5


def _check(rng: random.Random, query: ConjunctiveQuery, verdict: BoundedMemory) -> None:
    small, _ = fold(query)
    machine = None if verdict.contradiction else Machine(small, BoundedMemory(verdict.synopses))
    rows: list[tuple[str, dict[str, Any]]] = []
    answers: Counter[tuple[Any, ...]] = Counter()
    for _ in range(12):
        base, row = _row(rng, query)
        rows.append((base, row))
        if machine is not None:
            answers += machine.arrive(base, row)
            sizes = machine.sizes()
            assert all(sizes[s.stream] <= s.size for s in verdict.synopses), f"{show(query)}\n{rows}"
    assert answers == brute_force(query, rows), f"{show(query)}\n{rows}"


def _row(rng: random.Random, query: ConjunctiveQuery) -> tuple[str, dict[str, Any]]:
    stream = rng.choice(query.streams)
    row = {
        a.name: Fraction(rng.randint(-8, 20), 4)
        if a.domain is Domain.DENSE and rng.random() < 0.5
        else rng.randint(-2, 5)
        for a in query.attributes
        if a.stream == stream.name
    }
    return stream.base, row
