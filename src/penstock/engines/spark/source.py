"""Sources: a stream's rows read, encoded, filtered, projected and packed for the cells that want them.

Runs before the shuffle, in whatever tasks Spark makes of a micro-batch. So that nothing depends on those, each task
says which segments of the stream it read; of file sources a segment is a block of a file, known by the file's path,
and files arrived in the order of their paths. Of other sources it is a partition of the micro-batch, and partitions
arrive side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.catalog import StreamDef
from penstock.engines.files import FORMATS
from penstock.engines.ingest import Ingest, Sent
from penstock.engines.lateness import Progress
from penstock.engines.spark.inspection import inspect
from penstock.engines.spark.listing import ListedFiles
from penstock.engines.spark.packing import Segment, close_packet, instants_packet, marker_packet, rows_packets
from penstock.engines.spark.reports import local_path
from penstock.engines.spark.types import check_columns
from penstock.engines.spark.work import Work
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints

#: What goes through a shuffle: the key of the group that it passes, its address, the packet; `note` has metrics.
PACKETS = "at INT, address INT, data BINARY, note STRING"
_PACKETS = pa.schema([("at", pa.int32()), ("address", pa.int32()), ("data", pa.binary()), ("note", pa.string())])

_PATH, _START = "_penstock_path", "_penstock_start"

#: Rows are encoded so many at a time.
_ROWS_AT_ONCE = 1 << 16

#: A task packs when it holds so many rows.
_ROWS_HELD = 1 << 18


def packed_stream(frame: DataFrame, stream: StreamDef, work: Work) -> DataFrame:
    """A stream's rows as packets."""
    ingest = Ingest(stream, work.plan, Dictionary(), work.horizon)
    columns = check_columns(frame, stream, ingest.names)
    return _with_segments(frame, columns).mapInArrow(_PackStream(work, stream), PACKETS)


def packed_files(files: ListedFiles, stream: StreamDef, work: Work) -> DataFrame:
    """The rows of files as packets."""
    return files.frame.mapInArrow(_PackFiles(work, stream, files.format, files.options), PACKETS)


def packed_control(frame: DataFrame, work: Work) -> DataFrame:
    """Each row of a control source closes time."""
    return frame.mapInArrow(_PackControl(work), PACKETS)


def reads_files(frame: DataFrame | ListedFiles) -> bool:
    """Whether a stream's rows come from files."""
    if isinstance(frame, ListedFiles):
        return True
    try:
        return bool(frame.select("_metadata.file_path").columns)
    except AnalysisException:
        return False


def _with_segments(frame: DataFrame, columns: list[Any]) -> DataFrame:
    if not reads_files(frame):
        return frame.select(*columns)
    return frame.select(
        *columns, F.col("_metadata.file_path").alias(_PATH), F.col("_metadata.file_block_start").alias(_START)
    )


@dataclass(frozen=True)
class _PackStream:
    work: Work
    stream: StreamDef

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = _Task(self.work, self.stream)
        for batch in _together(batches):
            for segment, rows in _runs(batch, self.stream.name):
                if segment.name and not task.has_seen(segment):
                    inspect(segment.name, self.stream)
                if task.take(segment, rows):
                    yield from task.sent()
        task.end()
        yield from task.sent()


@dataclass(frozen=True)
class _PackFiles:
    work: Work
    stream: StreamDef
    format: str
    options: Mapping[str, str]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = _Task(self.work, self.stream)
        for batch in batches:
            for name in batch.column(0).to_pylist():
                for rows in self._read(name, task.names):
                    if task.take(Segment(self.stream.name, name, 0), rows):
                        yield from task.sent()
        task.end()
        yield from task.sent()

    def _read(self, name: str, names: list[str]) -> Iterator[pa.RecordBatch]:
        path = local_path(name)
        assert path is not None
        declared = [attribute for attribute in self.stream.attributes if not attribute.virtual]
        wanted = [attribute for attribute in declared if attribute.name in names]
        return FORMATS[self.format].read(path, declared, wanted, self.options)


@dataclass(frozen=True)
class _PackControl:
    work: Work

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if sum(batch.num_rows for batch in batches):
            everywhere = range(len(self.work.addresses.cells))
            yield from _as_batches(self.work, [(address, close_packet()) for address in everywhere])


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Spark's small batches as larger ones."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS_AT_ONCE:
            yield pa.concat_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.concat_batches(held)


def _runs(batch: pa.RecordBatch, stream: str) -> Iterator[tuple[Segment, pa.RecordBatch]]:
    """A batch cut where another segment begins."""
    if batch.num_rows == 0:
        return
    if _PATH not in batch.schema.names:
        context = TaskContext.get()
        yield Segment(stream, "", context.partitionId() if context else 0), batch
        return
    paths, starts = batch.column(_PATH).dictionary_encode(), batch.column(_START).to_numpy()
    numbers = paths.indices.to_numpy()
    cuts = np.flatnonzero((numbers[1:] != numbers[:-1]) | (starts[1:] != starts[:-1])) + 1
    for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), batch.num_rows], strict=True):
        name = paths.dictionary[int(numbers[start])].as_py()
        yield Segment(stream, name, int(starts[start])), batch.slice(start, end - start)


@dataclass(slots=True)
class _Held:
    """Rows that are not yet packed, all of one segment."""

    segment: Segment | None = None
    letters: list[Sent] = field(default_factory=list)
    instants: list[Ints] = field(default_factory=list)
    rows: int = 0


class _Task:
    """One task's way through its rows."""

    def __init__(self, work: Work, stream: StreamDef) -> None:
        self._work, self._stream = work, stream
        self._renew()
        self._progress: dict[Segment, Progress] = {}
        self._held = _Held()
        self._flushes = 0
        self._out: list[tuple[int, bytes]] = []

    @property
    def names(self) -> list[str]:
        """The columns that somebody reads."""
        return self._ingest.names

    def has_seen(self, segment: Segment) -> bool:
        return segment in self._progress

    def take(self, segment: Segment, rows: pa.RecordBatch) -> bool:
        """Takes rows, and says whether there are packets to send."""
        if segment != self._held.segment or self._held.rows >= _ROWS_HELD:
            self._flush()
            self._held.segment = segment
        progress = self._progress.setdefault(segment, Progress())
        letters, instants = self._ingest.take(rows, progress)
        self._held.letters += letters
        self._held.instants.append(instants)
        self._held.rows += len(instants)
        return bool(self._out)

    def end(self) -> None:
        self._flush()
        if self._progress:
            marker = marker_packet(list(self._progress.items()))
            self._out += [(address, marker) for address in range(len(self._work.addresses.cells))]

    def sent(self) -> Iterator[pa.RecordBatch]:
        out, self._out = self._out, []
        yield from _as_batches(self._work, out)

    def _renew(self) -> None:
        """A dictionary lives no longer than the packets that it is for, or a task would hold all values that it saw."""
        self._dictionary = Dictionary()
        self._ingest = Ingest(self._stream, self._work.plan, self._dictionary, self._work.horizon)

    def _flush(self) -> None:
        held, self._held = self._held, _Held()
        if held.segment is None or not held.rows:
            return
        self._flushes += 1
        self._out.append((self._work.addresses.clock, instants_packet(np.concatenate(held.instants), held.segment)))
        leaves: dict[tuple[int, int], list[Sent]] = {}
        for letter in held.letters:
            leaves.setdefault((letter.fragment, letter.leaf), []).append(letter)
        for (fragment, leaf), letters in leaves.items():
            self._pack(fragment, leaf, letters, held.segment)
        if len(self._dictionary) > _ROWS_HELD:
            self._renew()

    def _pack(self, fragment: int, leaf: int, letters: list[Sent], segment: Segment) -> None:
        schema = self._work.plan.fragments[fragment].routes[leaf].leaf.schema
        cells = np.concatenate([letter.cells for letter in letters])
        deltas = Deltas(
            np.concatenate([letter.deltas.ts for letter in letters]),
            np.concatenate([letter.deltas.weight for letter in letters]),
            np.concatenate([letter.deltas.rows for letter in letters]),
        )
        for cell, mine in by_cell(cells, deltas):
            address = self._work.addresses.of(fragment, cell)
            packets = rows_packets(mine, schema, self._dictionary, leaf, segment, first=self._flushes << 20)
            self._out += [(address, packet) for packet in packets]


def by_cell(cells: Ints, deltas: Deltas) -> Iterator[tuple[int, Deltas]]:
    """Each cell with its rows, which keep their order."""
    if not len(cells):
        return
    if cells.min() == cells.max():
        yield int(cells[0]), deltas
        return
    # Short numbers are sorted digit by digit, which is faster.
    order = np.argsort(cells.astype(np.min_scalar_type(int(cells.max()))), kind="stable")
    counts = np.bincount(cells)
    ends = np.cumsum(counts)
    for cell in np.flatnonzero(counts).tolist():
        yield cell, deltas.take(order[ends[cell] - counts[cell] : ends[cell]])


def _as_batches(work: Work, packets: list[tuple[int, bytes]]) -> Iterator[pa.RecordBatch]:
    """Packets on their way to the first operator, one batch each: together they may be larger than Arrow allows."""
    for address, data in packets:
        at = work.addresses.key(address, 0)
        yield pa.RecordBatch.from_pylist([{"at": at, "address": address, "data": data, "note": None}], schema=_PACKETS)
