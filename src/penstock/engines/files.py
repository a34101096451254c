"""The sources of the embedded engine: files, or folders of files, as batches of Arrow columns.

The order of rows in a file is the order of their arrival. A folder is read file by file in the order of names; names
that start with `_` or `.` hold no data. Files are read piece by piece, so they may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.zones import DEFAULT
from penstock.catalog import Attribute, StreamDef, TableDef
from penstock.engines import csv_files, json_files, parquet_files
from penstock.engines.paths import check_not_empty, files_of
from penstock.engines.pruning import Pruning
from penstock.errors import PenstockError
from penstock.sql.diagnostics import did_you_mean, listed
from penstock.synopsis.codes import arrow_type

#: Rows of the largest batch: few enough that what waits for other streams stays small.
BATCH_ROWS = 1 << 16

Read = Callable[[Path, list[Attribute], list[Attribute], Mapping[str, str]], Iterator[pa.RecordBatch]]
ReadPruned = Callable[[Path, list[Attribute], list[Attribute], Pruning], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class Format:
    """How files are read: their columns as declared, and those of them that are wanted."""

    read: Read
    options: tuple[str, ...]
    #: What reads files that have statistics.
    read_pruned: ReadPruned | None = None

    def batches(
        self,
        file: Path,
        declared: list[Attribute],
        wanted: list[Attribute],
        options: Mapping[str, str],
        pruning: Pruning | None,
    ) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a file; of those that `pruning` rules out, if it has statistics, few columns."""
        if pruning is None or self.read_pruned is None:
            return self.read(file, declared, wanted, options)
        return self.read_pruned(file, declared, wanted, pruning)


FORMATS: dict[str, Format] = {
    "csv": Format(csv_files.read_csv, csv_files.OPTIONS),
    "json": Format(json_files.read_json, json_files.OPTIONS),
    "parquet": Format(parquet_files.read_parquet, parquet_files.OPTIONS, parquet_files.read_pruned),
}

#: These options limit how fast Spark reads, and have no effect here.
_OF_SPARK = ("maxfilespertrigger", "maxbytespertrigger")
MODES = ("failfast", "permissive")


class FileSource:
    """The files of a declared stream or table. An error of the declaration is raised at once.

    `zone` is that of texts without one, unless the declaration has an option `timeZone`.
    """

    def __init__(self, definition: StreamDef | TableDef, zone: str = DEFAULT) -> None:
        if definition.connector is None:
            hint = "write USING csv OPTIONS (path '...'), or json or parquet, behind its declaration"
            raise PenstockError(f"{definition.name} has no source", hint)
        self._definition = definition
        self._name = definition.connector.format.lower()
        self._options = {key.lower(): value for key, value in definition.connector.options}
        self._format = self._checked()
        if "timezone" in self._format.options:
            self._options.setdefault("timezone", zone)
        self._path = self._options["path"]
        self._declared = [attribute for attribute in definition.attributes if not attribute.virtual]
        self._read: set[Path] = set()
        self._new()

    def batches(self, columns: list[str], pruning: Pruning | None = None) -> Iterator[pa.RecordBatch]:
        """Yields all rows that there are, with these columns."""
        check_not_empty(self._path)
        yield from self._batches(columns, pruning)

    def following(self, columns: list[str], pruning: Pruning | None = None) -> Iterator[pa.RecordBatch | None]:
        """Yields all rows that there are and that will be; None when there is nothing for now."""
        while True:
            yield from self._batches(columns, pruning)
            yield None

    def _batches(self, columns: list[str], pruning: Pruning | None) -> Iterator[pa.RecordBatch]:
        wanted = [attribute for attribute in self._declared if attribute.name in columns]
        for file in self._new():
            self._read.add(file)
            for batch in self._format.batches(file, self._declared, wanted, self._options, pruning):
                yield from bounded(batch, BATCH_ROWS)

    def table(self) -> pa.Table:
        names = [attribute.name for attribute in self._declared]
        schema = pa.schema([(attribute.name, arrow_type(attribute.type)) for attribute in self._declared])
        return pa.Table.from_batches(self.batches(names), schema)

    def _new(self) -> list[Path]:
        """Returns the files that have not been read, in order."""
        return [file for file in files_of(self._path, self._definition.name) if file not in self._read]

    def _checked(self) -> Format:
        name = self._definition.name
        if self._name not in FORMATS:
            hint = "run it on Spark, or read files"
            raise PenstockError(f"{name}: the embedded engine reads {listed(FORMATS)}, not {self._name}", hint)
        known = FORMATS[self._name]
        for option in self._options:
            if option not in ("path", *known.options, *_OF_SPARK):
                hint = did_you_mean(option, known.options) or f"there are {listed(('path', *known.options))}"
                raise PenstockError(f"{name}: the embedded engine has no option {option} for {self._name}", hint)
        if "path" not in self._options:
            raise PenstockError(f"{name}: there is no path to read from", "write OPTIONS (path '...')")
        if self._options.get("mode", "failfast").lower() not in MODES:
            raise PenstockError(f"{name}: there is no mode {self._options['mode']}", "write FAILFAST or PERMISSIVE")
        return known


def bounded(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """Yields a batch in pieces that are not too large."""
    for start in range(0, batch.num_rows, most):
        yield batch.slice(start, most)
