"""Who reads `sysstream` in a run: queries that are given what every step publishes, a few times a second.

Nothing is published, and nothing is computed for it, while nobody reads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from penstock.algebra.relations import Query
from penstock.engines.metrics import OperatorMetrics
from penstock.engines.watching import Watch
from penstock.monitor.bounds import Bounds, QueryBounds
from penstock.monitor.sysstream import Property, properties

#: Microseconds between two publications at least: both to make one and to step the queries that read it have a cost.
_PAUSE = 200_000
#: The steps of the readers take such a part of the CPU time at most, unless that is seldom. To gather what is
#: published, and that caches of the processor are cold after it, costs about as much again.
_SHARE = 0.005
_LONGEST_PAUSE = 2_000_000


def wall_clock() -> int:
    """Returns the present, in microseconds since 1970."""
    return time.time_ns() // 1000


class SysStream:
    """Publishes the properties of the entities of a run to the queries that read them."""

    def __init__(self, watches: Sequence[Watch] = (), clock: Callable[[], int] = wall_clock) -> None:
        self.watches = list(watches)
        self._clock = clock
        self._bounds: dict[str, QueryBounds] = {}
        #: What was published and not read yet.
        self._rows: list[Property] = []
        self._latest = 0
        #: When its readers were stepped last, by the wall clock and in CPU time of this thread, and what that cost.
        self._stepped, self._stepped_cpu, self._cost = self._now(), time.thread_time_ns(), 0

    @property
    def is_due(self) -> bool:
        """Returns whether somebody reads it, and the last step of the readers is not too recent.

        On a machine that is busy with other things little is done between two instants of the wall clock, so it is the
        CPU time since then that counts, up to the longest pause.
        """
        if not self.watches:
            return False
        passed, worked = self._now() - self._stepped, time.thread_time_ns() - self._stepped_cpu
        return passed >= _LONGEST_PAUSE or (passed >= _PAUSE and worked * _SHARE >= self._cost)

    def prove(self, bounds: Bounds) -> None:
        """Adds what was proved of the state of queries, to be published beside it."""
        self._bounds |= bounds

    def take(self, lines: Iterable[OperatorMetrics]) -> None:
        """Publishes what the metrics of steps say, at the present instant."""
        if self.watches:
            self._rows += properties(lines, self._now(), self._bounds)

    def beat(self) -> None:
        """Publishes that a run waits for input, so that its readers see time pass."""
        if self.is_due:
            self._rows.append(Property(self._now(), "", "run", "run", None, "idle", 1.0))

    def changes(self, *, is_last: bool = False) -> Iterator[tuple[Query, Any]]:
        """Yields the changes of the queries that read, if something was published; at the end of a run all of them."""
        if not self.watches or not (is_last or (self._rows and self.is_due)):
            return
        began = time.thread_time_ns()
        now = self._latest = self._now() + 1
        rows, self._rows = self._rows, []
        for watch in self.watches:
            watch.push(rows)
            for block in watch.changes(now):
                yield watch.query, block
        self._stepped, self._stepped_cpu = self._now(), time.thread_time_ns()
        self._cost = self._stepped_cpu - began

    def close(self) -> None:
        for watch in self.watches:
            watch.close()

    def _now(self) -> int:
        """Returns the present; the wall clock may be set back, and time does not go back here."""
        self._latest = max(self._latest, self._clock())
        return self._latest
