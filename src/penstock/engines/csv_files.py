"""csv files, as batches of Arrow columns: a block of the file at a time, read as text, of which values are made.

Options are Spark's: `header`, `sep` (or `delimiter`), `quote`, `nullValue`, `mode`. An empty field and `\\N` are NULL;
in quotes they are text, where the column holds text. With a header columns go by their names, without one by their
places.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]

from penstock.algebra.zones import DEFAULT, zone_name
from penstock.catalog import Attribute
from penstock.engines.blocks import BOM, FileBlock, Quoting, blocks, count_lines
from penstock.engines.columns import is_not_a
from penstock.engines.texts import NULL_TEXT, values_of
from penstock.errors import PenstockError
from penstock.masking import shortened
from penstock.sql.diagnostics import counted, listed
from penstock.types import Kind

OPTIONS = ("header", "sep", "delimiter", "quote", "nullvalue", "mode", "multiline", "timezone")


def read_csv(
    file: Path, declared: list[Attribute], wanted: list[Attribute], options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """Yields the wanted columns of a file whose rows are as declared."""
    reader = _Reader(file, declared, wanted, options)
    for block in blocks(file, reader.quoting):
        if (batch := reader.read(block)) is not None:
            yield batch


def finish_blocks() -> None:
    """Makes Arrow finish a block after Ctrl-C; the caller decides what to do then."""
    pa.enable_signal_handlers(False)


def _for_arrow(block: bytes) -> bytes:
    """Returns a block that Arrow reads as a part of a file.

    Arrow leaves out a byte order mark at the start, as if a file began there, and takes an empty field at the very end
    for a quoted one if the field before it is quoted.
    """
    data = BOM + block if block.startswith(BOM) else block
    return data if data.endswith((b"\n", b"\r")) else data + b"\n"


class _Reader:
    """Reads the blocks of one file, from the first."""

    def __init__(
        self, file: Path, declared: list[Attribute], wanted: list[Attribute], options: Mapping[str, str]
    ) -> None:
        self._file, self._declared, self._wanted = file, declared, wanted
        #: The columns of the file go by their places, since those that are not declared may be called anything.
        self._width = len(declared)
        self._places = {attribute.name: place for place, attribute in enumerate(declared)}
        self._awaits_header = options.get("header", "false").lower() == "true"
        self._separator = options.get("sep", options.get("delimiter", ","))
        self._quote = options.get("quote", '"')
        self._nulls = ["", NULL_TEXT, *([options["nullvalue"]] if "nullvalue" in options else [])]
        self._zone = zone_name(options.get("timezone", DEFAULT))
        self._lenient = options.get("mode", "").lower() == "permissive"
        for name, character in (("sep", self._separator), ("quote", self._quote)):
            if len(character) != 1 or not character.isascii() or character in "\r\n\0":
                raise PenstockError(f"{file}: {name} is one ASCII character, not {character!r}", "change it in OPTIONS")
        if self._separator == self._quote:
            raise PenstockError(f"{file}: sep and quote are both {self._quote!r}", "change one of them in OPTIONS")
        self.quoting = Quoting(self._separator.encode(), self._quote.encode())

    def read(self, block: FileBlock) -> pa.RecordBatch | None:
        if self._awaits_header:
            self._awaits_header = False
            header, rest = self._parted(block.data)
            self._read_header(header.decode("utf-8", "replace"))
            block = FileBlock(block.line + count_lines(block.data[: len(block.data) - len(rest)]), rest)
        data = _for_arrow(block.data)
        columns = [str(self._places[attribute.name]) for attribute in self._wanted]
        every = [str(place) for place in range(self._width)]
        try:
            table = pa_csv.read_csv(
                pa.BufferReader(data),
                pa_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=every),
                pa_csv.ParseOptions(delimiter=self._separator, quote_char=self._quote, newlines_in_values=True),
                pa_csv.ConvertOptions(
                    column_types=dict.fromkeys(columns, pa.string()),
                    include_columns=columns,
                    null_values=self._nulls,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowException as error:
            if "Empty CSV file" in str(error):
                return None
            raise self._unreadable(error, block) from error
        is_quoted = self.quoting.quote in block.data
        found = zip(self._wanted, table.columns, strict=True)
        arrays = [self._values(column.combine_chunks(), attribute, block, is_quoted) for attribute, column in found]
        return pa.RecordBatch.from_arrays(arrays, names=[attribute.name for attribute in self._wanted])

    def _parted(self, data: bytes) -> tuple[bytes, bytes]:
        """Returns the header, and what follows its end of line."""
        end = self.quoting.first_row_end(data) or len(data)
        return data[:end].rstrip(b"\r\n"), data[end:]

    def _read_header(self, header: str) -> None:
        """Finds the places of the declared columns."""
        lines = io.StringIO(header, newline="")
        try:
            names = next(csv.reader(lines, delimiter=self._separator, quotechar=self._quote), [])
        except csv.Error as error:
            raise PenstockError(f"{self._file}: its header cannot be read: {error}", "is this csv?") from error
        found = [name.strip().lower() for name in names]
        # A file whose first line has none of the columns may be a file of any kind, of which nothing is shown.
        is_ours = any(attribute.name.lower() in found for attribute in self._declared)
        hint = f"its header has {listed(map(shortened, names))}" if is_ours else "its first line has no declared column"
        for attribute in self._declared:
            if (times := found.count(attribute.name.lower())) != 1:
                wrong = f"has no column {attribute.name}" if times == 0 else f"has {times} columns {attribute.name}"
                raise PenstockError(f"{self._file}: {wrong}", hint)
        self._width = len(found)
        self._places = {attribute.name: found.index(attribute.name.lower()) for attribute in self._declared}

    def _values(self, texts: pa.Array, attribute: Attribute, block: FileBlock, is_quoted: bool) -> pa.Array:
        is_quoted &= attribute.type.kind not in (Kind.STRING, Kind.BINARY)
        if is_quoted and len(self._nulls) > 2:
            texts = self._without_nulls(texts)
        values, wrong = values_of(texts, attribute.type, self._zone)
        if wrong is not None and is_quoted:
            texts = self._without_nulls(texts)
            values, wrong = values_of(texts, attribute.type, self._zone)
        if wrong is not None and not self._lenient:
            line = self._line(block, wrong)
            # A file whose first line is wrong may be a file of any kind, of which nothing is shown.
            shown = f"'{shortened(texts[wrong].as_py())}'" if line > 1 else "the text"
            message = f"{self._file}:{line}: {shown} in column {attribute.name} {is_not_a(attribute.type)}"
            hint = "put the file right, or write mode 'PERMISSIVE' in OPTIONS to read it as NULL"
            header = "; if the first line has the names of the columns, write header 'true'" if line == 1 else ""
            raise PenstockError(message, hint + header)
        return values

    def _without_nulls(self, texts: pa.Array) -> pa.Array:
        """Replaces quoted NULLs in columns that are not text, for programs that quote all fields."""
        return pc.if_else(pc.is_in(texts, pa.array(self._nulls, pa.string())), None, texts)

    def _unreadable(self, error: Exception, block: FileBlock) -> PenstockError:
        """Returns Arrow's error with the line in place of the row."""
        text = str(error)
        if fields := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", text):
            row, expected, got = map(int, fields.groups())
            message = f"{self._file}:{self._line(block, row - 1)}: {counted(got, 'field')} instead of {expected}"
            hint = "every line has as many fields as there are columns, parted by what `sep` in OPTIONS says"
            return PenstockError(message, f"{hint}; perhaps the file is cut off")
        if "invalid UTF8" in text:
            return PenstockError(f"{self._file}: from line {block.line} on it is not UTF-8", "save the file as UTF-8")
        return PenstockError(
            f"{self._file}: from line {block.line} on it cannot be read as csv",
            "look at its quotes, and at `sep` and `quote` in OPTIONS",
        )

    def _line(self, block: FileBlock, row: int) -> int:
        """Returns the line on which a row of a block starts. Empty lines are not rows."""
        text = io.StringIO(block.data.decode("utf-8", "replace"), newline="")
        reader = csv.reader(text, delimiter=self._separator, quotechar=self._quote)
        before = 0
        with suppress(csv.Error):  # a field that is too long for this module: then some line before it
            for fields in reader:
                if fields and row == 0:
                    break
                row -= bool(fields)
                before = reader.line_num
        return block.line + before
