"""Progress of a run on a terminal: one line that is redrawn, and a summary at the end, both on standard error.

Reading files whose lengths are known shows a bar.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from math import ceil
from threading import Event, Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

from penstock.cli.printing import say
from penstock.masking import printable
from penstock.plan.constraint_report import NOTHING_ON_DISK, ConstraintReport, OnDisk, strongest
from penstock.types import instant_text

if TYPE_CHECKING:  # engines load libraries for data, which other commands do without
    from penstock.engines.metrics import QueryTotals, StreamProgress

_SECONDS_BETWEEN = 0.2
_BAR_WIDTH = 30


@dataclass(slots=True)
class Counts:
    """Counts what a run has done so far."""

    rows_in: int = 0
    #: None where results are not counted.
    rows_out: int | None = 0
    late_rows: int = 0
    bad_rows: int = 0
    violations: int = 0
    timed_out_rows: int = 0
    #: What monitors report about constraints.
    constraints: list[ConstraintReport] = field(default_factory=list)
    watermark: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    #: Rows that arrived and wait until their instant is closed; they are no state.
    in_flight_rows: int = 0
    in_flight_bytes: int = 0
    on_disk: OnDisk = NOTHING_ON_DISK

    def update(
        self, queries: Sequence[QueryTotals], before: Mapping[str, StreamProgress] = MappingProxyType({})
    ) -> None:
        """Takes over what the queries of a run report; a stream that several of them read counts once.

        `before` says how far streams had been read when the run started from a checkpoint: those rows do not count.
        """
        if not queries:
            return
        streams = {name: stream for query in queries for name, stream in query.streams.items()}.values()
        earlier = before.values()
        self.rows_in = sum(s.rows for s in streams) - sum(s.rows for s in earlier)
        self.late_rows = sum(s.late_rows for s in streams) - sum(s.late_rows for s in earlier)
        self.bad_rows = sum(s.bad_rows for s in streams) - sum(s.bad_rows for s in earlier)
        self.violations = sum(query.violations for query in queries)
        self.timed_out_rows = sum(query.timed_out_rows for query in queries)
        self.constraints = strongest(each for query in queries for each in query.constraints)
        self.on_disk = sum((query.on_disk for query in queries), NOTHING_ON_DISK)
        self.watermark = min(query.watermark for query in queries)
        self.state_rows = sum(query.state_rows for query in queries)
        self.state_bytes = sum(query.state_bytes for query in queries)
        self.in_flight_rows = sum(query.in_flight_rows for query in queries)
        self.in_flight_bytes = sum(query.in_flight_bytes for query in queries)

    def summary(self) -> str:
        """Returns the last line, and one for each constraint that was broken.

        >>> Counts(rows_in=1200, rows_out=7, late_rows=1).summary()
        '1,200 rows in, 7 rows out, 1 late, 0 bad'
        >>> Counts(rows_in=1200, rows_out=7, violations=2).summary()
        '1,200 rows in, 7 rows out, 0 late, 0 bad, 2 after their punctuation'
        >>> Counts(rows_in=1200, rows_out=7, timed_out_rows=2, in_flight_rows=30).summary()
        '1,200 rows in, 7 rows out, 0 late, 0 bad, 2 dropped at the wait timeout, 30 in flight'
        >>> Counts(rows_in=9, rows_out=7, on_disk=OnDisk(3, 2_400, 1)).summary()
        '9 rows in, 7 rows out, 0 late, 0 bad, 3 on disk (2.4 kB), 1 brought back'
        >>> order = ConstraintReport("s: ORDERED BY a WITHIN 2 ROWS", 5, True, 3, 1, 2.0)
        >>> found = ConstraintReport("s: CLUSTERED BY (b) INFERRED", 5, True, 0, 1, 1.2)
        >>> print(Counts(9, 7, constraints=[order, found]).summary())
        9 rows in, 7 rows out, 0 late, 0 bad
        3 rows broke s: ORDERED BY a WITHIN 2 ROWS; about 2 results may be missing
        s: CLUSTERED BY (b) INFERRED was followed too late; about 2 results may be missing
        """
        rows = f"{self.rows_in:,} rows in" + ("" if self.rows_out is None else f", {self.rows_out:,} rows out")
        broken = f", {self.violations:,} after their punctuation" if self.violations else ""
        lost = f", {self.timed_out_rows:,} dropped at the wait timeout" if self.timed_out_rows else ""
        waiting = f", {self.in_flight_rows:,} in flight" if self.in_flight_rows else ""
        disk, is_spilt = self.on_disk, self.on_disk != NOTHING_ON_DISK
        spilt = f", {disk.rows:,} on disk ({bytes_text(disk.bytes)}), {disk.brought_back:,} brought back"
        if not is_spilt:
            spilt = ""
        lines = [f"{rows}, {self.late_rows:,} late, {self.bad_rows:,} bad{broken}{lost}{waiting}{spilt}"]
        lines += [_broken(each) for each in self.constraints if each.violations or each.false_negatives]
        return "\n".join(lines)

    def line(self, seconds: float) -> str:
        rate = self.rows_in / seconds if seconds else 0.0
        state = f"state {self.state_rows:,} rows {bytes_text(self.state_bytes)}"
        if self.in_flight_rows:
            state += f", in flight {self.in_flight_rows:,} rows {bytes_text(self.in_flight_bytes)}"
        if self.on_disk.rows:
            state += f", disk {self.on_disk.rows:,} rows {bytes_text(self.on_disk.bytes)}"
        rows = f"{self.rows_in:,} rows, {rate:,.0f}/s"
        return f"{rows}, watermark {instant_text(self.watermark)}, {state}, late {self.late_rows:,}"


def _spin(what: str, terminal: TextIO, over: Event) -> None:
    """Draws a wheel that turns until it is over."""
    begun = time.monotonic()
    for wheel in cycle("|/-\\"):
        terminal.write(f"\r\x1b[K{wheel} {what}, {time.monotonic() - begun:.0f} s")
        terminal.flush()
        if over.wait(_SECONDS_BETWEEN):
            break
    terminal.write("\r\x1b[K")
    terminal.flush()


def _broken(report: ConstraintReport) -> str:
    rows = "1 row" if report.broken == 1 else f"{report.broken:,} rows"
    said = f"{rows} broke {report.constraint}" if report.violations else f"{report.constraint} was followed too late"
    missing = ceil(report.false_negatives)
    results = "1 result" if missing == 1 else f"{missing:,} results"
    return f"{said}; about {results} may be missing" if missing else said


@dataclass(slots=True)
class ProgressLine:
    """Draws the line if standard error is a terminal, at most a few times a second."""

    counts: Counts = field(default_factory=Counts)
    _started: float = field(default_factory=time.monotonic)
    _drawn: float = 0.0
    _compiled: int = 0
    _warned: set[str] = field(default_factory=set)

    @property
    def seen(self) -> bool:
        return sys.stderr.isatty()

    @property
    def due(self) -> bool:
        """Returns whether it is time to draw; gathering the counts has a cost, too."""
        return self.seen and time.monotonic() - self._drawn >= _SECONDS_BETWEEN

    def draw(self, before_rows: str = "") -> None:
        """Draws the counts; `before_rows` is drawn as long as there are none."""
        waits = before_rows and not self.counts.rows_in
        seconds = time.monotonic() - self._started
        self._show(f"{before_rows}, {seconds:.0f} s" if waits else self.counts.line(seconds))

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Shows what is going on, and for how long, while nothing else can be shown.

        It writes to the terminal itself: meanwhile standard error may be a log.
        """
        if not self.seen:
            yield
            return
        over = Event()
        with open(os.dup(sys.stderr.fileno()), "w", encoding="utf-8") as terminal:
            thread = Thread(target=_spin, args=(what, terminal, over), name="penstock-waiting", daemon=True)
            thread.start()
            try:
                yield
            finally:
                over.set()
                thread.join()

    def compiles(self) -> None:
        """Counts a kernel that is being compiled; the first query of a kind on a machine may compile a hundred."""
        self._compiled += 1
        if self.due:
            self._show(f"compiling kernels, once on this machine: {self._compiled} so far")

    def _show(self, line: str) -> None:
        self._drawn = time.monotonic()
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r\x1b[K" + printable(line)[:width])
        sys.stderr.flush()

    def clear(self) -> None:
        """Makes room for results on the same terminal."""
        if self.seen and self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def warn(self, text: str) -> None:
        """Prints a warning on a line of its own, once for all queries."""
        if text not in self._warned:
            self._warned.add(text)
            self.clear()
            print(text, file=sys.stderr)

    def finish(self) -> None:
        self.clear()
        say(self.counts.summary(), sys.stderr)


class Bar:
    """Shows the progress of reading files of about so many rows each; None for a file of unknown length."""

    def __init__(self, totals: Sequence[int | None]) -> None:
        self._total = None if None in totals else sum(total or 0 for total in totals)
        self._started = time.monotonic()
        self._drawn = 0.0

    def show(self, rows: int) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._drawn < _SECONDS_BETWEEN:
            return
        self._drawn = now
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r\x1b[K" + bar_text(rows, self._total, now - self._started)[:width])
        sys.stderr.flush()

    def clear(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def bar_text(rows: int, total: int | None, seconds: float) -> str:
    """Returns the line of a bar.

    >>> bar_text(250_000, 1_000_000, 0.5), bar_text(250_000, None, 0.5)
    ('[#######.......................] 25%  250,000 rows, 500,000/s', '250,000 rows, 500,000/s')
    """
    text = f"{rows:,} rows, {rows / seconds if seconds else 0:,.0f}/s"
    if not total:
        return text
    share = min(rows / total, 1)
    done = int(share * _BAR_WIDTH)
    return f"[{'#' * done}{'.' * (_BAR_WIDTH - done)}] {share:.0%}  {text}"


def bytes_text(count: int) -> str:
    """Returns a number of bytes, short.

    >>> bytes_text(900), bytes_text(1_500_000)
    ('900 B', '1.5 MB')
    """
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
