"""Metrics of queries on Spark: after each micro-batch every cell sends a note, which Spark's `observe` carries.

Notes are rows of the operators' own output that are split off before the sink, so they are exact and need no message of
their own. Beside the notes Spark's own progress has their totals, as numbers that any listener can read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from penstock.engines.lateness import Progress
from penstock.engines.metrics import (
    DICTIONARY,
    OperatorMetrics,
    QueryTotals,
    StreamProgress,
    filter_metrics,
    machine_metrics,
    source_metrics,
    stream_progress,
    totals_of,
)
from penstock.engines.spark.clock import Clock
from penstock.operators.filters.filters import Filters
from penstock.operators.machine import Machine
from penstock.plan.constraint_report import ConstraintReport, OnDisk
from penstock.plan.decisions import decision_of_json
from penstock.plan.index_report import IndexReport
from penstock.plan.setting_change import SettingChange
from penstock.plan.waiting_report import WaitingReport

#: The name of the observation of queries that are started.
NOTES = "penstock"

#: Totals of a micro-batch that Spark's own progress shows: what arrived in it, what it rejected, and what is kept now.
TOTALS = ("late_rows", "bad_rows", "violations", "timed_out_rows", "state_rows", "state_bytes")

#: Of older micro-batches nothing is known any more.
_MOST_BATCHES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryProgress(QueryTotals):
    """How far a query is after a micro-batch."""

    batch: int
    rows_per_second: float


@dataclass(frozen=True, slots=True)
class Taken:
    """What a micro-batch took: rows by stream, what Spark counted of each source, and bytes; and what is kept now."""

    batch: int
    rows: Mapping[str, int]
    #: The newest instant of each stream.
    newest: Mapping[str, int]
    read: Sequence[int]
    bytes: int
    state_rows: int
    state_bytes: int
    in_flight_bytes: int


def note(query: str, cell: int, machine: Machine, clock: Clock, taken: int, with_streams: bool) -> str:
    """Returns the note of a cell after a step that took so many bytes. One cell reports the streams."""
    made = partial(OperatorMetrics, 0, clock.until, query)
    lines = list(machine_metrics(made, machine, cell))
    values = machine.dictionary
    lines.append(made(DICTIONARY, machine.fragment.number, None, cell, 0, 0, len(values), values.nbytes))
    operators = [asdict(line) for line in lines]
    from_cell: dict[str, Any] = {"watermark": clock.until, "operators": operators, "taken": taken}
    totals = {
        "violations": machine.violations(),
        "timed_out_rows": machine.timed_out_rows(),
        "state_rows": machine.state_rows() + len(values),
        "state_bytes": machine.state_bytes() + values.nbytes,
    }
    if with_streams:
        for name in ("late_rows", "bad_rows"):
            totals[name] = sum(getattr(p, name) - getattr(clock.before[s], name) for s, p in clock.streams.items())
    from_cell["totals"] = totals
    if with_streams:
        from_cell["streams"] = {name: asdict(progress) for name, progress in clock.streams.items()}
        from_cell["before"] = {name: asdict(progress) for name, progress in clock.before.items()}
        from_cell["idle"] = sorted(clock.idle)
    return json.dumps(from_cell)


def source_note(query: str, stream: str, filters: list[Filters]) -> str:
    """Returns the note of a source task whose filters are ordered."""
    line = OperatorMetrics(0, 0, query, "filter", stream=stream, **filter_metrics(filters, stream))
    return json.dumps({"watermark": 0, "operators": [asdict(line)]})


def observed(packets: DataFrame, name: str = NOTES) -> DataFrame:
    """Adds an observation that collects the notes of the cells for the driver; the rows stay the same."""
    # As text: to build an expression node by node takes several calls of Java for each.
    totals = [
        F.expr(f"coalesce(sum(cast(get_json_object(note, '$.totals.{total}') AS BIGINT)), 0) AS {total}")
        for total in TOTALS
    ]
    return packets.observe(name, F.expr("collect_list(note) AS notes"), *totals)


class History:
    """The notes of the micro-batches that are done, from the observation of a name."""

    def __init__(self, name: str = NOTES) -> None:
        self._name = name
        self._reports: dict[int, _Report] = {}
        #: The latest of Spark's reports that was read.
        self._read: tuple[str, int, str] | None = None
        self._lock = Lock()

    def collect(self, query: StreamingQuery) -> bool:
        """Takes over what Spark reports, of which it keeps only the latest, and says whether there was anything."""
        with self._lock:
            return self._collect(query)

    def _collect(self, query: StreamingQuery) -> bool:
        before = self._read
        for report in self._unread(query):
            self._take(report)
        return self._read != before

    def take(self, report: StreamingQueryProgress) -> None:
        """Takes over what Spark reports of a micro-batch."""
        with self._lock:
            self._take(report)

    def _take(self, report: StreamingQueryProgress) -> None:
        seen = report.observedMetrics.get(self._name)
        if seen is not None and seen["notes"]:
            notes = [json.loads(from_cell) for from_cell in seen["notes"]]
            done = _epoch(report.timestamp) + report.batchDuration / 1000
            read = [source.numInputRows for source in report.sources]
            self._reports[report.batchId] = _Report(_rate(notes, report.batchDuration), notes, done, read)
        for batch in sorted(self._reports)[:-_MOST_BATCHES]:
            del self._reports[batch]

    def _unread(self, query: StreamingQuery) -> list[StreamingQueryProgress]:
        """Returns the reports that were not read yet; parsing all of Spark's reports each time would be slow."""
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

    def latest(self) -> int:
        """Returns the last micro-batch of which there is a note; -1 before the first."""
        return max(self._reports, default=-1)

    def rows(self) -> tuple[dict[str, int], dict[str, int]]:
        """Returns how many rows of each stream there are, and how many there were before the first that it has."""
        with self._lock:
            latest, first = (self._reports[pick(self._reports)].notes if self._reports else [] for pick in (max, min))
        return _rows_of(latest, "streams"), _rows_of(first, "before")

    def taken(self) -> Taken | None:
        """Returns what the latest micro-batch took, or None before the first is done."""
        with self._lock:
            if not self._reports:
                return None
            batch = max(self._reports)
            report = self._reports[batch]
        lines = [line for from_cell in report.notes for line in from_cell["operators"]]
        streams = [item for from_cell in report.notes for item in from_cell.get("streams", {}).items()]
        before = _rows_of(report.notes, "before")
        return Taken(
            batch,
            {name: int(progress["rows"]) - before.get(name, 0) for name, progress in streams},
            {name: int(progress["newest"]) for name, progress in streams},
            report.read,
            sum(int(from_cell.get("taken", 0)) for from_cell in report.notes),
            sum(int(line["state_rows"]) for line in lines if line["operator"] != DICTIONARY),
            sum(int(line["state_bytes"]) for line in lines),
            sum(int(line["in_flight_bytes"]) for line in lines),
        )

    def progress(self) -> QueryProgress | None:
        """Returns how far the query is, or None before the first micro-batch is done."""
        if not self._reports:
            return None
        batch = max(self._reports)
        report = self._reports[batch]
        lines = [line for from_cell in report.notes for line in from_cell["operators"]]
        streams = {
            name: stream_progress(Progress(**progress))
            for from_cell in report.notes
            for name, progress in from_cell.get("streams", {}).items()
        }
        watermark = max(from_cell["watermark"] for from_cell in report.notes)
        totals = totals_of((_operator_metrics(batch, line, report.at) for line in lines), watermark, streams)
        own = {field.name: getattr(totals, field.name) for field in fields(totals)}
        return QueryProgress(batch=batch, rows_per_second=report.rows_per_second, **own)

    def before(self) -> dict[str, StreamProgress]:
        """Returns how far streams had been read before the first micro-batch that it has, as after a restart."""
        notes = self._reports[min(self._reports)].notes if self._reports else []
        return {
            name: stream_progress(Progress(**progress))
            for from_cell in notes
            for name, progress in from_cell.get("before", {}).items()
        }

    def operators(self, after: int = -1) -> list[OperatorMetrics]:
        """Returns what every operator and stream did in each micro-batch, or in those after one."""
        lines = []
        for batch in sorted(batch for batch in self._reports if batch > after):
            report = self._reports[batch]
            for from_cell in report.notes:
                lines += [_operator_metrics(batch, line, report.at) for line in from_cell["operators"]]
                lines += [_stream_metrics(batch, from_cell, name, report.at) for name in from_cell.get("streams", {})]
        return sorted(lines, key=lambda line: (line.step, line.fragment or 0, line.cell or 0))


@dataclass(frozen=True, slots=True)
class _Report:
    """The report of Spark and the cells after a micro-batch."""

    rows_per_second: float
    notes: list[dict[str, Any]]
    #: When the micro-batch was done, in seconds since 1970.
    at: float
    #: What Spark counted of each source: files where workers read them, else rows.
    read: list[int]


def _operator_metrics(batch: int, line: Mapping[str, Any], at: float) -> OperatorMetrics:
    reports = tuple(ConstraintReport(**each) for each in line["constraints"])
    on_disk = OnDisk(**line["on_disk"])
    decided = tuple(decision_of_json(each) for each in line["decisions"])
    lists = {name: tuple(line[name]) for name in ("filter_order", "evaluations", "cache_decisions")}
    lists |= {name: tuple(map(tuple, line[name])) for name in ("probes", "matches")}
    indexes = tuple(IndexReport(**{**each, "columns": tuple(each["columns"])}) for each in line["indexes"])
    changes = tuple(SettingChange(**each) for each in line["changes"])
    waiting = tuple(WaitingReport(**each) for each in line["waiting"])
    values = {"constraints": reports, "on_disk": on_disk, "decisions": decided, "indexes": indexes}
    values |= {"changes": changes, "waiting": waiting}
    made = {**line, **lists, **values, "step": batch, "at": at}
    return OperatorMetrics(**made)


def _epoch(timestamp: str) -> float:
    """Returns the seconds since 1970 of a time as Spark reports it.

    >>> _epoch("1970-01-01T00:01:00.500Z")
    60.5
    """
    return datetime.fromisoformat(timestamp).timestamp()


def _rate(notes: list[dict[str, Any]], milliseconds: int) -> float:
    """Rows per second. Spark counts files where workers read them.

    >>> note = {"streams": {"s": {"rows": 700}}, "before": {"s": {"rows": 200}}}
    >>> _rate([note, {}], 250)
    2000.0
    """
    now, before = (
        sum(int(progress["rows"]) for from_cell in notes for progress in from_cell.get(when, {}).values())
        for when in ("streams", "before")
    )
    return 1000 * (now - before) / max(1, milliseconds)


def _rows_of(notes: list[dict[str, Any]], when: str) -> dict[str, int]:
    return {name: int(p["rows"]) for from_cell in notes for name, p in from_cell.get(when, {}).items()}


def _stream_metrics(batch: int, from_cell: Mapping[str, Any], name: str, at: float) -> OperatorMetrics:
    """Returns what a stream did in a batch; notes count since the first start."""
    query = from_cell["operators"][0]["query"] if from_cell["operators"] else ""
    made = partial(OperatorMetrics, batch, from_cell["watermark"], query, at=at, idle=name in from_cell["idle"])
    return source_metrics(made, name, Progress(**from_cell["streams"][name]), Progress(**from_cell["before"][name]))
