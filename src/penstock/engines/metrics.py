"""Metrics: what each operator of a query did in a step. Rows are those of the step; state is what is kept after it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Relation, Table
from penstock.operators.machine import Machine
from penstock.plan.constraint_report import NOTHING_ON_DISK, ConstraintReport, OnDisk, strongest, together

#: Stands for an operator: what the values of a dictionary take.
DICTIONARY = "dictionary"


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
    #: Rows that came later than the stream's delay allows, and rows without a time since 1970: they are left out.
    late_rows: int = 0
    bad_rows: int = 0
    #: Rows that a join has left out since the start, because a punctuation had ruled them out.
    violations: int = 0
    #: Rows that it has dropped since the start, because they waited too long for a punctuation.
    given_up: int = 0
    #: What its monitors say of constraints.
    constraints: tuple[ConstraintReport, ...] = ()
    #: What it has put on disk.
    on_disk: OnDisk = NOTHING_ON_DISK

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def machine_metrics(made: Callable[..., OperatorMetrics], machine: Machine, cell: int) -> Iterator[OperatorMetrics]:
    """What the operators of a machine did in its last step; `made` knows the step and the query."""
    for gauge in machine.gauges:
        yield made(
            gauge.name,
            machine.fragment.number,
            _occurrence(gauge.relation),
            cell,
            gauge.rows_in,
            gauge.rows_out,
            gauge.state_rows(),
            machine.state_bytes(gauge),
            violations=gauge.violations(),
            given_up=gauge.given_up_rows(),
            constraints=tuple(gauge.reports()),
            on_disk=gauge.spilled(),
        )


def _occurrence(relation: Relation) -> str | None:
    """The occurrence of a stream or table that an operator reads, if it reads one itself."""
    match relation:
        case Scan(stream):
            return stream.occurrence
        case Table(occurrence=occurrence):
            return occurrence
    return None


def constraints_of(metrics: Iterable[OperatorMetrics]) -> list[ConstraintReport]:
    """What the monitors of a step say of each constraint, all cells together. Of several joins one speaks for it."""
    joins: dict[tuple[str, int | None, str], list[ConstraintReport]] = {}
    for line in metrics:
        joins.setdefault((line.query, line.fragment, line.operator), []).extend(line.constraints)
    return strongest(each for reports in joins.values() for each in together(reports))


def metrics_lines(metrics: Iterable[OperatorMetrics]) -> str:
    """One line of JSON each."""
    return "".join(json.dumps(metric.as_json()) + "\n" for metric in metrics)
