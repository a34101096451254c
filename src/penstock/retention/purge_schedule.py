"""When a purge is due: after each part of a step, or where the run is lazy, after so many rows or so much time."""

from __future__ import annotations

from penstock.plan.forgetting import Forgetting
from penstock.synopsis.memory import Scope

#: The rows that arrived since the last purge, and its instant.
_ROWS, _INSTANT = range(2)


class PurgeSchedule:
    def __init__(self, memory: Scope, settings: Forgetting) -> None:
        self.settings = settings
        #: Whether the purge that is due is the first after some that were not.
        self.ends_pause = False
        self._since = memory.array("since", 2)

    def is_due(self, rows: int, now: int) -> bool:
        """Whether a purge is due, now that so many more rows have arrived; it is then taken to happen."""
        settings = self.settings
        self.ends_pause = settings.is_lazy or bool(self._since[_ROWS])
        if not settings.is_lazy:
            self._since[_ROWS] = 0
            return True
        self._since[_ROWS] += rows
        enough = settings.rows is not None and self._since[_ROWS] >= settings.rows
        if enough or (settings.time is not None and now - self._since[_INSTANT] >= settings.time):
            self._since[[_ROWS, _INSTANT]] = 0, now
            return True
        return False
