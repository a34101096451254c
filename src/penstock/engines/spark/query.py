"""Queries on Spark: a plan as one streaming DataFrame, and the handle of a query that runs.

Each level of the plan is a stateful operator; chained operators pass a micro-batch's packets on within that
micro-batch, so an instant that closes is closed on all levels at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.engines.idleness import Clock, timeouts, wall_clock
from penstock.engines.metric_lines import Metrics
from penstock.engines.metrics import CONTROLS, OperatorMetrics, StreamProgress
from penstock.engines.not_null import without_nulls
from penstock.engines.spark.callbacks import Callbacks
from penstock.engines.spark.cell import CellProcessor
from penstock.engines.spark.changed_files import refuse_rewritten
from penstock.engines.spark.checkpoint import Checkpoint
from penstock.engines.spark.declared import check_whole
from penstock.engines.spark.deferred import Deferred
from penstock.engines.spark.idle_watch import IdleWatch
from penstock.engines.spark.listing import ListedFiles, files_at_once
from penstock.engines.spark.metrics import NOTES, History, QueryProgress, Taken, observed
from penstock.engines.spark.output import writer
from penstock.engines.spark.paths import from_here, local_folder
from penstock.engines.spark.read_limits import set_most_files
from penstock.engines.spark.reading_watch import ReadingWatch
from penstock.engines.spark.reports import SlowStart, SparkDied, explained, naming
from penstock.engines.spark.session import check_session, restore, set_for_queries
from penstock.engines.spark.shipping import refuse_unpicklable
from penstock.engines.spark.sink import unpacked
from penstock.engines.spark.source import PACKETS, packed_control, packed_files, packed_stream, reads_files
from penstock.engines.spark.state_directory import StateDirectory, new_run
from penstock.engines.spark.types import check_columns
from penstock.engines.spark.work import Work, make_work, tables_of, with_tables
from penstock.engines.spark.written import SparkLog, WrittenResults, clear_drafts, folder_of_cells
from penstock.engines.time_units import UnitDoubts, Warn, warn_in_python
from penstock.errors import PenstockError
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Plan
from penstock.plan.setting_change import SettingChange
from penstock.plan.settings import Settings

#: A query that cannot start because the machine is busy is started so many times.
_MOST_STARTS = 6

#: What is to be done where a setting would say how much is read.
_READ_LIMITS = "on Spark the options of a source say how much a micro-batch reads, as maxBytesPerTrigger does"

#: Streams by their declared names.
Frames = Mapping[str, DataFrame | ListedFiles]


def build(
    query: Query,
    catalog: Catalog,
    frames: Frames,
    tables: Mapping[str, DataFrame] | None = None,
    cells: int = 1,
    *,
    horizon: int | None = None,
    control: DataFrame | None = None,
    forgetting: Forgetting = EAGER,
    planned: Plan | None = None,
    observation: str = NOTES,
) -> DataFrame:
    """Returns the query as a streaming DataFrame: `_ts`, `_op`, and then the select list.

    `frames` are the streams and `tables` the static tables, by declared name. A row of `control` closes time.
    `planned` is the query's plan with these cells, if there is one already. Spark's progress has what the cells did
    under the name of the `observation`.
    """
    sessions = {(f.frame if isinstance(f, ListedFiles) else f).sparkSession for f in frames.values()}
    for spark in sessions:
        check_session(spark, query.zone)
    if forgetting.spill:
        message = "rows are spilled to the checkpoint folder, which a DataFrame does not know"
        raise PenstockError(message, "start the query with start(), or leave spill out")
    work = _work(query, catalog, tables or {}, cells, horizon, forgetting, planned)
    for spark in sessions:
        # The user starts the DataFrame, whenever that is: Spark reads these settings then.
        set_for_queries(spark, work.addresses.partitions)
    idle = [stream for stream in work.streams if stream.idle is not None]
    if idle and control is None:
        message = f"{idle[0].name} is declared IDLE AFTER a time, and nothing watches the streams of a DataFrame"
        raise PenstockError(message, "start the query with start(), or declare the stream without it")
    return _build(work, frames, control, observation)


def start(
    query: Query,
    catalog: Catalog,
    frames: Frames,
    tables: Mapping[str, DataFrame] | None = None,
    *,
    spark: SparkSession,
    out: str,
    checkpoint: str,
    cells: int = 1,
    horizon: int | None = None,
    until_done: bool = False,
    forgetting: Forgetting = EAGER,
    planned: Plan | None = None,
    warn: Warn = warn_in_python,
    idle: int | None = None,
    clock: Clock = wall_clock,
    memory: int | None = None,
    most_rows: int | None = None,
) -> RunningQuery:
    """Runs a query into a folder of files, exactly once; the folder's name ends in csv, json or parquet.

    With `until_done` it reads what there is, closes time at the horizon, and ends; without it streams may be idle:
    after `idle` microseconds of `clock`, where none are declared. `planned` is the query's plan with these cells and
    this forgetting, if there is one already. `warn` takes what is doubtful. Rows may take `memory` bytes; `most_rows`
    is what was proved of the rows of state, where that is a number.
    """
    check_session(spark, query.zone)
    out, checkpoint = from_here(spark, out), from_here(spark, checkpoint)
    refuse_rewritten(local_folder(spark, checkpoint), local_folder(spark, out))
    work = _work(query, catalog, tables or {}, cells, horizon, forgetting, planned)
    if until_done:
        check_whole(work.streams)
    idle_after = timeouts(work.streams, idle)
    spill = _spill_folder(spark, checkpoint) if forgetting.spill else None
    kept = Checkpoint(spark, checkpoint)
    with naming(checkpoint):
        run = new_run(kept.full_path)
        work = replace(work, out=folder_of_cells(spark, out, work.schema), spill=spill, run=run)
        _leave_ended(kept.full_path)
    try:
        with naming(checkpoint):
            kept.claim(work, out)
        result = _build(work, frames, kept.control())
        from_files = all(reads_files(frames[stream.name]) for stream in work.streams)
        running = RunningQuery(work, result, kept, out, until_done=until_done, reads_files=from_files, warn=warn)
        # Then the next micro-batch reads all that there is, and may close time as well: each one has its price.
        at_once = until_done and memory is None and all(_reads_all(frames[stream.name]) for stream in work.streams)
        if not at_once:
            running.limit_reading(frames, memory, most_rows)
        with naming(checkpoint):
            kept.wake()
            kept.reopen()
            if at_once:
                kept.close(run)
        running.begin()
        if not until_done:
            running.watch_idle(idle_after, clock)
    except BaseException:
        kept.release()
        raise
    return running


#: The queries that this process has started and not left, by the full paths of their checkpoints.
_started: dict[str, RunningQuery] = {}


def _leave_ended(checkpoint: str) -> None:
    """Leaves a query that has ended without anybody waiting for it, so that it can be started again."""
    earlier = _started.get(checkpoint)
    if earlier is not None and not earlier.is_running:
        earlier._leave()


def _reads_all(frame: DataFrame | ListedFiles) -> bool:
    return isinstance(frame, ListedFiles) and frame.reads_all


def _spill_folder(spark: SparkSession, checkpoint: str) -> str:
    """Returns the folder to which cells spill rows: beside their state, so that both exist after a restart."""
    folder = local_folder(spark, f"{checkpoint.rstrip('/')}/spill")
    if folder is None:
        message = f"{checkpoint}: rows are spilled to the checkpoint folder, and workers cannot write files there"
        raise PenstockError(message, "choose a folder that is a local one to all workers, or leave spill out")
    return folder


class RunningQuery:
    """A query that runs on Spark: `query.start` returns it."""

    def __init__(
        self,
        work: Work,
        result: DataFrame,
        checkpoint: Checkpoint,
        out: str,
        *,
        until_done: bool,
        reads_files: bool,
        warn: Warn = warn_in_python,
    ) -> None:
        self._spark, self._work, self._result = result.sparkSession, work, result
        self._checkpoint, self._out = checkpoint, out
        self._until_done, self._reads_files = until_done, reads_files
        self._query: StreamingQuery | None = None
        self._id: str | None = None
        self._full_path = checkpoint.full_path
        self._history = History()
        #: What can be changed while it runs, how often it was, and what was changed before which micro-batch.
        self.settings = Settings(forgetting=work.plan.forgetting, adaptive=work.plan.adaptive)
        self._adjusted = 0
        self._changes: list[tuple[int, tuple[SettingChange, ...]]] = []
        self._callbacks = Callbacks()
        self._doubts = UnitDoubts(work.streams, warn)
        #: The last micro-batch that was examined for doubts.
        self._examined = -1
        self.idle_watch: IdleWatch | None = None
        #: What limits how much a micro-batch reads, where that can be limited.
        self._reading: ReadingWatch | None = None

    def limit_reading(self, frames: Frames, memory: int | None, most_rows: int | None) -> None:
        """Lets settings say how much a micro-batch reads, if all streams are of files that workers read."""
        files, others = files_at_once({stream.name: frames.get(stream.name) for stream in self._work.streams})
        if memory is not None and others:
            raise PenstockError(f"how much is read of {others[0]} cannot follow from a memory budget", _READ_LIMITS)
        if not others:
            self.settings = replace(self.settings, memory=memory)
            self._reading = ReadingWatch(self, files, self._work.delays, most_rows)

    def taken(self) -> Taken | None:
        """Returns what its latest micro-batch took."""
        self._collect_if_alive()
        return self._history.taken()

    def limit_files(self, files: Mapping[str, int | None]) -> bool:
        """Says how many files of each stream a micro-batch reads from the next on, and whether the query is so far."""
        with suppress(SparkDied), explained(()):
            return self._query is not None and set_most_files(self._query, self._spark.sparkContext._jvm, files)
        return False

    def note(self, change: SettingChange) -> None:
        """Records what was decided about the next micro-batch."""
        self._changes.append((self._history.latest() + 1, (change,)))

    def watch_idle(self, after: Mapping[str, int], clock: Clock = wall_clock) -> None:
        """Goes on without streams that are idle after these times, from now on."""
        self.idle_watch = IdleWatch(after, self._rows, self._decide, clock)
        self.idle_watch.begin()

    def _decide(self, idle: Mapping[str, int]) -> None:
        with explained(()):
            self._checkpoint.decide(idle)

    def _rows(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        with explained(()):
            if self._query is not None:
                self._history.collect(self._query)
        return self._history.rows()

    def begin(self) -> None:
        """Starts Spark's query."""
        StateDirectory(self._work.run).clear_others()
        with naming(self._out):
            to = self._writer().option("checkpointLocation", self._checkpoint.folder)
        if self._until_done and not self._reads_files:
            # A topic may get new rows indefinitely: only those that exist now are wanted.
            to = to.trigger(availableNow=True)
        before = set_for_queries(self._spark, self._work.addresses.partitions)
        try:
            with explained(self._work.streams):
                self._query = to.start() if self._work.out else to.start(self._out)
                self._id = str(self._query.id)
        finally:
            restore(self._spark, before)
        _started[self._full_path] = self
        if self._reading is not None:
            self._reading.begin()

    def _writer(self) -> DataStreamWriter:
        if self._work.out is None:
            return writer(self._result, self._work.schema, self._out, self._work.zone)
        log = SparkLog(self._spark, self._work.out)
        results = WrittenResults(self._work.out, log, self._work.streams, self._callbacks)
        return self._result.writeStream.foreachBatch(results.run)

    @property
    def is_running(self) -> bool:
        """Whether it is still running."""
        with suppress(SparkDied), explained(()):
            return self._query is not None and self._query.isActive
        return False

    def await_done(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Waits until the query has ended; with `until_done`, until time is closed and all is written.

        `meanwhile` is called every second.
        """
        try:
            if not self._until_done:
                self._patiently(self._await, meanwhile)
            elif self._reads_files:
                self._patiently(self._drain, meanwhile)
                if not self._checkpoint.is_closed(self._work.run):
                    self._checkpoint.close(self._work.run)
                    self._patiently(self._drain, meanwhile)
                self.stop()
            else:
                self._patiently(self._await, meanwhile)
                # In a run of its own: what it closes is all that the first run has read.
                self._checkpoint.close(self._work.run)
                self.begin()
                self._patiently(self._await, meanwhile)
        finally:
            if not self.is_running:
                self._leave()

    def stop(self) -> None:
        """Ends the query after the last micro-batch that was completed. It continues from there when started again."""
        if self._query is None:
            return
        try:
            # If Spark's process has ended, the query has ended with it.
            with suppress(SparkDied), explained(()):
                self._query.stop()
                self._collect()
        finally:
            self._leave()

    def progress(self) -> QueryProgress | None:
        """Returns how far it is, or None before the first micro-batch is done."""
        self._collect_if_alive()
        return self._history.progress()

    def before(self) -> Mapping[str, StreamProgress]:
        """Returns how far its streams had been read when it was started."""
        return self._history.before()

    def metrics(self) -> Metrics:
        """Returns a dict per micro-batch and operator, as `query.metrics()` does."""
        return Metrics.of(self.operators())

    def operators(self, after: int = -1) -> list[OperatorMetrics]:
        """Returns what every operator did in each completed micro-batch, or in those after one, by fragment and cell.

        A setting that was changed is sent with the first micro-batch that was not complete then.
        """
        self._collect_if_alive()
        lines = self._history.operators(after)
        for batch, changes in self._changes:
            same = [line for line in lines if line.step == batch]
            if same:
                made = OperatorMetrics(batch, same[-1].watermark, self._work.name, CONTROLS, changes=changes)
                lines.insert(lines.index(same[-1]) + 1, made)
        return lines

    def adjust(self, settings: Settings, changes: Sequence[SettingChange] = ()) -> None:
        """Gives the cells settings for the micro-batches that begin from now on. They do not outlive this start.

        Filters of a stream are evaluated before there are cells, and keep theirs.
        """
        self.settings = settings
        self._changes.append((self._history.latest() + 1, tuple(changes)))
        self._adjusted += 1
        with explained(()):
            self._checkpoint.adjust(self._adjusted, self._work.run, settings.as_json())
        if self._reading is not None:
            self._reading.begin()

    @property
    def not_adjustable(self) -> Mapping[str, str]:
        """Returns the settings that it has no use for, each with what to do instead."""
        fixed = ("step_rows", "step_rows_most", *(() if self._reading else ("read_limit", "memory")))
        return {
            **dict.fromkeys(fixed, _READ_LIMITS),
            "scheduling": "on Spark a micro-batch goes through all stages before the next one is read",
        }

    def filter_orders(self) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
        """Returns no orders: each cell and each task has its own, and none can be pinned."""
        return {}

    def _collect(self) -> None:
        if self._query is None:
            return
        self._history.collect(self._query)
        if self._examined < self._history.latest():
            self._examined = self._history.latest()
            progress = self._history.progress()
            self._doubts.examine({name: s.first for name, s in progress.streams.items()} if progress else {})

    def _collect_if_alive(self) -> None:
        with suppress(SparkDied), explained(()):
            self._collect()

    def _leave(self) -> None:
        """Removes the shared state directory and drafts of results, and releases the checkpoint.

        On other hosts the directory is removed when the query is started again, or when another starts a day later.
        """
        if self.idle_watch is not None:
            self.idle_watch.end()
        if self._reading is not None:
            self._reading.end()
        StateDirectory(self._work.run).remove()
        if self._work.out is not None and self._id is not None:
            clear_drafts(self._work.out, self._id)
        self._callbacks.close()
        self._checkpoint.release()
        if _started.get(self._full_path) is self:
            del _started[self._full_path]

    def _patiently(self, wait: Callable[[Callable[[], None]], None], meanwhile: Callable[[], None]) -> None:
        """Waits, and restarts a query from its checkpoint if a busy machine kept it from starting."""
        for _ in range(_MOST_STARTS - 1):
            try:
                return wait(meanwhile)
            except SlowStart:
                self.begin()
        return wait(meanwhile)

    def _await(self, meanwhile: Callable[[], None]) -> None:
        assert self._query is not None
        with explained(self._work.streams):
            while not self._query.awaitTermination(1):
                self._collect()
                meanwhile()
        self._collect()

    def _drain(self, meanwhile: Callable[[], None]) -> None:
        """Waits until all files that there are have been read, and their results written."""
        assert self._query is not None
        with explained(self._work.streams), ThreadPoolExecutor(1) as pool:
            drained = pool.submit(self._query.processAllAvailable)
            try:
                while not drained.done():
                    self._collect()
                    meanwhile()
                    wait([drained], timeout=1)
            except BaseException:
                self._query.stop()  # the pool waits for it on exit
                raise
            drained.result()
        self._collect()


def _work(
    query: Query,
    catalog: Catalog,
    tables: Mapping[str, DataFrame],
    cells: int,
    horizon: int | None,
    forgetting: Forgetting,
    planned: Plan | None,
) -> Work:
    work = make_work(query, catalog, cells, horizon, forgetting, planned)
    refuse_unpicklable(work.plan)
    contents = {}
    for table in tables_of(work, catalog):
        if table.name not in tables:
            raise PenstockError(f"the query reads the table {table.name}, but there is no DataFrame of that name")
        names = [attribute.name for attribute in table.attributes]
        columns = check_columns(tables[table.name], table, names)
        with explained([table]):
            contents[table.name] = without_nulls(table, tables[table.name].select(*columns).toArrow())
    return with_tables(work, contents)


def _build(work: Work, frames: Frames, control: DataFrame | None, observation: str = NOTES) -> DataFrame:
    sources = []
    for stream in work.streams:
        if stream.name not in frames:
            raise PenstockError(f"the query reads the stream {stream.name}, but there is no DataFrame of that name")
        frame = frames[stream.name]
        if isinstance(frame, ListedFiles):
            sources.append(packed_files(frame, stream, work))
            continue
        if not frame.isStreaming:
            raise PenstockError(f"the DataFrame of {stream.name} is not a stream", "read it with spark.readStream")
        sources.append(packed_stream(frame, stream, work))
    if control is not None:
        sources.append(packed_control(control, work))
    if not sources:
        raise PenstockError("the query reads no stream")
    packets = reduce(DataFrame.union, sources)
    for level in range(work.addresses.levels):
        packets = packets.groupBy("at").transformWithStateInPandas(
            Deferred(CellProcessor(work, level)), outputStructType=PACKETS, outputMode="Append", timeMode="None"
        )
    packets = observed(packets, observation)
    return unpacked(packets, work.schema) if work.out is None else packets.where("data IS NOT NULL").select("data")
