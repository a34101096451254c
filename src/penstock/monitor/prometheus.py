"""Prometheus: metrics as text in its exposition format, by its conventions.

Names begin with `penstock_` and have a unit, those that only grow end in `_total`, times are seconds and sizes bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from penstock.engines.metrics import CONTROLS, DICTIONARY, OperatorMetrics
from penstock.monitor.bounds import Bounds

#: What a server says that it gives.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = dict[str, str]
#: The samples of a line: labels beside the line's own, and a value.
Samples = Iterable[tuple[Labels, float]]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric: its name and type, what it means, of which lines it is, and its samples."""

    name: str
    type: str
    help: str
    samples: Callable[[OperatorMetrics], Samples]


def exposition(
    metrics: Iterable[OperatorMetrics],
    bounds: Bounds | None = None,
    labels: Mapping[str, str] | None = None,
) -> str:
    """Returns metrics in Prometheus's text format. What lines count is taken to be counted since the start.

    `bounds` are what was proved of each query, and `labels` are added to every sample.

    >>> print(exposition([OperatorMetrics(3, 7_000_000, "q", "source", stream="s", rows_in=5)]).splitlines()[2])
    penstock_source_rows_total{query="q",stream="s"} 5
    """
    lines = [line for line in metrics if line.operator != CONTROLS]
    text: list[str] = []
    for family in (*FAMILIES, _bound_family(bounds or {})):
        found: dict[str, float] = {}
        for line in lines:
            for more, value in family.samples(line):
                found.setdefault(_labelled({**(labels or {}), "query": line.query, **more}), value)
        if found:
            text += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.type}"]
            text += [f"{family.name}{labelled} {_number(value)}" for labelled, value in found.items()]
    return "\n".join(text) + "\n" if text else ""


def _labelled(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    r"""Returns a label's value as the format wants it.

    >>> print(_escaped('a"b\\c'))
    a\"b\\c
    """
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _of_source(name: str) -> Callable[[OperatorMetrics], Samples]:
    def samples(line: OperatorMetrics) -> Samples:
        if line.operator == "source":
            yield {"stream": line.stream or ""}, getattr(line, name)

    return samples


def _of_operator(name: str, scale: float = 1) -> Callable[[OperatorMetrics], Samples]:
    def samples(line: OperatorMetrics) -> Samples:
        if line.operator not in ("source", "filter", DICTIONARY):
            yield _place(line), getattr(line, name) * scale

    return samples


def _of_state(name: str) -> Callable[[OperatorMetrics], Samples]:
    def samples(line: OperatorMetrics) -> Samples:
        if line.state_bytes or line.state_rows:
            yield _place(line), getattr(line, name)

    return samples


def _place(line: OperatorMetrics) -> Labels:
    labels = {"operator": line.operator}
    labels |= {} if line.fragment is None else {"fragment": str(line.fragment)}
    labels |= {} if line.cell is None else {"cell": str(line.cell)}
    return labels | ({} if line.stream is None else {"stream": line.stream})


def _of_constraints(name: str) -> Callable[[OperatorMetrics], Samples]:
    def samples(line: OperatorMetrics) -> Samples:
        for report in line.constraints:
            value = getattr(report, name)
            if value is not None:
                yield {"constraint": report.constraint, **_place(line)}, float(value)

    return samples


def _of_disk(name: str) -> Callable[[OperatorMetrics], Samples]:
    def samples(line: OperatorMetrics) -> Samples:
        if line.on_disk.rows or line.on_disk.brought_back:
            yield _place(line), getattr(line.on_disk, name)

    return samples


def _of_caches(name: str) -> Callable[[OperatorMetrics], Samples]:
    def samples(line: OperatorMetrics) -> Samples:
        if line.cache_lookups or line.cache_bytes:
            yield _place(line), getattr(line, name)

    return samples


def _evaluations(line: OperatorMetrics) -> Samples:
    for text, count in zip(line.filter_order, line.evaluations, strict=True):
        yield {"filter": text, **_place(line)}, count


def _indexes(line: OperatorMetrics) -> Samples:
    for index in line.indexes:
        yield {"input": str(index.input), "columns": ", ".join(index.columns), **_place(line)}, index.bytes


def _waiting(line: OperatorMetrics) -> Samples:
    for report in line.waiting:
        yield {"input": report.input, "waits_for": report.waits_for, **_place(line)}, report.rows


def _steps(line: OperatorMetrics) -> Samples:
    yield {}, line.step


def _watermark(line: OperatorMetrics) -> Samples:
    yield {}, line.watermark / 1e6


def _lag(line: OperatorMetrics) -> Samples:
    if line.operator == "source" and line.newest is not None:
        yield {"stream": line.stream or ""}, max(0, line.newest - line.watermark) / 1e6


def _bound_family(bounds: Bounds) -> Family:
    def samples(line: OperatorMetrics) -> Samples:
        bound = bounds.get(line.query, {}).get((line.fragment, line.operator))
        if bound is not None and bound.cell_size is not None and (line.state_bytes or line.state_rows):
            yield _place(line), bound.cell_size

    return Family("penstock_state_bound_rows", "gauge", "Rows that it was proved to keep at most.", samples)


FAMILIES: tuple[Family, ...] = (
    Family("penstock_source_rows_total", "counter", "Rows that were read of a stream.", _of_source("rows_in")),
    Family("penstock_source_late_rows_total", "counter", "Rows that arrived too late.", _of_source("late_rows")),
    Family(
        "penstock_source_bad_rows_total",
        "counter",
        "Rows without a time, or with NULL where there is none.",
        _of_source("bad_rows"),
    ),
    Family("penstock_source_lag_seconds", "gauge", "Time of the newest row behind which the watermark is.", _lag),
    Family("penstock_steps_total", "counter", "Steps, or on Spark micro-batches, that were completed.", _steps),
    Family("penstock_watermark_seconds", "gauge", "The first instant that is not closed, since 1970.", _watermark),
    Family("penstock_operator_rows_in_total", "counter", "Changes that it consumed.", _of_operator("rows_in")),
    Family("penstock_operator_rows_out_total", "counter", "Changes that it produced.", _of_operator("rows_out")),
    Family(
        "penstock_operator_seconds_total", "counter", "Time that it took itself.", _of_operator("nanoseconds", 1e-9)
    ),
    Family(
        "penstock_function_errors_total",
        "counter",
        "Rows on which a user function failed and gave NULL.",
        _of_operator("function_errors"),
    ),
    Family("penstock_state_rows", "gauge", "Rows that it keeps.", _of_state("state_rows")),
    Family("penstock_state_bytes", "gauge", "Bytes that it keeps.", _of_state("state_bytes")),
    Family("penstock_in_flight_rows", "gauge", "Rows that wait for their instant.", _of_operator("in_flight_rows")),
    Family("penstock_in_flight_bytes", "gauge", "Bytes of the rows that wait.", _of_operator("in_flight_bytes")),
    Family("penstock_index_bytes", "gauge", "Bytes of an index of a join.", _indexes),
    Family("penstock_waiting_rows", "gauge", "Rows of a join that wait for the same closers.", _waiting),
    Family(
        "penstock_rejected_rows_total",
        "counter",
        "Rows that arrived after their punctuation.",
        _of_operator("violations"),
    ),
    Family(
        "penstock_timed_out_rows_total",
        "counter",
        "Rows that were dropped at the wait timeout.",
        _of_operator("timed_out_rows"),
    ),
    Family("penstock_constraint_k", "gauge", "The k that rows adhere to.", _of_constraints("k")),
    Family("penstock_constraint_used", "gauge", "Whether rows are purged by it: 1 or 0.", _of_constraints("used")),
    Family(
        "penstock_constraint_violations_total",
        "counter",
        "Rows that broke a constraint.",
        _of_constraints("violations"),
    ),
    Family(
        "penstock_constraint_missing_results",
        "gauge",
        "Results that may be missing because k was too small, an estimate.",
        _of_constraints("false_negatives"),
    ),
    Family("penstock_filter_evaluations_total", "counter", "Rows on which a filter was evaluated.", _evaluations),
    Family("penstock_cache_lookups_total", "counter", "Lookups in caches of a join.", _of_caches("cache_lookups")),
    Family("penstock_cache_hits_total", "counter", "Lookups that found their key.", _of_caches("cache_hits")),
    Family("penstock_cache_bytes", "gauge", "Bytes of the caches of a join.", _of_caches("cache_bytes")),
    Family("penstock_spilled_rows", "gauge", "Rows that are on disk.", _of_disk("rows")),
    Family("penstock_spilled_bytes", "gauge", "Bytes that are on disk.", _of_disk("bytes")),
    Family("penstock_brought_back_rows_total", "counter", "Rows that were brought back.", _of_disk("brought_back")),
)
