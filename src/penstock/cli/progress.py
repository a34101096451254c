"""What a terminal shows of a run: one line that is drawn anew, and a summary at the end, both on standard error.

A reading of files, of which it is known how long they are, shows a bar.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from penstock.cli.printing import say
from penstock.masking import printable
from penstock.plan.constraint_report import NOTHING_ON_DISK, ConstraintReport, OnDisk

_SECONDS_BETWEEN = 0.2
_BAR_WIDTH = 30


@dataclass(slots=True)
class Counts:
    """What a run has done so far."""

    rows_in: int = 0
    #: None where nobody counts them.
    rows_out: int | None = 0
    late_rows: int = 0
    bad_rows: int = 0
    violations: int = 0
    given_up: int = 0
    #: What monitors say of constraints.
    constraints: list[ConstraintReport] = field(default_factory=list)
    watermark: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    on_disk: OnDisk = NOTHING_ON_DISK

    def summary(self) -> str:
        """The last line, and one for each constraint that was broken.

        >>> Counts(rows_in=1200, rows_out=7, late_rows=1).summary()
        '1,200 rows in, 7 rows out, 1 late, 0 bad'
        >>> Counts(rows_in=1200, rows_out=7, violations=2).summary()
        '1,200 rows in, 7 rows out, 0 late, 0 bad, 2 after their punctuation'
        >>> Counts(rows_in=9, rows_out=7, on_disk=OnDisk(3, 2_400, 1)).summary()
        '9 rows in, 7 rows out, 0 late, 0 bad, 3 on disk (2.4 kB), 1 brought back'
        >>> order = Watched("s: ORDERED BY a WITHIN 2 ROWS", 5, True, 3, 1, 2.0)
        >>> found = Watched("s: CLUSTERED BY (b) INFERRED", 5, True, 0, 1, 1.2)
        >>> print(Counts(9, 7, constraints=[order, found]).summary())
        9 rows in, 7 rows out, 0 late, 0 bad
        3 rows broke s: ORDERED BY a WITHIN 2 ROWS; about 2 results may be missing
        s: CLUSTERED BY (b) INFERRED was followed too late; about 2 results may be missing
        """
        rows = f"{self.rows_in:,} rows in" + ("" if self.rows_out is None else f", {self.rows_out:,} rows out")
        broken = f", {self.violations:,} after their punctuation" if self.violations else ""
        lost = f", {self.given_up:,} given up" if self.given_up else ""
        disk, is_spilt = self.on_disk, self.on_disk != NOTHING_ON_DISK
        spilt = f", {disk.rows:,} on disk ({bytes_text(disk.bytes)}), {disk.brought_back:,} brought back"
        lines = [f"{rows}, {self.late_rows:,} late, {self.bad_rows:,} bad{broken}{lost}{spilt if is_spilt else ''}"]
        lines += [_broken(each) for each in self.constraints if each.violations or each.false_negatives]
        return "\n".join(lines)

    def line(self, seconds: float) -> str:
        rate = self.rows_in / seconds if seconds else 0.0
        state = f"state {self.state_rows:,} rows {bytes_text(self.state_bytes)}"
        if self.on_disk.rows:
            state += f", disk {self.on_disk.rows:,} rows {bytes_text(self.on_disk.bytes)}"
        return f"{self.rows_in:,} rows, {rate:,.0f}/s, watermark {self.watermark}, {state}, late {self.late_rows:,}"


def _broken(report: ConstraintReport) -> str:
    rows = "1 row" if report.broken == 1 else f"{report.broken:,} rows"
    said = f"{rows} broke {report.constraint}" if report.violations else f"{report.constraint} was followed too late"
    missing = ceil(report.false_negatives)
    results = "1 result" if missing == 1 else f"{missing:,} results"
    return f"{said}; about {results} may be missing" if missing else said


@dataclass(slots=True)
class ProgressLine:
    """Draws the line if somebody can see it, and no more than a few times a second."""

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
        """Whether it is time to draw: to gather what is drawn costs something too."""
        return self.seen and time.monotonic() - self._drawn >= _SECONDS_BETWEEN

    def draw(self) -> None:
        self._show(self.counts.line(time.monotonic() - self._started))

    def compiles(self) -> None:
        """A kernel is compiled now. The first query of its kind on a machine may need a hundred, most of a minute."""
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
        """Says something on a line of its own, once however many queries say it."""
        if text not in self._warned:
            self._warned.add(text)
            self.clear()
            print(text, file=sys.stderr)

    def finish(self) -> None:
        self.clear()
        say(self.counts.summary(), sys.stderr)


class Bar:
    """How far a reading has come, of about so many rows per file; None for a file of which nobody knows."""

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
    """The line of a bar.

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
    """A number of bytes, short.

    >>> bytes_text(900), bytes_text(1_500_000)
    ('900 B', '1.5 MB')
    """
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
