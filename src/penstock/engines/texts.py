"""Values as text, in csv and json: a text becomes a value, and a value a text, as a CAST makes it.

Arrow reads most columns at once. Where it reads a text that no CAST would read, or does not read one, the CAST itself
decides, so that a file means the same whoever reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from penstock.algebra.expressions import Cast, Column
from penstock.operators.scalars import compile_scalar
from penstock.synopsis.codes import arrow_type, decode_column, encode_column
from penstock.synopsis.deltas import assemble
from penstock.synopsis.dictionary import Dictionary
from penstock.types import STRING, Kind, Type

#: How csv files have NULL; the other way to write it is an empty field.
NULL_TEXT = "\\N"

#: Characters of a text that a message shows.
_MOST_SHOWN = 40


def values_of(texts: pa.Array, type_: Type) -> tuple[pa.Array, int | None]:
    """The values of texts, and the place of the first text that is none: there the value is NULL.

    >>> from penstock.types import BIGINT
    >>> values, wrong = values_of(pa.array(["7", None, " +8", "many"]), BIGINT)
    >>> values.to_pylist(), wrong
    ([7, None, 8, None], 3)
    """
    if type_.kind is Kind.STRING:
        return texts, None
    if type_.kind is Kind.BINARY:
        return texts.cast(pa.binary()), None
    quickly = _at_once(texts, type_)
    if quickly is not None:
        return quickly, None
    values = _cast(texts, STRING, type_)
    wrong = pc.and_(values.is_null(), texts.is_valid()).index(True).as_py()
    return values, None if wrong < 0 else wrong


def shortened(text: str) -> str:
    """A text as a message shows it: of a long one the beginning.

    >>> shortened("abc"), shortened("0123456789" * 10)
    ('abc', '0123456789012345678901234567890123456789...')
    """
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def texts_of(values: pa.Array, type_: Type) -> pa.Array:
    """Values as text. BINARY is text in UTF-8; what is none is NULL.

    >>> from penstock.types import DOUBLE
    >>> texts_of(pa.array([1.5, None, float("nan")]), DOUBLE).to_pylist()
    ['1.5', None, 'nan']
    """
    match type_.kind:
        case Kind.STRING:
            return values
        case Kind.INT | Kind.BIGINT | Kind.BOOLEAN:
            return values.cast(pa.string())
        case Kind.DOUBLE:
            return per_distinct(values, repr)
    return _cast(values, type_, STRING)


def per_distinct(values: pa.Array, text: Callable[[Any], str]) -> pa.Array:
    """The text of each value, asked for once per distinct value."""
    coded = values.dictionary_encode()
    return pa.array([text(value) for value in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)


#: What Arrow reads a column as, and the texts that it reads though a CAST does not, or reads otherwise.
_ARROW_READS: dict[Kind, tuple[pa.DataType | None, str]] = {
    Kind.BOOLEAN: (None, "$^"),
    Kind.INT: (None, "[xX]"),
    Kind.BIGINT: (None, "[xX]"),
    Kind.DECIMAL: (None, "[eE]"),
    Kind.DOUBLE: (None, "[(]"),
    Kind.DATE: (None, "$^"),
    Kind.TIMESTAMP: (pa.timestamp("us"), "^[^:]*$"),
}


def _at_once(texts: pa.Array, type_: Type) -> pa.Array | None:
    through, otherwise = _ARROW_READS[type_.kind]
    target = arrow_type(type_)
    try:
        values = texts.cast(through or target)
    except pa.ArrowInvalid:
        return None
    if otherwise != "$^" and pc.any(pc.match_substring_regex(texts, otherwise)).as_py():
        return None
    return values if values.type == target else values.cast(target)


def _cast(values: pa.Array, source: Type, target: Type) -> pa.Array:
    dictionary = Dictionary()
    column = Column("", "value", source)
    rows = assemble([encode_column(values, source, dictionary)], len(values))
    codes, nulls = compile_scalar(Cast(column, target), (column,))(rows, dictionary)
    return decode_column(codes, nulls, target, dictionary)
