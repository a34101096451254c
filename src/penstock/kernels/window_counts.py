"""Counts rows by window `[RANGE w SLIDE w]`: the interval of the last window, as it is replaced and as partners come.

The counters and what they certify are those of `bucket_records.py`. Window b is there from the start of bucket b to its
end, so nothing is kept of those before, and at each boundary the results of all groups are replaced.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.bucket_records import (
    ALWAYS,
    AT_START,
    BROKEN,
    IN_BUCKET,
    IS_SHOWN,
    SETTLED,
    WIDTH,
    known,
    longest,
    note_most,
    record,
    show,
    take,
)
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: The registers: the next boundary at which windows are replaced, plus 1, or 0 if no window has a row; and whether the
#: one group that there is without keys is there.
NEXT, BEGUN = range(2)


@lean
def count_windows(
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

    Arguments are those of `count_rows`. It stops when `out` has no room for an instant.
    """
    count, i = 0, done
    while True:
        at_end = i == len(ts)
        t = until - 1 if at_end else ts[i]
        while is_boundary_due(t if at_end else t - 1, shape, registers):
            if count + 2 * len(held) > len(out):
                return i, count
            at = (registers[NEXT] - 1) * shape[WIDTH]
            count = _replace_windows(at, shape, streams, held, latest, counters, registers, out, count)
        if at_end:
            return i, count
        end = i
        while end < len(ts) and ts[end] == t:
            end += 1
        if count + 2 * (len(held) + end - i) > len(out):
            return i, count
        bucket = t // shape[WIDTH]
        if registers[NEXT] == 0:
            registers[NEXT] = bucket + (1 if t % shape[WIDTH] == 0 else 2)
        for k in range(i, end):
            take(t, sources[k], groups[k], bucket, shape, streams, latest, counters)
            if sources[k] < 0:
                _mark(t, since[k], groups[k], bucket, shape, streams, counters)
        is_early = t - bucket * shape[WIDTH] < shape[SETTLED]
        if is_early:
            for k in range(i, end):
                note_most(groups[k], bucket, shape, streams, counters)
        if is_boundary_due(t, shape, registers):
            count = _replace_windows(t, shape, streams, held, latest, counters, registers, out, count)
        else:
            for k in range(i, end):
                if is_early or sources[k] < 0:
                    count = _show(t, groups[k], bucket, shape, streams, counters, out, count)
        i = end


@lean
def is_boundary_due(t: int, shape: Ints, registers: Ints) -> bool:
    """Whether windows have to be replaced at an instant or before."""
    return bool(registers[NEXT] != 0 and (registers[NEXT] - 1) * shape[WIDTH] <= t)


@lean
def _mark(t: int, since: int, group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints) -> None:
    """Marks the window that is there, if a broken assertion may concern it: its rows are between two instants."""
    start = bucket * shape[WIDTH]
    if t - start < shape[SETTLED] or since - longest(streams) <= start:
        counters[group, record(group, bucket, shape, streams, counters) + BROKEN] |= AT_START
        before = known(group, bucket - 1, shape, streams, counters)
        if before >= 0:
            counters[group, before + BROKEN] |= IN_BUCKET


@lean
def _replace_windows(
    at: int,
    shape: Ints,
    streams: Ints,
    held: Ints,
    latest: Ints,
    counters: Ints,
    registers: Ints,
    out: Ints,
    done: int,
) -> int:
    """At a boundary: shows the next window of all groups, and ends those that have no row in it or behind."""
    bucket, lives = registers[NEXT] - 1, False
    for k in range(len(held)):
        group = held[k]
        if latest[group] == 0:
            continue
        done = _show(at, group, bucket, shape, streams, counters, out, done)
        if latest[group] >= bucket:
            lives = True
        elif shape[ALWAYS] == 0:
            latest[group] = 0
            for word in range(counters.shape[1]):
                counters[group, word] = 0
    registers[NEXT] = registers[NEXT] + 1 if lives else 0
    return done


@lean
def _show(t: int, group: int, bucket: int, shape: Ints, streams: Ints, counters: Ints, out: Ints, done: int) -> int:
    """Puts out how what is shown of a group changes. The ring has one place: that of the last window."""
    return show(t, group, bucket, 0, counters[group, IS_SHOWN] != 0, shape, streams, counters, out, done)
