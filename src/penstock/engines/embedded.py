"""The embedded engine: a plan in this process, without a JVM.

Batches of rows are pushed in, time is advanced as far as all streams have come, and the changes of the closed instants
come out. All machines share one dictionary, so that rows can be exchanged as they are; so do those of other queries
that read the same windows.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from weakref import finalize

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.physical import Received, Scan
from penstock.algebra.relations import Query, StreamKind, Table, streams, walk_relations
from penstock.catalog import Catalog, TableDef
from penstock.closing.group_closers import GroupEnding
from penstock.closing.physical_join import PhysicalJoin
from penstock.engines.ingest import Ingest, Sent
from penstock.engines.lateness import NEVER, Progress
from penstock.engines.metrics import DICTIONARY, OperatorMetrics, constraints_of, machine_metrics
from penstock.engines.planning import plan_of
from penstock.engines.results import result_schema, result_table
from penstock.engines.routing import Router
from penstock.engines.scratch import scratch_prefix
from penstock.errors import PenstockError
from penstock.operators.machine import Machine
from penstock.operators.windows.stubs import SharedStores
from penstock.plan.constraint_report import NOTHING_ON_DISK, ConstraintReport, OnDisk
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Fragment, Leaf, Plan
from penstock.retention.sweep import RowCodeOwner, sweep
from penstock.synopsis.codes import encode_column
from penstock.synopsis.deltas import Deltas, assemble, merged, no_deltas, one_after_the_other
from penstock.synopsis.dictionary import Dictionary, Marks
from penstock.synopsis.memory import Ints, Memory


class EmbeddedEngine:
    """One running query. `tables` are the contents of the static tables that it reads.

    `stores` are what it has in common with other queries, which are then built and stepped in the same order, and
    pushed the same batches. What they share is counted for the first of them.
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
    ) -> None:
        self.plan: Plan = planned or plan_of(query, catalog, cells, forgetting)
        self.query = query
        #: The streams of its windows. Others are read for their punctuations, and their times are not the query's.
        self._own = {stream.name for stream in streams(query.relation)}
        self._horizon = horizon
        self._stores = stores or SharedStores()
        self._dictionary: Dictionary = self._stores.dictionary
        self._is_first = not self._stores.holders
        self._stores.holders.append(self)
        #: Where rows are spilled to, for as long as the engine is there.
        self._spill = _new_folder() if self.plan.forgetting.spill else None
        self._remove = finalize(self, _remove, self._spill)
        try:
            self._build(catalog, tables or {})
        except BaseException:
            self.close()
            raise

    def _build(self, catalog: Catalog, tables: Mapping[str, pa.Table]) -> None:
        self._machines = [self._make(fragment) for fragment in self.plan.fragments]
        self._mail: list[list[list[list[Deltas]]]] = [
            [[[] for _ in f.routes] for _ in range(f.cells)] for f in self.plan.fragments
        ]
        self._arrivals: list[Ints] = []
        self._exchanges = self._build_exchanges()
        self.streams = self._build_ingests(catalog)
        self._ended: set[str] = set()
        self._until = 0
        self._steps = 0
        self._metrics_until_now = {name: Progress() for name in self.streams}
        self._tables = self._table_letters(catalog, tables)

    def push(self, stream: str, batch: pa.RecordBatch) -> None:
        """Takes rows of a stream, in the order of their arrival."""
        sent, instants = self.streams[stream].take(batch)
        if self.plan.kind is StreamKind.RSTREAM and stream in self._own:
            self._arrivals.append(np.unique(instants))
        for letter in sent:
            self._post(letter)

    def end(self, stream: str) -> None:
        """No more rows of a stream come, so nothing waits for them."""
        self._ended.add(stream)

    def advance(self) -> pa.Table:
        """Closes the instants that no stream can still add to, and gives their changes."""
        ingests = [ingest for name, ingest in self.streams.items() if name not in self._ended]
        if any(ingest.progress.newest == NEVER for ingest in ingests):
            return self._step(self._until)
        watermark = min((i.progress.newest - i.definition.delay for i in ingests), default=self._until)
        if self._own <= self._ended:
            # Streams of punctuations go on after the query's own: no instant past the horizon is closed by them.
            watermark = min(watermark, self._end())
        return self._step(max(self._until, watermark))

    def finish(self) -> pa.Table:
        """Closes all instants up to the horizon: by default the largest timestamp of the query's own streams."""
        return self._step(max(self._until, self._end()))

    def _end(self) -> int:
        """The first instant past the horizon. The default one is known when the query's own streams have ended."""
        if self._horizon is not None:
            return self._horizon + 1
        newest = (ingest.progress.newest for name, ingest in self.streams.items() if name in self._own)
        return max(0, max(newest, default=0)) + 1

    @property
    def forgets(self) -> bool:
        """Whether operators keep less than their windows hold: then rows that wait for others would be most of it."""
        nodes = (node for fragment in self.plan.fragments for node in walk_relations(fragment.root))
        return any(isinstance(node, GroupEnding) or (isinstance(node, PhysicalJoin) and node.purges) for node in nodes)

    @property
    def watermark(self) -> int:
        """The first instant that is not closed."""
        return self._until

    def metrics(self) -> list[OperatorMetrics]:
        """What the operators did in the last step, and the streams since the last call."""
        made = partial(OperatorMetrics, self._steps, self._until, self.query.name)
        lines = [self._source_metrics(made, name, ingest.progress) for name, ingest in self.streams.items()]
        lines += self._operator_metrics(made)
        return [*lines, made(DICTIONARY, None, None, None, 0, 0, *self._dictionary_state())]

    def _operator_metrics(self, made: Callable[..., OperatorMetrics]) -> Iterator[OperatorMetrics]:
        for machines in self._machines:
            for cell, machine in enumerate(machines):
                yield from machine_metrics(made, machine, cell)

    def constraints(self) -> list[ConstraintReport]:
        """What monitors say of constraints."""
        made = partial(OperatorMetrics, self._steps, self._until, self.query.name)
        return constraints_of(self._operator_metrics(made))

    def violations(self) -> int:
        """Rows that were left out because a punctuation had ruled them out."""
        return sum(machine.violations() for machines in self._machines for machine in machines)

    def given_up(self) -> int:
        """Rows that were dropped because they waited too long for a punctuation."""
        return sum(machine.given_up() for machines in self._machines for machine in machines)

    def on_disk(self) -> OnDisk:
        """The rows that are on disk."""
        return sum((machine.on_disk() for machines in self._machines for machine in machines), NOTHING_ON_DISK)

    def state(self) -> tuple[int, int]:
        """The rows that are kept in memory, and the bytes that they take."""
        machines = [machine for cells in self._machines for machine in cells]
        size = self._dictionary_state()[1] + sum(machine.state_bytes() for machine in machines)
        return sum(machine.state_rows() for machine in machines), size

    def _dictionary_state(self) -> tuple[int, int]:
        return (len(self._dictionary), self._dictionary.nbytes) if self._is_first else (0, 0)

    def _source_metrics(self, made: Callable[..., OperatorMetrics], name: str, now: Progress) -> OperatorMetrics:
        before = self._metrics_until_now[name]
        self._metrics_until_now[name] = replace(now)
        rows, late, bad = now.rows - before.rows, now.late_rows - before.late_rows, now.bad_rows - before.bad_rows
        return made("source", None, name, None, rows, rows - late - bad, 0, 0, late, bad)

    @property
    def schema(self) -> pa.Schema:
        return result_schema(self.query.schema)

    def _step(self, until: int) -> pa.Table:
        self._until = until
        self._steps += 1
        if until > 0:
            for letter in self._tables:
                self._post(letter)
            self._tables = []
        arrivals = np.concatenate(self._arrivals) if self._arrivals else np.zeros(0, np.int64)
        self._arrivals = []
        results = no_deltas(len(self.query.schema))
        for fragment, machines in zip(self.plan.fragments, self._machines, strict=True):
            step = partial(self._step_cell, fragment, until=until, arrivals=arrivals)
            outputs = [step(cell, machine) for cell, machine in enumerate(machines)]
            together = merged(outputs, len(fragment.root.schema))
            if fragment is self.plan.last:
                results = together
            for exchange in self._exchanges.get(fragment.number, ()):
                self._post(exchange.send(together, self._dictionary))
        table = result_table(results, self.query.schema, self._dictionary)
        sweep(self._dictionary, self._stores.holders)
        return table

    def mark(self, marks: Marks) -> None:
        """Marks the values of its rows: in machines, on their way to them, and of static tables that are not due."""
        for machines in self._machines:
            for machine in machines:
                machine.mark(marks)
        for letter in self._tables:
            self._mark(letter.deltas, self.plan.fragments[letter.fragment].routes[letter.leaf].leaf, marks)
        for fragment, cells in zip(self.plan.fragments, self._mail, strict=True):
            for boxes in cells:
                for route, box in zip(fragment.routes, boxes, strict=True):
                    for deltas in box:
                        self._mark(deltas, route.leaf, marks)

    def _mark(self, deltas: Deltas, leaf: Leaf, marks: Marks) -> None:
        taken = self._stores.sharing.taken(leaf) if isinstance(leaf, Scan) else leaf
        assert taken is not None, "rows do not come through this leaf"
        RowCodeOwner(lambda column: deltas.rows[:, column], taken.schema).mark(marks)

    def _step_cell(self, fragment: Fragment, cell: int, machine: Machine, until: int, arrivals: Ints) -> Deltas:
        boxes = self._mail[fragment.number][cell]
        inputs = [
            one_after_the_other(box) if box else no_deltas(len(route.leaf.schema))
            for box, route in zip(boxes, fragment.routes, strict=True)
        ]
        self._mail[fragment.number][cell] = [[] for _ in fragment.routes]
        try:
            return machine.step(inputs, until, arrivals)
        except OSError as error:
            if self._spill is None:
                raise
            raise _not_spilled(self._spill, error) from error

    def _post(self, letter: Sent) -> None:
        boxes = self._mail[letter.fragment]
        if len(boxes) == 1:
            boxes[0][letter.leaf].append(letter.deltas)
            return
        for cell in range(len(boxes)):
            mine = letter.cells == cell
            if mine.any():
                boxes[cell][letter.leaf].append(letter.deltas.take(mine))

    def _make(self, fragment: Fragment) -> list[Machine]:
        folders = [self.spill_folder(fragment.number, cell) for cell in range(fragment.cells)]
        return [Machine(self.plan, fragment, Memory(), self._dictionary, self._stores, folder) for folder in folders]

    def spill_folder(self, fragment: int, cell: int) -> Path | None:
        """Where a machine puts rows on disk."""
        return None if self._spill is None else self._spill / f"{fragment}-{cell}"

    def close(self) -> None:
        """Removes what is on disk. No step comes after that."""
        self._remove()

    def _build_exchanges(self) -> dict[int, list[_Exchange]]:
        exchanges: dict[int, list[_Exchange]] = {}
        for fragment in self.plan.fragments:
            for number, route in enumerate(fragment.routes):
                if isinstance(route.leaf, Received):
                    router = Router(fragment, route, route.leaf.schema)
                    exchanges.setdefault(route.leaf.fragment, []).append(_Exchange(fragment.number, number, router))
        return exchanges

    def _build_ingests(self, catalog: Catalog) -> dict[str, Ingest]:
        names = {
            route.leaf.stream.name
            for fragment in self.plan.fragments
            for route in fragment.routes
            if isinstance(route.leaf, Scan)
        }
        definitions = [definition for definition in catalog.streams if definition.name in names]
        shared = self._stores.sharing
        return {d.name: Ingest(d, self.plan, self._dictionary, self._horizon, shared) for d in definitions}

    def _table_letters(self, catalog: Catalog, tables: Mapping[str, pa.Table]) -> list[Sent]:
        """Static tables are there from instant 0 on, so their rows are due when that instant is closed."""
        letters = []
        for fragment in self.plan.fragments:
            for number, route in enumerate(fragment.routes):
                if isinstance(route.leaf, Table):
                    definition = catalog.get(route.leaf.name)
                    assert isinstance(definition, TableDef)
                    rows = self._encode(tables[definition.name], route.leaf)
                    at_start = Deltas(np.zeros(len(rows), np.int64), np.ones(len(rows), np.int64), rows)
                    router = Router(fragment, route, route.leaf.schema)
                    letters.append(_Exchange(fragment.number, number, router).send(at_start, self._dictionary))
        return letters

    def _encode(self, contents: pa.Table, leaf: Table) -> Ints:
        columns = [
            encode_column(contents.column(column.name).combine_chunks(), column.type, self._dictionary)
            for column in leaf.schema
        ]
        return assemble(columns, contents.num_rows)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """Rows of one fragment to a leaf of another."""

    fragment: int
    leaf: int
    router: Router

    def send(self, deltas: Deltas, dictionary: Dictionary) -> Sent:
        picked, cells = self.router.cells(deltas.rows, dictionary)
        return Sent(self.fragment, self.leaf, cells, deltas.take(picked))


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
