"""The MJoin (thesis 5.1): one pipeline of probes per input, no intermediate results.

Events come in the order of time, each an insertion or a deletion of a row in one input. An event is joined with the
rows that are in the other inputs, by probing one hash index after the other in the order of its input's pipeline, and
gives one result per combination: the slots of the rows, with the event's sign. All that is stored is the inputs' rows.

A row that has never been in a result need not be probed for when it goes: every combination that holds it would have
been a result when its last row came. So the expiry of such a row, which is what most rows meet, costs no probe.

Stores and indexes are passed as addresses (`pointers`): a table with a line per input, and one with a line per index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash
from penstock.kernels.jit import kernel
from penstock.kernels.pointers import peek, poke

Ints = NDArray[np.int64]

#: Columns of the table of inputs: addresses of rows, of their starts, of whether they were in a result; words per row.
ROWS, STARTS, JOINED, WIDTH = range(4)
#: Columns of the table of indexes: whose it is, how many columns it has, addresses of heads and links, mask of buckets.
OWNER, COLUMNS, HEADS, LINKS, MASK = range(5)


@kernel
def mjoin(
    sources: Ints,
    slots: Ints,
    times: Ints,
    signs: Ints,
    inputs: Ints,
    indexes: Ints,
    index_columns: Ints,
    targets: Ints,
    probes: Ints,
    key_inputs: Ints,
    key_columns: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Joins events with what is stored, and stores or forgets their rows.

    `sources`, `slots`, `times`, `signs` are the events. `targets[i, d]` is the input that the pipeline of input i
    probes at depth d, `probes[i, d]` the index, and `key_inputs[i, d]`, `key_columns[i, d]` where the values of the
    index's `index_columns` come from. Gives, per result, the slots of its rows, its time, and its sign.
    """
    width, depths, most = len(inputs), targets.shape[1], index_columns.shape[1]
    out_slots = np.empty((256, width), np.int64)
    out = np.empty((256, 2), np.int64)
    count = 0
    bound = np.empty(width, np.int64)
    cursor = np.empty(depths + 1, np.int64)
    key = np.empty((depths + 1, most), np.int64)

    for event in range(len(slots)):
        source, slot, sign = sources[event], slots[event], signs[event]
        joined_at = inputs[source, JOINED] + 8 * slot
        if sign > 0:
            poke(joined_at, 0)
        if sign > 0 or peek(joined_at) > 0:
            bound[source] = slot
            depth, entering = 0, True
            while depth >= 0:
                if depth == depths:
                    if count == len(out):
                        out_slots, out = _grown(out_slots, out)
                    time = times[event]
                    for i in range(width):
                        out_slots[count, i] = bound[i]
                        poke(inputs[i, JOINED] + 8 * bound[i], 1)
                        if sign > 0:
                            time = max(time, peek(inputs[i, STARTS] + 8 * bound[i]))
                    out[count, 0] = time
                    out[count, 1] = sign
                    count += 1
                    depth -= 1
                    entering = False
                    continue
                index, target = probes[source, depth], targets[source, depth]
                links, columns = indexes[index, LINKS], indexes[index, COLUMNS]
                if entering:
                    for c in range(columns):
                        origin = key_inputs[source, depth, c]
                        word = bound[origin] * inputs[origin, WIDTH] + key_columns[source, depth, c]
                        key[depth, c] = peek(inputs[origin, ROWS] + 8 * word)
                    bucket = prefix_hash(key, depth, columns) & indexes[index, MASK]
                    candidate = peek(indexes[index, HEADS] + 8 * bucket)
                else:
                    candidate = cursor[depth]
                while candidate >= 0:
                    row = inputs[target, ROWS] + 8 * candidate * inputs[target, WIDTH]
                    equal = True
                    for c in range(columns):
                        if peek(row + 8 * index_columns[index, c]) != key[depth, c]:
                            equal = False
                            break
                    if equal:
                        break
                    candidate = peek(links + 16 * candidate)
                if candidate < 0:
                    depth -= 1
                    entering = False
                else:
                    cursor[depth] = peek(links + 16 * candidate)
                    bound[target] = candidate
                    depth += 1
                    entering = True
        for index in range(len(indexes)):
            if indexes[index, OWNER] == source:
                if sign > 0:
                    row = inputs[source, ROWS] + 8 * slot * inputs[source, WIDTH]
                    columns = indexes[index, COLUMNS]
                    for c in range(columns):
                        key[depths, c] = peek(row + 8 * index_columns[index, c])
                    bucket = prefix_hash(key, depths, columns) & indexes[index, MASK]
                    _link(indexes[index, HEADS], indexes[index, LINKS], bucket, slot)
                else:
                    _unlink(indexes[index, HEADS], indexes[index, LINKS], slot)
        if sign < 0:
            poke(joined_at, -1)
    return out_slots[:count], out[:count, 0].copy(), out[:count, 1].copy()


@kernel
def _grown(slots: Ints, out: Ints) -> tuple[Ints, Ints]:
    more_slots = np.empty((2 * len(slots), slots.shape[1]), np.int64)
    more_out = np.empty((2 * len(out), 2), np.int64)
    more_slots[: len(slots)] = slots
    more_out[: len(out)] = out
    return more_slots, more_out


@kernel
def _link(heads: int, links: int, bucket: int, slot: int) -> None:
    """`index.link`, by address."""
    first = peek(heads + 8 * bucket)
    poke(links + 16 * slot, first)
    poke(links + 16 * slot + 8, -2 - bucket)
    if first >= 0:
        poke(links + 16 * first + 8, slot)
    poke(heads + 8 * bucket, slot)


@kernel
def _unlink(heads: int, links: int, slot: int) -> None:
    """`index.unlink`, by address."""
    after, before = peek(links + 16 * slot), peek(links + 16 * slot + 8)
    if before == -1:
        return
    if before >= 0:
        poke(links + 16 * before, after)
    else:
        poke(heads + 8 * (-2 - before), after)
    if after >= 0:
        poke(links + 16 * after + 8, before)
    poke(links + 16 * slot + 8, -1)
