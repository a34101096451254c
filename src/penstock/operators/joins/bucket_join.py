"""Joins of buckets (002): a row that comes is joined with one row of each bucket, and counters multiply.

A row stands for its bucket at once: it is alike with the sample there, so the sample is joined in its place, and all
that is stored are samples. Where duplicates do not matter, a row that others cover is not joined at all: whatever it
joins has been joined. Inputs that are not kept in buckets have all their rows in stores, as in any join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from penstock.algebra.buckets import Buckets, Space
from penstock.algebra.expressions import Column
from penstock.algebra.relations import Schema
from penstock.kernels.buckets import LEAST, MOST, Recipe, weigh
from penstock.kernels.covering import Skyline
from penstock.kernels.pointers import address
from penstock.operators.blocks import Blocks, together
from penstock.operators.joins.bucket_totals import BucketTotals
from penstock.operators.joins.combinations import Combinations
from penstock.operators.joins.mjoin import JoinCore
from penstock.operators.joins.semi_join import SemiJoinOperator
from penstock.synopsis.constant import ConstantSynopsis
from penstock.synopsis.deltas import NULL_BITS, Deltas, null_masks
from penstock.synopsis.events import Events, Some
from penstock.synopsis.memory import Ints


class _Came(NamedTuple):
    """What came of an input: events, which of them bring a row to the join, and how many rows each stands for.

    `kept` are the changes that have events; the others join nothing, whatever comes.
    """

    events: Events
    brings: Some
    weights: Ints
    kept: Some

    def first(self) -> _Came:
        """The events that bring a row."""
        return self._replace(events=self.events.take(self.brings), brings=slice(None))


class BucketInputs:
    """The inputs of a join: a synopsis for each that is kept in buckets, and None for the others."""

    def __init__(self, core: JoinCore, synopses: Sequence[ConstantSynopsis | None]) -> None:
        self.core = core
        self._synopses = synopses
        self._gone: list[tuple[int, Ints]] = []

    def take(self, changes: Sequence[Deltas | Events]) -> list[_Came]:
        """Takes the changes of inputs that are kept in buckets, and events of the others."""
        return [self._came(number, change) for number, change in enumerate(changes)]

    def joined(self, came: Sequence[_Came]) -> Iterator[Combinations]:
        """What is found by what came, in blocks."""
        for number, each in enumerate(came):
            if self._synopses[number] is not None:
                self.core.enter(number, each.events, each.brings)
        return self.core.blocks([each.events for each in came], [each.brings for each in came])

    def end(self) -> None:
        """Takes what others cover now out of the join. Events before them may have seen it until then."""
        for number, slots in self._gone:
            synopsis = self._synopses[number]
            assert synopsis is not None
            self.core.forget(number, slots)
            synopsis.forget(slots)
        self._gone = []

    @property
    def capacity(self) -> int:
        """More than any slot of a bucket."""
        return max(synopsis.store.capacity for synopsis in self._synopses if synopsis is not None)

    def counters(self) -> Ints:
        """The addresses of counters; 0 where there are none."""
        counted = [None if s is None or not s.is_counted else s.counts for s in self._synopses]
        return np.array([0 if counts is None else address(counts) for counts in counted], np.int64)

    def _came(self, number: int, change: Deltas | Events) -> _Came:
        synopsis = self._synopses[number]
        if synopsis is None:
            assert isinstance(change, Events)
            events = self.core.enter(number, change)
            return _Came(events, slice(None), events.signs, slice(None))
        assert isinstance(change, Deltas)
        placed = synopsis.place(np.ascontiguousarray(change.rows))
        if len(placed.gone):
            self._gone.append((number, placed.gone))
        kept = placed.slots >= 0
        ones = np.ones(int(kept.sum()), np.int64)
        weights = change.weight[kept] if synopsis.is_counted else ones
        return _Came(Events(change.ts[kept], ones, placed.slots[kept]), placed.is_first[kept], weights, kept)


class BucketJoinOperator:
    """Join: all combinations, each with the product of its counters, and with partial aggregates if it has totals."""

    def __init__(self, inputs: BucketInputs, totals: BucketTotals | None = None) -> None:
        self._inputs = inputs
        self._totals = totals

    def step(self, changes: Sequence[Deltas | Events]) -> Blocks:
        came = self._inputs.take(changes)
        weigh_block: Callable[[Combinations, bool], Deltas] | None = None
        for found in self._inputs.joined(came):
            weigh_block = weigh_block or self._weighing(changes, came, found)
            yield weigh_block(found, False)
        assert weigh_block is not None
        weigh_block(found.take(slice(0, 0)), True)
        self._inputs.end()

    def _weighing(
        self, changes: Sequence[Deltas | Events], came: Sequence[_Came], found: Combinations
    ) -> Callable[[Combinations, bool], Deltas]:
        """What weighs a block of combinations after the other, and says whether it is the end."""
        # In the order of time, as `found.by` numbers them.
        sources = np.repeat(np.arange(len(came)), [len(each.events) for each in came])[found.order]
        weights = np.concatenate([each.weights for each in came])[found.order]
        events = found.events.take(found.order)
        weighing = (sources, events.slots, weights, self._inputs.counters(), np.zeros(1, np.int64))
        totals = self._totals
        if totals is None:

            def weighed(block: Combinations, ends: bool) -> Deltas:
                copies = np.empty(len(block.by), np.int64)
                weigh(*weighing, block.slots, block.by, copies, ends)
                return Deltas(events.ts[block.by - 1], copies, block.rows)

            return weighed
        singles, capacity = self._singles(changes, came)[found.order], self._inputs.capacity

        def with_partials(block: Combinations, ends: bool) -> Deltas:
            copies, partials = totals.weighed(weighing, block.slots, block.by, singles, capacity, ends=ends)
            return Deltas(events.ts[block.by - 1], copies, np.concatenate((block.rows, partials), axis=1))

        return with_partials

    def _singles(self, changes: Sequence[Deltas | Events], came: Sequence[_Came]) -> Ints:
        """The partial aggregates of the rows that came, each by itself. Of a bucket only the first is its sample."""
        assert self._totals is not None
        parts = []
        for number, (change, each) in enumerate(zip(changes, came, strict=True)):
            rows = change.rows[each.kept] if isinstance(change, Deltas) else np.zeros((len(each.events), 0), np.int64)
            parts.append(self._totals.singles(number, rows))
        return np.concatenate(parts)


class BucketSemiJoinOperator:
    """SemiJoin and AntiJoin: rows of one bucket have the same matches, so they show together or not."""

    def __init__(
        self, inputs: BucketInputs, operator: SemiJoinOperator, wants_match: bool, totals: BucketTotals | None = None
    ) -> None:
        self._inputs = inputs
        self._operator = operator
        self._wants_match = wants_match
        self._totals = totals

    def step(self, changes: Sequence[Deltas | Events]) -> Blocks:
        left, right = self._inputs.take(changes)
        # A bucket has the matches that its first row has.
        firsts = [each.first() for each in (left, right)]
        blocks = (found.matches() for found in self._inputs.joined(firsts))
        left_changes = changes[0]
        if isinstance(left_changes, Events):
            yield from self._operator.shown(left_changes, blocks)
            self._inputs.end()
            return
        # Of buckets with buckets: there are few.
        matches = together(blocks)
        self._inputs.end()
        assert not isinstance(left.kept, slice)
        # A row that matches nothing shows at once, and indefinitely.
        alone = left_changes.take(slice(0, 0) if self._wants_match else ~left.kept)
        if self._totals is not None:
            slots, store = left.events.slots, self._inputs.core.inputs[0].store
            state, mine = self._operator.state(), left_changes.take(left.kept)
            yield self._totals.shown(self._wants_match, mine, slots, matches, state, alone, store)
            return
        shown = self._operator.shown(Events(left.events.ts, left.weights, left.events.slots), [matches])
        yield _in_time(together(shown), alone)


def _in_time(one: Deltas, other: Deltas) -> Deltas:
    if not len(other):
        return one
    together = (
        np.concatenate(parts) for parts in ((one.ts, other.ts), (one.weight, other.weight), (one.rows, other.rows))
    )
    return Deltas(*together).in_order()


def recipe_of(buckets: Buckets, schema: Schema, joined: Iterable[Column]) -> Recipe:
    """How keys are made of rows of a schema; `joined` are the columns whose equality the join looks for."""
    place = {column: number for number, column in enumerate(schema)}
    count = len(schema)
    compared = {place[column] for column in (*buckets.compared, *joined)}
    terms = [(place[column], shift) for side in buckets.sides for column, shift in side.terms]
    sides, start = [], 0
    for side in buckets.sides:
        end = start + len(side.terms)
        limit = side.limit if side.limit is not None else MOST if side.is_upper else LEAST
        sides.append((start, end, int(side.is_upper), limit))
        start = end
    return Recipe(
        _table(list(zip(*(each.tolist() for each in null_masks(compared, count)), strict=True)), 2),
        _table([(_place(place, d.left), _place(place, d.right), d.limit) for d in buckets.within], 3),
        _table([(place[c], count + place[c] // NULL_BITS, place[c] % NULL_BITS) for c in buckets.values], 3),
        _table(terms, 2),
        _table(sides, 4),
        _table([(place[h.column], h.shift, _or(h.low, LEAST), _or(h.high, MOST)) for h in buckets.holes], 4),
    )


def skyline_of(buckets: Buckets) -> Skyline | None:
    """Where the boxes lie, if only those are kept that others do not cover."""
    if buckets.space is None:
        return None
    space: Space = buckets.space
    count = len(space.lows)
    differences = np.full((count, count), MOST, np.int64)
    for left, right, limit in space.differences:
        differences[left, right] = limit
    ends = [(_or(low, LEAST), _or(high, MOST)) for low, high in zip(space.lows, space.highs, strict=True)]
    sides = _table([(side.of, int(side.is_upper)) for side in buckets.sides], 2)
    holes = np.array([hole.of for hole in buckets.holes], np.int64)
    return Skyline(sides, holes, _table(ends, 2), differences)


def _place(place: dict[Column, int], column: Column | None) -> int:
    return -1 if column is None else place[column]


def _or(limit: int | None, otherwise: int) -> int:
    return otherwise if limit is None else limit


def _table(lines: Sequence[tuple[int, ...]], width: int) -> Ints:
    return np.array(lines, np.int64).reshape(-1, width)
