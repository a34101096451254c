"""Skylines, place by place: what is kept covers what all rows cover, and no row of it is covered by the others."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from penstock.kernels.buckets import Recipe
from penstock.kernels.covering import Skyline
from penstock.synopsis.constant import ConstantSynopsis
from penstock.synopsis.memory import Memory

#: Attributes have values from 0 to this.
HIGH = 4
FAR = 2**63 - 1

Row = tuple[int, ...]
Place = tuple[int, ...]


def _table(lines: list[tuple[int, ...]], width: int) -> np.ndarray:
    return np.array(lines, np.int64).reshape(-1, width)


class Space:
    """Boxes with a lower and an upper side, or one, per attribute, and holes; places differ by so much at most."""

    def __init__(self, random: Random) -> None:
        self.attributes = random.randint(1, 3)
        sides = [(of, up) for of in range(self.attributes) for up in (0, 1) if random.random() < 0.7]
        self.sides = sides or [(0, 1)]
        self.holes = [random.randrange(self.attributes) for _ in range(random.choice((0, 0, 1, 2)))]
        pairs = [(u, v) for u in range(self.attributes) for v in range(self.attributes) if u != v]
        self.limits = {pair: random.randint(-1, 2) for pair in pairs if random.random() < 0.3}
        self.places = [p for p in product(range(HIGH + 1), repeat=self.attributes) if self._is_there(p)]

    def _is_there(self, place: Place) -> bool:
        return all(place[u] - place[v] <= limit for (u, v), limit in self.limits.items())

    def covers(self, row: Row, place: Place) -> bool:
        inside = (
            place[of] <= row[n] if is_upper else place[of] >= row[n] for n, (of, is_upper) in enumerate(self.sides)
        )
        holes = (place[of] != row[len(self.sides) + n] for n, of in enumerate(self.holes))
        return all(inside) and all(holes)

    def box(self, row: Row) -> frozenset[Place]:
        return frozenset(place for place in self.places if self.covers(row, place))

    def synopsis(self) -> ConstantSynopsis:
        ends = range(len(self.sides))
        recipe = Recipe(
            _table([], 2),
            _table([], 3),
            _table([], 3),
            _table([(n, 0) for n in ends], 2),
            _table([(n, n + 1, up, FAR if up else -FAR - 1) for n, (_, up) in enumerate(self.sides)], 4),
            _table([(len(self.sides) + n, 0, -FAR - 1, FAR) for n in range(len(self.holes))], 4),
        )
        return ConstantSynopsis(Memory().scope("s"), len(self.sides) + len(self.holes), recipe, self._skyline())

    def _skyline(self) -> Skyline:
        differences, lows, highs = self._closed()
        return Skyline(
            _table([(of, up) for of, up in self.sides], 2),
            np.array(self.holes, np.int64),
            _table(list(zip(lows, highs, strict=True)), 2),
            differences,
        )

    def _closed(self) -> tuple[np.ndarray, list[int], list[int]]:
        """The least limits of all differences, and of each attribute, from the places themselves."""
        differences = np.full((self.attributes, self.attributes), FAR, np.int64)
        for u, v in product(range(self.attributes), repeat=2):
            if u != v:
                differences[u, v] = max(p[u] - p[v] for p in self.places)
        columns = list(zip(*self.places, strict=True))
        return differences, [min(c) for c in columns], [max(c) for c in columns]


@pytest.mark.parametrize("seed", range(120))
def test_a_skyline_covers_what_all_rows_cover(seed: int) -> None:
    random = Random(seed)
    space = Space(random)
    if not space.places:
        return
    synopsis = space.synopsis()
    seen: set[Place] = set()
    for _ in range(12):
        width = len(space.sides) + len(space.holes)
        rows = [tuple(random.randint(-1, HIGH + 1) for _ in range(width)) for _ in range(random.randint(1, 4))]
        placed = synopsis.place(np.array(rows, np.int64))
        synopsis.forget(placed.gone)
        synopsis.store.end_step()
        seen = seen.union(*map(space.box, rows))
        kept = [tuple(row) for row in synopsis.store.rows[synopsis.store.held()].tolist()]
        boxes = [space.box(row) for row in kept]
        assert frozenset().union(*boxes) == seen
        for number, box in enumerate(boxes):
            assert box - frozenset().union(*boxes[:number], *boxes[number + 1 :])
