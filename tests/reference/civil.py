"""The calendar: days since 1970-01-01 as year, month and day of the Gregorian calendar, in both directions.

Python's own dates end at the years 1 and 9999; timestamps of 64 bits do not. 400 years have 146097 days, so the
reckoning is done in the 400 years that Python has.
"""

from __future__ import annotations

import datetime

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_CYCLE_YEARS = 400
_CYCLE_DAYS = 146_097


def from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day.

    >>> from_days(0), from_days(-1), from_days(20_000), from_days(-800_000)
    ((1970, 1, 1), (1969, 12, 31), (2024, 10, 4), (-221, 9, 4))
    """
    cycles, rest = divmod(days, _CYCLE_DAYS)
    date = datetime.date.fromordinal(rest + _EPOCH)
    return date.year + cycles * _CYCLE_YEARS, date.month, date.day


def to_days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01, or None if there is no such day.

    >>> to_days(2024, 10, 4), to_days(2023, 2, 29), to_days(-221, 9, 4)
    (20000, None, -800000)
    """
    cycles, rest = divmod(year - 1, _CYCLE_YEARS)
    try:
        return datetime.date(rest + 1, month, day).toordinal() - _EPOCH + cycles * _CYCLE_DAYS
    except ValueError:
        return None
