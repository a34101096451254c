"""What a query tells the driver: after each micro-batch a note of every cell, which Spark's `observe` carries.

Notes are rows of the operators' own output that are split off before the sink, so they are exact and cost no message of
their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from penstock.engines.metrics import DICTIONARY, OperatorMetrics, constraints_of, machine_metrics
from penstock.engines.spark.clock import Clock
from penstock.operators.machine import Machine
from penstock.plan.constraint_report import NOTHING_ON_DISK, ConstraintReport, OnDisk

_NOTES = "penstock"

#: Of older micro-batches nothing is known any more.
_MOST_BATCHES = 10_000


@dataclass(frozen=True, slots=True)
class StreamProgress:
    rows: int
    late_rows: int
    bad_rows: int
    newest: int | None
    #: The instant of the first row; below 0 there is none yet.
    first: int


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """How far a query is after a micro-batch."""

    batch: int
    rows_per_second: float
    #: The first instant that is not closed.
    watermark: int
    state_rows: int
    state_bytes: int
    streams: Mapping[str, StreamProgress] = field(default_factory=dict)
    #: Rows that were left out because a punctuation had ruled them out.
    violations: int = 0
    #: What monitors say of constraints.
    constraints: tuple[ConstraintReport, ...] = ()
    #: Rows that were dropped because they waited too long for a punctuation.
    given_up: int = 0
    #: What is put on disk.
    on_disk: OnDisk = NOTHING_ON_DISK


def note(query: str, cell: int, machine: Machine, clock: Clock, with_streams: bool) -> str:
    """What a cell has to say after a step. One cell speaks of the streams."""
    made = partial(OperatorMetrics, 0, clock.until, query)
    lines = list(machine_metrics(made, machine, cell))
    values = machine.dictionary
    lines.append(made(DICTIONARY, machine.fragment.number, None, cell, 0, 0, len(values), values.nbytes))
    told: dict[str, Any] = {"watermark": clock.until, "operators": [asdict(line) for line in lines]}
    if with_streams:
        told["streams"] = {name: asdict(progress) for name, progress in clock.streams.items()}
        told["before"] = {name: asdict(progress) for name, progress in clock.before.items()}
    return json.dumps(told)


def observed(packets: DataFrame) -> DataFrame:
    """The same rows; their notes go to the driver."""
    return packets.observe(_NOTES, F.collect_list("note").alias("notes"))


class History:
    """The notes of the micro-batches that are done."""

    def __init__(self) -> None:
        self._reports: dict[int, _Report] = {}
        #: The latest of Spark's reports that was read.
        self._read: tuple[str, int, str] | None = None

    def collect(self, query: StreamingQuery) -> bool:
        """Takes over what Spark reports, of which it keeps only the latest, and says whether there was anything."""
        before = self._read
        for report in self._unread(query):
            seen = report.observedMetrics.get(_NOTES)
            if seen is not None and seen["notes"]:
                notes = [json.loads(told) for told in seen["notes"]]
                self._reports[report.batchId] = _Report(_rate(notes, report.batchDuration), notes)
        for batch in sorted(self._reports)[:-_MOST_BATCHES]:
            del self._reports[batch]
        return self._read != before

    def _unread(self, query: StreamingQuery) -> list[StreamingQueryProgress]:
        """Spark keeps many reports, and to turn all of them into text each time would cost much."""
        kept = query._jsq.recentProgress()
        unread = []
        for place in reversed(range(len(kept))):
            report = kept[place]
            known = (str(report.runId()), int(report.batchId()), str(report.timestamp()))
            if known == self._read:
                break
            unread.append((known, StreamingQueryProgress.fromJson(json.loads(report.json()))))
        if unread:
            self._read = unread[0][0]
        return [report for _, report in reversed(unread)]

    def progress(self) -> QueryProgress | None:
        """How far the query is, or None before the first micro-batch is done."""
        if not self._reports:
            return None
        batch = max(self._reports)
        report = self._reports[batch]
        lines = [line for told in report.notes for line in told["operators"]]
        streams = {
            name: StreamProgress(
                p["rows"], p["late_rows"], p["bad_rows"], p["newest"] if p["newest"] >= 0 else None, p["first"]
            )
            for told in report.notes
            for name, p in told.get("streams", {}).items()
        }
        watermark = max(told["watermark"] for told in report.notes)
        # Values are no rows, but take bytes.
        rows = sum(line["state_rows"] for line in lines if line["operator"] != DICTIONARY)
        size = sum(line["state_bytes"] for line in lines)
        violations = sum(line["violations"] for line in lines)
        reports = tuple(constraints_of(_operator_metrics(batch, line) for line in lines))
        given_up = sum(line["given_up"] for line in lines)
        on_disk = sum((OnDisk(**line["on_disk"]) for line in lines), NOTHING_ON_DISK)
        speed = report.rows_per_second
        return QueryProgress(batch, speed, watermark, rows, size, streams, violations, reports, given_up, on_disk)

    def metrics(self) -> list[OperatorMetrics]:
        """What every operator and stream did in each micro-batch."""
        lines = []
        for batch in sorted(self._reports):
            for told in self._reports[batch].notes:
                lines += [_operator_metrics(batch, line) for line in told["operators"]]
                for name, progress in told.get("streams", {}).items():
                    lines.append(_stream_metrics(batch, told, name, progress, told["before"][name]))
        return sorted(lines, key=lambda line: (line.step, line.fragment or 0, line.cell or 0))


@dataclass(frozen=True, slots=True)
class _Report:
    """What Spark and the cells said after a micro-batch."""

    rows_per_second: float
    notes: list[dict[str, Any]]


def _operator_metrics(batch: int, line: Mapping[str, Any]) -> OperatorMetrics:
    reports = tuple(ConstraintReport(**each) for each in line["constraints"])
    on_disk = OnDisk(**line["on_disk"])
    return OperatorMetrics(**{**line, "step": batch, "constraints": reports, "on_disk": on_disk})


def _rate(notes: list[dict[str, Any]], milliseconds: int) -> float:
    """Rows per second. Spark counts files where workers read them.

    >>> note = {"streams": {"s": {"rows": 700}}, "before": {"s": {"rows": 200}}}
    >>> _rate([note, {}], 250)
    2000.0
    """
    now, before = (
        sum(int(progress["rows"]) for told in notes for progress in told.get(when, {}).values())
        for when in ("streams", "before")
    )
    return 1000 * (now - before) / max(1, milliseconds)


def _stream_metrics(
    batch: int, told: Mapping[str, Any], name: str, now: Mapping[str, int], before: Mapping[str, int]
) -> OperatorMetrics:
    """What a stream did in a batch: notes count since the first start."""
    came, late, bad = (now[what] - before[what] for what in ("rows", "late_rows", "bad_rows"))
    query = told["operators"][0]["query"] if told["operators"] else ""
    return OperatorMetrics(
        batch,
        told["watermark"],
        query,
        "source",
        stream=name,
        rows_in=came,
        rows_out=came - late - bad,
        late_rows=late,
        bad_rows=bad,
    )
