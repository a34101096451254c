"""Spark, simulated: micro-batches, tasks that are tried again, copies of tasks, workers, restarts from a checkpoint.

What Spark promises is modelled and nothing more. A task's state counts when all tasks of the micro-batch have ended; a
micro-batch that is not done when the driver dies runs again from the state before it. Workers and the driver share
nothing but files. All that the engine itself does is done by its own code: cells, results, shared memory, rows on disk.
"""

from __future__ import annotations

import shutil
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.elimination.running import with_plan
from penstock.engines.spark import cell, state_directory, state_recovery
from penstock.engines.spark.addresses import OUT
from penstock.engines.spark.cell import CellProcessor
from penstock.engines.spark.source import _PackControl
from penstock.engines.spark.state_directory import StateDirectory, new_run
from penstock.engines.spark.work import Work, make_work, tables_of, with_tables
from penstock.engines.spark.written import LoggedFile, WrittenResults, clear_drafts
from penstock.errors import PenstockError
from penstock.plan.forgetting import Forgetting
from penstock.synopsis import spilled
from tests.engines.comparing import Log, bound, embedded, expected, logged, table
from tests.engines.spark.pretending import PretendedSpark
from tests.faults.failing import Broken, Died, Kind, Operations, install
from tests.generators import Case

#: So often Spark tries a task.
TRIES = 4
#: So often a query is started again at most, in one run.
MOST_STARTS = 60

QUERY_ID = "00000000-0000-0000-0000-00000000cafe"


class Failed(Exception):
    """Spark has stopped the query, after all tries of a task."""


@dataclass(frozen=True)
class Example:
    """A case, cut into micro-batches once for all of its runs, and what it must give."""

    name: str
    case: Case
    work: Work
    #: By micro-batch the rows that reach the first operator.
    batches: list[list[dict[str, Any]]]
    expected: Log
    #: The micro-batches as they were before the data was put right.
    wrong: list[list[dict[str, Any]]] | None = None

    @classmethod
    def of(
        cls, name: str, case: Case, cells: int, *, spill: bool = False, wrong: Case | None = None, one_in: int = 0
    ) -> Example:
        """With `one_in` what is assumed is watched on one key in so many, and the embedded engine says what is right.

        Nothing else has counters in place of joins.
        """
        query, catalog = bound(case)
        if one_in:
            query = with_plan(query, None, one_in=one_in)
        work = make_work(query, catalog, cells, case.horizon, Forgetting(spill=spill))
        contents = {t.name: table(t, case.data.get(t.name, ())) for t in tables_of(work, catalog)}
        work = replace(with_tables(work, contents), spill="" if spill else None)
        spoilt = None if wrong is None else _batches(work, wrong)
        right = embedded(case, query, catalog, 1, 0) if one_in else expected(case, query, catalog)
        return cls(name, case, work, _batches(work, case), right, spoilt)


def _batches(work: Work, case: Case) -> list[list[dict[str, Any]]]:
    source = PretendedSpark(work, Random(0))
    files = {stream.name: source._files(stream, case) for stream in work.streams}
    batches = []
    while any(files.values()):
        rows = []
        for stream in work.streams:
            taken, files[stream.name] = files[stream.name][:2], files[stream.name][2:]
            rows += [row for task in source._tasks(stream, taken) for batch in task for row in batch.to_pylist()]
        batches.append(rows)
    close = _PackControl(work)([pa.record_batch([pa.array(["close"])], names=["value"])])
    batches.append([row for batch in close for row in batch.to_pylist()])
    return batches


@dataclass
class _State:
    """The state of a group that a task writes: a copy, which counts if the task does."""

    operations: Operations
    value: Any = None
    pages: dict[Any, Any] = field(default_factory=dict)

    def get(self) -> Any:
        self.operations.passing("get")
        return self.value

    def update(self, value: Any) -> None:
        self.operations.passing("update")
        self.value = value

    def updateValue(self, key: Any, value: Any) -> None:
        self.operations.passing("updateValue")
        self.pages[key] = value

    def iterator(self) -> Iterator[Any]:
        self.operations.passing("iterator")
        yield from list(self.pages.items())
        self.operations.passing("end of iterator")


@dataclass
class _Log:
    """The log of results, which outlives all."""

    simulated: SimulatedSpark
    batches: dict[int, list[LoggedFile]] = field(default_factory=dict)

    def latest(self) -> int:
        return max(self.batches, default=-1)

    def add(self, number: int, files: list[LoggedFile]) -> bool:
        self.simulated.operations.passing("add to the log")
        return self.batches.setdefault(number, files) is files


@dataclass
class _Process:
    number: int
    kept: Any = field(default_factory=OrderedDict)

    @property
    def name(self) -> str:
        return f"here.{self.number}.1"


class SimulatedSpark:
    def __init__(self, example: Example, folder: Path, operations: Operations, seed: int = 0) -> None:
        self.example, self.folder, self.operations = example, folder, operations
        self.random = Random(seed)
        self.out = str(folder / "out.parquet")
        self.log = _Log(self)
        #: By micro-batch that is done, from -1 on: the state of all groups after it.
        self.versions: dict[int, dict[tuple[int, int], _State]] = {-1: {}}
        self.batches = example.wrong or example.batches
        self.numbers = iter(range(1, 1 << 30))
        self.dead: set[str] = set()
        self.process = self.driver = self._new_process()
        self.workers: list[_Process] = []
        self.batch = 0
        self.starts = 0

    def run(self) -> Log:
        """What the folder holds in the end, for a reader that does not know the log."""
        while self.starts < MOST_STARTS:
            self.starts += 1
            try:
                self._drive()
                break
            except Died:
                self.dead |= {process.name for process in (self.driver, *self.workers)}
                self.process = self.driver = self._new_process()
                self.operations.is_dead = False
            except (Failed, OSError, Broken):
                pass
        else:
            raise AssertionError("it never comes to its end")
        return self._results()

    def _drive(self) -> None:
        """A driver's life, from the start of the query to its end."""
        work = copy(self.example.work)
        spill = None if work.spill is None else str(self.folder / "spill")
        vars(work).update(run=new_run(str(self.folder)), out=self.out, spill=spill)
        self.workers = [self._new_process() for _ in range(2)]
        self.processors = [CellProcessor(work, level) for level in range(work.addresses.levels)]
        with self.operations.reports():
            StateDirectory(work.run).clear_others()
        results = WrittenResults(self.out, self.log)
        try:
            for number in range(max(self.versions) + 1, len(self.batches)):
                self.batch = number
                self.operations.copy = None
                rows, states = self._micro_batch(work, self.batches[number])
                with self.operations.reports():
                    self.operations.passing("the state is committed")
                    results.commit([row["data"] for row in rows if row["data"] is not None], number)
                    self.operations.passing("the results are committed")
                self.versions[number] = states
        except PenstockError as error:
            if self.batches is self.example.batches:
                raise
            self.batches = self.example.batches  # somebody puts the data right
            raise Failed from error
        finally:
            if not self.operations.is_dead:
                StateDirectory(work.run).remove()
                clear_drafts(self.out, QUERY_ID)

    def _micro_batch(self, work: Work, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Any]:
        states = dict(self.versions[max(self.versions)])
        for level in range(work.addresses.levels):
            rows = self.random.sample(rows, len(rows))
            groups: dict[int, list[dict[str, Any]]] = {}
            for row in rows:
                groups.setdefault(row["at"], []).append(row)
            rows, failed = [], []
            for key, group in groups.items():
                try:
                    out, states[level, key] = self._task(level, key, group, states.get((level, key)))
                    rows += out
                except (Failed, PenstockError) as error:
                    failed.append(error)  # the other tasks are under way
            if failed:
                raise failed[0]
        assert all(row["address"] == OUT for row in rows)
        return rows, states

    def _task(self, level: int, key: int, rows: list[dict[str, Any]], before: _State | None) -> Any:
        """A task, until one of its attempts has come to its end."""
        last: Exception = Failed()
        for _ in range(TRIES):
            worker = self.random.choice(self.workers)
            other = self.workers[1 - self.workers.index(worker)]
            won: list[Any] = []

            def run_copy(wins: bool, other: _Process = other, won: list[Any] = won) -> None:
                with suppress(PenstockError):  # which the first attempt has as well
                    copied = self._attempt(other, level, key, rows, before)
                    if wins:
                        won.append(copied)

            self.operations.copy = run_copy
            try:
                with self.operations.reports():
                    done = self._attempt(worker, level, key, rows, before)
                return won[0] if won else done
            except Died:
                self.dead.add(worker.name)
                self.workers[self.workers.index(worker)] = self._new_process()
                self.operations.is_dead = False
            except (OSError, Broken):
                last = Failed()
            except PenstockError as error:
                last = error
            finally:
                self.operations.copy = None
        raise last

    def _attempt(
        self, worker: _Process, level: int, key: int, rows: list[dict[str, Any]], before: _State | None
    ) -> Any:
        state = _State(self.operations)
        if before is not None:
            state.value, state.pages = before.value, dict(before.pages)
        half = self.random.randint(0, len(rows))
        frames = [pd.DataFrame(part) for part in (rows[:half], rows[half:]) if part]
        with self._in(worker):
            processor = copy(self.processors[level])
            processor.attach(state, state)
            found = [
                row for frame in processor.handleInputRows((key,), frames, None) for row in frame.to_dict("records")
            ]
        return found, state

    @contextmanager
    def _in(self, worker: _Process) -> Iterator[None]:
        """What runs inside runs in that process."""
        before, self.process = self.process, worker
        kept, state_recovery._kept = state_recovery._kept, worker.kept
        try:
            yield
        finally:
            self.process, state_recovery._kept = before, kept

    def _new_process(self) -> _Process:
        return _Process(next(self.numbers))

    def _results(self) -> Log:
        query = self.example.work.plan.query
        files = sorted(Path(self.out).glob("part-*.parquet"))
        assert sorted(file.path for each in self.log.batches.values() for file in each) == [f.as_uri() for f in files]
        return sum((logged(pq.ParquetFile(file).read(), query) for file in files), Counter())


def named_files(example: Example, states: dict[tuple[int, int], _State]) -> set[str]:
    """The files of spilled rows that the state of any group names."""
    named: set[str] = set()
    for (level, key), state in states.items():
        for address in example.work.addresses.at(level, key):
            pages = cell.pages_of(address, state.pages.items())
            live = state_recovery._rebuilt(example.work, address, None, pages, None, {})
            for spill in live.machine._spills:
                for rows in spill._spilled.values():
                    named |= {f"{address}/{rows._path(file).name}" for file in rows._table(0)}
    return named


class Simulation:
    """Runs examples in a folder, one after the other. There is one at a time."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self._folder, self._runs = folder, 0
        self.spark: SimulatedSpark | None = None
        install(patch, lambda: None if self.spark is None else self.spark.operations)
        patch.setattr(state_directory, "_place", lambda: folder / "shared memory")
        patch.setattr(state_directory, "owner", lambda: "here.0.1" if self.spark is None else self.spark.process.name)
        patch.setattr(state_directory, "is_dead", lambda name: name in self._current.dead)
        patch.setattr(state_directory, "is_alive", lambda name: name not in self._current.dead)
        patch.setattr(cell, "file_name", lambda number: f"{self._current.batch:05d}-{number:05d}-{QUERY_ID}")
        patch.setattr(spilled, "SWEEP_EVERY", 3)
        (folder / "shared memory").mkdir()

    @property
    def _current(self) -> SimulatedSpark:
        assert self.spark is not None
        return self.spark

    def _check_spill(self, example: Example, folder: Path) -> None:
        """All files that the last state names are there, and of others no more than a few steps left."""
        if example.work.spill is None:
            return
        assert self.spark is not None
        states = self.spark.versions[max(self.spark.versions)]
        there = {str(path.relative_to(folder)) for path in folder.glob("*/*")}
        last = copy(example.work)
        vars(last).update(spill=str(folder))
        named = named_files(replace(example, work=last), states)
        assert named <= there, "a file of rows is gone that the state names"
        left = {str(path.relative_to(folder)) for path in folder.glob("*/*")}
        assert left <= named, "files of rows are left that no state names"

    def run(
        self, example: Example, kinds: Sequence[Kind], first: int, stride: int | None = None, seed: int = 0
    ) -> Operations:
        """Runs an example with faults, and checks what it gives and what it leaves."""
        self._runs += 1
        folder = self._folder / str(self._runs)
        folder.mkdir()
        operations = Operations(kinds, first, stride)
        self.spark = SimulatedSpark(example, folder, operations, seed)
        try:
            assert self.spark.run() == example.expected, "the results are not those of an undisturbed run"
            assert not list((self._folder / "shared memory").iterdir()), "something is left in shared memory"
            assert not (folder / "out.parquet" / ".drafts").exists(), "drafts are left"
            self._check_spill(example, folder / "spill")
        except Exception as error:
            named = ", ".join(f"Kind.{kind.name}" for kind in kinds)
            said = f"simulated({example.name!r}, {example.work.cells}), [{named}], {first}, {stride}, {seed}"
            raise AssertionError(f"run({said}): {error!r}; these failed: {operations.failed}") from error
        finally:
            shutil.rmtree(folder)
            for left in (self._folder / "shared memory").iterdir():
                shutil.rmtree(left)
            self.spark = None
        return operations
