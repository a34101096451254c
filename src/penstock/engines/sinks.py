"""The sinks of the embedded engine: a csv, json or parquet file, or standard output.

A file is a draft that is written piece by piece and gets its name at the end, when it is complete.
"""

from __future__ import annotations

import base64
import json
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from penstock.algebra.relations import Query
from penstock.algebra.zones import DEFAULT
from penstock.engines.drafts import Draft
from penstock.engines.texts import NULL_TEXT, per_distinct, texts_of
from penstock.errors import PenstockError
from penstock.masking import printable
from penstock.synopsis.codes import arrow_type
from penstock.types import BIGINT, STRING, Kind, Type

#: Rows of a parquet row group.
GROUP_ROWS = 1 << 17

#: The columns of every result, before those of the query.
STAMP = (("_ts", BIGINT), ("_op", STRING))


class Sink(ABC):
    """Takes the results of each step. Without `publish` they are withdrawn, where that is possible.

    Finishing is separate from publishing, so that no file gets its name before all files are on disk.
    """

    @abstractmethod
    def write(self, results: pa.Table) -> None: ...

    @abstractmethod
    def finish(self) -> None:
        """Flushes all results."""

    @abstractmethod
    def publish(self) -> None:
        """Makes finished results visible."""

    @abstractmethod
    def abandon(self) -> None:
        """Withdraws incomplete results. After `publish` it does nothing."""

    @property
    @abstractmethod
    def is_published(self) -> bool: ...


def open_sink(target: str, query: Query, title: str | None = None, *, overwrite: bool = False) -> Sink:
    """Returns the sink for a path that ends in csv, json or parquet, or for `-`, where a title tells queries apart.

    A file that exists is refused, or with `overwrite` replaced when the new one is whole.
    """
    columns = [*STAMP, *((column.name, column.type) for column in query.schema)]
    if target == "-":
        return _Printer(columns, title, query.zone)
    kind = Path(target).suffix.lower().removeprefix(".")
    if kind not in _FILES:
        raise PenstockError(f"{target}: the results have no such form", "end the path in .csv, .json or .parquet")
    return _FILES[kind](target, columns, query.zone, overwrite=overwrite)


OutputColumns = list[tuple[str, Type]]


class _Printer(Sink):
    """Prints csv: the header comes first, even if nothing else does, and again when another query has printed.

    A terminal shows control characters of the data as text. A pipe or a file gets them as they are.
    """

    _last: _Printer | None = None

    def __init__(self, columns: OutputColumns, title: str | None, zone: str = DEFAULT) -> None:
        self._columns, self._zone = columns, zone
        self._header = ("" if title is None else f"# {title}\n") + _csv_header(columns)
        if title is None:
            self._print("")

    def write(self, results: pa.Table) -> None:
        self._print(_csv_lines(results, self._columns, self._zone))

    def _print(self, lines: str) -> None:
        if _Printer._last is not self:
            _Printer._last = self
            lines = self._header + lines
        sys.stdout.write(printable(lines) if sys.stdout.isatty() else lines)
        sys.stdout.flush()

    def finish(self) -> None:
        sys.stdout.flush()

    def publish(self) -> None:
        """Does nothing: printed results are visible."""

    def abandon(self) -> None:
        """Does nothing: printed results stay."""

    @property
    def is_published(self) -> bool:
        return False


class _File(Sink):
    def __init__(self, target: str, columns: OutputColumns, zone: str = DEFAULT, *, overwrite: bool = False) -> None:
        self._columns, self._zone = columns, zone
        self._draft = Draft(target, overwrite=overwrite)
        self._file = self._draft.file
        try:
            with self._draft.named():
                self._begin()
        except BaseException:
            self._draft.abandon()
            raise

    def write(self, results: pa.Table) -> None:
        with self._draft.named():
            self._put(results)

    def finish(self) -> None:
        with self._draft.named():
            self._end()
        self._draft.finish()

    def publish(self) -> None:
        self._draft.publish()

    def abandon(self) -> None:
        self._draft.abandon()

    @property
    def is_published(self) -> bool:
        return self._draft.is_published

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _put(self, results: pa.Table) -> None: ...

    def _end(self) -> None: ...


class _CsvFile(_File):
    def _begin(self) -> None:
        self._file.write(_csv_header(self._columns).encode())

    def _put(self, results: pa.Table) -> None:
        self._file.write(_csv_lines(results, self._columns, self._zone).encode())


class _JsonFile(_File):
    def _begin(self) -> None: ...

    def _put(self, results: pa.Table) -> None:
        if results.num_rows:
            lines = json_lines(results, self._columns, self._zone).to_pylist()
            self._file.write(("\n".join(lines) + "\n").encode())


class _ParquetFile(_File):
    """Results wait until they fill a row group, so that there are few of them."""

    def _begin(self) -> None:
        schema = pa.schema([(name, arrow_type(type_)) for name, type_ in self._columns])
        self._writer = pq.ParquetWriter(self._file, schema)
        self._waiting: list[pa.Table] = []
        self._rows = 0

    def _put(self, results: pa.Table) -> None:
        self._waiting.append(results)
        self._rows += results.num_rows
        if self._rows >= GROUP_ROWS:
            self._write_group()

    def _end(self) -> None:
        if self._rows:
            self._write_group()
        self._writer.close()

    def abandon(self) -> None:
        try:
            with suppress(OSError):
                self._writer.close()
        finally:
            super().abandon()

    def _write_group(self) -> None:
        self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=self._rows)
        self._waiting, self._rows = [], 0


_FILES: dict[str, type[_File]] = {"csv": _CsvFile, "json": _JsonFile, "parquet": _ParquetFile}


def _csv_header(columns: OutputColumns) -> str:
    return ",".join(_quoted(pa.array([name]))[0].as_py() for name, _ in columns) + "\n"


def _csv_lines(results: pa.Table, columns: OutputColumns, zone: str) -> str:
    if results.num_rows == 0:
        return ""
    fields = [_quoted(texts).fill_null(NULL_TEXT) for texts in csv_fields(results, columns, zone)]
    return "\n".join(pc.binary_join_element_wise(*fields, ",").to_pylist()) + "\n"


def csv_fields(results: pa.Table, columns: OutputColumns, zone: str = DEFAULT) -> list[pa.Array]:
    """Returns each column of results as text; they are of a query of that zone."""
    fields = []
    for (name, type_), column in zip(columns, results.columns, strict=True):
        values = _whole(column)
        texts = texts_of(values, type_, zone)
        if type_.kind is Kind.BINARY and texts.null_count > values.null_count:
            raise PenstockError(
                f"a value of {name} is not UTF-8, and csv is text", "write the results as parquet or json"
            )
        fields.append(texts)
    return fields


def _quoted(texts: pa.Array) -> pa.Array:
    """Quotes the texts that need quotes, and those that would be read as NULL without them."""
    needed = pc.match_substring_regex(texts, r'[",\r\n]|^(\\N)?$')
    if not pc.any(needed).as_py():
        return texts
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(needed, pc.binary_join_element_wise('"', doubled, '"', ""), texts)


def json_lines(results: pa.Table, columns: OutputColumns, zone: str = DEFAULT) -> pa.Array:
    """Returns each row as an object."""
    parts = [
        pc.binary_join_element_wise(f"{json.dumps(name)}: ", _json_texts(_whole(column), type_, zone), "")
        for (name, type_), column in zip(columns, results.columns, strict=True)
    ]
    return pc.binary_join_element_wise("{", pc.binary_join_element_wise(*parts, ", "), "}", "")


def _json_texts(values: pa.Array, type_: Type, zone: str) -> pa.Array:
    """Returns values as JSON: times as text, BINARY in base64."""
    match type_.kind:
        case Kind.INT | Kind.BIGINT | Kind.BOOLEAN | Kind.DECIMAL:
            texts = texts_of(values, type_)
        case Kind.DOUBLE:
            texts = per_distinct(values, _json_number)
        case Kind.BINARY:
            texts = per_distinct(values, lambda value: json.dumps(base64.b64encode(value).decode()))
        case _:
            texts = per_distinct(texts_of(values, type_, zone), lambda text: json.dumps(text, ensure_ascii=False))
    return texts.fill_null("null")


def _json_number(value: float) -> str:
    """Returns a number as JSON; NaN and infinity, which JSON lacks, become text."""
    return repr(value) if abs(value) < float("inf") else json.dumps(repr(value))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
