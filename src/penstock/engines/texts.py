"""Values as text, in csv and json: a text becomes a value, and a value a text, as a CAST makes it.

Arrow reads most columns at once. Where it reads a text that no CAST would read, or does not read one, the CAST itself
decides, so that every engine reads the same values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from penstock.algebra.expressions import Column, cast_in
from penstock.algebra.zones import DEFAULT
from penstock.operators.scalars import compile_scalar
from penstock.operators.scalars.clocks import clocks_of
from penstock.synopsis.codes import arrow_type, decode_column, encode_column
from penstock.synopsis.deltas import assemble
from penstock.synopsis.dictionary import Dictionary
from penstock.types import SECOND, STRING, TIMESTAMP, Kind, Type

#: How csv files have NULL; the other way to write it is an empty field.
NULL_TEXT = "\\N"


def values_of(texts: pa.Array, type_: Type, zone: str = DEFAULT) -> tuple[pa.Array, int | None]:
    """Returns the values of texts, and the place of the first text that is none: there the value is NULL.

    Times that do not name a zone are what the clocks of `zone` show.

    >>> from penstock.types import BIGINT
    >>> values, wrong = values_of(pa.array(["7", None, " +8", "many"]), BIGINT)
    >>> values.to_pylist(), wrong
    ([7, None, 8, None], 3)
    """
    if type_.kind is Kind.STRING:
        return texts, None
    if type_.kind is Kind.BINARY:
        return texts.cast(pa.binary()), None
    quickly = _at_once(texts, type_, zone)
    if quickly is not None:
        return quickly, None
    values = _cast(texts, STRING, type_, zone)
    wrong = pc.and_(values.is_null(), texts.is_valid()).index(True).as_py()
    return values, None if wrong < 0 else wrong


def texts_of(values: pa.Array, type_: Type, zone: str = DEFAULT) -> pa.Array:
    """Returns values as text. BINARY is text in UTF-8; other bytes are NULL.

    A TIMESTAMP is text in UTC; for queries of another `zone` it ends in Z.

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
        case Kind.TIMESTAMP if zone != DEFAULT:
            return pc.binary_join_element_wise(_cast(values, type_, STRING), "Z", "")
    return _cast(values, type_, STRING)


def per_distinct(values: pa.Array, text: Callable[[Any], str]) -> pa.Array:
    """Returns the text of each value, asked for once per distinct value."""
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


def _at_once(texts: pa.Array, type_: Type, zone: str) -> pa.Array | None:
    through, otherwise = _ARROW_READS[type_.kind]
    target = arrow_type(type_)
    try:
        values = texts.cast(through or target)
    except pa.ArrowInvalid:
        return None
    if otherwise != "$^" and pc.any(pc.match_substring_regex(texts, otherwise)).as_py():
        return None
    if values.type == target:
        return values
    return in_zone(values, zone) if type_.kind is Kind.TIMESTAMP else values.cast(target)


def in_zone(shown: pa.Array, zone: str) -> pa.Array:
    """Returns the instants at which the clocks of a zone show times, which are an Arrow array of times without a zone.

    >>> in_zone(pa.array([0], pa.timestamp("us")), "+01:00").cast(pa.int64()).to_pylist()
    [-3600000000]
    """
    target = arrow_type(TIMESTAMP)
    if zone == DEFAULT:
        return shown.cast(target)
    times = shown.cast(pa.timestamp("us")).cast(pa.int64())
    seconds, micros = np.divmod(times.fill_null(0).to_numpy(zero_copy_only=False), SECOND)
    found = clocks_of(zone).seconds(seconds) * SECOND + micros
    mask = times.is_null().to_numpy(zero_copy_only=False) if times.null_count else None
    return pa.array(found, pa.int64(), mask=mask).cast(target)


def _cast(values: pa.Array, source: Type, target: Type, zone: str = DEFAULT) -> pa.Array:
    dictionary = Dictionary()
    column = Column("", "value", source)
    rows = assemble([encode_column(values, source, dictionary)], len(values))
    codes, nulls = compile_scalar(cast_in(column, target, zone), (column,))(rows, dictionary)
    return decode_column(codes, nulls, target, dictionary)
