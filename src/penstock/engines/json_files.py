"""Files of JSON objects, one per line, as batches of Arrow columns.

What an object does not have is NULL. Times are text, BINARY is base64, and a number may stand in quotes. Arrow reads a
block of lines at once if it can; a block that holds something unusual is read line by line.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.json as pa_json  # type: ignore[import-untyped]

from penstock.algebra.zones import DEFAULT, zone_name
from penstock.catalog import Attribute
from penstock.engines.blocks import Block, blocks
from penstock.engines.texts import values_of
from penstock.errors import PenstockError
from penstock.masking import shortened
from penstock.synopsis.codes import arrow_type
from penstock.types import Kind, Type

OPTIONS = ("mode", "timezone")

#: What Arrow reads from JSON as it is; the other types are read from text.
_NATIVE = (Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE)


def read_json(
    file: Path, declared: list[Attribute], wanted: list[Attribute], options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    lenient = options.get("mode", "").lower() == "permissive"
    zone = zone_name(options.get("timezone", DEFAULT))
    for block in blocks(file):
        batch = _at_once(block.data, wanted, zone)
        yield batch if batch is not None else _line_by_line(block, wanted, file, lenient, zone)


def _at_once(block: bytes, wanted: list[Attribute], zone: str) -> pa.RecordBatch | None:
    """The columns of a block, or None if Arrow and we might not understand it alike."""
    schema = pa.schema([(a.name, arrow_type(a.type) if a.type.kind in _NATIVE else pa.string()) for a in wanted])
    try:
        table = pa_json.read_json(
            pa.BufferReader(block),
            pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer"),
        ).combine_chunks()
    except pa.ArrowInvalid:
        return None
    names = {attribute.name.lower() for attribute in wanted}
    if any(name.lower() in names for name in table.column_names[len(wanted) :]):
        return None  # the same name, spelled in two ways
    columns = []
    for number, attribute in enumerate(wanted):
        column = _first_chunk(table.column(number))
        if attribute.type.kind in _NATIVE:
            values, wrong = column, None
        elif attribute.type.kind is Kind.BINARY:
            values, wrong = _values(column.to_pylist(), attribute.type, zone)
        else:
            values, wrong = values_of(column, attribute.type, zone)
        if wrong is not None:
            return None
        columns.append(values)
    return pa.RecordBatch.from_arrays(columns, names=[attribute.name for attribute in wanted])


def _first_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _line_by_line(block: Block, wanted: list[Attribute], file: Path, lenient: bool, zone: str) -> pa.RecordBatch:
    objects, lines = [], []
    for number, line in enumerate(block.data.split(b"\n"), start=block.line):
        if line.strip():
            objects.append(_object(line, f"{file}:{number}"))
            lines.append(number)
    columns = []
    for attribute in wanted:
        given = [found.get(attribute.name.lower()) for found in objects]
        values, wrong = _values(given, attribute.type, zone)
        if wrong is not None and not lenient:
            shown = shortened(json.dumps(given[wrong], default=float))
            message = f"{file}:{lines[wrong]}: {shown} in {attribute.name} is no {attribute.type}"
            raise PenstockError(message, "put the file right, or write mode 'PERMISSIVE' in OPTIONS to read it as NULL")
        columns.append(values)
    return pa.RecordBatch.from_arrays(columns, names=[attribute.name for attribute in wanted])


def _object(line: bytes, place: str) -> dict[str, Any]:
    try:
        found = json.loads(line, parse_float=Decimal)
    except UnicodeDecodeError as error:
        raise PenstockError(f"{place}: it is not UTF-8", "save the file as UTF-8") from error
    except ValueError as error:
        hint = "each line is one whole JSON object; perhaps the file is cut off"
        raise PenstockError(f"{place}: this is no JSON: {error}", hint) from error
    if not isinstance(found, dict):
        raise PenstockError(f"{place}: this is no JSON object", 'each line is an object, as in {"a": 1}')
    return {name.lower(): value for name, value in found.items()}


def _values(given: list[Any], type_: Type, zone: str) -> tuple[pa.Array, int | None]:
    """The values of what stood in JSON, and the place of the first that is wrong."""
    if type_.kind is Kind.BINARY:
        decoded = [_from_base64(value) for value in given]
        return pa.array(decoded, pa.binary()), _first_wrong(given, decoded)
    texts = [_as_text(value, type_) for value in given]
    values, wrong = values_of(pa.array(texts, pa.string()), type_, zone)
    places = [place for place in (wrong, _first_wrong(given, texts)) if place is not None]
    return values, min(places, default=None)


def _first_wrong(given: list[Any], found: list[Any]) -> int | None:
    return next((i for i, (a, b) in enumerate(zip(given, found, strict=True)) if a is not None and b is None), None)


def _as_text(value: Any, type_: Type) -> str | None:
    """A value as the text of a value of that type, or None if it is of another kind."""
    if value is None:
        return None
    if type_.kind is Kind.BOOLEAN or isinstance(value, bool):
        return str(value).lower() if type_.kind is Kind.BOOLEAN and isinstance(value, bool) else None
    if type_.is_numeric:
        return (
            f"{value:f}" if isinstance(value, Decimal) else str(value) if isinstance(value, int | float | str) else None
        )
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str) if type_.kind is Kind.STRING else None


def _from_base64(value: Any) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        return None
