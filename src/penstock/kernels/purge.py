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
from penstock.kernels.jit import inlined, lean
from penstock.kernels.pointers import peek, poke

Ints = NDArray[np.int64]

#: Columns of the table of stores: addresses of rows and of starts, words per row.
ROWS, STARTS, WIDTH = range(3)
#: Columns of the table of indexes: the store, how many columns, addresses of heads and links, mask of buckets, and as
#: bits the variables that its columns hold.
STORE, COLUMNS, HEADS, LINKS, MASK, VARIABLES = range(6)
#: Columns of the table of rules: what it is, of which input, by a row of which other, how much, by which clock, the
#: index to probe, how many values it wants, the address of what is noted with the source's rows, and as bits the
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
LIVING = 8  # ... with values that a punctuation closed for so long.

#: The clock of time. Its value is the first instant that is not closed.
TIME = 0
NEVER = (1 << 63) - 1
#: What a row waits for: how many hashes of values, and of each clock the value that it has to reach. Where an input is
#: closed by its key, the row with that key, else -1.
WATCHED, KEYED, FIRST_CLOCK = range(3)
#: In place of how long rows are in a window: indefinitely, and until something else happens than time.
ALWAYS, NOT_KNOWN = -1, -2
#: Rows that are followed for one row before it is left alone for a while.
EFFORT = 4096


class Tables(NamedTuple):
    """The stores and indexes of a join, and what their columns are.

    `index_columns` and `index_variables` have of each index its columns and the variables that they hold, `columns` of
    each input the column that holds a variable, or -1, and `has`, as bits, which it has. Its indexes are those of
    `indexes_of` from its place in `firsts` up to the next one's: those of more columns first.
    """

    stores: Ints
    indexes: Ints
    index_columns: Ints
    index_variables: Ints
    columns: Ints
    has: Ints
    firsts: Ints
    indexes_of: Ints


class Rules(NamedTuple):
    """The rules, the variables that they want, the clocks, and how long rows of each input are in its window.

    `times` has inputs whose rows join only if they are close in time: the later one, the earlier, and how much later a
    row is too late.

    Which rules may say something of a binding is known from the inputs that it has rows of, which as bits are a number:
    those of `steps` from its place in `begins` up to the next one's. Where there are too many inputs, all may.
    """

    lines: Ints
    variables: Ints
    clocks: Ints
    reaches: Ints
    times: Ints
    begins: Ints
    steps: Ints


class Spilled(NamedTuple):
    """Rows that lie elsewhere: of each index a filter of their hashes, its address and mask; none if no row does.

    What is hashed is the value of a variable, or, where `words` has an address, the word there that it is the place of.
    """

    filters: Ints
    words: Ints


#: No row lies elsewhere.
ALL_HERE = Spilled(np.zeros((0, 2), np.int64), np.zeros(0, np.int64))


class Scratch(NamedTuple):
    """Room to work in: a binding and the values of its variables, the inputs that were joined to it and how, a key, and
    what a row waits for."""

    bound: Ints
    values: Ints
    path: Ints
    key: Ints
    waits: Ints
    reports: Ints


#: As many things a row watches for at most, beside clocks.
MOST_WATCHED = 16
#: The lines of a path: at each depth the variables that are known, as bits, the input that is joined next, by which
#: index, and its next row.
KNOWN, JOINED, BY, NEXT = range(4)


def scratch(tables: Tables, clocks: int) -> Scratch:
    width, most = len(tables.columns), tables.index_columns.shape[1] + 2
    return Scratch(
        np.full(width, -1, np.int64),
        np.zeros(tables.columns.shape[1], np.int64),
        np.zeros((4, width), np.int64),
        np.zeros((1, most), np.int64),
        np.zeros(FIRST_CLOCK + clocks, np.int64),
        np.zeros(MOST_WATCHED, np.int64),
    )


@inlined
def bind(source: int, slot: int, known: int, tables: Tables, values: Ints) -> int:
    """Takes the values of a row's variables that are not known. Gives those that are then, as bits."""
    row = tables.stores[source, ROWS] + 8 * slot * tables.stores[source, WIDTH]
    for v in range(len(values)):
        if ((tables.has[source] & ~known) >> v) & 1:
            values[v] = peek(row + 8 * tables.columns[source, v])
    return int(known | tables.has[source])


@inlined
def joins(target: int, slot: int, known: int, tables: Tables, values: Ints) -> bool:
    """Whether a row agrees with a binding on all variables that both have."""
    row = tables.stores[target, ROWS] + 8 * slot * tables.stores[target, WIDTH]
    for v in range(len(values)):
        if ((tables.has[target] & known) >> v) & 1 and peek(row + 8 * tables.columns[target, v]) != values[v]:
            return False
    return True


@inlined
def are_close(target: int, slot: int, tables: Tables, rules: Rules, bound: Ints) -> bool:
    """Whether a row is close enough in time to those of a binding to join them.

    A row of the source of a band joins only rows of the target from there on, up to its end: later ones need not be
    followed, and would keep it as long as there are any.

        source    ─────●───────────────────▶
        target    ──────○───○───○─┊─×──×───▶    ○ may join, × is too late
    """
    start = peek(tables.stores[target, STARTS] + 8 * slot)
    for t in range(len(rules.times)):
        later, earlier = rules.times[t, 0], rules.times[t, 1]
        if later == target and bound[earlier] >= 0:
            if start >= peek(tables.stores[earlier, STARTS] + 8 * bound[earlier]) + rules.times[t, 2]:
                return False
        elif (
            earlier == target
            and bound[later] >= 0
            and peek(tables.stores[later, STARTS] + 8 * bound[later]) >= start + rules.times[t, 2]
        ):
            return False
    return True


@inlined
def have_left(target: int, tables: Tables, rules: Rules, bound: Ints) -> bool:
    """Whether all rows of an input that are close enough in time to those of a binding have left their window."""
    for t in range(len(rules.times)):
        earlier = rules.times[t, 1]
        if rules.times[t, 0] == target and bound[earlier] >= 0 and rules.reaches[target] >= 0:
            start = peek(tables.stores[earlier, STARTS] + 8 * bound[earlier])
            # The last of them leaves at that instant, which has to be closed.
            if rules.clocks[TIME] > start + rules.times[t, 2] + rules.reaches[target]:
                return True
    return False


@inlined
def usable_index(target: int, known: int, tables: Tables) -> int:
    """The index of an input whose columns hold known variables, the one of the most columns; -1 if there is none."""
    for i in range(tables.firsts[target], tables.firsts[target + 1]):
        if tables.indexes[tables.indexes_of[i], VARIABLES] & ~known == 0:
            return int(tables.indexes_of[i])
    return -1


@inlined
def first_by(index: int, tables: Tables, values: Ints, key: Ints) -> int:
    """The first slot of an input that may join a binding."""
    line = tables.indexes[index]
    for c in range(line[COLUMNS]):
        key[0, c] = values[tables.index_variables[index, c]]
    return first(line[HEADS], line[MASK], prefix_hash(key, 0, line[COLUMNS]))


@lean
def may_be_spilled(index: int, tables: Tables, spilled: Spilled, values: Ints, key: Ints) -> bool:
    """Whether a row that joins a binding may lie elsewhere."""
    if len(spilled.filters) == 0 or spilled.filters[index, 0] == 0:
        return False
    count = tables.indexes[index, COLUMNS]
    for c in range(count):
        variable = tables.index_variables[index, c]
        key[0, c] = values[variable]
        if spilled.words[variable] != 0:
            key[0, c] = peek(spilled.words[variable] + 8 * key[0, c])
    return may_have(spilled.filters[index, 0], spilled.filters[index, 1], prefix_hash(key, 0, count))


@inlined
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


@inlined
def _wait_for_nothing(waits: Ints) -> None:
    """Neither for a clock nor for something that comes."""
    waits[WATCHED], waits[KEYED] = 0, -1
    for clock in range(FIRST_CLOCK, len(waits)):
        waits[clock] = NEVER


@inlined
def _wait_for(clock: int, value: int, waits: Ints) -> None:
    """Notes what a clock has to reach; the sooner, if there are several such values."""
    waits[FIRST_CLOCK + clock] = min(waits[FIRST_CLOCK + clock], value)


@lean
def _watch(rule: int, count: int, room: Scratch) -> bool:
    """Notes that something of the key's values is waited for, if there is room for that."""
    key, waits, reports = room.key, room.waits, room.reports
    if waits[WATCHED] == len(reports):
        return False
    for c in range(count, 0, -1):
        key[0, c] = key[0, c - 1]
    key[0, 0] = rule
    reports[waits[WATCHED]] = prefix_hash(key, 0, count + 1)
    waits[WATCHED] += 1
    return True


@lean
def _leave_alone(start: int, now: int, waits: Ints) -> None:
    """Not all that a row waits for is known: it is examined again when it is twice as old."""
    age = now - start + 1
    _wait_for(TIME, now + age if age < NEVER - now else NEVER, waits)


@inlined
def _wait_for_windows(source: int, since: int, tables: Tables, rules: Rules, room: Scratch) -> None:
    """Notes when a row of the binding, but for that of the source, leaves its window."""
    for n in range(len(room.bound)):
        if n == source or room.bound[n] < 0:
            continue
        if rules.reaches[n] >= 0:
            came = peek(tables.stores[n, STARTS] + 8 * room.bound[n])
            _wait_for(TIME, came + rules.reaches[n] + 1, room.waits)
        elif rules.reaches[n] == NOT_KNOWN:
            _leave_alone(since, rules.clocks[TIME], room.waits)


@lean
def outlives(came: int, lifespan: int, since: int, reach: int) -> bool:
    """Whether a punctuation holds until a row that is there since an instant has left its window."""
    return reach >= 0 and since + reach <= came + lifespan


@inlined
def closing_rule(source: int, since: int, inputs: int, known: int, tables: Tables, rules: Rules, room: Scratch) -> int:
    """A rule by which no more row of an input that is not in the binding joins it; -1 if there is none.

    `waits` has then how many hashes are in `watched`, and from FIRST_CLOCK on what each clock has to reach. A row that
    is there `since` an instant, and waits for values that it has itself need not watch for them: the join's
    indexes find it.
    """
    bound, values, key, waits = room.bound, room.values, room.key, room.waits
    _wait_for_nothing(waits)
    program = inputs & (len(rules.begins) - 2)
    for step in range(rules.begins[program], rules.begins[program + 1]):
        r = rules.steps[step]
        rule = rules.lines[r]
        kind = rule[KIND]
        if bound[rule[TARGET]] >= 0 or rule[NEEDS] & ~known != 0:
            continue
        if kind == STATIC:
            if usable_index(rule[TARGET], known, tables) >= 0:
                return int(r)
            continue
        if kind <= AFTER_ROWS:
            by = rule[SOURCE]
            if bound[by] < 0:
                continue
            noted = peek((tables.stores[by, STARTS] if kind == IN_TIME else rule[STAMPS]) + 8 * bound[by])
            if rules.clocks[rule[CLOCK]] >= noted + rule[LIMIT]:
                return int(r)
            _wait_for(rule[CLOCK], noted + rule[LIMIT], waits)
            continue
        count = rule[KEYS]
        for c in range(count):
            key[0, c] = values[rules.variables[r, c]]
        if kind == ORDERED:
            if key[0, 0] < rules.clocks[rule[CLOCK]]:
                return int(r)
            _wait_for(rule[CLOCK], key[0, 0] + 1, waits)
            continue
        slot = find(rule[INDEX], count, tables, key)
        if slot < 0:
            # A row that waits for a key is on the watch list already.
            if kind != IN_NO and rule[NEEDS] & ~tables.has[source] != 0 and not _watch(r, count, room):
                _leave_alone(since, rules.clocks[TIME], waits)
        elif kind == CLUSTERED:
            store = tables.stores[tables.indexes[rule[INDEX], STORE]]
            due = peek(store[ROWS] + 8 * (slot * store[WIDTH] + count)) + rule[LIMIT]
            if rules.clocks[rule[CLOCK]] >= due:
                return int(r)
            _wait_for(rule[CLOCK], due, waits)
        elif kind == LIVING:
            store = tables.stores[tables.indexes[rule[INDEX], STORE]]
            came = peek(store[ROWS] + 8 * (slot * store[WIDTH] + count))
            if outlives(came, rule[LIMIT], since, rules.reaches[source]):
                return int(r)
        else:
            if kind == BY_KEY:
                waits[KEYED] = slot
            return int(r)
    return -1


@inlined
def is_purgeable(
    source: int, slot: int, retracts: bool, tables: Tables, rules: Rules, spilled: Spilled, room: Scratch
) -> bool:
    """Whether a row can join nothing new; else what it waits for is in `waits` and `watched`.

    Where results are taken back, a row that is in one is retained until a row of it leaves its window, after `reaches`.
    """
    bound, values, path, waits = room.bound, room.values, room.path, room.waits
    width = len(bound)
    for n in range(width):
        bound[n] = -1
    bound[source] = slot
    path[KNOWN, 0] = bind(source, slot, 0, tables, values)
    start = peek(tables.stores[source, STARTS] + 8 * slot)
    inputs = 1 << source
    depth, entering, followed = 0, True, 0
    while depth >= 0:
        if entering:
            if depth + 1 == width:
                if retracts:
                    _wait_for_nothing(waits)
                    _wait_for_windows(source, start, tables, rules, room)
                    return False
                depth -= 1
                entering = False
                continue
            rule = closing_rule(source, start, inputs, path[KNOWN, depth], tables, rules, room)
            if rule < 0:
                if depth > 0:
                    _wait_for_windows(source, start, tables, rules, room)
                return False
            if depth + 2 == width and not retracts:
                # With whatever row of the last input, the binding would hold one of each.
                depth -= 1
                entering = False
                continue
            target = rules.lines[rule, TARGET]
            candidate = waits[KEYED]
            path[JOINED, depth] = target
            if candidate >= 0:
                path[BY, depth] = rules.lines[rule, INDEX]
            else:
                path[BY, depth] = usable_index(target, path[KNOWN, depth], tables)
                candidate = first_by(path[BY, depth], tables, values, room.key)
            if may_be_spilled(path[BY, depth], tables, spilled, values, room.key):
                _wait_for_nothing(waits)
                _leave_alone(start, rules.clocks[TIME], waits)
                return False
        else:
            target = path[JOINED, depth]
            bound[target] = -1
            inputs &= ~(1 << target)
            candidate = path[NEXT, depth]
        links = tables.indexes[path[BY, depth], LINKS]
        if entering and have_left(target, tables, rules, bound):
            candidate = -1
        while candidate >= 0:
            if are_close(target, candidate, tables, rules, bound):
                if joins(target, candidate, path[KNOWN, depth], tables, values):
                    break
                followed += 1
            candidate = following(links, candidate)
        followed += 1
        if followed > EFFORT:
            _wait_for_nothing(waits)
            _leave_alone(start, rules.clocks[TIME], waits)
            return False
        if candidate < 0:
            depth -= 1
            entering = False
        else:
            path[NEXT, depth] = following(links, candidate)
            bound[target] = candidate
            inputs |= 1 << target
            depth += 1
            path[KNOWN, depth] = bind(target, candidate, path[KNOWN, depth - 1], tables, values)
            entering = True
    return True


def examine(
    inputs: Ints,
    slots: Ints,
    retracts: bool,
    tables: Tables,
    rules: Rules,
    clock_waits: Ints,
    spilled: Spilled = ALL_HERE,
) -> tuple[Ints, Ints, Ints]:
    """Which of these rows can be dropped, as places among them; and what the others watch for: place and hash.

    Of each input `clock_waits` has the address of a word per slot and clock: what the clock has to reach. A row that
    may join one that is `spilled` is retained.
    """
    gone = np.empty(len(slots), np.int64)
    of_values = int((rules.lines[:, KIND] > AFTER_ROWS).sum())
    watches = np.empty((2, min(MOST_WATCHED, of_values) * len(slots)), np.int64)
    room = scratch(tables, len(rules.clocks))
    goers, watching = _examine(inputs, slots, retracts, tables, rules, clock_waits, spilled, room, gone, watches)
    return gone[:goers], watches[0, :watching], watches[1, :watching]


@lean
def _examine(
    inputs: Ints,
    slots: Ints,
    retracts: bool,
    tables: Tables,
    rules: Rules,
    clock_waits: Ints,
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
            poke(clock_waits[inputs[i]] + 8 * (slots[i] * clocks + clock), room.waits[FIRST_CLOCK + clock])
        for w in range(room.waits[WATCHED]):
            watches[0, watching], watches[1, watching] = i, room.reports[w]
            watching += 1
    return goers, watching


def partners(inputs: Ints, slots: Ints, tables: Tables) -> tuple[Ints, Ints]:
    """The rows that join one of these rows directly, and share a variable with it. Some may come twice."""
    room = scratch(tables, 0)
    found, count, start = np.empty((2, max(64, len(slots))), np.int64), 0, 0
    while start < len(slots):
        start, count = _partners(inputs, slots, start, tables, room, found, count)
        if start < len(slots):
            found = np.concatenate((found, np.empty_like(found)), axis=1)
    return found[0, :count], found[1, :count]


@lean
def _partners(
    inputs: Ints, slots: Ints, start: int, tables: Tables, room: Scratch, found: Ints, count: int
) -> tuple[int, int]:
    """Goes on with the row at `start`. Gives the row for which there was no room, and how many were found before it."""
    for i in range(start, len(slots)):
        source, before = inputs[i], count
        known = bind(source, slots[i], 0, tables, room.values)
        for target in range(len(tables.columns)):
            index = usable_index(target, known, tables)
            if target == source or index < 0 or tables.indexes[index, COLUMNS] == 0:
                continue
            slot = first_by(index, tables, room.values, room.key)
            while slot >= 0:
                if joins(target, slot, known, tables, room.values):
                    if count == found.shape[1]:
                        return i, before
                    found[0, count], found[1, count] = target, slot
                    count += 1
                slot = following(tables.indexes[index, LINKS], slot)
    return len(slots), count
