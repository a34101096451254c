"""Rows of streams and tables from csv, json and parquet files, and results into csv.

File order is arrival order, a folder is read file by file in the order of names. csv has NULL as `\\N` or as an empty
field, without quotes. Text becomes a value as a cast makes it, so what cannot be read is NULL. BINARY is base64 in json
and UTF-8 in csv, as in Spark.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from penstock.algebra.relations import Schema
from penstock.catalog import Attribute, StreamDef, TableDef
from penstock.types import BINARY, BOOLEAN, DOUBLE, STRING, Kind, Type
from tests.reference.casts import cast
from tests.reference.interpreter import Change
from tests.reference.values import Row, Value

NULL_TEXT = "\\N"


def read_rows(
    definition: StreamDef | TableDef,
    path: str | Path | None = None,
    format_: str | None = None,
    base: Path = Path(),
) -> list[Row]:
    """The rows of a stream or table: from its connector's files, looked up from `base`, or from `path`.

    Without a connector the format is what the names of the files end in.
    """
    connector = definition.connector
    options = {key.lower(): value for key, value in connector.options} if connector else {}
    attributes = [attribute for attribute in definition.attributes if not attribute.virtual]
    rows: list[Row] = []
    for file in _files(Path(path) if path is not None else base / options["path"]):
        kind = format_ or (connector.format.lower() if connector else file.suffix.removeprefix("."))
        rows.extend(_READERS[kind](file, attributes, options))
    return rows


def write_csv(changes: Iterable[Change], schema: Schema, file: Path) -> None:
    """`_ts`, `_op`, then the columns of the query."""
    with file.open("w", newline="", encoding="utf-8") as out:
        out.write(",".join(map(_quoted, ["_ts", "_op", *(column.name for column in schema)])) + "\n")
        for change in changes:
            texts = [to_text(value, column.type) for value, column in zip(change.row, schema, strict=True)]
            out.write(",".join([str(change.ts), change.op, *texts]) + "\n")


def to_text(value: Value, type_: Type) -> str:
    """A value as csv has it."""
    if value is None:
        return NULL_TEXT
    if type_ == DOUBLE:
        return repr(value)
    text = cast(value, type_, STRING)
    assert isinstance(text, str)
    return _quoted(text)


def _quoted(text: str) -> str:
    """A text that would be NULL, or not one field, has quotes around it."""
    if text not in ("", NULL_TEXT) and not any(character in text for character in '",\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def from_text(text: str, type_: Type) -> Value:
    """The value that a field of a csv file holds.

    >>> from penstock.types import BIGINT
    >>> from_text("12", BIGINT), from_text("", BIGINT), from_text("\\\\N", STRING), from_text("x", STRING)
    (12, None, None, 'x')
    """
    return None if text in ("", NULL_TEXT) else cast(text, STRING, type_)


def _files(path: Path) -> list[Path]:
    """The file, or the files of a folder by name; names that start with _ or . hold no data."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "_.")
    return [path]


def _read_csv(file: Path, attributes: list[Attribute], options: Mapping[str, str]) -> Iterator[Row]:
    """By the names of the header if there is one, else by place."""
    places = list(range(len(attributes)))
    records = csv_records(file.read_bytes().decode(), options.get("sep", options.get("delimiter", ",")))
    if options.get("header", "false").lower() == "true":
        names = [name.lower() for name, _ in next(records, [(a.name, False) for a in attributes])]
        places = [names.index(attribute.name.lower()) for attribute in attributes]
    for fields in records:
        yield tuple(_from_field(*fields[i], a.type) for i, a in zip(places, attributes, strict=True))


def _from_field(text: str, is_quoted: bool, type_: Type) -> Value:
    return cast(text, STRING, type_) if is_quoted else from_text(text, type_)


def csv_records(text: str, separator: str = ",") -> Iterator[list[tuple[str, bool]]]:
    """The fields of each line that is not empty, and whether they were quoted.

    >>> list(csv_records('1,""\\n\\n"a ""b""\\nc",\\n'))
    [[('1', False), ('', True)], [('a "b"\\nc', True), ('', False)]]
    """
    field = re.compile(rf'(?:"((?:[^"]|"")*)"|([^{re.escape(separator)}\r\n]*))({re.escape(separator)}|\r?\n|\Z)')
    place, fields = 0, []
    while place < len(text) or fields:
        found = field.match(text, place)
        assert found is not None, f"a quote is out of place at character {place}"
        quoted, plain, end = found.groups()
        fields.append((plain, False) if quoted is None else (quoted.replace('""', '"'), True))
        place = found.end()
        if end != separator:
            if fields != [("", False)]:
                yield fields
            fields = []


def _read_json(file: Path, attributes: list[Attribute], options: Mapping[str, str]) -> Iterator[Row]:
    """One object per line; what an object does not have is NULL."""
    for line in file.read_bytes().decode("utf-8").split("\n"):
        if line.strip():
            found = {name.lower(): value for name, value in json.loads(line, parse_float=Decimal).items()}
            yield tuple(_from_json(found.get(a.name.lower()), a.type) for a in attributes)


def _from_json(value: Any, type_: Type) -> Value:
    if value is None:
        return None
    if type_ == BINARY:
        return _from_base64(value) if isinstance(value, str) else None
    if type_ == BOOLEAN or isinstance(value, bool):
        return value if type_ == BOOLEAN and isinstance(value, bool) else None
    if type_.is_numeric:
        return cast(f"{value:f}" if isinstance(value, Decimal) else str(value), STRING, type_)
    if type_ == STRING:
        return (
            value
            if isinstance(value, str)
            else json.dumps(value, default=float, ensure_ascii=False, separators=(",", ":"))
        )
    return cast(value, STRING, type_) if isinstance(value, str) else None


def _from_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None


def _read_parquet(file: Path, attributes: list[Attribute], options: Mapping[str, str]) -> Iterator[Row]:
    table = pq.read_table(file)
    names = [name.lower() for name in table.column_names]
    columns = [_from_arrow(table.column(names.index(a.name.lower())), a.type) for a in attributes]
    yield from zip(*columns, strict=True)


def _from_arrow(column: pa.ChunkedArray, type_: Type) -> list[Value]:
    """Times as the integers that stand for them; finer ones than microseconds are cut off."""
    values = column.cast(_ARROW[type_.kind](type_), safe=False)
    if type_.kind is Kind.TIMESTAMP:
        values = values.cast(pa.int64())
    if type_.kind is Kind.DATE:
        values = values.cast(pa.int32())
    result: list[Value] = values.to_pylist()
    return result


_ARROW: dict[Kind, Any] = {
    Kind.BOOLEAN: lambda type_: pa.bool_(),
    Kind.INT: lambda type_: pa.int32(),
    Kind.BIGINT: lambda type_: pa.int64(),
    Kind.DECIMAL: lambda type_: pa.decimal128(type_.precision, type_.scale),
    Kind.DOUBLE: lambda type_: pa.float64(),
    Kind.STRING: lambda type_: pa.string(),
    Kind.BINARY: lambda type_: pa.binary(),
    Kind.TIMESTAMP: lambda type_: pa.timestamp("us"),
    Kind.DATE: lambda type_: pa.date32(),
}

_READERS = {"csv": _read_csv, "json": _read_json, "parquet": _read_parquet}
