"""The loop of the embedded engine: streams are read side by side, and each batch is pushed and its results taken.

The stream that is read next is the one that holds the others up: whose closed instants are the fewest. So few rows wait
for other streams. Where rows are forgotten, fewer still: a batch is pushed only as far as the other streams have come.
A stream is read once, for all queries that run together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.relations import Query
from penstock.algebra.zones import DEFAULT
from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.files import FileSource
from penstock.engines.handed import Handed
from penstock.engines.lateness import NEVER, Progress, earliest
from penstock.engines.planning import plan_of, read_by
from penstock.engines.time_units import UnitDoubts, Warn, warn_in_python
from penstock.errors import PenstockError
from penstock.kernels.jit import compiling
from penstock.operators.windows.stubs import SharedStores
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Plan
from penstock.plan.sharing import sharing

#: Rows that are pushed at least, where a batch is not pushed at once.
FEW_ROWS = 1 << 13

#: The batches of a stream; None says that there is nothing for now.
Batches = Iterator[pa.RecordBatch | None]


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of one step of one query."""

    engine: EmbeddedEngine
    rows: pa.Table


@dataclass(slots=True)
class _Stream:
    name: str
    batches: Batches
    engines: list[EmbeddedEngine]
    idle: bool = field(default=False)
    #: What was read and not pushed yet.
    left: pa.RecordBatch | None = None

    def take(self, until: int) -> pa.RecordBatch | None:
        """The next rows: where rows are forgotten those up to an instant, or some more; else a whole batch."""
        batch = next(self.batches) if self.left is None else self.left
        self.left = None
        if batch is None or not any(engine.forgets for engine in self.engines):
            return batch
        later = self.engines[0].streams[self.name].times(batch) > until
        count = max(FEW_ROWS, int(later.argmax()) if later.any() else len(later))
        if count < batch.num_rows:
            self.left = batch.slice(count)
        return batch.slice(0, count)

    @property
    def progress(self) -> Progress:
        return self.engines[0].streams[self.name].progress

    def closed(self) -> int:
        """The first instant that this stream leaves open."""
        return earliest(self.progress.newest, self.engines[0].streams[self.name].definition.delay)


class EmbeddedRun:
    """Queries that run together."""

    def __init__(
        self, engines: Sequence[EmbeddedEngine], batches: Mapping[str, Batches], warn: Warn = warn_in_python
    ) -> None:
        self.engines = engines
        self._streams = [
            _Stream(name, of_stream, [engine for engine in engines if name in engine.streams])
            for name, of_stream in batches.items()
        ]
        self._doubts = UnitDoubts((s.engines[0].streams[s.name].definition for s in self._streams), warn)

    def results(self, compiles: Callable[[], None] = lambda: None) -> Iterator[Result | None]:
        """The results of all steps, up to the horizon at the end; None when no stream has anything for now.

        `compiles` is called before each kernel that has to be compiled first.
        """
        try:
            with compiling(compiles):
                yield from self._results()
        finally:
            self.close()

    def close(self) -> None:
        """Removes what is on disk. No results come after that."""
        for engine in self.engines:
            engine.close()

    def _results(self) -> Iterator[Result | None]:
        open_streams = list(self._streams)
        while open_streams:
            ready = [stream for stream in open_streams if not stream.idle]
            if not ready:
                yield None
                for stream in open_streams:
                    stream.idle = False
                continue
            stream = min(ready, key=_Stream.closed)
            others = [other.closed() for other in open_streams if other is not stream]
            try:
                batch = stream.take(min(others, default=NEVER))
            except StopIteration:
                open_streams.remove(stream)
                for engine in stream.engines:
                    engine.end(stream.name)
                continue
            if batch is None:
                stream.idle = True
                continue
            for engine in stream.engines:
                engine.push(stream.name, batch)
                self._doubts.look({stream.name: stream.progress.first})
                yield Result(engine, engine.advance())
        for engine in self.engines:
            yield Result(engine, engine.finish())

    def progress(self) -> dict[str, Progress]:
        """How far each stream has come."""
        return {stream.name: stream.progress for stream in self._streams}


def open_run(
    queries: Sequence[Query],
    catalog: Catalog,
    handed: Mapping[str, Handed] | None = None,
    *,
    cells: int = 1,
    horizon: int | None = None,
    until_done: bool = True,
    forgetting: Forgetting = EAGER,
    warn: Warn = warn_in_python,
) -> EmbeddedRun:
    """A run over what was handed over, by name, and over the files that the catalog names.

    Without `until_done` it waits for more files, and has no end. `warn` takes what is doubtful.
    """
    handed = handed or {}
    plans = [plan_of(query, catalog, cells, forgetting) for query in queries]
    streams, tables = read_by(plans, catalog)
    read: list[StreamDef | TableDef] = [*streams, *tables]
    zone = zone_of_all(queries)
    files = {definition.name: FileSource(definition, zone) for definition in read if definition.name not in handed}
    contents = {t.name: handed[t.name].table(t, zone) if t.name in handed else files[t.name].table() for t in tables}
    engines = open_engines(plans, catalog, contents, horizon)
    batches: dict[str, Batches] = {}
    for stream in streams:
        columns = columns_read(stream.name, engines)
        if stream.name in handed:
            batches[stream.name] = handed[stream.name].batches(stream, columns, zone)
        elif until_done:
            batches[stream.name] = files[stream.name].batches(columns)
        else:
            batches[stream.name] = files[stream.name].following(columns)
    return EmbeddedRun(engines, batches, warn)


def zone_of_all(queries: Sequence[Query]) -> str:
    """The time zone of queries that read their streams together."""
    zones = sorted({query.zone for query in queries})
    if len(zones) > 1:
        message = f"the queries are of several time zones: {', '.join(zones)}"
        raise PenstockError(message, "run those of one zone together")
    return zones[0] if zones else DEFAULT


def open_engines(
    plans: Sequence[Plan], catalog: Catalog, tables: Mapping[str, pa.Table], horizon: int | None = None
) -> list[EmbeddedEngine]:
    """An engine per plan. Those that read windows with the same rows store them once (thesis 2.3.1)."""
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
    """The columns of a stream that some query reads."""
    read = [engine.streams[stream].names for engine in engines if stream in engine.streams]
    return list(dict.fromkeys(name for names in read for name in names))
