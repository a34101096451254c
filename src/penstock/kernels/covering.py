"""Skylines of boxes: of rows with the same values, those whose boxes the boxes of the others do not cover (002, 5).

Where duplicates do not matter, a row counts only as long as it joins something that no other row with its values joins.
What is left is a family in the sense of lemma A.3, and the register says how large those get. A box may be covered by
several others together though by none alone, so one box after the other is taken away from it: each leaves at most a
piece per side, which do not meet, and what lies in its holes. A piece is what bounds on each attribute leave of the
*space*, in which attributes differ by so much at most; bounds are passed on along these differences (a difference-bound
matrix).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.buckets import LEAST, MOST, is_key, key_of, minus, plus, put
from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import first, following, link, unlink
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: Columns of the table of a skyline's sides: the attribute, and whether it is an upper side.
OF, IS_UPPER = range(2)


@lean
def keep_rows(
    start: int,
    rows: Ints,
    nulls: Ints,
    within: Ints,
    values: Ints,
    terms: Ints,
    sides: Ints,
    holes: Ints,
    key: Ints,
    stored: Ints,
    keys: Ints,
    heads: int,
    mask: int,
    links: int,
    fresh: Ints,
    used: Ints,
    slots: Ints,
    is_first: NDArray[np.bool_],
    gone: Ints,
    skyline: Ints,
    holes_of: Ints,
    space: Ints,
    differences: Ints,
    members: Ints,
    lows: Ints,
    highs: Ints,
    cursors: Ints,
) -> int:
    """The slot of each row from `start` on that nothing covers (-1: it is not kept), and rows that are gone by it.

    `used` counts the fresh slots that were taken, and the slots that are `gone`. `space` has the least and the greatest
    value of each attribute, `differences` by how much one exceeds another at most. The last four are room to work.
    """
    words = key.shape[1] - len(skyline) - (len(holes) + 1 if len(holes) > 0 else 0)
    for i in range(start, len(rows)):
        slots[i] = -1
        is_first[i] = False
        if not key_of(rows, i, nulls, within, values, terms, sides, holes, key):
            continue
        hash_ = prefix_hash(key, 0, words)
        count, is_covered = 0, False
        slot = first(heads, mask, hash_)
        while slot >= 0 and not is_covered:
            if is_key(keys, slot, key, words):
                is_covered = _contains(keys, slot, key, words, skyline, len(holes))
                members[count] = slot
                count += 1
            slot = following(links, slot)
        if is_covered:
            continue
        if used[0] == len(fresh):
            return i
        slot = fresh[used[0]]
        put(rows, i, key, slot, stored, keys)
        boxes = (skyline, holes_of, space, differences, lows, highs, cursors)
        if _is_covered(keys, slot, words, members, -1, count, *boxes):
            continue
        used[0] += 1
        slots[i] = slot
        is_first[i] = True
        link(heads, mask, links, hash_, slot)
        members[count] = slot
        count += 1
        n = 0
        while n < count - 1:
            slot = members[n]
            if _is_covered(keys, slot, words, members, n, count, *boxes):
                unlink(heads, links, slot)
                gone[used[1]] = slot
                used[1] += 1
                # The new row stays the last one.
                members[n] = members[count - 2]
                members[count - 2] = members[count - 1]
                count -= 1
            else:
                n += 1
    return len(rows)


@lean
def _contains(keys: Ints, slot: int, key: Ints, words: int, skyline: Ints, holes: int) -> bool:
    """Whether a slot's box contains that of a key, as can be seen side by side."""
    for n in range(len(skyline)):
        if skyline[n, IS_UPPER] != 0:
            if keys[slot, words + n] < key[0, words + n]:
                return False
        elif keys[slot, words + n] > key[0, words + n]:
            return False
    at = words + len(skyline)
    for n in range(holes):
        is_same = (key[0, at] >> n) & 1 != 0 and keys[slot, at + 1 + n] == key[0, at + 1 + n]
        if (keys[slot, at] >> n) & 1 != 0 and not is_same:
            return False
    return True


@lean
def _is_covered(
    keys: Ints,
    slot: int,
    words: int,
    others: Ints,
    own: int,
    count: int,
    skyline: Ints,
    holes_of: Ints,
    space: Ints,
    differences: Ints,
    lows: Ints,
    highs: Ints,
    cursors: Ints,
) -> bool:
    """Whether each place of a slot's box lies in the box of one of the others; `own` is its own place among them.

    At each depth something is taken away from the piece that is there: first the slot's own holes, then the boxes of
    the others. What is left of it are pieces, which one after the other go on at the next depth.
    """
    holes = len(holes_of)
    for a in range(len(space)):
        lows[0, a] = space[a, 0]
        highs[0, a] = space[a, 1]
    for n in range(len(skyline)):
        if not _cut(lows, highs, 0, skyline[n, OF], skyline[n, IS_UPPER] != 0, keys[slot, words + n], differences):
            return True
    depth = 0
    cursors[0] = 0
    while depth >= 0:
        if depth - holes == count:
            return False
        n = cursors[depth]
        cursors[depth] = n + 1
        _copy(lows, highs, depth)
        if depth < holes:
            left = _beside_hole(keys, slot, words + len(skyline), depth, n, holes_of, lows, highs, differences)
        elif depth - holes == own:
            left = GOES_ON if n == 0 else DONE
        else:
            other = others[depth - holes]
            left = _beside_box(keys, other, words, depth, n, skyline, holes_of, lows, highs, differences)
        if left == GOES_ON:
            depth += 1
            cursors[depth] = 0
        elif left == DONE:
            depth -= 1
    return True


#: What became of the next piece: it goes on, there is nothing in it, or there are no more.
GOES_ON, EMPTY, DONE = range(3)


@lean
def _beside_hole(
    keys: Ints, slot: int, at: int, depth: int, n: int, holes_of: Ints, lows: Ints, highs: Ints, differences: Ints
) -> int:
    """The pieces of a piece below a hole and above it."""
    if (keys[slot, at] >> depth) & 1 == 0:
        return GOES_ON if n == 0 else DONE
    if n > 1:
        return DONE
    of, value, is_upper = holes_of[depth], keys[slot, at + 1 + depth], n == 0
    return _beyond(lows, highs, depth + 1, of, not is_upper, value, differences)


@lean
def _beside_box(
    keys: Ints,
    other: int,
    words: int,
    depth: int,
    n: int,
    skyline: Ints,
    holes_of: Ints,
    lows: Ints,
    highs: Ints,
    differences: Ints,
) -> int:
    """The pieces of a piece beyond each side of a box, and then in each of its holes."""
    if n < len(skyline):
        of, is_upper, end = skyline[n, OF], skyline[n, IS_UPPER] != 0, keys[other, words + n]
        left = _beyond(lows, highs, depth + 1, of, is_upper, end, differences)
        # What is on this side of it stays for the sides to come; where nothing does, they have nothing to cut.
        if not _cut(lows, highs, depth, of, is_upper, end, differences):
            lows[depth, of], highs[depth, of] = MOST, LEAST
        return left
    n -= len(skyline)
    if n == len(holes_of):
        return DONE
    at = words + len(skyline)
    if (keys[other, at] >> n) & 1 == 0:
        return EMPTY
    of, value = holes_of[n], keys[other, at + 1 + n]
    is_there = _cut(lows, highs, depth + 1, of, True, value, differences)
    return GOES_ON if is_there and _cut(lows, highs, depth + 1, of, False, value, differences) else EMPTY


@lean
def _beyond(lows: Ints, highs: Ints, depth: int, of: int, is_upper: bool, end: int, differences: Ints) -> int:
    """Cuts a piece to what lies beyond an end."""
    if end == (MOST if is_upper else LEAST):
        return EMPTY
    past = end + 1 if is_upper else end - 1
    return GOES_ON if _cut(lows, highs, depth, of, not is_upper, past, differences) else EMPTY


@lean
def _copy(lows: Ints, highs: Ints, depth: int) -> None:
    for a in range(lows.shape[1]):
        lows[depth + 1, a] = lows[depth, a]
        highs[depth + 1, a] = highs[depth, a]


@lean
def _cut(lows: Ints, highs: Ints, depth: int, of: int, is_upper: bool, end: int, differences: Ints) -> bool:
    """Bounds an attribute of a piece, and what differs from it; whether anything is left."""
    is_left = True
    for a in range(lows.shape[1]):
        if is_upper:
            limit = differences[a, of]
            highs[depth, a] = min(highs[depth, a], end if a == of else MOST if limit == MOST else plus(end, limit))
        else:
            limit = differences[of, a]
            lows[depth, a] = max(lows[depth, a], end if a == of else LEAST if limit == MOST else minus(end, limit))
        is_left &= lows[depth, a] <= highs[depth, a]
    return is_left
