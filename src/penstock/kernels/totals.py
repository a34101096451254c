"""Totals: partial aggregates of the rows that buckets stand for (002, where a bucket has a counter and a sample).

A row that comes stands for as many combinations as the counters of the buckets that it joins multiply to
(`buckets.weigh`). Over these, what SUM, COUNT, AVG, MIN and MAX make of its own values is that often what they make of
the row alone, its *single*; what they make of another input's values is the total of that input's bucket, times the
counters of the rest. Such a partial aggregate goes with the combination, in words of its own, and the aggregate above
adds it up as it does those of panes (`kernels.aggregation`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import exact
from penstock.kernels.aggregation import DOUBLE, EXTREME, INTEGER, Arguments, GroupTables, accumulate, beats
from penstock.kernels.jit import inlined, lean
from penstock.kernels.pointers import peek, poke

Ints = NDArray[np.int64]

#: Columns of the table of aggregates: whose values, family, order and finish (`kernels.aggregation`), and the words at
#: which a partial aggregate lies in a total and in a result.
INPUT, FAMILY, ORDER, FINISH, STATE, RESULT = range(6)


class Totals(NamedTuple):
    """The aggregates, and the totals of buckets: of slot s of the nth of `inputs` that have some, row s * inputs + n.

    `places` has of each input of the join its n, or -1. `singles` are the partial aggregates of the rows that come.
    """

    lines: Ints
    places: Ints
    inputs: int
    rows: Ints
    pool: Ints
    singles: Ints
    ranks: Ints


class Results(NamedTuple):
    """What goes with each combination, and the digits of sums that do not fit their windows."""

    rows: Ints
    pool: Ints


@lean
def single_rows(rows: Ints, wide: Ints, plan: Ints, ranks: Ints, out: Ints, pool: Ints) -> None:
    """The partial aggregates of rows, each by itself. One DOUBLE never leaves its window: the pool stays as it is."""
    arguments, tables = Arguments(rows, wide, pool, ranks), GroupTables(out, ranks, out, ranks, out, pool)
    for row in range(len(rows)):
        accumulate(arguments, row, 1, row, plan, tables)


@lean
def weigh_totals(
    sources: Ints,
    slots: Ints,
    weights: Ints,
    counts: Ints,
    next_: Ints,
    found: Ints,
    by: Ints,
    totals: Totals,
    out: Ints,
    results: Results,
    ends: bool,
) -> None:
    """As `buckets.weigh`, with the partial aggregates of each combination. `out` may be negative; they then leave."""
    at, i = 0, next_[0]
    while i < len(sources):
        source = sources[i]
        while at < len(by) and by[at] == i + 1:
            weight = weights[i]
            for n in range(len(counts)):
                if n != source and counts[n] != 0:
                    weight *= peek(counts[n] + 8 * found[at, n])
            out[at] = weight
            for line in range(len(totals.lines)):
                n = totals.lines[line, INPUT]
                if n == source:
                    _give(totals, line, totals.singles, i, totals.pool, abs(weight), results, at)
                else:
                    others = weights[i]
                    for m in range(len(counts)):
                        if m != source and m != n and counts[m] != 0:  # noqa: PLR1714 - compiled loops are plain
                            others *= peek(counts[m] + 8 * found[at, m])
                    row = found[at, n] * totals.inputs + totals.places[n]
                    _give(totals, line, totals.rows, row, totals.pool, abs(others), results, at)
            at += 1
        if at == len(by) and not ends:
            break
        if counts[source] != 0:
            counter = counts[source] + 8 * slots[i]
            poke(counter, peek(counter) + weights[i])
        _count(totals, source, slots[i], i, weights[i])
        i += 1
    next_[0] = i


@lean
def match_totals(
    wants_match: bool,
    times: Ints,
    kinds: Ints,
    weights: Ints,
    slots: Ints,
    state: Ints,
    totals: Totals,
    out_times: Ints,
    out_weights: Ints,
    out_slots: Ints,
    results: Results,
    touched: Ints,
) -> int:
    """As `matching.match`, of buckets with totals; gives the number of changes.

    Where a bucket shows before an instant and after it, its rows that come are given one by one; where it begins to
    show, its total is; and where it ends to, its total is taken back and its rows that came are given: what is left of
    the total without them has gone. Rows of the left input come in the order of `totals.singles`.
    """
    count, start, left = 0, 0, 0
    while start < len(times):
        end, touching, first = start, 0, left
        while end < len(times) and times[end] == times[start]:
            slot = slots[end]
            if state[slot, 3] == 0:
                state[slot, 3] = 1
                state[slot, 2] = int((state[slot, 1] > 0) == wants_match)
                touched[touching] = slot
                touching += 1
            state[slot, kinds[end]] += weights[end]
            if kinds[end] == 0:
                _count(totals, 0, slot, left, weights[end])
                left += 1
            end += 1
        for event in range(start, end):
            if kinds[event] == 0:
                if state[slots[event], 2] != 0:
                    out_times[count], out_weights[count], out_slots[count] = times[start], weights[event], slots[event]
                    for line in range(len(totals.lines)):
                        _give(totals, line, totals.singles, first, totals.pool, abs(weights[event]), results, count)
                    count += 1
                first += 1
        for i in range(touching):
            slot = touched[i]
            shows = int((state[slot, 1] > 0) == wants_match)
            if shows != state[slot, 2] and state[slot, 0] != 0:
                out_times[count], out_slots[count] = times[start], slot
                out_weights[count] = state[slot, 0] if shows else -state[slot, 0]
                for line in range(len(totals.lines)):
                    _give(totals, line, totals.rows, slot * totals.inputs, totals.pool, 1, results, count)
                count += 1
            state[slot, 3] = 0
        start = end
    return count


@lean
def weigh_singles(weights: Ints, totals: Totals, results: Results, start: int) -> None:
    """The partial aggregates of rows that are given as they come, into the results from `start` on."""
    for i in range(len(weights)):
        for line in range(len(totals.lines)):
            _give(totals, line, totals.singles, i, totals.pool, abs(weights[i]), results, start + i)


@inlined
def _count(totals: Totals, source: int, slot: int, single: int, weight: int) -> None:
    """Takes a row into the total of its bucket."""
    if totals.places[source] >= 0:
        row = slot * totals.inputs + totals.places[source]
        for line in range(len(totals.lines)):
            if totals.lines[line, INPUT] == source:
                at = totals.lines[line, STATE]
                _add(totals, line, totals.singles, single, totals.pool, weight, totals.rows, row, at, totals.pool)


@inlined
def _give(
    totals: Totals, line: int, rows: Ints, row: int, pool: Ints, factor: int, results: Results, result: int
) -> None:
    at = totals.lines[line, RESULT]
    _add(totals, line, rows, row, pool, factor, results.rows, result, at, results.pool)


@lean
def _add(
    totals: Totals,
    line: int,
    rows: Ints,
    row: int,
    spilt: Ints,
    factor: int,
    sums: Ints,
    target: int,
    at: int,
    pool: Ints,
) -> None:
    """Adds a partial aggregate to another, so many times."""
    family, state = totals.lines[line, FAMILY], totals.lines[line, STATE]
    if rows[row, state] == 0 or factor == 0:
        return
    if family == EXTREME:
        value, order, finish = rows[row, state + 1], totals.lines[line, ORDER], totals.lines[line, FINISH]
        if sums[target, at] == 0 or beats(value, sums[target, at + 1], finish, order, totals.ranks):
            sums[target, at], sums[target, at + 1] = 1, value
        return
    sums[target, at] += factor * rows[row, state]
    if family == INTEGER:
        exact.add_integer_sum(sums, target, at + 1, rows, row, state + 1, factor)
    elif family == DOUBLE:
        exact.add_double_sum(sums, target, at + 1, rows, row, state + 1, factor, pool, spilt)
