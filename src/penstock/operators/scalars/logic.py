"""Logic of three values, comparisons, and the choice between values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from penstock.algebra.expressions import Comparator
from penstock.operators.scalars.vectors import Batch, Data, Mask, Vector, VectorRule, distinct, either, total
from penstock.synopsis.codes import double_codes
from penstock.types import Kind, Type


def all_of(batch: Batch, args: Sequence[Vector]) -> Vector:
    """AND: true where all are, false where one is, else NULL."""
    certain, possible = is_true(args[0]), _may_be_true(args[0])
    for arg in args[1:]:
        # Without NULLs the two are one, and need be computed but once.
        alike = certain is possible and arg.nulls is None
        certain = certain & is_true(arg)
        possible = certain if alike else possible & _may_be_true(arg)
    return Vector(certain, None if certain is possible else possible & ~certain)


def any_of(batch: Batch, args: Sequence[Vector]) -> Vector:
    """OR, by De Morgan's law."""
    none = all_of(batch, [_not(arg) for arg in args])
    return _not(none)


def not_(batch: Batch, args: Sequence[Vector]) -> Vector:
    return _not(args[0])


def is_null(batch: Batch, args: Sequence[Vector]) -> Vector:
    nulls = args[0].nulls
    return Vector(np.zeros(1, np.bool_) if nulls is None else nulls)


def is_true(vector: Vector) -> Mask:
    """Where a BOOLEAN is neither false nor NULL."""
    return vector.data if vector.nulls is None else vector.data & ~vector.nulls


def comparison(op: Comparator, type_: Type) -> VectorRule:
    if op is Comparator.SAME:
        return lambda batch, args: _same(*(arg._replace(data=_identities(arg.data, type_)) for arg in args))
    compare = _COMPARISONS[op]
    if op in (Comparator.EQ, Comparator.NE):
        return total(lambda a, b: compare(_identities(a, type_), _identities(b, type_)))

    def ordered(batch: Batch, args: Sequence[Vector]) -> Vector:
        left, right = _orders(batch, args, type_)
        return Vector(compare(left, right), either(args[0].nulls, args[1].nulls))

    return ordered


def membership(type_: Type) -> VectorRule:
    """IN: as `arg = option OR ...`, but constant options are sought all at once."""

    def rule(batch: Batch, args: Sequence[Vector]) -> Vector:
        sought, *options = (arg._replace(data=_identities(arg.data, type_)) for arg in args)
        constants = [option for option in options if len(option.data) == 1]
        found = np.isin(sought.data, _known(constants))
        unknown = either(sought.nulls, *(option.nulls for option in options))
        for option in options:
            if len(option.data) > 1:
                found = found | is_true(Vector(option.data == sought.data, option.nulls))
        return Vector(found, _unknown_where(unknown, found, sought))

    return rule


def case(branches: int) -> VectorRule:
    """The parts are conditions, as many values, and the value where no condition is true."""

    def rule(batch: Batch, args: Sequence[Vector]) -> Vector:
        chosen = args[-1]
        for condition, value in zip(args[branches - 1 :: -1], args[-2 : branches - 1 : -1], strict=True):
            chosen = _choose(is_true(condition), value, chosen)
        return chosen

    return rule


def _coalesce(arguments: Sequence[Type], result: Type) -> VectorRule:
    def rule(batch: Batch, args: Sequence[Vector]) -> Vector:
        chosen = args[-1]
        for arg in args[-2::-1]:
            chosen = arg if arg.nulls is None else _choose(~arg.nulls, arg._replace(nulls=None), chosen)
        return chosen

    return rule


def _best(better: Callable[[Data, Data], Mask]) -> Callable[[Sequence[Type], Type], VectorRule]:
    """GREATEST and LEAST, which pass over NULLs."""

    def make(arguments: Sequence[Type], result: Type) -> VectorRule:
        def rule(batch: Batch, args: Sequence[Vector]) -> Vector:
            chosen, *others = args
            best, *orders = _orders(batch, args, result)
            for other, order in zip(others, orders, strict=True):
                takes = better(order, best)
                takes = takes if chosen.nulls is None else takes | chosen.nulls
                takes = takes if other.nulls is None else takes & ~other.nulls
                chosen, best = _choose(takes, other, chosen), np.where(takes, order, best)
            # The result of a choice between the zeros must not depend on which came first.
            return chosen._replace(data=chosen.data + 0.0) if result.kind is Kind.DOUBLE else chosen

        return rule

    return make


#: What makes the rule of a call from the types of its arguments and of its result.
FUNCTIONS: dict[str, Callable[[Sequence[Type], Type], VectorRule]] = {
    "GREATEST": _best(np.greater),
    "LEAST": _best(np.less),
    "COALESCE": _coalesce,
}

_COMPARISONS: dict[Comparator, Callable[[Data, Data], Mask]] = {
    Comparator.EQ: np.equal,
    Comparator.NE: np.not_equal,
    Comparator.LT: np.less,
    Comparator.LE: np.less_equal,
    Comparator.GT: np.greater,
    Comparator.GE: np.greater_equal,
}


def _may_be_true(vector: Vector) -> Mask:
    return vector.data if vector.nulls is None else vector.data | vector.nulls


def _not(vector: Vector) -> Vector:
    return Vector(~vector.data, vector.nulls)


def _choose(condition: Mask, value: Vector, other: Vector) -> Vector:
    nulls = None
    if value.nulls is not None or other.nulls is not None:
        nulls = np.where(condition, _mask(value), _mask(other))
    return Vector(np.where(condition, value.data, other.data), nulls)


def _mask(vector: Vector) -> Mask:
    return np.zeros(1, np.bool_) if vector.nulls is None else vector.nulls


def _same(left: Vector, right: Vector) -> Vector:
    equal = left.data == right.data
    if left.nulls is None and right.nulls is None:
        return Vector(equal)
    return Vector(np.where(_mask(left) | _mask(right), _mask(left) & _mask(right), equal))


def _known(constants: Sequence[Vector]) -> Data:
    """The constants that are not NULL, as one array."""
    known = [constant.data for constant in constants if not _mask(constant)[0]]
    return np.concatenate(known) if known else np.zeros(0, np.int64)


def _unknown_where(unknown: Mask | None, found: Mask, sought: Vector) -> Mask | None:
    """Where IN is NULL: nothing was found, and something was NULL; or nothing was sought."""
    if unknown is None:
        return None
    missing = unknown & ~found
    return missing if sought.nulls is None else missing | sought.nulls


def _identities(data: Data, type_: Type) -> Data:
    """Something that is equal where values of a type are."""
    return double_codes(data) if type_.kind is Kind.DOUBLE else data


def _orders(batch: Batch, args: Sequence[Vector], type_: Type) -> list[Data]:
    """Something that is in order where values of a type are."""
    if type_.kind in (Kind.STRING, Kind.BINARY):
        return _ranks(batch, args, type_)
    if type_.kind is Kind.DOUBLE:
        return [double_order(double_codes(arg.data)) for arg in args]
    return [arg.data for arg in args]


def double_order(bits: Data) -> Data:
    """IEEE's bits as integers in the order of the numbers, NaN last: below zero, larger bits are smaller numbers."""
    return np.asarray(bits ^ ((bits >> 63) & np.int64(2**63 - 1)))


def _ranks(batch: Batch, args: Sequence[Vector], type_: Type) -> list[Data]:
    """The ranks of strings among those that occur here, which are often few."""
    live = [slice(None) if arg.nulls is None else ~np.broadcast_to(arg.nulls, arg.data.shape) for arg in args]
    (some,), positions = distinct([np.concatenate([arg.data[where] for arg, where in zip(args, live, strict=True)])])
    values = batch.values(some, type_)
    ranks = np.empty(len(values), np.int64)
    ranks[sorted(range(len(values)), key=values.__getitem__)] = np.arange(len(values))
    ends = np.cumsum([len(arg.data[where]) for arg, where in zip(args, live, strict=True)])
    orders = []
    for arg, where, found in zip(args, live, np.split(ranks[positions], ends[:-1]), strict=True):
        order = np.zeros(arg.data.shape, np.int64)
        order[where] = found
        orders.append(order)
    return orders
