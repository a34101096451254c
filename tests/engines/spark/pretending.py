"""The Spark engine without Spark: its tasks and cells called as Spark would call them, cut and shuffled at random.

State is kept in dictionaries. Some batches are tried twice, and some cells move to another worker.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from penstock.algebra.relations import Query
from penstock.catalog import Catalog, StreamDef
from penstock.engines.spark import state_recovery
from penstock.engines.spark.addresses import OUT
from penstock.engines.spark.cell import CellProcessor
from penstock.engines.spark.deferred import Deferred
from penstock.engines.spark.sink import _Unpack
from penstock.engines.spark.source import _PATH, _START, _PackControl, _PackStream
from penstock.engines.spark.state_directory import StateDirectory
from penstock.engines.spark.work import Work, make_work, tables_of, with_tables
from penstock.plan.forgetting import Forgetting
from tests.engines.comparing import Log, logged, table
from tests.generators import Case


@dataclass
class _Value:
    value: Any = None

    def get(self) -> Any:
        return self.value

    def update(self, value: Any) -> None:
        self.value = value


@dataclass
class _Map:
    pages: dict[Any, Any] = field(default_factory=dict)

    def updateValue(self, key: Any, value: Any) -> None:
        self.pages[key] = value

    def iterator(self) -> Any:
        return iter(self.pages.items())


@dataclass
class _State:
    """A group's state: what a batch writes is thrown away if it fails."""

    head: _Value = field(default_factory=_Value)
    pages: _Map = field(default_factory=_Map)

    def getValueState(self, name: str, schema: Any) -> _Value:
        return self.head

    def getMapState(self, name: str, key: Any, value: Any) -> _Map:
        return self.pages

    def copy(self) -> _State:
        return _State(_Value(self.head.value), _Map(dict(self.pages.pages)))


def pretended(case: Case, query: Query, catalog: Catalog, cells: int, random: Random, spill: Path | None = None) -> Log:
    """`spill`: the folder for rows that are put on disk."""
    work = make_work(query, catalog, cells, case.horizon, Forgetting(spill=spill is not None))
    work = replace(work, spill=None if spill is None else str(spill))
    contents = {t.name: table(t, case.data.get(t.name, ())) for t in tables_of(work, catalog)}
    return PretendedSpark(with_tables(work, contents), random).run(case)


class PretendedSpark:
    def __init__(self, work: Work, random: Random) -> None:
        self.work, self.random = work, random
        self.states: dict[tuple[int, int], _State] = {}
        self.log: Log = Counter()
        self.notes: list[dict[str, Any]] = []

    def run(self, case: Case) -> Log:
        files = {stream.name: self._files(stream, case) for stream in self.work.streams}
        while any(files.values()):
            tasks: list[list[pa.RecordBatch]] = []
            for stream in self.work.streams:
                count = min(len(files[stream.name]), self.random.randint(0, 3))
                taken, files[stream.name] = files[stream.name][:count], files[stream.name][count:]
                tasks += self._tasks(stream, taken)
            # Time may be closed by the micro-batch that brings the last rows.
            if not any(files.values()) and self.random.random() < 0.5:
                tasks.append(self._closing())
            self._batch(tasks)
        self._batch([self._closing()])
        StateDirectory(self.work.run).remove()
        return self.log

    def _closing(self) -> list[pa.RecordBatch]:
        return list(_PackControl(self.work)([pa.record_batch([pa.array(["close"])], names=["value"])]))

    def _files(self, stream: StreamDef, case: Case) -> list[pa.RecordBatch]:
        rows, files = list(case.data[stream.name]), []
        while rows:
            count = self.random.randint(1, 5)
            batch = table(stream, rows[:count]).combine_chunks().to_batches()[0]
            rows = rows[count:]
            # Two blocks of a file may be read by two tasks.
            name, cut = f"part-{len(files):05d}", self.random.randint(0, batch.num_rows)
            starts = pa.array([0] * cut + [100] * (batch.num_rows - cut))
            files.append(batch.append_column(_PATH, pa.array([name] * batch.num_rows)).append_column(_START, starts))
        return files

    def _tasks(self, stream: StreamDef, files: list[pa.RecordBatch]) -> list[list[pa.RecordBatch]]:
        if not files:
            return []
        blocks = []
        for file in files:
            cut = sum(start.as_py() == 0 for start in file.column(_START))
            blocks += [block for block in (file.slice(0, cut), file.slice(cut)) if block.num_rows]
        self.random.shuffle(blocks)
        at = self.random.randint(0, len(blocks))
        return [list(_PackStream(self.work, stream)(some)) for some in (blocks[:at], blocks[at:])]

    def _batch(self, tasks: list[list[pa.RecordBatch]]) -> None:
        rows = [row for task in tasks for batch in task for row in batch.to_pylist()]
        if not rows:
            return
        for level in range(self.work.addresses.levels):
            self.random.shuffle(rows)
            groups: dict[int, list[dict[str, Any]]] = {}
            for row in rows:
                groups.setdefault(row["at"], []).append(row)
            rows = [out for key, group in groups.items() for out in self._group(level, key, group)]
        self.notes = [json.loads(row["note"]) for row in rows if row["note"]]
        assert all(row["address"] == OUT for row in rows)
        results = pa.record_batch(
            [pa.array([r["data"] for r in rows if r["data"] is not None], pa.binary())], names=["data"]
        )
        for batch in _Unpack(self.work.schema)([results]):
            self.log += logged(pa.Table.from_batches([batch]), self.work.plan.query)

    def _group(self, level: int, key: int, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        import pandas as pd

        if self.random.random() < 0.5:  # another worker
            state_recovery._kept.clear()
        if self.random.random() < 0.3:  # another host
            StateDirectory(self.work.run).remove()
        tries = 2 if self.random.random() < 0.3 else 1
        for _ in range(tries):
            state = self.states.get((level, key), _State()).copy()
            processor = Deferred(CellProcessor(self.work, level))
            processor.init(state)  # type: ignore[arg-type]
            half = self.random.randint(0, len(rows))
            frames = [pd.DataFrame(part) for part in (rows[:half], rows[half:]) if part]
            out = [row for frame in processor.handleInputRows((key,), frames, None) for row in frame.to_dict("records")]
        self.states[level, key] = state
        return out
