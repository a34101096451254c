"""Aggregates that are composed of the others, so that every engine has them and what they keep is bounded alike.

    MAX_BY(x, y)               the x in the greatest (y, x): MAX of a sort key of both, of which x is read again
    FIRST(x), LAST(x)          MIN_BY and MAX_BY of the stream's time
    APPROX_COUNT_DISTINCT(x)   each value draws a coupon by its hash; how many different coupons there are tells how
                               many values (Lang: Back to the Future, the ICON estimator). At most 64 * 2^bits are kept
    VARIANCE(x), STDDEV(x)     of exact sums of the values and of their squares, each in terms without rounding errors
    COUNT_IF(c)                COUNT of the rows for which c is true

Among rows with the same y, the greatest x is MAX_BY's and the least MIN_BY's: no result depends on the order of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock import types
from penstock.algebra.expressions import Call, Case, Column, Expr, IsNull, Literal, Value
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.relations import Window, walk_relations
from penstock.sql.coercion import widen
from penstock.sql.scalars import bind_predicate, bind_scalar
from penstock.sql.syntax import Tree
from penstock.types import BIGINT, BOOLEAN, DOUBLE, INT, Kind, Type

if TYPE_CHECKING:
    from penstock.sql.grouping import Grouping

#: Bits of the number of rows of coupons, and the error that they leave: 0.6931 / sqrt(2^bits).
_BITS = 8
_ERROR = math.log(2)
_LEAST_BITS, _MOST_BITS = 4, 14

_SOME: dict[Kind, Value] = {
    Kind.BOOLEAN: False,
    Kind.DOUBLE: 0.0,
    Kind.DECIMAL: Decimal(0),
    Kind.STRING: "",
    Kind.BINARY: b"",
}


def compose(grouping: Grouping, call: exp.Anonymous, condition: Tree | None) -> Expr:
    """The expression over the grouping's aggregates that a call stands for."""
    arguments = call.expressions
    if any(isinstance(argument, exp.Distinct) for argument in arguments):
        hint = "COUNT, SUM, AVG, MIN and MAX do; of others take the rows of (SELECT DISTINCT ...)"
        grouping.below.fail(f"{call.name.upper()} takes no DISTINCT", hint, call)
    name = call.name.upper()
    least, most, usage, composed = _COMPOSED[name]
    if not least <= len(arguments) <= most:
        grouping.below.fail(f"{name} does not take {len(arguments)} arguments", f"write {usage}", call)
    if any(isinstance(argument, exp.Star) for argument in arguments):
        grouping.below.fail(f"{name} takes a column, not *", f"write {usage}", call)
    given = [bind_scalar(argument, grouping.below) for argument in arguments]
    for place, expr in enumerate(given):
        if expr.type in (types.INTERVAL, types.NULL):
            grouping.below.fail(f"{name} does not take {expr.type}", f"write {usage}", arguments[place])
    if condition is not None:
        given[0] = _where(bind_predicate(condition, grouping.below), given[0])
        if name in _BY:
            given[1:] = [_where(bind_predicate(condition, grouping.below), by) for by in given[1:]]
    return composed(grouping, call, given)


def _where(condition: Expr, value: Expr) -> Expr:
    return Case((condition,), (value,), Literal(None, value.type))


def _extreme_by(function: AggregateFunction) -> Callable[[Grouping, exp.Anonymous, list[Expr]], Expr]:
    def composed(grouping: Grouping, call: exp.Anonymous, given: list[Expr]) -> Expr:
        value, by = given
        without = Call("_SORT_KEY", (by,))
        key = Case((IsNull(value),), (without,), Call("_SORT_KEY", (by, value)))
        best = grouping.column_of(function, key)
        return Call("_SORTED_VALUE", (best, _some(value.type)))

    return composed


def _by_time(function: AggregateFunction) -> Callable[[Grouping, exp.Anonymous, list[Expr]], Expr]:
    def composed(grouping: Grouping, call: exp.Anonymous, given: list[Expr]) -> Expr:
        times = _times(grouping)
        if len(times) != 1:
            extreme = "MIN_BY" if function is AggregateFunction.MIN else "MAX_BY"
            hint = f"write {extreme}(value, time)"
            grouping.below.fail(f"{call.name.upper()} is by the time of one stream in FROM", hint, call)
        (value,) = given
        time: Expr = times[0]
        if isinstance(value, Case) and value.otherwise == Literal(None, value.type) and call.parent is not None:
            time = _where(value.conditions[0], time) if isinstance(call.parent, exp.Filter) else time
        return _extreme_by(function)(grouping, call, [value, time])

    return composed


def _times(grouping: Grouping) -> list[Column]:
    """The times of the streams whose rows are grouped."""
    windows = [node for node in walk_relations(grouping.source) if isinstance(node, Window)]
    return [window.stream.timestamp for window in windows if window.stream.timestamp in grouping.columns]


def _some(type_: Type) -> Literal:
    """A value of a type, which says of which type the result is."""
    return Literal(_SOME.get(type_.kind, 0), type_)


def _count_distinct(grouping: Grouping, call: exp.Anonymous, given: list[Expr]) -> Expr:
    bits = Literal(_bits(grouping, call, given[1]) if len(given) > 1 else _BITS, INT)
    coupon = Call("_COUPON", (given[0], bits))
    coupons = grouping.column_of(AggregateFunction.COUNT, coupon, distinct=True)
    return Call("_ESTIMATE", (coupons, bits))


def _bits(grouping: Grouping, call: exp.Anonymous, error: Expr) -> int:
    value = error.value if isinstance(error, Literal) else None
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or not 0 < float(value) < 1:
        hint = "for example 0.05: the standard deviation of the relative error"
        grouping.below.fail("the error of APPROX_COUNT_DISTINCT is a number between 0 and 1", hint, call)
    bits = math.ceil(2 * math.log2(_ERROR / float(value)))
    if bits > _MOST_BITS:
        least = _ERROR / 2 ** (_MOST_BITS / 2)
        grouping.below.fail(f"the least error is {least:.4f}", "write COUNT(DISTINCT x)", call)
    return max(bits, _LEAST_BITS)


def _variance(is_sample: int, is_root: bool) -> Callable[[Grouping, exp.Anonymous, list[Expr]], Expr]:
    def composed(grouping: Grouping, call: exp.Anonymous, given: list[Expr]) -> Expr:
        if not given[0].type.is_numeric:
            hint = "CAST it to a number" if given[0].type == types.STRING else None
            grouping.below.fail(f"{call.name.upper()} does not take {given[0].type}", hint, call)
        value = widen(given[0], DOUBLE)
        terms = [Call("_VARIANCE_TERM", (value, Literal(number, INT))) for number in range(6)]
        sums = [grouping.column_of(AggregateFunction.SUM, term) for term in terms]
        count = grouping.column_of(AggregateFunction.COUNT, value)
        found = Call("_VARIANCE", (count, *sums, Literal(is_sample, INT)))
        return Call("SQRT", (found,)) if is_root else found

    return composed


def _count_if(grouping: Grouping, call: exp.Anonymous, given: list[Expr]) -> Expr:
    if given[0].type != BOOLEAN:
        grouping.below.fail("COUNT_IF takes a condition", "write COUNT_IF(x > 5)", call)
    one = Case((given[0],), (Literal(1, BIGINT),), Literal(None, BIGINT))
    return grouping.column_of(AggregateFunction.COUNT, one)


_MIN, _MAX = AggregateFunction.MIN, AggregateFunction.MAX
_BY = frozenset({"MIN_BY", "MAX_BY"})

#: How those that pass over NULLs are written.
_NO_NULLS = ", and without NULLs FILTER (WHERE value IS NOT NULL) behind it"

#: For each the least and the greatest number of arguments, its usage, and how it is composed.
_COMPOSED: dict[str, tuple[int, int, str, Callable[[Grouping, exp.Anonymous, list[Expr]], Expr]]] = {
    "MIN_BY": (2, 2, "MIN_BY(value, by)", _extreme_by(_MIN)),
    "MAX_BY": (2, 2, "MAX_BY(value, by)", _extreme_by(_MAX)),
    "FIRST": (1, 1, f"FIRST(value){_NO_NULLS}", _by_time(_MIN)),
    "FIRST_VALUE": (
        1,
        1,
        f"FIRST_VALUE(value){_NO_NULLS}",
        _by_time(_MIN),
    ),
    "LAST": (1, 1, f"LAST(value){_NO_NULLS}", _by_time(_MAX)),
    "LAST_VALUE": (
        1,
        1,
        f"LAST_VALUE(value){_NO_NULLS}",
        _by_time(_MAX),
    ),
    "APPROX_COUNT_DISTINCT": (1, 2, "APPROX_COUNT_DISTINCT(value [, error])", _count_distinct),
    "COUNT_IF": (1, 1, "COUNT_IF(condition)", _count_if),
    "VARIANCE": (1, 1, "VARIANCE(number)", _variance(1, False)),
    "VAR_SAMP": (1, 1, "VAR_SAMP(number)", _variance(1, False)),
    "VAR_POP": (1, 1, "VAR_POP(number)", _variance(0, False)),
    "STDDEV": (1, 1, "STDDEV(number)", _variance(1, True)),
    "STDDEV_SAMP": (1, 1, "STDDEV_SAMP(number)", _variance(1, True)),
    "STDDEV_POP": (1, 1, "STDDEV_POP(number)", _variance(0, True)),
}
