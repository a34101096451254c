"""Metrics of queries on Spark: after each micro-batch every cell sends a note, which Spark's `observe` carries.

Notes are rows of the operators' own output that are split off before the sink, so they are exact and need no message of
their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
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

_NOTES = "penstock"

#: Of older micro-batches nothing is known any more.
_MOST_BATCHES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryProgress(QueryTotals):
    """How far a query is after a micro-batch."""

    batch: int
    rows_per_second: float


def note(query: str, cell: int, machine: Machine, clock: Clock, with_streams: bool) -> str:
    """Returns the note of a cell after a step. One cell reports the streams."""
    made = partial(OperatorMetrics, 0, clock.until, query)
    lines = list(machine_metrics(made, machine, cell))
    values = machine.dictionary
    lines.append(made(DICTIONARY, machine.fragment.number, None, cell, 0, 0, len(values), values.nbytes))
    from_cell: dict[str, Any] = {"watermark": clock.until, "operators": [asdict(line) for line in lines]}
    if with_streams:
        from_cell["streams"] = {name: asdict(progress) for name, progress in clock.streams.items()}
        from_cell["before"] = {name: asdict(progress) for name, progress in clock.before.items()}
    return json.dumps(from_cell)


def source_note(query: str, stream: str, filters: list[Filters]) -> str:
    """Returns the note of a source task whose filters are ordered."""
    line = OperatorMetrics(0, 0, query, "filter", stream=stream, **filter_metrics(filters, stream))
    return json.dumps({"watermark": 0, "operators": [asdict(line)]})


def observed(packets: DataFrame) -> DataFrame:
    """Adds an observation that collects the notes of the cells for the driver; the rows stay the same."""
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
                notes = [json.loads(from_cell) for from_cell in seen["notes"]]
                self._reports[report.batchId] = _Report(_rate(notes, report.batchDuration), notes)
        for batch in sorted(self._reports)[:-_MOST_BATCHES]:
            del self._reports[batch]
        return self._read != before

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
        totals = totals_of((_operator_metrics(batch, line) for line in lines), watermark, streams)
        own = {field.name: getattr(totals, field.name) for field in fields(totals)}
        return QueryProgress(batch=batch, rows_per_second=report.rows_per_second, **own)

    def metrics(self) -> list[OperatorMetrics]:
        """Returns what every operator and stream did in each micro-batch."""
        lines = []
        for batch in sorted(self._reports):
            for from_cell in self._reports[batch].notes:
                lines += [_operator_metrics(batch, line) for line in from_cell["operators"]]
                lines += [_stream_metrics(batch, from_cell, name) for name in from_cell.get("streams", {})]
        return sorted(lines, key=lambda line: (line.step, line.fragment or 0, line.cell or 0))


@dataclass(frozen=True, slots=True)
class _Report:
    """The report of Spark and the cells after a micro-batch."""

    rows_per_second: float
    notes: list[dict[str, Any]]


def _operator_metrics(batch: int, line: Mapping[str, Any]) -> OperatorMetrics:
    reports = tuple(ConstraintReport(**each) for each in line["constraints"])
    on_disk = OnDisk(**line["on_disk"])
    decided = tuple(decision_of_json(each) for each in line["decisions"])
    lists = {name: tuple(line[name]) for name in ("filter_order", "evaluations", "cache_decisions")}
    lists |= {name: tuple(map(tuple, line[name])) for name in ("probes", "matches")}
    made = {**line, **lists, "step": batch, "constraints": reports, "on_disk": on_disk, "decisions": decided}
    return OperatorMetrics(**made)


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


def _stream_metrics(batch: int, from_cell: Mapping[str, Any], name: str) -> OperatorMetrics:
    """Returns what a stream did in a batch; notes count since the first start."""
    query = from_cell["operators"][0]["query"] if from_cell["operators"] else ""
    made = partial(OperatorMetrics, batch, from_cell["watermark"], query)
    return source_metrics(made, name, Progress(**from_cell["streams"][name]), Progress(**from_cell["before"][name]))
