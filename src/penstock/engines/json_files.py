"""Files of JSON objects, one per line, as batches of Arrow columns.

What an object does not have is NULL. Times are text, BINARY is base64, and a number may stand in quotes. Arrow reads a
block of lines at once if it can; a block that holds something unusual is read line by line.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.json as pa_json  # type: ignore[import-untyped]

from penstock.algebra.zones import DEFAULT, zone_name
from penstock.catalog import Attribute
from penstock.engines.blocks import FileBlock, blocks
from penstock.engines.columns import is_not_a
from penstock.engines.json_lines import MOST_NESTED, count_objects, has_other_spelling, is_nested_too_deep
from penstock.engines.texts import values_of
from penstock.errors import PenstockError
from penstock.masking import shortened
from penstock.synopsis.codes import arrow_type
from penstock.types import Kind, Type

OPTIONS = ("mode", "timezone")

#: What Arrow reads from JSON as it is; the other types are read from text.
_NATIVE = (Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE)

#: Bytes whose lines show which other fields there are, and how many of those Arrow may read beside the wanted.
_SAMPLE_BYTES = 1 << 14
_MOST_OTHERS = 64

#: Values that are read at once.
_MOST_CELLS = 1 << 24

#: A number with a larger exponent is not written out: it would be a long text, and no type has such values.
_MOST_DIGITS = 400


def read_json(
    file: Path, declared: list[Attribute], wanted: list[Attribute], options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    lenient = options.get("mode", "").lower() == "permissive"
    zone = zone_name(options.get("timezone", DEFAULT))
    reader = _Reader(wanted, zone)
    for block in blocks(file):
        for part in _parts(block, _MOST_CELLS // max(1, len(wanted))):
            batch = reader.at_once(part.data)
            yield batch if batch is not None else _line_by_line(part, wanted, file, lenient, zone)


def _parts(block: FileBlock, most: int) -> Iterator[FileBlock]:
    """Yields parts of a block with few lines: short lines with many columns take much memory once parsed."""
    if len(block.data) // 3 <= most or (lines := block.data.count(b"\n") + 1) <= most:
        yield block
        return
    whole = block.data.splitlines(keepends=True) if b"\r" not in block.data else block.data.split(b"\n")
    joint = b"" if b"\r" not in block.data else b"\n"
    for start in range(0, lines, most):
        if part := joint.join(whole[start : start + most]):
            yield FileBlock(block.line + start, part)


class _Reader:
    """Reads the blocks of one file, as far as Arrow and we understand them alike."""

    def __init__(self, wanted: list[Attribute], zone: str) -> None:
        self._wanted, self._zone = wanted, zone
        self._names = [attribute.name for attribute in wanted]
        fields = [(a.name, arrow_type(a.type) if a.type.kind in _NATIVE else pa.string()) for a in wanted]
        self._schema = pa.schema(fields)
        #: The wanted fields and the others, as the first lines have them. None: others come and go.
        self._known: pa.Schema | None = self._schema
        self._is_first = True

    def at_once(self, block: bytes) -> pa.RecordBatch | None:
        """Returns the columns of a block, or None if it has to be read line by line."""
        rows = count_objects(block)
        if rows is None or not (block.isascii() or _is_utf8(block)):
            return None
        if self._is_first:
            self._known, self._is_first = self._first_fields(block), False
        table = None if self._known is None else _parsed(block, self._known, "error")
        if table is None:
            self._known = None
            table = None if has_other_spelling(block, self._names) else _parsed(block, self._schema, "ignore")
        if table is None or table.num_rows != rows:
            return None
        columns = []
        for number, attribute in enumerate(self._wanted):
            values, wrong = _converted(_first_chunk(table.column(number)), attribute.type, self._zone)
            if wrong is not None:
                return None
            columns.append(values)
        return pa.RecordBatch.from_arrays(columns, names=self._names)

    def _first_fields(self, block: bytes) -> pa.Schema | None:
        """Returns the fields of the first lines: if there are no others, Arrow need not be watched."""
        end = block.rfind(b"\n", 0, _SAMPLE_BYTES) + 1
        found = _parsed(block[:end], self._schema, "infer") if end else None
        if found is None or found.num_columns > len(self._names) + _MOST_OTHERS:
            return None
        lower = [name.lower() for name in found.column_names]
        return found.schema if len(set(lower)) == len(lower) else None


def _parsed(block: bytes, schema: pa.Schema, others: str) -> pa.Table | None:
    """Returns the fields of a schema as Arrow reads them; it may infer other fields, ignore or refuse them."""
    try:
        return pa_json.read_json(
            pa.BufferReader(block),
            pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others),
        )
    except pa.ArrowException:
        return None


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_valid(column: pa.Array) -> bool:
    """Returns whether its numbers have no more digits than their type, which Arrow does not see to."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _converted(column: pa.Array, type_: Type, zone: str) -> tuple[pa.Array, int | None]:
    """Returns the values of a column as Arrow has read it, and the place of the first that is wrong."""
    if type_.kind is Kind.DECIMAL and not _is_valid(column):
        return column, 0
    if type_.kind in _NATIVE:
        return column, None
    if type_.kind is Kind.BINARY:
        return _values(column.to_pylist(), type_, zone)
    return values_of(column, type_, zone)


def _first_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _line_by_line(block: FileBlock, wanted: list[Attribute], file: Path, lenient: bool, zone: str) -> pa.RecordBatch:
    objects, lines = [], []
    names = {attribute.name.lower() for attribute in wanted}
    for number, line in enumerate(block.data.split(b"\n"), start=block.line):
        if line.strip():
            objects.append(_fields(line, names, f"{file}:{number}"))
            lines.append(number)
    columns = []
    for attribute in wanted:
        given = [found.get(attribute.name.lower()) for found in objects]
        values, wrong = _values(given, attribute.type, zone)
        if wrong is not None and not lenient:
            shown = shortened(_json_text(given[wrong]))
            message = f"{file}:{lines[wrong]}: {shown} in {attribute.name} {is_not_a(attribute.type)}"
            raise PenstockError(message, "put the file right, or write mode 'PERMISSIVE' in OPTIONS to read it as NULL")
        columns.append(values)
    return pa.RecordBatch.from_arrays(columns, names=[attribute.name for attribute in wanted])


def checked_lines(block: FileBlock, file: Path) -> bytes:
    """Returns the objects of a block, one per line, of which Arrow may be asked anything."""
    if count_objects(block.data) is not None and (block.data.isascii() or _is_utf8(block.data)):
        return block.data
    lines = [(number, line.strip()) for number, line in enumerate(block.data.split(b"\n"), start=block.line)]
    for number, line in lines:
        if line:
            _object(line, f"{file}:{number}")
    return b"\n".join(line for _, line in lines if line)


def _fields(line: bytes, names: set[str], place: str) -> dict[str, Any]:
    """Returns the fields of these names, in lower case, of the object that stands on a line."""
    found = _object(line, place)
    fields: dict[str, Any] = {}
    for name, value in found.items():
        if (lower := name.lower()) in names:
            if lower in fields or (isinstance(found, _Repeating) and name in found.repeated):
                raise PenstockError(f"{place}: the object has {name} twice", "leave one of them out, whatever its case")
            fields[lower] = value
    return fields


def _object(line: bytes, place: str) -> dict[str, Any]:
    if is_nested_too_deep(line):
        hint = "flatten the object, or write the deep part as text"
        raise PenstockError(f"{place}: values nest more than {MOST_NESTED} deep", hint)
    try:
        text = line.decode()
        found = json.loads(text, parse_float=Decimal, object_pairs_hook=_as_dict)
        if "\\u" in text:
            _json_text(found).encode()
    except UnicodeDecodeError as error:
        raise PenstockError(f"{place}: it is not UTF-8", "save the file as UTF-8") from error
    except UnicodeEncodeError as error:
        hint = r"write both halves, as in \ud83d\ude00, or the character itself"
        raise PenstockError(f"{place}: half of a surrogate pair is not text", hint) from error
    except ValueError as error:
        hint = "each line is one whole JSON object; perhaps the file is cut off"
        raise PenstockError(f"{place}: this is not JSON: {error}", hint) from error
    if not isinstance(found, dict):
        raise PenstockError(f"{place}: this is not a JSON object", 'each line is an object, as in {"a": 1}')
    return found


class _Repeating(dict[str, Any]):
    """An object that has some names more than once."""

    repeated: set[str]


def _as_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeating = _Repeating(found)
    repeating.repeated = {name for name, times in Counter(name for name, _ in pairs).items() if times > 1}
    return repeating


def _json_text(value: Any) -> str:
    """Returns JSON as Spark writes it: without spaces, and numbers as they are."""
    return json.dumps(value, default=float, ensure_ascii=False, separators=(",", ":"))


def _values(given: list[Any], type_: Type, zone: str) -> tuple[pa.Array, int | None]:
    """Returns the values of what stood in JSON, and the place of the first that is wrong."""
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
    """Returns a value as the text of a value of that type, or None if it is of another kind."""
    if value is None:
        return None
    if type_.kind is Kind.BOOLEAN or isinstance(value, bool):
        return str(value).lower() if type_.kind is Kind.BOOLEAN and isinstance(value, bool) else None
    if type_.is_numeric:
        if isinstance(value, Decimal):
            return f"{value:f}" if abs(value.adjusted()) < _MOST_DIGITS else str(value)
        return str(value) if isinstance(value, int | float | str) else None
    if isinstance(value, str):
        return value
    return _json_text(value) if type_.kind is Kind.STRING else None


def _from_base64(value: Any) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        return None
