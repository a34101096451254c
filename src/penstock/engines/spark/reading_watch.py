"""Back-pressure: how much the next micro-batch reads follows from what the latest took, and from what memory is left.

    budget  ├──── state, or what was proved of it ────┼─ in flight ─┼── the next micro-batch, as the latest cost ──┤

Each micro-batch says how many rows it took of how many files, and how many bytes they were on their way to cells. The
one that is being made when that is heard of is not changed any more, so the limit is of the one behind it. A stream
that is ahead of another is read as slowly as can be, one file at a time, because its rows would only wait. No file is
left out: what is not read now is read later.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from threading import Event, Lock, Thread
from typing import Protocol

from penstock.engines.lateness import earliest
from penstock.engines.memory_budget import held_bytes, rows_beside
from penstock.engines.spark.metrics import Taken
from penstock.errors import PenstockError
from penstock.plan.setting_change import SettingChange
from penstock.plan.settings import Settings

_SECONDS_BETWEEN = 0.25

#: As many files as there may be.
_MOST_FILES = 1 << 20


class Limited(Protocol):
    """A query whose micro-batches can be told how much to read."""

    settings: Settings

    def taken(self) -> Taken | None:
        """Returns what its latest micro-batch took."""

    def limit_files(self, files: Mapping[str, int | None]) -> bool:
        """Says how many files of each stream a micro-batch reads from the next on; False where it is too early."""

    def note(self, change: SettingChange) -> None:
        """Records what was decided."""


class ReadingWatch:
    """Watches the micro-batches of one query.

    `files` are its streams in their order, each with the most files that were declared for a micro-batch, and
    `most_rows` what was proved of the rows of its state.
    """

    def __init__(
        self, query: Limited, files: Mapping[str, int | None], delays: Mapping[str, int], most_rows: int | None
    ) -> None:
        self._query, self._declared, self._delays, self._most_rows = query, files, delays, most_rows
        #: Of each stream the rows of a file, and the bytes that a row took; 0 while that is not known.
        self._file_rows: dict[str, float] = {}
        self._row_bytes = 0.0
        self._limits: Mapping[str, int | None] = {}
        self._shown = "off"
        self._lock = Lock()
        self._thread: Thread | None = None
        self._is_over = Event()

    def examine(self) -> None:
        """Sets the limits of the next micro-batch, if the settings and what is known by now ask for others."""
        with self._lock:
            taken = self._query.taken()
            if taken is not None:
                self._measure(taken)
            limits = self._wanted(taken)
            if limits == self._limits or not self._query.limit_files(limits):
                return
            self._limits = limits
            shown = ", ".join(f"{name} {most}" for name, most in limits.items() if most is not None) or "off"
            if shown != self._shown:
                self._query.note(SettingChange("memory.read_limit", self._shown, shown))
                self._shown = shown

    def _measure(self, taken: Taken) -> None:
        for (name, rows), files in zip(((s, taken.rows.get(s, 0)) for s in self._declared), taken.read, strict=False):
            if files:
                self._file_rows[name] = max(1.0, rows / files, 0.9 * self._file_rows.get(name, 0.0))
        if rows := sum(taken.rows.values()):
            self._row_bytes = taken.bytes / rows

    def _wanted(self, taken: Taken | None) -> Mapping[str, int | None]:
        """The files of each stream that a micro-batch may read; as declared, where no setting says anything."""
        settings = self._query.settings
        if settings.memory is None and settings.steps.read_limit is None:
            return dict(self._declared)
        rows = dict.fromkeys(self._declared, settings.steps.read_limit or _MOST_FILES)
        if settings.memory is not None:
            rows = {name: min(rows[name], own) for name, own in self._beside(settings.memory, taken).items()}
        return {name: self._files(name, own) for name, own in rows.items()}

    def _beside(self, memory: int, taken: Taken | None) -> Mapping[str, int]:
        """The rows of each stream that there is room for. Before anything is known, as few as can be."""
        if taken is None or not self._row_bytes:
            return dict.fromkeys(self._declared, 0)
        used = held_bytes(taken.state_rows, taken.state_bytes, taken.in_flight_bytes, self._most_rows)
        closed = {name: earliest(taken.newest.get(name, -1), self._delays[name]) for name in self._declared}
        behind = [name for name in self._declared if closed[name] <= min(closed.values())]
        share = rows_beside(memory, used, self._row_bytes) // len(behind)
        return {name: share if name in behind else 0 for name in self._declared}

    def _files(self, name: str, rows: int) -> int:
        """A power of two, so that not every micro-batch is news."""
        files = max(1, min(_MOST_FILES, int(rows / self._file_rows[name]))) if name in self._file_rows else 1
        most = self._declared[name]
        return min(1 << (files.bit_length() - 1), _MOST_FILES if most is None else most)

    def begin(self) -> None:
        """Watches from now on, if a setting asks for it, in a thread of its own. A query that starts is told anew."""
        with self._lock:
            self._limits = {}
        settings = self._query.settings
        is_asked = settings.memory is not None or settings.steps.read_limit is not None
        if self._thread is None and is_asked and not self._is_over.is_set():
            self._thread = Thread(target=self._follow, name="penstock-reading", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Leaves the query alone."""
        self._is_over.set()

    def _follow(self) -> None:
        while not self._is_over.wait(_SECONDS_BETWEEN):
            try:
                self.examine()
            except PenstockError as error:
                warnings.warn(f"reading is not limited: {error.message}", RuntimeWarning, stacklevel=1)
                return
