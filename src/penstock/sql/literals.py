"""Types and constants as they are written in SQL."""

from __future__ import annotations

import binascii
import math
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from sqlglot import exp

from penstock import types
from penstock.algebra.expressions import Literal
from penstock.algebra.zones import zone_of
from penstock.sql.diagnostics import Diagnostics, did_you_mean
from penstock.sql.dialect import MAX_DURATION, UNIT_NAMES, exact_microseconds
from penstock.sql.syntax import Tree
from penstock.sql.zone import current_zone
from penstock.types import BIGINT_RANGE, INT_RANGE, MAX_PRECISION, UNITS, Type

_TYPES = {
    exp.DType.BOOLEAN: types.BOOLEAN,
    exp.DType.INT: types.INT,
    exp.DType.BIGINT: types.BIGINT,
    exp.DType.DOUBLE: types.DOUBLE,
    exp.DType.TEXT: types.STRING,
    exp.DType.BINARY: types.BINARY,
    exp.DType.TIMESTAMPTZ: types.TIMESTAMP,
    exp.DType.TIMESTAMP: types.TIMESTAMP,
    exp.DType.DATE: types.DATE,
}
TYPE_NAMES = "BOOLEAN, INT, BIGINT, DECIMAL(p, s), DOUBLE, STRING, BINARY, TIMESTAMP and DATE"
_INSTEAD = {
    exp.DType.FLOAT: "DOUBLE",
    exp.DType.SMALLINT: "INT",
    exp.DType.TINYINT: "INT",
    exp.DType.VARCHAR: "STRING",
    exp.DType.CHAR: "STRING",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP",
    exp.DType.TIMESTAMPLTZ: "TIMESTAMP",
    exp.DType.DATETIME: "TIMESTAMP",
}

#: What a cast reads: a date, and perhaps a time of day, and perhaps a zone.
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    rf"{_DATE.pattern}([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,9}})?)?(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)?)?"
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def bind_type(tree: Tree, diagnostics: Diagnostics) -> Type:
    """The type that was written, or an error that names one to write instead."""
    kind = tree.this if isinstance(tree, exp.DataType) else None
    parameters = tree.expressions if isinstance(tree, exp.DataType) else []
    if kind is exp.DType.DECIMAL:
        return _decimal_type(tree, diagnostics)
    if kind in _TYPES and not parameters:
        return _TYPES[kind]
    instead = _INSTEAD.get(kind) if kind is not None else None
    written = diagnostics.text(tree)
    meant = did_you_mean(written, (type_.kind.value for type_ in _TYPES.values()), at_least=0.75)
    hint = f"write {instead}" if instead else meant or f"types are {TYPE_NAMES}"
    diagnostics.fail(f"there is no type {written}", hint, tree)


def _decimal_type(tree: Tree, diagnostics: Diagnostics) -> Type:
    parameters = [parameter.name for parameter in tree.expressions]
    if not parameters:
        return types.decimal(10, 0)
    try:
        precision, scale = map(int, parameters if len(parameters) > 1 else (*parameters, 0))
        return types.decimal(precision, scale)
    except ValueError:
        message = f"DECIMAL({', '.join(parameters)}) is not a type"
        diagnostics.fail(message, f"DECIMAL(p, s) has 1 <= p <= {MAX_PRECISION} and 0 <= s <= p", tree)


def number(text: str) -> Literal | None:
    """A number as Spark reads it: whole ones are INT or BIGINT, those with a point DECIMAL, with an exponent DOUBLE.

    >>> number("7"), number("1.50")
    (Literal(value=7, type=Type(kind=<Kind.INT: 'INT'>, precision=None, scale=None)), \
Literal(value=Decimal('1.50'), type=Type(kind=<Kind.DECIMAL: 'DECIMAL'>, precision=3, scale=2)))
    """
    if not text.isascii():
        return None
    try:
        if "e" in text.lower():
            value = float(text)
            return Literal(value, types.DOUBLE) if math.isfinite(value) else None
        if text.isdecimal():
            return whole_number(int(text)) if len(text) <= 60 else None
        digits = Decimal(text)
    except (ValueError, ArithmeticError):
        return None
    _, coefficient, exponent = digits.as_tuple()
    scale = -int(exponent)
    precision = max(len(coefficient), scale)
    return Literal(digits, types.decimal(precision, scale)) if precision <= MAX_PRECISION else None


def whole_number(value: int) -> Literal | None:
    if INT_RANGE[0] <= value <= INT_RANGE[1]:
        return Literal(value, types.INT)
    if BIGINT_RANGE[0] <= value <= BIGINT_RANGE[1]:
        return Literal(value, types.BIGINT)
    digits = len(str(abs(value)))
    return Literal(Decimal(value), types.decimal(digits, 0)) if digits <= MAX_PRECISION else None


def interval(tree: exp.Interval, diagnostics: Diagnostics) -> Literal:
    """`INTERVAL 5 SECONDS` or `INTERVAL '5' SECOND`."""
    amount = tree.this
    negative = isinstance(amount, exp.Neg)
    amount = amount.this if negative else amount
    unit_tree = tree.args.get("unit")
    word = unit_tree.name.upper() if isinstance(unit_tree, exp.Var) else ""
    unit = UNITS.get(word) or UNITS.get(word.removesuffix("S"))
    if unit is None or not isinstance(amount, exp.Literal):
        diagnostics.fail("this is not an interval", f"write INTERVAL n unit; units are {UNIT_NAMES}", tree)
    text = amount.name.strip()
    sign, digits = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    negative ^= sign == "-"
    microseconds = exact_microseconds(digits, unit)
    if microseconds is None or microseconds > MAX_DURATION:
        diagnostics.fail("an interval is a whole number of microseconds, 10,000 years at most", None, tree)
    return Literal(-microseconds if negative else microseconds, types.INTERVAL)


def timestamp_value(text: str) -> int | None:
    """Microseconds since 1970 of an ISO 8601 text: in the zone of what is being bound, unless it says otherwise.

    >>> timestamp_value("1970-01-01 00:00:01.5"), timestamp_value("yesterday")
    (1500000, None)
    """
    if not _TIMESTAMP.fullmatch(text.strip()):
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    shown = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    seconds, micros = divmod((shown - EPOCH) // timedelta(microseconds=1), 1_000_000)
    if moment.tzinfo is None:
        seconds = zone_of(current_zone()).second_of(seconds)
    return seconds * 1_000_000 + micros


def date_value(text: str) -> int | None:
    """Days since 1970 of an ISO 8601 date.

    >>> date_value("1970-02-01")
    31
    """
    if not _DATE.fullmatch(text.strip()):
        return None
    try:
        return (date.fromisoformat(text.strip()) - EPOCH.date()).days
    except ValueError:
        return None


def hex_bytes(text: str) -> bytes | None:
    try:
        return binascii.unhexlify(text if len(text) % 2 == 0 else f"0{text}")
    except (binascii.Error, ValueError):
        return None
