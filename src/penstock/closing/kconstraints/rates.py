"""Numbers from rates and latencies: how many rows come during a wait, and k from what is known of a network (000, A).

Time is in whole microseconds, and a span has both its ends. A rate of n per second here means at most n rows in *any*
second. The appendix multiplies rates with times as if rows came evenly; where rows of a burst are less kind than that,
the formulas below are larger than the appendix's, and with evenly paced rows (`Rate(1, per=1_000_000 // n)`) they
agree.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.closing.kconstraints.streams import ConstrainedStream, Rate, RowCount
from penstock.closing.kconstraints.waits import After, Lapse, Passed, Wait

_UNKNOWN = Rate()


def most_rows(rate: Rate, microseconds: int) -> int | None:
    """At most so many rows arrive in a span of this length.

    >>> most_rows(Rate(most=10), 999_999), most_rows(Rate(most=10), 1_000_000)
    (10, 20)
    """
    return None if rate.most is None else rate.most * -(-(microseconds + 1) // rate.per)


def most_time(rate: Rate, rows: int) -> int | None:
    """So many rows take at most this time to arrive.

    >>> most_time(Rate(least=10), 25)
    3000000
    """
    return None if not rate.least else rate.per * -(-rows // rate.least)


def duration(wait: Wait, streams: Mapping[str, ConstrainedStream]) -> int | None:
    """A wait lasts at most so many microseconds, where rates tell."""
    total = 0
    for step in wait.steps:
        match step:
            case Lapse(microseconds):
                part: int | None = microseconds
            case After(stream, rows):
                part = most_time(streams[stream].rate, rows)
            case Passed():
                part = None
        if part is None:
            return None
        total += part
    return total


def rows_during(stream: ConstrainedStream, wait: Wait, streams: Mapping[str, ConstrainedStream]) -> int | None:
    """At most so many rows of a stream are in such a wait at one time, where that is known."""
    counts = [step.rows for step in wait.steps if isinstance(step, After) and _same(stream, streams[step.stream])]
    if len(counts) == len(wait.steps):
        return sum(counts)
    lasts = duration(wait, streams)
    return None if lasts is None else most_rows(stream.rate, lasts)


def _same(left: ConstrainedStream, right: ConstrainedStream) -> bool:
    return left.counted_as == right.counted_as


def rids_by_latency(latency: int, target: Rate) -> RowCount | None:
    """Section 6.1.1: a row that arrives at most `latency` later arrives within that many rows of its stream.

    >>> rids_by_latency(2_000_000, Rate(1, per=100))
    RowCount(n=20001)
    """
    rows = most_rows(target, latency)
    return None if rows is None else RowCount(rows)


def ordered_by_delays(least: int, most: int, *, arriving: Rate = _UNKNOWN, sent: Rate = _UNKNOWN) -> RowCount | None:
    """Example A.2: rows that take from `least` to `most` to arrive, ordered by the time at which they were sent.

    The appendix says (most - least) n, where n limits what the device *sends*. That is too small: two rows change
    places if they are sent less than most - least apart, but rows that are sent in twice that time may all arrive
    between them. n per second must limit what arrives, or be taken twice.

    >>> ordered_by_delays(0, 1_000_000, arriving=Rate(1, per=100_000))
    RowCount(n=9)
    >>> ordered_by_delays(0, 1_000_000, sent=Rate(1, per=100_000))
    RowCount(n=19)
    """
    jitter = most - least
    known = [k for k in (_between(arriving, jitter - 1), _between(sent, 2 * jitter - 1)) if k is not None]
    return min(known, key=lambda k: k.n, default=None)


def clustered_by_delay(devices: int, sampled: Rate, delay: int) -> RowCount | None:
    """Example A.3: each of `devices` reports sampled packets, and a packet passes all of them within `delay`.

    The appendix: m s d for m devices, s packets a second each and d seconds.

    >>> clustered_by_delay(3, Rate(1, per=100_000), 2_000_000)
    RowCount(n=61)
    """
    rows = most_rows(sampled, delay)
    return None if rows is None else RowCount(max(0, devices * rows - 2))


def _between(rate: Rate, span: int) -> RowCount | None:
    """So many rows follow a first row in a span that begins with it."""
    if span < 0:
        return RowCount(0)
    rows = most_rows(rate, span)
    return None if rows is None else RowCount(max(0, rows - 1))
