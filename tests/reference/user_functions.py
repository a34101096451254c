"""User functions: called with Python values, one row at a time."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.algebra.user_functions import OnError, OnNull, UserFunction
from penstock.types import Kind, Type
from tests.reference.values import Value

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
ARROW = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
    Kind.DATE: pa.date32(),
}


def call_user(function: UserFunction, args: tuple[Value, ...]) -> Value:
    if function.on_null is OnNull.SKIP and None in args:
        return None
    given = [_python(value, type_) for value, type_ in zip(args, function.arguments, strict=True)]
    try:
        result = _on_arrays(function, given) if function.vectorized else function.handle.function(*given)
    except Exception:
        if function.on_error is OnError.NULL:
            return None
        raise
    return _own(result, function.returns)


def _on_arrays(function: UserFunction, given: list[Any]) -> Any:
    arrays = [pa.array([value], _arrow(type_)) for value, type_ in zip(given, function.arguments, strict=True)]
    return function.handle.function(*arrays)[0].as_py()


def _arrow(type_: Type) -> pa.DataType:
    return pa.decimal128(type_.precision, type_.scale) if type_.kind is Kind.DECIMAL else ARROW[type_.kind]


def _python(value: Value, type_: Type) -> Any:
    match value:
        case int() if type_.kind is Kind.TIMESTAMP:
            return EPOCH + dt.timedelta(microseconds=value)
        case int() if type_.kind is Kind.DATE:
            return EPOCH.date() + dt.timedelta(days=value)
        case float():
            return value + 0.0  # there is one zero
    return value


def _own(result: Any, type_: Type) -> Value:
    match result:
        case dt.datetime():
            return (result - EPOCH) // dt.timedelta(microseconds=1)
        case dt.date():
            return (result - EPOCH.date()).days
        case Decimal():
            assert type_.scale is not None
            return result.quantize(Decimal(1).scaleb(-type_.scale))
        case None | bool() | int() | float() | str() | bytes():
            return result
    raise AssertionError(f"no value: {result!r}")
