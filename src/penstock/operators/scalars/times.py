"""Times: the calendar, the functions of time, and how times are written.

The calendar is the Gregorian one, continued backwards; numpy reckons it, over all years that 64 bits reach.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from penstock.algebra.expressions import Operator
from penstock.algebra.zones import DEFAULT
from penstock.operators.scalars.clocks import Clocks, clocks_of
from penstock.operators.scalars.integers import CHECKED
from penstock.operators.scalars.numbers import fit_integer
from penstock.operators.scalars.vectors import Vector, VectorRule, strict, total
from penstock.synopsis.memory import Ints
from penstock.types import BIGINT_RANGE, DAY, HOUR, MILLISECOND, MINUTE, SECOND, TIMESTAMP, UNITS, Kind, Type

_TIME = re.compile(
    r"(?P<year>[+-]?\d{4,6})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"([ T](?P<hour>\d\d):(?P<minute>\d\d)(:(?P<second>\d\d)(\.(?P<fraction>\d{1,9}))?)?"
    r"(?P<zone>Z|[+-]\d\d(:?\d\d)?)?)?",
    re.ASCII,
)
_FURTHEST_ZONE = 18 * HOUR
_DAY_SECONDS = DAY // SECOND
_LONG_MONTHS = (1, 3, 5, 7, 8, 10, 12)
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def truncation(unit: str, zone: str = DEFAULT) -> VectorRule:
    """DATE_TRUNC to a unit."""
    if zone != DEFAULT and unit not in ("MICROSECOND", "MILLISECOND", "SECOND"):
        return strict(lambda times: _truncated(times, unit, clocks_of(zone)))
    if unit in UNITS:
        step = UNITS[unit]
        return strict(lambda times: _times(times // step, step))
    if unit == "WEEK":
        # 1970-01-01 was a Thursday, so day -3 was a Monday.
        return strict(lambda times: _times(_floor(times // DAY + 3, 7) - 3, DAY))
    months = _MONTHS[unit]
    return strict(lambda times: _times(_first_day(_floor(_month(times // DAY), months)), DAY))


def _truncated(times: Ints, unit: str, clocks: Clocks) -> Vector:
    """As in Spark: where clocks show a start twice, it is the one with the offset that there is at the time itself."""
    seconds = times // SECOND
    shown = clocks.shown(seconds)
    if unit in UNITS:
        start = _floor(shown, UNITS[unit] // SECOND)
    else:
        days = shown // _DAY_SECONDS
        first = _floor(days + 3, 7) - 3 if unit == "WEEK" else _first_day(_floor(_month(days), _MONTHS[unit]))
        start = first * _DAY_SECONDS
    return _times(clocks.seconds_near(start, seconds), SECOND)


def from_days(days: Ints, zone: str = DEFAULT) -> Vector:
    """The TIMESTAMP of a DATE."""
    return _times(days, DAY) if zone == DEFAULT else _times(clocks_of(zone).start_of_day(days), SECOND)


def to_days(times: Ints, zone: str = DEFAULT) -> Ints:
    """The DATE of a TIMESTAMP."""
    return times // DAY if zone == DEFAULT else clocks_of(zone).shown(times // SECOND) // _DAY_SECONDS


def date_texts(days: list[int]) -> list[str | None]:
    each = np.array(days, np.int64)
    months = _month(each)
    numbers = each - _first_day(months) + 1
    return [_date_text(*parts) for parts in zip(*_quotients_and_remainders(months, 12), numbers.tolist(), strict=True)]


def timestamp_texts(times: list[int], zone: str = DEFAULT) -> list[str | None]:
    seconds, micros = np.divmod(np.array(times, np.int64), SECOND)
    days, shown = np.divmod(seconds if zone == DEFAULT else clocks_of(zone).shown(seconds), _DAY_SECONDS)
    clocks = (shown * SECOND + micros).tolist()
    return [f"{date} {_clock_text(clock)}" for date, clock in zip(date_texts(days.tolist()), clocks, strict=True)]


def read_date(text: str) -> int | None:
    """The day that a date or timestamp names, in its own zone."""
    read = _read(text)
    return None if read is None else read[0]


def read_timestamps(texts: list[str], zone: str = DEFAULT) -> list[int | None]:
    """The instants of texts; those without a zone are what the clocks of `zone` show."""
    read = [_read(text) for text in texts]
    found = [None if each is None else each[1] for each in read]
    local = [place for place, each in enumerate(read) if each is not None and not each[2]]
    if zone != DEFAULT and local:
        shown = [divmod(read[place][1], SECOND) for place in local]  # type: ignore[index]
        seconds = clocks_of(zone).seconds(np.array([second for second, _ in shown], np.int64))
        for place, second, (_, micros) in zip(local, seconds.tolist(), shown, strict=True):
            found[place] = second * SECOND + micros
    low, high = BIGINT_RANGE
    return [moment if moment is not None and low <= moment <= high else None for moment in found]


def _date_text(years: int, month: int, day: int) -> str:
    """The year has four digits or more, and a sign where it needs one to be read."""
    year = years + 1970
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month + 1:02d}-{day:02d}"


def _clock_text(clock: int) -> str:
    seconds, micros = divmod(clock, SECOND)
    minutes, second = divmod(seconds, 60)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}{fraction}"


def _read(text: str) -> tuple[int, int, bool] | None:
    """The day that a text names, its microseconds since 1970, and whether it has a zone: else they are in UTC."""
    match = _TIME.fullmatch(text.strip(" "))
    if match is None:
        return None
    part = {name: int(match[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second")}
    days = _days(part["year"], part["month"], part["day"])
    zone = _zone(match["zone"] or "Z")
    if days is None or zone is None or part["hour"] > 23 or part["minute"] > 59 or part["second"] > 59:
        return None
    micros = int((match["fraction"] or "0")[:6].ljust(6, "0"))
    clock = part["hour"] * HOUR + part["minute"] * MINUTE + part["second"] * SECOND + micros
    return days, days * DAY + clock - zone, match["zone"] is not None


def _zone(text: str) -> int | None:
    """Microseconds east of Greenwich, or None if that is nowhere."""
    if text == "Z":
        return 0
    hours, minutes = int(text[1:3]), int(text[-2:] if len(text) > 3 else 0)
    distance = hours * HOUR + minutes * MINUTE
    if minutes > 59 or distance > _FURTHEST_ZONE:
        return None
    return -distance if text[0] == "-" else distance


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01, or None if there is no such day."""
    if not 1 <= month <= 12 or not 1 <= day <= _month_length(year, month):
        return None
    # Counted from the first of March of the year 0, so that a leap day is the last of its year.
    years, months = year - (month < 3), (month - 3) % 12
    return 365 * years + years // 4 - years // 100 + years // 400 + (153 * months + 2) // 5 + day - 1 - 719_468


def _month_length(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 28 + leap if month == 2 else 30 + (month in _LONG_MONTHS)


def _month(days: Ints) -> Ints:
    """Months since January 1970."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _first_day(months: Ints) -> Ints:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _floor(numbers: Ints, step: int) -> Ints:
    return numbers // step * step


def _quotients_and_remainders(numbers: Ints, step: int) -> tuple[list[int], list[int]]:
    return (numbers // step).tolist(), (numbers % step).tolist()


def _times(counts: Ints, unit: int) -> Vector:
    return fit_integer(*CHECKED[Operator.MULTIPLY](counts, np.array([unit])), TIMESTAMP)


def _of_days(function: Callable[[Ints], Ints]) -> Callable[[Type, str], VectorRule]:
    """The rule of a function of the day, of a TIMESTAMP or a DATE."""

    def make(argument: Type, zone: str) -> VectorRule:
        if argument.kind is Kind.DATE:
            return total(function)
        return total(lambda times: function(to_days(times, zone)))

    return make


def _of_clock(function: Callable[[Ints], Ints]) -> Callable[[Type, str], VectorRule]:
    """The rule of a function of the second of the day."""

    def make(argument: Type, zone: str) -> VectorRule:
        if zone == DEFAULT:
            return total(lambda times: function(times // SECOND % _DAY_SECONDS))
        return total(lambda times: function(clocks_of(zone).shown(times // SECOND) % _DAY_SECONDS))

    return make


def _always(rule: VectorRule) -> Callable[[Sequence[Type], Type], VectorRule]:
    return lambda arguments, result: rule


#: What makes the rule of a call from the types of its arguments and of its result.
FUNCTIONS: dict[str, Callable[[Sequence[Type], Type], VectorRule]] = {
    "UNIX_MICROS": _always(total(lambda times: times)),
    "UNIX_MILLIS": _always(total(lambda times: times // MILLISECOND)),
    "UNIX_SECONDS": _always(total(lambda times: times // SECOND)),
    "TIMESTAMP_MICROS": _always(total(lambda counts: counts)),
    "TIMESTAMP_MILLIS": _always(strict(lambda counts: _times(counts, MILLISECOND))),
    "TIMESTAMP_SECONDS": _always(strict(lambda counts: _times(counts, SECOND))),
}

#: What makes the rule of a call from the type of its argument and its time zone.
SHOWN: dict[str, Callable[[Type, str], VectorRule]] = {
    "YEAR": _of_days(lambda days: _month(days) // 12 + 1970),
    "MONTH": _of_days(lambda days: _month(days) % 12 + 1),
    "DAY": _of_days(lambda days: days - _first_day(_month(days)) + 1),
    "HOUR": _of_clock(lambda seconds: seconds // 3600),
    "MINUTE": _of_clock(lambda seconds: seconds % 3600 // 60),
    "SECOND": _of_clock(lambda seconds: seconds % 60),
}
