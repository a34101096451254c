"""The chained purge where no chain is needed: rows of an input that all rules speak of directly.

In a star the rules want only values that the row in the middle has. Then no binding need be followed: a row goes when
each other input is closed for it, or when one has its partner among those that can be in no result. That is found rule
by rule for a block of rows, in loops so short that the processor waits for many words of memory at once.

Tables, rules and clocks are those of `kernels/purge.py`, which decides where a star does not: of a row that waits for
one input, and has another one closed without its key, so that perhaps it has no partner there.

Where results are taken back, a row that is in one is retained. So there all other inputs must have keys that the row
has, and are asked for these first: whatever else closes an input then says that there is no partner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import first, following
from penstock.kernels.jit import lean
from penstock.kernels.pointers import peek, poke, prefetch
from penstock.kernels.purge import (
    AFTER_ROWS,
    BY_KEY,
    CLOCK,
    CLUSTERED,
    COLUMNS,
    HEADS,
    IN_NO,
    IN_TIME,
    INDEX,
    KIND,
    LIMIT,
    LINKS,
    LIVING,
    MASK,
    NEEDS,
    NEVER,
    NOT_KNOWN,
    ORDERED,
    ROWS,
    STAMPS,
    STARTS,
    STATIC,
    STORE,
    TARGET,
    TIME,
    WIDTH,
    Rules,
    Tables,
    outlives,
)

Ints = NDArray[np.int64]

#: Rows that are examined together.
BLOCK = 512
#: What an input is for a row, if not closed by the key of its row in some slot.
OPEN, CLOSED, WITHOUT = -1, -2, -3


class Star(NamedTuple):
    """The rules that speak of the rows of one input, those of each other input together.

    Those of the n-th other input are in `steps` from `begins[n]` on; those of clocks come first, clusters last. If rows
    of results are retained, keys come before all others.
    """

    source: int
    begins: Ints
    steps: Ints
    retained: bool


class Room(NamedTuple):
    """Room to work in: of each other input what it is for a row; and some rows, their keys, hashes and finds."""

    others: Ints
    some: Ints
    keys: Ints
    hashes: Ints
    found: Ints


def examine_star(slots: Ints, star: Star, tables: Tables, rules: Rules, waits: int) -> tuple[Ints, Ints]:
    """Which of these rows can be dropped, and which are to be examined by other means. Notes what the others wait for.

    `waits` is the address of a word per slot and clock; 0, if nothing is to be noted.
    """
    gone, unsure = np.empty((2, len(slots)), np.int64)
    room = Room(
        np.empty((len(star.begins) - 1, BLOCK), np.int64),
        np.empty(BLOCK, np.int64),
        np.empty((BLOCK, rules.variables.shape[1]), np.int64),
        *np.empty((2, BLOCK), np.int64),
    )
    goers, doubtful = _examine_star(slots, star, tables, rules, waits, room, gone, unsure)
    return gone[:goers], unsure[:doubtful]


@lean
def _examine_star(
    slots: Ints, star: Star, tables: Tables, rules: Rules, waits: int, room: Room, gone: Ints, unsure: Ints
) -> tuple[int, int]:
    goers, doubtful = 0, 0
    for begin in range(0, len(slots), BLOCK):
        block = slots[begin : begin + BLOCK]
        if waits != 0:
            _wait_for_nothing(block, waits, len(rules.clocks))
        for n in range(len(room.others)):
            _close(n, block, star, tables, rules, waits, room)
        stuck = 0
        for i in range(len(block)):
            is_open, is_closed, is_without = False, False, False
            for n in range(len(room.others)):
                is_open |= room.others[n, i] == OPEN
                is_closed |= room.others[n, i] == CLOSED
                is_without |= room.others[n, i] == WITHOUT
            goes = is_without | (not is_open and not star.retained)
            gone[goers] = block[i]
            goers += goes
            unsure[doubtful] = block[i]
            doubtful += (not goes) & is_closed
            room.some[stuck] = i
            stuck += (not goes) & (not is_closed) & (waits != 0)
        for n in range(len(room.others)):
            _wait(n, stuck, block, star, tables, rules, waits, room)
    return goers, doubtful


@lean
def _wait_for_nothing(block: Ints, waits: int, clocks: int) -> None:
    for i in range(len(block)):
        for clock in range(clocks):
            poke(waits + 8 * (block[i] * clocks + clock), NEVER)


@lean
def _close(n: int, block: Ints, star: Star, tables: Tables, rules: Rules, waits: int, room: Room) -> None:
    """Says of an input what it is for each row of a block."""
    for i in range(len(block)):
        room.others[n, i] = OPEN
        room.some[i] = i
    count, has = len(block), tables.has[star.source]
    for step in range(star.begins[n], star.begins[n + 1]):
        r = star.steps[step]
        if rules.lines[r, NEEDS] & ~has != 0:
            continue
        if _is_of_clock(rules.lines[r, KIND]):
            _close_by_clock(n, r, count, block, star, tables, rules, room)
        else:
            _find(r, count, block, star.source, tables, rules, room)
            _close_by_value(n, r, count, block, star.source, star.retained, tables, rules, waits, room)
            if rules.lines[r, KIND] == BY_KEY:
                _check_the_rest(n, r, count, block, star.source, tables, rules, room)
        if step + 1 < star.begins[n + 1]:
            count = _still_open(n, count, room.others, room.some)


@lean
def _still_open(n: int, count: int, others: Ints, some: Ints) -> int:
    """Leaves those of some rows for which an input is open. Gives how many."""
    left = 0
    for j in range(count):
        i = some[j]
        some[left] = i
        left += others[n, i] == OPEN
    return left


@lean
def _is_of_clock(kind: int) -> bool:
    return kind <= AFTER_ROWS or kind == ORDERED


@lean
def noted(r: int, source: int, tables: Tables, rules: Rules) -> tuple[int, int, int]:
    """Where the word of a row is to which a rule of a clock adds something: address, bytes from row to row, and what.

    When the clock has reached that, the rule closes its input for the row.
    """
    if rules.lines[r, KIND] == ORDERED:
        rows, width = tables.stores[source, ROWS], tables.stores[source, WIDTH]
        return rows + 8 * tables.columns[source, rules.variables[r, 0]], 8 * width, 1
    if rules.lines[r, KIND] == IN_TIME:
        return tables.stores[source, STARTS], 8, rules.lines[r, LIMIT]
    return rules.lines[r, STAMPS], 8, rules.lines[r, LIMIT]


@lean
def _close_by_clock(
    n: int, r: int, count: int, block: Ints, star: Star, tables: Tables, rules: Rules, room: Room
) -> None:
    now, is_static = rules.clocks[rules.lines[r, CLOCK]], rules.lines[r, KIND] == STATIC
    at, stride, added = noted(r, star.source, tables, rules)
    closed = WITHOUT if star.retained else CLOSED
    if not is_static and now <= -NEVER:
        return  # a stream that has passed nothing
    for j in range(count):
        i = room.some[j]
        if is_static or peek(at + stride * block[i]) <= now - added:
            room.others[n, i] = closed


@lean
def _close_by_value(
    n: int,
    r: int,
    count: int,
    block: Ints,
    source: int,
    retained: bool,
    tables: Tables,
    rules: Rules,
    waits: int,
    room: Room,
) -> None:
    """By what was found of the rows' values."""
    kind = rules.lines[r, KIND]
    if kind == CLUSTERED:
        _close_by_cluster(n, r, count, block, retained, tables, rules, waits, room)
    elif kind == LIVING:
        _close_for_life(n, r, count, block, source, retained, tables, rules, room)
    elif kind == BY_KEY:
        for j in range(count):
            room.others[n, room.some[j]] = room.found[j] if room.found[j] >= 0 else OPEN
    else:
        closed = WITHOUT if kind == IN_NO or retained else CLOSED
        for j in range(count):
            room.others[n, room.some[j]] = closed if room.found[j] >= 0 else OPEN


@lean
def _close_by_cluster(
    n: int, r: int, count: int, block: Ints, retained: bool, tables: Tables, rules: Rules, waits: int, room: Room
) -> None:
    closed = WITHOUT if retained else CLOSED
    clock, limit = rules.lines[r, CLOCK], rules.lines[r, LIMIT]
    now, clocks = rules.clocks[clock], len(rules.clocks)
    store = tables.stores[tables.indexes[rules.lines[r, INDEX], STORE]]
    words, stride = store[ROWS] + 8 * tables.indexes[rules.lines[r, INDEX], COLUMNS], 8 * store[WIDTH]
    for j in range(count):
        i, slot = room.some[j], room.found[j]
        if slot >= 0:
            due = peek(words + stride * slot) + limit
            room.others[n, i] = closed if now >= due else OPEN
            if waits != 0:
                where = waits + 8 * (block[i] * clocks + clock)
                poke(where, min(peek(where), due))


@lean
def _close_for_life(
    n: int, r: int, count: int, block: Ints, source: int, retained: bool, tables: Tables, rules: Rules, room: Room
) -> None:
    """Where the punctuation that was found holds until the row has left its window."""
    closed = WITHOUT if retained else CLOSED
    starts, reach, lifespan = tables.stores[source, STARTS], rules.reaches[source], rules.lines[r, LIMIT]
    store = tables.stores[tables.indexes[rules.lines[r, INDEX], STORE]]
    words, stride = store[ROWS] + 8 * tables.indexes[rules.lines[r, INDEX], COLUMNS], 8 * store[WIDTH]
    for j in range(count):
        i, slot = room.some[j], room.found[j]
        if slot >= 0 and outlives(peek(words + stride * slot), lifespan, peek(starts + 8 * block[i]), reach):
            room.others[n, i] = closed


@lean
def _check_the_rest(
    n: int, r: int, count: int, block: Ints, source: int, tables: Tables, rules: Rules, room: Room
) -> None:
    """Where the row that has the key differs in something else, or is too far in time, there is no partner at all."""
    target = rules.lines[r, TARGET]
    _check_times(n, count, block, source, target, tables, rules, room)
    rest = tables.has[source] & tables.has[target] & ~rules.lines[r, NEEDS]
    own, there = tables.stores[source], tables.stores[target]
    for v in range(tables.columns.shape[1]):
        if (rest >> v) & 1 == 0:
            continue
        mine, its = own[ROWS] + 8 * tables.columns[source, v], there[ROWS] + 8 * tables.columns[target, v]
        for j in range(count):
            partner = room.others[n, room.some[j]]
            if partner >= 0:
                here = peek(mine + 8 * own[WIDTH] * block[room.some[j]])
                if here != peek(its + 8 * there[WIDTH] * partner):
                    room.others[n, room.some[j]] = WITHOUT


@lean
def _check_times(
    n: int, count: int, block: Ints, source: int, target: int, tables: Tables, rules: Rules, room: Room
) -> None:
    own, there = tables.stores[source, STARTS], tables.stores[target, STARTS]
    for t in range(len(rules.times)):
        later, earlier, reach = rules.times[t, 0], rules.times[t, 1], rules.times[t, 2]
        is_later = later == source and earlier == target
        if not is_later and (later != target or earlier != source):
            continue
        for j in range(count):
            partner = room.others[n, room.some[j]]
            if partner >= 0:
                mine, its = peek(own + 8 * block[room.some[j]]), peek(there + 8 * partner)
                if (mine >= its + reach) if is_later else (its >= mine + reach):
                    room.others[n, room.some[j]] = WITHOUT


@lean
def _find(r: int, count: int, block: Ints, source: int, tables: Tables, rules: Rules, room: Room) -> None:
    """Probes the index of a rule with some rows' values: the slot that has them, or -1."""
    index = rules.lines[r, INDEX]
    heads, links, mask = tables.indexes[index, HEADS], tables.indexes[index, LINKS], tables.indexes[index, MASK]
    width, store = tables.indexes[index, COLUMNS], tables.indexes[index, STORE]
    rows, stride = tables.stores[store, ROWS], 8 * tables.stores[store, WIDTH]
    for c in range(width):
        at = tables.stores[source, ROWS] + 8 * tables.columns[source, rules.variables[r, c]]
        for j in range(count):
            room.keys[j, c] = peek(at + 8 * tables.stores[source, WIDTH] * block[room.some[j]])
    for j in range(count):
        room.hashes[j] = prefix_hash(room.keys, j, width)
        prefetch(heads + 8 * (room.hashes[j] & mask))
    for j in range(count):
        slot = first(heads, mask, room.hashes[j])
        room.found[j] = slot
        if slot >= 0:
            prefetch(rows + stride * slot)
    for j in range(count):
        slot = room.found[j]
        while slot >= 0:
            same = True
            for c in range(width):
                same &= peek(rows + stride * slot + 8 * tables.index_columns[index, c]) == room.keys[j, c]
            if same:
                break
            slot = following(links, slot)
        room.found[j] = slot


@lean
def _wait(n: int, stuck: int, block: Ints, star: Star, tables: Tables, rules: Rules, waits: int, room: Room) -> None:
    """Notes which clocks rows wait for: where an input is open, and else until their partner leaves its window."""
    source, clocks, keyed = star.source, len(rules.clocks), -1
    for step in range(star.begins[n], star.begins[n + 1]):
        r = star.steps[step]
        kind = rules.lines[r, KIND]
        if kind == BY_KEY:
            keyed = rules.lines[r, TARGET]
        if rules.lines[r, NEEDS] & ~tables.has[source] != 0 or kind == STATIC or not _is_of_clock(kind):
            continue
        at, stride, added = noted(r, source, tables, rules)
        for j in range(stuck):
            i = room.some[j]
            where, word = waits + 8 * (block[i] * clocks + rules.lines[r, CLOCK]), peek(at + stride * block[i])
            due = word + added if word < NEVER and room.others[n, i] == OPEN else NEVER
            poke(where, min(peek(where), due))
    if keyed >= 0:
        _wait_for_windows(n, stuck, block, source, keyed, tables, rules, waits, room)


@lean
def _wait_for_windows(
    n: int, stuck: int, block: Ints, source: int, target: int, tables: Tables, rules: Rules, waits: int, room: Room
) -> None:
    """Notes when partners leave their windows; where that is not known, that a row is then twice as old."""
    reach, now, clocks = rules.reaches[target], rules.clocks[TIME], len(rules.clocks)
    starts, own = tables.stores[target, STARTS], tables.stores[source, STARTS]
    for j in range(stuck):
        i, partner = room.some[j], room.others[n, room.some[j]]
        where, start = waits + 8 * (block[i] * clocks + TIME), own + 8 * block[i]
        due = NEVER
        if reach >= 0:
            came = peek(starts + 8 * partner if partner >= 0 else start)
            due = came + reach + 1 if partner >= 0 else NEVER
        elif reach == NOT_KNOWN and partner >= 0:
            age = now - peek(start) + 1
            due = now + age if age < NEVER - now else NEVER
        poke(where, min(peek(where), due))
