"""The driver decides which streams of a query are idle, by the rows that micro-batches brought, and tells its cells.

A decision is a line of the control source, so that Spark's log of a micro-batch says which decisions it has read: all
cells follow the same ones, and so does a micro-batch that is tried again, or after a restart. A decision names how many
rows of each idle stream there were; cells leave it out if a stream has delivered since.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event, Lock, Thread

from penstock.engines.idleness import Clock, Idleness, wall_clock
from penstock.engines.spark.reports import SparkDied
from penstock.errors import PenstockError

_SECONDS_BETWEEN = 0.5


class IdleWatch:
    """Watches the streams of one query. `rows` says how many rows of each there are, and how many there were at first.

    `tell` takes the decision which streams are idle, each with its rows. `after` has the timeouts of streams.
    """

    def __init__(
        self,
        after: Mapping[str, int],
        rows: Callable[[], tuple[Mapping[str, int], Mapping[str, int]]],
        tell: Callable[[Mapping[str, int]], None],
        clock: Clock = wall_clock,
    ) -> None:
        self._idleness, self._clock = Idleness(after), clock
        self._read, self._tell = rows, tell
        self._rows: dict[str, int] = {}
        self._told: Mapping[str, int] = {}
        self._lock = Lock()
        self._is_over = Event()

    def examine(self) -> None:
        """Tells the cells if other streams are idle than before."""
        with self._lock:
            latest, first = self._read()
            now = self._clock()
            for name, rows in latest.items():
                if rows > self._rows.setdefault(name, first.get(name, 0)):
                    self._idleness.delivered(name, now)
                    self._rows[name] = rows
            idle = {name: self._rows.get(name, 0) for name in self._idleness.idle(now)}
            if idle.keys() == self._told.keys():
                self._idleness.rest(now)
                return
            self._tell(idle)
            self._told = idle

    def begin(self) -> None:
        """Examines the streams from now on, in a thread of its own."""
        if self._idleness:
            Thread(target=self._follow, name="penstock-idle-streams", daemon=True).start()

    def end(self) -> None:
        """Leaves the streams alone."""
        self._is_over.set()

    def _follow(self) -> None:
        while not self._is_over.wait(_SECONDS_BETWEEN):
            with suppress(SparkDied):
                try:
                    self.examine()
                except PenstockError as error:
                    # The decision is sent again with the next.
                    warnings.warn(f"idle streams hold time back: {error.message}", RuntimeWarning, stacklevel=1)
