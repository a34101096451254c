"""What a join counts along its probe paths, in place of listing combinations (`kernels/path_counting.py`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.kernels.aggregation import DOUBLE, STATE_WIDTHS
from penstock.kernels.exact import POOL_WIDTH
from penstock.kernels.mjoin import Probers
from penstock.kernels.partial_sums import PIECES, Sums
from penstock.kernels.path_counting import ENTRIES, KEY, AllEvents, Memo, Modes, Results, count_along
from penstock.operators.joins.combinations import matrix
from penstock.operators.joins.path_layout import PathLayout, Probes
from penstock.operators.joins.probing import Probing
from penstock.plan.probe_paths import BLOCK, Probe, Variables, located, paths_in_order
from penstock.synopsis.deltas import NULL_BITS, row_width
from penstock.synopsis.events import Some
from penstock.synopsis.indexed_inputs import IndexColumns
from penstock.synopsis.memory import Ints


@dataclass(frozen=True, slots=True)
class ColumnSum:
    """A column of an input whose values are added up, or only counted, in an accumulator of this family."""

    input: int
    column: int
    family: int


@dataclass(frozen=True, slots=True)
class Counted:
    """The inputs whose rows are counted, and what is wanted of them but their number.

    Results have columns of rows, so many that are `left_out` and NULL, the words of `sums`, and for each aggregate
    that takes rows of an input of `once` whether its row begins (1) or ceases (-1) to be in a combination.
    """

    inputs: frozenset[int] = frozenset()
    left_out: int = 0
    sums: tuple[ColumnSum, ...] = ()
    #: The inputs of aggregates that take each row once.
    owners: tuple[int, ...] = ()

    @property
    def once(self) -> tuple[int, ...]:
        """The inputs whose rows are given once."""
        return tuple(dict.fromkeys(self.owners))

    @property
    def words(self) -> int:
        """How many words the sums of a result have."""
        return sum(STATE_WIDTHS[each.family] for each in self.sums)

    @property
    def columns(self) -> int:
        """How many columns results have beside those of rows."""
        return self.left_out + self.words + len(self.owners)


class CountedBlock(NamedTuple):
    """A block of results: their slots, the numbers of their events, how often each counts, modes, and partial sums."""

    slots: Ints
    by: Ints
    weights: Ints
    modes: Ints
    sums: Ints

    def take(self, some: Some) -> CountedBlock:
        return CountedBlock(*(part[some] for part in self))

    def rows(self, shown: Ints, columns: int, signs: Ints, counted: Counted) -> Ints:
        """The rows of results, given rows of the first columns, and the signs of the events."""
        total = columns + counted.columns
        rows = np.zeros((len(shown), row_width(total)), np.int64)
        rows[:, :columns] = shown[:, :columns]
        rows[:, total : total + shown.shape[1] - columns] = shown[:, columns:]
        for column in range(columns, columns + counted.left_out):
            rows[:, total + column // NULL_BITS] |= 1 << column % NULL_BITS
        begin = columns + counted.left_out
        rows[:, begin : begin + counted.words] = self.sums
        for number, owner in enumerate(counted.owners):
            mode = 1 + counted.once.index(owner)
            rows[:, begin + counted.words + number] = np.where(self.modes == mode, signs, 0)
        return rows


def once_paths(counted: Counted, variables: Sequence[Variables]) -> list[Probes]:
    """By input of `once` the paths of its mode: they probe it first, and the others by its values."""
    others = range(len(variables))
    return [
        located(paths_in_order(variables, [[own, *(n for n in others if n != own)]] * len(variables)), variables)
        for own in counted.once
    ]


class PathCounter:
    """Counts along the paths of a join, and along those of its modes."""

    def __init__(
        self, counted: Counted, probes: Sequence[Probes], inputs: int, indexes: Iterable[IndexColumns]
    ) -> None:
        """`probes` are those of the paths of each mode."""
        self._counted = counted
        every = [path for paths in probes for path in paths]
        self._layout = layout = PathLayout(inputs, every, indexes)
        of_modes = [counted.inputs, *(frozenset(range(inputs)) - {own} for own in counted.once)]
        stages = [_counted_stages(path, own) for own, paths in zip(of_modes, probes, strict=True) for path in paths]
        self._stages = np.array(stages, np.int64)
        self._own = np.full((len(probes), inputs), -1, np.int64)
        targets, of_stages = layout.arrays.targets, layout.arrays.probes
        for number, own in enumerate(counted.once):
            path = (1 + number) * inputs + own
            self._own[1 + number, targets[path]] = of_stages[path]
        self._lines, self._doubles = _lines(counted.sums)
        self._indexes = np.full((inputs, max(1, of_stages.size)), -1, np.int64)
        for number, line in enumerate(self._indexes):
            found = np.unique(of_stages[(self._stages != 0) & (targets == number)])
            line[: len(found)] = found
        by, weights, modes = np.empty((3, BLOCK), np.int64)
        slots, words = np.empty((BLOCK, inputs), np.int64), np.empty((BLOCK, counted.words), np.int64)
        self._room = Results(slots, by, weights, modes, words)

    def blocks(self, probing: Probing, events: AllEvents, *, lists: bool) -> Iterator[CountedBlock]:
        """The results of a step. If it `lists`, no row is counted, and all combinations are there."""
        modes, layout, words = len(self._own), self._layout, self._counted.words
        probers = Probers(*(np.repeat(part, modes) for part in probing.probers)) if modes > 1 else probing.probers
        of = np.tile(np.arange(modes), len(probing.probers.slots))
        stages, own = (self._stages * (not lists), np.where(lists, -1, self._own))
        given = probing._replace(probers=probers, paths=layout.arrays)
        memo = Memo(
            np.zeros((ENTRIES, KEY + layout.most_columns + words), np.int64),
            np.full(1, -1, np.int64),
            self._indexes,
            np.empty((1, layout.most_columns), np.int64),
        )
        pool = np.zeros(((ENTRIES + layout.depths + 2) * self._doubles + 1, POOL_WIDTH), np.int64)
        totals, work = np.zeros((layout.depths, words), np.int64), np.zeros((1, words), np.int64)
        sums = Sums(self._lines, totals, np.zeros(layout.depths, np.int64), work, pool)
        progress, weights, out = layout.begun(), np.empty(layout.depths, np.int64), self._room
        pieces = PIECES * self._doubles
        while True:
            found = count_along(*given, Modes(of, stages, own), memo, events, progress, weights, sums, pieces, out)
            yield CountedBlock(*(part[:found] for part in out))
            if progress.registers[0] == len(of):
                return


def _counted_stages(path: Sequence[Probe], counted: Collection[int]) -> list[bool]:
    """By depth whether a stage of a path is counted: its input is, and no later stage takes a value from it."""
    return [
        probe.target in counted
        and all(origin != probe.target for later in path[d + 1 :] for origin, _ in later.sources)
        for d, probe in enumerate(path)
    ]


def _lines(sums: Sequence[ColumnSum]) -> tuple[Ints, int]:
    """The table of sums of `kernels.partial_sums`, and how many are of DOUBLEs."""
    lines, at = [], 0
    for each in sums:
        lines.append((each.input, each.column, each.column // NULL_BITS, each.column % NULL_BITS, each.family, at))
        at += STATE_WIDTHS[each.family]
    return matrix(lines, 6), sum(each.family == DOUBLE for each in sums)
