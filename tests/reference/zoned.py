"""What clocks of a time zone show, value by value, with Python's own dates and zones.

Where a time is skipped or shown twice the instant is the one that Java's `java.time` finds, as Spark does. Python's
dates end at the year 9999, and the calendar repeats after 400 years.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

from penstock.types import DAY
from tests.reference import civil

_CYCLE = 146_097 * DAY
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_FIXED = {"MINUTE": 60_000_000, "HOUR": 3_600_000_000, "DAY": DAY}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_TOO_EARLY = -(150 * 366) * DAY


@cache
def _zone(name: str) -> tzinfo:
    if name[0] not in "+-":
        return UTC if name == "UTC" else ZoneInfo(name)
    parts = [int(part) for part in name[1:].split(":")]
    offset = timedelta(hours=parts[0], minutes=parts[1], seconds=parts[2] if len(parts) > 2 else 0)
    return timezone(-offset if name[0] == "-" else offset)


def shown(instant: int, zone: str) -> int:
    """What clocks show at an instant, as microseconds since they showed the start of 1970."""
    if zone == "UTC":
        return instant
    moved, by = _within(instant)
    at = (_EPOCH.replace(tzinfo=UTC) + moved * _MICROSECOND).astimezone(_zone(zone)).replace(tzinfo=None)
    return (at - _EPOCH) // _MICROSECOND + by


def instant(time: int, zone: str, fold: int = 0) -> int:
    """When clocks show a time, the first time; one that they skip is later by as much as they skip."""
    if zone == "UTC":
        return time
    moved, by = _within(time)
    at = (_EPOCH + moved * _MICROSECOND).replace(tzinfo=_zone(zone), fold=fold)
    return (at.astimezone(UTC).replace(tzinfo=None) - _EPOCH) // _MICROSECOND + by


def start_of_day(days: int, zone: str) -> int:
    """The first instant of a day; where midnight is skipped, the one at which that happens."""
    midnight = days * DAY
    found = instant(midnight, zone)
    if shown(found, zone) == midnight:
        return found
    offset = shown(found, zone) - found
    low, high = found - 2 * DAY, found
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shown(middle, zone) - middle == offset else (middle, high)
    return high


def truncated(unit: str, time: int, zone: str) -> int:
    """DATE_TRUNC to a MINUTE or more."""
    clock = shown(time, zone)
    start = clock // _FIXED[unit] * _FIXED[unit] if unit in _FIXED else _first_day(unit, clock // DAY) * DAY
    both = [instant(start, zone, fold) for fold in (0, 1)]
    same = [at for at in both if shown(at, zone) == start and at - start == time - clock]
    return same[0] if same else both[0]


def _first_day(unit: str, days: int) -> int:
    if unit == "WEEK":
        return days - (days + 3) % 7
    year, month, _ = civil.from_days(days)
    first = civil.to_days(year, month - (month - 1) % _MONTHS[unit], 1)
    assert first is not None
    return first


def _within(micros: int) -> tuple[int, int]:
    """A time of years that Python has, at which clocks are as at this one, and how much later this one is."""
    if micros < _TOO_EARLY:
        return micros % DAY + _TOO_EARLY // DAY * DAY, micros // DAY * DAY - _TOO_EARLY // DAY * DAY
    cycles = max(0, micros // _CYCLE - 1)
    return micros - cycles * _CYCLE, cycles * _CYCLE
