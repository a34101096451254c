"""Calls of user functions as rules over vectors.

A function of values is called once for each combination of arguments that occurs in a batch, or once per row where
arguments hardly repeat; one of Arrow arrays (`arrays`) is called with all rows at once. Either way it is called only on
the rows that want its result (`failures.Calls`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np

from penstock.algebra.user_functions import OnError, OnNull, UserFunction
from penstock.operators.functions.failures import Failure, Misfit
from penstock.operators.functions.values import plain_types, reader, writer
from penstock.operators.scalars.vectors import Batch, Data, Mask, Vector, VectorRule, distinct, either, is_of_objects
from penstock.synopsis.codes import double_codes
from penstock.synopsis.memory import Ints
from penstock.types import Kind, Type

#: So many rows tell whether arguments repeat.
SAMPLE = 256

_NO_NUMBERS = np.zeros(0, np.int64)


class Answers(NamedTuple):
    """What calls gave for rows: results, and if some failed, of each row the number of its failure, or -1."""

    results: Vector
    numbers: Ints = _NO_NUMBERS
    failures: Sequence[Failure] = ()


#: What calls a function on rows, of which these are the arguments.
Invoke = Callable[[Batch, Sequence[Vector], int], Answers]


def rule_of(function: UserFunction, invoke: Invoke) -> VectorRule:
    """The rule of a call, which is NULL on rows on which it was not called or failed."""

    def rule(batch: Batch, args: Sequence[Vector]) -> Vector:
        is_constant = all(len(arg.data) == 1 for arg in args)
        length = min(1, len(batch)) if is_constant else len(batch)
        asked = _asked(function, batch, args, length)
        rows = None if asked is None or asked.all() else np.flatnonzero(asked)
        count = length if rows is None else len(rows)
        if not count:
            return batch.vector([None], function.returns)
        given = [_of_rows(arg, rows, length, type_) for arg, type_ in zip(args, function.arguments, strict=True)]
        with np.errstate(divide="warn", over="warn", invalid="warn"):
            answers = invoke(batch, given, count)
        if answers.failures:
            wanted = batch.calls.wanted() if is_constant else asked
            _note(batch, function, np.arange(len(batch)) if wanted is None else np.flatnonzero(wanted), answers)
        return _spread(answers.results, rows, length)

    return rule


def _asked(function: UserFunction, batch: Batch, args: Sequence[Vector], length: int) -> Mask | None:
    """The rows on which a function is called; None means all. If its arguments are constants, one stands for all."""
    wanted = batch.calls.wanted()
    if wanted is not None and length != len(batch):
        wanted = np.array([wanted.any()])
    nulls = either(*(arg.nulls for arg in args)) if function.on_null is OnNull.SKIP else None
    if nulls is None:
        return wanted
    known: Mask = np.broadcast_to(~nulls, (length,))
    return known if wanted is None else wanted & known


def of_values(function: UserFunction) -> Invoke:
    """Calls a function of values."""
    readers = [reader(type_) for type_ in function.arguments]
    write, plain, call = writer(function.returns), plain_types(function.returns), function.handle.function

    def invoke(batch: Batch, args: Sequence[Vector], count: int) -> Answers:
        some, places = _combinations(args, function.arguments, count)
        values = [_values(batch, arg, type_) for arg, type_ in zip(some, function.arguments, strict=True)]
        columns, are_read = _read_columns(values, readers)
        calls = len(columns[0]) if columns else 1
        results, errors = _results(call if are_read else _reading(call, readers), columns, calls)
        if not plain.issuperset(map(type, results)):
            results = _written(results, write, errors)
        found = batch.vector(results, function.returns)
        if places is not None:
            found = Vector(found.data[places], None if found.nulls is None else found.nulls[places])
        if not errors:
            return Answers(found)
        numbers = np.full(calls, -1, np.int64)
        numbers[list(errors)] = range(len(errors))
        failures = [
            Failure(function, _shown(tuple(column[place] for column in columns), readers, are_read), error)
            for place, error in errors.items()
        ]
        return Answers(found, numbers if places is None else numbers[places], failures)

    return invoke


Readers = Sequence[Callable[[Any], Any] | None]


def _read_columns(columns: Sequence[list[Any]], readers: Readers) -> tuple[Sequence[list[Any]], bool]:
    """The arguments of all rows, and whether they are Python values: if one has none, each row is read by itself."""
    try:
        return [
            column if one is None else [_read_one(v, one) for v in column]
            for column, one in zip(columns, readers, strict=True)
        ], True
    except Misfit:
        return columns, False


def _reading(call: Callable[..., Any], readers: Readers) -> Callable[..., Any]:
    """The function of arguments that are not read yet."""
    return lambda *row: call(*_read(row, readers))


def _results(
    call: Callable[..., Any], columns: Sequence[list[Any]], count: int
) -> tuple[list[Any], dict[int, BaseException]]:
    """What a function gives for each row, None where it fails, and what it raised there, by row.

    The loop is `list.extend`'s, which keeps what it has when a call raises, and `map` goes on behind that row.
    """
    results: list[Any] = []
    errors: dict[int, BaseException] = {}
    calls = map(call, *columns) if columns else starmap(call, [()])
    while len(results) < count:
        try:
            results.extend(calls)
            if len(results) < count:
                # A loop takes StopIteration for its end, and keeps nothing of it: the row is asked once more.
                results.append(call(*(column[len(results)] for column in columns)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            errors[len(results)] = error
            results.append(None)
    return results, errors


def _written(results: Sequence[Any], write: Callable[[Any], Any], errors: dict[int, BaseException]) -> list[Any]:
    """The results as a vector has them, None where one is not of the declared type: that is noted."""
    written: list[Any] = []
    for place, result in enumerate(results):
        try:
            written.append(None if result is None else write(result))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            errors[place] = error
            written.append(None)
    return written


def _shown(row: tuple[Any, ...], readers: Readers, is_read: bool) -> tuple[Any, ...]:
    """The arguments of a row as Python values, if they have any."""
    try:
        return row if is_read else _read(row, readers)
    except Misfit:
        return row


def _read(row: tuple[Any, ...], readers: Readers) -> tuple[Any, ...]:
    return tuple(value if one is None else _read_one(value, one) for value, one in zip(row, readers, strict=True))


def _read_one(value: Any, read: Callable[[Any], Any]) -> Any:
    return None if value is None else read(value)


def _values(batch: Batch, arg: Vector, type_: Type) -> list[Any]:
    if arg.nulls is None:
        return batch.values(arg.data, type_)
    live = batch.values(arg.data[~arg.nulls], type_)
    there = iter(live)
    return [None if null else next(there) for null in arg.nulls.tolist()]


def _combinations(args: Sequence[Vector], types: Sequence[Type], count: int) -> tuple[Sequence[Vector], Ints | None]:
    """The distinct combinations of arguments, and the number of each row's; None if all rows are taken as they are."""
    columns = [column for arg in args for column in (arg.data, arg.nulls) if column is not None]
    if not columns:
        return args, np.zeros(count, np.int64)
    if any(is_of_objects(arg.data, type_) for arg, type_ in zip(args, types, strict=True)):
        return args, None  # strings that hardly repeat
    first = [column[:SAMPLE].tolist() for column in columns]
    if len(set(first[0] if len(first) == 1 else zip(*first, strict=True))) == min(count, SAMPLE):
        return args, None
    found, places = distinct(columns)
    parts = iter(found)
    return [Vector(next(parts), None if arg.nulls is None else next(parts)) for arg in args], places


def _of_rows(arg: Vector, rows: Ints | None, length: int, type_: Type) -> Vector:
    """A vector of some rows, or of all, with nothing where it is NULL, and of zeros just one."""
    data, nulls = _picked(arg.data, rows, length), None if arg.nulls is None else _picked(arg.nulls, rows, length)
    if type_.kind is Kind.DOUBLE:
        data = double_codes(data).view(np.float64)
    if nulls is None or not nulls.any():
        return Vector(data)
    if is_of_objects(data, type_):
        return Vector(data, nulls)
    return Vector(np.where(nulls, np.zeros(1, data.dtype), data), nulls)


def _picked(data: Data, rows: Ints | None, length: int) -> Data:
    whole = data if len(data) == length else np.broadcast_to(data, (length,))
    return whole if rows is None else whole[rows]


def _note(batch: Batch, function: UserFunction, rows: Ints, answers: Answers) -> None:
    """Notes the rows that are NULL because a call failed, and those that fail the query."""
    numbers = np.broadcast_to(answers.numbers, rows.shape)
    nulled = function.on_error is OnError.NULL
    tolerated = np.array([nulled and not isinstance(failure.cause, Misfit) for failure in answers.failures])
    failed = numbers >= 0
    fails, is_null = failed & ~tolerated[numbers], failed & tolerated[numbers]
    if is_null.any():
        batch.calls.note_nulled(rows[is_null])
    if fails.any():
        batch.calls.note(rows[fails], numbers[fails], answers.failures)


def _spread(found: Vector, rows: Ints | None, length: int) -> Vector:
    """A vector of all rows, NULL where there is no result."""
    if rows is None:
        return found
    data = np.zeros(length, found.data.dtype)
    nulls = np.ones(length, np.bool_)
    data[rows] = found.data
    nulls[rows] = False if found.nulls is None else found.nulls
    return Vector(data, nulls)
