"""Metrics: what each operator of a query did in a step. Rows are those of the step; state is what is kept after it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from operator import attrgetter
from typing import Any

from penstock.adaptive.decisions import reported
from penstock.adaptive.filters.filter_tuner import FilterTuner
from penstock.adaptive.joins.join_tuner import AdaptiveJoinTuner
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Relation, Table
from penstock.engines.lateness import Progress
from penstock.operators.filters.filters import MeasuredFilters
from penstock.operators.gauges import Gauge
from penstock.operators.machine import Machine
from penstock.plan.constraint_report import NOTHING_ON_DISK, ConstraintReport, OnDisk, strongest, together
from penstock.plan.decisions import Decision
from penstock.plan.index_report import IndexReport
from penstock.plan.probe_paths import ByDepth
from penstock.plan.setting_change import SettingChange
from penstock.plan.waiting_report import WaitingReport

#: The operator name under which the values of a dictionary are counted, and that of a run's settings.
DICTIONARY = "dictionary"
CONTROLS = "controls"


@dataclass(frozen=True, slots=True)
class OperatorMetrics:
    step: int
    #: The first instant that is not closed.
    watermark: int
    query: str
    operator: str
    fragment: int | None = None
    #: The occurrence of the stream or table that it reads.
    stream: str | None = None
    cell: int | None = None
    rows_in: int = 0
    rows_out: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    #: Rows that arrived later than the stream's delay allows, and rows without a time since 1970; both are dropped.
    late_rows: int = 0
    bad_rows: int = 0
    #: Rows that were rejected after their punctuation, since the start.
    violations: int = 0
    #: Rows that it has dropped since the start at the wait timeout, without their punctuation.
    timed_out_rows: int = 0
    #: Rows of the step on which a user function failed that is declared on_error='null'.
    function_errors: int = 0
    #: What its monitors report about constraints.
    constraints: tuple[ConstraintReport, ...] = ()
    #: What it has put on disk.
    on_disk: OnDisk = NOTHING_ON_DISK
    #: Rows in flight: they arrived at its leaf and wait until their instant is closed. No state counts them.
    in_flight_rows: int = 0
    in_flight_bytes: int = 0
    #: The filters that it orders, in the current order, and on how many rows each was evaluated since the start.
    filter_order: tuple[str, ...] = ()
    evaluations: tuple[int, ...] = ()
    #: The decisions on orders that are new, and those in use.
    decisions: tuple[Decision, ...] = ()
    #: Of a join by input and depth of its probe path: combinations that probed there in this step, and their matches.
    probes: ByDepth = ()
    matches: ByDepth = ()
    #: Of a join how often its subresult caches were looked up in this step, and hit, and the bytes that they take.
    #: These are no part of `state_bytes`: caches are not persisted, and can be dropped at any time.
    cache_lookups: int = 0
    cache_hits: int = 0
    cache_bytes: int = 0
    #: The decisions on caches that are new.
    cache_decisions: tuple[dict[str, Any], ...] = ()
    #: The time of the step that it took itself, without the operators below.
    nanoseconds: int = 0
    #: Of a source the largest timestamp so far.
    newest: int | None = None
    #: Of a source whether time goes on without it.
    idle: bool = False
    #: Of a join what its indexes take.
    indexes: tuple[IndexReport, ...] = ()
    #: Of a join that purges how many of its rows wait for what.
    waiting: tuple[WaitingReport, ...] = ()
    #: Of the controls the settings that were changed before this step.
    changes: tuple[SettingChange, ...] = ()
    #: When the step was done, in seconds since 1970.
    at: float | None = None

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = dict(zip(_NAMES, _VALUES(self), strict=True))
        for name in _NESTED:
            if found[name]:
                found[name] = _plain(found[name])
        return found


def _plain(value: Any) -> Any:
    """Returns a value with dataclasses as dictionaries, as `asdict` does."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return type(value)(map(_plain, value)) if isinstance(value, tuple | list) else value


#: The names of all fields, what gives their values, and those that may hold more than a number or a text.
_NAMES = tuple(each.name for each in fields(OperatorMetrics))
_VALUES = attrgetter(*_NAMES)
_NESTED = tuple(
    each.name for each in fields(OperatorMetrics) if str(each.type) not in ("int", "str", "int | None", "str | None")
)


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """How far a stream has been read."""

    rows: int
    late_rows: int
    bad_rows: int
    newest: int | None
    #: The instant of the first row; below 0 there is none yet.
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTotals:
    """What the operators of a query keep and have done, all of them and all cells together."""

    #: The first instant that is not closed.
    watermark: int
    state_rows: int
    state_bytes: int
    #: Rows that arrived and wait until their instant is closed.
    in_flight_rows: int = 0
    in_flight_bytes: int = 0
    streams: Mapping[str, StreamProgress] = field(default_factory=dict)
    #: Rows that were rejected after their punctuation.
    violations: int = 0
    #: What monitors report about constraints.
    constraints: tuple[ConstraintReport, ...] = ()
    #: Rows that were dropped at the wait timeout, without their punctuation.
    timed_out_rows: int = 0
    #: What is put on disk.
    on_disk: OnDisk = NOTHING_ON_DISK


def totals_of(metrics: Iterable[OperatorMetrics], watermark: int, streams: Mapping[str, StreamProgress]) -> QueryTotals:
    """Returns the totals of the metrics of one step."""
    lines = list(metrics)
    return QueryTotals(
        watermark=watermark,
        # Values are not rows, but take bytes.
        state_rows=sum(line.state_rows for line in lines if line.operator != DICTIONARY),
        state_bytes=sum(line.state_bytes for line in lines),
        in_flight_rows=sum(line.in_flight_rows for line in lines),
        in_flight_bytes=sum(line.in_flight_bytes for line in lines),
        streams=streams,
        violations=sum(line.violations for line in lines),
        constraints=tuple(constraints_of(lines)),
        timed_out_rows=sum(line.timed_out_rows for line in lines),
        on_disk=sum((line.on_disk for line in lines), NOTHING_ON_DISK),
    )


def stream_progress(progress: Progress) -> StreamProgress:
    """Returns how far a stream has been read, as users see it."""
    newest = progress.newest if progress.newest >= 0 else None
    return StreamProgress(progress.rows, progress.late_rows, progress.bad_rows, newest, progress.first)


def source_metrics(
    made: Callable[..., OperatorMetrics],
    name: str,
    now: Progress,
    before: Progress,
    filters: Iterable[MeasuredFilters] = (),
) -> OperatorMetrics:
    """Returns what a stream read between two moments; `made` fills in the step and the query."""
    rows, late, bad = now.rows - before.rows, now.late_rows - before.late_rows, now.bad_rows - before.bad_rows
    kept, failed = rows - late - bad, now.function_errors - before.function_errors
    counts = {"rows_in": rows, "rows_out": kept, "late_rows": late, "bad_rows": bad, "function_errors": failed}
    newest = now.newest if now.newest >= 0 else None
    return made("source", stream=name, **counts, **filter_metrics(filters, name), newest=newest)


def filter_metrics(filters: Iterable[MeasuredFilters], place: str) -> dict[str, Any]:
    """Returns the metrics of the filters of one place: their order, evaluations, and decisions."""
    ordered = [(text, count) for each in filters for text, count in each.evaluations().items()]
    decisions: list[Decision] = []
    for each in filters:
        if isinstance(each.tuner, FilterTuner):
            decisions += reported(f"{place} {each.name}", each.tuner)
    return {
        "filter_order": tuple(text for text, _ in ordered),
        "evaluations": tuple(count for _, count in ordered),
        "decisions": tuple(decisions),
    }


def machine_metrics(made: Callable[..., OperatorMetrics], machine: Machine, cell: int) -> Iterator[OperatorMetrics]:
    """Yields what the operators of a machine did in the steps since this was last asked for, with what they keep now.

    `made` fills in the step and the query.
    """
    for gauge in machine.gauges:
        probed, cached = gauge.probe_counts(), gauge.cache_use()
        place = f"fragment {machine.fragment.number} cell {cell}"
        measured = filter_metrics(gauge.filters, place)
        if isinstance(gauge.join_tuner, AdaptiveJoinTuner):
            measured["decisions"] += reported(f"{place} {gauge.name}", gauge.join_tuner)
        measured["decisions"] += tuple(replace(d, place=f"{place} {gauge.name}") for d in gauge.plan_decisions())
        yield made(
            **_kept(machine, gauge, cell),
            rows_in=gauge.rows_in,
            rows_out=gauge.rows_out,
            function_errors=gauge.function_errors.count,
            **measured,
            probes=probed.probes,
            matches=probed.matches,
            cache_lookups=cached.lookups,
            cache_hits=cached.hits,
            cache_bytes=cached.nbytes,
            cache_decisions=tuple({**each, "place": f"{place} {gauge.name}"} for each in gauge.cache_decisions()),
            nanoseconds=gauge.nanoseconds(),
            indexes=gauge.indexes(),
            waiting=tuple(gauge.waiting_reports()),
        )
        gauge.is_reported = True


def kept_metrics(made: Callable[..., OperatorMetrics], machine: Machine, cell: int) -> Iterator[OperatorMetrics]:
    """Yields what the operators of a machine keep now, and have counted since the start: to ask changes nothing."""
    for gauge in machine.gauges:
        yield made(**_kept(machine, gauge, cell))


def _kept(machine: Machine, gauge: Gauge, cell: int) -> dict[str, Any]:
    return {
        "operator": gauge.name,
        "fragment": machine.fragment.number,
        "stream": _occurrence(gauge.relation),
        "cell": cell,
        "state_rows": gauge.state_rows(),
        "state_bytes": machine.state_bytes(gauge),
        "violations": gauge.violations(),
        "timed_out_rows": gauge.timed_out_rows(),
        "constraints": tuple(gauge.reports()),
        "on_disk": gauge.spilled(),
        "in_flight_rows": gauge.in_flight_rows(),
        "in_flight_bytes": machine.in_flight_bytes(gauge),
    }


def _occurrence(relation: Relation) -> str | None:
    """Returns the occurrence of a stream or table that an operator reads, if it reads one itself."""
    match relation:
        case Scan(stream):
            return stream.occurrence
        case Table(occurrence=occurrence):
            return occurrence
    return None


def constraints_of(metrics: Iterable[OperatorMetrics]) -> list[ConstraintReport]:
    """Returns what monitors report about each constraint, all cells together; of several joins one counts."""
    joins: dict[tuple[str, int | None, str], list[ConstraintReport]] = {}
    for line in metrics:
        joins.setdefault((line.query, line.fragment, line.operator), []).extend(line.constraints)
    return strongest(each for reports in joins.values() for each in together(reports))


def metrics_lines(metrics: Iterable[OperatorMetrics]) -> str:
    """Returns one line of JSON per metric."""
    return "".join(json.dumps(metric.as_json()) + "\n" for metric in metrics)
