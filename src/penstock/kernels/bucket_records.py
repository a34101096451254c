"""Counters of streams around bucket boundaries, and the interval that they certify for a count of pairs.

Of a bucket boundary, pairs whose row of the bucket stream t is before it and whose row of the counted stream d is not
cross it. With rows of d that follow theirs of t within e, one for one, at most so many pairs cross a boundary:

```text
     t  ───●──●────●──┃─────────▶      U: for any split j of e, rows of d up to j behind the boundary, and rows of t
     d  ──────●───────┃●──●─────▶         at most e - j before it; there are SLOTS splits
                      ┃<─j─>           L: for any prefix behind the boundary, what d has more rows than t
```

So a bucket has `d - c + c'` pairs, with c between L and U of its start and c' between those of its end. What is known
at an instant is what the rows up to it say, so each row is taken at its time.

A window `[RANGE w SLIDE w]` is a bucket and the first instant of the next one: both of its ends are in it.

```text
        ┃ bucket b-1          ┃ bucket b              Its rows are those of bucket b-1 and of the first instant of b. At
     ●──┃──●──────●───────────●──●────────▶           its end pairs cross whose row of t is there or before, and whose
        ┣━━━━━━━ window b ━━━━━┫                       row of d is behind it: those counters leave that instant out.
```

A group has three records, of a bucket b and the two before it. Words of a record: the bucket's number plus 1, rows of
t, whether an assertion was broken, rows of t at the first instant, and for each counted stream its rows, how many more
than t it has had since the boundary, the most that this was, rows at the first instant, the most behind that, and two
histograms: of d behind the start, and of t before the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: Of a record, and in it of a counted stream, what stands where.
BUCKET, ROWS, BROKEN, FIRST, STREAMS = range(5)
COUNT, EXCESS, MOST, FIRST_COUNT, MOST_BEHIND, SLOTS = range(6)
#: A result in the ring: the bucket's number plus 1, whether it is shown, the count, its ends, whether it is certain.
RESULT_BUCKET, IS_SHOWN, RESULT, CERTAIN, RESULT_WORDS = 0, 1, 2, 5, 6
RECORDS = 3

#: Bits of BROKEN: an assertion was broken in the bucket; so close to its end that the next bucket cannot trust its
#: boundary; in a way that concerns its first instant, or rows before it.
IN_BUCKET, AT_END, AT_START = 1, 2, 4

#: Words of `shape`.
WIDTH, SHIFT, SETTLED, FINAL, SLOT_COUNT, EMITS, RING, WITHIN, PERCENT, SLIDES, ALWAYS, SHAPE = range(12)

#: What a line of `streams` has: the delay, whether its rows are subtracted, the number of the counted stream that it
#: follows, or -1 for the bucket stream, and whether only its rows in the window count.
DELAY, SUBTRACTS, ABOVE, IN_WINDOW = range(4)

#: Words of an output: its time, weight, group, bucket, count, low, high, whether certain, whether it is too wide.
OUT = 9


@lean
def record_width(streams: int, slots: int) -> int:
    return STREAMS + streams * (SLOTS + 2 * slots)


@lean
def group_width(streams: int, slots: int, ring: int) -> int:
    return ring * RESULT_WORDS + RECORDS * record_width(streams, slots)


@lean
def longest(streams: Ints) -> int:
    longest = 0
    for stream in range(len(streams)):
        longest = max(longest, streams[stream, DELAY])
    return longest


@lean
def record(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> int:
    """Where the record of a bucket stands in a group's words, or would."""
    at: int = shape[RING] * RESULT_WORDS + (bucket % RECORDS) * record_width(len(streams), shape[SLOT_COUNT])
    return at


@lean
def known(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> int:
    """The record of a bucket, or -1 if nothing is known of it."""
    at = record(group, bucket, shape, streams, counters)
    return at if bucket >= 0 and counters[group, at + BUCKET] == bucket + 1 else -1


@lean
def take(
    t: int, source: int, group: int, bucket: int, shape: Ints, streams: Ints, latest: Ints, counters: Ints
) -> None:
    """Counts a row."""
    width, shift, slots = shape[WIDTH], shape[SHIFT], shape[SLOT_COUNT]
    at = record(group, bucket, shape, streams, counters)
    if counters[group, at + BUCKET] != bucket + 1:
        for word in range(record_width(len(streams), slots)):
            counters[group, at + word] = 0
        counters[group, at + BUCKET] = bucket + 1
        before = known(group, bucket - 1, shape, streams, counters)
        if before >= 0 and counters[group, before + BROKEN] & AT_END:
            counters[group, at + BROKEN] = IN_BUCKET
    latest[group] = bucket + 1
    offset = (t + shift) % width
    left = width - offset
    if source < 0:
        counters[group, at + BROKEN] |= IN_BUCKET | AT_END if left <= longest(streams) else IN_BUCKET
        before = known(group, bucket - 1, shape, streams, counters)
        if before >= 0 and offset < shape[SETTLED]:
            counters[group, before + BROKEN] |= IN_BUCKET
        return
    if source == 0:
        counters[group, at + ROWS] += 1
        counters[group, at + FIRST] += offset == 0
        for stream in range(len(streams)):
            place = at + STREAMS + stream * (SLOTS + 2 * slots)
            counters[group, place + EXCESS] -= 1
            delay = streams[stream, DELAY]
            if left <= delay:
                counters[group, place + SLOTS + slots + (left * slots - 1) // delay] += 1
        return
    place = at + STREAMS + (source - 1) * (SLOTS + 2 * slots)
    delay = streams[source - 1, DELAY]
    counters[group, place + COUNT] += 1
    counters[group, place + FIRST_COUNT] += offset == 0
    counters[group, place + EXCESS] += 1
    if offset < delay:
        counters[group, place + SLOTS + offset * slots // delay] += 1


@lean
def note_most(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> None:
    """After an instant: what each stream has had more rows than the bucket stream since the boundary, at most.

    Behind the first instant that is counted from there.
    """
    at = record(group, bucket, shape, streams, counters)
    for stream in range(len(streams)):
        place = at + STREAMS + stream * (SLOTS + 2 * shape[SLOT_COUNT])
        excess = counters[group, place + EXCESS]
        counters[group, place + MOST] = max(counters[group, place + MOST], excess)
        behind = excess - counters[group, place + FIRST_COUNT] + counters[group, at + FIRST]
        counters[group, place + MOST_BEHIND] = max(counters[group, place + MOST_BEHIND], behind)


@lean
def crossing(
    group: int, bucket: int, stream: int, is_behind: bool, shape: Ints, streams: Ints, counters: Ints
) -> tuple[int, int]:
    """At least and at most how many pairs cross the start of a bucket, or the boundary behind its first instant.

    Those that cross the second one are at most so many more as t has rows at that instant, and their rows of d are none
    of that instant. They are no more than the rows of d behind the boundary, either way.
    """
    slots = shape[SLOT_COUNT]
    behind = known(group, bucket, shape, streams, counters)
    if behind < 0:
        return 0, 0  # no row behind it, so none that crosses
    before = known(group, bucket - 1, shape, streams, counters)
    offset = STREAMS + stream * (SLOTS + 2 * slots)
    least = counters[group, behind + offset + (MOST_BEHIND if is_behind else MOST)]
    own, late, come = 0, 0, counters[group, behind + offset + COUNT]
    if is_behind:
        late = counters[group, behind + offset + FIRST_COUNT]
        own, come = counters[group, behind + FIRST], come - late
    if before < 0:
        return least, min(own, come)
    head, tail = behind + offset + SLOTS, before + offset + SLOTS + slots
    split = 0
    for slot in range(slots):
        split += counters[group, tail + slot]
    most = split
    split -= late
    for slot in range(slots):
        # One slot of the counted stream more, and the slot of the bucket stream that is farthest away less.
        split += counters[group, head + slot] - counters[group, tail + slots - 1 - slot]
        most = min(most, split)
    return least, min(own + most, come)


@lean
def own_rows(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> tuple[int, int]:
    """The rows of the bucket stream in a bucket or window, and whether no assertion was broken that concerns it."""
    if shape[SLIDES] == 0:
        at = known(group, bucket, shape, streams, counters)
        return (0, 1) if at < 0 else (counters[group, at + ROWS], int(counters[group, at + BROKEN] == 0))
    rows, certain = 0, 1
    at = known(group, bucket - 1, shape, streams, counters)
    if at >= 0:
        rows, certain = counters[group, at + ROWS], int(counters[group, at + BROKEN] == 0)
    at = known(group, bucket, shape, streams, counters)
    if at >= 0:
        rows += counters[group, at + FIRST]
        certain = 0 if counters[group, at + BROKEN] & AT_START else certain
    return rows, certain


@lean
def counted(group: int, bucket: int, stream: int, shape: Ints, streams: Ints, counters: Ints) -> int:
    """The rows of a counted stream in a bucket or window."""
    place, count = STREAMS + stream * (SLOTS + 2 * shape[SLOT_COUNT]), 0
    at = known(group, bucket - shape[SLIDES], shape, streams, counters)
    if at >= 0:
        count = counters[group, at + place + COUNT]
    if shape[SLIDES] == 0:
        return count
    at = known(group, bucket, shape, streams, counters)
    return count if at < 0 else count + counters[group, at + place + FIRST_COUNT]


@lean
def pairs(
    group: int, bucket: int, stream: int, rows: int, shape: Ints, streams: Ints, counters: Ints
) -> tuple[int, int, bool]:
    """At least and at most how many rows of a bucket have one of a counted stream; and whether that is consistent."""
    slides = shape[SLIDES]
    least_before, most_before = crossing(group, bucket - slides, stream, False, shape, streams, counters)
    least_behind, most_behind = 0, 0
    if slides == 0:
        least_behind, most_behind = crossing(group, bucket + 1, stream, False, shape, streams, counters)
    elif streams[stream, IN_WINDOW] == 0:
        least_behind, most_behind = crossing(group, bucket, stream, True, shape, streams, counters)
    own = counted(group, bucket, stream, shape, streams, counters)
    low = max(0, own - most_before + least_behind)
    high = min(rows, own - least_before + most_behind)
    if low > high or least_before > most_before or least_behind > most_behind:
        return min(low, max(0, high)), max(low, high), False
    return low, high, True


@lean
def interval(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> tuple[int, int, int, int]:
    """The count of a bucket or window, the ends of its interval, and whether that is certain."""
    if shape[SLIDES] == 0 and known(group, bucket, shape, streams, counters) < 0:
        return 0, 0, 0, 1
    rows, certain = own_rows(group, bucket, shape, streams, counters)
    count, low, high = rows, rows, rows
    for stream in range(len(streams)):
        own = counted(group, bucket, stream, shape, streams, counters)
        own_low, own_high, is_consistent = pairs(group, bucket, stream, rows, shape, streams, counters)
        if not is_consistent:
            certain = 0
        if streams[stream, SUBTRACTS] != 0:
            # Bonferroni: at most all of them are taken away, and at least they are taken away from what they follow.
            count -= own
            low -= own_high
            above, above_high = streams[stream, ABOVE], rows
            if above >= 0:
                above_high = pairs(group, bucket, above, rows, shape, streams, counters)[1]
            high = min(high, above_high - own_low)
        else:
            count -= rows - min(rows, own)
            low -= rows - own_low
            high = min(high, own_high)
    low = max(0, low)
    if low > high:
        certain = 0
        high = low
    return min(max(count, low), high), low, high, certain


@lean
def put(out: Ints, done: int, t: int, weight: int, group: int, counters: Ints, place: int) -> int:
    """Puts out a result of the ring."""
    for word in range(RESULT, RESULT_WORDS):
        out[done, 4 + word - RESULT] = counters[group, place + word]
    out[done, 8] = 0
    out[done, 0], out[done, 1], out[done, 2], out[done, 3] = (
        t,
        weight,
        group,
        counters[group, place + RESULT_BUCKET] - 1,
    )
    return done + 1


@lean
def keep(
    group: int, bucket: int, place: int, result: tuple[int, int, int, int], is_shown: bool, counters: Ints
) -> None:
    """Keeps the result of a bucket or window at a place of the ring."""
    counters[group, place + RESULT_BUCKET] = bucket + 1
    counters[group, place + IS_SHOWN] = is_shown
    counters[group, place + RESULT] = result[0]
    counters[group, place + RESULT + 1] = result[1]
    counters[group, place + RESULT + 2] = result[2]
    counters[group, place + CERTAIN] = result[3]


@lean
def shows(result: tuple[int, int, int, int], shape: Ints) -> bool:
    """Whether a result is one to show: there may be a row, or an assertion was broken."""
    return result[2] > 0 or result[3] == 0 or shape[ALWAYS] != 0


@lean
def show(
    t: int,
    group: int,
    bucket: int,
    place: int,
    was_shown: bool,
    shape: Ints,
    streams: Ints,
    counters: Ints,
    out: Ints,
    done: int,
) -> int:
    """Puts out how the result of a bucket or window changes at an instant, and keeps it at a place of the ring."""
    result = interval(group, bucket, shape, streams, counters)
    is_shown = shows(result, shape)
    if was_shown:
        if (
            is_shown
            and counters[group, place + RESULT] == result[0]
            and counters[group, place + RESULT + 1] == result[1]
            and counters[group, place + RESULT + 2] == result[2]
            and counters[group, place + CERTAIN] == result[3]
        ):
            return done
        done = put(out, done, t, -1, group, counters, place)
    keep(group, bucket, place, result, is_shown, counters)
    return put(out, done, t, 1, group, counters, place) if is_shown else done
