"""Sources: a stream's rows read, encoded, filtered, projected and packed for the cells that want them.

Runs before the shuffle, in whatever tasks Spark makes of a micro-batch. So that nothing depends on those, each task
says which segments of the stream it read; of file sources a segment is a block of a file, known by the file's path,
and files arrived in the order of their paths. Of other sources it is a partition of the micro-batch, and partitions
arrive side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.catalog import StreamDef
from penstock.engines.exchange import RoutedBatch
from penstock.engines.files import FORMATS
from penstock.engines.ingest import Ingest
from penstock.engines.lateness import Progress
from penstock.engines.pruning import Pruning
from penstock.engines.spark.addresses import OUT
from penstock.engines.spark.inspection import inspect
from penstock.engines.spark.learnt import learnt_of, leave
from penstock.engines.spark.listing import ListedFiles
from penstock.engines.spark.metrics import source_note
from penstock.engines.spark.packing import (
    Segment,
    close_packet,
    idle_packet,
    instants_packet,
    marker_packet,
    rows_packets,
    settings_packet,
)
from penstock.engines.spark.paths import local_path
from penstock.engines.spark.types import check_columns
from penstock.engines.spark.work import Work
from penstock.synopsis.deltas import one_after_the_other
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints

#: The columns of a shuffle: the key of the group, the address, the packet; `note` has metrics.
PACKETS = "at INT, address INT, data BINARY, note STRING"
_PACKETS = pa.schema([("at", pa.int32()), ("address", pa.int32()), ("data", pa.binary()), ("note", pa.string())])

_PATH, _START = "_penstock_path", "_penstock_start"

#: Rows are encoded so many at a time.
_ROWS_AT_ONCE = 1 << 16

#: A task packs when it holds so many rows.
_ROWS_HELD = 1 << 18


def packed_stream(frame: DataFrame, stream: StreamDef, work: Work) -> DataFrame:
    """Returns a stream's rows as packets."""
    ingest = Ingest(stream, work.plan, Dictionary(), work.horizon)
    columns = check_columns(frame, stream, ingest.names)
    return _with_segments(frame, columns).mapInArrow(_PackStream(work, stream), PACKETS)


def packed_files(files: ListedFiles, stream: StreamDef, work: Work) -> DataFrame:
    """Returns the rows of files as packets."""
    return files.frame.mapInArrow(_PackFiles(work, stream, files.format, files.options), PACKETS)


def packed_control(frame: DataFrame, work: Work) -> DataFrame:
    """Packs the rows of a control source, each of which closes time, has settings, or says which streams are idle."""
    return frame.mapInArrow(_PackControl(work), PACKETS)


def reads_files(frame: DataFrame | ListedFiles) -> bool:
    """Returns whether a stream is read from files."""
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
        task = SourceTask(self.work, self.stream)
        for batch in _together(batches):
            for segment, rows in _runs(batch, self.stream.name):
                if segment.name and not task.has_seen(segment):
                    inspect(segment.name, self.stream)
                task.take(segment, rows)
                yield from _as_batches(self.work, task.packets())
        yield from _as_batches(self.work, task.ended())
        yield from _notes(self.work, task.note())


@dataclass(frozen=True)
class _PackFiles:
    work: Work
    stream: StreamDef
    format: str
    options: Mapping[str, str]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = SourceTask(self.work, self.stream)
        for batch in batches:
            for name in batch.column(0).to_pylist():
                for rows in self._read(name, task):
                    task.take(Segment(self.stream.name, name, 0), rows)
                    yield from _as_batches(self.work, task.packets())
        yield from _as_batches(self.work, task.ended())
        yield from _notes(self.work, task.note())

    def _read(self, name: str, task: SourceTask) -> Iterator[pa.RecordBatch]:
        path = local_path(name)
        assert path is not None
        declared = [attribute for attribute in self.stream.attributes if not attribute.virtual]
        wanted = [attribute for attribute in declared if attribute.name in task.names]
        return FORMATS[self.format].batches(path, declared, wanted, self.options, task.pruning)


@dataclass(frozen=True)
class _PackControl:
    work: Work

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        everywhere = range(len(self.work.addresses.cells))
        for batch in batches:
            for text in batch.column(0).to_pylist():
                packet = _control_packet(text)
                yield from _as_batches(self.work, [(address, packet) for address in everywhere])


def _control_packet(text: str) -> bytes:
    """Returns the packet of a line of a control file (`Checkpoint`)."""
    if text == "close":
        return close_packet()
    given = json.loads(text)
    if "idle" in given:
        return idle_packet(given["sequence"], given["idle"])
    return settings_packet(given["sequence"], given)


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Combines Spark's small batches."""
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
    """Yields a batch cut where another segment begins."""
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
    batches: list[RoutedBatch] = field(default_factory=list)
    instants: list[Ints] = field(default_factory=list)
    rows: int = 0


class SourceTask:
    """Packs the rows that one task of a micro-batch reads."""

    def __init__(self, work: Work, stream: StreamDef) -> None:
        self._work, self._stream = work, stream
        self._tuners = learnt_of(work, stream.name)
        self._renew()
        self._progress: dict[Segment, Progress] = {}
        self._held = _Held()
        self._flushes = 0
        self._out: list[tuple[int, bytes]] = []

    @property
    def names(self) -> list[str]:
        """Returns the columns that the plan reads."""
        return self._ingest.names

    @property
    def pruning(self) -> Pruning | None:
        """Returns which rows the plan need not read."""
        return self._ingest.pruning

    def has_seen(self, segment: Segment) -> bool:
        return segment in self._progress

    def take(self, segment: Segment, rows: pa.RecordBatch) -> None:
        """Takes the next rows of a segment."""
        if segment != self._held.segment or self._held.rows >= _ROWS_HELD:
            self._flush()
            self._held.segment = segment
        progress = self._progress.setdefault(segment, Progress())
        batches, instants = self._ingest.take(rows, progress)
        self._held.batches += batches
        self._held.instants.append(instants)
        self._held.rows += len(instants)

    def ended(self) -> list[tuple[int, bytes]]:
        """Returns the last packets, each with its address: the remaining rows, and a marker for every cell."""
        self._flush()
        if self._progress:
            marker = marker_packet(list(self._progress.items()))
            self._out += [(address, marker) for address in range(len(self._work.addresses.cells))]
        return self.packets()

    def note(self) -> str | None:
        """Returns what is sent to the driver of filters that are ordered, and shared with other workers of the host."""
        filters = [each for _, each in self._ingest.filters if each.tuner is not None]
        if self._tuners is None or not filters:
            return None
        leave(self._work, self._stream.name, self._tuners)
        return source_note(self._work.name, self._stream.name, filters)

    def packets(self) -> list[tuple[int, bytes]]:
        """Returns the packets that are ready, each with its address."""
        out, self._out = self._out, []
        return out

    def _renew(self) -> None:
        """Replaces the dictionary after its packets were made, or a task would hold all values that it has read."""
        self._dictionary = Dictionary()
        self._ingest = Ingest(self._stream, self._work.plan, self._dictionary, self._work.horizon, tuning=self._tuners)

    def _flush(self) -> None:
        held, self._held = self._held, _Held()
        if held.segment is None or not held.rows:
            return
        self._flushes += 1
        self._out.append((self._work.addresses.clock, instants_packet(np.concatenate(held.instants), held.segment)))
        by_input: dict[tuple[int, int], list[RoutedBatch]] = {}
        for batch in held.batches:
            by_input.setdefault((batch.fragment, batch.input), []).append(batch)
        for batches in by_input.values():
            self._pack(_concatenated(batches), held.segment)
        if len(self._dictionary) > _ROWS_HELD:
            self._renew()

    def _pack(self, batch: RoutedBatch, segment: Segment) -> None:
        schema = self._work.inputs[batch.fragment][batch.input].schema
        for cell, mine in batch.by_cell():
            address = self._work.addresses.of(batch.fragment, cell)
            packets = rows_packets(mine, schema, self._dictionary, batch.input, segment, first=self._flushes << 20)
            self._out += [(address, packet) for packet in packets]


def _concatenated(batches: list[RoutedBatch]) -> RoutedBatch:
    """Batches for one input as one, in the order of arrival."""
    cells = np.concatenate([batch.cells for batch in batches])
    return replace(batches[0], cells=cells, deltas=one_after_the_other([batch.deltas for batch in batches]))


def _notes(work: Work, note: str | None) -> Iterator[pa.RecordBatch]:
    """Yields a note for the driver, which passes through all cells."""
    if note is not None:
        at = work.addresses.key(work.addresses.clock, 0)
        yield pa.RecordBatch.from_pylist([{"at": at, "address": OUT, "data": None, "note": note}], schema=_PACKETS)


def _as_batches(work: Work, packets: list[tuple[int, bytes]]) -> Iterator[pa.RecordBatch]:
    """Packets on their way to the first operator, one batch each: together they may be larger than Arrow allows."""
    for address, data in packets:
        at = work.addresses.key(address, 0)
        yield pa.RecordBatch.from_pylist([{"at": at, "address": address, "data": data, "note": None}], schema=_PACKETS)
