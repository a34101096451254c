"""What the clocks of a time zone show, of whole columns, and the instants at which they show something.

All is reckoned in seconds: offsets are whole ones, and a TIMESTAMP near the end of 64 bits does not overflow. Where
clocks skip a time or show it twice, an instant is found as Java's `java.time` does, which Spark uses.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from penstock.algebra.zones import CYCLE, KNOWN_UNTIL, zone_of
from penstock.synopsis.memory import Ints

_DAY = 86_400


class Clocks:
    def __init__(self, name: str) -> None:
        zone = zone_of(name)
        self._at = np.array([change.at for change in zone.changes], np.int64)
        self._offsets = np.array([zone.first, *(change.after for change in zone.changes)], np.int64)
        before, after = self._offsets[:-1], self._offsets[1:]
        #: Clocks show less than this before each change, and after it no less; what they skip or repeat is before it.
        self._shown = self._at + np.maximum(before, after)

    def shown(self, seconds: Ints) -> Ints:
        """What clocks show at some seconds, as seconds since they showed the first instant of 1970."""
        return seconds + self._offset(seconds)

    def seconds(self, shown: Ints) -> Ints:
        """When clocks show a time: the first time that they do; what they skip is later by as much as they skip."""
        return shown - self._offsets[np.searchsorted(self._shown, _known(shown), side="right")]

    def seconds_near(self, shown: Ints, near: Ints) -> Ints:
        """The same, but of two instants at which clocks show a time the one with the offset that there is `near`."""
        kept = shown - self._offset(near)
        return np.where(self.shown(kept) == shown, kept, self.seconds(shown))

    def start_of_day(self, days: Ints) -> Ints:
        """The first second of days; if clocks skip midnight, the one at which they have done so."""
        midnight = days * _DAY
        found = self.seconds(midnight)
        if not len(self._at):
            return found
        place = np.searchsorted(self._at, _known(found), side="right") - 1
        changed = found - (_known(found) - self._at[np.maximum(place, 0)])
        is_skipped = (place >= 0) & (self.shown(found) != midnight)
        return np.where(is_skipped, changed, found)

    def _offset(self, seconds: Ints) -> Ints:
        return self._offsets[np.searchsorted(self._at, _known(seconds), side="right")]


@lru_cache(maxsize=64)
def clocks_of(zone: str) -> Clocks:
    return Clocks(zone)


def _known(seconds: Ints) -> Ints:
    """Seconds of the years that are known, at which clocks are what they are at these."""
    if not len(seconds) or seconds.max() < KNOWN_UNTIL:
        return seconds
    cycles = np.maximum(seconds - (KNOWN_UNTIL - CYCLE), 0) // CYCLE
    known: Ints = seconds - np.where(seconds >= KNOWN_UNTIL, cycles, 0) * CYCLE
    return known
