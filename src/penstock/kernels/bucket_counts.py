"""Counts rows by bucket of time, and shows the interval of each bucket as it changes, or once it can change no more.

The counters and what they certify are those of `bucket_records.py`.

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

from penstock.kernels.bucket_records import (
    BROKEN,
    CERTAIN,
    EMITS,
    FINAL,
    IN_BUCKET,
    IS_SHOWN,
    PERCENT,
    RESULT,
    RESULT_BUCKET,
    RESULT_WORDS,
    RING,
    SETTLED,
    SHIFT,
    WIDTH,
    WITHIN,
    interval,
    keep,
    known,
    longest,
    note_most,
    put,
    show,
    shows,
    take,
)
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: The registers: the next boundary before which a bucket settles, and the next before which one is final, plus 1; and
#: whether an interval was wider than it may be.
SETTLES, ENDS, WAS_WIDE, REGISTERS = range(4)


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
        take(t, sources[k], groups[k], bucket, shape, streams, latest, counters)
        if sources[k] < 0:
            count = _mark(t, since[k], groups[k], bucket, shape, streams, counters, out, count)
    is_early = (t + shape[SHIFT]) % shape[WIDTH] < shape[SETTLED]
    if is_early:
        for k in range(first, end):
            note_most(groups[k], bucket, shape, streams, counters)
    if shape[EMITS] == 0:
        for k in range(first, end):
            if is_early:
                count = _show(t, groups[k], bucket - 1, shape, streams, counters, out, count)
            count = _show(t, groups[k], bucket, shape, streams, counters, out, count)
    return count


@lean
def _mark(
    t: int, since: int, group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints, out: Ints, count: int
) -> int:
    """Marks all buckets that a broken assertion may concern: its rows are between two instants."""
    width, shift = shape[WIDTH], shape[SHIFT]
    first = max(since - longest(streams) + shift, 0) // width
    for older in range(max(first, bucket + 1 - shape[RING], 0), bucket):
        before = known(group, older, shape, streams, counters)
        if before >= 0:
            counters[group, before + BROKEN] |= IN_BUCKET
        place = RESULT_WORDS * (older % shape[RING])
        if counters[group, place + RESULT_BUCKET] != older + 1 or counters[group, place + CERTAIN] == 0:
            continue
        if shape[EMITS] == 0 and counters[group, place + IS_SHOWN] != 0:
            count = put(out, count, t, -1, group, counters, place)
        counters[group, place + CERTAIN] = 0
        if shape[EMITS] == 0:
            counters[group, place + IS_SHOWN] = 1
            count = put(out, count, t, 1, group, counters, place)
    return count


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
    if known(group, bucket, shape, streams, counters) < 0:
        return done
    place = RESULT_WORDS * (bucket % shape[RING])
    was_shown = counters[group, place + RESULT_BUCKET] == bucket + 1 and counters[group, place + IS_SHOWN] != 0
    return show(t, group, bucket, place, was_shown, shape, streams, counters, out, done)


@lean
def _is_wide(group: int, place: int, boundary: int, shape: Ints, counters: Ints) -> bool:
    """Whether the interval of the bucket before a boundary is wider than it may be."""
    if shape[WITHIN] < 0 or counters[group, place + RESULT_BUCKET] != boundary:
        return False
    width = counters[group, place + RESULT + 2] - counters[group, place + RESULT + 1]
    allowed = shape[WITHIN] * counters[group, place + RESULT] // 100 if shape[PERCENT] != 0 else shape[WITHIN]
    return bool(width * 1_000_000 > allowed)


@lean
def _pass_boundary(
    shape: Ints, streams: Ints, held: Ints, latest: Ints, counters: Ints, registers: Ints, out: Ints, done: int
) -> int:
    """The next thing that is due: a bucket settles, or the one before a boundary is final, and groups end with it."""
    if _due(SETTLES, shape, registers) <= _due(ENDS, shape, registers):
        boundary, at = registers[SETTLES] - 1, _due(SETTLES, shape, registers)
        place = RESULT_WORDS * ((boundary - 1) % shape[RING])
        for k in range(len(held)):
            if latest[held[k]] != 0 and known(held[k], boundary - 1, shape, streams, counters) >= 0:
                if shape[EMITS] != 0:
                    result = interval(held[k], boundary - 1, shape, streams, counters)
                    keep(held[k], boundary - 1, place, result, shows(result, shape), counters)
                if registers[WAS_WIDE] == 0 and _is_wide(held[k], place, boundary, shape, counters):
                    registers[WAS_WIDE] = 1
                    done = put(out, done, at, 1, held[k], counters, place)
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
            done = put(out, done, at, 1, group, counters, place)
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
