"""The MJoin (thesis 5.1): one pipeline of probes per input, no intermediate results.

Events are insertions and deletions of rows in the inputs, numbered in the order of time. An event is joined with the
rows that are in the other inputs, by probing one hash index after the other in the order of its input's pipeline, and
gives one result per combination: the slots of the rows, with the event's sign. All that is stored is the inputs' rows.

A step takes many events, and does for all of an input one thing after the other, because short loops let the processor
wait for many words of memory at once. So rows are linked before, and unlinked after, all probes; a row's *visibility*
says which of the step's events see it. An event whose first probe finds nothing, which is what most meet, is out before
anything else is looked at.

A row that has never been in a result need not be probed for when it goes: every combination that holds it would have
been a result when its last row came. So the expiry of such a row costs no probe. Where nobody wants to know which
combinations go, no expiry does, and it need not be noted who has been in a result.

Results leave `combine` in blocks: it writes as many combinations as there is room for, and is called again for more. So
a step holds no more of them than a block, however many there are.

In `combine` stores and indexes are addresses (`pointers`): a table with a line per input, and one with a line per
index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import NEAR, first, following
from penstock.kernels.jit import inlined, lean
from penstock.kernels.pointers import peek, peek_int32, poke_int32, prefetch

Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]

#: Columns of the table of inputs: addresses of rows and of their visibility, words per row; the address of the null
#: words of rows (0: no row has a NULL), and how many words are from those of one row to those of the next.
ROWS, VISIBILITY, WIDTH, NULLS, NULLS_WIDTH = range(5)
#: Columns of the table of indexes: how many columns it has, addresses of heads and links, mask of buckets.
COLUMNS, HEADS, LINKS, MASK = range(4)

#: The visibility of a row is an int32: whether it is in the join, whether it has been in a result, whether it goes in
#: this step, and above these bits the number of the event by which it goes, or else came (0: before this step).
PRESENT, JOINED, GOES = 1, 2, 4
EVENT_SHIFT = 3
ABSENT = 0

LAST = (1 << 63) - 1


@lean
def number_events(ts: Ints, signs: Ints, nexts: Ints, ends: Ints, numbers: Ints, order: Ints) -> None:
    """Numbers the events of all inputs from 1, in the order of time; `order` has their places in that order.

    Those of each input lie between its `nexts` and its `ends`, in the order of time. At one instant rows go before
    others come. So no combination is found that is there at no instant: one of a row that goes and a row that comes.
    """
    count = 0
    while count < len(ts):
        now, later, source = LAST, LAST, 0
        for i in range(len(ends)):
            next_ts = ts[nexts[i]] if nexts[i] < ends[i] else LAST
            if next_ts < now:
                now, later, source = next_ts, now, i
            else:
                later = min(later, next_ts)
        # Most often one input is alone for some instants, with one event at each.
        at, end = nexts[source], ends[source]
        while at < end and ts[at] < later and (at + 1 == end or ts[at + 1] > ts[at]):
            order[count] = at
            count += 1
            numbers[at] = count
            at += 1
        if at > nexts[source]:
            nexts[source] = at
            continue
        for sign in (-1, 1):
            for i in range(len(ends)):
                at = nexts[i]
                while at < ends[i] and ts[at] == now:
                    if signs[at] == sign:
                        order[count] = at
                        count += 1
                        numbers[at] = count
                    at += 1
                if sign > 0:
                    nexts[i] = at


@lean
def admit(visibility: Int32s, slots: Ints, signs: Ints, numbers: Ints, since: Ints) -> None:
    """Notes in the visibility of an input's rows which events see them. Numbers of events are from 1, and below 2^28.

    `since` has of events by which rows go the numbers of those by which they came.
    """
    for i in range(len(slots)):
        number = numbers[i] << EVENT_SHIFT
        if signs[i] > 0:
            visibility[slots[i]] = number | PRESENT
        else:
            before = visibility[slots[i]]
            since[numbers[i]] = before >> EVENT_SHIFT
            visibility[slots[i]] = number | GOES | (before & (PRESENT | JOINED))


@lean
def promising(
    heads: int, mask: int, hashes: Ints, signs: Ints, wants_going: bool, source: int, by: Int32s, probed: Ints
) -> None:
    """Finds the insertions whose first probe finds a bucket with their bits, and deletions if they are wanted.

    All events are of one input. Its number, counted from 1, is put `by` those that are found, and 0 by the others,
    whose probes are counted here.
    """
    vain = 0
    for i in range(len(hashes)):
        if i + NEAR < len(hashes):
            prefetch(heads + 8 * (hashes[i + NEAR] & mask))
        comes = signs[i] > 0
        finds = comes & (first(heads, mask, hashes[i]) >= 0)
        by[i] = (source + 1) * (finds | (wants_going & (not comes)))
        vain += comes & (not finds)
    probed[source, 0] += vain


@lean
def ask_for_first(by: Int32s, hashes: Ints, inputs: Ints, target: int, indexes: Ints, index: int) -> None:
    """Asks for the memory of the rows that the events which were found will examine first."""
    for i in range(len(by)):
        slot = first(indexes[index, HEADS], indexes[index, MASK], hashes[i]) if by[i] != 0 else -1
        if slot >= 0:
            prefetch(inputs[target, ROWS] + 8 * slot * inputs[target, WIDTH])
            prefetch(inputs[target, VISIBILITY] + 4 * slot)
            prefetch(indexes[index, LINKS] + 8 * (slot + 1))


class Probers(NamedTuple):
    """The events that probe, in the order of time: their inputs, slots, signs and numbers."""

    sources: Ints
    slots: Ints
    signs: Ints
    numbers: Ints


@lean
def in_order(order: Ints, by: Int32s, slots: Ints, signs: Ints, probers: Probers) -> int:
    """Puts the events that were found in the order of time, and gives how many there are."""
    count = 0
    for i in range(len(order)):
        place = order[i]
        probers.sources[count] = by[place] - 1
        probers.slots[count], probers.signs[count], probers.numbers[count] = slots[place], signs[place], i + 1
        count += by[place] != 0
    return count


@lean
def settle(visibility: Int32s, slots: Ints, signs: Ints) -> None:
    """Ends the step: rows that came are there from now on."""
    for i in range(len(slots)):
        visibility[slots[i]] = visibility[slots[i]] & (PRESENT | JOINED) if signs[i] > 0 else ABSENT


class Paths(NamedTuple):
    """The probe paths of all inputs.

    `targets[i, d]` is the input that the path of input i probes at depth d, `probes[i, d]` the index, and
    `key_inputs[i, d]`, `key_columns[i, d]` where the values of the index's `index_columns` come from.
    """

    index_columns: Ints
    targets: Ints
    probes: Ints
    key_inputs: Ints
    key_columns: Ints


class StageCounts(NamedTuple):
    """By input and depth of its path how many combinations probed there, and how many rows they matched."""

    probes: Ints
    matches: Ints


class Progress(NamedTuple):
    """How far `combine` has come: the next event and its depth (-1: it is not begun); per depth the next candidate.

    `bound` are the slots of the combination in work, `key` the values by which each depth is probed.
    """

    registers: Ints
    bound: Ints
    cursor: Ints
    key: Ints


class Segment(NamedTuple):
    """The depths of all paths that are probed in one go, and by prober the slots that are bound before the first."""

    start: int
    end: int
    prefixes: Ints


@lean
def combine(
    probers: Probers,
    inputs: Ints,
    indexes: Ints,
    paths: Paths,
    since: Ints,
    wants_going: bool,
    tally: StageCounts,
    decided: int,
    segment: Segment,
    progress: Progress,
    out_slots: Ints,
    out_events: Ints,
) -> int:
    """The next combinations of events' rows with the rows that they see: their slots, and the number of the event.

    Events come in the order of their numbers. It stops when there is no more room, or no more combination, and gives
    how many it found; called again it goes on where it stopped. `since` is as in `admit`. `decided` is the address of a
    word for each row of the first input, or 0: combinations of those with another word than 0 are left out. Of a
    segment that does not end with the paths, the results are combinations of the inputs that are bound by then.
    """
    index_columns, targets, probes, key_inputs, key_columns = paths
    sources, slots, signs, numbers = probers
    registers, bound, cursor, key = progress
    probed, matched = tally
    start, end, prefixes = segment
    width, room = len(inputs), len(out_events)
    marks = wants_going and end == targets.shape[1]
    # Where paths are probed in several goes, it is not yet noted which rows of this step have been in a result.
    is_noted = start == 0 and end == targets.shape[1]
    count = 0
    i, depth = registers[0], registers[1]
    while i < len(slots):
        event, source = numbers[i], sources[i]
        if decided != 0 and source == 0 and peek(decided + 8 * slots[i]) != 0:
            i, depth = i + 1, -1
            continue
        entering = depth < 0
        if entering:
            if is_noted and signs[i] < 0 and peek_int32(inputs[source, VISIBILITY] + 4 * slots[i]) & JOINED == 0:
                i += 1
                continue
            if start > 0:
                for n in range(width):
                    bound[n] = prefixes[i, n]
            bound[source] = slots[i]
            depth = start
        while depth >= start:
            index, target = probes[source, depth], targets[source, depth]
            columns, links = indexes[index, COLUMNS], indexes[index, LINKS]
            if entering:
                probed[source, depth] += 1
                candidate = first_candidate(
                    source, depth, inputs, indexes, index, columns, key_inputs, key_columns, bound, key
                )
            else:
                candidate = cursor[depth]
            while candidate >= 0:
                if sees(candidate, event, inputs, target, columns, index_columns, index, key, depth, since) and not (
                    decided != 0 and target == 0 and peek(decided + 8 * candidate) != 0
                ):
                    bound[target] = candidate
                    if depth < end - 1:
                        matched[source, depth] += 1
                        break
                    # The last input was probed: each match is a result.
                    if count == room:
                        cursor[depth] = candidate
                        registers[0], registers[1] = i, depth
                        return count
                    give(bound, width, inputs, marks, event, out_slots, out_events, count)
                    matched[source, depth] += 1
                    count += 1
                candidate = following(links, candidate)
            entering = candidate >= 0
            if entering:
                cursor[depth] = following(links, candidate)
                depth += 1
            else:
                depth -= 1
        i, depth = i + 1, -1
    registers[0], registers[1] = i, -1
    return count


@inlined
def first_candidate(
    source: int,
    depth: int,
    inputs: Ints,
    indexes: Ints,
    index: int,
    columns: int,
    key_inputs: Ints,
    key_columns: Ints,
    bound: Ints,
    key: Ints,
) -> int:
    """Reads the key of a stage from the rows that are bound, and gives the first row of its bucket, or -1."""
    for c in range(columns):
        origin = key_inputs[source, depth, c]
        word = bound[origin] * inputs[origin, WIDTH] + key_columns[source, depth, c]
        key[depth, c] = peek(inputs[origin, ROWS] + 8 * word)
    return first(indexes[index, HEADS], indexes[index, MASK], prefix_hash(key, depth, columns))


@inlined
def give(
    bound: Ints, width: int, inputs: Ints, marks: bool, event: int, out_slots: Ints, out_events: Ints, count: int
) -> None:
    """Writes a result; its rows are marked as joined, if that is wanted."""
    for n in range(width):
        out_slots[count, n] = bound[n]
        if marks:
            at = inputs[n, VISIBILITY] + 4 * bound[n]
            poke_int32(at, peek_int32(at) | JOINED)
    out_events[count] = event


@lean
def sees(
    slot: int,
    event: int,
    inputs: Ints,
    target: int,
    count: int,
    columns: Ints,
    index: int,
    key: Ints,
    depth: int,
    since: Ints,
) -> bool:
    """Whether a row has the key, and is seen by the event: it came before it and goes after it."""
    row = inputs[target, ROWS] + 8 * slot * inputs[target, WIDTH]
    for c in range(count):
        if peek(row + 8 * columns[index, c]) != key[depth, c]:
            return False
    return is_visible(peek_int32(inputs[target, VISIBILITY] + 4 * slot), event, since)


@lean
def is_visible(visibility: int, event: int, since: Ints) -> bool:
    """Whether an event sees a row of this visibility."""
    number = visibility >> EVENT_SHIFT
    return since[number] < event < number if visibility & GOES else number < event


@lean
def materialise(slots: Ints, inputs: Ints, places: Ints, nulls: Ints, rows: Ints) -> None:
    """Writes the rows of combinations.

    `places` has a line for each of their columns: input, column, the null word and its bit there, and those here.
    `nulls` has one for each null word there: input, word, and the bits that are wanted.
    """
    width = rows.shape[1]
    for i in range(len(slots)):
        for c in range(len(places)):
            source = places[c, 0]
            rows[i, c] = peek(inputs[source, ROWS] + 8 * (slots[i, source] * inputs[source, WIDTH] + places[c, 1]))
        for c in range(len(places), width):
            rows[i, c] = 0
        some = 0
        for n in range(len(nulls)):
            some |= null_word(inputs, nulls[n, 0], slots[i, nulls[n, 0]], nulls[n, 1]) & nulls[n, 2]
        if some != 0:
            _copy_nulls(slots, inputs, places, rows, i)


@lean
def _copy_nulls(slots: Ints, inputs: Ints, places: Ints, rows: Ints, i: int) -> None:
    for c in range(len(places)):
        word = null_word(inputs, places[c, 0], slots[i, places[c, 0]], places[c, 2])
        rows[i, places[c, 4]] |= ((word >> places[c, 3]) & 1) << places[c, 5]


@lean
def null_word(inputs: Ints, source: int, slot: int, word: int) -> int:
    if inputs[source, NULLS] == 0:
        return 0
    return peek(inputs[source, NULLS] + 8 * (slot * inputs[source, NULLS_WIDTH] + word))
