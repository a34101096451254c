"""Whether children find their parents: a table of the last parents and children by key, of fixed size.

A bucket of the table has a few entries, of which the oldest gives way. Where one went that a child may have needed,
nothing is said of that child: a violation that is counted is one.
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


@lean
def watch(
    ts: Ints,
    is_child: Ints,
    hashes: Ints,
    least: int,
    most: int,
    delay: int,
    one_child: int,
    watched: int,
    parents: Ints,
    children: Ints,
    counts: Ints,
    broken: Ints,
) -> int:
    """Takes rows in the order of time, parents of an instant first, and gives how many are broken, by number.

    Bit i of `watched` says whether promise i is.
    """
    found = 0
    for i in range(len(ts)):
        t, bucket = ts[i], hashes[i] % BUCKETS
        if is_child[i] == 0:
            # Only a parent that may match a child before it can come too late.
            if least < 0 and watched & 2 and _matches_earlier(t, hashes[i], bucket, least, children) > 0:
                counts[SECOND_PARENT] += 1
                broken[found] = i
                found += 1
            _enter(t, hashes[i], bucket, parents)
            continue
        wrong = _judge(t, hashes[i], bucket, least, most, delay, one_child, watched, parents, counts)
        if least < 0:
            _enter(t, hashes[i], bucket, children)
        if wrong:
            broken[found] = i
            found += 1
    return found


@lean
def _judge(
    t: int,
    hash_: int,
    bucket: int,
    least: int,
    most: int,
    delay: int,
    one_child: int,
    watched: int,
    parents: Ints,
    counts: Ints,
) -> bool:
    """Whether a child breaks a promise."""
    found, is_late, is_second = 0, False, False
    for entry in range(ENTRIES):
        at = entry * ENTRY
        if parents[bucket, at + TIME] == 0 or parents[bucket, at + HASH] != hash_:
            continue
        difference = t - (parents[bucket, at + TIME] - 1)
        if least <= difference <= most:
            found += 1
            is_late |= difference > delay
            parents[bucket, at + MATCHES] += 1
            is_second |= one_child != 0 and parents[bucket, at + MATCHES] > 1
    gone = parents[bucket, BUCKET - 1]
    may_have_gone = gone != 0 and (delay >= ANY or gone - 1 >= t - delay)
    lacks = watched & 1 != 0 and (is_late or (found == 0 and not may_have_gone))
    has_two = watched & 2 != 0 and found > 1
    is_second = watched & 4 != 0 and is_second
    counts[NO_PARENT] += lacks
    counts[SECOND_PARENT] += has_two
    counts[SECOND_CHILD] += is_second
    return lacks or has_two or is_second


@lean
def _matches_earlier(t: int, hash_: int, bucket: int, least: int, children: Ints) -> int:
    """How many children before an instant match a parent that comes at it."""
    found = 0
    for entry in range(ENTRIES):
        at = entry * ENTRY
        if children[bucket, at + TIME] != 0 and children[bucket, at + HASH] == hash_:
            difference = children[bucket, at + TIME] - 1 - t
            found += least <= difference < 0
    return found


@lean
def _enter(t: int, hash_: int, bucket: int, table: Ints) -> None:
    oldest = 0
    for entry in range(1, ENTRIES):
        if table[bucket, entry * ENTRY + TIME] < table[bucket, oldest * ENTRY + TIME]:
            oldest = entry
    at = oldest * ENTRY
    table[bucket, BUCKET - 1] = max(table[bucket, BUCKET - 1], table[bucket, at + TIME])
    table[bucket, at + HASH] = hash_
    table[bucket, at + TIME] = t + 1
    table[bucket, at + MATCHES] = 0
