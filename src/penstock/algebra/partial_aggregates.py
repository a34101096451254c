"""Partial aggregates as columns: what a join that counts rows gives to the aggregate above, in whatever cell that is.

A partial COUNT, SUM or AVG is a few words: how many values there are, and their exact total, in 192 bits for whole
numbers and in digits of a window for DOUBLEs. Because totals are exact, and rounded once by the aggregate, it makes no
difference in which order, or in how many parts, values were added up.
"""

from __future__ import annotations

from penstock.algebra.expressions import Column
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.relations import Aggregation, Schema
from penstock.types import BIGINT, Kind, Type

#: Words of a partial COUNT, and of a partial SUM or AVG of whole numbers and of DOUBLEs.
COUNT_WORDS, INTEGER_WORDS, DOUBLE_WORDS = 1, 4, 16
#: DECIMALs of so many digits are one word.
MOST_DIGITS = 18


def has_partial(aggregation: Aggregation) -> bool:
    """Whether an aggregate adds up partial ones of this kind."""
    return aggregation.argument is not None and not aggregation.distinct and _words(aggregation) > 0


def partial_columns(aggregation: Aggregation) -> Schema:
    """The columns of a partial aggregate."""
    scope = f"partial {aggregation.column.scope}.{aggregation.column.name}"
    return tuple(Column(scope, str(word), BIGINT) for word in range(_words(aggregation)))


def times_column(aggregation: Aggregation) -> Column:
    """How many times more, or less, the argument of an aggregate counts that takes each row of an input once."""
    return Column(f"times {aggregation.column.scope}.{aggregation.column.name}", "0", BIGINT)


def _words(aggregation: Aggregation) -> int:
    assert aggregation.argument is not None
    type_ = aggregation.argument.type
    if aggregation.function is AggregateFunction.COUNT:
        return COUNT_WORDS
    if aggregation.function not in (AggregateFunction.SUM, AggregateFunction.AVG):
        return 0
    if type_.kind is Kind.DOUBLE:
        return DOUBLE_WORDS
    return INTEGER_WORDS if _is_one_word(type_) else 0


def _is_one_word(type_: Type) -> bool:
    return type_.kind in (Kind.BIGINT, Kind.INT) or (type_.precision is not None and type_.precision <= MOST_DIGITS)
