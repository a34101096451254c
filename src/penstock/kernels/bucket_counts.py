"""Counters of streams by bucket of time, and the interval that they certify for a count of pairs.

Of a bucket boundary, pairs whose row of the bucket stream t is before it and whose row of the counted stream d is not
cross it. With rows of d that follow theirs of t within e, one for one, at most so many pairs cross a boundary:

```text
     t  ───●──●────●──┃─────────▶      U: for any split j of e, rows of d up to j behind the boundary, and rows of t
     d  ──────●───────┃●──●─────▶         at most e - j before it; there are SLOTS splits
                      ┃<─j─>           L: for any prefix behind the boundary, what d has more rows than t
```

So a bucket has `d - c + c'` pairs, with c between L and U of its start and c' between those of its end. What is known
at an instant is what the rows up to it say, so each row is taken at its time, and a bucket is shown as it changes, or
once it can change no more.

A group has three records, of a bucket b and the two before it. Words of a record: the bucket's number plus 1, rows of
t, whether an assertion was broken, and for each counted stream its rows, how many more than t it has had since the
boundary, the most that this was, and two histograms: of d behind the start, and of t before the end.

```text
   bucket b  ━━━━━━━━━━━━┫ settled ┊                     ┊ final
                         ┊<─ rows say what crossed ─>┊   ┊
                         ┊<─ a violation may concern b ─>┊
```

Some time after its end a bucket is *settled*: its counters are needed no more, and its result moves to a ring of
results. There it can still be marked, until it is *final*: no row that comes then matches one of the bucket.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: Of a record, and in it of a counted stream, what stands where.
BUCKET, ROWS, BROKEN, STREAMS = range(4)
COUNT, EXCESS, MOST, SLOTS = range(4)
#: A result in the ring: the bucket's number plus 1, whether it is shown, the count, its ends, whether it is certain.
RESULT_BUCKET, IS_SHOWN, RESULT, CERTAIN, RESULT_WORDS = 0, 1, 2, 5, 6
RECORDS = 3

#: The registers: the next boundary before which a bucket settles, and the next before which one is final, plus 1; and
#: whether an interval was wider than it may be.
SETTLES, ENDS, WAS_WIDE, REGISTERS = range(4)

#: Words of `shape`.
WIDTH, SHIFT, SETTLED, FINAL, SLOT_COUNT, EMITS, RING, WITHIN, PERCENT, SHAPE = range(10)

#: What a line of `streams` has: the delay, whether its rows are subtracted, and the number of the counted stream that
#: it follows, or -1 for the bucket stream.
DELAY, SUBTRACTS, ABOVE = range(3)

#: Words of an output: its time, weight, group, bucket, count, low, high, whether certain, whether it is too wide.
OUT = 9


@lean
def record_width(streams: int, slots: int) -> int:
    return STREAMS + streams * (SLOTS + 2 * slots)


@lean
def group_width(streams: int, slots: int, ring: int) -> int:
    return ring * RESULT_WORDS + RECORDS * record_width(streams, slots)


@lean
def count_rows(
    ts: Ints,
    sources: Ints,
    groups: Ints,
    since: Ints,
    done: int,
    until: int,
    shape: Ints,
    streams: Ints,
    held: Ints,
    latest: Ints,
    counters: Ints,
    registers: Ints,
    out: Ints,
) -> tuple[int, int]:
    """Counts rows from `done` on, in the order of time, and gives how far it got and how many changes it put out.

    `sources` has 0 for a row of the bucket stream, 1 and more for counted streams, and -1 for a broken assertion, which
    concerns rows from `since` on. `latest` has of each group its last bucket plus 1, or 0 if it is done with. It
    stops when `out` has no room; until then it takes all rows, and all that is final before `until`.
    """
    count, i = 0, done
    emits = shape[EMITS] != 0
    while True:
        at_end = i == len(ts)
        t = until - 1 if at_end else ts[i]
        while is_due(t, shape, registers):
            if count + len(held) + 1 > len(out):
                return i, count
            count = _pass_boundary(shape, streams, held, latest, counters, registers, out, count)
        if at_end:
            return i, count
        end = i
        while end < len(ts) and ts[end] == t:
            end += 1
        if not emits and count + (4 + 2 * shape[RING]) * (end - i) > len(out):
            return i, count
        count = _take_instant(
            t, i, end, sources, groups, since, shape, streams, latest, counters, registers, out, count
        )
        i = end


@lean
def is_due(t: int, shape: Ints, registers: Ints) -> bool:
    """Whether a bucket is final at an instant, or settles."""
    return registers[ENDS] != 0 and min(_due(SETTLES, shape, registers), _due(ENDS, shape, registers)) <= t


@lean
def _due(which: int, shape: Ints, registers: Ints) -> int:
    after = shape[SETTLED if which == SETTLES else FINAL]
    due: int = (registers[which] - 1) * shape[WIDTH] - shape[SHIFT] + after
    return due


@lean
def _take_instant(
    t: int,
    first: int,
    end: int,
    sources: Ints,
    groups: Ints,
    since: Ints,
    shape: Ints,
    streams: Ints,
    latest: Ints,
    counters: Ints,
    registers: Ints,
    out: Ints,
    count: int,
) -> int:
    """Counts the rows of an instant, and shows what changes then."""
    bucket = (t + shape[SHIFT]) // shape[WIDTH]
    if registers[ENDS] == 0:
        registers[SETTLES] = registers[ENDS] = bucket + 2
    for k in range(first, end):
        _take(t, sources[k], groups[k], bucket, shape, streams, latest, counters)
        if sources[k] < 0:
            count = _mark(t, since[k], groups[k], bucket, shape, streams, counters, out, count)
    is_early = (t + shape[SHIFT]) % shape[WIDTH] < shape[SETTLED]
    if is_early:
        for k in range(first, end):
            _note_most(groups[k], bucket, shape, streams, counters)
    if shape[EMITS] == 0:
        for k in range(first, end):
            if is_early:
                count = _show(t, groups[k], bucket - 1, shape, streams, counters, out, count)
            count = _show(t, groups[k], bucket, shape, streams, counters, out, count)
    return count


@lean
def _longest(streams: Ints) -> int:
    longest = 0
    for stream in range(len(streams)):
        longest = max(longest, streams[stream, DELAY])
    return longest


@lean
def _mark(
    t: int, since: int, group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints, out: Ints, count: int
) -> int:
    """Marks all buckets that a broken assertion may concern: its rows are between two instants."""
    width, shift = shape[WIDTH], shape[SHIFT]
    first = max(since - _longest(streams) + shift, 0) // width
    for older in range(max(first, bucket + 1 - shape[RING], 0), bucket):
        before = _known(group, older, shape, streams, counters)
        if before >= 0:
            counters[group, before + BROKEN] |= 1
        place = RESULT_WORDS * (older % shape[RING])
        if counters[group, place + RESULT_BUCKET] != older + 1 or counters[group, place + CERTAIN] == 0:
            continue
        if shape[EMITS] == 0 and counters[group, place + IS_SHOWN] != 0:
            count = _put(out, count, t, -1, group, counters, place)
        counters[group, place + CERTAIN] = 0
        if shape[EMITS] == 0:
            counters[group, place + IS_SHOWN] = 1
            count = _put(out, count, t, 1, group, counters, place)
    return count


@lean
def _record(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> int:
    """Where the record of a bucket stands in a group's words, or would."""
    at: int = shape[RING] * RESULT_WORDS + (bucket % RECORDS) * record_width(len(streams), shape[SLOT_COUNT])
    return at


@lean
def _known(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> int:
    """The record of a bucket, or -1 if nothing is known of it."""
    at = _record(group, bucket, shape, streams, counters)
    return at if bucket >= 0 and counters[group, at + BUCKET] == bucket + 1 else -1


@lean
def _take(
    t: int, source: int, group: int, bucket: int, shape: Ints, streams: Ints, latest: Ints, counters: Ints
) -> None:
    """Counts a row."""
    width, shift, slots = shape[WIDTH], shape[SHIFT], shape[SLOT_COUNT]
    at = _record(group, bucket, shape, streams, counters)
    if counters[group, at + BUCKET] != bucket + 1:
        for word in range(record_width(len(streams), slots)):
            counters[group, at + word] = 0
        counters[group, at + BUCKET] = bucket + 1
        before = _known(group, bucket - 1, shape, streams, counters)
        # Bit 1: an assertion was broken so close to the end that the next bucket cannot trust its boundary.
        if before >= 0 and counters[group, before + BROKEN] & 2:
            counters[group, at + BROKEN] = 1
    latest[group] = bucket + 1
    offset = (t + shift) % width
    left = width - offset
    if source < 0:
        counters[group, at + BROKEN] |= 3 if left <= _longest(streams) else 1
        before = _known(group, bucket - 1, shape, streams, counters)
        if before >= 0 and offset < shape[SETTLED]:
            counters[group, before + BROKEN] |= 1
        return
    if source == 0:
        counters[group, at + ROWS] += 1
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
    counters[group, place + EXCESS] += 1
    if offset < delay:
        counters[group, place + SLOTS + offset * slots // delay] += 1


@lean
def _note_most(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> None:
    """After an instant: what each stream has had more rows than the bucket stream since the boundary, at most."""
    at = _record(group, bucket, shape, streams, counters)
    for stream in range(len(streams)):
        place = at + STREAMS + stream * (SLOTS + 2 * shape[SLOT_COUNT])
        counters[group, place + MOST] = max(counters[group, place + MOST], counters[group, place + EXCESS])


@lean
def crossing(group: int, bucket: int, stream: int, shape: Ints, streams: Ints, counters: Ints) -> tuple[int, int]:
    """At least and at most how many pairs cross the boundary at which a bucket begins."""
    slots = shape[SLOT_COUNT]
    behind = _known(group, bucket, shape, streams, counters)
    if behind < 0:
        return 0, 0  # no row behind it, so none that crosses
    before = _known(group, bucket - 1, shape, streams, counters)
    offset = STREAMS + stream * (SLOTS + 2 * slots)
    least = counters[group, behind + offset + MOST]
    if before < 0:
        return least, 0
    head, tail = behind + offset + SLOTS, before + offset + SLOTS + slots
    split = 0
    for slot in range(slots):
        split += counters[group, tail + slot]
    most = split
    for slot in range(slots):
        # One slot of the counted stream more, and the slot of the bucket stream that is farthest away less.
        split += counters[group, head + slot] - counters[group, tail + slots - 1 - slot]
        most = min(most, split)
    return least, most


@lean
def _pairs(
    group: int, bucket: int, stream: int, at: int, shape: Ints, streams: Ints, counters: Ints
) -> tuple[int, int, bool]:
    """At least and at most how many rows of a bucket have one of a counted stream; and whether that is consistent."""
    rows = counters[group, at + ROWS]
    least_before, most_before = crossing(group, bucket, stream, shape, streams, counters)
    least_behind, most_behind = crossing(group, bucket + 1, stream, shape, streams, counters)
    own = counters[group, at + STREAMS + stream * (SLOTS + 2 * shape[SLOT_COUNT]) + COUNT]
    low = max(0, own - most_before + least_behind)
    high = min(rows, own - least_before + most_behind)
    if low > high or least_before > most_before or least_behind > most_behind:
        return min(low, max(0, high)), max(low, high), False
    return low, high, True


@lean
def interval(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> tuple[int, int, int, int]:
    """The count of a bucket, the ends of its interval, and whether that is certain."""
    at = _known(group, bucket, shape, streams, counters)
    if at < 0:
        return 0, 0, 0, 1
    rows = counters[group, at + ROWS]
    certain = 0 if counters[group, at + BROKEN] else 1
    count, low, high = rows, rows, rows
    for stream in range(len(streams)):
        own = counters[group, at + STREAMS + stream * (SLOTS + 2 * shape[SLOT_COUNT]) + COUNT]
        own_low, own_high, is_consistent = _pairs(group, bucket, stream, at, shape, streams, counters)
        if not is_consistent:
            certain = 0
        if streams[stream, SUBTRACTS] != 0:
            # Bonferroni: at most all of them are taken away, and at least they are taken away from what they follow.
            count -= own
            low -= own_high
            above, above_high = streams[stream, ABOVE], rows
            if above >= 0:
                above_high = _pairs(group, bucket, above, at, shape, streams, counters)[1]
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
def _show(
    t: int,
    group: int,
    bucket: int,
    shape: Ints,
    streams: Ints,
    counters: Ints,
    out: Ints,
    done: int,
) -> int:
    """Puts out how what is shown of a bucket changes."""
    if _known(group, bucket, shape, streams, counters) < 0:
        return done
    count, low, high, certain = interval(group, bucket, shape, streams, counters)
    is_shown = high > 0 or certain == 0
    place = RESULT_WORDS * (bucket % shape[RING])
    if counters[group, place + RESULT_BUCKET] == bucket + 1 and counters[group, place + IS_SHOWN] != 0:
        if (
            is_shown
            and counters[group, place + RESULT] == count
            and counters[group, place + RESULT + 1] == low
            and counters[group, place + RESULT + 2] == high
            and counters[group, place + CERTAIN] == certain
        ):
            return done
        done = _put(out, done, t, -1, group, counters, place)
    _keep_result(group, bucket, shape, streams, counters)
    if is_shown:
        done = _put(out, done, t, 1, group, counters, place)
    return done


@lean
def _is_wide(group: int, place: int, boundary: int, shape: Ints, counters: Ints) -> bool:
    """Whether the interval of the bucket before a boundary is wider than it may be."""
    if shape[WITHIN] < 0 or counters[group, place + RESULT_BUCKET] != boundary:
        return False
    width = counters[group, place + RESULT + 2] - counters[group, place + RESULT + 1]
    allowed = shape[WITHIN] * counters[group, place + RESULT] // 100 if shape[PERCENT] != 0 else shape[WITHIN]
    return bool(width * 1_000_000 > allowed)


@lean
def _keep_result(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> None:
    """Has the result of a bucket in the ring."""
    count, low, high, certain = interval(group, bucket, shape, streams, counters)
    place = RESULT_WORDS * (bucket % shape[RING])
    counters[group, place + RESULT_BUCKET] = bucket + 1
    counters[group, place + IS_SHOWN] = 1 if high > 0 or certain == 0 else 0
    counters[group, place + RESULT] = count
    counters[group, place + RESULT + 1] = low
    counters[group, place + RESULT + 2] = high
    counters[group, place + CERTAIN] = certain


@lean
def _put(out: Ints, done: int, t: int, weight: int, group: int, counters: Ints, place: int) -> int:
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
def _pass_boundary(
    shape: Ints, streams: Ints, held: Ints, latest: Ints, counters: Ints, registers: Ints, out: Ints, done: int
) -> int:
    """The next thing that is due: a bucket settles, or the one before a boundary is final, and groups end with it."""
    if _due(SETTLES, shape, registers) <= _due(ENDS, shape, registers):
        boundary, at = registers[SETTLES] - 1, _due(SETTLES, shape, registers)
        place = RESULT_WORDS * ((boundary - 1) % shape[RING])
        for k in range(len(held)):
            if latest[held[k]] != 0 and _known(held[k], boundary - 1, shape, streams, counters) >= 0:
                if shape[EMITS] != 0:
                    _keep_result(held[k], boundary - 1, shape, streams, counters)
                if registers[WAS_WIDE] == 0 and _is_wide(held[k], place, boundary, shape, counters):
                    registers[WAS_WIDE] = 1
                    done = _put(out, done, at, 1, held[k], counters, place)
                    out[done - 1, 8] = 1
        registers[SETTLES] += 1
        return done
    boundary, at = registers[ENDS] - 1, _due(ENDS, shape, registers)
    place, lives = RESULT_WORDS * ((boundary - 1) % shape[RING]), False
    for k in range(len(held)):
        group = held[k]
        if latest[group] == 0:
            continue
        is_shown = counters[group, place + RESULT + 2] > 0 or counters[group, place + CERTAIN] == 0
        if shape[EMITS] != 0 and counters[group, place + RESULT_BUCKET] == boundary and is_shown:
            done = _put(out, done, at, 1, group, counters, place)
        if latest[group] <= boundary:
            latest[group] = 0
            for word in range(counters.shape[1]):
                counters[group, word] = 0
        else:
            lives = True
    registers[ENDS] += 1
    if not lives:
        registers[SETTLES] = registers[ENDS] = 0
    return done
