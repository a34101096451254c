"""Counting along a probe path: rows of inputs of which nothing is read are counted, and counts multiply.

It is `mjoin.combine` with stages that bind nothing: of a *counted* one only the number of rows with the key that the
event sees is wanted, and sums of some of their columns. A result is a combination of the rows of the other inputs, with
the product of these numbers, and with partial sums (`kernels.partial_sums`). Of a counted input it has *one* of these
rows: all have the values by which they are joined.

    event of a ──▶ b by k: 8,000 rows, sum of x 40,000 ──▶ c by k: 3       counts 24,000 times, sum of b.x 120,000

Aggregates that take each value once (MIN, MAX, DISTINCT) are not counted so: of the input that they read, those rows
are given that begin or cease to be in any combination, in a *mode* of its own. That input has all join variables; so
its row is in a combination if each of the others has a row with the row's values. A row of another input then changes
nothing as long as its own input has one more with the same values.

    mode of b ──▶ event of a with k, and no other row of a has k ──▶ each row of b with k, if c has one, too

A number is found by a walk along the bucket. Where that is long, it is remembered until the end of the step, and events
that bring or take a row with the key change it, in the order of time: so of a hot key the rows are walked over once in
a step (a cache of thesis 5.3 that holds counts and sums in place of tuples). What is remembered is not state: the next
step begins without it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import first, following
from penstock.kernels.jit import inlined, lean
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
    first_candidate,
    sees,
)
from penstock.kernels.partial_sums import Sums, add_row, clear, copy, give_sums
from penstock.kernels.pointers import peek, peek_int32, poke_int32

Ints = NDArray[np.int64]

#: A number is remembered if so many slots were walked over.
LONG = 16
#: Entries of a memo: a power of two. A new entry takes the place of another one.
ENTRIES = 1 << 8
#: The words of an entry: the index, counted from 1, how many rows have the key, one of them, and the key, behind which
#: their sums lie.
INDEX, NUMBER, SLOT, KEY = range(4)

#: The mode in which combinations are counted. A piece of a sum is of no mode.
WEIGHED, PIECE = 0, -1


class Stored(NamedTuple):
    """Where the rows of inputs and their indexes are, the columns of each index, and since when its rows are seen.

    Where combinations that go are wanted, too, it `notes` of each row that it has been in one.
    """

    inputs: Ints
    indexes: Ints
    index_columns: Ints
    since: Ints
    notes: bool


class Memo(NamedTuple):
    """What is remembered in a step, and up to which event it has been brought; -1 as long as it is nothing.

    `indexes` has a line for each input, of the indexes whose rows are counted, which ends with -1. `key` is room.
    """

    entries: Ints
    registers: Ints
    indexes: Ints
    key: Ints


class AllEvents(NamedTuple):
    """All events of a step: their slots and signs, their places in the order of time, and where each input's end."""

    slots: Ints
    signs: Ints
    order: Ints
    ends: Ints


class Modes(NamedTuple):
    """By prober its mode. `counted[p, d]` says whether the stage of path p at depth d is counted.

    There is a path for each mode and input, in this order. `own[m, i]` is the index by which rows of input i with the
    values of an event of it are found, or -1: if there are others, the event changes nothing in this mode.
    """

    of: Ints
    counted: Ints
    own: Ints


class Results(NamedTuple):
    """Room for results: slots, events, how often each counts, its mode, and its partial sums."""

    slots: Ints
    events: Ints
    weights: Ints
    modes: Ints
    sums: Ints


@lean
def count_along(
    probers: Probers,
    inputs: Ints,
    indexes: Ints,
    paths: Paths,
    since: Ints,
    wants_going: bool,
    tally: StageCounts,
    modes: Modes,
    memo: Memo,
    events: AllEvents,
    progress: Progress,
    weights: Ints,
    sums: Sums,
    pieces: int,
    out: Results,
) -> int:
    """The next results, as in `mjoin.combine`. `weights` is room for a number per depth.

    A result may be followed by so many `pieces`.
    """
    targets, probes, counted = paths.targets, paths.probes, modes.counted
    registers, bound, cursor, key = progress
    stored = Stored(inputs, indexes, paths.index_columns, since, wants_going)
    width, depths, room = len(inputs), targets.shape[1], len(out.events) - pieces
    count = 0
    i, depth = registers[0], registers[1]
    # Whether the stage is entered, or left for its next candidate.
    entering = registers[2] != 0
    while i < len(probers.slots):
        event, source, mode = probers.numbers[i], probers.sources[i], modes.of[i]
        line, tallied = mode * width + source, int(mode == WEIGHED)
        if depth < 0:
            if not _begins(probers, i, modes.own[mode, source], stored, memo, events, sums, bound):
                i += 1
                continue
            depth, entering = 0, True
        while depth >= 0:
            if count >= room:
                registers[0], registers[1], registers[2] = i, depth, int(entering)
                return count
            index, target = probes[line, depth], targets[line, depth]
            columns, links = indexes[index, COLUMNS], indexes[index, LINKS]
            before = weights[depth - 1] if depth > 0 else 1
            candidate = -1
            if entering:
                tally.probes[source, depth] += tallied
                candidate = first_candidate(
                    line, depth, inputs, indexes, index, columns, paths.key_inputs, paths.key_columns, bound, key
                )
            elif counted[line, depth] == 0:
                candidate = cursor[depth]
            if counted[line, depth] != 0:
                number = 0
                if candidate >= 0:
                    number = _number(event, target, stored, index, key, depth, memo, sums, bound)
                    weights[depth] = before * number
                    sums.numbers[depth] = number
                    tally.matches[source, depth] += number * tallied
                if number == 0:
                    depth, entering = depth - 1, False
                    continue
            else:
                while candidate >= 0 and not sees(
                    candidate, event, inputs, target, columns, paths.index_columns, index, key, depth, since
                ):
                    candidate = following(links, candidate)
                if candidate < 0:
                    depth, entering = depth - 1, False
                    continue
                bound[target] = candidate
                cursor[depth] = following(links, candidate)
                tally.matches[source, depth] += tallied
                weights[depth] = before
            if depth < depths - 1:
                depth, entering = depth + 1, True
                continue
            if wants_going:
                _note(event, source, line, stored, paths, counted, key, memo, bound)
            more = 0
            if mode == WEIGHED:
                more = give_sums(
                    line, probers.signs[i], inputs, targets, counted, bound, weights[depth], sums, out.sums, count
                )
            else:
                for word in range(out.sums.shape[1]):
                    out.sums[count, word] = 0
            for result in range(count, count + 1 + more):
                for n in range(width):
                    out.slots[result, n] = bound[n]
                out.events[result] = event
                out.weights[result] = weights[depth]
                out.modes[result] = mode if result == count else PIECE
            count += 1 + more
            entering = False
            if counted[line, depth] != 0:
                depth -= 1
        i += 1
    registers[0], registers[1], registers[2] = i, -1, 1
    return count


@inlined
def _begins(
    probers: Probers, i: int, own: int, stored: Stored, memo: Memo, events: AllEvents, sums: Sums, bound: Ints
) -> bool:
    """Binds the row of an event. Of one that goes and was in no result, or changes nothing, nothing is to be found."""
    source, slot, sign = probers.sources[i], probers.slots[i], probers.signs[i]
    if sign < 0 and peek_int32(stored.inputs[source, VISIBILITY] + 4 * slot) & JOINED == 0:
        return False
    event = probers.numbers[i]
    if memo.registers[0] >= 0:
        _bring_up_to(event, stored, memo, events, sums)
    if own >= 0 and _has_equals(event, source, slot, sign, stored, own, memo, events, sums, bound):
        return False
    bound[source] = slot
    return True


@lean
def _number(
    event: int, target: int, stored: Stored, index: int, key: Ints, depth: int, memo: Memo, sums: Sums, bound: Ints
) -> int:
    """How many rows with a key an event sees. Their sums are then those of the depth, and one of them is bound."""
    inputs, indexes = stored.inputs, stored.indexes
    columns = indexes[index, COLUMNS]
    hash_ = prefix_hash(key, depth, columns)
    entry, behind = (hash_ ^ index) & (ENTRIES - 1), KEY + key.shape[1]
    if memo.registers[0] >= 0 and _is_of(memo, entry, index, columns, key, depth):
        copy(sums, memo.entries, entry, behind, sums.totals, depth, 0)
        bound[target] = memo.entries[entry, SLOT]
        return int(memo.entries[entry, NUMBER])
    clear(sums, sums.totals, depth, 0)
    number, walked = 0, 0
    candidate = first(indexes[index, HEADS], indexes[index, MASK], hash_)
    while candidate >= 0:
        walked += 1
        if sees(candidate, event, inputs, target, columns, stored.index_columns, index, key, depth, stored.since):
            number += 1
            bound[target] = candidate
            add_row(inputs, target, candidate, sums, 1, sums.totals, depth, 0)
        candidate = following(indexes[index, LINKS], candidate)
    if walked >= LONG:
        if stored.notes:
            _note_counted(event, target, stored, index, key, depth, memo)
        memo.entries[entry, INDEX], memo.entries[entry, NUMBER] = index + 1, number
        memo.entries[entry, SLOT] = bound[target] if number > 0 else -1
        for c in range(columns):
            memo.entries[entry, KEY + c] = key[depth, c]
        copy(sums, sums.totals, depth, 0, memo.entries, entry, behind)
        if memo.registers[0] < 0:
            memo.registers[0] = event
    return number


@lean
def _has_equals(
    event: int,
    source: int,
    slot: int,
    sign: int,
    stored: Stored,
    index: int,
    memo: Memo,
    events: AllEvents,
    sums: Sums,
    bound: Ints,
) -> bool:
    """Whether there are other rows with the values that an event's row has in the columns of an index."""
    # Of a row that goes, the others are those that are left behind it.
    behind = event + int(sign < 0)
    if memo.registers[0] >= 0:
        _bring_up_to(behind, stored, memo, events, sums)
    _read_key(source, slot, stored, index, memo.key)
    number = _number(event, source, stored, index, memo.key, 0, memo, sums, bound)
    if memo.registers[0] >= 0:
        memo.registers[0] = behind
    return number > 0


@lean
def _read_key(source: int, slot: int, stored: Stored, index: int, key: Ints) -> None:
    """Reads the values that a row has in the columns of an index."""
    row = stored.inputs[source, ROWS] + 8 * slot * stored.inputs[source, WIDTH]
    for c in range(stored.indexes[index, COLUMNS]):
        key[0, c] = peek(row + 8 * stored.index_columns[index, c])


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
def _note(
    event: int,
    source: int,
    line: int,
    stored: Stored,
    paths: Paths,
    counted: Ints,
    key: Ints,
    memo: Memo,
    bound: Ints,
) -> None:
    """Notes of the rows of a result that they have been in one, of those that were counted as well."""
    _note_row(stored.inputs, source, bound[source])
    for depth in range(paths.targets.shape[1]):
        target = paths.targets[line, depth]
        if counted[line, depth] != 0:
            _note_counted(event, target, stored, paths.probes[line, depth], key, depth, memo)
        else:
            _note_row(stored.inputs, target, bound[target])


@lean
def _note_row(inputs: Ints, source: int, slot: int) -> None:
    at = inputs[source, VISIBILITY] + 4 * slot
    poke_int32(at, peek_int32(at) | JOINED)


@lean
def _note_counted(event: int, target: int, stored: Stored, index: int, key: Ints, depth: int, memo: Memo) -> None:
    """Notes of the rows with a key that they have been in a result. Of those that are remembered it has been noted."""
    indexes = stored.indexes
    columns = indexes[index, COLUMNS]
    hash_ = prefix_hash(key, depth, columns)
    if memo.registers[0] >= 0 and _is_of(memo, (hash_ ^ index) & (ENTRIES - 1), index, columns, key, depth):
        return
    candidate = first(indexes[index, HEADS], indexes[index, MASK], hash_)
    while candidate >= 0:
        if sees(
            candidate, event, stored.inputs, target, columns, stored.index_columns, index, key, depth, stored.since
        ):
            _note_row(stored.inputs, target, candidate)
        candidate = following(indexes[index, LINKS], candidate)


@lean
def _bring_up_to(event: int, stored: Stored, memo: Memo, events: AllEvents, sums: Sums) -> None:
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
            columns = stored.indexes[index, COLUMNS]
            _read_key(source, slot, stored, index, memo.key)
            entry = (prefix_hash(memo.key, 0, columns) ^ index) & (ENTRIES - 1)
            if _is_of(memo, entry, index, columns, memo.key, 0):
                memo.entries[entry, NUMBER] += sign
                add_row(stored.inputs, source, slot, sums, sign, memo.entries, entry, KEY + memo.key.shape[1])
                if sign > 0:
                    memo.entries[entry, SLOT] = slot
                    if stored.notes:
                        _note_row(stored.inputs, source, slot)
            at += 1
    memo.registers[0] = max(memo.registers[0], event)
