"""Vectorized user functions: Arrow arrays in and out.

Arrays are of the types that results have (`synopsis.codes.arrow_type`). The function gives each row its result by
itself. So where it raises, it is called again on halves of the rows, until the rows are found on which it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.user_functions import UserFunction
from penstock.masking import shortened
from penstock.operators.functions.calls import Answers, Invoke
from penstock.operators.functions.failures import Failure, Misfit
from penstock.operators.functions.values import reader
from penstock.operators.scalars.integers import narrowed
from penstock.operators.scalars.vectors import Batch, Vector, distinct, is_of_objects
from penstock.synopsis.codes import arrow_type, decode_column, double_codes, encode_column, is_interned
from penstock.synopsis.dictionary import Dictionary
from penstock.types import Kind, Type

#: Types without codes of a dictionary are encoded and decoded without one.
_NO_DICTIONARY = Dictionary()


def of_arrays(function: UserFunction) -> Invoke:
    """Calls a function of Arrow arrays."""

    def invoke(batch: Batch, args: Sequence[Vector], count: int) -> Answers:
        arrays = [_array(batch, arg, type_) for arg, type_ in zip(args, function.arguments, strict=True)]
        numbers = np.full(count, -1, np.int64)
        failures: list[Failure] = []
        pieces: list[pa.Array] = []
        pending = [(0, count)]
        while pending:
            start, end = pending.pop()
            some = [array.slice(start, end - start) for array in arrays]
            try:
                pieces.append(_checked(function.handle.function(*some), end - start, function.returns))
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if end - start > 1 and not isinstance(error, Misfit):
                    middle = (start + end) // 2
                    pending += [(middle, end), (start, middle)]
                    continue
                numbers[start:end] = len(failures)
                failures.append(Failure(function, tuple(array[0].as_py() for array in some), error))
                pieces.append(pa.nulls(end - start, arrow_type(function.returns)))
        return Answers(_vector(batch, pa.concat_arrays(pieces), function.returns), numbers, failures)

    return invoke


def _checked(result: Any, count: int, type_: Type) -> pa.Array:
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if not isinstance(result, pa.Array):
        raise Misfit(f"gave {type(result).__name__}, not a pyarrow.Array")
    if len(result) != count:
        raise Misfit(f"gave {len(result)} results for {count} rows")
    if result.type != arrow_type(type_):
        raise Misfit(f"gave an array of {result.type}, not of {arrow_type(type_)}")
    try:
        result.validate(full=True)
    except pa.ArrowInvalid as error:
        raise Misfit(f"gave an array that is not valid: {shortened(str(error), most=300)}") from error
    return result


def _array(batch: Batch, arg: Vector, type_: Type) -> pa.Array:
    """The Arrow array of a vector."""
    if type_.kind in (Kind.STRING, Kind.BINARY) or arg.data.dtype == object or is_interned(type_):
        return _array_of_values(batch, arg, type_)
    codes = double_codes(arg.data) if type_.kind is Kind.DOUBLE else arg.data.astype(np.int64, copy=False)
    return decode_column(codes, arg.nulls, type_, _NO_DICTIONARY)


def _array_of_values(batch: Batch, arg: Vector, type_: Type) -> pa.Array:
    """Each distinct value goes to Arrow once, and Arrow repeats it. Strings that hardly repeat go as they are."""
    if is_of_objects(arg.data, type_):
        return pa.array(arg.data, arrow_type(type_), mask=arg.nulls)
    live = slice(None) if arg.nulls is None else ~arg.nulls
    (some,), positions = distinct([arg.data[live]])
    read = reader(type_)
    values = batch.values(some, type_)
    array = pa.array(values if read is None else list(map(read, values)), arrow_type(type_))
    index = np.zeros(len(arg.data), np.int64)
    index[live] = positions
    return array.take(pa.array(index, mask=arg.nulls))


def _vector(batch: Batch, array: pa.Array, type_: Type) -> Vector:
    """The vector of an Arrow array."""
    nulls = np.asarray(array.is_null().to_numpy(zero_copy_only=False)) if array.null_count else None
    if is_interned(type_):
        coded = array.dictionary_encode()
        found = batch.vector([_unscaled(value, type_) for value in coded.dictionary.to_pylist()], type_)
        places = coded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        some = found.data if len(found.data) else np.zeros(1, np.int64)
        return Vector(narrowed(some[places]) if type_.kind is Kind.DECIMAL else some[places], nulls)
    codes, _ = encode_column(array, type_, _NO_DICTIONARY)
    match type_.kind:
        case Kind.BOOLEAN:
            return Vector(codes != 0, nulls)
        case Kind.DOUBLE:
            return Vector(codes.view(np.float64), nulls)
    return Vector(codes, nulls)


def _unscaled(value: Any, type_: Type) -> Any:
    if not isinstance(value, Decimal):
        return value
    assert type_.scale is not None
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return int("".join(map(str, digits))) * (-1 if sign else 1) * 10 ** (exponent + type_.scale)
