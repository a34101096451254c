"""k from what is known of a network: the examples of the appendix (000, A) that no declaration stands for."""

from __future__ import annotations

from penstock.closing.kconstraints import Rate, RowCount
from penstock.closing.kconstraints.rates import ordered_by_delays


def ordered_by_timeout(timeout: int, reported: Rate) -> RowCount | None:
    """Example A.1: a record that is held back for up to `timeout` falls so many reported records behind.

    The appendix: 15 n for 15 seconds and n records a second.

    >>> ordered_by_timeout(15_000_000, Rate(1, per=100_000))
    RowCount(n=149)
    """
    return ordered_by_delays(0, timeout, arriving=reported)
