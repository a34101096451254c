"""Counting along a probe path: rows of inputs of which nothing is read are counted, and counts multiply.

It is `mjoin.combine` with stages that bind nothing: of a *counted* one only the number of rows with the key that the
event sees is wanted, and sums of some of their columns. A result is a combination of the rows of the other inputs, with
the product of these numbers, and with partial aggregates: each sum as often as the numbers of the others multiply to.

    event of a ──▶ b by k: 8,000 rows, sum of x 40,000 ──▶ c by k: 3       counts 24,000 times, sum of b.x 120,000

A number is found by a walk along the bucket. Where that is long, it is remembered until the end of the step, and events
that bring or take a row with the key change it, in the order of time: so of a hot key the rows are walked over once in
a step (a cache of thesis 5.3 that holds counts and sums in place of tuples). What is remembered is not state: the next
step begins without it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import exact
from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import first, following
from penstock.kernels.jit import lean
from penstock.kernels.mjoin import (
    COLUMNS,
    HEADS,
    JOINED,
    LINKS,
    MASK,
    ROWS,
    VISIBILITY,
    WIDTH,
    Paths,
    Probers,
    Progress,
    StageCounts,
    null_word,
    sees,
)
from penstock.kernels.pointers import peek, peek_int32, poke_int32

Ints = NDArray[np.int64]

#: A number is remembered if so many slots were walked over.
LONG = 16
#: Entries of a memo: a power of two. A new entry takes the place of another one.
ENTRIES = 1 << 8
#: The words of an entry: the index, counted from 1, how many rows have the key, which follows; behind it their sums.
INDEX, NUMBER, KEY = range(3)

#: Columns of the table of sums: whose column, which, the word and the bit of its null, whether its values are added up
#: or only counted, and the word of a result's partial aggregates at which it lies.
INPUT, COLUMN, NULL_WORD, NULL_BIT, IS_SUM, RESULT = range(6)
#: Words of a sum at work: how many values there are, and their exact total.
SUM_WIDTH = 1 + exact.INTEGER_WIDTH


class Memo(NamedTuple):
    """What is remembered in a step, and up to which event it has been brought; -1 as long as it is nothing.

    `indexes` has a line for each input, of the indexes that counted stages probe, which ends with -1. `key` is room.
    """

    entries: Ints
    registers: Ints
    indexes: Ints
    key: Ints


class Sums(NamedTuple):
    """The table of sums; by depth those of the rows that are counted there, and their number."""

    lines: Ints
    totals: Ints
    numbers: Ints


class AllEvents(NamedTuple):
    """All events of a step: their slots and signs, their places in the order of time, and where each input's end."""

    slots: Ints
    signs: Ints
    order: Ints
    ends: Ints


@lean
def count_along(
    probers: Probers,
    inputs: Ints,
    indexes: Ints,
    paths: Paths,
    since: Ints,
    wants_going: bool,
    tally: StageCounts,
    counted: Ints,
    memo: Memo,
    events: AllEvents,
    progress: Progress,
    weights: Ints,
    sums: Sums,
    out_slots: Ints,
    out_events: Ints,
    out_weights: Ints,
    out_partials: Ints,
) -> int:
    """The next results, as in `mjoin.combine`, how often each counts, and their partial aggregates.

    Slots of inputs that were counted are -1.

    `counted[i, d]` says whether the stage of input i at depth d is counted; `weights` is room for a number per depth.
    """
    index_columns, targets, probes, key_inputs, key_columns = paths
    sources, slots, signs, numbers = probers
    registers, bound, cursor, key = progress
    probed, matched = tally
    width, depths, room = len(inputs), targets.shape[1], len(out_events)
    count = 0
    i, depth = registers[0], registers[1]
    # Whether the stage is entered, or left for its next candidate.
    entering = registers[2] != 0
    while i < len(slots):
        event, source = numbers[i], sources[i]
        if depth < 0:
            if signs[i] < 0 and peek_int32(inputs[source, VISIBILITY] + 4 * slots[i]) & JOINED == 0:
                i += 1
                continue
            if memo.registers[0] >= 0:
                _bring_up_to(event, inputs, indexes, index_columns, wants_going, memo, events, sums)
            bound[source] = slots[i]
            depth, entering = 0, True
        while depth >= 0:
            if count == room:
                registers[0], registers[1], registers[2] = i, depth, int(entering)
                return count
            index, target = probes[source, depth], targets[source, depth]
            columns, links = indexes[index, COLUMNS], indexes[index, LINKS]
            before = weights[depth - 1] if depth > 0 else 1
            if entering:
                probed[source, depth] += 1
                for c in range(columns):
                    origin = key_inputs[source, depth, c]
                    word = bound[origin] * inputs[origin, WIDTH] + key_columns[source, depth, c]
                    key[depth, c] = peek(inputs[origin, ROWS] + 8 * word)
            if counted[source, depth] != 0:
                number = 0
                if entering:
                    number = _number(
                        event, inputs, target, indexes, index, index_columns, key, depth, since, wants_going, memo, sums
                    )
                    bound[target] = -1
                    weights[depth] = before * number
                    sums.numbers[depth] = number
                    matched[source, depth] += number
                if number == 0:
                    depth, entering = depth - 1, False
                    continue
            else:
                if entering:
                    candidate = first(indexes[index, HEADS], indexes[index, MASK], prefix_hash(key, depth, columns))
                else:
                    candidate = cursor[depth]
                while candidate >= 0 and not sees(
                    candidate, event, inputs, target, columns, index_columns, index, key, depth, since
                ):
                    candidate = following(links, candidate)
                if candidate < 0:
                    depth, entering = depth - 1, False
                    continue
                bound[target] = candidate
                cursor[depth] = following(links, candidate)
                matched[source, depth] += 1
                weights[depth] = before
            if depth < depths - 1:
                depth, entering = depth + 1, True
                continue
            for n in range(width):
                out_slots[count, n] = bound[n]
                if wants_going and bound[n] >= 0:
                    at = inputs[n, VISIBILITY] + 4 * bound[n]
                    poke_int32(at, peek_int32(at) | JOINED)
            if wants_going:
                for d in range(depths):
                    if counted[source, d] != 0:
                        _mark(
                            event,
                            inputs,
                            targets[source, d],
                            indexes,
                            probes[source, d],
                            index_columns,
                            key,
                            d,
                            since,
                            memo,
                        )
            if len(sums.lines) > 0:
                _give(source, inputs, targets, counted, bound, weights[depth], sums, out_partials, count)
            out_events[count] = event
            out_weights[count] = weights[depth]
            count += 1
            entering = False
            if counted[source, depth] != 0:
                depth -= 1
        i += 1
    registers[0], registers[1], registers[2] = i, -1, 1
    return count


@lean
def _number(
    event: int,
    inputs: Ints,
    target: int,
    indexes: Ints,
    index: int,
    index_columns: Ints,
    key: Ints,
    depth: int,
    since: Ints,
    wants_going: bool,
    memo: Memo,
    sums: Sums,
) -> int:
    """How many rows with a key an event sees; their sums are then those of the depth."""
    columns = indexes[index, COLUMNS]
    hash_ = prefix_hash(key, depth, columns)
    candidate = first(indexes[index, HEADS], indexes[index, MASK], hash_)
    if candidate < 0:
        return 0
    entry, behind = (hash_ ^ index) & (ENTRIES - 1), KEY + key.shape[1]
    if memo.registers[0] >= 0 and _is_of(memo, entry, index, columns, key, depth):
        for word in range(sums.totals.shape[1]):
            sums.totals[depth, word] = memo.entries[entry, behind + word]
        return int(memo.entries[entry, NUMBER])
    for word in range(sums.totals.shape[1]):
        sums.totals[depth, word] = 0
    number, walked = 0, 0
    while candidate >= 0:
        walked += 1
        if sees(candidate, event, inputs, target, columns, index_columns, index, key, depth, since):
            number += 1
            _add(inputs, target, candidate, sums.lines, 1, sums.totals, depth, 0)
        candidate = following(indexes[index, LINKS], candidate)
    if walked >= LONG:
        if wants_going:
            _mark(event, inputs, target, indexes, index, index_columns, key, depth, since, memo)
        memo.entries[entry, INDEX], memo.entries[entry, NUMBER] = index + 1, number
        for c in range(columns):
            memo.entries[entry, KEY + c] = key[depth, c]
        for word in range(sums.totals.shape[1]):
            memo.entries[entry, behind + word] = sums.totals[depth, word]
        if memo.registers[0] < 0:
            memo.registers[0] = event
    return number


@lean
def _add(inputs: Ints, source: int, slot: int, lines: Ints, times: int, totals: Ints, row: int, start: int) -> None:
    """Adds the values of a row, so many times, to sums that lie from a word on."""
    for line in range(len(lines)):
        if lines[line, INPUT] == source and not _is_null(inputs, slot, lines, line):
            at = start + line * SUM_WIDTH
            totals[row, at] += times
            if lines[line, IS_SUM] != 0:
                value = _value(inputs, slot, lines, line)
                exact.add_integer(totals, row, at + 1, value, value >> 63, times)


@lean
def _is_null(inputs: Ints, slot: int, lines: Ints, line: int) -> bool:
    word = null_word(inputs, lines[line, INPUT], slot, lines[line, NULL_WORD])
    return bool((word >> lines[line, NULL_BIT]) & 1)


@lean
def _value(inputs: Ints, slot: int, lines: Ints, line: int) -> int:
    source = lines[line, INPUT]
    return peek(inputs[source, ROWS] + 8 * (slot * inputs[source, WIDTH] + lines[line, COLUMN]))


@lean
def _give(
    source: int,
    inputs: Ints,
    targets: Ints,
    counted: Ints,
    bound: Ints,
    weight: int,
    sums: Sums,
    out: Ints,
    row: int,
) -> None:
    """Writes the partial aggregates of a result."""
    lines, totals, numbers = sums
    for word in range(out.shape[1]):
        out[row, word] = 0
    for line in range(len(lines)):
        own, at = lines[line, INPUT], lines[line, RESULT]
        if bound[own] >= 0:
            if not _is_null(inputs, bound[own], lines, line):
                out[row, at] = weight
                if lines[line, IS_SUM] != 0:
                    value = _value(inputs, bound[own], lines, line)
                    exact.add_integer(out, row, at + 1, value, value >> 63, weight)
            continue
        depth, others = 0, 1
        for d in range(targets.shape[1]):
            if targets[source, d] == own:
                depth = d
            elif counted[source, d] != 0:
                others *= numbers[d]
        start = line * SUM_WIDTH
        out[row, at] = others * totals[depth, start]
        if lines[line, IS_SUM] != 0:
            exact.add_integer_sum(out, row, at + 1, totals, depth, start + 1, others)


@lean
def _is_of(memo: Memo, entry: int, index: int, columns: int, key: Ints, line: int) -> bool:
    """Whether an entry is that of a key in an index."""
    if memo.entries[entry, INDEX] != index + 1:
        return False
    for c in range(columns):
        if memo.entries[entry, KEY + c] != key[line, c]:
            return False
    return True


@lean
def _mark(
    event: int,
    inputs: Ints,
    target: int,
    indexes: Ints,
    index: int,
    index_columns: Ints,
    key: Ints,
    depth: int,
    since: Ints,
    memo: Memo,
) -> None:
    """Notes of the rows that were counted that they have been in a result. Those that are remembered are noted."""
    columns = indexes[index, COLUMNS]
    hash_ = prefix_hash(key, depth, columns)
    if memo.registers[0] >= 0 and _is_of(memo, (hash_ ^ index) & (ENTRIES - 1), index, columns, key, depth):
        return
    candidate = first(indexes[index, HEADS], indexes[index, MASK], hash_)
    while candidate >= 0:
        if sees(candidate, event, inputs, target, columns, index_columns, index, key, depth, since):
            at = inputs[target, VISIBILITY] + 4 * candidate
            poke_int32(at, peek_int32(at) | JOINED)
        candidate = following(indexes[index, LINKS], candidate)


@lean
def _bring_up_to(
    event: int,
    inputs: Ints,
    indexes: Ints,
    index_columns: Ints,
    wants_going: bool,
    memo: Memo,
    events: AllEvents,
    sums: Sums,
) -> None:
    """Changes what is remembered by the events before this one."""
    for number in range(memo.registers[0], event):
        place = events.order[number - 1]
        source = 0
        while place >= events.ends[source]:
            source += 1
        slot, sign = events.slots[place], events.signs[place]
        at = 0
        while at < memo.indexes.shape[1] and memo.indexes[source, at] >= 0:
            index = memo.indexes[source, at]
            columns = indexes[index, COLUMNS]
            for c in range(columns):
                word = slot * inputs[source, WIDTH] + index_columns[index, c]
                memo.key[0, c] = peek(inputs[source, ROWS] + 8 * word)
            entry = (prefix_hash(memo.key, 0, columns) ^ index) & (ENTRIES - 1)
            if _is_of(memo, entry, index, columns, memo.key, 0):
                memo.entries[entry, NUMBER] += sign
                _add(inputs, source, slot, sums.lines, sign, memo.entries, entry, KEY + memo.key.shape[1])
                if wants_going and sign > 0:
                    visibility = inputs[source, VISIBILITY] + 4 * slot
                    poke_int32(visibility, peek_int32(visibility) | JOINED)
            at += 1
    memo.registers[0] = event
