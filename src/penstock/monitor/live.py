"""The present picture of a run, for those who look at it from outside: `penstock top`, Prometheus, the page.

What the metrics of steps count is added up since the start. It is looked at once a second.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.engines.metrics import CONTROLS, DICTIONARY, OperatorMetrics, constraints_of
from penstock.monitor.bounds import Bounds
from penstock.monitor.sysstream import entity_of
from penstock.plan.decisions import Decision

#: Seconds between two looks, and over which rates are taken.
_PAUSE = 1.0
_RATE_SECONDS = 10.0

#: What a line counts of its step only.
COUNTED = (
    *("rows_in", "rows_out", "late_rows", "bad_rows", "function_errors", "nanoseconds"),
    *("cache_lookups", "cache_hits"),
)

#: Decisions of a query that are remembered.
_DECISIONS = 50

#: Which line of which query: the stream tells sources apart.
_Key = tuple[str, int | None, str, str | None, int | None]


class Live:
    """The latest lines of a run's operators, and what they counted since the start. Any thread may ask."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds: Bounds = bounds or {}
        self._clock: Callable[[], float] = time.monotonic
        self._lock = threading.Lock()
        self._lines: dict[_Key, OperatorMetrics] = {}
        self._decisions: dict[str, dict[tuple[str, int], Decision]] = {}
        self._rows: dict[str, deque[tuple[float, int]]] = {}
        self._seen = -_PAUSE

    @property
    def is_due(self) -> bool:
        return self._clock() - self._seen >= _PAUSE

    def take(self, lines: Sequence[OperatorMetrics]) -> None:
        """Takes the metrics of a step."""
        now = self._clock()
        with self._lock:
            self._seen = now
            for line in lines:
                if line.operator != CONTROLS:
                    self._add(line)
                decided = self._decisions.setdefault(line.query, {})
                decided |= {(each.place, each.number): each for each in line.decisions}
                for oldest in list(decided)[:-_DECISIONS]:
                    del decided[oldest]
            for query in {line.query for line in lines}:
                read = deque(self._rows.get(query, ((now, 0),)))
                read.append((now, self._read_by(query)))
                while len(read) > 2 and read[1][0] <= now - _RATE_SECONDS:
                    read.popleft()
                self._rows[query] = read

    def _add(self, line: OperatorMetrics) -> None:
        key = (line.query, line.fragment, line.operator, line.stream, line.cell)
        before = self._lines.get(key)
        if before is not None:
            line = replace(line, **{name: getattr(before, name) + getattr(line, name) for name in COUNTED})
        self._lines[key] = line

    def _read_by(self, query: str) -> int:
        return sum(line.rows_in for line in self._lines.values() if line.query == query and line.operator == "source")

    def totals(self) -> list[OperatorMetrics]:
        """Returns the latest line of every operator, with what was counted since the start."""
        with self._lock:
            return list(self._lines.values())

    def picture(self) -> list[dict[str, Any]]:
        """Returns what there is to see of each query, as JSON."""
        with self._lock:
            queries = list(dict.fromkeys(line.query for line in self._lines.values()))
            return [self._query(query) for query in queries]

    def _query(self, query: str) -> dict[str, Any]:
        lines = [line for line in self._lines.values() if line.query == query]
        sources = [line for line in lines if line.operator == "source"]
        operators = [line for line in lines if line.operator not in ("source", "filter", DICTIONARY)]
        watermark = max(line.watermark for line in lines)
        newest = max((line.newest for line in sources if line.newest is not None), default=None)
        slowest = max(operators, key=lambda line: line.nanoseconds, default=None)
        return {
            "query": query,
            "step": max(line.step for line in lines),
            "rows_in": sum(line.rows_in for line in sources),
            "rows_per_second": self._rate(query),
            "watermark": watermark,
            "lag": None if newest is None else max(0, newest - watermark) / 1e6,
            "late_rows": sum(line.late_rows for line in sources),
            "bad_rows": sum(line.bad_rows for line in sources),
            "state_rows": sum(line.state_rows for line in lines if line.operator != DICTIONARY),
            "state_bytes": sum(line.state_bytes for line in lines),
            "in_flight_rows": sum(line.in_flight_rows for line in lines),
            "violations": sum(line.violations for line in lines),
            "timed_out_rows": sum(line.timed_out_rows for line in lines),
            "slowest": None if slowest is None or not slowest.nanoseconds else entity_of(slowest),
            "state": self._state(query, operators),
            "constraints": [
                {"constraint": each.constraint, "k": each.k, "used": each.used, "violations": each.broken}
                for each in constraints_of(lines)
            ],
            "decisions": [each.as_json() for each in self._decisions.get(query, {}).values()],
        }

    def _state(self, query: str, operators: Sequence[OperatorMetrics]) -> list[dict[str, Any]]:
        """Returns what each operator keeps in all cells, beside what was proved of it."""
        bounds = self.bounds.get(query, {})
        found: dict[str, dict[str, Any]] = {}
        for line in operators:
            if line.state_rows or line.state_bytes:
                bound = bounds.get((line.fragment, line.operator))
                entry = found.setdefault(
                    entity_of(line),
                    {"stream": line.stream, "rows": 0, "bytes": 0, "bound": None, "bound_rows": None, "because": None},
                )
                entry["rows"] += line.state_rows
                entry["bytes"] += line.state_bytes
                if bound is not None:
                    entry |= {"bound": bound.words, "bound_rows": bound.size, "because": bound.because}
        return [{"entity": entity, **entry} for entity, entry in found.items()]

    def _rate(self, query: str) -> float:
        (began, first), (ended, last) = self._rows[query][0], self._rows[query][-1]
        return (last - first) / (ended - began) if ended > began else 0.0
