"""The monitors of a join observe what rows require of its k-constraints, and say which k the purge goes by.

A row requires k of a constraint if with a smaller one the purge could have forgotten what the row joins. So rows of one
instant require nothing of each other. Each cell has its monitors, of the rows that it sees, and its own k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Range, Schema
from penstock.closing.join_variables import join_variables
from penstock.closing.monitors import Monitor, OfCluster, OfReference
from penstock.closing.rules import ByKey, Estimate, K
from penstock.errors import PenstockError
from penstock.plan.constraint_report import ConstraintReport
from penstock.retention.arrivals import Arrivals
from penstock.retention.closing_state import ClosingState
from penstock.retention.code_owners import CodeOwner, RowCodeOwner
from penstock.retention.k_estimation import Estimation
from penstock.retention.k_observers import Observed, OrderObserver, is_needed, observer_of
from penstock.retention.retained_join import RetainedJoin
from penstock.synopsis.codes import decode_column
from penstock.synopsis.deltas import is_null
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.firsts import Keys
from penstock.synopsis.memory import Ints

_LEAST = -(1 << 63)


class Monitors:
    """The monitors of one join."""

    def __init__(self, join: RetainedJoin, closing_state: ClosingState) -> None:
        node, memory = join.node, join.memory.scope("monitors")
        self._retracts, self._copies, self._dictionary = join.retracts, join.copies, join.dictionary
        self._node, self._core, self._closing = node, join.inputs, closing_state
        scopes = [memory.scope("monitor", n) for n in range(len(node.monitors))]
        self._observers = [observer_of(own, each) for own, each in zip(scopes, node.monitors, strict=True)]
        self._estimations = [Estimation(own, each) for own, each in zip(scopes, node.monitors, strict=True)]
        self._violations = memory.array("violations", len(node.monitors))
        #: Rows that each has seen; the results of the join; and in thousandths those that each thinks are lost.
        self._rows = memory.array("rows", len(node.monitors))
        self._results = memory.array("results", 1)
        self._lost = memory.array("lost", len(node.monitors))
        self._variables = join_variables(node)
        #: Whether in the last step some k became known, or smaller, so that rows may go which have waited for more.
        self.lets_go = False

    def __len__(self) -> int:
        return sum(map(len, self._observers))

    @property
    def code_owners(self) -> list[CodeOwner]:
        """What stores codes of interned values."""
        return [
            RowCodeOwner(observer.held_column, self._columns(monitor))
            for monitor, observer in zip(self._node.monitors, self._observers, strict=True)
        ]

    def reports(self) -> list[ConstraintReport]:
        """What is known of each constraint."""
        found: dict[str, ConstraintReport] = {}
        for n, (monitor, estimation) in enumerate(zip(self._node.monitors, self._estimations, strict=True)):
            here = ConstraintReport(
                monitor.constraint,
                estimation.k,
                estimation.limit is not None,
                int(self._violations[n]),
                self._copies[n],
                int(self._lost[n]) / 1000,
            )
            # Several pairs of inputs may be joined by one reference. The one that sees most rows counts.
            there = found.get(monitor.constraint, here)
            found[monitor.constraint] = max(here, there, key=lambda each: (each.violations, each.false_negatives))
        return list(found.values())

    def limit(self, k: K) -> int | None:
        """The k to purge by; None: not at all."""
        return self._estimations[k.monitor].limit if isinstance(k, Estimate) else k

    def most(self, k: K) -> int:
        """The largest k that there may be to purge by."""
        return self._estimations[k.monitor].most if isinstance(k, Estimate) else k

    def passed(self, k: Estimate) -> int:
        """The value below which nothing comes any more, by an order."""
        observer, limit = self._observers[k.monitor], self._estimations[k.monitor].limit
        assert isinstance(observer, OrderObserver)
        monitor = self._node.monitors[k.monitor]
        now = self._clock(monitor) - (1 if monitor.ticks is None else 0)
        return _LEAST if limit is None else observer.passed(now - limit)

    def observe(self, rows: Arrivals) -> None:
        """Rows that come in a step, whose evidence is known, before anything is purged."""
        self.lets_go = False
        for n, (monitor, estimation) in enumerate(zip(self._node.monitors, self._estimations, strict=True)):
            before, clock = estimation.limit, self._clock(monitor)
            observer = self._observers[n]
            seen = observer.observe(rows, self._closing, clock - estimation.remembered)
            self._rows[n] += seen.rows
            if len(seen.required) and (is_needed(monitor) or seen.required.max() > before):
                self._count(n, seen)
                self._miss(n, seen, rows)
            estimation.observe(seen.required, seen.rows, clock)
            limit = estimation.limit
            is_less = limit is not None and (before is None or limit < before)
            self.lets_go |= is_less
            if observer.is_large or is_less:
                observer.forget_before(clock - estimation.remembered, is_less)

    def _count(self, number: int, seen: Observed) -> None:
        """Counts the rows that broke what is declared, or stops at the first of them."""
        monitor = self._node.monitors[number]
        if monitor.declared is None:
            return
        broken = np.flatnonzero(seen.required > monitor.declared)
        weights = self._observers[number].weights(seen.keys[broken], seen.since[broken])
        self._violations[number] += round(float(weights.sum()))
        if len(broken) and monitor.stops:
            first = int(broken[0])
            values = values_text(self._columns(monitor), seen.keys[first], self._dictionary)
            raise violation(monitor.constraint, values, int(seen.times[first]))

    def gave(self, results: int) -> None:
        """So many results came out."""
        self._results[0] += results

    def _miss(self, number: int, seen: Observed, rows: Arrivals) -> None:
        """Estimates how many results rows miss that came too late: what they join has gone.

        A row that is referred to misses those that refer to it and are not there. Of other rows it is not known what
        has gone, so one for which nothing is there is taken to miss as many results as rows have on average.
        """
        monitor, observer = self._node.monitors[number], self._observers[number]
        late = self._estimations[number].may_have_lost(seen.required, seen.clocks)
        if not late.any():
            return
        keys, weights = seen.keys[late], observer.weights(seen.keys[late], seen.since[late])
        if isinstance(monitor, OfReference):
            is_there = self._is_there(monitor.source, monitor, keys, rows)
            # Of several rows that refer to it some may be gone, of one that is there none.
            more = 0.0 if self._is_one(monitor) else 1.0
            missed = np.where(is_there, more, seen.partners[late]) * (monitor.source in self._node.forgets)
        else:
            has = self._core.has_variables
            others = [n for n in self._node.forgets if n != monitor.target and has(n, monitor.variables)]
            is_missing = np.zeros(len(keys), np.bool_)
            for other in others:
                is_missing |= ~self._is_there(other, monitor, keys, rows)
            is_missing &= ~self._has_stayed(monitor, seen.required[late])
            results = int(self._results[0]) + int(self._lost[number]) / 1000
            missed = is_missing * (results / int(self._rows[number]))
        self._lost[number] += round(1000 * float((missed * weights).sum()))

    def _has_stayed(self, monitor: Monitor, required: Ints) -> NDArray[np.bool_]:
        """Whether what a row joins was kept by a result with the first row of its cluster, which is in its window."""
        stayed, target = np.zeros(len(required), np.bool_), self._node.operands[monitor.target]
        if not self._retracts or not isinstance(monitor, OfCluster) or monitor.ticks is not None:
            return stayed
        # All that has the cluster's values joins the first row, which no filter leaves out.
        is_all = set(monitor.variables) == set(range(len(self._variables))) and not self._core.has_test
        if is_all and len(self._core.inputs) == 2 and isinstance(target, Scan) and not target.where:
            stayed |= isinstance(target.spec, Range) and target.spec.slide is None and required <= target.spec.width
        return stayed

    def _is_there(self, number: int, monitor: Monitor, keys: Ints, rows: Arrivals) -> NDArray[np.bool_]:
        """Whether an input has a row with each key, or one comes in this step."""
        new, _ = rows.of(number, monitor.variables)
        comes = np.isin(Keys.of(keys).hashes, new.hashes)
        return self._core.holds(number, monitor.variables, keys) | comes

    def _is_one(self, monitor: OfReference) -> bool:
        """Whether one row at most refers to each."""
        keys = (rule for rule in self._node.rules if isinstance(rule, ByKey) and rule.target == monitor.source)
        return any(set(key.variables) <= set(monitor.variables) for key in keys)

    def _columns(self, monitor: Monitor) -> Schema:
        """The target's columns that hold the variables."""
        own = (self._variables[variable][monitor.target] for variable in monitor.variables)
        return tuple(column for column in own if column is not None)

    def _clock(self, monitor: Monitor) -> int:
        return int(self._closing.clock(monitor.ticks))


def values_text(columns: Schema, key: Ints, dictionary: Dictionary) -> str:
    """`a = 5 and b = 'x'`, or `a IS NULL`. Null bits may follow the values."""
    return " and ".join(_value_text(columns, number, key, dictionary) for number in range(len(columns)))


def _value_text(columns: Schema, number: int, key: Ints, dictionary: Dictionary) -> str:
    if len(key) > len(columns) and is_null(key[np.newaxis], number, len(columns))[0]:
        return f"{columns[number].name} IS NULL"
    value = decode_column(key[number : number + 1], None, columns[number].type, dictionary)
    return f"{columns[number].name} = {value.to_pylist()[0]!r}"


HINT = "put the data right, or declare what holds; ON VIOLATION WARN counts such rows"


class Violation(PenstockError):
    """A row broke a constraint that is declared with ON VIOLATION ERROR."""


def violation(constraint: str, values: str, time: int) -> Violation:
    message = f"a row with {values} at {time} breaks {constraint}"
    return Violation(message, HINT)
