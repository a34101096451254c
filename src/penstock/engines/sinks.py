"""Where the embedded engine writes results to: a csv, json or parquet file, or standard output.

A file is written beside its place, piece by piece, and gets its name at the end: what has the name is whole.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import IO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from penstock.algebra.relations import Query
from penstock.algebra.zones import DEFAULT
from penstock.engines.texts import NULL_TEXT, per_distinct, texts_of
from penstock.errors import PenstockError
from penstock.synopsis.codes import arrow_type
from penstock.types import BIGINT, STRING, Kind, Type

#: Rows of a parquet row group.
GROUP_ROWS = 1 << 17

#: The columns of every result, before those of the query.
STAMP = (("_ts", BIGINT), ("_op", STRING))


class Sink(ABC):
    """Takes results as they come. To leave it without `close` is to take all of it back, where that can be done."""

    @abstractmethod
    def write(self, results: pa.Table) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """All is written."""

    @abstractmethod
    def abandon(self) -> None:
        """What was written is not whole, and is not to be. After `close` nothing is done."""


def open_sink(target: str, query: Query, title: str | None = None) -> Sink:
    """The sink for a path that ends in csv, json or parquet, or for `-`, where a title tells queries apart."""
    columns = [*STAMP, *((column.name, column.type) for column in query.schema)]
    if target == "-":
        return _Printer(columns, title, query.zone)
    kind = Path(target).suffix.lower().removeprefix(".")
    if kind not in _FILES:
        raise PenstockError(f"{target}: the results have no such form", "end the path in .csv, .json or .parquet")
    return _FILES[kind](Path(target), columns, query.zone)


Columns = list[tuple[str, Type]]


class _Printer(Sink):
    """Prints csv: the header comes first, even if nothing else does, and again when another query has printed."""

    _last: _Printer | None = None

    def __init__(self, columns: Columns, title: str | None, zone: str = DEFAULT) -> None:
        self._columns, self._zone = columns, zone
        self._header = ("" if title is None else f"# {title}\n") + _csv_header(columns)
        if title is None:
            self._print("")

    def write(self, results: pa.Table) -> None:
        self._print(_csv_lines(results, self._columns, self._zone))

    def _print(self, lines: str) -> None:
        if _Printer._last is not self:
            _Printer._last = self
            sys.stdout.write(self._header)
        sys.stdout.write(lines)
        sys.stdout.flush()

    def close(self) -> None:
        sys.stdout.flush()

    def abandon(self) -> None:
        """What is printed stays."""


class _File(Sink):
    def __init__(self, path: Path, columns: Columns, zone: str = DEFAULT) -> None:
        self._path = path
        self._beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self._columns, self._zone = columns, zone
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self._beside.open("wb")
        except OSError as error:
            raise PenstockError(f"{path}: {error.strerror}", "choose a path that can be written") from error
        self._begin()

    def write(self, results: pa.Table) -> None:
        try:
            self._put(results)
        except OSError as error:
            raise PenstockError(f"{self._path}: {error}", "the results are not whole, and are left out") from error

    def close(self) -> None:
        try:
            self._end()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._beside.replace(self._path)
        except OSError as error:
            self.abandon()
            raise PenstockError(f"{self._path}: {error}", "the results are left out") from error

    def abandon(self) -> None:
        with suppress(OSError):  # the disk may be full: then what is buffered cannot be written
            self._file.close()
        self._beside.unlink(missing_ok=True)

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
        with suppress(OSError):
            self._writer.close()
        super().abandon()

    def _write_group(self) -> None:
        self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=self._rows)
        self._waiting, self._rows = [], 0


_FILES: dict[str, type[_File]] = {"csv": _CsvFile, "json": _JsonFile, "parquet": _ParquetFile}


def _csv_header(columns: Columns) -> str:
    return ",".join(_quoted(pa.array([name]))[0].as_py() for name, _ in columns) + "\n"


def _csv_lines(results: pa.Table, columns: Columns, zone: str) -> str:
    if results.num_rows == 0:
        return ""
    fields = [_quoted(texts).fill_null(NULL_TEXT) for texts in csv_fields(results, columns, zone)]
    return "\n".join(pc.binary_join_element_wise(*fields, ",").to_pylist()) + "\n"


def csv_fields(results: pa.Table, columns: Columns, zone: str = DEFAULT) -> list[pa.Array]:
    """Each column of results as text; they are of a query of that zone."""
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
    """Texts with quotes around those that need them."""
    needed = pc.match_substring_regex(texts, '[",\r\n]')
    if not pc.any(needed).as_py():
        return texts
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(needed, pc.binary_join_element_wise('"', doubled, '"', ""), texts)


def json_lines(results: pa.Table, columns: Columns, zone: str = DEFAULT) -> pa.Array:
    """Each row as an object."""
    parts = [
        pc.binary_join_element_wise(f"{json.dumps(name)}: ", _json_texts(_whole(column), type_, zone), "")
        for (name, type_), column in zip(columns, results.columns, strict=True)
    ]
    return pc.binary_join_element_wise("{", pc.binary_join_element_wise(*parts, ", "), "}", "")


def _json_texts(values: pa.Array, type_: Type, zone: str) -> pa.Array:
    """Values as they stand in JSON: numbers as they are, times as text, BINARY in base64."""
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
    """JSON has no NaN and no infinity, so these are text."""
    return repr(value) if abs(value) < float("inf") else json.dumps(repr(value))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
