"""Partial aggregates of a sliding window: one per pane and group, instead of the window's rows.

The kernel (`kernels/panes.py`) takes rows into the partial aggregates of their panes as they arrive, in any order. When
an instant is closed at which a pane comes or goes, each of its partial aggregates comes or goes as one delta, to which
the aggregate of the whole window is added up (`operators/groups/aggregate.py`). Sums are exact, so a partial sum that
leaves takes away just what it brought. Of MIN and MAX a group keeps the extremes of its panes. An aggregate of DISTINCT
values must know them, so a partial aggregate is then of the rows that agree on these, too.
"""

from __future__ import annotations

import numpy as np

from penstock.algebra.relations import Range
from penstock.kernels import aggregation, exact, panes, slots
from penstock.kernels.aggregation import Arguments
from penstock.kernels.panes import PaneTables
from penstock.operators.groups.aggregate import (
    NOTHING_SPILT,
    AggregationSpec,
    InputShape,
    accumulators,
    own_keys,
    wide_arguments,
)
from penstock.synopsis.codes import is_interned
from penstock.synopsis.deltas import NULL_BITS, Deltas, row_width
from penstock.synopsis.dictionary import Dictionary, Marks
from penstock.synopsis.memory import Ints, Scope
from penstock.types import Type

_FIRST_ROWS = 64

#: A partial aggregate's key starts with its pane; then comes a row of the group's keys and the DISTINCT values.
_BODY = aggregation.KEY + 1


class PartialAggregates:
    """Input rows are key columns and then the arguments, in order; `shape` is that of the deltas that come out."""

    def __init__(
        self,
        memory: Scope,
        window: Range,
        key_types: tuple[Type, ...],
        aggregations: tuple[AggregationSpec, ...],
        dictionary: Dictionary,
    ) -> None:
        assert window.slide is not None
        self._memory = memory
        self._reach, self._slide = window.width, window.slide
        self._specs = aggregations
        self._dictionary = dictionary
        self._input = InputShape.of_rows(len(key_types), aggregations)
        of_sets = [spec for spec in aggregations if spec.is_of_a_set]
        self._body_types = (*key_types, *(spec.argument for spec in of_sets if spec.argument is not None))
        #: The columns of the input that are the body's.
        sources = [c for spec, c in zip(aggregations, self._input.arguments, strict=True) if spec.is_of_a_set]
        self._body_columns = [*range(len(key_types)), *sources]
        key_words = 1 + row_width(len(self._body_types))
        families = [_family(spec) for spec in aggregations]
        self._plan, end = accumulators(aggregations, families, self._input, aggregation.KEY + key_words)
        self._widths = {"partials": end + 1, "pool": exact.POOL_WIDTH, "panes": panes.PANE_WIDTH}
        self._columns = np.arange(key_words)
        self._places = np.arange(aggregation.KEY, aggregation.KEY + key_words)
        self.shape = self._shape(len(key_types))
        #: Panes that have gone in this step.
        self._gone: Ints = np.zeros(0, np.int64)
        if memory.restored:
            self._rebuild()

    def step(self, ts: Ints, rows: Ints, until: int) -> Deltas:
        """Takes rows that no closed instant knows of, and gives the partial aggregates that come or go before `until`.

        A delta's weight is how many rows it stands for.
        """
        if len(ts):
            self._absorb(np.require(ts, np.int64, ["C", "W"]), rows)
        return self._due(until)

    def forget(self) -> None:
        """Gives back what has gone in this step."""
        if len(self._gone):
            panes.forget_panes(self._gone, self._plan, self._places, self._tables())
            self._gone = np.zeros(0, np.int64)

    @property
    def spilt(self) -> Ints:
        """The digits of partial sums that do not fit their windows."""
        return self._table("pool")

    def state_rows(self) -> int:
        return slots.in_use(self._table("partials"))

    def mark(self, marks: Marks) -> None:
        """Marks the codes of keys, of DISTINCT values, and of extremes, which are 0 as long as there is none."""
        partials = self._table("partials")[1:]
        live = partials[partials[:, aggregation.FLAGS] != 0]
        ranked = self._plan[self._plan[:, aggregation.ORDER] == aggregation.BY_RANK]
        words = [_BODY + number for number, type_ in enumerate(self._body_types) if is_interned(type_)]
        for word in [*words, *(ranked[:, aggregation.STATE] + 1).tolist()]:
            marks.add(live[:, word])

    def _shape(self, keys: int) -> InputShape:
        following = iter(range(keys, len(self._body_types)))
        arguments = tuple(next(following) if spec.is_of_a_set else 0 for spec in self._specs)
        places = self._plan[:, aggregation.STATE].tolist()
        kept = [spec.argument is not None and not spec.is_of_a_set for spec in self._specs]
        partials = tuple(place if known else -1 for place, known in zip(places, kept, strict=True))
        return InputShape(_BODY, len(self._body_types), arguments, partials)

    def _absorb(self, ts: Ints, rows: Ints) -> None:
        rows = np.require(rows, np.int64, ["C", "W"])
        keys = np.empty((len(rows), len(self._columns)), np.int64)
        self._put_bodies(rows, keys[:, 1:])
        wide = wide_arguments(rows, self._specs, self._input, self._dictionary)
        by_rank = bool((self._plan[:, aggregation.ORDER] == aggregation.BY_RANK).any())
        ranks = np.require(self._dictionary.ranks(), np.int64, ["C", "W"]) if by_rank else np.zeros(0, np.int64)
        arguments = Arguments(rows, wide, NOTHING_SPILT, ranks)
        buckets, short = np.zeros(aggregation.BLOCK + 1, np.int64), np.zeros(1, np.int64)
        window, scratch = (self._reach, self._slide), (self._columns, buckets, short)
        done = 0
        while (done := panes.absorb(ts, arguments, keys, self._plan, done, *window, self._tables(), *scratch)) < len(
            ts
        ):
            self._grow(int(short[0]))

    def _put_bodies(self, rows: Ints, out: Ints) -> None:
        keys, body = len(self._body_columns), self._body_columns
        if body == list(range(keys)):
            own_keys(rows, keys, self._input.columns, out)
            return
        out[:, :keys] = rows[:, body]
        out[:, keys:] = 0
        for column, source in enumerate(body):
            null = rows[:, self._input.columns + source // NULL_BITS] >> (source % NULL_BITS) & 1
            out[:, keys + column // NULL_BITS] |= null << (column % NULL_BITS)

    def _due(self, until: int) -> Deltas:
        """What comes or goes before `until`, in the order of time; at one instant partial aggregates go first."""
        all_panes, partials = self._table("panes"), self._table("partials")
        live = np.flatnonzero(all_panes[1:, panes.ENDS]) + 1
        comers = live[(all_panes[live, panes.ENTERED] == 0) & (all_panes[live, panes.COMES] < until)]
        self._gone = live[all_panes[live, panes.ENDS] < until]
        all_panes[comers, panes.ENTERED] = 1
        some = np.concatenate((self._gone, comers))
        ts = np.concatenate((all_panes[self._gone, panes.ENDS], all_panes[comers, panes.COMES]))
        signs = np.repeat(np.array([-1, 1]), [len(self._gone), len(comers)])
        order = np.argsort(ts, kind="stable")
        some, ts, signs = some[order], ts[order], signs[order]
        counts = all_panes[some, panes.COUNT]
        entries = np.empty(int(counts.sum()), np.int64)
        panes.listed(some, all_panes, partials, entries)
        rows = partials[entries]
        return Deltas(np.repeat(ts, counts), np.repeat(signs, counts) * rows[:, aggregation.ROWS], rows)

    def _tables(self) -> PaneTables:
        all_panes, partials = self._table("panes"), self._table("partials")
        heads, pane_heads = self._heads("heads", partials), self._heads("pane_heads", all_panes)
        return PaneTables(all_panes, pane_heads, partials, heads, self._table("pool"))

    def _grow(self, short: int) -> None:
        """Doubles the tables whose bits are set, and gives those that are found by hashing more buckets."""
        for table, bit in (("partials", 1), ("pool", 8), ("panes", panes.SHORT_OF_PANES)):
            if short & bit:
                self._table(table, max(2 * len(self._table(table)), _FIRST_ROWS))
        self._rebuild()

    def _rebuild(self) -> None:
        tables = self._tables()
        aggregation.rebuild(tables.partials, tables.heads, self._places)
        panes.rebuild_panes(tables.panes, tables.pane_heads)

    def _heads(self, name: str, table: Ints) -> Ints:
        """As many buckets as a table has rows, at least: a power of two."""
        heads = self._memory.array(name, 1 << (len(table) - 1).bit_length(), derived=True)
        return heads[: 1 << (len(heads).bit_length() - 1)]

    def _table(self, table: str, rows: int = 0) -> Ints:
        return self._memory.array(table, rows, self._widths[table])


def _family(spec: AggregationSpec) -> int:
    """The accumulator of a partial aggregate, from which no value is ever taken."""
    if spec.is_of_a_set:
        return aggregation.ROW_COUNT
    return aggregation.EXTREME if spec.family == aggregation.ORDERED else spec.family
