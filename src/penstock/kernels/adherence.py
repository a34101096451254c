"""How well rows adhere to a k-constraint: the k that each row requires when it arrives (thesis 6.6.3, 6.7.3, 6.8.3).

The largest of them is the k of the constraint. A row requires the distance to the *earliest* row that it must not be
far from, because distances grow with time: to the earliest row with a larger value (OA), to the first row with its own
values (CA), to the first row that refers to it (RIDS). So what must be remembered is the first row of each value, and
the rows at which a new largest value came.

Both are remembered in rings of bounded size. What falls out of a ring is not forgotten without a trace: of an order
the largest value that fell out, of values a 64-bit digest each. A row that asks for more than the ring knows is
`BEYOND`: it requires more than the ring has places, and nobody knows how much. Where there is no memory for digests,
the largest word that fell out stands for them: a larger one never came before. So values that go up need no digests.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash, word_hash
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Instead of a k: no row came before that matters; and, it came too long ago.
NONE, BEYOND = -1, -2

# Of an order: the columns of its records, and its registers.
VALUE, PLACE, TIME = 0, 1, 2
OLDEST, NEXT, FELL_OUT, LARGEST_OUT, ROWS = 0, 1, 2, 3, 4
ORDER_REGISTERS = 5

# Of first rows: their columns, and their registers. Slot 0 is that of NULL, which stays.
FIRST_PLACE, FIRST_TIME, COUNT = 0, 1, 2
INSERTED, DIGESTS, ZERO_DIGEST, SEEN_ROWS, LARGEST_LEFT, WITHOUT = 0, 1, 2, 3, 4, 5
FIRST_REGISTERS = 6


@lean
def scrambling(
    values: Ints, nulls: Bools, times: Ints, records: Ints, registers: Ints, rows: Ints, spans: Ints
) -> None:
    """OA: the most rows, and time, since a row with a larger value, for each row. NULL is larger than nothing.

    `records` is a ring of the rows with a value larger than all before: value, place and time.
    """
    size = len(records)
    for i in range(len(values)):
        place = registers[ROWS]
        registers[ROWS] += 1
        rows[i] = NONE
        spans[i] = NONE
        if nulls[i]:
            continue
        value = values[i]
        low, high = registers[OLDEST], registers[NEXT]
        if high == 0 or value > records[(high - 1) % size, VALUE]:
            if high - low == size:
                registers[FELL_OUT] = 1
                registers[LARGEST_OUT] = records[low % size, VALUE]
                registers[OLDEST] += 1
            records[high % size, VALUE] = value
            records[high % size, PLACE] = place
            records[high % size, TIME] = times[i]
            registers[NEXT] += 1
        elif registers[FELL_OUT] and value < registers[LARGEST_OUT]:
            rows[i] = BEYOND
            spans[i] = BEYOND
        elif value < records[(high - 1) % size, VALUE]:
            while low < high:
                middle = (low + high) // 2
                if records[middle % size, VALUE] > value:
                    high = middle
                else:
                    low = middle + 1
            rows[i] = place - records[low % size, PLACE]
            spans[i] = times[i] - records[low % size, TIME]


@lean
def clustering(
    words: Ints,
    nulls: Bools,
    times: Ints,
    start: int,
    keys: Ints,
    firsts: Ints,
    links: Ints,
    heads: Ints,
    digests: Ints,
    registers: Ints,
    rows: Ints,
    spans: Ints,
) -> int:
    """CA: the rows with other values, and the time, since the first row with its values, for each row from `start` on.

    `keys`, `firsts` and `links` are a ring of the values that came last, in slots from 1 on, and `heads` its hash
    buckets. Gives the row for which `digests` has no room: the caller makes room and goes on there, or goes on
    `WITHOUT` digests. Then it is the row of which nobody knows whether its value came before.
    """
    size = len(keys) - 1
    for i in range(start, len(words)):
        slot = 0 if nulls[i] else _find(words, i, keys, links, heads)
        if slot < 0:
            if has_left(words, i, digests, registers):
                if registers[WITHOUT]:
                    return i
                rows[i] = BEYOND
                spans[i] = BEYOND
                registers[SEEN_ROWS] += 1
                continue
            is_full = registers[INSERTED] >= size and 4 * (registers[DIGESTS] + 1) > 3 * len(digests)
            if is_full and not registers[WITHOUT]:
                return i
            slot = _take(words, i, keys, firsts, links, heads, digests, registers)
        place = registers[SEEN_ROWS]
        if firsts[slot, COUNT] == 0:
            firsts[slot, FIRST_PLACE] = place
            firsts[slot, FIRST_TIME] = times[i]
            rows[i] = NONE
            spans[i] = NONE
        else:
            rows[i] = place - firsts[slot, FIRST_PLACE] - firsts[slot, COUNT]
            spans[i] = times[i] - firsts[slot, FIRST_TIME]
        firsts[slot, COUNT] += 1
        registers[SEEN_ROWS] += 1
    return len(words)


@lean
def first_rows(
    words: Ints,
    nulls: Bools,
    keys: Ints,
    firsts: Ints,
    links: Ints,
    heads: Ints,
    digests: Ints,
    registers: Ints,
    places: Ints,
    times: Ints,
) -> None:
    """RIDS: where and when the first row came that has the values of each of these rows. NULL refers to nothing."""
    for i in range(len(words)):
        slot = -1 if nulls[i] else _find(words, i, keys, links, heads)
        if slot >= 0:
            places[i] = firsts[slot, FIRST_PLACE]
            times[i] = firsts[slot, FIRST_TIME]
        else:
            past = not nulls[i] and has_left(words, i, digests, registers)
            places[i] = BEYOND if past else NONE
            times[i] = BEYOND if past else NONE


@lean
def digest(words: Ints, row: int) -> int:
    """One word for the words of a row: itself where there is one."""
    if words.shape[1] == 1:
        return words[row, 0]  # type: ignore[no-any-return]
    return prefix_hash(words, row, words.shape[1])


@lean
def has_left(words: Ints, row: int, digests: Ints, registers: Ints) -> bool:
    """Whether values fell out of the ring, or may have. Values of several words that differ may have one digest."""
    if registers[WITHOUT]:
        return words[row, 0] <= registers[LARGEST_LEFT]  # type: ignore[no-any-return]
    sought = digest(words, row)
    if sought == 0:
        return registers[ZERO_DIGEST] == 1  # type: ignore[no-any-return]
    return digests[_place(sought, digests)] == sought  # type: ignore[no-any-return]


@lean
def put_digests(old: Ints, digests: Ints) -> None:
    """Puts all digests of one table into another, larger one."""
    for i in range(len(old)):
        if old[i] != 0:
            digests[_place(old[i], digests)] = old[i]


@lean
def all_digests(keys: Ints, digests: Ints, registers: Ints, out: Ints) -> int:
    """The digests of all values that came, NULL left out; of those in the ring if there are no others. And how many."""
    count = 0
    for slot in range(1, 1 + min(registers[INSERTED], len(keys) - 1)):
        out[count] = digest(keys, slot)
        count += 1
    for i in range(len(digests)):
        if digests[i] != 0:
            out[count] = digests[i]
            count += 1
    if registers[ZERO_DIGEST] and not registers[WITHOUT]:
        out[count] = 0
        count += 1
    return count


@lean
def _place(sought: int, digests: Ints) -> int:
    """Where a digest is, or where it would be put. There is always a free place."""
    place = word_hash(sought) & (len(digests) - 1)
    while digests[place] != 0 and digests[place] != sought:
        place = (place + 1) & (len(digests) - 1)
    return place


@lean
def _find(words: Ints, row: int, keys: Ints, links: Ints, heads: Ints) -> int:
    """The slot with the row's values, or -1."""
    slot = heads[prefix_hash(words, row, words.shape[1]) & (len(heads) - 1)]
    while slot != 0 and not _same(words, row, keys, slot):
        slot = links[slot]
    return slot if slot != 0 else -1


@lean
def _take(
    words: Ints, row: int, keys: Ints, firsts: Ints, links: Ints, heads: Ints, digests: Ints, registers: Ints
) -> int:
    """The next slot of the ring, for the row's values. What was in it leaves its digest."""
    size = len(keys) - 1
    slot = 1 + registers[INSERTED] % size
    if registers[INSERTED] >= size:
        _leave(slot, keys, links, heads)
        if registers[INSERTED] == size or keys[slot, 0] > registers[LARGEST_LEFT]:
            registers[LARGEST_LEFT] = keys[slot, 0]
        left = digest(keys, slot)
        if registers[WITHOUT]:
            registers[DIGESTS] += 1
        elif left == 0:
            registers[ZERO_DIGEST] = 1
        else:
            digests[_place(left, digests)] = left
            registers[DIGESTS] += 1
    registers[INSERTED] += 1
    for word in range(words.shape[1]):
        keys[slot, word] = words[row, word]
    firsts[slot, COUNT] = 0
    bucket = prefix_hash(keys, slot, keys.shape[1]) & (len(heads) - 1)
    links[slot] = heads[bucket]
    heads[bucket] = slot
    return slot  # type: ignore[no-any-return]


@lean
def _leave(slot: int, keys: Ints, links: Ints, heads: Ints) -> None:
    bucket = prefix_hash(keys, slot, keys.shape[1]) & (len(heads) - 1)
    before = heads[bucket]
    if before == slot:
        heads[bucket] = links[slot]
        return
    while links[before] != slot:
        before = links[before]
    links[before] = links[slot]


@lean
def _same(words: Ints, row: int, keys: Ints, slot: int) -> bool:
    for word in range(words.shape[1]):
        if words[row, word] != keys[slot, word]:
            return False
    return True
