"""The scalar and aggregate functions: for each its name and the rule that types a call of it.

A rule takes the types of the arguments and gives the types to widen them to and the type of the result, or None where
the call makes no sense. What a function computes is written beside its name; engines implement just that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from penstock.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    bounded_decimal,
    common_type,
    decimal,
)

Types = tuple[Type, ...]
TypeRule = Callable[[Types], tuple[Types, Type] | None]


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    usage: str
    rule: TypeRule
    #: Most functions of NULL are NULL; these look at their arguments themselves.
    handles_null: bool = False


class AggregateFunction(Enum):
    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"


def aggregate_type(function: AggregateFunction, argument: Type | None) -> Type | None:
    """The type of an aggregate, or None where it cannot take that argument. COUNT(*) has no argument.

    >>> str(aggregate_type(AggregateFunction.SUM, INT)), str(aggregate_type(AggregateFunction.AVG, BIGINT))
    ('BIGINT', 'DOUBLE')
    """
    if function is AggregateFunction.COUNT:
        return BIGINT
    if argument is None or argument.kind in (Kind.NULL, Kind.INTERVAL):
        return None
    if function in (AggregateFunction.MIN, AggregateFunction.MAX):
        return argument
    if argument.kind is Kind.DECIMAL:
        assert argument.precision is not None and argument.scale is not None
        if function is AggregateFunction.SUM:
            return decimal(min(38, argument.precision + 10), argument.scale)
        return bounded_decimal(argument.precision + 4, argument.scale + 4)
    if argument.is_integer:
        return BIGINT if function is AggregateFunction.SUM else DOUBLE
    return DOUBLE if argument.kind is Kind.DOUBLE else None


def _fixed(result: Type, *parameters: Type, optional: int = 0) -> TypeRule:
    """A rule for fixed parameter types, the last `optional` of which may be left out."""

    def rule(arguments: Types) -> tuple[Types, Type] | None:
        if not len(parameters) - optional <= len(arguments) <= len(parameters):
            return None
        used = parameters[: len(arguments)]
        fits = all(common_type(a, p) == p for a, p in zip(arguments, used, strict=True))
        return (used, result) if fits else None

    return rule


def _either(*rules: TypeRule) -> TypeRule:
    """The first rule that fits."""
    return lambda arguments: next((fit for rule in rules if (fit := rule(arguments)) is not None), None)


def _same_number(arguments: Types) -> tuple[Types, Type] | None:
    return (arguments, arguments[0]) if len(arguments) == 1 and arguments[0].is_numeric else None


def _whole_number(arguments: Types) -> tuple[Types, Type] | None:
    """CEIL and FLOOR: of a DOUBLE a BIGINT, of a DECIMAL one without digits after the point."""
    if len(arguments) != 1 or not arguments[0].is_numeric:
        return None
    argument = arguments[0]
    if argument.kind is Kind.DECIMAL:
        assert argument.precision is not None and argument.scale is not None
        return arguments, decimal(min(38, argument.precision - argument.scale + 1), 0)
    return arguments, BIGINT if argument.kind is Kind.DOUBLE else argument


def _common(at_least: int) -> TypeRule:
    """All arguments widen to one type, which is the result's too."""

    def rule(arguments: Types) -> tuple[Types, Type] | None:
        if len(arguments) < at_least:
            return None
        common: Type | None = arguments[0]
        for argument in arguments[1:]:
            common = common and common_type(common, argument)
        if common is None or common.kind is Kind.NULL:
            return None
        return (common,) * len(arguments), common

    return rule


def _strings(arguments: Types) -> tuple[Types, Type] | None:
    strings = arguments and all(common_type(argument, STRING) == STRING for argument in arguments)
    return ((STRING,) * len(arguments), STRING) if strings else None


_FROM_TIME = _either(_fixed(INT, DATE), _fixed(INT, TIMESTAMP))

FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        # Numbers.
        Function("ABS", "ABS(number)", _same_number),
        Function("CEIL", "CEIL(number)", _whole_number),
        Function("FLOOR", "FLOOR(number)", _whole_number),
        # Half away from zero, to n digits after the point (of the shortest decimal form that reads as the DOUBLE).
        Function("ROUND", "ROUND(double [, digits])", _fixed(DOUBLE, DOUBLE, INT, optional=1)),
        Function("SQRT", "SQRT(double)", _fixed(DOUBLE, DOUBLE)),  # NaN below zero
        Function("EXP", "EXP(double)", _fixed(DOUBLE, DOUBLE)),
        Function("LN", "LN(double)", _fixed(DOUBLE, DOUBLE)),  # NULL at and below zero
        Function("POWER", "POWER(double, double)", _fixed(DOUBLE, DOUBLE, DOUBLE)),
        # Choice. GREATEST and LEAST pass over NULLs; all NULL gives NULL.
        Function("GREATEST", "GREATEST(a, b, ...)", _common(2), handles_null=True),
        Function("LEAST", "LEAST(a, b, ...)", _common(2), handles_null=True),
        Function("COALESCE", "COALESCE(a, b, ...)", _common(1), handles_null=True),
        # Strings are sequences of Unicode code points, positions count from 1.
        Function("UPPER", "UPPER(string)", _fixed(STRING, STRING)),
        Function("LOWER", "LOWER(string)", _fixed(STRING, STRING)),
        Function("TRIM", "TRIM(string)", _fixed(STRING, STRING)),  # of spaces, U+0020
        Function("LTRIM", "LTRIM(string)", _fixed(STRING, STRING)),
        Function("RTRIM", "RTRIM(string)", _fixed(STRING, STRING)),
        Function("REVERSE", "REVERSE(string)", _fixed(STRING, STRING)),
        Function("LENGTH", "LENGTH(string)", _either(_fixed(INT, STRING), _fixed(INT, BINARY))),
        Function("CONCAT", "CONCAT(string, ...)", _strings),
        # A position below zero counts from the end, and 0 is read as 1: Spark's rule.
        Function("SUBSTRING", "SUBSTRING(string, position [, length])", _fixed(STRING, STRING, INT, INT, optional=1)),
        # An empty search string leaves the string as it is.
        Function("REPLACE", "REPLACE(string, search, replacement)", _fixed(STRING, STRING, STRING, STRING)),
        Function("CONTAINS", "CONTAINS(string, part)", _fixed(BOOLEAN, STRING, STRING)),
        Function("STARTSWITH", "STARTSWITH(string, prefix)", _fixed(BOOLEAN, STRING, STRING)),
        Function("ENDSWITH", "ENDSWITH(string, suffix)", _fixed(BOOLEAN, STRING, STRING)),
        Function("INSTR", "INSTR(string, part)", _fixed(INT, STRING, STRING)),  # 0 where it is not in
        # Time, in UTC. Seconds and milliseconds round down.
        Function("UNIX_MICROS", "UNIX_MICROS(timestamp)", _fixed(BIGINT, TIMESTAMP)),
        Function("UNIX_MILLIS", "UNIX_MILLIS(timestamp)", _fixed(BIGINT, TIMESTAMP)),
        Function("UNIX_SECONDS", "UNIX_SECONDS(timestamp)", _fixed(BIGINT, TIMESTAMP)),
        Function("TIMESTAMP_MICROS", "TIMESTAMP_MICROS(bigint)", _fixed(TIMESTAMP, BIGINT)),
        Function("TIMESTAMP_MILLIS", "TIMESTAMP_MILLIS(bigint)", _fixed(TIMESTAMP, BIGINT)),
        Function("TIMESTAMP_SECONDS", "TIMESTAMP_SECONDS(bigint)", _fixed(TIMESTAMP, BIGINT)),
        # The unit is one of TRUNCATION_UNITS, as an upper-case literal; a WEEK starts on Monday.
        Function("DATE_TRUNC", "DATE_TRUNC('unit', timestamp)", _fixed(TIMESTAMP, STRING, TIMESTAMP)),
        Function("YEAR", "YEAR(timestamp)", _FROM_TIME),
        Function("MONTH", "MONTH(timestamp)", _FROM_TIME),
        Function("DAY", "DAY(timestamp)", _FROM_TIME),
        Function("HOUR", "HOUR(timestamp)", _fixed(INT, TIMESTAMP)),
        Function("MINUTE", "MINUTE(timestamp)", _fixed(INT, TIMESTAMP)),
        Function("SECOND", "SECOND(timestamp)", _fixed(INT, TIMESTAMP)),
        # The pattern or format is a literal that `text_patterns` accepts; without a match the result is empty.
        Function("RLIKE", "RLIKE(string, 'pattern')", _fixed(BOOLEAN, STRING, STRING)),
        Function("REGEXP_EXTRACT", "REGEXP_EXTRACT(string, 'pattern' [, group])", _fixed(STRING, STRING, STRING, INT)),
        Function("TO_TIMESTAMP", "TO_TIMESTAMP(string [, 'format'])", _fixed(TIMESTAMP, STRING, STRING)),
        Function("DATE_FORMAT", "DATE_FORMAT(timestamp, 'format')", _fixed(STRING, TIMESTAMP, STRING)),
    )
}

#: What aggregates are composed of (`sql/composed_aggregates.py`). Nobody calls them by name.
INTERNAL: dict[str, Function] = {
    function.name: function
    for function in (
        # Bytes that sort as (by, value) do; with no value as one that comes before all others.
        Function(
            "_SORT_KEY", "_SORT_KEY(by [, value])", lambda given: (given, BINARY) if len(given) in (1, 2) else None
        ),
        # The value of such a key, of the type of the second argument.
        Function(
            "_SORTED_VALUE",
            "_SORTED_VALUE(key, some)",
            lambda given: (given, given[1]) if len(given) == 2 and given[0] == BINARY else None,
        ),
        Function("_COUPON", "_COUPON(value, bits)", lambda given: (given, INT) if given[1:] == (INT,) else None),
        Function("_ESTIMATE", "_ESTIMATE(coupons, bits)", _fixed(BIGINT, BIGINT, INT)),
        Function("_VARIANCE_TERM", "_VARIANCE_TERM(double, number)", _fixed(DOUBLE, DOUBLE, INT)),
        Function("_VARIANCE", "_VARIANCE(count, sums, sample)", _fixed(DOUBLE, BIGINT, *(DOUBLE,) * 6, INT)),
    )
}

ALL_FUNCTIONS: dict[str, Function] = {**FUNCTIONS, **INTERNAL}

TRUNCATION_UNITS = (
    "MICROSECOND",
    "MILLISECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
)
