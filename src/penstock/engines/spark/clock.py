"""A cell's clock: how far each stream has been read, and which instants are closed.

Every cell gets the markers of every segment, so all of them read the same time, whatever tasks Spark made of the
input. Files of a micro-batch arrived in the order of their names; what came before a file decides which of its rows are
late that were not late among themselves. Partitions of other sources arrive side by side: one that is ahead of another
makes nothing in it late, or all but one of the partitions of a topic that is read after a pause would be.

Which streams are idle is decided by the driver, and reaches all cells as a row of the control source. So it is part of
what a micro-batch has read: one that is tried again, or after a restart, goes on without the same streams.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from penstock.engines.lateness import NEVER, Progress, earliest
from penstock.engines.spark.packing import Segment

#: All rows are late after time was closed.
_NOTHING_IS_ON_TIME = 2**63 - 1


@dataclass(slots=True)
class Clock:
    streams: dict[str, Progress]
    #: The first instant that is not closed.
    until: int = 0
    closed: bool = False
    #: The streams that time goes on without.
    idle: frozenset[str] = frozenset()
    #: Of each segment of this batch the least timestamp that is on time.
    earliest: dict[Segment, int] = field(default_factory=dict)
    #: How far each stream was before this batch.
    before: dict[str, Progress] = field(default_factory=dict)

    def read(
        self,
        markers: list[tuple[Segment, Progress]],
        delays: Mapping[str, int],
        decided: Sequence[Mapping[str, int]] = (),
    ) -> None:
        """Takes what a batch brought of all streams, and which of them are idle, as was `decided` one after the other.

        A decision says how many rows of an idle stream there were. If there are more by now it is outdated.
        """
        self.earliest = {}
        self.before = {name: replace(progress) for name, progress in self.streams.items()}
        for segment, brought in sorted(markers, key=lambda marker: marker[0]):
            progress = self.streams[segment.stream]
            newest = progress.newest if segment.name else self.before[segment.stream].newest
            limit = max(earliest(newest, delays[segment.stream]), progress.closed or NEVER)
            self.earliest[segment] = _NOTHING_IS_ON_TIME if self.closed else limit
            progress.newest = progress.newest if self.closed else max(progress.newest, brought.newest)
            progress.rows += brought.rows
            progress.late_rows += brought.late_rows
            progress.bad_rows += brought.bad_rows
            progress.function_errors += brought.function_errors
            progress.first = brought.first if progress.first == NEVER else progress.first
        self.idle = frozenset(name for name in self.idle if self.streams[name].rows == self.before[name].rows)
        for quiet in decided:
            self.idle = frozenset(s for s, rows in quiet.items() if s in self.streams and self.streams[s].rows == rows)
            self._go_on(delays)
        self._go_on(delays)

    def _go_on(self, delays: Mapping[str, int]) -> None:
        """Closes the instants that no stream which is not idle leaves open; if all are idle, those that one closes."""
        reached = self.reached(delays)
        awake = [closed for name, closed in reached.items() if name not in self.idle]
        if not self.closed and reached:
            self.until = max(self.until, min(awake) if awake else max(reached.values()))
            for name in self.idle:
                self.streams[name].closed = self.until

    def reached(self, delays: Mapping[str, int]) -> dict[str, int]:
        """Returns by stream the first instant that its own rows may still have."""
        return {name: earliest(progress.newest, delays[name]) for name, progress in self.streams.items()}

    def close(self, horizon: int | None, own: Collection[str]) -> None:
        """Closes all instants up to the horizon: by default the largest timestamp of the query's own streams."""
        if not self.closed:
            newest = max((progress.newest for name, progress in self.streams.items() if name in own), default=0)
            self.until = max(self.until, (max(newest, 0) if horizon is None else horizon) + 1)
            self.closed = True

    def saved(self) -> dict[str, Any]:
        streams = {name: asdict(progress) for name, progress in self.streams.items()}
        return {"until": self.until, "closed": self.closed, "streams": streams, "idle": sorted(self.idle)}

    @staticmethod
    def restored(saved: Mapping[str, Any]) -> Clock:
        streams = {name: Progress(**progress) for name, progress in saved["streams"].items()}
        return Clock(streams, saved["until"], saved["closed"], frozenset(saved.get("idle", ())))
