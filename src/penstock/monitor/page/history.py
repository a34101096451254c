"""The history of a run, in a bounded number of frames: what each operator did between two moments.

Metrics of a step are added to the frame that is open, and a frame closes when it has lasted long enough. When there are
too many, each two neighbours become one and frames last twice as long, so the whole run stays in view:

    |·|·|·|·|·|·|·|·|   8 frames of 0.5 s     ──▶     |· ·|· ·|· ·|· ·|   4 of 1 s, and the next of 1 s

Rows and time of two frames add up; of what is kept the later value counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.monitor.page.plan_graph import entity_of

#: What is counted in a step, and adds up.
FLOWS = (
    *("rows_in", "rows_out", "nanoseconds", "late_rows", "bad_rows", "function_errors", "probes", "matches"),
    *("cache_lookups", "cache_hits"),
)
#: What is there at the end of a step.
LEVELS = (
    *("state_rows", "state_bytes", "in_flight_rows", "in_flight_bytes", "violations", "timed_out_rows", "disk_rows"),
    "cache_bytes",
)
#: The values of an entity in a frame, in this order; the last compares its busiest cell with the mean of all.
PROPERTIES = (*FLOWS, *LEVELS, "skew")

#: Frames at most, and the seconds that the first of them last.
MOST_FRAMES = 480
SECONDS = 0.1

#: Rows of a cell, on average, below which cells are not compared.
_FEW = 50

_SKEW = len(PROPERTIES) - 1
Line = Mapping[str, Any]


@dataclass(slots=True)
class Frame:
    """What happened between two moments, by entity."""

    at: float
    seconds: float
    step: int
    watermarks: dict[str, int]
    values: dict[str, list[float]]

    def as_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {entity: [_short(value) for value in own] for entity, own in self.values.items()}
        return {
            "at": round(self.at, 3),
            "seconds": round(self.seconds, 3),
            "step": self.step,
            "watermarks": dict(self.watermarks),
            "values": values,
        }


def merged(first: Frame, second: Frame) -> Frame:
    """Returns two neighbouring frames as one."""
    values = {entity: list(own) for entity, own in first.values.items()}
    for entity, later in second.values.items():
        own = values.setdefault(entity, [0.0] * len(PROPERTIES))
        for place in range(len(FLOWS)):
            own[place] += later[place]
        own[len(FLOWS) :] = later[len(FLOWS) :]
    watermarks = first.watermarks | second.watermarks
    return Frame(second.at, first.seconds + second.seconds, second.step, watermarks, values)


def _short(value: float) -> int | float:
    return int(value) if value == int(value) else round(value, 3)


@dataclass(slots=True)
class _Open:
    """The frame that is being filled: values by entity and cell."""

    begun: float
    step: int = 0
    watermarks: dict[str, int] = field(default_factory=dict)
    cells: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    #: How uneven the cells of each entity were when enough rows came last.
    skews: dict[str, float] = field(default_factory=dict)
    is_empty: bool = True

    def add(self, entity: str, line: Line) -> None:
        own = self.cells.setdefault(entity, {}).setdefault(line.get("cell") or 0, [0.0] * _SKEW)
        for place, name in enumerate(FLOWS):
            value = line.get(name)
            if value:
                own[place] += sum(map(sum, value)) if isinstance(value, list | tuple) else value
        own[len(FLOWS) :] = [line.get(name) or 0 for name in LEVELS]
        self.step, self.is_empty = line["step"], False

    def closed(self, at: float) -> Frame:
        self.skews = {entity: _skew(own, self.skews.get(entity, 1.0)) for entity, own in self.cells.items()}
        values = {
            entity: [*map(sum, zip(*own.values(), strict=True)), self.skews[entity]]
            for entity, own in self.cells.items()
        }
        return Frame(at, max(0.0, at - self.begun), self.step, self.watermarks, values)

    def next(self, at: float) -> _Open:
        """Returns the frame after this one: cells that do nothing in it have what they had."""
        kept = {
            entity: {cell: [0.0] * len(FLOWS) + own[len(FLOWS) :] for cell, own in cells.items()}
            for entity, cells in self.cells.items()
        }
        return _Open(at, self.step, dict(self.watermarks), kept, self.skews)


def _skew(cells: Mapping[int, list[float]], before: float) -> float:
    """Returns how many times the rows of the mean cell the busiest one got: 1 is even, and few rows say nothing new.

    >>> _skew({0: [300.0], 1: [100.0]}, 1.0), _skew({0: [300.0]}, 1.0), _skew({0: [1.0], 1: [0.0]}, 1.2)
    (1.5, 1.0, 1.2)
    """
    rows = [own[0] for own in cells.values()]
    total = sum(rows)
    return max(rows) * len(rows) / total if total >= _FEW * len(rows) else before


class History:
    """The frames of a run. `epoch` counts how often they became coarser: who holds older ones has to read them anew."""

    def __init__(self, begun: float, seconds: float = SECONDS, most: int = MOST_FRAMES) -> None:
        self.frames: list[Frame] = []
        self.epoch = 0
        self.seconds, self._most = seconds, most
        self._open = _Open(begun)
        #: By entity and cell the rows since the start, and those that are kept.
        self._cells: dict[str, dict[int, list[int]]] = {}
        #: Of each stream the query whose lines count: each that reads it reports it.
        self._readers: dict[str, str] = {}

    def add(self, lines: Iterable[Line], at: float) -> bool:
        """Takes the metrics of a step that was done at some time, and returns whether a frame was closed."""
        for line in lines:
            entity = entity_of(line["query"], line.get("fragment"), line["operator"], line.get("stream"))
            if line["operator"] in ("source", "filter"):
                if self._readers.setdefault(entity, line["query"]) != line["query"]:
                    continue
            else:
                self._open.watermarks[line["query"]] = line["watermark"]
            self._open.add(entity, line)
            self._count(entity, line)
        return at - self._open.begun >= self.seconds and self.close(at)

    def _count(self, entity: str, line: Line) -> None:
        if line.get("cell") is not None:
            counts = self._cells.setdefault(entity, {}).setdefault(line["cell"], [0, 0])
            counts[0] += line["rows_in"]
            counts[1] = line["state_rows"]

    def close(self, at: float) -> bool:
        """Closes the frame that is open, if anything is in it."""
        if self._open.is_empty:
            return False
        self.frames.append(self._open.closed(at))
        self._open = self._open.next(at)
        if len(self.frames) >= self._most:
            rest = self.frames[-1:] if len(self.frames) % 2 else []
            pairs = zip(self.frames[::2], self.frames[1::2], strict=False)
            self.frames = [*(merged(first, second) for first, second in pairs), *rest]
            self.epoch += 1
            self.seconds *= 2
        return True

    def cells(self) -> dict[str, Any]:
        """Returns by entity of several cells the rows that each cell got since the start, and those that it keeps."""
        return {
            entity: [[cell, *counts] for cell, counts in sorted(cells.items())]
            for entity, cells in self._cells.items()
            if len(cells) > 1
        }
