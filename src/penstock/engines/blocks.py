"""A text file, perhaps compressed, in blocks of whole rows, so that it is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.errors import PenstockError

BLOCK_BYTES = 1 << 21

#: A row that is longer is a mistake.
MOST_BYTES = 1 << 26

_BOM = b"\xef\xbb\xbf"

_COMPRESSED = "unpack it, or give it a name that says how it is compressed, as in .gz"
#: How files start that are something else.
_NO_TEXT = (
    (b"\xff\xfe", "UTF-16", "save the file as UTF-8"),
    (b"\xfe\xff", "UTF-16", "save the file as UTF-8"),
    (b"\x1f\x8b", "compressed by gzip", _COMPRESSED),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", _COMPRESSED),
    (b"PAR1", "a parquet file", "write USING parquet"),
)


@dataclass(frozen=True, slots=True)
class FileBlock:
    #: The line on which it starts, from 1.
    line: int
    data: bytes


def blocks(file: Path, quote: bytes | None = None) -> Iterator[FileBlock]:
    """Yields the blocks of a file. Between two quotes a line may end without an end of the row."""
    line, rest = 1, b""
    for data in _pieces(file):
        together = rest + data
        end = _row_end(together, quote)
        if end:
            block = FileBlock(line, together[:end])
            line += count_lines(block.data)
            yield block
        rest = together[end:]
        if len(rest) > MOST_BYTES:
            raise PenstockError(f"{file}:{line}: a row of more than {MOST_BYTES >> 20} MB", _hint(rest, quote))
    if quote is not None and rest.count(quote) % 2:
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
            first = bytes(content.read(BLOCK_BYTES)).removeprefix(_BOM)
            for sign, what, hint in _NO_TEXT:
                if first.startswith(sign):
                    raise PenstockError(f"{file}: it is {what}, not text in UTF-8", hint)
            while first:
                yield first
                first = bytes(content.read(BLOCK_BYTES))
    except (OSError, pa.ArrowException) as error:
        raise PenstockError(f"{file}: it cannot be read: {error}", "the file is cut off or damaged") from error


def _row_end(data: bytes, quote: bytes | None) -> int:
    """Returns the place behind the last row that is whole, or 0.

    >>> _row_end(b'1,a', b'"'), _row_end(b'1,a\\n2', b'"'), _row_end(b'1,a\\n2,"b\\nc', b'"')
    (0, 4, 4)
    """
    end = data.rfind(b"\n") + 1
    if quote is None or not end:
        return end
    quotes = data.count(quote, 0, end)
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        quotes -= data.count(quote, before, end)
        end = before
    return end


def _hint(rest: bytes, quote: bytes | None) -> str:
    return "perhaps a quote is missing" if quote is not None and quote in rest else "is this the right format?"
