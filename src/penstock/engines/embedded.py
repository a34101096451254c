"""The embedded engine: a plan in this process, without a JVM.

Batches of rows are pushed in, time is advanced to the watermark of all streams, and the engine returns the changes of
the closed instants. All machines share one dictionary, so that rows are exchanged without translation; queries that
read the same windows share it, too.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from time import perf_counter_ns, time
from weakref import finalize

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.adaptive.tuners import retuned, tuners_of
from penstock.algebra.relations import Query, StreamKind, streams, walk_relations
from penstock.catalog import Catalog
from penstock.closing.group_closers import GroupEnding
from penstock.closing.physical_join import PhysicalJoin
from penstock.engines.exchange import RoutedBatch, exchanges, table_batches
from penstock.engines.ingest import Ingest
from penstock.engines.lateness import LAST_INSTANT, NEVER, Progress, earliest
from penstock.engines.metrics import (
    CONTROLS,
    DICTIONARY,
    OperatorMetrics,
    QueryTotals,
    kept_metrics,
    machine_metrics,
    source_metrics,
    stream_progress,
    totals_of,
)
from penstock.engines.not_null import without_nulls
from penstock.engines.planning import plan_of, read_by
from penstock.engines.results import result_schema, result_table, together
from penstock.engines.scratch import scratch_prefix
from penstock.errors import PenstockError
from penstock.operators.filters.filters import MeasuredFilters
from penstock.operators.filters.profile import FilterOrder
from penstock.operators.machine import Machine
from penstock.operators.windows.stubs import SharedStores
from penstock.plan.adaptivity import FULL, Adaptive
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Fragment, Plan
from penstock.plan.inputs import Input, inputs
from penstock.plan.setting_change import SettingChange
from penstock.plan.settings import Settings
from penstock.retention.code_owners import RowCodeOwner, sweep
from penstock.synopsis.deltas import Deltas, merged, no_deltas, one_after_the_other
from penstock.synopsis.dictionary import Dictionary, Marks
from penstock.synopsis.memory import Ints, Memory


class EmbeddedEngine:
    """One running query. `tables` are the contents of the static tables that it reads.

    `stores` holds windows that it shares with other queries; these are built and stepped in the same order, and get
    the same batches. Shared state is counted for the first of them.
    """

    def __init__(
        self,
        query: Query,
        catalog: Catalog,
        tables: Mapping[str, pa.Table] | None = None,
        cells: int = 1,
        horizon: int | None = None,
        *,
        planned: Plan | None = None,
        stores: SharedStores | None = None,
        forgetting: Forgetting = EAGER,
        adaptive: Adaptive = FULL,
    ) -> None:
        self.plan: Plan = planned or plan_of(query, catalog, cells, forgetting, adaptive)
        #: What filters have learnt; None where they do not adapt.
        self.tuners = tuners_of(self.plan.adaptive)
        self.query = query
        #: What can be changed between two steps.
        self.settings = Settings(forgetting=self.plan.forgetting, adaptive=self.plan.adaptive)
        #: Changes of settings that were not reported yet.
        self._changes: list[SettingChange] = []
        #: The streams of its windows. Others are read for their punctuations, and do not set the horizon.
        self._own = {stream.name for stream in streams(self.plan.query.relation)}
        self._horizon = horizon
        self._stores = stores or SharedStores()
        self._dictionary: Dictionary = self._stores.dictionary
        self._is_first = not self._stores.code_owners
        self._stores.code_owners.append(self)
        #: The folder of spilled rows, which is kept as long as the engine.
        self._spill = _new_folder() if self.plan.forgetting.spill else None
        self._remove = finalize(self, _remove, self._spill)
        try:
            self._build(catalog, tables or {})
        except BaseException:
            self.close()
            raise

    def _build(self, catalog: Catalog, tables: Mapping[str, pa.Table]) -> None:
        self._machines = [self._make(fragment) for fragment in self.plan.fragments]
        sharing = self._stores.sharing
        self._inputs = [inputs(fragment, sharing) for fragment in self.plan.fragments]
        #: By fragment, cell and input the rows that arrived since the last step.
        self._inboxes: list[list[list[list[Deltas]]]] = [
            [[[] for _ in some] for _ in range(fragment.cells)]
            for fragment, some in zip(self.plan.fragments, self._inputs, strict=True)
        ]
        self._inbox_bytes = [0 for _ in self.plan.fragments]
        self._arrivals: list[Ints] = []
        self._exchanges = exchanges(self.plan, sharing)
        self.streams = {
            definition.name: Ingest(
                definition,
                self.plan,
                self._dictionary,
                self._horizon,
                sharing,
                None if self.tuners is None else self.tuners.within(definition.name),
            )
            for definition in read_by([self.plan], catalog)[0]
        }
        #: Rows that were pushed since the last step, and how many passed the filters of inputs.
        self.pushed_rows = self.delivered_rows = 0
        self._ended: set[str] = set()
        #: The streams that time goes on without, until they deliver again.
        self.idle: frozenset[str] = frozenset()
        self._until = 0
        self._steps = 0
        self._metrics_until_now = {name: Progress() for name in self.streams}
        #: The time that rows took to be filtered, encoded and routed since metrics were read last.
        self._ingest_time = dict.fromkeys(self.streams, 0)
        #: The rows of static tables, until the first instant is closed.
        whole = {t.name: without_nulls(t, tables[t.name]) for t in catalog.tables if t.name in tables}
        self._tables = table_batches(self.plan, whole, self._dictionary, sharing)

    def adjust(self, settings: Settings, changes: Sequence[SettingChange] = ()) -> None:
        """Takes settings over, between two steps. `changes` are recorded with the metrics of the next one."""
        before, self.settings = self.settings, settings
        self._changes += changes
        for machines in self._machines:
            for machine in machines:
                machine.adjust(settings)
        if (settings.adaptive, settings.orders) == (before.adaptive, before.orders):
            return
        self.tuners = retuned(self.tuners, settings.adaptive, settings.orders)
        for name, ingest in self.streams.items():
            for _, filters in ingest.filters:
                filters.retune(self.tuners.within(name))
        for fragment, machines in zip(self.plan.fragments, self._machines, strict=True):
            for cell, machine in enumerate(machines):
                machine.retune(self.tuners.within(f"{fragment.number}.{cell}"))

    @property
    def not_adjustable(self) -> Mapping[str, str]:
        """Returns the settings that it has no use for: there are none."""
        return {}

    def filter_orders(self) -> dict[str, tuple[tuple[str, ...], FilterOrder]]:
        """Returns by the names of filters that are ordered their texts, as written, and the current order."""
        found: dict[str, MeasuredFilters] = {}
        for name, ingest in self.streams.items():
            found |= {f"{name} {filters.name}": filters for _, filters in ingest.filters}
        for fragment, machines in zip(self.plan.fragments, self._machines, strict=True):
            for cell, machine in enumerate(machines):
                place = f"{fragment.number}.{cell}"
                found |= {f"{place} {each.name}": each for gauge in machine.gauges for each in gauge.filters}
        return {name: (filters.texts, filters.order) for name, filters in found.items() if len(filters.order) > 1}

    def push(self, stream: str, batch: pa.RecordBatch) -> None:
        """Takes rows of a stream, in the order of their arrival."""
        begun = perf_counter_ns()
        routed, instants = self.streams[stream].take(batch)
        self._ingest_time[stream] += perf_counter_ns() - begun
        self.pushed_rows += batch.num_rows
        if batch.num_rows:
            self.idle -= {stream}
        if self.shows_arrivals and stream in self._own:
            self._arrivals.append(np.unique(instants))
        for each in routed:
            self.delivered_rows += len(each.deltas)
            self._deliver(each)

    @property
    def shows_arrivals(self) -> bool:
        """Returns whether each instant at which a row arrives is one of the result."""
        return self.plan.kind is StreamKind.RSTREAM

    def end(self, stream: str) -> None:
        """Marks the end of a stream: no row waits for it any longer."""
        self._ended.add(stream)

    def advance(self) -> pa.Table:
        """Closes the instants that no stream can still add to, and returns their changes."""
        return self._step(self.next_watermark())

    def advance_in_blocks(self) -> Iterator[pa.Table]:
        """Closes the same instants as `advance`, and yields their changes block by block.

        The step is complete, and the next may begin, when all blocks have been taken.
        """
        return self._step_in_blocks(self.next_watermark())

    def finish(self) -> pa.Table:
        """Closes all instants up to the horizon: by default the largest timestamp of the query's own streams."""
        return self._step(self.final_watermark())

    def finish_in_blocks(self) -> Iterator[pa.Table]:
        """Closes all instants up to the horizon, and yields their changes block by block."""
        return self._step_in_blocks(self.final_watermark())

    def close_before(self, instant: int) -> Iterator[pa.Table]:
        """Closes the instants before this one, as whoever pushes the rows says, and yields their changes by block."""
        return self._step_in_blocks(max(self._until, instant))

    def final_watermark(self) -> int:
        """Returns the first instant past the horizon, up to which all instants are closed at the end."""
        return max(self._until, self._end())

    def next_watermark(self) -> int:
        """Returns the first instant that a stream can still add to; if all are idle, that of the farthest one."""
        awake = [ingest for name, ingest in self.streams.items() if name not in self._ended | self.idle]
        if not awake and self.idle - self._ended:
            return max(self._until, *(_closed(ingest) for ingest in self.streams.values()))
        if any(ingest.progress.newest == NEVER for ingest in awake):
            return self._until
        watermark = min(map(_closed, awake), default=self._until)
        if self._own <= self._ended:
            # Streams of punctuations may outlast the query's own: they close no instant past the horizon.
            watermark = min(watermark, self._end())
        return max(self._until, watermark)

    def closed(self) -> dict[str, int]:
        """Returns by stream the first instant that its own rows may still have."""
        return {
            name: LAST_INSTANT + 1 if name in self._ended else _closed(ingest) for name, ingest in self.streams.items()
        }

    def _end(self) -> int:
        """Returns the first instant past the horizon; its default is known when the query's own streams have ended."""
        if self._horizon is not None:
            return self._horizon + 1
        newest = (ingest.progress.newest for name, ingest in self.streams.items() if name in self._own)
        return max(0, max(newest, default=0)) + 1

    @cached_property
    def forgets(self) -> bool:
        """Returns whether operators purge rows: then rows in flight could outnumber those that are kept."""
        nodes = (node for fragment in self.plan.fragments for node in walk_relations(fragment.root))
        return any(isinstance(node, GroupEnding) or (isinstance(node, PhysicalJoin) and node.purges) for node in nodes)

    @property
    def watermark(self) -> int:
        """Returns the first instant that is not closed."""
        return self._until

    def metrics(self) -> list[OperatorMetrics]:
        """Returns what the operators did, and what the streams read, in the steps since the last call."""
        made = partial(OperatorMetrics, self._steps, self._until, self.query.name, at=time())
        lines = [self._source_metrics(made, name, ingest.progress) for name, ingest in self.streams.items()]
        lines += self._operator_metrics(made)
        if self._changes:
            lines.append(made(CONTROLS, changes=tuple(self._changes)))
            self._changes = []
        return [*lines, made(DICTIONARY, None, None, None, 0, 0, *self._dictionary_state())]

    def _operator_metrics(self, made: Callable[..., OperatorMetrics]) -> Iterator[OperatorMetrics]:
        for machines in self._machines:
            for cell, machine in enumerate(machines):
                yield from machine_metrics(made, machine, cell)

    def totals(self) -> QueryTotals:
        """Returns what its operators keep and have done, all together, and how far it has read its streams."""
        made = partial(OperatorMetrics, self._steps, self._until, self.query.name)
        streams = {name: stream_progress(ingest.progress) for name, ingest in self.streams.items()}
        dictionary = made(DICTIONARY, None, None, None, 0, 0, *self._dictionary_state())
        machines = ((cell, machine) for machines in self._machines for cell, machine in enumerate(machines))
        kept = (line for cell, machine in machines for line in kept_metrics(made, machine, cell))
        return totals_of([*kept, dictionary], self._until, streams)

    def state(self) -> tuple[int, int]:
        """Returns the rows that are kept in memory, and the bytes that they take; rows in flight do not count."""
        size = self._dictionary_state()[1] + sum(machine.state_bytes() for cells in self._machines for machine in cells)
        return self.state_rows(), size

    def state_rows(self) -> int:
        """Returns the rows that are kept in memory."""
        return sum(machine.state_rows() for cells in self._machines for machine in cells)

    def in_flight_bytes(self) -> int:
        """Returns the bytes of rows that wait until their instant is closed, or for the next step."""
        waiting = sum(machine.in_flight_bytes() for machines in self._machines for machine in machines)
        return waiting + sum(map(self.inbox_bytes, self.plan.fragments))

    def note(self, change: SettingChange) -> None:
        """Records a change that the run itself made, with the metrics of the next step."""
        self._changes.append(change)

    def _dictionary_state(self) -> tuple[int, int]:
        return (len(self._dictionary), self._dictionary.nbytes) if self._is_first else (0, 0)

    def _source_metrics(self, made: Callable[..., OperatorMetrics], name: str, now: Progress) -> OperatorMetrics:
        before = self._metrics_until_now[name]
        self._metrics_until_now[name] = replace(now)
        spent, self._ingest_time[name] = self._ingest_time[name], 0
        filters = [each for _, each in self.streams[name].filters]
        made = partial(made, nanoseconds=spent, idle=name in self.idle)
        return source_metrics(made, name, now, before, filters)

    @property
    def schema(self) -> pa.Schema:
        return result_schema(self.query.schema)

    def _step(self, until: int) -> pa.Table:
        return together(self._step_in_blocks(until), self.query.schema)

    def _step_in_blocks(self, until: int) -> Iterator[pa.Table]:
        self._until = until
        self._steps += 1
        self.pushed_rows = self.delivered_rows = 0
        for fragment in self.plan.fragments:
            yield from self._step_fragment(fragment, until)
        sweep(self._dictionary, self._stores.code_owners)

    def step_fragment(self, fragment: Fragment, until: int) -> Iterator[pa.Table]:
        """Steps one fragment over the rows that wait for it, and closes its instants before `until`.

        What it sends waits for the next fragments; the last one yields changes, block by block. A fragment never closes
        an instant that a fragment which sends to it has left open.
        """
        if fragment is self.plan.last:
            self._until = until
            self._steps += 1
        yield from self._step_fragment(fragment, until)
        sweep(self._dictionary, self._stores.code_owners)

    def _step_fragment(self, fragment: Fragment, until: int) -> Iterator[pa.Table]:
        for name in self.idle:
            progress = self.streams[name].progress
            progress.closed = max(progress.closed, until)
        if until > 0 or fragment.comes_early:
            for batch in self._tables:
                if batch.fragment == fragment.number:
                    self._deliver(batch)
            self._tables = [batch for batch in self._tables if batch.fragment != fragment.number]
        self._inbox_bytes[fragment.number] = 0
        arrivals = np.zeros(0, np.int64)
        if fragment is self.plan.last and self._arrivals:
            arrivals = np.concatenate(self._arrivals)
            self._arrivals = []
        for block in self._blocks(fragment, self._machines[fragment.number], until, arrivals):
            for exchange in self._exchanges.get(fragment.number, ()):
                self._deliver(exchange.routed(block, self._dictionary))
            if fragment is self.plan.last and len(block):
                yield result_table(block, self.query.schema, self._dictionary)

    def inbox_bytes(self, fragment: Fragment) -> int:
        """Returns the bytes of the rows that wait for the next step of a fragment, at all of its cells."""
        return self._inbox_bytes[fragment.number]

    def _blocks(self, fragment: Fragment, machines: list[Machine], until: int, arrivals: Ints) -> Iterable[Deltas]:
        """Returns the results of a fragment in the order of time: in blocks from one cell, merged from several."""
        cells = [self._step_cell(fragment, cell, machine, until, arrivals) for cell, machine in enumerate(machines)]
        if len(cells) == 1:
            return cells[0]
        return [merged((block for blocks in cells for block in blocks), len(fragment.root.schema))]

    def mark(self, marks: Marks) -> None:
        """Marks the values of all rows that it has: in machines, in their inboxes, and of tables that are not due."""
        for machines in self._machines:
            for machine in machines:
                machine.mark(marks)
        for batch in self._tables:
            self._mark(batch.deltas, self._inputs[batch.fragment][batch.input], marks)
        for some, cells in zip(self._inputs, self._inboxes, strict=True):
            for boxes in cells:
                for input_, box in zip(some, boxes, strict=True):
                    for deltas in box:
                        self._mark(deltas, input_, marks)

    def _mark(self, deltas: Deltas, input_: Input, marks: Marks) -> None:
        RowCodeOwner(lambda column: deltas.rows[:, column], input_.schema).mark(marks)

    def _step_cell(
        self, fragment: Fragment, cell: int, machine: Machine, until: int, arrivals: Ints
    ) -> Iterator[Deltas]:
        some, boxes = self._inputs[fragment.number], self._inboxes[fragment.number][cell]
        arrived = [
            one_after_the_other(box) if box else no_deltas(len(input_.schema))
            for box, input_ in zip(boxes, some, strict=True)
        ]
        self._inboxes[fragment.number][cell] = [[] for _ in some]
        try:
            yield from machine.blocks(arrived, until, arrivals, self.closed())
        except OSError as error:
            if self._spill is None:
                raise
            raise _not_spilled(self._spill, error) from error

    def _deliver(self, batch: RoutedBatch) -> None:
        for cell, deltas in batch.by_cell():
            self._inboxes[batch.fragment][cell][batch.input].append(deltas)
            self._inbox_bytes[batch.fragment] += _bytes(deltas)

    def _make(self, fragment: Fragment) -> list[Machine]:
        folders = [self.spill_folder(fragment.number, cell) for cell in range(fragment.cells)]
        return [
            Machine(
                self.plan,
                fragment,
                Memory(),
                self._dictionary,
                self._stores,
                folder,
                None if self.tuners is None else self.tuners.within(f"{fragment.number}.{cell}"),
            )
            for cell, folder in enumerate(folders)
        ]

    def spill_folder(self, fragment: int, cell: int) -> Path | None:
        """Returns the folder to which a machine spills rows."""
        return None if self._spill is None else self._spill / f"{fragment}-{cell}"

    def close(self) -> None:
        """Removes spilled rows. The engine takes no step afterwards."""
        self._remove()


def _closed(ingest: Ingest) -> int:
    return earliest(ingest.progress.newest, ingest.definition.delay)


def _bytes(deltas: Deltas) -> int:
    return int(deltas.rows.nbytes + deltas.ts.nbytes + deltas.weight.nbytes)


def _new_folder() -> Path:
    try:
        return Path(mkdtemp(prefix=scratch_prefix()))
    except OSError as error:
        raise _not_spilled(Path(gettempdir()), error) from error


def _not_spilled(folder: Path, error: OSError) -> PenstockError:
    said = os.strerror(error.errno) if error.errno else str(error)
    hint = f"make room in {folder.parent}, name a folder with more in TMPDIR, or run it without spill"
    return PenstockError(f"{folder}: rows cannot be put on disk: {said}", hint)


def _remove(folder: Path | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
