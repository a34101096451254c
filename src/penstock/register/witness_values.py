"""Witnesses of values that are computed: a value that moves past stored rows, and a minimum that loses its group.

Both send whole numbers from 1 on. After N rows have come, the computed value takes N + 1 values one after the other;
from each to the next it passes one of the rows, or it shows one of the groups.
"""

from __future__ import annotations

from penstock.algebra.expressions import Column, Comparator
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.predicates import ColumnDifference, ColumnEquality, classify
from penstock.algebra.relations import Aggregate, Aggregation, AntiJoin, Join, SemiJoin, Stream, Unbounded, Window
from penstock.register.states import State
from penstock.register.witness_rows import RowMaker, WitnessRow

_RISING = (AggregateFunction.MAX, AggregateFunction.COUNT, AggregateFunction.SUM)
#: What makes a group's value larger, or smaller, than all others have been.
_FAR = 1_000_000


def moving_value(node: Join | SemiJoin | AntiJoin, state: State, size: int) -> list[WitnessRow]:
    """Rows of a stream that are compared with one aggregate of another: each is passed at an instant of its own."""
    windows = [below for below in node.inputs if isinstance(below, Window) and isinstance(below.spec, Unbounded)]
    values = [below for below in node.inputs if isinstance(below, Aggregate) and not below.keys]
    if not isinstance(node, Join) or len(node.inputs) != 2 or len(node.on) != 1 or not (windows and values):
        return []
    (kept,), (value,) = windows, values
    source, aggregation = _source(value, node.on[0], kept.stream)
    if kept.stream.occurrence != state.stream or source is None or aggregation is None:
        return []
    rising = aggregation.function is not AggregateFunction.MIN
    passed = _passed(classify(node.on[0]), kept.stream, rising)
    if passed is None:
        return []
    column, places = passed
    make = RowMaker({kept.stream.occurrence: kept.stream, source.occurrence: source}, ())
    found: list[WitnessRow] = []
    for item in range(size):
        below = item + 1 if rising else size - item
        found += make.rows(_one(kept.stream, {column: below + places}, item), item, item)
    for number in range(size + 1):
        reached = number + 1 if rising else size + 1 - number
        given = {} if not isinstance(aggregation.argument, Column) else {aggregation.argument: reached}
        if aggregation.function is AggregateFunction.SUM:
            given = dict.fromkeys(given, 1)
        found += make.rows(_one(source, given, size + number), number, None)
    return found


def changing_extreme(node: Aggregate, read: frozenset[Column], size: int) -> list[WitnessRow]:
    """A minimum of groups' values that may rise: as the least of them rises, the next one shows."""
    extreme = next((a for a in node.aggregations if a.column in read and a.function in _FARTHER), None)
    inner = node.input
    if extreme is None or node.keys or not isinstance(inner, Aggregate) or not isinstance(inner.input, Window):
        return []
    own = next((a for a in inner.aggregations if a.column == extreme.argument), None)
    stream, keys = inner.input.stream, [key.expr for key in inner.keys]
    leaving = _FARTHER[extreme.function]
    plain = own is not None and isinstance(own.argument, Column) and own.argument.type.is_integer and not own.distinct
    if own is None or not plain or own.function not in leaving or not isinstance(inner.input.spec, Unbounded):
        return []
    used = {own.argument, stream.timestamp}
    free = [key for key in keys if isinstance(key, Column) and key.type.is_integer and key not in used]
    if not free or len(free) < len(keys):
        return []
    least = extreme.function is AggregateFunction.MIN
    make = RowMaker({stream.occurrence: stream}, ())
    argument = own.argument
    assert isinstance(argument, Column)
    found: list[WitnessRow] = []
    for item in range(size):
        came = {**dict.fromkeys(free, item), argument: item + 1 if least else -item - 1}
        found += make.rows(_one(stream, came, item), item, item)
        gone = {**dict.fromkeys(free, item), argument: _FAR * (item + 1) * (1 if least else -1)}
        found += make.rows(_one(stream, gone, size + item), item, None)
    return found


#: The functions whose values may rise above, or fall below, what they have been, by the extreme that this changes.
_FARTHER = {
    AggregateFunction.MIN: (AggregateFunction.AVG, AggregateFunction.SUM, AggregateFunction.MAX),
    AggregateFunction.MAX: (AggregateFunction.AVG, AggregateFunction.SUM, AggregateFunction.MIN),
}


def _source(value: Aggregate, on: object, kept: Stream) -> tuple[Stream | None, Aggregation | None]:
    """The stream that an aggregate reads, and the aggregate that a predicate compares, if rows move it as they come."""
    below = value.input
    if not isinstance(below, Window) or not isinstance(below.spec, Unbounded):
        return None, None
    view = classify(on)  # type: ignore[arg-type]
    compared = {view.left, view.right} if isinstance(view, ColumnEquality | ColumnDifference) else set()
    found = next((a for a in value.aggregations if a.column in compared), None)
    if found is None or found.distinct or below.stream.name.lower() == kept.name.lower():
        return None, None
    argument = found.argument
    is_count = found.function is AggregateFunction.COUNT and argument is None
    whole = isinstance(argument, Column) and argument.type.is_integer and argument != below.stream.timestamp
    moves = is_count or (whole and found.function in (*_RISING, AggregateFunction.MIN))
    return (below.stream, found) if moves else (None, None)


def _passed(view: object, kept: Stream, rising: bool) -> tuple[Column, int] | None:
    """The column that is compared, and how far above n it lies if the predicate turns between n and n + 1."""
    match view:
        case ColumnEquality(left, right):
            column, op, constant = (left, Comparator.EQ, 0) if left in kept.schema else (right, Comparator.EQ, 0)
        case ColumnDifference(left, right, op, constant):
            column = left
            if left not in kept.schema:
                column, op, constant = right, op.mirrored, -constant
        case _:
            return None
    if column not in kept.schema or column == kept.timestamp or not column.type.is_integer:
        return None
    above = op in (Comparator.GT, Comparator.LE)
    if op is Comparator.EQ:
        return column, constant + (0 if rising else 1)
    return (column, constant + above) if op is not Comparator.NE else None


def _one(stream: Stream, given: dict[Column, int], at: int) -> dict[str, dict[str, int]]:
    values = {str(column): at for column in stream.schema if column.type.is_integer} | {str(stream.timestamp): at}
    return {stream.occurrence: {**values, **{str(column): value for column, value in given.items()}}}
