"""The loop of the embedded engine: streams are read in step with each other's times, each of them once for all queries.

The next rows are those of the stream whose closed instants are the fewest, up to the instant that the other streams
have closed, however large the batches of its file are. So rows in flight, which wait for other streams, are a small
part of what the queries keep:

    a  ────────────────▶|            closed up to here: b is read next,
    b  ──────────▶|~~~~~|            up to where a is,
                        |~~~|        and a few rows further, so that steps are not too small
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.relations import Query
from penstock.algebra.zones import DEFAULT
from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.files import FileSource
from penstock.engines.handed import Handed
from penstock.engines.idleness import NO_TIMEOUTS, Clock, Idleness, timeouts, wall_clock
from penstock.engines.lateness import NEVER, Progress, earliest
from penstock.engines.memory_budget import rows_within
from penstock.engines.planning import plan_of, read_by
from penstock.engines.pruning import pruning_together
from penstock.engines.time_units import UnitDoubts, Warn, warn_in_python
from penstock.errors import PenstockError
from penstock.kernels.jit import compiling
from penstock.operators.windows.stubs import SharedStores
from penstock.plan.adaptivity import FULL, Adaptive
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Plan
from penstock.plan.setting_change import SettingChange
from penstock.plan.settings import StepSizes
from penstock.plan.sharing import sharing

#: Rows that are pushed at most beyond the instant that other streams have closed: a part of the rows that are kept.
STATE_SHARE = 8

#: The batches of a stream; None means that no more rows have arrived yet.
Batches = Iterator[pa.RecordBatch | None]


@dataclass(frozen=True, slots=True)
class Result:
    """A block of the results of one step of one query."""

    engine: EmbeddedEngine
    rows: pa.Table
    #: Whether the step is complete; then the metrics of the engine are those of the step.
    ends_step: bool


@dataclass(slots=True)
class _Stream:
    name: str
    batches: Batches
    engines: list[EmbeddedEngine]
    #: Whether it had nothing when it was read last.
    quiet: bool = field(default=False)
    #: Rows that were read and not pushed yet.
    left: pa.RecordBatch | None = None

    def take(self, until: int | None, within: Callable[[pa.RecordBatch], int | None]) -> pa.RecordBatch | None:
        """Returns the next rows up to an instant, and a few more; for None the next batch of the source.

        `within` says for how many rows of a batch there is memory.
        """
        batch = next(self.batches) if self.left is None else self.left
        self.left = None
        if batch is None:
            return None
        limits = (self.steps.read_limit, within(batch))
        count = min([self._due(batch, until), *(limit for limit in limits if limit is not None)])
        if count == batch.num_rows:
            return batch
        self.left = batch.slice(count)
        return batch.slice(0, count)

    def has_rows(self) -> bool:
        """Returns whether rows of it have arrived that were not pushed yet."""
        if self.left is None:
            self.left = next(self.batches, None)
        self.quiet &= self.left is None
        return self.left is not None

    def push(self, batch: pa.RecordBatch) -> None:
        """Gives rows to all queries that read it; a row is late for all of them if it is late for one.

        Queries that share a window store a row once, and one that went on without the stream has closed its instant.
        """
        closed = max(engine.streams[self.name].progress.closed for engine in self.engines)
        for engine in self.engines:
            engine.streams[self.name].progress.closed = closed
            engine.push(self.name, batch)

    def _due(self, batch: pa.RecordBatch, until: int | None) -> int:
        """Returns how many rows of a batch are due."""
        least = self.steps.least
        if until is None or batch.num_rows <= least:
            return int(batch.num_rows)
        few = max(least, min(engine.state_rows() for engine in self.engines) // STATE_SHARE)
        later = self.engines[0].streams[self.name].times(batch) > until
        return max(few, int(later.argmax()) if later.any() else len(later))

    @property
    def steps(self) -> StepSizes:
        return self.engines[0].settings.steps

    @property
    def progress(self) -> Progress:
        return self.engines[0].streams[self.name].progress

    def closed(self) -> int:
        """Returns the first instant that this stream leaves open."""
        return earliest(self.progress.newest, self.engines[0].streams[self.name].definition.delay)


class EmbeddedRun:
    """Queries that run together. `idle_after` has the timeouts of streams that time may go on without."""

    def __init__(
        self,
        engines: Sequence[EmbeddedEngine],
        batches: Mapping[str, Batches],
        warn: Warn = warn_in_python,
        idle_after: Mapping[str, int] = NO_TIMEOUTS,
        clock: Clock = wall_clock,
    ) -> None:
        self.engines = engines
        self._clock = clock
        #: What each engine that may go on without a stream has seen of its streams.
        self._idleness = [
            (engine, Idleness({name: after for name, after in idle_after.items() if name in engine.streams}))
            for engine in engines
            if len(engine.streams) > 1 and idle_after.keys() & engine.streams.keys()
        ]
        self._streams = [
            _Stream(name, of_stream, [engine for engine in engines if name in engine.streams])
            for name, of_stream in batches.items()
        ]
        #: What is called at the boundary of a step, where settings may be changed.
        self.between_steps: Callable[[], None] = lambda: None
        #: The rows of state of each query at most, as was proved, where that is a number.
        self.proved: Mapping[str, int | None] = {}
        self._shown_limit = "off"
        self._doubts = UnitDoubts((s.engines[0].streams[s.name].definition for s in self._streams), warn)

    def results(self, compiles: Callable[[], None] = lambda: None) -> Iterator[Result | None]:
        """Yields the results of all steps, up to the horizon at the end; None when no stream has anything for now.

        `compiles` is called before each kernel that has to be compiled first.
        """
        try:
            with compiling(compiles):
                yield from self._results()
        finally:
            self.close()

    def close(self) -> None:
        """Removes spilled rows. The run gives no results afterwards."""
        for engine in self.engines:
            engine.close()

    def _results(self) -> Iterator[Result | None]:
        open_streams = list(self._streams)
        while open_streams:
            self.between_steps()
            now = self._find_idle(open_streams)
            ready = [stream for stream in open_streams if not stream.quiet]
            if not ready:
                for engine in self.engines:
                    if engine.pushed_rows or (engine.idle and engine.next_watermark() > engine.watermark):
                        yield from _step_results(engine, engine.advance_in_blocks())
                for _, idleness in self._idleness:
                    idleness.rest(now)
                yield None
                for stream in open_streams:
                    stream.quiet = False
                continue
            stream = min(ready, key=_Stream.closed)
            try:
                batch = stream.take(self._limit(stream, open_streams), partial(self._within, stream))
            except StopIteration:
                open_streams.remove(stream)
                for engine in stream.engines:
                    engine.end(stream.name)
                continue
            if batch is None:
                stream.quiet = True
                continue
            self._delivered(stream, batch)
            stream.push(batch)
            self._doubts.examine({stream.name: stream.progress.first})
            for engine in stream.engines:
                if not _may_wait(engine, batch.num_rows):
                    yield from _step_results(engine, engine.advance_in_blocks())
        for engine in self.engines:
            yield from _step_results(engine, engine.finish_in_blocks())

    def _delivered(self, stream: _Stream, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            for engine, idleness in self._idleness:
                if engine in stream.engines:
                    idleness.delivered(stream.name, self._clock())

    def _find_idle(self, open_streams: Sequence[_Stream]) -> int:
        """Lets each engine go on without the streams that are idle now: they are due, and no row of them waits."""
        now = self._clock() if self._idleness else 0
        for engine, idleness in self._idleness:
            new = idleness.idle(now) - engine.idle
            for stream in open_streams:
                if stream.name in new and stream.has_rows():
                    idleness.delivered(stream.name, now)
            engine.idle = idleness.idle(now)
        return now

    def _within(self, stream: _Stream, batch: pa.RecordBatch) -> int | None:
        """Returns how many rows a step may take by the memory budget; what it makes of steps is recorded."""
        budget = self.engines[0].settings.memory
        if budget is None:
            return None
        waiting = sum(each.left.nbytes for each in self._streams if each.left is not None)
        row_bytes = batch.nbytes / max(1, batch.num_rows)
        rows = rows_within(budget, self.engines, waiting, row_bytes, self.proved)
        # By powers of two, so that not every step is news.
        shown = str(1 << (rows.bit_length() - 1)) if rows < stream.steps.most else "off"
        if shown != self._shown_limit:
            self.engines[0].note(SettingChange("memory.step_rows", self._shown_limit, shown))
            self._shown_limit = shown
        return rows

    def _limit(self, stream: _Stream, open_streams: Sequence[_Stream]) -> int | None:
        """Returns the instant up to which rows of a stream need not wait for others; None if they wait for none.

        Where operators purge, a stream that is alone is read in small steps, too, so that what can go goes soon.
        """
        others = [o.closed() for o in open_streams if o is not stream and not all(o.name in e.idle for e in o.engines)]
        return min(others, default=NEVER if any(engine.forgets for engine in stream.engines) else None)


def _may_wait(engine: EmbeddedEngine, rows: int) -> bool:
    """Returns whether a step can wait for more rows: many were read, as from a file, and few of them passed filters.

    Where operators purge, or each instant of an input is one of a result, steps remain small.
    """
    steps = engine.settings.steps
    is_bulk = rows >= steps.least and engine.pushed_rows < steps.most
    return is_bulk and engine.delivered_rows < steps.least and not engine.forgets and not engine.shows_arrivals


def _step_results(engine: EmbeddedEngine, blocks: Iterable[pa.Table]) -> Iterator[Result]:
    """Yields the blocks of a step as they are computed, and its end, without rows."""
    for block in blocks:
        yield Result(engine, block, ends_step=False)
    yield Result(engine, engine.schema.empty_table(), ends_step=True)


def open_run(
    queries: Sequence[Query],
    catalog: Catalog,
    handed: Mapping[str, Handed] | None = None,
    *,
    cells: int = 1,
    horizon: int | None = None,
    until_done: bool = True,
    forgetting: Forgetting = EAGER,
    adaptive: Adaptive = FULL,
    warn: Warn = warn_in_python,
    idle: int | None = None,
    clock: Clock = wall_clock,
) -> EmbeddedRun:
    """Opens a run over rows that a program provides, by name, and over the files that the catalog names.

    Without `until_done` it waits for more files indefinitely, and streams may be idle: after `idle` microseconds of
    `clock`, where none are declared. `warn` is called with warnings.
    """
    handed = handed or {}
    plans = [plan_of(query, catalog, cells, forgetting, adaptive) for query in queries]
    streams, tables = read_by(plans, catalog)
    read: list[StreamDef | TableDef] = [*streams, *tables]
    zone = zone_of_all(queries)
    files = {definition.name: FileSource(definition, zone) for definition in read if definition.name not in handed}
    contents = {t.name: handed[t.name].table(t, zone) if t.name in handed else files[t.name].table() for t in tables}
    engines = open_engines(plans, catalog, contents, horizon)
    batches: dict[str, Batches] = {}
    for stream in streams:
        columns = columns_read(stream.name, engines)
        pruning = pruning_together(e.streams[stream.name].pruning for e in engines if stream.name in e.streams)
        if stream.name in handed:
            batches[stream.name] = handed[stream.name].batches(stream, columns, zone)
        elif until_done:
            batches[stream.name] = files[stream.name].batches(columns, pruning)
        else:
            batches[stream.name] = files[stream.name].following(columns, pruning)
    return EmbeddedRun(engines, batches, warn, NO_TIMEOUTS if until_done else timeouts(streams, idle), clock)


def zone_of_all(queries: Sequence[Query]) -> str:
    """Returns the time zone of queries that read their streams together."""
    zones = sorted({query.zone for query in queries})
    if len(zones) > 1:
        message = f"the queries are of several time zones: {', '.join(zones)}"
        raise PenstockError(message, "run those of one zone together")
    return zones[0] if zones else DEFAULT


def open_engines(
    plans: Sequence[Plan], catalog: Catalog, tables: Mapping[str, pa.Table], horizon: int | None = None
) -> list[EmbeddedEngine]:
    """Opens an engine per plan. Engines that read windows with the same rows store them once (thesis 2.3.1)."""
    shared = sharing(plans)
    stores = SharedStores(shared)
    engines = []
    with ExitStack() as failing:
        for planned in plans:
            common = stores if shared.concerns(planned) else None
            engine = EmbeddedEngine(planned.query, catalog, tables, horizon=horizon, planned=planned, stores=common)
            failing.callback(engine.close)
            engines.append(engine)
        failing.pop_all()
    return engines


def columns_read(stream: str, engines: Iterable[EmbeddedEngine]) -> list[str]:
    """Returns the columns of a stream that some query reads."""
    read = [engine.streams[stream].names for engine in engines if stream in engine.streams]
    return list(dict.fromkeys(name for names in read for name in names))
