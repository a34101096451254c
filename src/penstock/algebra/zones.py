"""Time zones: a region or a fixed offset by its name, and when its clocks were and will be changed.

A zone is a setting of a query and says what its clocks show: hours, days, and times without a zone. Instants stay
microseconds in UTC. The rules are those of the tz database, as Python's `zoneinfo` has it. The Gregorian calendar
repeats after 400 years, weekdays included, so what is known up to the year 2500 is enough for all times.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from penstock.errors import PenstockError

#: The zone of whoever does not say another.
DEFAULT = "UTC"

#: Functions of a TIMESTAMP that depend on the zone.
ZONED_FUNCTIONS = frozenset(
    {"DATE_TRUNC", "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "DATE_FORMAT", "TO_TIMESTAMP"}
)

#: Seconds in 400 years, and the first second of the year 2500.
CYCLE = 146_097 * 86_400
KNOWN_UNTIL = int(datetime(2500, 1, 1, tzinfo=UTC).timestamp())

_FROM = datetime(1840, 1, 1, tzinfo=UTC)
_STEP = timedelta(days=1)
#: From here on a rule says when clocks are changed, and there are weeks between two changes.
_RULED_FROM = datetime(2040, 1, 1, tzinfo=UTC)
_RULED_STEP = timedelta(days=7)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?(?::?(\d\d))?")
_GREENWICH = frozenset({"UTC", "Z", "GMT", "UT", "ETC/UTC", "ETC/GMT", "UNIVERSAL", "ZULU", "GREENWICH"})
_MOST_OFFSET = 18 * 3600
_UNITS = {"MICROSECOND": 1, "MILLISECOND": 1, "SECOND": 1, "MINUTE": 60, "HOUR": 3600}
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Change:
    """From a second on clocks are `after` seconds ahead of UTC, and no longer `before`."""

    at: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Zone:
    """How far clocks are ahead of UTC: `first` seconds, until the first change."""

    name: str
    first: int
    changes: tuple[Change, ...]

    @property
    def longest_overlap(self) -> int:
        """By how many seconds clocks are put back at most, since 1970."""
        return max((change.before - change.after for change in self._since_1970), default=0)

    def second_of(self, shown: int) -> int:
        """When clocks show a time for the first time; what they skip is later by as much as they skip.

        >>> zone_of("Europe/Berlin").second_of(0), zone_of("+01:00").second_of(0)
        (-3600, -3600)
        """
        offset, known = self.first, shown
        if shown >= KNOWN_UNTIL:
            known -= (shown - (KNOWN_UNTIL - CYCLE)) // CYCLE * CYCLE
        for change in self.changes:
            if known < change.at + max(change.before, change.after):
                break
            offset = change.after
        return shown - offset

    def rounds(self, unit: str) -> bool:
        """Whether the start of the unit that a time is in never falls as time goes on, since 1970.

        It falls if clocks are put back across the start of a unit, or in the middle of an hour by less than one. Where
        a week or a longer unit starts twice, its start depends on the offset, which may change to and fro in it.
        """
        if unit in _UNITS:
            step = _UNITS[unit]
            return all(
                (change.at + change.before) % step == 0 and (change.after - change.before) % step == 0
                for change in self._since_1970
            )
        return not any(
            (change.at + change.before - 1) // _DAY > (change.at + change.after) // _DAY
            or (unit != "DAY" and change.after < change.before and (change.at + change.after) % _DAY == 0)
            for change in self._since_1970
        )

    @property
    def _since_1970(self) -> Iterator[Change]:
        return (change for change in self.changes if change.at >= -_DAY)


def zone_name(text: str) -> str:
    """The name of a zone in one spelling, or an error that says which zone may be meant.

    >>> zone_name("gmt"), zone_name("UTC+2"), zone_name("-05:30"), zone_name("Europe/Berlin")
    ('UTC', '+02:00', '-05:30', 'Europe/Berlin')
    """
    text = text.strip()
    if text.upper() in _GREENWICH:
        return DEFAULT
    if (fixed := _fixed(text)) is not None:
        return fixed
    known = available_timezones()
    if text in known:
        return text
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(text.lower(), by_lower, n=1, cutoff=0.6)
    cities = [name for name in sorted(known) if name.lower().endswith(f"/{text.lower().replace(' ', '_')}")]
    meant = cities[0] if cities else by_lower[near[0]] if near else None
    hint = "write a region, such as Europe/Berlin, or an offset, such as +02:00"
    raise PenstockError(f"there is no time zone {text}", f"did you mean {meant}?" if meant else hint)


def _fixed(text: str) -> str | None:
    """The spelling of a fixed offset; that of UTC for none at all."""
    match = _OFFSET.fullmatch(text.upper())
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    if minutes > 59 or seconds > 59 or hours * 3600 + minutes * 60 + seconds > _MOST_OFFSET:
        return None
    if not hours and not minutes and not seconds:
        return DEFAULT
    return f"{match[1]}{hours:02d}:{minutes:02d}" + (f":{seconds:02d}" if seconds else "")


@lru_cache(maxsize=64)
def zone_of(name: str) -> Zone:
    """The zone of a name that `zone_name` gave."""
    if name == DEFAULT:
        return Zone(name, 0, ())
    if name[0] in "+-":
        parts = [int(part) for part in name[1:].split(":")]
        seconds = sum(part * size for part, size in zip(parts, (3600, 60, 1), strict=False))
        return Zone(name, -seconds if name[0] == "-" else seconds, ())
    try:
        info = ZoneInfo(name)
    except ZoneInfoNotFoundError as error:
        hint = "install the system's time zones, or the package tzdata"
        raise PenstockError(f"there are no rules for the time zone {name} here", hint) from error
    changes = tuple(_changes(info))
    return Zone(name, _offset(info, _FROM), changes)


def _changes(info: ZoneInfo) -> Iterator[Change]:
    """All changes, found between days whose offsets differ. There is no day on which clocks are put to and fro."""
    low, end = _FROM, datetime.fromtimestamp(KNOWN_UNTIL, UTC)
    before = _offset(info, low)
    while low < end:
        high = low + (_STEP if low < _RULED_FROM else _RULED_STEP)
        after = _offset(info, high)
        if after != before:
            at = _first_with(info, low, high, before)
            yield Change(at, before, after)
        low, before = high, after


def _first_with(info: ZoneInfo, low: datetime, high: datetime, before: int) -> int:
    """The first second at which the offset is another."""
    left, right = int(low.timestamp()), int(high.timestamp())
    while right - left > 1:
        middle = (left + right) // 2
        if _offset(info, datetime.fromtimestamp(middle, UTC)) == before:
            left = middle
        else:
            right = middle
    return right


def _offset(info: ZoneInfo, at: datetime) -> int:
    offset = at.astimezone(info).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())
