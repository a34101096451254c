"""SysStream: the properties of all entities of a run as rows of one stream, which queries can read (thesis 2.4).

All of them are derived from the metrics of a step, and from nothing else. A row is one property of one entity:

    metrics of a step ──▶ source, operator, synopsis, index, monitor, filter order, cache, setting    of each line
                     └──▶ cell, query                                                                 sums over lines
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from penstock.engines.metrics import CONTROLS, DICTIONARY, OperatorMetrics
from penstock.monitor.bounds import Bounds, LiveBound, QueryBounds
from penstock.plan.cache_decisions import cache_text
from penstock.plan.decisions import FilterDecision, PlanDecision


class Property(NamedTuple):
    """A row of `sysstream`, in the order of its columns."""

    ts: int
    query: str
    entity: str
    kind: str
    cell: int | None
    property: str
    value: float | None
    text: str | None = None


#: The numbers that are published of a line, by the kind of entity that they are properties of.
_OF_SOURCE = ("rows_in", "rows_out", "late_rows", "bad_rows", "function_errors")
_OF_OPERATOR = ("rows_in", "rows_out", "nanoseconds", "function_errors", "in_flight_rows", "in_flight_bytes")
_OF_SYNOPSIS = ("state_rows", "state_bytes", "violations", "timed_out_rows")
_OF_CELL = ("rows_in", "nanoseconds", "state_rows", "state_bytes", "in_flight_rows", "in_flight_bytes")
_OF_QUERY = (
    "nanoseconds",
    "state_rows",
    "state_bytes",
    "in_flight_rows",
    "in_flight_bytes",
    "violations",
    "timed_out_rows",
)


def properties(lines: Iterable[OperatorMetrics], at: int, bounds: Bounds | None = None) -> list[Property]:
    """Returns the properties that the metrics of steps say, published at an instant.

    `bounds` are what was proved of each query's state.
    """
    found: list[Property] = []
    all_lines = sorted(lines, key=lambda line: (line.query, line.step))
    for (query, _), of_step in groupby(all_lines, key=lambda line: (line.query, line.step)):
        step = list(of_step)
        proved = (bounds or {}).get(query, {})
        for line in step:
            found += _of_line(line, at, proved)
        found += _of_cells(step, at)
        found += _of_query(step, at)
    return found


def entity_of(line: OperatorMetrics) -> str:
    """Returns the name of an operator in its query: the fragment, and the name in it; of a source the stream's."""
    if line.operator == "source" or line.fragment is None:
        return line.stream or line.operator
    return f"{line.fragment}.{line.operator}"


def _of_line(line: OperatorMetrics, at: int, proved: QueryBounds) -> Iterator[Property]:
    entity, cell = entity_of(line), line.cell
    if line.operator == CONTROLS:
        for change in line.changes:
            yield Property(at, line.query, change.name, "setting", None, "value", _number(change.after), change.after)
        return
    if line.operator == "source":
        for name in _OF_SOURCE:
            yield Property(at, line.query, entity, "source", cell, name, getattr(line, name))
        lag = None if line.newest is None else max(0, line.newest - line.watermark) / 1e6
        yield Property(at, line.query, entity, "source", cell, "lag", lag)
    elif line.operator not in (DICTIONARY, "filter"):
        for name in _OF_OPERATOR:
            yield Property(at, line.query, entity, "operator", cell, name, getattr(line, name))
        for name in ("probes", "matches"):
            for number, depths in enumerate(getattr(line, name)):
                for depth, count in enumerate(depths):
                    place = f"input {number} depth {depth}"
                    yield Property(at, line.query, entity, "operator", cell, name, count, place)
    if line.state_bytes or line.state_rows:
        yield from _of_synopsis(line, at, entity, proved.get((line.fragment, line.operator)))
    for index in line.indexes:
        name = f"{entity} input {index.input} ({', '.join(index.columns)})"
        yield Property(at, line.query, name, "index", cell, "buckets", index.buckets)
        yield Property(at, line.query, name, "index", cell, "bytes", index.bytes)
    for report in line.constraints:
        for name in ("k", "used", "violations", "false_negatives"):
            value = getattr(report, name)
            yield Property(
                at, line.query, report.constraint, "monitor", cell, name, None if value is None else float(value)
            )
    if line.filter_order:
        yield from _of_filters(line, at, entity)
    if line.cache_lookups or line.cache_bytes:
        for name in ("lookups", "hits", "bytes"):
            yield Property(at, line.query, entity, "cache", cell, name, getattr(line, f"cache_{name}"))
    yield from _of_decisions(line, at)


def _of_synopsis(line: OperatorMetrics, at: int, entity: str, bound: LiveBound | None) -> Iterator[Property]:
    for name in _OF_SYNOPSIS:
        yield Property(at, line.query, entity, "synopsis", line.cell, name, getattr(line, name), line.stream)
    if line.on_disk.rows or line.on_disk.brought_back:
        for name in ("rows", "bytes", "brought_back"):
            value = getattr(line.on_disk, name)
            yield Property(at, line.query, entity, "synopsis", line.cell, f"disk_{name}", value, line.stream)
    for waiting in line.waiting:
        text = f"{waiting.input}: {waiting.waits_for}"
        yield Property(at, line.query, entity, "synopsis", line.cell, "waiting_rows", waiting.rows, text)
    if bound is not None:
        yield Property(at, line.query, entity, "synopsis", line.cell, "bound", bound.cell_size, bound.words)


def _of_filters(line: OperatorMetrics, at: int, entity: str) -> Iterator[Property]:
    order = " AND ".join(line.filter_order)
    yield Property(at, line.query, entity, "filter order", line.cell, "order", len(line.filter_order), order)
    for text, count in zip(line.filter_order, line.evaluations, strict=True):
        yield Property(at, line.query, entity, "filter order", line.cell, "evaluations", count, text)


def _of_decisions(line: OperatorMetrics, at: int) -> Iterator[Property]:
    for decision in line.decisions:
        if isinstance(decision, PlanDecision):
            yield Property(
                at, line.query, decision.place, "plan", line.cell, "decision", decision.number, decision.choice
            )
            continue
        kind = "filter order" if isinstance(decision, FilterDecision) else "probe paths"
        text = f"{decision.reason} after {decision.at} rows: {decision.choice}"
        yield Property(at, line.query, decision.place, kind, line.cell, "decision", decision.number, text)
    for cached in line.cache_decisions:
        used = ", ".join(map(cache_text, cached["used"])) or "none"
        text = f"{cached['verdict']} after {cached['at']} rows: {used}"
        yield Property(at, line.query, cached["place"], "cache", line.cell, "decision", cached["number"], text)


def _of_cells(step: list[OperatorMetrics], at: int) -> Iterator[Property]:
    cells: dict[tuple[int, int], list[OperatorMetrics]] = {}
    for line in step:
        if line.cell is not None and line.fragment is not None:
            cells.setdefault((line.fragment, line.cell), []).append(line)
    for (fragment, cell), lines in sorted(cells.items()):
        for name in _OF_CELL:
            total = sum(getattr(line, name) for line in lines)
            yield Property(at, lines[0].query, f"fragment {fragment}", "cell", cell, name, total)


def _of_query(step: list[OperatorMetrics], at: int) -> Iterator[Property]:
    query = step[0].query
    sources = [line for line in step if line.operator == "source"]
    for name in _OF_QUERY:
        yield Property(at, query, query, "query", None, name, sum(getattr(line, name) for line in step))
    for name in ("rows_in", "late_rows", "bad_rows"):
        yield Property(at, query, query, "query", None, name, sum(getattr(line, name) for line in sources))
    watermark = max(line.watermark for line in step)
    newest = max((line.newest for line in sources if line.newest is not None), default=None)
    lag = None if newest is None else max(0, newest - watermark) / 1e6
    yield Property(at, query, query, "query", None, "step", step[0].step)
    yield Property(at, query, query, "query", None, "watermark", watermark)
    yield Property(at, query, query, "query", None, "lag", lag)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
