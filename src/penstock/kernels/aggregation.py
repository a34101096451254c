"""Groups and their aggregates, kept up to date under insertions and deletions.

Deltas are taken in the order of time. Each changes the accumulators of its group; at the end of an instant the groups
that were touched are looked at once, and those whose row is not the one they showed before give - old and + new. Deltas
come in blocks, and an instant may go on in the next one: then it has not ended with the block. A
group row holds all that is known of a group: its header, its key, its accumulators, and what it shows. Groups without
rows go, and their slots serve others.

The kernel never allocates. It stops, and says which tables are short, before a delta for which there may be no room;
called again after they have grown, it goes on where it stopped.

A delta is a row, or a partial aggregate of rows (`kernels/panes.py`), which comes and goes as a whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import exact, multiset, ordered, slots
from penstock.kernels.hashing import row_hash
from penstock.kernels.jit import inlined, lean

Ints = NDArray[np.int64]

#: The header of a group row: how many rows the group has, its flags, the next group of its bucket. The key follows.
ROWS, FLAGS, LINK, KEY = 0, 1, 2, 3
LIVE, TOUCHED, SHOWN = 1, 2, 4

#: Registers: how far the kernel got, how many groups it touched at this instant, how many rows it gave, whether the
#: first instant has been shown, and which instant this is.
POSITION, TOUCHED_COUNT, EMITTED, STARTED, INSTANT = range(5)
REGISTER_COUNT = 5

#: The columns of a plan, which has a row per aggregate: what it is, its argument, its state, and where its result goes.
FAMILY, FINISH, DISTINCT = 0, 1, 2
#: WIDE is the place of a 128-bit argument's two words, or -1.
ARGUMENT, NULL_WORD, NULL_BIT, WIDE = 3, 4, 5, 6
#: ORDER is how values of an ordered accumulator are compared, LOWEST and HIGHEST bound a total.
STATE, ORDER, LOWEST, HIGHEST = 7, 8, 9, 10
#: RAW is the place of an unfinished result, or -1; PARTIAL is that of a partial aggregate in a delta's row, and TIMES
#: that of the number of times that its argument counts, if that is not the delta's weight, or -1.
SHOWN_WORD, SHOWN_BIT, RAW, PARTIAL, TIMES = 11, 12, 13, 14, 15
PLAN_WIDTH = 16

#: Families of accumulators. Of values that never go, the least or greatest so far is enough: EXTREME for ORDERED.
ROW_COUNT, COUNT, INTEGER, DOUBLE, ORDERED, EXTREME = range(6)
#: What is made of them: a total, a quotient as a DOUBLE, the least or greatest, or count and sum as they are.
TOTAL, QUOTIENT, LEAST, GREATEST, UNFINISHED = range(5)

#: Orders of values: of integers, of interned values by their ranks, of the bits of DOUBLEs.
AS_INTEGER, BY_RANK, AS_DOUBLE = range(3)

#: Accumulators of the families start with how many values there are. Ordered ones are just the root of a treap, an
#: extreme is whether there is one, and then it.
STATE_WIDTHS = (0, 1, 1 + exact.INTEGER_WIDTH, 1 + exact.DOUBLE_WIDTH, 1, 2)
RAW_WIDTH = 1 + exact.INTEGER_WIDTH

#: How many deltas are looked at ahead.
BLOCK = 32


class Arguments(NamedTuple):
    """What deltas bring to accumulators: their rows, the words of arguments of 128 bits, and digits of partial sums.

    `ranks` are those of interned values.
    """

    rows: Ints
    wide: Ints
    spilt: Ints
    ranks: Ints


class Batch(NamedTuple):
    """Deltas in the order of time, with their keys by themselves."""

    ts: Ints
    weight: Ints
    keys: Ints
    arguments: Arguments


class Layout(NamedTuple):
    """How a group row is laid out: the plan of its aggregates, and where its keys are, in deltas and in group rows.

    What a group shows starts at word `shown`. Groups without rows go, unless the one group there is `stays`.
    """

    plan: Ints
    keys: int
    columns: Ints
    places: Ints
    shown: int
    stays: bool


class GroupTables(NamedTuple):
    """Groups, and what they hold elsewhere: values of multisets, nodes of treaps, digits of sums. All are slots."""

    groups: Ints
    heads: Ints
    entries: Ints
    entry_heads: Ints
    nodes: Ints
    pool: Ints


class Work(NamedTuple):
    """How far the kernel is, the groups that it touched at this instant, and room for its work."""

    registers: Ints
    touched: Ints
    fresh: Ints
    digits: Ints
    buckets: Ints


class GroupResults(NamedTuple):
    """Times, weights, and rows with unfinished results at their end."""

    ts: Ints
    weight: Ints
    rows: Ints


@lean
def aggregate(
    batch: Batch, layout: Layout, tables: GroupTables, work: Work, results: GroupResults, goes_on: bool
) -> int:
    """Works deltas in from where it stopped. Gives 0 when all are done, else bits of the tables that are short.

    If it `goes_on`, the last instant may have more deltas, which are yet to come.
    """
    registers, groups, ts = work.registers, tables.groups, batch.ts
    start, ahead = 0, 0
    room = 0
    position, emitted, touches = registers[POSITION], registers[EMITTED], registers[TOUCHED_COUNT]
    now = registers[INSTANT]
    while True:
        ended = position == len(ts)
        if touches > 0 and (not goes_on if ended else ts[position] != now):
            emitted = _end_instant(now, touches, emitted, layout, tables, work, results)
            touches = 0
        short = 0
        if room == 0:
            room, short = room_for_deltas(layout.plan, groups, tables.entries, tables.nodes, tables.pool)
        if ended or room == 0:
            registers[POSITION], registers[EMITTED], registers[TOUCHED_COUNT] = position, emitted, touches
            registers[INSTANT] = now
            return 0 if ended else short
        room -= 1
        if position >= ahead:
            start, ahead = position, min(position + BLOCK, len(ts))
            look_ahead(batch.keys, start, ahead, layout.columns, groups, tables.heads, work.buckets)
        group = group_of(batch.keys, position, layout.columns, groups, tables.heads, work.buckets[position - start])
        now = ts[position]
        if not groups[group, FLAGS] & TOUCHED:
            groups[group, FLAGS] |= TOUCHED
            work.touched[touches] = group
            touches += 1
        groups[group, ROWS] += batch.weight[position]
        accumulate(batch.arguments, position, batch.weight[position], group, layout.plan, tables)
        position += 1


@inlined
def _end_instant(
    now: int, touches: int, emitted: int, layout: Layout, tables: GroupTables, work: Work, results: GroupResults
) -> int:
    """Gives - old and + new of the groups that show another row than before this instant."""
    groups, fresh = tables.groups, work.fresh
    for i in range(touches):
        group = work.touched[i]
        was_there = groups[group, FLAGS] & SHOWN != 0
        is_there = groups[group, ROWS] > 0 or layout.stays
        if is_there:
            _work_out(group, layout, tables, work)
        if was_there != is_there or not _shows(groups, group, layout.shown, fresh):
            if was_there:
                _give(groups, group, layout, now, -1, results, emitted)
                emitted += 1
            if is_there:
                _show(groups, group, layout.shown, fresh)
                _give(groups, group, layout, now, 1, results, emitted)
                emitted += 1
        groups[group, FLAGS] = LIVE | SHOWN
        if not is_there:
            forget(group, layout.plan, layout.places, groups, tables.heads, tables.pool)
    return emitted


@lean
def rebuild(groups: Ints, heads: Ints, places: Ints) -> None:
    """Links all groups again, after a restore or for more buckets."""
    for bucket in range(len(heads)):
        heads[bucket] = 0
    for group in range(1, len(groups)):
        if groups[group, FLAGS] & LIVE:
            bucket = row_hash(groups, group, places) & (len(heads) - 1)
            groups[group, LINK] = heads[bucket]
            heads[bucket] = group


@inlined
def room_for_deltas(plan: Ints, groups: Ints, entries: Ints, nodes: Ints, pool: Ints) -> tuple[int, int]:
    """For how many deltas there is room for sure; if for none, the tables that are short."""
    distinct, ordereds, doubles = 0, 0, 0
    for a in range(len(plan)):
        distinct += plan[a, DISTINCT]
        ordereds += int(plan[a, FAMILY] == ORDERED)
        doubles += int(plan[a, FAMILY] == DOUBLE)
    needs = (1, distinct, ordereds, doubles)
    free = (
        slots.room(groups),
        slots.room(entries),
        slots.room(nodes),
        slots.room(pool),
    )
    least = 1 << 62
    short = 0
    for table in range(4):
        if needs[table] > 0:
            deltas = free[table] // needs[table]
            least = min(least, deltas)
            if deltas == 0:
                short |= 1 << table
    return least, short


@inlined
def look_ahead(keys: Ints, start: int, end: int, columns: Ints, groups: Ints, heads: Ints, buckets: Ints) -> None:
    """The buckets of the next deltas. To look at their groups now lets the processor fetch many of them at once."""
    seen = 0
    for row in range(start, end):
        bucket = row_hash(keys, row, columns) & (len(heads) - 1)
        buckets[row - start] = bucket
        seen ^= groups[heads[bucket], ROWS]
    # Without a use of what was seen, the compiler would not look.
    buckets[BLOCK] = seen


@inlined
def group_of(keys: Ints, row: int, columns: Ints, groups: Ints, heads: Ints, bucket: int) -> int:
    """The group of a key, which is made if there is none."""
    group = heads[bucket]
    while group != 0:
        same = True
        for word in range(len(columns)):
            if groups[group, KEY + word] != keys[row, word]:
                same = False
                break
        if same:
            return group  # type: ignore[no-any-return]
        group = groups[group, LINK]
    group = slots.take(groups)
    for word in range(len(columns)):
        groups[group, KEY + word] = keys[row, word]
    groups[group, FLAGS] = LIVE
    groups[group, LINK] = heads[bucket]
    heads[bucket] = group
    return group


@inlined
def accumulate(arguments: Arguments, row: int, weight: int, group: int, plan: Ints, tables: GroupTables) -> None:
    """Changes the accumulators of a delta's group."""
    rows, wide, groups, ranks = arguments.rows, arguments.wide, tables.groups, arguments.ranks
    for a in range(len(plan)):
        family, partial = plan[a, FAMILY], plan[a, PARTIAL]
        if partial >= 0:
            # A piece of a sum of DOUBLEs counts no value.
            if rows[row, partial] != 0 or family == DOUBLE:
                _merge(arguments, row, weight < 0, group, plan, a, tables)
            continue
        if family == ROW_COUNT or (rows[row, plan[a, NULL_WORD]] >> plan[a, NULL_BIT]) & 1:
            continue
        times = weight if plan[a, TIMES] < 0 else rows[row, plan[a, TIMES]]
        if times == 0:
            continue
        value = rows[row, plan[a, ARGUMENT]]
        if plan[a, DISTINCT]:
            owner = group * len(plan) + a
            times = multiset.change(tables.entries, tables.entry_heads, owner, value, times)
            if times == 0:
                continue
        at, order = plan[a, STATE], plan[a, ORDER]
        if order == AS_DOUBLE:
            value = ordered.double_order(value)
        if family == ORDERED:
            root = groups[group, at]
            groups[group, at] = ordered.change(tables.nodes, root, value, times, ranks, order == BY_RANK)
            continue
        if family == EXTREME:
            if groups[group, at] == 0 or beats(value, groups[group, at + 1], plan[a, FINISH], order, ranks):
                groups[group, at], groups[group, at + 1] = 1, value
            continue
        groups[group, at] += times
        if family == INTEGER:
            place = plan[a, WIDE]
            low = value if place < 0 else wide[row, place]
            high = value >> 63 if place < 0 else wide[row, place + 1]
            exact.add_integer(groups, group, at + 1, low, high, times)
        elif family == DOUBLE:
            exact.add_double(groups, group, at + 1, value, times, tables.pool)


@inlined
def _merge(arguments: Arguments, row: int, leaves: bool, group: int, plan: Ints, a: int, tables: GroupTables) -> None:
    """Adds a partial aggregate of some values to one of a group, or takes it away. An extreme is one value of many."""
    rows, groups, ranks = arguments.rows, tables.groups, arguments.ranks
    family, at, order, partial = plan[a, FAMILY], plan[a, STATE], plan[a, ORDER], plan[a, PARTIAL]
    times = -1 if leaves else 1
    if family == ORDERED:
        root, value = groups[group, at], rows[row, partial + 1]
        groups[group, at] = ordered.change(tables.nodes, root, value, times, ranks, order == BY_RANK)
    elif family == EXTREME:
        value = rows[row, partial + 1]
        if groups[group, at] == 0 or beats(value, groups[group, at + 1], plan[a, FINISH], order, ranks):
            groups[group, at], groups[group, at + 1] = 1, value
    else:
        groups[group, at] += times * rows[row, partial]
        if family == INTEGER:
            exact.add_integer_sum(groups, group, at + 1, rows, row, partial + 1, times)
        elif family == DOUBLE:
            exact.add_double_sum(groups, group, at + 1, rows, row, partial + 1, times, tables.pool, arguments.spilt)


@inlined
def beats(value: int, other: int, finish: int, order: int, ranks: Ints) -> bool:
    """Whether a value is more extreme than another."""
    mine, its = (ranks[value], ranks[other]) if order == BY_RANK else (value, other)
    return mine < its if finish == LEAST else mine > its


@inlined
def _code(best: int, order: int) -> int:
    """The code of a value that was ordered."""
    return ordered.double_order(best) if order == AS_DOUBLE else best


@inlined
def _shows(groups: Ints, group: int, shown: int, fresh: Ints) -> bool:
    """Whether a group shows that already."""
    for word in range(len(fresh)):  # compiled loops are plain
        if groups[group, shown + word] != fresh[word]:
            return False
    return True


@inlined
def _show(groups: Ints, group: int, shown: int, fresh: Ints) -> None:
    for word in range(len(fresh)):
        groups[group, shown + word] = fresh[word]


@inlined
def _give(groups: Ints, group: int, layout: Layout, now: int, weight: int, results: GroupResults, row: int) -> None:
    """Gives the row that a group shows: the key's columns, the aggregates', null words, unfinished results."""
    results.ts[row], results.weight[row] = now, weight
    for word in range(layout.keys):
        results.rows[row, word] = groups[group, KEY + word]
    for word in range(groups.shape[1] - layout.shown):
        results.rows[row, layout.keys + word] = groups[group, layout.shown + word]


@inlined
def forget(group: int, plan: Ints, places: Ints, groups: Ints, heads: Ints, pool: Ints) -> None:
    """Gives a group's slot back, and those that it holds in other tables."""
    for a in range(len(plan)):
        if plan[a, FAMILY] == DOUBLE:
            exact.release_double(groups, group, plan[a, STATE] + 1, pool)
    bucket = row_hash(groups, group, places) & (len(heads) - 1)
    other = heads[bucket]
    if other == group:
        heads[bucket] = groups[group, LINK]
    else:
        while groups[other, LINK] != group:
            other = groups[other, LINK]
        groups[other, LINK] = groups[group, LINK]
    slots.give(groups, group)


@lean
def forget_groups(some: Ints, plan: Ints, places: Ints, groups: Ints, heads: Ints, nodes: Ints, pool: Ints) -> None:
    """Gives back all that is kept of some groups, but for values of multisets."""
    for i in range(len(some)):
        for a in range(len(plan)):
            if plan[a, FAMILY] == ORDERED:
                ordered.drop(nodes, groups[some[i], plan[a, STATE]])
        forget(some[i], plan, places, groups, heads, pool)


@inlined
def _work_out(group: int, layout: Layout, tables: GroupTables, work: Work) -> None:
    """What a group is to show, into `fresh`: codes of the aggregates, null words, unfinished results."""
    groups, plan, fresh = tables.groups, layout.plan, work.fresh
    for word in range(len(fresh)):
        fresh[word] = 0
    for word in range(len(layout.columns) - layout.keys):
        fresh[len(plan) + word] = groups[group, KEY + layout.keys + word]
    for a in range(len(plan)):
        at = plan[a, STATE]
        if plan[a, FINISH] == UNFINISHED:
            for word in range(RAW_WIDTH):
                fresh[plan[a, RAW] + word] = groups[group, at + word]
        elif plan[a, FAMILY] != ROW_COUNT and plan[a, FAMILY] != COUNT and groups[group, at] == 0:
            # No values, or no root of a treap: NULL.
            if plan[a, FAMILY] == DOUBLE:
                exact.release_double(groups, group, at + 1, tables.pool)
            fresh[plan[a, SHOWN_WORD]] |= 1 << plan[a, SHOWN_BIT]
        else:
            code, fits = _result(group, plan, a, tables, work.digits)
            if fits:
                fresh[a] = code
            else:
                fresh[plan[a, SHOWN_WORD]] |= 1 << plan[a, SHOWN_BIT]


@inlined
def _result(group: int, plan: Ints, a: int, tables: GroupTables, digits: Ints) -> tuple[int, bool]:
    """The code of an aggregate of something, and whether it fits its type."""
    groups, nodes, pool = tables.groups, tables.nodes, tables.pool
    at, family, finish = plan[a, STATE], plan[a, FAMILY], plan[a, FINISH]
    if family == ROW_COUNT:
        return groups[group, ROWS], True
    state = groups[group, at]
    if family == COUNT:
        return state, True
    if family == ORDERED:
        best = ordered.least(nodes, state) if finish == LEAST else ordered.greatest(nodes, state)
        return _code(best, plan[a, ORDER]), True
    if family == EXTREME:
        return _code(groups[group, at + 1], plan[a, ORDER]), True
    if family == DOUBLE:
        divisor = state if finish == QUOTIENT else 1
        return exact.double_quotient(groups, group, at + 1, divisor, pool, digits), True
    if finish == QUOTIENT:
        return exact.integer_quotient(groups, group, at + 1, state, digits), True
    total = groups[group, at + 1]
    fits = exact.fits_word(groups, group, at + 1) and plan[a, LOWEST] <= total <= plan[a, HIGHEST]
    return total, fits
