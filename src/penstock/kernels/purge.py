"""The generalized chained purge (004, section 4.2) over the stores of a join: which rows can join nothing new?

A row is a *binding*. A binding moves on to an input whose rules say that no more of its rows joins it, and becomes the
bindings with the rows of that input that are there. The row goes when no binding is left, or when each one holds a row
of every input. As printed, the purge takes the values of a step from stored rows and loses results; here they come from
the binding.

A binding that cannot move on says what it waits for: a *clock* that has to reach some value, or something that comes
with certain values. Clocks count time, the rows of a stream, or up to which value a stream has passed.

Stores and indexes are addresses (`pointers`), in tables with a line each. The first stores are the join's inputs; the
others hold evidence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.bloom import may_have
from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import first, following
from penstock.kernels.jit import inlined, kernel, lean
from penstock.kernels.pointers import peek, peek_half, poke

Ints = NDArray[np.int64]

#: Columns of the table of stores: addresses of rows and of starts, words per row.
ROWS, STARTS, WIDTH = range(3)
#: Columns of the table of indexes: the store, how many columns, addresses of heads and links, mask of buckets, and as
#: bits the variables that its columns hold.
STORE, COLUMNS, HEADS, LINKS, MASK, VARIABLES = range(6)
#: Columns of the table of rules: what it is, of which input, by a row of which other, how much, by which clock, the
#: index to look in, how many values it wants, the address of what is noted with the source's rows, and as bits the
#: variables that must be known, so that the rule applies and rows of the target can be found.
KIND, TARGET, SOURCE, LIMIT, CLOCK, INDEX, KEYS, STAMPS, NEEDS = range(9)

#: Kinds of rules. No more row of the target joins ...
STATIC = 0  # ... at all.
IN_TIME = 1  # ... a row of the source that is that old.
AFTER_ROWS = 2  # ... a row of the source since which so many rows of the target have come.
PUNCTUATED = 3  # ... with values that a punctuation closed.
BY_KEY = 4  # ... with the values of a key of which the row is there.
CLUSTERED = 5  # ... with values that came, and since then more than so many others.
ORDERED = 6  # ... with a value that the target has passed.
IN_NO = 7  # ... with the values of a key of which the row came, and can be in no result.

#: The clock of time. Its value is the first instant that is not closed.
TIME = 0
NEVER = (1 << 63) - 1
#: What a row waits for: how many hashes of values, and of each clock the value that it has to reach.
WATCHED, FIRST_CLOCK = range(2)
#: Rows that are looked at for one row before it is left alone until a partner of it goes.
EFFORT = 4096


class Tables(NamedTuple):
    """The stores and indexes of a join, and what their columns are.

    `index_columns` and `index_variables` have of each index its columns and the variables that they hold, `columns` of
    each input the column that holds a variable, or -1, and `has`, as bits, which it has.
    """

    stores: Ints
    indexes: Ints
    index_columns: Ints
    index_variables: Ints
    columns: Ints
    has: Ints


class Rules(NamedTuple):
    """The rules, the variables that they want, the clocks, and how long rows of each input are in its window, or -1."""

    lines: Ints
    variables: Ints
    clocks: Ints
    reaches: Ints


class Spilled(NamedTuple):
    """Rows that lie elsewhere: of each index a filter of their hashes, its address and mask; none if no row does.

    What is hashed is the value of a variable, or, where `words` has an address, the word there that it is the place of.
    """

    filters: Ints
    words: Ints


#: No row lies elsewhere.
ALL_HERE = Spilled(np.zeros((0, 2), np.int64), np.zeros(0, np.int64))


class Scratch(NamedTuple):
    """Room to work in: a binding, the inputs that were joined to it and how, a key, and what a row waits for."""

    bound: Ints
    path: Ints
    key: Ints
    waits: Ints
    watched: Ints


#: As many things a row watches for at most, beside clocks.
MOST_WATCHED = 16
#: The lines of a path: at each depth the input that is joined next, by which index, and its next row.
JOINED, BY, NEXT = range(3)


def scratch(tables: Tables, clocks: int) -> Scratch:
    width, most = len(tables.columns), tables.index_columns.shape[1] + 2
    return Scratch(
        np.full(width, -1, np.int64),
        np.zeros((3, width), np.int64),
        np.zeros((1, most), np.int64),
        np.zeros(FIRST_CLOCK + clocks, np.int64),
        np.zeros(MOST_WATCHED, np.int64),
    )


@lean
def value_of(variable: int, bound: Ints, tables: Tables) -> int:
    """The value of a variable in a binding; it must be known."""
    stores, columns = tables.stores, tables.columns
    for n in range(len(bound)):
        if bound[n] >= 0 and columns[n, variable] >= 0:
            return peek(stores[n, ROWS] + 8 * (bound[n] * stores[n, WIDTH] + columns[n, variable]))
    return 0


@lean
def known_variables(bound: Ints, has: Ints) -> int:
    """As bits, the variables of which a binding has values; `has` are those of each input."""
    known = 0
    for n in range(len(bound)):
        if bound[n] >= 0:
            known |= has[n]
    return known


@lean
def joins(target: int, slot: int, bound: Ints, tables: Tables) -> bool:
    """Whether a row agrees with a binding on all variables that both have."""
    stores, columns = tables.stores, tables.columns
    row = stores[target, ROWS] + 8 * slot * stores[target, WIDTH]
    for v in range(columns.shape[1]):
        if columns[target, v] >= 0:
            word = peek(row + 8 * columns[target, v])
            for n in range(len(bound)):
                if bound[n] >= 0 and columns[n, v] >= 0:
                    if peek(stores[n, ROWS] + 8 * (bound[n] * stores[n, WIDTH] + columns[n, v])) != word:
                        return False
                    break
    return True


@lean
def usable_index(target: int, known: int, indexes: Ints) -> int:
    """The index of an input whose columns hold known variables, the one of the most columns; -1 if there is none."""
    best = -1
    for i in range(len(indexes)):
        is_better = best < 0 or indexes[i, COLUMNS] > indexes[best, COLUMNS]
        if is_better and indexes[i, STORE] == target and indexes[i, VARIABLES] & ~known == 0:
            best = i
    return best


@lean
def first_by(index: int, bound: Ints, tables: Tables, key: Ints) -> int:
    """The first slot of an input that may join a binding."""
    line = tables.indexes[index]
    for c in range(line[COLUMNS]):
        key[0, c] = value_of(tables.index_variables[index, c], bound, tables)
    return first(line[HEADS], line[MASK], prefix_hash(key, 0, line[COLUMNS]))


@lean
def may_be_spilled(index: int, bound: Ints, tables: Tables, spilled: Spilled, key: Ints) -> bool:
    """Whether a row that joins a binding may lie elsewhere."""
    if len(spilled.filters) == 0 or spilled.filters[index, 0] == 0:
        return False
    count = tables.indexes[index, COLUMNS]
    for c in range(count):
        variable = tables.index_variables[index, c]
        key[0, c] = value_of(variable, bound, tables)
        if spilled.words[variable] != 0:
            key[0, c] = peek(spilled.words[variable] + 8 * key[0, c])
    return may_have(spilled.filters[index, 0], spilled.filters[index, 1], prefix_hash(key, 0, count))


@lean
def find(index: int, count: int, tables: Tables, key: Ints) -> int:
    """The slot whose columns of the index hold the key, or -1."""
    line, store = tables.indexes[index], tables.stores[tables.indexes[index, STORE]]
    slot = first(line[HEADS], line[MASK], prefix_hash(key, 0, count))
    while slot >= 0:
        row = store[ROWS] + 8 * slot * store[WIDTH]
        same = True
        for c in range(count):
            same &= peek(row + 8 * tables.index_columns[index, c]) == key[0, c]
        if same:
            return slot
        slot = following(line[LINKS], slot)
    return -1


@lean
def _wait_for_nothing(waits: Ints) -> None:
    """Neither for a clock nor for something that comes."""
    waits[WATCHED] = 0
    for clock in range(FIRST_CLOCK, len(waits)):
        waits[clock] = NEVER


@lean
def _wait_for(clock: int, value: int, waits: Ints) -> None:
    """Notes what a clock has to reach; the sooner, if there are several such values."""
    waits[FIRST_CLOCK + clock] = min(waits[FIRST_CLOCK + clock], value)


@lean
def _watch(rule: int, count: int, key: Ints, waits: Ints, watched: Ints) -> None:
    """Notes that something of the key's values is waited for."""
    if waits[WATCHED] < len(watched):
        for c in range(count, 0, -1):
            key[0, c] = key[0, c - 1]
        key[0, 0] = rule
        watched[waits[WATCHED]] = prefix_hash(key, 0, count + 1)
        waits[WATCHED] += 1


@inlined
def closed_input(own: int, tables: Tables, rules: Rules, room: Scratch) -> int:
    """An input that is not in the binding and of which no more row joins it; -1 if there is none, and what to wait for.

    `waits` has then how many hashes are in `watched`, and from FIRST_CLOCK on what each clock has to reach. A row that
    waits for values that it has itself, in its `own` variables, need not watch for them: the join's indexes find it.
    """
    bound, key, waits = room.bound, room.key, room.waits
    _wait_for_nothing(waits)
    known = known_variables(bound, tables.has)
    for r in range(len(rules.lines)):
        rule = rules.lines[r]
        target, source, kind = rule[TARGET], rule[SOURCE], rule[KIND]
        if bound[target] >= 0 or rule[NEEDS] & ~known != 0:
            continue
        if kind == STATIC:
            if usable_index(target, known, tables.indexes) >= 0:
                return int(target)
            continue
        if kind <= AFTER_ROWS:
            if bound[source] < 0:
                continue
            noted = peek((tables.stores[source, STARTS] if kind == IN_TIME else rule[STAMPS]) + 8 * bound[source])
            if rules.clocks[rule[CLOCK]] >= noted + rule[LIMIT]:
                return int(target)
            _wait_for(rule[CLOCK], noted + rule[LIMIT], waits)
            continue
        count = rule[KEYS]
        for c in range(count):
            key[0, c] = value_of(rules.variables[r, c], bound, tables)
        if kind == ORDERED:
            if key[0, 0] < rules.clocks[rule[CLOCK]]:
                return int(target)
            _wait_for(rule[CLOCK], key[0, 0] + 1, waits)
            continue
        slot = find(rule[INDEX], count, tables, key)
        if slot < 0:
            # Who waits for a key watches for it already.
            if kind != IN_NO and rule[NEEDS] & ~own != 0:
                _watch(r, count, key, waits, room.watched)
        elif kind == CLUSTERED:
            store = tables.stores[tables.indexes[rule[INDEX], STORE]]
            due = peek(store[ROWS] + 8 * (slot * store[WIDTH] + count)) + rule[LIMIT]
            if rules.clocks[rule[CLOCK]] >= due:
                return int(target)
            _wait_for(rule[CLOCK], due, waits)
        else:
            return int(target)
    return -1


@inlined
def is_purgeable(
    source: int, slot: int, retracts: bool, tables: Tables, rules: Rules, spilled: Spilled, room: Scratch
) -> bool:
    """Whether a row can join nothing new; else what it waits for is in `waits` and `watched`.

    Where results are taken back, a row that is in one stays until a row of it leaves its window, after `reaches`.
    """
    bound, path, waits = room.bound, room.path, room.waits
    width = len(bound)
    for n in range(width):
        bound[n] = -1
    bound[source] = slot
    depth, entering, looked = 0, True, 0
    while depth >= 0:
        if entering:
            if depth + 1 == width:
                if retracts:
                    _wait_for_nothing(waits)
                    for n in range(width):
                        if rules.reaches[n] >= 0:
                            start = peek(tables.stores[n, STARTS] + 8 * bound[n])
                            _wait_for(TIME, start + rules.reaches[n] + 1, waits)
                    return False
                depth -= 1
                entering = False
                continue
            target = closed_input(tables.has[source], tables, rules, room)
            if target < 0:
                return False
            if depth + 2 == width and not retracts:
                # With whatever row of the last input, the binding would hold one of each.
                depth -= 1
                entering = False
                continue
            path[JOINED, depth] = target
            path[BY, depth] = usable_index(target, known_variables(bound, tables.has), tables.indexes)
            if may_be_spilled(path[BY, depth], bound, tables, spilled, room.key):
                _wait_for_nothing(waits)
                return False
            candidate = first_by(path[BY, depth], bound, tables, room.key)
        else:
            target = path[JOINED, depth]
            bound[target] = -1
            candidate = path[NEXT, depth]
        links = tables.indexes[path[BY, depth], LINKS]
        while candidate >= 0 and not joins(target, candidate, bound, tables):
            candidate = following(links, candidate)
            looked += 1
        looked += 1
        if looked > EFFORT:
            _wait_for_nothing(waits)
            return False
        if candidate < 0:
            depth -= 1
            entering = False
        else:
            path[NEXT, depth] = following(links, candidate)
            bound[target] = candidate
            depth += 1
            entering = True
    return True


def examine(
    inputs: Ints,
    slots: Ints,
    retracts: bool,
    tables: Tables,
    rules: Rules,
    wakes: Ints,
    spilled: Spilled = ALL_HERE,
) -> tuple[Ints, Ints, Ints]:
    """Which of these rows can go, as places among them; and for those that stay, what they watch: place and hash.

    Of each input `wakes` has the address of a word per slot and clock: what the clock has to reach. A row that may join
    one that is `spilled` stays.
    """
    gone = np.empty(len(slots), np.int64)
    of_values = int((rules.lines[:, KIND] > AFTER_ROWS).sum())
    watches = np.empty((2, min(MOST_WATCHED, of_values) * len(slots)), np.int64)
    room = scratch(tables, len(rules.clocks))
    goers, watching = _examine(inputs, slots, retracts, tables, rules, wakes, spilled, room, gone, watches)
    return gone[:goers], watches[0, :watching], watches[1, :watching]


@lean
def _examine(
    inputs: Ints,
    slots: Ints,
    retracts: bool,
    tables: Tables,
    rules: Rules,
    wakes: Ints,
    spilled: Spilled,
    room: Scratch,
    gone: Ints,
    watches: Ints,
) -> tuple[int, int]:
    """How many can go, and how many watch. It makes no arrays, so that nothing in its loop counts references."""
    goers, watching, clocks = 0, 0, len(rules.clocks)
    for i in range(len(slots)):
        if is_purgeable(inputs[i], slots[i], retracts, tables, rules, spilled, room):
            gone[goers] = i
            goers += 1
            continue
        for clock in range(clocks):
            poke(wakes[inputs[i]] + 8 * (slots[i] * clocks + clock), room.waits[FIRST_CLOCK + clock])
        for w in range(room.waits[WATCHED]):
            watches[0, watching], watches[1, watching] = i, room.watched[w]
            watching += 1
    return goers, watching


class Neighbours(NamedTuple):
    """By which index rows of one input find those of another, or -1; and of each input the columns to probe it with."""

    by: Ints
    places: Ints


def neighbours(wanted: Ints, tables: Tables) -> Neighbours:
    """Between all inputs; only rows of the wanted ones are found."""
    width = len(tables.columns)
    by = np.full((width, width), -1, np.int64)
    for n, target in np.ndindex(width, width):
        if n != target and wanted[target]:
            by[n, target] = usable_index(target, int(tables.has[n]), tables.indexes)
    return Neighbours(by, np.take(tables.columns, np.maximum(tables.index_variables, 0), axis=1))


def partners(inputs: Ints, slots: Ints, near: Neighbours, tables: Tables) -> tuple[Ints, Ints]:
    """The rows that join one of these rows directly. Some may come twice."""
    room = scratch(tables, 0)
    found, count, start = np.empty((2, max(64, len(slots))), np.int64), 0, 0
    while start < len(slots):
        start, count = _partners(inputs, slots, start, near, tables, room, found, count)
        if start < len(slots):
            found = np.concatenate((found, np.empty_like(found)), axis=1)
    return found[0, :count], found[1, :count]


@lean
def _partners(
    inputs: Ints,
    slots: Ints,
    start: int,
    near: Neighbours,
    tables: Tables,
    room: Scratch,
    found: Ints,
    count: int,
) -> tuple[int, int]:
    """Goes on with the row at `start`. Gives the row for which there was no room, and how many were found before it."""
    bound, key = room.bound, room.key
    for i in range(start, len(slots)):
        source, before = inputs[i], count
        row = tables.stores[source, ROWS] + 8 * slots[i] * tables.stores[source, WIDTH]
        bound[source] = slots[i]
        for target in range(len(near.by)):
            index = near.by[source, target]
            if index < 0 or tables.indexes[index, COLUMNS] == 0:
                continue
            line = tables.indexes[index]
            for c in range(line[COLUMNS]):
                key[0, c] = peek(row + 8 * near.places[source, index, c])
            slot = first(line[HEADS], line[MASK], prefix_hash(key, 0, line[COLUMNS]))
            while slot >= 0:
                if joins(target, slot, bound, tables):
                    if count == found.shape[1]:
                        bound[source] = -1
                        return i, before
                    found[0, count], found[1, count] = target, slot
                    count += 1
                slot = following(line[LINKS], slot)
        bound[source] = -1
    return len(slots), count


@kernel
def each_once(inputs: Ints, slots: Ints, notes: Ints, turn: int) -> tuple[Ints, Ints]:
    """The rows that are in the join, each once.

    Of each input `notes` has two addresses: of its rows' lives, and of the turns in which they were last chosen.
    An input without them is not wanted.
    """
    chosen_inputs, chosen = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    count = 0
    for i in range(len(slots)):
        lives, turns = notes[inputs[i], 0], notes[inputs[i], 1]
        if lives != 0 and peek_half(lives + 4 * slots[i]) != 0 and peek(turns + 8 * slots[i]) != turn:
            poke(turns + 8 * slots[i], turn)
            chosen_inputs[count], chosen[count] = inputs[i], slots[i]
            count += 1
    return chosen_inputs[:count], chosen[:count]


@kernel
def awake(values: Ints, lives: NDArray[np.int32], clocks: Ints) -> Ints:
    """The slots of rows for which a clock has reached what they wait for; `values` has a column for each clock."""
    count = min(len(values), len(lives))
    found = np.empty(count, np.int64)
    size = 0
    for slot in range(count):
        if lives[slot] != 0:
            for clock in range(len(clocks)):
                if values[slot, clock] <= clocks[clock]:
                    found[size] = slot
                    size += 1
                    break
    return found[:size].copy()
