"""Vectors: a column of values on its way through an expression, and the batch of rows that it comes from.

Inside an expression values are in the form that numpy computes with:

| type                               | data                                                                    |
| ---------------------------------- | ----------------------------------------------------------------------- |
| BOOLEAN                            | bool                                                                    |
| DOUBLE                             | float64, in which -0.0 may occur                                        |
| DECIMAL                            | unscaled integers: int64, or Python's in an object array if one is long |
| STRING, BINARY                     | codes of the batch; as arguments of user functions perhaps objects      |
| all others                         | int64                                                                   |

A constant is a vector of one row, which numpy stretches. What stands where a value is NULL means nothing: it need not
even be a code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.expressions import Value
from penstock.operators.filters.columns import Columns
from penstock.operators.functions.failures import Calls
from penstock.operators.scalars.integers import narrowed
from penstock.synopsis.codes import Nulls, double_codes, is_interned
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.types import Kind, Type

Data = NDArray[Any]
Mask = NDArray[np.bool_]


class Vector(NamedTuple):
    data: Data
    nulls: Nulls = None


#: What computes a vector from a batch: a compiled expression.
Evaluate = Callable[["Batch"], Vector]
#: What an expression does with the vectors of its parts.
VectorRule = Callable[["Batch", Sequence[Vector]], Vector]

_DTYPES: dict[Kind, type] = {Kind.BOOLEAN: np.bool_, Kind.DOUBLE: np.float64}


class Batch:
    """Rows of columns, all or some by number, and the strings that occur while an expression is computed on them."""

    def __init__(self, columns: Columns, dictionary: Dictionary, some: Ints | None = None) -> None:
        self._columns = columns
        self._dictionary = dictionary
        self._some = some
        self._strings = columns.strings(dictionary)
        #: What user functions do on these rows.
        self.calls = Calls(len(self))

    def __len__(self) -> int:
        return len(self._columns) if self._some is None else len(self._some)

    def column(self, position: int, type_: Type) -> Vector:
        codes, nulls = self._columns.column(position, self._some)
        match type_.kind:
            case Kind.BOOLEAN:
                return Vector(codes != 0, nulls)
            case Kind.DOUBLE:
                return Vector(codes.view(np.float64), nulls)
            case Kind.DECIMAL if is_interned(type_):
                return Vector(_spread(codes, nulls, self._long_integers), nulls)
        return Vector(codes, nulls)

    def argument(self, position: int, type_: Type) -> Vector:
        """The column, for who only asks for its `values`: of strings that differ it has objects, not codes."""
        if type_.kind in (Kind.STRING, Kind.BINARY):
            return Vector(*self._columns.arguments(position, self._some))
        return self.column(position, type_)

    def array(self, position: int) -> Any:
        """The Arrow array of a column, if the rows are still columns of an Arrow batch; else None."""
        return self._columns.array(position, self._some)

    def values(self, data: Data, type_: Type) -> list[Any]:
        """The Python values of data without NULLs; of a DECIMAL the unscaled integer."""
        if type_.kind not in (Kind.STRING, Kind.BINARY) or is_of_objects(data, type_):
            return list(data.tolist())
        return self._strings.values(data)

    def vector(self, values: Sequence[Any], type_: Type) -> Vector:
        """The vector of Python values, of which None is NULL; of a DECIMAL they are unscaled integers."""
        if type_.kind not in (Kind.STRING, Kind.BINARY):
            return vector_of(values, type_)
        codes = np.array([0 if value is None else self._strings.code(value) for value in values], np.int64)
        return Vector(codes, _missing(values))

    def codes(self, vector: Vector, type_: Type) -> tuple[Ints, Nulls]:
        """The vector as a column of codes that outlive the batch."""
        nulls = None if vector.nulls is None or not vector.nulls.any() else self._stretched(vector.nulls)
        codes = self._stretched(self._lasting(vector, type_))
        return codes if nulls is None else np.where(nulls, 0, codes), nulls

    def _lasting(self, vector: Vector, type_: Type) -> Ints:
        data = vector.data
        if type_.kind is Kind.DOUBLE:
            return double_codes(data)
        if is_interned(type_) and (type_.kind is Kind.DECIMAL or self._strings):
            return _spread(data, vector.nulls, lambda some: self._dictionary.encode(self.values(some, type_)))
        return data.astype(np.int64, copy=False)

    def _long_integers(self, codes: Ints) -> Data:
        return narrowed(np.array(self._strings.values(codes), object))

    def _stretched(self, data: Data) -> Data:
        return data if len(data) == len(self) else np.repeat(data, len(self))


def is_of_objects(data: Data, type_: Type) -> bool:
    """Whether these are strings as objects, which only arguments of user functions are."""
    return data.dtype == object and type_.kind in (Kind.STRING, Kind.BINARY)


def constant(value: Value, type_: Type) -> Evaluate:
    if type_.kind in (Kind.STRING, Kind.BINARY):
        # Looked up in each batch anew: that costs as little as a cache would, and cannot be stale.
        return lambda batch: batch.vector([value], type_)
    if isinstance(value, Decimal):
        assert type_.scale is not None
        value = int(Fraction(value) * 10**type_.scale)
    vector = vector_of([value], type_)
    return lambda batch: vector


def vector_of(values: Sequence[Any], type_: Type) -> Vector:
    if type_.kind is Kind.BOOLEAN:
        return _booleans(values)
    nulls = _missing(values)
    filled = values if nulls is None else [0 if value is None else value for value in values]
    if type_.kind is Kind.DECIMAL:
        return Vector(narrowed(np.array(filled, object)), nulls)
    return Vector(np.array(filled, _DTYPES.get(type_.kind, np.int64)), nulls)


def _booleans(values: Sequence[Any]) -> Vector:
    try:
        # In half of the time that `np.array` takes.
        return Vector(np.frombuffer(bytes(values), np.bool_))
    except TypeError:  # None is not a byte
        return Vector(np.frombuffer(bytes(map(bool, values)), np.bool_), _missing(values))


def either(*masks: Nulls) -> Nulls:
    """Where one of the masks is set."""
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    union = given[0]
    for mask in given[1:]:
        union = union | mask
    return union


def strict(function: Callable[..., Vector]) -> VectorRule:
    """The rule of a function that is NULL where an argument is. It takes data, and may find more NULLs by itself."""

    def rule(batch: Batch, args: Sequence[Vector]) -> Vector:
        result = function(*(arg.data for arg in args))
        return Vector(result.data, either(result.nulls, *(arg.nulls for arg in args)))

    return rule


def total(function: Callable[..., Data]) -> VectorRule:
    """The rule of a strict function that has a result for all arguments."""
    return strict(lambda *data: Vector(function(*data)))


def per_distinct(function: Callable[..., Any], arguments: Sequence[Type], result: Type) -> VectorRule:
    """The rule of a strict function of Python values, called once for each combination of arguments that occurs."""
    return over_distinct(lambda *columns: list(map(function, *columns)), arguments, result)


def over_distinct(function: Callable[..., list[Any]], arguments: Sequence[Type], result: Type) -> VectorRule:
    """The same of a function of lists of Python values."""

    def rule(batch: Batch, args: Sequence[Vector]) -> Vector:
        nulls = either(*(arg.nulls for arg in args))
        columns = np.broadcast_arrays(*(arg.data for arg in args), *([] if nulls is None else [nulls]))
        columns = columns[: len(args)]
        live = slice(None) if nulls is None else ~np.broadcast_to(nulls, columns[0].shape)
        some, positions = distinct([column[live] for column in columns])
        values = [batch.values(data, type_) for data, type_ in zip(some, arguments, strict=True)]
        found = batch.vector(function(*values), result)
        return Vector(
            _scattered(found.data[positions], live, columns[0].shape),
            either(nulls, None if found.nulls is None else _scattered(found.nulls[positions], live, columns[0].shape)),
        )

    return rule


def distinct(columns: Sequence[Data]) -> tuple[list[Data], Ints]:
    """The distinct rows of columns, and for each row the number of the one that is like it."""
    first, positions = _distinct(columns[0])
    for column in columns[1:]:
        own_first, own = _distinct(column)
        first, positions = _distinct(positions * len(own_first) + own)
    return [column[first] for column in columns], positions


def _distinct(data: Data) -> tuple[Ints, Ints]:
    """Where each distinct value occurs, and for each value the number of its own."""
    # As bits, for NaN is not NaN.
    keys = np.ascontiguousarray(data).view(np.int64) if data.dtype == np.float64 else data
    if keys.dtype == np.int64 and len(keys):
        low, high = int(keys.min()), int(keys.max())
        if high - low <= 4 * len(keys) + 1000:
            return _distinct_dense(keys - low, high - low + 1)
    _, first, positions = np.unique(keys, return_index=True, return_inverse=True)
    return first, positions


def _distinct_dense(keys: Ints, count: int) -> tuple[Ints, Ints]:
    """As above for keys from 0 to `count`, without sorting them."""
    table = np.full(count, -1, np.int64)
    table[keys] = np.arange(len(keys))
    present = np.flatnonzero(table >= 0)
    where = table[present]
    table[present] = np.arange(len(present))
    return where, table[keys]


def _spread(data: Data, nulls: Nulls, convert: Callable[[Data], Data]) -> Data:
    """What `convert` makes of each distinct value of the data that is not NULL."""
    live = slice(None) if nulls is None else ~np.broadcast_to(nulls, data.shape)
    (some,), positions = distinct([data[live]])
    return _scattered(convert(some)[positions], live, data.shape)


def _scattered(data: Data, live: slice | Mask, shape: tuple[int, ...]) -> Data:
    if isinstance(live, slice):
        return data
    whole = np.zeros(shape, data.dtype)
    whole[live] = data
    return whole


def _missing(values: Sequence[Any]) -> Nulls:
    return np.array([value is None for value in values], np.bool_) if None in values else None
