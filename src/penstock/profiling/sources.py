"""Streams from files that nobody has declared: columns and types as the files have them, and a column for the time.

A parquet file says what it holds. Of csv and json the first rows are looked at; a later one that does not fit is an
error when it is read. A csv file has a header.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]
import pyarrow.json as pa_json  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from penstock.catalog import Attribute, Connector, StreamDef
from penstock.engines.blocks import Quoting, blocks
from penstock.engines.columns import sql_type
from penstock.engines.files import FileSource
from penstock.engines.json_files import checked_lines
from penstock.engines.json_lines import count_names
from penstock.engines.paths import files_of
from penstock.engines.texts import NULL_TEXT, values_of
from penstock.engines.time_units import likely_unit
from penstock.errors import PenstockError
from penstock.sql.diagnostics import did_you_mean, listed
from penstock.types import STRING, TIMESTAMP, Kind, Type

_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".br")

#: Fields that the objects of a file may have: each is a column, also of the objects that lack it.
_MOST_NAMES = 1_000

_DECLARE = "or declare the stream, with USING, in a SQL file and give that file"


def stream_of(path: str, time: str | None) -> StreamDef:
    """The stream of a file, or of a folder of files, named after it. `time` is the column of its timestamps."""
    files = _files(path)
    format_ = _format(path, files)
    first = next((file for file in files if file.stat().st_size), files[0])
    attributes = tuple(Attribute(name, type_) for name, type_ in _columns(first, format_))
    if not attributes:
        raise PenstockError(f"{first}: there is no column that can be declared", "give data with simple types")
    for name, count in Counter(attribute.name.lower() for attribute in attributes).items():
        if count > 1:
            raise PenstockError(f"{first}: has {count} columns {name}", "rename one: upper and lower case are alike")
    options = (("path", path), *([("header", "true")] if format_ == "csv" else []))
    timestamp = _timestamp(path, attributes, time)
    return _with_unit(StreamDef(name_of(path), attributes, timestamp, connector=Connector(format_, options)))


def _with_unit(stream: StreamDef) -> StreamDef:
    """The stream with the unit that its times seem to be counted in, where these are numbers."""
    (time,) = (attribute for attribute in stream.attributes if attribute.name == stream.timestamp)
    if time.type.kind is not Kind.BIGINT:
        return stream
    for batch in FileSource(stream).batches([time.name]):
        known = batch.column(0).drop_null()
        if len(known):
            return replace(stream, written_unit=likely_unit(known[0].as_py()))
    return stream


def about_how_many(definition: StreamDef) -> int | None:
    """About how many rows the files of a stream have, if that can be told from outside."""
    if definition.connector is None:
        return None
    path = dict(definition.connector.options).get("path", "")
    try:
        files = _files(path)
        if definition.connector.format.lower() == "parquet":
            return sum(int(pq.read_metadata(file).num_rows) for file in files)
        if any(file.suffix in _PACKED for file in files):
            return None
        sample = next(blocks(files[0])).data
        lines = sample.count(b"\n") or 1
        return sum(file.stat().st_size for file in files) * lines // len(sample)
    except (PenstockError, OSError, pa.ArrowException, StopIteration):
        return None


def _files(path: str) -> list[Path]:
    if not os.path.lexists(path):
        raise PenstockError(f"{path}: there is no such file or folder", "give files or folders of csv, json or parquet")
    files = files_of(path, "profile")
    if not files:
        raise PenstockError(f"{path}: the folder holds no data", "names that start with _ or . hold none")
    return files


def _format(path: str, files: list[Path]) -> str:
    formats = {_FORMATS.get(_suffix(file), "") for file in files}
    if "" in formats:
        odd = next(file for file in files if _suffix(file) not in _FORMATS)
        hint = f"names end in {listed(_FORMATS)}, {_DECLARE}"
        raise PenstockError(f"{odd}: its name does not say what it holds", hint)
    if len(formats) > 1:
        raise PenstockError(
            f"{path}: the folder holds {' and '.join(sorted(formats))} files", "give a folder of one kind"
        )
    return formats.pop()


def _suffix(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in _PACKED]
    return suffixes[-1] if suffixes else ""


def name_of(path: str) -> str:
    """The name of a file or folder, up to the first dot.

    >>> name_of("data/bid"), name_of("data/bid.csv.gz"), name_of("..data/")
    ('bid', 'bid', '..data')
    """
    name = Path(path).resolve().name
    return name.partition(".")[0] or name


def _timestamp(path: str, attributes: tuple[Attribute, ...], time: str | None) -> str:
    names = [attribute.name for attribute in attributes]
    if time is not None:
        chosen = [attribute for attribute in attributes if attribute.name.lower() == time.lower()]
        if not chosen:
            hint = did_you_mean(time, names) or f"its columns are {listed(names)}"
            raise PenstockError(f"{path}: there is no column {time} for the time", hint)
        if chosen[0].type.kind not in (Kind.TIMESTAMP, Kind.DATE, Kind.BIGINT):
            hint = f"a time is a TIMESTAMP, a DATE, or a BIGINT that counts microseconds, {_DECLARE}"
            raise PenstockError(f"{path}: {chosen[0].name} is {chosen[0].type}, and no time", hint)
        return chosen[0].name
    times = [attribute.name for attribute in attributes if attribute.type.kind is Kind.TIMESTAMP]
    if len(times) == 1:
        return times[0]
    if times:
        raise PenstockError(f"{path}: {listed(times)} could all be the time", "choose one with --time COLUMN")
    hint = "name a BIGINT column of microseconds with --time COLUMN"
    raise PenstockError(f"{path}: no column is a TIMESTAMP", f"{hint}; there are {listed(names)}")


def _columns(file: Path, format_: str) -> Iterator[tuple[str, Type]]:
    """The columns that can be declared."""
    try:
        if format_ == "json" and _is_array(file):
            hint = "write an object on each line, for example with: jq -c '.[]'"
            raise PenstockError(f"{file}: it holds a JSON array", hint)
        schema = {"csv": _csv_schema, "json": _json_schema, "parquet": pq.read_schema}[format_](file)
    except (pa.ArrowException, OSError, MemoryError, csv.Error, UnicodeDecodeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise PenstockError(
            f"{file}: it cannot be read as {format_}: {reason}", "it may be cut off or damaged"
        ) from error
    for field in schema:
        type_ = STRING if pa.types.is_null(field.type) else sql_type(field.type)
        if type_ is not None and field.name.strip():  # what has no name is read by nobody
            yield field.name, type_


def _is_array(file: Path) -> bool:
    """Whether what a file holds begins with a bracket."""
    block = next(blocks(file), None)
    return block is not None and bytes(block.data[: 1 << 12]).lstrip().startswith(b"[")


def _csv_schema(file: Path) -> pa.Schema:
    block = next(blocks(file, Quoting(b",", b'"')), None)
    if block is None:
        raise PenstockError(f"{file}: the file is empty", "a csv file has a header and rows")
    header = next(csv.reader(block.data[: 1 << 16].decode("utf-8", "replace").splitlines()[:1]), [])
    if header and all(_is_number(name) for name in header):
        hint = "add the names of the columns as its first line, "
        raise PenstockError(f"{file}: its first line is no header", hint + _DECLARE)
    table = pa_csv.read_csv(
        pa.BufferReader(block.data),
        pa_csv.ReadOptions(use_threads=False, block_size=len(block.data) + 1),
        pa_csv.ParseOptions(newlines_in_values=True),
        pa_csv.ConvertOptions(null_values=["", NULL_TEXT], strings_can_be_null=True),
    )
    if table.num_rows == 0:
        raise PenstockError(f"{file}: there is no row behind the header", "give data with at least one row")
    return _timed(table.rename_columns([name.strip() for name in table.column_names]))


def _json_schema(file: Path) -> pa.Schema:
    block = next(blocks(file), None)
    if block is None or not block.data.strip():
        raise PenstockError(f"{file}: the file is empty", 'each line is an object, as in {"a": 1}')
    objects = checked_lines(block, file)
    if count_names(objects) > _MOST_NAMES:
        raise PenstockError(f"{file}: more than {_MOST_NAMES:,} names of fields", f"rename them, {_DECLARE}")
    options = pa_json.ReadOptions(use_threads=False, block_size=len(objects) + 1)
    return _timed(pa_json.read_json(pa.BufferReader(objects), options))


def _timed(table: pa.Table) -> pa.Schema:
    """The schema of rows, in which a text that is always a time of some day counts as one. What nests is text."""
    schema = table.schema
    for number, field in enumerate(schema):
        if pa.types.is_string(field.type) and _are_times(table.column(number)):
            schema = schema.set(number, field.with_type(pa.timestamp("us", tz="UTC")))
        elif not pa.types.is_null(field.type) and sql_type(field.type) is None:
            schema = schema.set(number, field.with_type(pa.string()))
    return schema


def _are_times(column: pa.ChunkedArray) -> bool:
    texts = column.combine_chunks()
    texts = texts.chunk(0) if isinstance(texts, pa.ChunkedArray) else texts
    if texts.null_count == len(texts) or not pc.all(pc.match_substring(texts, ":"), skip_nulls=True).as_py():
        return False
    return values_of(texts, TIMESTAMP)[1] is None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
