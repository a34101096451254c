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
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: Of a record, and in it of a counted stream, what stands where.
BUCKET, ROWS, BROKEN, STREAMS = range(4)
COUNT, EXCESS, MOST, SLOTS = range(4)
#: What was shown of a bucket: its number plus 1, and the result; there are two, by the bucket's parity.
SHOWN_BUCKET, SHOWN_COUNT, SHOWN_LOW, SHOWN_HIGH, SHOWN_CERTAIN, SHOWN = range(6)
RECORDS = 3

#: The one register: the next boundary whose records close, plus 1.
NEXT, REGISTERS = range(2)

#: What a line of `streams` has: the delay, and whether its rows are subtracted.
DELAY, SUBTRACTS = range(2)

#: Words of an output: its time, weight, group, bucket, count, low, high, whether certain.
OUT = 8


@lean
def record_width(streams: int, slots: int) -> int:
    return STREAMS + streams * (SLOTS + 2 * slots)


@lean
def group_width(streams: int, slots: int) -> int:
    return 2 * SHOWN + RECORDS * record_width(streams, slots)


@lean
def count_rows(
    ts: Ints,
    sources: Ints,
    groups: Ints,
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

    `sources` has 0 for a row of the bucket stream, 1 and more for counted streams, and -1 for a broken assertion.
    `shape` is (width, shift, watched, slots, emits). `latest` has of each group its last bucket plus 1, or 0 if it is
    done with. It stops when `out` has no room; until then it takes all rows, and all that closes before `until`.
    """
    count, i = 0, done
    width, shift, watched, emits = shape[0], shape[1], shape[2], shape[4] != 0
    while True:
        at_end = i == len(ts)
        t = until - 1 if at_end else ts[i]
        while registers[NEXT] != 0 and (registers[NEXT] - 1) * width - shift + watched <= t:
            if emits and count + len(held) > len(out):
                return i, count
            count = _close(shape, streams, held, latest, counters, registers, out, count)
        if at_end:
            return i, count
        end = i
        while end < len(ts) and ts[end] == t:
            end += 1
        if not emits and count + 4 * (end - i) > len(out):
            return i, count
        bucket = (t + shift) // width
        if registers[NEXT] == 0:
            registers[NEXT] = bucket + 2
        for k in range(i, end):
            _take(t, sources[k], groups[k], bucket, shape, streams, latest, counters)
        if (t + shift) % width < watched:
            for k in range(i, end):
                _note_most(groups[k], bucket, shape, streams, counters)
        if not emits:
            for k in range(i, end):
                if (t + shift) % width < watched:
                    count = _show(t, groups[k], bucket - 1, shape, streams, counters, out, count)
                count = _show(t, groups[k], bucket, shape, streams, counters, out, count)
        i = end


@lean
def _record(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> int:
    """Where the record of a bucket stands in a group's words, or would."""
    return 2 * SHOWN + (bucket % RECORDS) * record_width(len(streams), shape[3])


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
    width, shift, slots = shape[0], shape[1], shape[3]
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
        longest = 0
        for stream in range(len(streams)):
            longest = max(longest, streams[stream, DELAY])
        counters[group, at + BROKEN] |= 3 if left <= longest else 1
        before = _known(group, bucket - 1, shape, streams, counters)
        if before >= 0 and offset < shape[2]:
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
        place = at + STREAMS + stream * (SLOTS + 2 * shape[3])
        counters[group, place + MOST] = max(counters[group, place + MOST], counters[group, place + EXCESS])


@lean
def crossing(group: int, bucket: int, stream: int, shape: Ints, streams: Ints, counters: Ints) -> tuple[int, int]:
    """At least and at most how many pairs cross the boundary at which a bucket begins."""
    slots = shape[3]
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
def interval(group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> tuple[int, int, int, int]:
    """The count of a bucket, the ends of its interval, and whether that is certain."""
    at = _known(group, bucket, shape, streams, counters)
    if at < 0:
        return 0, 0, 0, 1
    rows = counters[group, at + ROWS]
    certain = 0 if counters[group, at + BROKEN] else 1
    count, low, high, most_taken = rows, rows, rows, 0
    for stream in range(len(streams)):
        least_before, most_before = crossing(group, bucket, stream, shape, streams, counters)
        least_behind, most_behind = crossing(group, bucket + 1, stream, shape, streams, counters)
        own = counters[group, at + STREAMS + stream * (SLOTS + 2 * shape[3]) + COUNT]
        own_low = max(0, own - most_before + least_behind)
        own_high = min(rows, own - least_before + most_behind)
        if own_low > own_high or least_before > most_before or least_behind > most_behind:
            certain = 0
            own_low, own_high = min(own_low, max(0, own_high)), max(own_low, own_high)
        if streams[stream, SUBTRACTS] != 0:
            count -= own
            low -= own_high
            most_taken = max(most_taken, own_low)
        else:
            count, low, high = min(rows, own), own_low, own_high
    low = max(0, low)
    high = high - most_taken
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
    place = SHOWN * (bucket % 2)
    was_shown = counters[group, place + SHOWN_BUCKET] == bucket + 1
    if was_shown:
        if (
            is_shown
            and counters[group, place + SHOWN_COUNT] == count
            and counters[group, place + SHOWN_LOW] == low
            and counters[group, place + SHOWN_HIGH] == high
            and counters[group, place + SHOWN_CERTAIN] == certain
        ):
            return done
        done = _put_shown(out, done, t, -1, group, bucket, counters, place)
        counters[group, place + SHOWN_BUCKET] = 0
    if is_shown:
        counters[group, place + SHOWN_BUCKET] = bucket + 1
        counters[group, place + SHOWN_COUNT] = count
        counters[group, place + SHOWN_LOW] = low
        counters[group, place + SHOWN_HIGH] = high
        counters[group, place + SHOWN_CERTAIN] = certain
        done = _put_shown(out, done, t, 1, group, bucket, counters, place)
    return done


@lean
def _put_shown(out: Ints, done: int, t: int, weight: int, group: int, bucket: int, counters: Ints, place: int) -> int:
    """Puts out what is shown of a bucket."""
    for word in range(SHOWN_COUNT, SHOWN):
        out[done, 4 + word - SHOWN_COUNT] = counters[group, place + word]
    out[done, 0], out[done, 1], out[done, 2], out[done, 3] = t, weight, group, bucket
    return done + 1


@lean
def _close(
    shape: Ints, streams: Ints, held: Ints, latest: Ints, counters: Ints, registers: Ints, out: Ints, done: int
) -> int:
    """The next boundary is passed for good: the bucket before it changes no more, groups without a later one end."""
    boundary = registers[NEXT] - 1
    at = boundary * shape[0] - shape[1] + shape[2]
    lives = False
    for k in range(len(held)):
        group = held[k]
        if latest[group] == 0:
            continue
        if _known(group, boundary - 1, shape, streams, counters) >= 0:
            count, low, high, certain = interval(group, boundary - 1, shape, streams, counters)
            if shape[4] != 0 and (high > 0 or certain == 0):
                out[done, 0], out[done, 1], out[done, 2], out[done, 3] = at, 1, group, boundary - 1
                out[done, 4], out[done, 5], out[done, 6], out[done, 7] = count, low, high, certain
                done += 1
        if latest[group] <= boundary:
            latest[group] = 0
            for word in range(counters.shape[1]):
                counters[group, word] = 0
        else:
            lives = True
    registers[NEXT] = registers[NEXT] + 1 if lives else 0
    return done
