"""Residual predicates of a join, which no index evaluates: each is tested as soon as a path has bound what it reads.

    FROM a, b, c WHERE a.k = b.k AND b.m = c.m AND a.x < b.x AND near(a.p, c.p)

    a: b by k ─ a.x < b.x ──▶ c by m ─ near(a.p, c.p)
    b: a by k ─ a.x < b.x ──▶ c by m ─ near(a.p, c.p)
    c: b by m ──▶ a by k ─ a.x < b.x, near(a.p, c.p)

Before its end, a path only drops what a predicate surely drops. A function may fail on a combination of some inputs
that is in no result, which is no error: so what fails stays, and is tested once more at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.operators.joins.combinations import Gathering
from penstock.plan.probe_paths import Paths, tests_along
from penstock.synopsis.deltas import Bools
from penstock.synopsis.indexed_inputs import JoinInput
from penstock.synopsis.memory import Ints


@dataclass(frozen=True, slots=True)
class RowTest:
    """A test of rows of some columns, which are positions among those of all inputs."""

    columns: tuple[int, ...]
    #: Which rows pass; raises what functions raise on rows that nothing drops.
    passing: Callable[[Ints], Bools]
    #: Which rows it does not drop, and whether it passes all of them.
    undropped: Callable[[Ints], tuple[Bools, bool]]


@dataclass(frozen=True, slots=True)
class Residual:
    """Predicates that no index evaluates: by predicate the inputs that it reads, and the test of some of them."""

    reads: tuple[frozenset[int], ...]
    test: Callable[[tuple[int, ...]], RowTest]


class ResidualTests:
    """The tests of a join's residual predicates along its paths."""

    def __init__(self, inputs: tuple[JoinInput, ...], residual: Residual | None) -> None:
        self._inputs, self._residual = inputs, residual
        self._everything = tuple(range(len(residual.reads))) if residual is not None else ()
        self._tests: dict[tuple[int, ...], tuple[RowTest, Gathering]] = {}
        #: Whether in this step all is tested at the end of paths: nothing was before, or a function failed.
        self._at_end = True

    def follow(self, paths: Paths) -> None:
        """Tests along these paths from now on."""
        reads = self._residual.reads if self._residual is not None else ()
        depths = len(self._inputs) - 1
        #: By input and depth the predicates that are tested there.
        self._along = [tests_along(start, path, reads) for start, path in enumerate(paths)]
        #: The depths behind which something is tested: a path is probed from one to the next in one go.
        self.ends = [d + 1 for d in range(depths - 1) if any(along[d] for along in self._along)] + [depths]

    def begin(self, *, is_early: bool) -> None:
        """Begins a step, in which predicates are tested before the end of paths, or are not."""
        self._at_end = not is_early or len(self.ends) == 1

    def undropped(self, depth: int, slots: Ints, sources: Ints, table: Ints) -> Bools:
        """Which combinations of the inputs that are bound behind a depth may be part of a result."""
        kept = np.ones(len(slots), np.bool_)
        for source, along in enumerate(self._along):
            for number in along[depth]:
                own = np.flatnonzero(kept & (sources == source))
                if len(own):
                    test, gathering = self._test((number,))
                    kept[own], is_all = test.undropped(gathering.rows(slots[own], table))
                    self._at_end |= not is_all
        return kept

    def passing(self, slots: Ints, sources: Callable[[], Ints], table: Ints) -> Bools | None:
        """Which combinations of all inputs are results; None if all are."""
        if not self._everything or not len(slots):
            return None
        if self._at_end:
            return self._passing(self._everything, slots, table)
        left = [along[-1] for along in self._along]
        if len(set(left)) == 1:
            return self._passing(left[0], slots, table) if left[0] else None
        kept, own = np.ones(len(slots), np.bool_), sources()
        for source, numbers in enumerate(left):
            some = np.flatnonzero(own == source)
            if numbers and len(some):
                kept[some] = self._passing(numbers, slots[some], table)
        return kept

    def _passing(self, numbers: tuple[int, ...], slots: Ints, table: Ints) -> Bools:
        test, gathering = self._test(numbers)
        return test.passing(gathering.rows(slots, table))

    def _test(self, numbers: tuple[int, ...]) -> tuple[RowTest, Gathering]:
        if numbers not in self._tests:
            assert self._residual is not None
            test = self._residual.test(numbers)
            self._tests[numbers] = test, Gathering.of(self._inputs, test.columns)
        return self._tests[numbers]
