"""Whether children find their parents: tables of the last parents and children by key, of fixed size.

A bucket of a table has a few entries, of which the oldest gives way. Where one went that a child may have needed,
nothing is said of that child: a violation that is counted is one. What is said is which keys it concerns, those of the
row and of the rows that it matches, and since when: the earliest time of all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: The buckets of a table, and the entries of each.
BUCKETS, ENTRIES = 1 << 9, 8

#: Words of an entry: the key's hash, the time plus 1 (0: free), and matches so far.
HASH, TIME, MATCHES, ENTRY = range(4)
#: Behind the entries: the time plus 1 of the last one that gave way.
BUCKET = ENTRIES * ENTRY + 1

#: What is broken: no parent in time, a second parent, a second child.
NO_PARENT, SECOND_PARENT, SECOND_CHILD, PROMISES = range(4)

#: In place of a bound that there is not.
ANY = 1 << 62

#: Words of `shape`: at which differences of times rows match, how long after its parent a child comes at most, whether
#: a parent has one child, by bits which promises are watched, and whether parents have keys.
LEAST, MOST, DELAY, ONE_CHILD, WATCHED, PARENT_KEYS, SHAPE = range(7)

#: Words of an output before the keys: its time, and since when.
AT, SINCE, KEYS = range(3)

#: A row breaks a promise for its own keys, and for those of all rows that it may match.
MOST_BROKEN = ENTRIES + 1


@lean
def watch(
    ts: Ints,
    is_child: Ints,
    hashes: Ints,
    keys: Ints,
    done: int,
    shape: Ints,
    parents: Ints,
    parent_keys: Ints,
    children: Ints,
    child_keys: Ints,
    counts: Ints,
    out: Ints,
) -> tuple[int, int]:
    """Takes rows from `done` on, in the order of time, parents of an instant first.

    Gives how far it got, and how many lines of `out` it wrote; it stops when that has no room.
    """
    count = 0
    for i in range(done, len(ts)):
        if count + MOST_BROKEN > len(out):
            return i, count
        bucket = hashes[i] % BUCKETS
        if is_child[i] == 0:
            # Only a parent that may match a child before it can come too late.
            if shape[LEAST] < 0 and shape[WATCHED] & 2:
                count = _judge_parent(i, ts, hashes, keys, bucket, shape, children, child_keys, counts, out, count)
            _enter(i, ts, hashes, keys, bucket, parents, parent_keys)
            continue
        count = _judge_child(i, ts, hashes, keys, bucket, shape, parents, parent_keys, counts, out, count)
        if shape[LEAST] < 0:
            _enter(i, ts, hashes, keys, bucket, children, child_keys)
    return len(ts), count


@lean
def _judge_child(
    i: int,
    ts: Ints,
    hashes: Ints,
    keys: Ints,
    bucket: int,
    shape: Ints,
    parents: Ints,
    parent_keys: Ints,
    counts: Ints,
    out: Ints,
    count: int,
) -> int:
    """Whether a child breaks a promise: for its keys, and those of its parents where they are others."""
    t, since = ts[i], ts[i]
    found, is_late, is_second, differs = 0, False, False, False
    for entry in range(ENTRIES):
        at = entry * ENTRY
        if parents[bucket, at + TIME] == 0 or parents[bucket, at + HASH] != hashes[i]:
            continue
        difference = t - (parents[bucket, at + TIME] - 1)
        if shape[LEAST] <= difference <= shape[MOST]:
            found += 1
            since = min(since, t - difference)
            is_late |= difference > shape[DELAY]
            differs |= shape[PARENT_KEYS] != 0 and not _same(keys, i, parent_keys, bucket * ENTRIES + entry)
            parents[bucket, at + MATCHES] += 1
            is_second |= shape[ONE_CHILD] != 0 and parents[bucket, at + MATCHES] > 1
    gone = parents[bucket, BUCKET - 1]
    may_have_gone = gone != 0 and (shape[DELAY] >= ANY or gone - 1 >= t - shape[DELAY])
    watched = shape[WATCHED]
    lacks = watched & 1 != 0 and (is_late or differs or (found == 0 and not may_have_gone))
    has_two = watched & 2 != 0 and found > 1
    is_second = watched & 4 != 0 and is_second
    counts[NO_PARENT] += lacks
    counts[SECOND_PARENT] += has_two
    counts[SECOND_CHILD] += is_second
    if not (lacks or has_two or is_second):
        return count
    if found == 0 and gone != 0 and (shape[MOST] >= ANY or gone - 1 >= t - shape[MOST]):
        since = 0 if shape[MOST] >= ANY else max(0, t - shape[MOST])  # its parent may be one that gave way
    if differs:
        window = shape[LEAST], shape[MOST]
        count = _put_matches(i, t, since, hashes, keys, bucket, *window, False, parents, parent_keys, out, count)
    return _put(out, count, t, since, keys, i)


@lean
def _judge_parent(
    i: int,
    ts: Ints,
    hashes: Ints,
    keys: Ints,
    bucket: int,
    shape: Ints,
    children: Ints,
    child_keys: Ints,
    counts: Ints,
    out: Ints,
    count: int,
) -> int:
    """Whether a parent matches children before it: for its keys and theirs."""
    t, since = ts[i], ts[i]
    for entry in range(ENTRIES):
        at = entry * ENTRY
        if children[bucket, at + TIME] != 0 and children[bucket, at + HASH] == hashes[i]:
            difference = children[bucket, at + TIME] - 1 - t
            if shape[LEAST] <= difference < 0:
                since = min(since, t + difference)
    if since == t:
        return count
    counts[SECOND_PARENT] += 1
    is_other = shape[PARENT_KEYS] == 0
    count = _put_matches(
        i, t, since, hashes, keys, bucket, 1, -shape[LEAST], is_other, children, child_keys, out, count
    )
    return count if is_other else _put(out, count, t, since, keys, i)


@lean
def _put_matches(
    i: int,
    t: int,
    since: int,
    hashes: Ints,
    keys: Ints,
    bucket: int,
    least: int,
    most: int,
    is_other: bool,
    table: Ints,
    table_keys: Ints,
    out: Ints,
    count: int,
) -> int:
    """Puts out the keys of rows of a table so much before an instant, where they are others than the row's own."""
    for entry in range(ENTRIES):
        at = entry * ENTRY
        if table[bucket, at + TIME] == 0 or table[bucket, at + HASH] != hashes[i]:
            continue
        slot = bucket * ENTRIES + entry
        matches = least <= t - (table[bucket, at + TIME] - 1) <= most
        if matches and (is_other or not _same(keys, i, table_keys, slot)):
            count = _put(out, count, t, since, table_keys, slot)
    return count


@lean
def _put(out: Ints, count: int, t: int, since: int, keys: Ints, row: int) -> int:
    out[count, AT], out[count, SINCE] = t, since
    for word in range(keys.shape[1]):
        out[count, KEYS + word] = keys[row, word]
    return count + 1


@lean
def _same(keys: Ints, row: int, others: Ints, other: int) -> bool:
    for word in range(keys.shape[1]):
        if keys[row, word] != others[other, word]:
            return False
    return True


@lean
def _enter(i: int, ts: Ints, hashes: Ints, keys: Ints, bucket: int, table: Ints, table_keys: Ints) -> None:
    oldest = 0
    for entry in range(1, ENTRIES):
        if table[bucket, entry * ENTRY + TIME] < table[bucket, oldest * ENTRY + TIME]:
            oldest = entry
    at = oldest * ENTRY
    table[bucket, BUCKET - 1] = max(table[bucket, BUCKET - 1], table[bucket, at + TIME])
    table[bucket, at + HASH] = hashes[i]
    table[bucket, at + TIME] = ts[i] + 1
    table[bucket, at + MATCHES] = 0
    for word in range(keys.shape[1]):
        table_keys[bucket * ENTRIES + oldest, word] = keys[i, word]
