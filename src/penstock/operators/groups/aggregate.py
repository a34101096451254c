"""GROUP BY: one row per group, or without keys just one row, from the first instant on.

The kernel keeps the groups (`kernels/aggregation.py`); here their tables are laid out and grown, and DECIMALs that do
not fit one word are taken apart and put together. Sums are exact and rounded once, so that results do not depend on the
order in which rows come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.functions import AggregateFunction, aggregate_type
from penstock.kernels import aggregation, exact, multiset, ordered, slots
from penstock.kernels.aggregation import Arguments, Batch, GroupResults, GroupTables, Layout, Work
from penstock.operators.blocks import Blocks
from penstock.synopsis.codes import NARROW_PRECISION, is_interned
from penstock.synopsis.deltas import NEVER, NULL_BITS, Deltas, assemble, is_null, no_deltas, null_words, row_width
from penstock.synopsis.dictionary import Dictionary, Marks
from penstock.synopsis.memory import Ints, Scope
from penstock.types import BIGINT_RANGE, Kind, Type

_WORD = 1 << 64
_FIRST_ROWS = 64

NOTHING_SPILT: Ints = np.zeros((0, exact.POOL_WIDTH), np.int64)


def _no_digits() -> Ints:
    return NOTHING_SPILT


@dataclass(frozen=True, slots=True)
class AggregationSpec:
    """An aggregate of the column of that type. COUNT(*) has no argument."""

    function: AggregateFunction
    argument: Type | None
    distinct: bool = False

    @property
    def result(self) -> Type:
        typed = aggregate_type(self.function, self.argument)
        assert typed is not None, f"{self.function.value} takes no {self.argument}"
        return typed

    @property
    def family(self) -> int:
        if self.argument is None:
            return aggregation.ROW_COUNT
        if self.function is AggregateFunction.COUNT:
            return aggregation.COUNT
        if self.function in (AggregateFunction.MIN, AggregateFunction.MAX):
            return aggregation.ORDERED
        return aggregation.DOUBLE if self.argument.kind is Kind.DOUBLE else aggregation.INTEGER

    @property
    def is_of_a_set(self) -> bool:
        """Whether it must know its values one by one. A multiset has the least and greatest value of its set."""
        return self.distinct and self.family != aggregation.ORDERED

    @property
    def finish(self) -> int:
        if self.function is AggregateFunction.MIN:
            return aggregation.LEAST
        if self.function is AggregateFunction.MAX:
            return aggregation.GREATEST
        if self.function is AggregateFunction.AVG:
            return aggregation.UNFINISHED if self.result.kind is Kind.DECIMAL else aggregation.QUOTIENT
        return aggregation.UNFINISHED if _is_wide(self.result) else aggregation.TOTAL


@dataclass(frozen=True, slots=True)
class InputShape:
    """Where an operator finds in its input what it aggregates: in a row of columns that begins at a word of the input.

    The keys are its first columns. An aggregate has an argument in a column, or a partial aggregate at a word (or -1).
    A word may say how often an argument counts (or -1: as often as its row).
    """

    start: int
    columns: int
    arguments: tuple[int, ...]
    partials: tuple[int, ...]
    times: tuple[int, ...] = ()

    @staticmethod
    def of_rows(keys: int, specs: tuple[AggregationSpec, ...]) -> InputShape:
        """Key columns and then the arguments, in order; that of COUNT(*) is never looked at."""
        arguments, columns = [], keys
        for spec in specs:
            arguments.append(columns if spec.argument is not None else 0)
            columns += spec.argument is not None
        return InputShape(0, columns, tuple(arguments), (-1,) * len(specs))


class AggregateOperator:
    """Input rows are as `shape` says; output rows are the key columns and the aggregates.

    If the input `grows`, rows come and never go: then of MIN and MAX the least and greatest so far are enough.
    """

    def __init__(
        self,
        memory: Scope,
        key_types: tuple[Type, ...],
        aggregations: tuple[AggregationSpec, ...],
        dictionary: Dictionary,
        grows: bool = False,
        shape: InputShape | None = None,
    ) -> None:
        self._memory = memory
        self._key_types = key_types
        self._keys = key_count = len(key_types)
        self._specs = aggregations
        self._grows = grows
        self._dictionary = dictionary
        self._shape = shape or InputShape.of_rows(key_count, aggregations)
        self._key_words = key_count + null_words(key_count)
        self._plan, self._shown, self._shown_width = self._laid_out()
        self._widths = {
            "groups": self._shown + self._shown_width,
            "entries": multiset.WIDTH,
            "nodes": ordered.WIDTH,
            "pool": exact.POOL_WIDTH,
        }
        places = np.arange(aggregation.KEY, aggregation.KEY + self._key_words)
        columns, stays = np.arange(self._key_words), not key_count
        self._layout = Layout(self._plan, key_count, columns, places, self._shown, stays)
        self._scratch = (
            np.zeros(self._shown_width, np.int64),
            np.zeros(exact.POOL_WIDTH, np.int64),
            np.zeros(aggregation.BLOCK + 1, np.int64),
        )
        if memory.restored:
            self._rebuild()

    def blocks(self, blocks: Iterable[Deltas], until: int, spilt: Callable[[], Ints] = _no_digits) -> Blocks:
        """The changes of groups, by blocks. `spilt` gives the digits of a block's partial sums."""
        before: tuple[Deltas, Ints] | None = None
        for block in blocks:
            if before is not None:
                yield self.step(before[0], until, before[1], goes_on=True)
            before = block, spilt()
        assert before is not None
        yield self.step(before[0], until, before[1])

    def step(self, deltas: Deltas, until: int, spilt: Ints = NOTHING_SPILT, *, goes_on: bool = False) -> Deltas:
        """Deltas in the order of time. `spilt` are the digits of partial sums. The last instant may go on."""
        registers = self._registers()
        if not self._keys and not registers[aggregation.STARTED] and until > 0:
            deltas = _with_first_instant(deltas, self._shape)
            registers[aggregation.STARTED] = 1
        touched = int(registers[aggregation.TOUCHED_COUNT])
        if not len(deltas) and (goes_on or not touched):
            return no_deltas(self._keys + len(self._specs))
        batch = self._batch(deltas, spilt)
        results = _room_for_results(len(deltas) + touched, self._keys + self._shown_width)
        registers[aggregation.POSITION] = registers[aggregation.EMITTED] = 0
        while short := aggregation.aggregate(batch, self._layout, self._tables(), self._work(), results, goes_on):
            self._grow(short)
        return self._finished(results, int(self._registers()[aggregation.EMITTED]))

    def forget(self, closing: Callable[[Ints], Ints]) -> Deltas:
        """Drops the groups that have closed, and gives what they showed, each at the instant at which it closed.

        `closing` gives these instants for keys, or NEVER.
        """
        groups, heads, entries, entry_heads, nodes, pool = self._tables()
        there = 1 + np.flatnonzero(groups[1:, aggregation.FLAGS] & aggregation.LIVE)
        keys = np.ascontiguousarray(groups[there, aggregation.KEY : aggregation.KEY + self._key_words])
        closed = closing(keys)
        gone, ts = there[closed != NEVER], closed[closed != NEVER]
        rows = np.concatenate((keys[closed != NEVER][:, : self._keys], groups[gone, self._shown :]), axis=1)
        aggregation.forget_groups(gone, self._plan, self._layout.places, groups, heads, nodes, pool)
        if len(gone) and any(spec.is_of_a_set for spec in self._specs):
            is_gone = np.zeros(len(groups), np.bool_)
            is_gone[gone] = True
            held = 1 + np.flatnonzero(entries[1:, multiset.COUNT])
            of_groups = is_gone[entries[held, multiset.OWNER] // len(self._specs)]
            multiset.forget(entries, entry_heads, held[of_groups])
        return self._finished(GroupResults(ts, np.ones(len(ts), np.int64), rows), len(ts)).in_order()

    def forget_values(self, number: int, closing: Callable[[Ints], Ints]) -> None:
        """Drops the values of a DISTINCT aggregate that have closed: they are counted, and come no more.

        `closing` gives the instants for the keys of groups and a value. Rows must never go.
        """
        groups, _, entries, entry_heads, *_ = self._tables()
        held = 1 + np.flatnonzero(entries[1:, multiset.COUNT])
        owners, numbers = np.divmod(entries[held, multiset.OWNER], len(self._specs))
        there, owners = held[numbers == number], owners[numbers == number]
        rows = np.zeros((len(there), row_width(self._keys + 1)), np.int64)
        own = groups[owners, aggregation.KEY : aggregation.KEY + self._key_words]
        rows[:, : self._keys] = own[:, : self._keys]
        rows[:, self._keys] = entries[there, multiset.VALUE]
        # A value is not NULL, so the null bits are those of the keys.
        rows[:, self._keys + 1 :][:, : self._key_words - self._keys] = own[:, self._keys :]
        multiset.forget(entries, entry_heads, there[closing(rows) != NEVER])

    def state_rows(self) -> int:
        """Groups, values of DISTINCT aggregates, and values of MIN and MAX."""
        return sum(slots.in_use(self._table(table)) for table in ("groups", "entries", "nodes"))

    def state_values(self) -> int:
        """Values of DISTINCT aggregates."""
        return slots.in_use(self._table("entries"))

    def mark(self, marks: Marks) -> None:
        """Marks the codes of keys, of values of DISTINCT aggregates, and of MIN and MAX."""
        groups, entries, nodes = (self._table(table)[1:] for table in ("groups", "entries", "nodes"))
        is_group = groups[:, aggregation.FLAGS] != 0
        for word in self._code_words():
            marks.add(groups[is_group, word])
        of_codes = np.array([spec.argument is not None and is_interned(spec.argument) for spec in self._specs])
        if of_codes.any():
            owners = entries[:, multiset.OWNER] % len(self._specs)
            marks.add(entries[(entries[:, multiset.COUNT] != 0) & of_codes[owners], multiset.VALUE])
        if self._has_ranks():
            # A node does not say of which aggregate it is. A number that looks like a code keeps a value too long, but
            # never more values than there are nodes.
            values = nodes[nodes[:, ordered.COUNT] != 0, ordered.VALUE]
            marks.add(values[(values >= 0) & (values < len(marks.live))])

    def _code_words(self) -> list[int]:
        """The words of a group's row that are codes: of keys, and of extremes, which are 0 as long as there is none."""
        keys = [aggregation.KEY + number for number, type_ in enumerate(self._key_types) if is_interned(type_)]
        ranked = self._plan[self._plan[:, aggregation.ORDER] == aggregation.BY_RANK]
        extremes = ranked[ranked[:, aggregation.FAMILY] == aggregation.EXTREME, aggregation.STATE] + 1
        return [*keys, *extremes.tolist()]

    def _laid_out(self) -> tuple[Ints, int, int]:
        """The plan of the kernel, where in its row a group has what it shows, and how many words that is."""
        count = len(self._specs)
        families = [self._family(spec) for spec in self._specs]
        plan, state = accumulators(self._specs, families, self._shape, aggregation.KEY + self._key_words)
        raw = count + null_words(self._keys + count)
        for a, spec in enumerate(self._specs):
            row = plan[a]
            row[aggregation.DISTINCT] = spec.is_of_a_set
            row[aggregation.LOWEST], row[aggregation.HIGHEST] = _word_range(spec.result)
            row[aggregation.SHOWN_WORD] = count + (self._keys + a) // NULL_BITS
            row[aggregation.SHOWN_BIT] = (self._keys + a) % NULL_BITS
            row[aggregation.RAW] = -1
            if spec.finish == aggregation.UNFINISHED:
                row[aggregation.RAW] = raw
                raw += aggregation.RAW_WIDTH
        return plan, state, raw

    def _family(self, spec: AggregationSpec) -> int:
        return aggregation.EXTREME if self._grows and spec.family == aggregation.ORDERED else spec.family

    def _batch(self, deltas: Deltas, spilt: Ints) -> Batch:
        rows = _plain(deltas.rows)
        shape, keys = self._shape, rows
        body = rows[:, shape.start : shape.start + row_width(shape.columns)]
        if rows.shape[1] > self._key_words:
            keys = np.empty((len(rows), self._key_words), np.int64)
            own_keys(body, self._keys, shape.columns, keys)
        wide = wide_arguments(body, self._specs, shape, self._dictionary)
        return Batch(_plain(deltas.ts), _plain(deltas.weight), keys, Arguments(rows, wide, spilt, self._ranks()))

    def _has_ranks(self) -> bool:
        return bool(np.any(self._plan[:, aggregation.ORDER] == aggregation.BY_RANK))

    def _ranks(self) -> Ints:
        return _plain(self._dictionary.ranks()) if self._has_ranks() else np.zeros(0, np.int64)

    def _finished(self, results: GroupResults, count: int) -> Deltas:
        """Results with all their codes; where a change of sums is none of the rounded result, the pair goes."""
        ts, weight, rows = (part[:count] for part in results)
        outputs = self._keys + len(self._specs)
        if all(spec.finish != aggregation.UNFINISHED for spec in self._specs):
            return Deltas(ts, weight, rows)
        plain = np.ascontiguousarray(rows[:, : row_width(outputs)])
        for a, spec in enumerate(self._specs):
            if spec.finish == aggregation.UNFINISHED:
                raw = self._keys + int(self._plan[a, aggregation.RAW])
                self._finish(plain, a, spec, rows[:, raw : raw + aggregation.RAW_WIDTH])
        pairs = (weight[:-1] < 0) & (weight[1:] > 0) & (ts[:-1] == ts[1:]) & np.all(plain[:-1] == plain[1:], axis=1)
        keep = np.ones(count, bool)
        keep[:-1] &= ~pairs
        keep[1:] &= ~pairs
        return Deltas(ts, weight, plain) if keep.all() else Deltas(ts, weight, plain).take(keep)

    def _finish(self, rows: Ints, a: int, spec: AggregationSpec, raw: Ints) -> None:
        """Fills in a DECIMAL aggregate, from counts and exact sums."""
        unscaled, nulls = decimal_results(spec, raw)
        column = self._keys + a
        there = ~nulls
        kept = unscaled[there]
        interned = _is_wide(spec.result)
        rows[there, column] = self._dictionary.encode(kept.tolist()) if interned else kept.astype(np.int64)
        word = self._keys + len(self._specs) + column // NULL_BITS
        rows[:, word] |= nulls.astype(np.int64) << (column % NULL_BITS)

    def _registers(self) -> Ints:
        return self._array("registers", aggregation.REGISTER_COUNT)

    def _tables(self) -> GroupTables:
        groups, entries = self._table("groups"), self._table("entries")
        heads, entry_heads = self._heads("heads", len(groups)), self._heads("entry_heads", len(entries))
        return GroupTables(groups, heads, entries, entry_heads, self._table("nodes"), self._table("pool"))

    def _work(self) -> Work:
        touched = self._array("touched", len(self._table("groups")), derived=True)
        return Work(self._registers(), touched, *self._scratch)

    def _grow(self, short: int) -> None:
        """Doubles the tables whose bits are set, and gives those that are found by hashing more buckets."""
        for bit, table in enumerate(self._widths):
            if short >> bit & 1:
                self._table(table, max(2 * len(self._table(table)), _FIRST_ROWS))
        self._rebuild()

    def _rebuild(self) -> None:
        tables = self._tables()
        aggregation.rebuild(tables.groups, tables.heads, self._layout.places)
        multiset.rebuild(tables.entries, tables.entry_heads)

    def _heads(self, name: str, rows: int) -> Ints:
        """As many buckets as a table has rows, at least: a power of two."""
        heads = self._array(name, 1 << (rows - 1).bit_length(), derived=True)
        return heads[: 1 << (len(heads).bit_length() - 1)]

    def _table(self, table: str, rows: int = 0) -> Ints:
        """A table of slots, of so many rows at least."""
        return self._array(table, rows, self._widths[table])

    def _array(self, table: str, rows: int, width: int | None = None, derived: bool = False) -> Ints:
        return self._memory.array(table, rows, width, derived)


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """What a DISTINCT aggregate keeps: in each group its values."""

    operator: AggregateOperator
    aggregation: int

    def state_rows(self) -> int:
        return self.operator.state_values()

    def forget(self, closing: Callable[[Ints], Ints]) -> None:
        self.operator.forget_values(self.aggregation, closing)


def decimal_results(spec: AggregationSpec, raw: Ints) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
    """The unscaled SUM or AVG of DECIMALs from (count, three words of the sum), and where it is NULL.

    >>> spec = AggregationSpec(AggregateFunction.AVG, Type(Kind.DECIMAL, 4, 1))
    >>> values, nulls = decimal_results(spec, np.array([[2, 5, 0, 0], [3, -2, -1, -1], [0, 0, 0, 0]]))
    >>> values.tolist(), nulls.tolist()
    ([25000, -6667, 0], [False, False, True])
    """
    assert spec.argument is not None and spec.argument.scale is not None
    result = spec.result
    assert result.precision is not None and result.scale is not None
    count, words = raw[:, 0], raw[:, 1:]
    unsigned = words.view(np.uint64) if words.flags.c_contiguous else np.ascontiguousarray(words).view(np.uint64)
    totals = words[:, 2].astype(object) * _WORD**2 + unsigned[:, 1].astype(object) * _WORD + unsigned[:, 0]
    nulls = count == 0
    if spec.function is AggregateFunction.AVG:
        # Half away from zero.
        scaled = np.abs(totals) * 10 ** (result.scale - spec.argument.scale)
        divisors = np.where(nulls, 1, count).astype(object)
        quotients = (2 * scaled + divisors) // (2 * divisors)
        totals = np.where(words[:, 2] < 0, -quotients, quotients)
    limit = 10**result.precision
    return totals, nulls | (np.abs(totals) >= limit).astype(bool)


def accumulators(
    specs: tuple[AggregationSpec, ...], families: list[int], shape: InputShape, state: int
) -> tuple[Ints, int]:
    """The part of a plan that says how input changes accumulators of these families, which lie from a word on, and
    the word behind them.
    """
    plan = np.zeros((len(specs), aggregation.PLAN_WIDTH), np.int64)
    wide = 0
    for a, (spec, family, column) in enumerate(zip(specs, families, shape.arguments, strict=True)):
        row = plan[a]
        row[aggregation.FAMILY], row[aggregation.FINISH] = family, spec.finish
        row[aggregation.ARGUMENT] = shape.start + column
        row[aggregation.NULL_WORD] = shape.start + shape.columns + column // NULL_BITS
        row[aggregation.NULL_BIT] = column % NULL_BITS
        row[aggregation.PARTIAL] = shape.partials[a]
        row[aggregation.TIMES] = shape.times[a] if shape.times else -1
        row[aggregation.ORDER] = _order(spec)
        row[aggregation.STATE] = state
        row[aggregation.WIDE] = -1
        if _takes_wide(spec):
            row[aggregation.WIDE] = wide
            wide += 2
        state += aggregation.STATE_WIDTHS[family]
    return plan, state


def own_keys(rows: Ints, keys: int, columns: int, out: Ints) -> None:
    """Puts the keys of rows, which are the first of their columns, into rows of their own."""
    out[:, :keys] = rows[:, :keys]
    # Keys come first, so their null bits do too.
    out[:, keys:] = rows[:, columns : columns + null_words(keys)]
    out[:, -1] &= (1 << (keys - NULL_BITS * (null_words(keys) - 1))) - 1


def wide_arguments(rows: Ints, specs: tuple[AggregationSpec, ...], shape: InputShape, dictionary: Dictionary) -> Ints:
    """The words of all arguments that do not fit one, two each."""
    wide = np.zeros((len(rows), 2 * sum(map(_takes_wide, specs))), np.int64)
    place = 0
    for spec, column, partial in zip(specs, shape.arguments, shape.partials, strict=True):
        if _takes_wide(spec):
            if partial < 0:
                wide[:, place : place + 2] = _wide_words(rows, column, shape.columns, dictionary)
            place += 2
    return wide


def _wide_words(rows: Ints, column: int, columns: int, dictionary: Dictionary) -> Ints:
    """The two words of each wide DECIMAL, which is looked up once per value."""
    words = np.zeros((len(rows), 2), np.int64)
    there = ~is_null(rows, column, columns)
    codes, inverse = np.unique(rows[there, column], return_inverse=True)
    values = np.array([dictionary.value(int(code)) for code in codes], dtype=object)
    low = (values % _WORD).astype(np.uint64).view(np.int64)
    high = (values // _WORD).astype(np.int64)
    words[there] = np.stack((low, high), axis=1)[inverse]
    return words


def _with_first_instant(deltas: Deltas, shape: InputShape) -> Deltas:
    """R(0) of an aggregate without keys has a row even of nothing: a delta of weight 0, all NULL, shows it."""
    zero = np.zeros(1, np.int64)
    rows = np.zeros((1, deltas.rows.shape[1]), np.int64)
    nothing = assemble([(zero, np.ones(1, np.bool_))] * shape.columns, 1)
    rows[:, shape.start : shape.start + nothing.shape[1]] = nothing
    return Deltas(
        np.concatenate((zero, deltas.ts)), np.concatenate((zero, deltas.weight)), np.concatenate((rows, deltas.rows))
    )


def _is_wide(type_: Type) -> bool:
    return type_.precision is not None and type_.precision > NARROW_PRECISION


def _takes_wide(spec: AggregationSpec) -> bool:
    return spec.family == aggregation.INTEGER and spec.argument is not None and _is_wide(spec.argument)


def _order(spec: AggregationSpec) -> int:
    """How MIN and MAX compare. The codes of interned values come in no order, but have ranks."""
    argument = spec.argument
    if argument is None or spec.family != aggregation.ORDERED:
        return aggregation.AS_INTEGER
    if is_interned(argument):
        return aggregation.BY_RANK
    return aggregation.AS_DOUBLE if argument.kind is Kind.DOUBLE else aggregation.AS_INTEGER


def _word_range(type_: Type) -> tuple[int, int]:
    if type_.precision is not None and not _is_wide(type_):
        return 1 - 10**type_.precision, 10**type_.precision - 1
    return BIGINT_RANGE


def _room_for_results(deltas: int, width: int) -> GroupResults:
    """A delta touches one group at one instant, which then gives at most two rows. Pages are had when written."""
    rows = 2 * deltas
    return GroupResults(np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty((rows, width), np.int64))


def _plain(array: Ints) -> Ints:
    """An array as kernels are compiled for: of words that lie in order and may be written."""
    return np.require(array, np.int64, ["C", "W", "E"])
