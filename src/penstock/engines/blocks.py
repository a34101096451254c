"""A text file, perhaps compressed, in blocks of whole rows, so that it is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.errors import PenstockError
from penstock.kernels.csv_rows import row_ends

BLOCK_BYTES = 1 << 21

#: A row that is longer is a mistake.
MOST_BYTES = 1 << 26

BOM = b"\xef\xbb\xbf"

_COMPRESSED = "unpack it, or give it a name that says how it is compressed, as in .gz"
#: How files start that are something else.
_NO_TEXT = (
    (b"\xff\xfe", "UTF-16", "save the file as UTF-8"),
    (b"\xfe\xff", "UTF-16", "save the file as UTF-8"),
    (b"\x1f\x8b", "compressed by gzip", _COMPRESSED),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", _COMPRESSED),
    (b"PAR1", "a parquet file", "write USING parquet"),
)
#: Names of compressed files, which are unpacked.
_PACKED = (".gz", ".bz2", ".zst", ".lz4")


@dataclass(frozen=True, slots=True)
class FileBlock:
    #: The line on which it starts, from 1.
    line: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Quoting:
    """What separates and what quotes the fields of csv: between quotes a line may end without an end of the row."""

    separator: bytes
    quote: bytes

    def first_row_end(self, data: bytes) -> int:
        """Returns the place behind the first row that is whole, or 0."""
        return self._row_ends(data)[0]

    def last_row_end(self, data: bytes) -> int:
        """Returns the place behind the last row that is whole, or 0.

        >>> quoting = Quoting(b",", b'"')
        >>> [quoting.last_row_end(data) for data in (b'1,a', b'1,a\\n2', b'1,a\\n2,"b\\nc', b'5" pipe,a\\n"b\\n')]
        [0, 4, 4, 10]
        """
        return self._row_ends(data)[1] if self.quote in data or b"\r" in data else data.rfind(b"\n") + 1

    def is_open_at_end(self, data: bytes) -> bool:
        """Returns whether data that start with a row end between quotes."""
        return self.quote in data and self._row_ends(data)[2]

    def _row_ends(self, data: bytes) -> tuple[int, int, bool]:
        ends = np.empty(2, np.int64)
        is_open = row_ends(np.frombuffer(data, np.uint8), ord(self.separator), ord(self.quote), ends)
        return int(ends[0]), int(ends[1]), bool(is_open)


def blocks(file: Path, quoting: Quoting | None = None) -> Iterator[FileBlock]:
    """Yields the blocks of a file, each of whole rows: lines, or what `quoting` says."""
    line, rest = 1, b""
    for data in _pieces(file):
        together = rest + data
        end = together.rfind(b"\n") + 1 if quoting is None else quoting.last_row_end(together)
        if end:
            block = FileBlock(line, together[:end])
            line += count_lines(block.data)
            yield block
        rest = together[end:]
        if len(rest) > MOST_BYTES:
            raise PenstockError(f"{file}:{line}: a row of more than {MOST_BYTES >> 20} MB", _hint(rest, quoting))
    if quoting is not None and quoting.is_open_at_end(rest):
        raise PenstockError(
            f"{file}:{line}: the file ends inside a quoted field", "the file is cut off, or a quote is missing"
        )
    if rest:
        yield FileBlock(line, rest)


def count_lines(data: bytes) -> int:
    """Returns how many lines end in data. A lone carriage return ends one, too.

    >>> count_lines(b"a\\r\\nb\\rc\\n")
    3
    """
    lines = data.count(b"\n")
    return lines + data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else lines


def _pieces(file: Path) -> Iterator[bytes]:
    try:
        with pa.input_stream(str(file)) as content:
            first = bytes(content.read(BLOCK_BYTES)).removeprefix(BOM)
            for sign, what, hint in _NO_TEXT:
                if first.startswith(sign):
                    raise PenstockError(f"{file}: it is {what}, not text in UTF-8", hint)
            if not first and file.suffix in _PACKED and not file.stat().st_size:
                raise PenstockError(f"{file}: it is empty, and {file.suffix} files never are", "it is cut off")
            while first:
                yield first
                first = bytes(content.read(BLOCK_BYTES))
    except (OSError, pa.ArrowException) as error:
        raise PenstockError(f"{file}: it cannot be read: {error}", "the file is cut off or damaged") from error


def _hint(rest: bytes, quoting: Quoting | None) -> str:
    is_open = quoting is not None and quoting.is_open_at_end(rest)
    return "perhaps a quote is missing" if is_open else "is this the right format?"
