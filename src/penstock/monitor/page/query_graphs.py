"""Graphs that are any query over `sysstream`: a reader writes it, the run steps it, and what it says is drawn.

The last column that is a number is drawn over time, as a line for each combination of the texts beside it. A query is
one SELECT over `sysstream` alone, whose state is bounded: it declares nothing, reads no file, and calls no function of
the user's. It is stepped between two steps of the run, so one that is slow, large or one too many is stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import thread_time
from typing import Any

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.effort import limited
from penstock.engines.metrics import OperatorMetrics
from penstock.engines.watching import Watch, refuse_other_streams
from penstock.errors import PenstockError
from penstock.monitor.bounds import Bounds
from penstock.monitor.publishing import SysStream, wall_clock
from penstock.register import check_query
from penstock.sql import bind_text
from penstock.sql.system_streams import SYSSTREAM, reads_sysstream, system_definitions
from penstock.types import Kind

#: Graphs of a run, lines of a graph and points of a line at most; a line with more loses every other one.
MOST_GRAPHS, MOST_LINES, MOST_POINTS = 6, 8, 240
#: Characters of a query, and the work that it may take to read it.
MOST_CHARACTERS, EFFORT = 3_000, 200_000
#: What a query may keep, and the seconds of CPU time that a step of it may take.
MOST_BYTES, MOST_SECONDS = 16 << 20, 0.5

_NUMBERS = (Kind.BIGINT, Kind.INT, Kind.DOUBLE, Kind.DECIMAL)


@dataclass(slots=True)
class QueryGraph:
    """One query, and what it has said so far."""

    text: str
    watch: Watch
    sysstream: SysStream
    #: The columns that name lines, and the one that is drawn.
    names: tuple[str, ...]
    drawn: str
    lines: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    #: Why it was stopped, or what it leaves out.
    message: str | None = None
    is_stopped: bool = False

    def take(self, metrics: Sequence[OperatorMetrics], *, is_last: bool = False) -> None:
        """Publishes the metrics of a step to the query, and takes what it says; stops it where it goes too far."""
        if self.is_stopped:
            return
        self.sysstream.take(metrics)
        began = thread_time()
        for _, rows in self.sysstream.changes(is_last=is_last):
            # What is said first waits for kernels to be loaded.
            if self.lines and thread_time() - began > MOST_SECONDS:
                self.stop(f"stopped: a step of it took more than {MOST_SECONDS:g} seconds")
                return
            self._add(rows)
        if self.watch.state_bytes > MOST_BYTES:
            self.stop(f"stopped: it kept more than {MOST_BYTES >> 20} MB")

    def stop(self, why: str | None = None) -> None:
        if not self.is_stopped:
            self.is_stopped, self.message = True, why
            self.watch.close()

    def _add(self, rows: Any) -> None:
        """Takes changes: what is inserted is a point of its line."""
        columns = rows.to_pydict()
        names = [columns[name] for name in self.names]
        for number, (at, change, value) in enumerate(
            zip(columns["_ts"], columns["_op"], columns[self.drawn], strict=True)
        ):
            if change == "+" and value is not None:
                self._point(" ".join(str(name[number]) for name in names), at / 1e6, float(value))

    def _point(self, line: str, at: float, value: float) -> None:
        if line not in self.lines and len(self.lines) >= MOST_LINES:
            self.message = f"only the first {MOST_LINES} lines are drawn"
            return
        points = self.lines.setdefault(line, [])
        points.append((at, value))
        if len(points) > MOST_POINTS:
            self.lines[line] = points[:-1:2] + points[-1:]

    def as_json(self) -> dict[str, Any]:
        lines = [{"name": name, "points": [list(point) for point in points]} for name, points in self.lines.items()]
        return {"text": self.text, "drawn": self.drawn, "lines": lines, "message": self.message}


class QueryGraphs:
    """The queries that the readers of a page have added. Any thread may add one; the run calls `take`."""

    def __init__(self, bounds: Bounds | None = None, clock: Callable[[], int] = wall_clock) -> None:
        self._lock = Lock()
        self._graphs: dict[str, QueryGraph] = {}
        self._bounds, self._clock = bounds or {}, clock

    def add(self, text: str) -> None:
        """Adds a query, from the next step on, or refuses it; one that is there already is left as it is."""
        text = text.strip().rstrip(";").strip()
        with self._lock:
            if text in self._graphs:
                return
            if len(self._graphs) >= MOST_GRAPHS:
                raise PenstockError(f"{MOST_GRAPHS} queries are drawn already", "remove one of them first")
            query, catalog = _bound(text)
            names, drawn = _columns(query)
            watch = Watch(query, catalog, SYSSTREAM)
            sysstream = SysStream([watch], self._clock)
            sysstream.prove(self._bounds)
            self._graphs[text] = QueryGraph(text, watch, sysstream, names, drawn)

    def remove(self, text: str) -> None:
        """Removes a query, if it is there."""
        with self._lock:
            graph = self._graphs.pop(text.strip().rstrip(";").strip(), None)
            if graph is not None:
                graph.stop()

    def take(self, metrics: Sequence[OperatorMetrics]) -> None:
        """Publishes the metrics of a step to all queries."""
        if not self._graphs:
            return
        with self._lock:
            for graph in self._graphs.values():
                graph.take(metrics)

    def end(self) -> None:
        """Takes what the queries have to say at the end of the run, and stops them."""
        with self._lock:
            for graph in self._graphs.values():
                graph.take((), is_last=True)
                graph.stop(graph.message)

    def as_json(self) -> list[dict[str, Any]]:
        with self._lock:
            return [graph.as_json() for graph in self._graphs.values()]


def _bound(text: str) -> tuple[Query, Catalog]:
    """Returns the query of a text, or refuses what is not one that a run may step beside its own."""
    if len(text) > MOST_CHARACTERS:
        raise PenstockError("the query is too long", f"it has {MOST_CHARACTERS:,} characters at most")
    with limited(EFFORT):
        script = bind_text(text, "graph").checked()
        hint = "write one SELECT, as in SELECT entity, SUM(value) AS n FROM sysstream [RANGE 1 MINUTE] GROUP BY entity"
        if len(script.queries) != 1 or not _is_of_system(script.catalog):
            raise PenstockError("a graph is one query, and declares nothing", hint)
        (query,) = script.queries
        if not reads_sysstream(query):
            raise PenstockError("the query does not read sysstream", hint)
        refuse_other_streams(query, SYSSTREAM.name)
        verdict = check_query(query, script.catalog)
        if not verdict.safe:
            raise PenstockError(verdict.message, "give each sysstream a window, as sysstream [RANGE 1 MINUTE]")
    return query, script.catalog


def _is_of_system(catalog: Catalog) -> bool:
    """Returns whether a catalog has nothing but what every text can read without declaring it."""
    known = system_definitions().values()
    return all(any(each is other for other in known) for each in catalog.definitions.values())


def _columns(query: Query) -> tuple[tuple[str, ...], str]:
    """Returns the columns that name lines, and the one that is drawn."""
    numbers = [column.name for column in query.schema if column.type.kind in _NUMBERS]
    if not numbers:
        raise PenstockError("the query has no column that is a number", "add one to the select list: the last is drawn")
    times = (Kind.TIMESTAMP, Kind.DATE)
    names = [c.name for c in query.schema if c.name != numbers[-1] and c.type.kind not in times]
    return tuple(names), numbers[-1]
