"""Skylines of boxes: of rows with the same values, those whose boxes the boxes of the others do not cover (002, 5).

Where duplicates do not matter, a row counts only as long as it joins something that no other row with its values joins.
What is left is a family in the sense of lemma A.3, and the register says how large those get. A box may be covered by
several others together though by none alone, so one box after the other is taken away from it: each leaves at most a
piece per side, which do not meet, and what lies in its holes. A piece is what bounds on each attribute leave of the
*space*, in which attributes differ by so much at most; bounds are passed on along these differences (a difference-bound
matrix).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.buckets import LEAST, MOST, Placing, Recipe, Samples, is_key, key_of, minus, plus, put
from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import first, following, link, unlink
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: Columns of the table of a skyline's sides: the attribute, and whether it is an upper side.
OF, IS_UPPER = range(2)


class Skyline(NamedTuple):
    """Where boxes lie: their sides, the attributes of their holes, and the space.

    `space` has the least and the greatest value of each attribute, `differences` by how much one exceeds another at
    most.
    """

    sides: Ints
    holes: Ints
    space: Ints
    differences: Ints


class Room(NamedTuple):
    """Room to work: the rows with the same values, and the bounds of a piece per depth, with what comes next of it."""

    members: Ints
    lows: Ints
    highs: Ints
    cursors: Ints


@lean
def keep_rows(
    start: int,
    rows: Ints,
    recipe: Recipe,
    samples: Samples,
    placing: Placing,
    gone: Ints,
    skyline: Skyline,
    room: Room,
) -> int:
    """The slot of each row from `start` on that nothing covers, and the slots of rows that are `gone` by it."""
    key, members, used = samples.key, room.members, placing.used
    holes = len(skyline.holes)
    words = key.shape[1] - len(skyline.sides) - (holes + 1 if holes > 0 else 0)
    for i in range(start, len(rows)):
        placing.slots[i] = -1
        placing.is_first[i] = False
        if not key_of(rows, i, recipe, key):
            continue
        hash_ = prefix_hash(key, 0, words)
        count, is_covered = 0, False
        slot = first(samples.heads, samples.mask, hash_)
        while slot >= 0 and not is_covered:
            if is_key(samples.keys, slot, key, words):
                is_covered = _contains(samples.keys, slot, key, words, skyline.sides, holes)
                members[count] = slot
                count += 1
            slot = following(samples.links, slot)
        if is_covered:
            continue
        if used[0] == len(placing.fresh):
            return i
        slot = placing.fresh[used[0]]
        put(rows, i, slot, samples)
        if _is_covered(samples.keys, slot, words, -1, count, skyline, room):
            continue
        used[0] += 1
        placing.slots[i] = slot
        placing.is_first[i] = True
        link(samples.heads, samples.mask, samples.links, hash_, slot)
        members[count] = slot
        count += 1
        n = 0
        while n < count - 1:
            slot = members[n]
            if _is_covered(samples.keys, slot, words, n, count, skyline, room):
                unlink(samples.heads, samples.links, slot)
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
def _contains(keys: Ints, slot: int, key: Ints, words: int, sides: Ints, holes: int) -> bool:
    """Whether a slot's box contains that of a key, as can be seen side by side."""
    for n in range(len(sides)):
        if sides[n, IS_UPPER] != 0:
            if keys[slot, words + n] < key[0, words + n]:
                return False
        elif keys[slot, words + n] > key[0, words + n]:
            return False
    at = words + len(sides)
    for n in range(holes):
        is_same = (key[0, at] >> n) & 1 != 0 and keys[slot, at + 1 + n] == key[0, at + 1 + n]
        if (keys[slot, at] >> n) & 1 != 0 and not is_same:
            return False
    return True


@lean
def _is_covered(keys: Ints, slot: int, words: int, own: int, count: int, skyline: Skyline, room: Room) -> bool:
    """Whether each place of a slot's box lies in the box of one of `count` members; `own` is its place among them.

    At each depth something is taken away from the piece that is there: first the slot's own holes, then the boxes of
    the others. What is left of it are pieces, which one after the other go on at the next depth.
    """
    holes, sides, cursors = len(skyline.holes), skyline.sides, room.cursors
    for a in range(len(skyline.space)):
        room.lows[0, a] = skyline.space[a, 0]
        room.highs[0, a] = skyline.space[a, 1]
    for n in range(len(sides)):
        if not _cut(room, 0, sides[n, OF], sides[n, IS_UPPER] != 0, keys[slot, words + n], skyline.differences):
            return True
    depth = 0
    cursors[0] = 0
    while depth >= 0:
        if depth - holes == count:
            return False
        n = cursors[depth]
        cursors[depth] = n + 1
        _copy(room, depth)
        if depth < holes:
            left = _beside_hole(keys, slot, words + len(sides), depth, n, skyline, room)
        elif depth - holes == own:
            left = GOES_ON if n == 0 else DONE
        else:
            left = _beside_box(keys, room.members[depth - holes], words, depth, n, skyline, room)
        if left == GOES_ON:
            depth += 1
            cursors[depth] = 0
        elif left == DONE:
            depth -= 1
    return True


#: What became of the next piece: it goes on, there is nothing in it, or there are no more.
GOES_ON, EMPTY, DONE = range(3)


@lean
def _beside_hole(keys: Ints, slot: int, at: int, depth: int, n: int, skyline: Skyline, room: Room) -> int:
    """The pieces of a piece below a hole and above it."""
    if (keys[slot, at] >> depth) & 1 == 0:
        return GOES_ON if n == 0 else DONE
    if n > 1:
        return DONE
    of, value, is_upper = skyline.holes[depth], keys[slot, at + 1 + depth], n == 0
    return _beyond(room, depth + 1, of, not is_upper, value, skyline.differences)


@lean
def _beside_box(keys: Ints, other: int, words: int, depth: int, n: int, skyline: Skyline, room: Room) -> int:
    """The pieces of a piece beyond each side of a box, and then in each of its holes."""
    sides, differences = skyline.sides, skyline.differences
    if n < len(sides):
        of, is_upper, end = sides[n, OF], sides[n, IS_UPPER] != 0, keys[other, words + n]
        left = _beyond(room, depth + 1, of, is_upper, end, differences)
        # What is on this side of it stays for the sides to come; where nothing does, they have nothing to cut.
        if not _cut(room, depth, of, is_upper, end, differences):
            room.lows[depth, of], room.highs[depth, of] = MOST, LEAST
        return left
    n -= len(sides)
    if n == len(skyline.holes):
        return DONE
    at = words + len(sides)
    if (keys[other, at] >> n) & 1 == 0:
        return EMPTY
    of, value = skyline.holes[n], keys[other, at + 1 + n]
    is_there = _cut(room, depth + 1, of, True, value, differences)
    return GOES_ON if is_there and _cut(room, depth + 1, of, False, value, differences) else EMPTY


@lean
def _beyond(room: Room, depth: int, of: int, is_upper: bool, end: int, differences: Ints) -> int:
    """Cuts a piece to what lies beyond an end."""
    if end == (MOST if is_upper else LEAST):
        return EMPTY
    past = end + 1 if is_upper else end - 1
    return GOES_ON if _cut(room, depth, of, not is_upper, past, differences) else EMPTY


@lean
def _copy(room: Room, depth: int) -> None:
    for a in range(room.lows.shape[1]):
        room.lows[depth + 1, a] = room.lows[depth, a]
        room.highs[depth + 1, a] = room.highs[depth, a]


@lean
def _cut(room: Room, depth: int, of: int, is_upper: bool, end: int, differences: Ints) -> bool:
    """Bounds an attribute of a piece, and what differs from it; whether anything is left."""
    lows, highs = room.lows, room.highs
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
