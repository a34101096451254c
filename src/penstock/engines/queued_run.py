"""A run whose input is pushed: rows wait in queues between its stages, and a strategy says which stage runs next.

    push ──▶ ▤▤▤▤ filters of s ──▶ ▤▤ fragment 0, as a join ──▶ ▤ fragment 1, as an aggregate ──▶ changes
    push ──▶ ▤ filters of r ───────▲

A burst fills the queues. Chain (thesis 2.3.2) then runs the stages first that shrink what waits fastest, by what was
measured of them. What waits has its part of the memory budget: a push above it runs stages until there is room, so
that whoever pushes is held back, and nothing is dropped. No result depends on the order in which stages run: a stage
takes its rows in the order of their arrival, and closes no instant that a stage before it has left open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter_ns

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.adaptive.scheduling.progress_chart import measured_chart
from penstock.adaptive.scheduling.strategies import MeasuredPath, Scheduling, Strategy, Waiting, strategy_of_paths
from penstock.algebra.physical import Received, Scan
from penstock.algebra.relations import walk_relations
from penstock.catalog import Catalog
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.files import FileSource
from penstock.engines.handed import Handed
from penstock.engines.idleness import NO_TIMEOUTS, Clock, Idleness, timeouts, wall_clock
from penstock.engines.memory_budget import bytes_that_may_wait, rows_within
from penstock.engines.planning import read_by
from penstock.plan.fragments import Fragment, Plan
from penstock.plan.setting_change import SettingChange

#: Rows of a batch that waits at most: larger ones are cut, so that a stage can be left for a steeper one.
_MOST_ROWS = 1 << 13
#: Measures of a stage that count; older ones count half.
_RECENT = 64


class _Measured:
    """What was measured of a stage lately: bytes that it took and passed on, and nanoseconds."""

    def __init__(self) -> None:
        self.taken = self.passed = self.took = self._count = 0

    def add(self, taken: int, passed: int, took: int) -> None:
        self._count += 1
        if self._count >= _RECENT:
            self._count //= 2
            self.taken, self.passed, self.took = self.taken // 2, self.passed // 2, self.took // 2
        self.taken, self.passed, self.took = self.taken + taken, self.passed + passed, self.took + took


class QueuedRun:
    """One query to which rows are pushed. `proved` is the rows of state at most, where that is a number.

    `idle_after` has the timeouts of streams that time may go on without.
    """

    def __init__(
        self,
        engine: EmbeddedEngine,
        proved: int | None = None,
        strategy: Strategy | None = None,
        idle_after: Mapping[str, int] = NO_TIMEOUTS,
        clock: Clock = wall_clock,
    ) -> None:
        self.engine = engine
        self._idleness, self._clock = Idleness(idle_after), clock
        #: Whether it may be that another stream is idle than when that was asked last.
        self._may_be_idle = False
        self._proved = proved
        self._fixed = strategy
        self._streams = list(engine.streams)
        self._fragments = engine.plan.fragments
        #: Of each stream the batches that wait for its filters, with their places in the order of arrival.
        self._arrived: list[deque[tuple[int, pa.RecordBatch]]] = [deque() for _ in self._streams]
        self._arrivals = self._arrived_bytes = 0
        #: Of each fragment the oldest arrival that waits for it, and the first instant that it has not closed.
        self._oldest: dict[int, int] = {}
        self._until = dict.fromkeys((fragment.number for fragment in self._fragments), 0)
        #: By stream the first instant that it had not closed in the last step.
        self._closed = engine.closed()
        self._senders = {fragment.number: _senders(fragment) for fragment in self._fragments}
        self._measured = [_Measured() for _ in (*self._streams, *self._fragments)]
        self._paths = [self._path(number, name) for number, name in enumerate(self._streams)]
        #: Changes that nobody has taken yet.
        self._changes: deque[pa.Table] = deque()
        #: What is called at the boundary of a step, where settings may be changed.
        self.between_steps: Callable[[], None] = lambda: None
        self._is_held_back = False
        #: The most bytes that ever waited in queues.
        self.most_waiting = 0

    def push(self, stream: str, batch: pa.RecordBatch) -> None:
        """Takes rows of a stream. Where they outrun the memory budget, it runs stages first, until there is room."""
        if stream not in self._streams:
            return
        if self._idleness and batch.num_rows:
            self._idleness.delivered(stream, self._clock())
            self.engine.idle -= {stream}
            self._may_be_idle = True
        waits = self._arrived[self._streams.index(stream)]
        for rows in self._cut(batch):
            self._hold_back(rows.nbytes)
            waits.append((self._arrivals, rows))
            self._arrivals += 1
            self._arrived_bytes += rows.nbytes
            self.most_waiting = max(self.most_waiting, self.waiting_bytes())

    def push_all(self, rows: Handed) -> None:
        """Takes rows that a program provides, with the columns that the query reads."""
        ingest = self.engine.streams[rows.name]
        for batch in rows.batches(ingest.definition, ingest.names, self.engine.query.zone):
            self.push(rows.name, batch)

    def run_next(self) -> bool:
        """Runs one stage, and returns whether any could run."""
        self.between_steps()
        waiting = self._waiting() or self._waiting_for_none()
        if not waiting:
            return False
        choose = self._fixed or strategy_of_paths(Scheduling(self.engine.settings.scheduling), self._charts())
        self._run(choose(waiting))
        return True

    def changes(self) -> Iterator[pa.Table]:
        """Runs all that can run, and yields the changes of the instants that are closed."""
        self._may_be_idle = True
        while True:
            while self._changes:
                yield self._changes.popleft()
            if not self.run_next():
                return

    def finish(self) -> Iterator[pa.Table]:
        """Ends all streams, and yields the changes up to the horizon."""
        yield from self.changes()
        for stream in self._streams:
            self.engine.end(stream)
        yield from self.engine.finish_in_blocks()

    def waiting_bytes(self) -> int:
        """Returns the bytes of all rows that wait in queues."""
        return self._arrived_bytes + sum(map(self.engine.inbox_bytes, self._fragments))

    def _cut(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        most = _MOST_ROWS
        budget = self.engine.settings.memory
        if budget is not None and batch.num_rows:
            row_bytes = batch.nbytes / batch.num_rows
            most = min(most, rows_within(budget, [self.engine], 0, row_bytes, {self.engine.query.name: self._proved}))
        for first in range(0, batch.num_rows, most):
            yield batch.slice(first, most)

    def _hold_back(self, size: int) -> None:
        """Runs stages until so many bytes more may wait; that it was necessary is recorded, and when it is over."""
        budget = self.engine.settings.memory
        if budget is None:
            return
        is_held_back = False
        while self.waiting_bytes() + size > bytes_that_may_wait(budget, self.engine, self._proved):
            is_held_back = True
            if not self.run_next():
                break
        if is_held_back != self._is_held_back:
            words = ("held back", "free")
            self.engine.note(SettingChange("memory.reading", words[not self._is_held_back], words[not is_held_back]))
            self._is_held_back = is_held_back

    def _waiting(self) -> list[Waiting]:
        """Returns what waits for each stage: streams are stages by their number, and fragments come after them."""
        found = [Waiting(waits[0][0], number) for number, waits in enumerate(self._arrived) if waits]
        for number, fragment in enumerate(self._fragments, len(self._streams)):
            is_due = self._closes(fragment) > self._until[fragment.number] or fragment.number in self._oldest
            is_due |= fragment.comes_early and self.engine.closed() != self._closed
            if is_due and self._is_ready(fragment):
                found.append(Waiting(self._oldest.get(fragment.number, self._arrivals), number))
        return found

    def _waiting_for_none(self) -> list[Waiting]:
        """Returns what can run without the streams that are idle, when all that could run has."""
        if not self._idleness or not self._may_be_idle:
            return []
        self._may_be_idle = False
        now = self._clock()
        self.engine.idle = self._idleness.idle(now)
        waiting = self._waiting()
        if not waiting:
            self._idleness.rest(now)
        return waiting

    def _is_ready(self, fragment: Fragment) -> bool:
        """Returns whether all fragments that send to one have closed the same instants.

        It takes what it receives as closed, so that it waits for the slowest of them. Each can get as far as the
        watermark, so that none waits indefinitely.
        """
        return len({self._until[sender] for sender in self._senders[fragment.number]}) <= 1

    def _closes(self, fragment: Fragment) -> int:
        """Returns the first instant that a step of a fragment would leave open."""
        senders = self._senders[fragment.number]
        return min((self.engine.next_watermark(), *(self._until[sender] for sender in senders)))

    def _run(self, chosen: Waiting) -> None:
        before, began = self._inbox_bytes(), perf_counter_ns()
        if chosen.operator < len(self._streams):
            _, batch = self._arrived[chosen.operator].popleft()
            self.engine.push(self._streams[chosen.operator], batch)
            taken, own = batch.nbytes, 0
            self._arrived_bytes -= taken
        else:
            fragment = self._fragments[chosen.operator - len(self._streams)]
            taken = own = before[fragment.number]
            self._oldest.pop(fragment.number, None)
            until = max(self._until[fragment.number], self._closes(fragment))
            self._changes += self.engine.step_fragment(fragment, until)
            self._until[fragment.number], self._closed = until, self.engine.closed()
        took = perf_counter_ns() - began
        after = self._inbox_bytes()
        self._measured[chosen.operator].add(taken, sum(after.values()) - sum(before.values()) + own, took)
        for number, size in after.items():
            if size > before[number]:
                self._oldest[number] = min(chosen.arrival, self._oldest.get(number, chosen.arrival))
        self.most_waiting = max(self.most_waiting, self.waiting_bytes())

    def _inbox_bytes(self) -> dict[int, int]:
        return {fragment.number: self.engine.inbox_bytes(fragment) for fragment in self._fragments}

    def _path(self, number: int, stream: str) -> tuple[int, ...]:
        """Returns the stages that rows of a stream go through: its filters, and the fragments that they reach."""
        reached: set[int] = set()
        stages = [number]
        for stage, fragment in enumerate(self._fragments, len(self._streams)):
            nodes = walk_relations(fragment.root)
            if self._senders[fragment.number] & reached or any(
                isinstance(node, Scan) and node.stream.name == stream for node in nodes
            ):
                reached.add(fragment.number)
                stages.append(stage)
        return tuple(stages)

    def _charts(self) -> list[MeasuredPath]:
        names = [*self._streams, *(f"fragment {fragment.number}" for fragment in self._fragments)]
        found = []
        for path in self._paths:
            measures = [(names[stage], self._measured[stage]) for stage in path]
            found.append(MeasuredPath(path, measured_chart([(n, m.taken, m.passed, m.took) for n, m in measures])))
        return found


def open_queued(
    planned: Plan,
    catalog: Catalog,
    handed: Mapping[str, Handed],
    horizon: int | None,
    proved: int | None,
    *,
    idle: int | None = None,
    clock: Clock = wall_clock,
) -> QueuedRun:
    """Opens a run by a plan. Its static tables are handed over, or read from where the catalog says.

    Streams are idle after `idle` microseconds of `clock` where none are declared.
    """
    streams, declared = read_by([planned], catalog)
    tables = {
        table.name: handed[table.name].table(table, planned.query.zone)
        if table.name in handed
        else FileSource(table, planned.query.zone).table()
        for table in declared
    }
    engine = EmbeddedEngine(planned.query, catalog, tables, horizon=horizon, planned=planned)
    return QueuedRun(engine, proved, idle_after=timeouts(streams, idle), clock=clock)


def _senders(fragment: Fragment) -> frozenset[int]:
    return frozenset(node.fragment for node in walk_relations(fragment.root) if isinstance(node, Received))
