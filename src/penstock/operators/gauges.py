"""Gauges: what each operator of a machine did in its last step, and what it keeps.

An operator is named after its relation and numbered from the root down, as `penstock explain` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.algebra.relations import Relation
from penstock.operators.filters.filters import MeasuredFilters
from penstock.operators.functions.failures import Tally
from penstock.operators.joins.join_tuner import JoinTuner
from penstock.plan.caches import CacheUse
from penstock.plan.constraint_report import NOTHING_ON_DISK, ConstraintReport, OnDisk
from penstock.plan.decisions import PlanDecision
from penstock.plan.explain import operator_name
from penstock.plan.index_report import IndexReport
from penstock.plan.probe_paths import ProbeCounts
from penstock.plan.waiting_report import WaitingReport
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.memory import Scope


@dataclass(slots=True)
class Gauge:
    name: str
    relation: Relation
    #: Whether what was counted has been reported; the next step begins to count anew then.
    is_reported: bool = True
    #: Since the step after the last report began, and in the last part of it.
    rows_in: int = 0
    rows_out: int = 0
    latest: int = 0
    #: Since then, with what the operators below took.
    took: int = 0
    below: list[Gauge] = field(default_factory=list)
    #: The number of the leaf that it reads.
    leaf: int | None = None
    #: Its memory, and what counts the rows in it.
    memory: list[Scope] = field(default_factory=list)
    counts: list[Callable[[], int]] = field(default_factory=list)
    #: The same for rows in flight, which wait at its leaf until their instant is closed.
    in_flight_memory: list[Scope] = field(default_factory=list)
    in_flight: list[Callable[[], int]] = field(default_factory=list)
    #: What counts the rows that it rejected because they came after a punctuation of their values.
    rejected: list[Callable[[], int]] = field(default_factory=list)
    #: What counts the rows that it dropped because they waited too long.
    timed_out: list[Callable[[], int]] = field(default_factory=list)
    #: What says how well constraints are kept.
    monitors: list[Callable[[], list[ConstraintReport]]] = field(default_factory=list)
    #: What says for what the pending rows of a join wait.
    waiting: list[Callable[[], list[WaitingReport]]] = field(default_factory=list)
    #: What counts the rows of the step on which a user function failed and gave NULL.
    function_errors: Tally = field(default_factory=Tally)
    #: The predicates that it evaluates.
    filters: list[MeasuredFilters] = field(default_factory=list)
    #: What counts the rows that it has put on disk.
    on_disk: list[Callable[[], OnDisk]] = field(default_factory=list)
    #: Of a join what counts its probes since it was built, and what that was when the step began.
    probing: Callable[[], ProbeCounts] = ProbeCounts
    probed: ProbeCounts = field(default_factory=ProbeCounts)
    #: What orders its probe paths.
    join_tuner: JoinTuner | None = None
    #: The same of its subresult caches; and what gives decisions about them that are new.
    caching: Callable[[], CacheUse] = CacheUse
    cached: CacheUse = field(default_factory=CacheUse)
    cache_decisions: Callable[[], tuple[dict[str, Any], ...]] = tuple
    #: What gives the decisions that it took on how the query runs.
    plan_decisions: Callable[[], tuple[PlanDecision, ...]] = tuple
    #: Of a join what describes its indexes.
    indexes: Callable[[], tuple[IndexReport, ...]] = tuple

    def begin(self) -> None:
        """Begins a step. What was not reported since the last step counts on."""
        if not self.is_reported:
            return
        self.is_reported = False
        self.rows_in = self.rows_out = self.took = self.function_errors.count = 0
        self.probed, self.cached = self.probing(), self.caching()

    def stepped(self, inputs: Mapping[int, Deltas], rows_out: int, took: int = 0) -> None:
        """Counts a part of a step. What took no time of its own is measured with its reader."""
        came = sum(gauge.latest for gauge in self.below)
        self.rows_in += came if self.leaf is None else came + int(np.count_nonzero(inputs[self.leaf].weight))
        self.rows_out += rows_out
        self.latest = rows_out
        self.took += took

    def nanoseconds(self) -> int:
        """The time that it took itself since the step began. What several read counts for the first of them."""
        return max(0, self.took - sum(gauge.took for gauge in self.below))

    def violations(self) -> int:
        return sum(count() for count in self.rejected)

    def timed_out_rows(self) -> int:
        return sum(count() for count in self.timed_out)

    def reports(self) -> list[ConstraintReport]:
        return [each for monitors in self.monitors for each in monitors()]

    def waiting_reports(self) -> list[WaitingReport]:
        return [each for waiting in self.waiting for each in waiting()]

    def probe_counts(self) -> ProbeCounts:
        """Probes and matches since the step began."""
        return self.probing().since(self.probed)

    def cache_use(self) -> CacheUse:
        """How caches were used since the step began, and the bytes that they take."""
        return self.caching().since(self.cached)

    def spilled(self) -> OnDisk:
        return sum((count() for count in self.on_disk), NOTHING_ON_DISK)

    def state_rows(self) -> int:
        return sum(count() for count in self.counts)

    def state_bytes(self) -> int:
        return sum(scope.nbytes() for scope in self.memory)

    def in_flight_rows(self) -> int:
        return sum(count() for count in self.in_flight)

    def in_flight_bytes(self) -> int:
        return sum(scope.nbytes() for scope in self.in_flight_memory)


class Gauges:
    """The gauges of a machine, and while it is built the one of the operator that is being built."""

    def __init__(self) -> None:
        self.all: list[Gauge] = []
        self._open: list[Gauge] = []

    @property
    def top(self) -> Gauge:
        return self._open[-1]

    def is_building(self, relation: Relation) -> bool:
        """Whether an operator is building a step of itself: what goes through it is measured outside, once."""
        return bool(self._open) and self.top.relation is relation

    @contextmanager
    def building(self, relation: Relation) -> Iterator[Gauge]:
        """An operator may build itself in two steps: its changes, and their rows in a store."""
        if self.is_building(relation):
            yield self.top
            return
        gauge = Gauge(operator_name(relation, len(self.all)), relation)
        self.all.append(gauge)
        if self._open:
            self.top.below.append(gauge)
        self._open.append(gauge)
        yield gauge
        self._open.pop()
