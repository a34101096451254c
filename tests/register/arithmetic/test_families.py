"""No stream can need more than its synopsis has: rows on a grid that must be told apart, looked for by brute force."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from penstock.register.arithmetic import BoundedMemory, ConjunctiveQuery, Synopsis, judge
from tests.register.arithmetic.interpreter import holds
from tests.register.arithmetic.queries import ALL, DENSE, Shape, random_query, show

SHAPES = {
    "integers": Shape(comparisons=(2, 7)),
    "differences": Shape(comparisons=(3, 8), offsets=(-3, 0, 0, 1, 2), constants=(-1, 0, 2)),
    "unequal": Shape(comparisons=(2, 7), ops=ALL, offsets=(0, 1)),
    "dense": Shape(comparisons=(3, 8), domains=(DENSE,), offsets=(-1, 0, 0, 1), constants=(-1, 0, 2)),
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_a_grid_holds_no_more_rows_that_differ_than_promised(name: str) -> None:
    _run(name, seed=1, times=60)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHAPES))
def test_a_grid_holds_no_more_rows_that_differ_than_promised_at_length(name: str) -> None:
    _run(name, seed=2, times=500)


def _run(name: str, seed: int, times: int) -> None:
    rng, reached = random.Random(seed), 0
    for _ in range(times):
        query = random_query(rng, SHAPES[name], rng.random() < 0.7)
        verdict = judge(query)
        if isinstance(verdict, BoundedMemory) and not verdict.contradiction:
            for synopsis in verdict.synopses:
                found = _needed(rng, query, synopsis)
                assert found <= synopsis.size, f"{show(query)}\n{synopsis.stream}: {found} > {synopsis.size}"
                reached += found == synopsis.size
    assert reached


def _needed(rng: random.Random, query: ConjunctiveQuery, synopsis: Synopsis) -> int:
    """How many rows of a stream have to be told apart: with duplicates exactly, without at least."""
    partners_of: dict[tuple[Any, ...], set[int]] = {}
    grid = [-3, -2, -1, 0, 1, 2, 3, 4] if _is_whole(query) else [-2, -1, -0.5, 0, 0.5, 1, 2, 2.5]
    mine = [a for a in query.attributes if a.stream == synopsis.stream]
    others = [a for a in query.attributes if a.stream != synopsis.stream]
    partners = list(product(grid, repeat=len(others)))
    for row in product(grid, repeat=len(mine)):
        values = dict(zip(mine, row, strict=True))
        joined = set()
        for number, partner in enumerate(partners):
            values.update(zip(others, partner, strict=True))
            if all(holds(c, values) for c in query.comparisons):
                joined.add(number)
        if joined:
            partners_of[row] = joined
    kept = [mine.index(a) for a in synopsis.values]
    if not query.distinct:
        return len({(*(row[n] for n in kept), frozenset(joined)) for row, joined in partners_of.items()})
    groups: dict[tuple[Any, ...], list[set[int]]] = {}
    for row, joined in partners_of.items():
        groups.setdefault(tuple(row[n] for n in kept), []).append(joined)
    return sum(max(_families(rng, boxes)) for boxes in groups.values())


def _is_whole(query: ConjunctiveQuery) -> bool:
    return all(a.domain is not DENSE for a in query.attributes)


def _families(rng: random.Random, boxes: list[set[int]]) -> Iterator[int]:
    """Sizes of families that are found by adding rows, each with a partner, as long as it goes."""
    pairs = [(box, partner) for box in boxes for partner in box]
    for _ in range(6):
        rng.shuffle(pairs)
        family: list[tuple[set[int], int]] = []
        for box, partner in pairs[:2_000]:
            if all(partner not in other and known not in box for other, known in family):
                family.append((box, partner))
        yield len(family)
