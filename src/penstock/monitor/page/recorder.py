"""The recorder of a run: it is given the metrics of each step, and any number of pages read what it holds.

The run calls `take` between two steps; that adds numbers up, and nothing else. Documents are made when somebody asks,
in the thread that asks. Nobody waits for a slow reader: a page says which frames it has, and gets the later ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from math import inf
from secrets import token_hex
from threading import Lock
from time import monotonic, time
from typing import Any, Protocol

from penstock.engines.metrics import OperatorMetrics
from penstock.monitor.bounds import Bounds
from penstock.monitor.page.findings import findings
from penstock.monitor.page.history import PROPERTIES, SECONDS, History, Line
from penstock.monitor.page.plan_graph import entity_of
from penstock.monitor.page.query_graphs import QueryGraphs
from penstock.plan.constraint_report import ConstraintReport, together

#: Decisions and changes of settings that are kept.
_MOST_DECISIONS = 400

#: A query that has not reported for so many frames is waited for no longer.
_PATIENCE = 4

#: What is shown as it is now, and not as it was.
_DETAILS = ("filter_order", "evaluations", "constraints", "indexes", "probes", "matches", "on_disk", "waiting")
_TAKEN = (
    *("step", "watermark", "query", "operator", "fragment", "stream", "cell", "rows_in", "rows_out", "state_rows"),
    *("state_bytes", "late_rows", "bad_rows", "violations", "timed_out_rows", "function_errors", "in_flight_rows"),
    *("in_flight_bytes", "nanoseconds", "newest", "at", "decisions", "changes", "cache_lookups", "cache_hits"),
    *("cache_bytes", "cache_decisions", *_DETAILS),
)


class Settings(Protocol):
    """What can be changed while a query runs; `penstock.monitor.control` has it."""

    def __iter__(self) -> Any:
        """Yields settings with a name, a type, a value and a help."""

    def set(self, name: str, value: str) -> Any:
        """Sets one from the next step on, and refuses what it cannot be with a PenstockError."""


class Recorder:
    """One run: its plan, its history, its decisions, and what can be set."""

    def __init__(
        self,
        plan: Mapping[str, Any],
        *,
        controls: Settings | None = None,
        is_live: bool = True,
        bounds: Bounds | None = None,
        begun: float | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self.plan = plan
        self.controls = controls
        self.is_live = is_live
        #: The queries over `sysstream` that readers have added.
        self.graphs = QueryGraphs(bounds)
        #: It tells runs apart that are shown at one address.
        self.key = token_hex(4)
        self.version = 0
        self._begun = time() if begun is None else begun
        self._history = History(self._begun, seconds)
        self._delays = _delays(plan)
        self._lock = Lock()
        self._now: dict[str, dict[int, Line]] = {}
        self._newest: dict[str, int] = {}
        #: The streams that time goes on without: they hold nothing back.
        self._idle: set[str] = set()
        self._decisions: dict[tuple[object, ...], dict[str, Any]] = {}
        #: The queries that have not reported since a frame was due, and when it was.
        self._queries = {str(node["query"]) for node in plan["nodes"] if "query" in node}
        self._silent: set[str] = set()
        self._asked = -inf
        nodes = plan["nodes"]
        assert isinstance(nodes, list)
        self._nodes = {str(node["id"]): node for node in nodes if isinstance(node, dict)}

    @property
    def is_due(self) -> bool:
        """Returns whether it is time for another frame, or some query has had no metrics since it was.

        Counts go on until they are reported, so what is shown adds up all the same.
        """
        return bool(self._silent) or monotonic() - self._asked >= self._history.seconds

    def take(self, metrics: Iterable[OperatorMetrics | Mapping[str, Any]]) -> None:
        """Takes the metrics of one step, as values or as JSON."""
        metrics = list(metrics)
        lines = [_line(metric) for metric in metrics]
        if not lines:
            return
        self.graphs.take([metric for metric in metrics if isinstance(metric, OperatorMetrics)])
        at = lines[0].get("at") or time()
        if not self._silent or monotonic() - self._asked >= _PATIENCE * self._history.seconds:
            self._silent, self._asked = set(self._queries), monotonic()
        self._silent -= {line["query"] for line in lines}
        with self._lock:
            for line in lines:
                self._note(line, at)
            if self._history.add(lines, at):
                self.version += 1

    def end(self) -> None:
        """Notes that the run is over."""
        self.graphs.end()
        with self._lock:
            last = self._history.frames[-1].at if self._history.frames else self._begun
            self._history.close(time() if self.is_live else max(last, self._latest()))
            self.is_live = False
            self.version += 1

    def _latest(self) -> float:
        return max((line.get("at") or 0.0 for cells in self._now.values() for line in cells.values()), default=0.0)

    def _note(self, line: Line, at: float) -> None:
        entity = entity_of(line["query"], line.get("fragment"), line["operator"], line.get("stream"))
        if line["operator"] != "filter" or line.get("filter_order"):
            cells = self._now.setdefault(entity, {})
            cell = line.get("cell") or 0
            cells[cell] = _with_probes(line, cells.get(cell))
        if line["operator"] == "source" and line.get("newest") is not None:
            self._newest[line["stream"]] = line["newest"] - self._delays.get(line["stream"], 0)
        if line["operator"] == "source":
            (self._idle.add if line.get("idle") else self._idle.discard)(line["stream"])
        for each in (*line.get("decisions", ()), *line.get("cache_decisions", ()), *line.get("changes", ())):
            found = {**_json(each), "query": line["query"], "entity": entity, "step": line["step"], "when": at}
            key = _decision_key(found)
            if key in self._decisions:  # what it earned has changed, when it was made has not
                found["step"], found["when"] = self._decisions[key]["step"], self._decisions[key]["when"]
            self._decisions[key] = found
        while len(self._decisions) > _MOST_DECISIONS:
            del self._decisions[next(iter(self._decisions))]

    def document(self) -> dict[str, Any]:
        """Returns all that there is to show."""
        with self._lock:
            frames: list[Any] = [frame.as_json() for frame in self._history.frames]
            return {
                **self.plan,
                "properties": list(PROPERTIES),
                "run": self.key,
                "begun": self._begun,
                "frames": frames,
                **self._latest_json(),
            }

    def since(self, epoch: int, frames: int) -> dict[str, Any] | None:
        """Returns what came after so many frames; None where frames have become coarser, and all has to be read."""
        with self._lock:
            if epoch != self._history.epoch or frames > len(self._history.frames):
                return None
            new: list[Any] = [frame.as_json() for frame in self._history.frames[frames:]]
            return {"frames": new, **self._latest_json()}

    def _latest_json(self) -> dict[str, Any]:
        known = self._history.frames
        awake = {stream: newest for stream, newest in self._newest.items() if stream not in self._idle}
        return {
            "epoch": self._history.epoch,
            "live": self.is_live,
            "now": {entity: _details(cells) for entity, cells in self._now.items()},
            "newest": dict(self._newest),
            "cells": self._history.cells(),
            "decisions": list(self._decisions.values()),
            "findings": [each.as_json() for each in findings(known, self._nodes, awake)],
            "settings": self.settings(),
            "graphs": self.graphs.as_json(),
        }

    def settings(self) -> list[Any]:
        """Returns what can be set; nothing where the run is over."""
        return [_json(each) for each in self.controls] if self.controls is not None and self.is_live else []


def _line(metric: OperatorMetrics | Mapping[str, Any]) -> Line:
    """Returns a metric as a mapping, without copying what it holds."""
    if isinstance(metric, OperatorMetrics):
        line = {name: getattr(metric, name) for name in _TAKEN}
        line["disk_rows"] = metric.on_disk.rows
        return line
    return {**metric, "disk_rows": (metric.get("on_disk") or {}).get("rows", 0)}


def _with_probes(line: Line, before: Line | None) -> Line:
    """Returns a line whose probes and matches are those since the join's paths were chosen."""
    if before is None or not line.get("probes") or not before.get("probes") or _has_new_paths(line, before):
        return {**line, "paths": _paths(line) or (before or {}).get("paths")}
    summed = {
        name: [
            [now + earlier for now, earlier in zip(of_path, older, strict=True)]
            for of_path, older in zip(line[name], before[name], strict=True)
        ]
        for name in ("probes", "matches")
    }
    return {**line, **summed, "paths": _paths(line) or before.get("paths")}


def _has_new_paths(line: Line, before: Line) -> bool:
    paths = _paths(line)
    return paths is not None and paths != before.get("paths")


def _paths(line: Line) -> Any:
    """Returns the probe paths that a line reports as chosen last, if it reports any."""
    chosen = [each for each in map(_json, line.get("decisions") or ()) if "paths" in each]
    return [list(path) for path in max(chosen, key=lambda each: each["number"])["paths"]] if chosen else None


def _details(cells: Mapping[int, Line]) -> dict[str, Any]:
    """Returns what is known of an entity now: lists of its first cell, and sums over cells of what adds up."""
    lines = [line for _, line in sorted(cells.items())]
    first = max(lines, key=lambda line: sum(line.get("evaluations") or (0,)))
    found: dict[str, Any] = {"watermark": lines[0]["watermark"]}
    if first.get("filter_order"):
        found["filters"] = [
            [text, count] for text, count in zip(first["filter_order"], first["evaluations"], strict=False)
        ]
    for name in ("probes", "matches"):
        by_cell = [line[name] for line in lines if line.get(name)]
        if by_cell:
            paths = zip(*by_cell, strict=False)
            found[name] = [[sum(depth) for depth in zip(*path, strict=False)] for path in paths]
    if constraints := _constraints(lines):
        found["constraints"] = constraints
    if waiting := _waiting(lines):
        found["waiting"] = waiting
    if any(line.get("indexes") for line in lines):
        found["indexes"] = [_json(each) for each in first.get("indexes") or ()]
    if lines[0].get("newest") is not None:
        found["newest"] = lines[0]["newest"]
    return found


def _waiting(lines: Iterable[Line]) -> list[Any]:
    """Returns how many rows of all cells wait for what, the most first."""
    rows: dict[tuple[str, str], int] = {}
    for each in (_json(each) for line in lines for each in line.get("waiting") or ()):
        key = (each["input"], each["waits_for"])
        rows[key] = rows.get(key, 0) + each["rows"]
    ordered = sorted(rows.items(), key=lambda each: -each[1])
    return [{"input": name, "waits_for": text, "rows": count} for (name, text), count in ordered]


def _constraints(lines: Iterable[Line]) -> list[Any]:
    """Returns what all cells say of each constraint."""
    found = [each for line in lines for each in line.get("constraints") or ()]
    reports = [each if isinstance(each, ConstraintReport) else ConstraintReport(**each) for each in found]
    return [{**asdict(each), "broken": each.broken} for each in together(reports)]


def _json(value: Any) -> dict[str, Any]:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else dict(value)


def _decision_key(found: Mapping[str, Any]) -> tuple[object, ...]:
    """Returns what tells a decision from others: orders and caches of one place are numbered apart."""
    if "name" in found:
        return found["query"], found["name"], found["step"]
    return found["query"], found["place"], "verdict" in found, found["number"]


def _delays(plan: Mapping[str, Any]) -> dict[str, int]:
    nodes = plan["nodes"]
    assert isinstance(nodes, list)
    sources = [node for node in nodes if isinstance(node, dict) and node["kind"] == "source"]
    return {str(node["stream"]): int(str(node.get("delay", 0))) for node in sources}
