"""Spark's expressions in our algebra, where we have the same; nothing where we have not.

A predicate without a counterpart is left out, which can only make a relation look larger than it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from penstock.algebra.expressions import (
    AlgebraError,
    And,
    Arithmetic,
    Call,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Negate,
    Not,
    Operator,
    Or,
    can_cast,
)
from penstock.engines.spark.lint.trees import PlanNode
from penstock.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    HOUR,
    INT,
    INTERVAL,
    MINUTE,
    SECOND,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    decimal,
)

_TYPES = {
    "boolean": BOOLEAN,
    "byte": INT,
    "short": INT,
    "integer": INT,
    "long": BIGINT,
    "float": DOUBLE,
    "double": DOUBLE,
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP,
}

_COMPARATORS = {
    "EqualTo": Comparator.EQ,
    "EqualNullSafe": Comparator.SAME,
    "LessThan": Comparator.LT,
    "LessThanOrEqual": Comparator.LE,
    "GreaterThan": Comparator.GT,
    "GreaterThanOrEqual": Comparator.GE,
}
_OPERATORS = {
    "Add": Operator.ADD,
    "Subtract": Operator.SUBTRACT,
    "Remainder": Operator.MODULO,
    "TimestampAddInterval": Operator.ADD,
}
#: What stands for its only child.
_TRANSPARENT = {"Alias", "KnownNullable", "KnownNotNull", "DatetimeSub", "Between", "Nvl", "PromotePrecision"}


def type_of(data_type: Any) -> Type:
    """Returns our type for one of Spark's; others are compared for equality only, as strings."""
    if not isinstance(data_type, str):
        return STRING
    if data_type.startswith("decimal("):
        precision, _, scale = data_type[8:-1].partition(",")
        return decimal(int(precision), int(scale))
    return INTERVAL if data_type.startswith("interval") else _TYPES.get(data_type, STRING)


def expression(node: PlanNode, columns: Mapping[int, Column]) -> Expr | None:
    """Returns the expression in our algebra, over the columns that Spark's attributes stand for."""
    try:
        return _expression(node, columns)
    except AlgebraError:
        return None


def _expression(node: PlanNode, columns: Mapping[int, Column]) -> Expr | None:
    if node.kind == "AttributeReference":
        return columns.get(node.identity)
    if node.kind == "Literal":
        return _literal(node.fields.get("value"), type_of(node.fields["dataType"]))
    if node.kind == "With":
        return _expression(_inlined(node), columns)
    if node.kind in _TRANSPARENT and node.children:
        return _expression(node.children[0], columns)
    parts = [_expression(child, columns) for child in node.children]
    known = [part for part in parts if part is not None]
    if node.kind == "And":
        return _conjunction(known)
    if len(known) < len(parts) or not known:
        return None
    return _built(node, tuple(known))


def _built(node: PlanNode, parts: tuple[Expr, ...]) -> Expr | None:
    match node.kind:
        case "Or":
            return Or(parts)
        case "Not":
            return Not(parts[0])
        case "IsNull":
            return IsNull(parts[0])
        case "IsNotNull":
            return Not(IsNull(parts[0]))
        case "In":
            return In(parts[0], parts[1:])
        case "UnaryMinus":
            return Negate(parts[0])
        case "Cast":
            return _cast(parts[0], type_of(node.fields["dataType"]))
        case kind if kind in _COMPARATORS:
            return Compare(_COMPARATORS[kind], *parts)
        case kind if kind in _OPERATORS:
            return Arithmetic(_OPERATORS[kind], *parts)
    return None


def _conjunction(parts: list[Expr]) -> Expr | None:
    """Returns the translated part of an AND."""
    return And(tuple(parts)) if len(parts) > 1 else parts[0] if parts else None


def _cast(arg: Expr, target: Type) -> Expr | None:
    if isinstance(arg, Literal) and arg.type == INT and target == BIGINT:
        return Literal(arg.value, BIGINT)
    if arg.type == target:
        return arg
    return Cast(arg, target) if can_cast(arg.type, target) else None


def _literal(value: Any, type_: Type) -> Literal | None:
    """Returns a literal, which Spark writes as a string."""
    if value is None:
        return None
    match type_.kind:
        case Kind.BOOLEAN:
            return Literal(str(value).lower() == "true", type_)
        case Kind.INT | Kind.BIGINT | Kind.INTERVAL:
            return Literal(int(value), type_)
        case Kind.DOUBLE:
            return Literal(float(value), type_)
        case Kind.DECIMAL:
            return Literal(Decimal(value), type_)
        case Kind.STRING:
            return Literal(str(value), type_)
    return None


def _inlined(node: PlanNode) -> PlanNode:
    """Inlines the name that BETWEEN gives to its first argument: WITH x AS expression."""
    body, *definitions = node.children
    if len(definitions) != 1:
        return PlanNode("Unknown", {}, ())
    (value,) = definitions[0].children

    def put(part: PlanNode) -> PlanNode:
        if part.kind == "CommonExpressionRef":
            return value
        return PlanNode(part.kind, part.fields, tuple(map(put, part.children)))

    return put(body)


def event_window(node: PlanNode) -> tuple[PlanNode, int] | None:
    """Returns the time column and the length of a `window(...)`: Spark spells it out as a struct of start and end.

    Of a `session_window` it is the gap after which a session is over.
    """
    inner = node.children[0] if node.kind == "Alias" else node
    conversions = [part for part in inner.walk() if part.kind == "PreciseTimestampConversion"]
    if inner.kind != "CreateNamedStruct" or not conversions:
        return None
    times = [part for part in inner.walk() if part.kind == "AttributeReference"]
    numbers = [p for p in inner.walk() if p.kind == "Literal" and p.fields["dataType"] == "long"]
    return times[0], max((int(number.fields["value"]) for number in numbers), default=_gap(inner))


def _gap(node: PlanNode) -> int:
    texts = [str(p.fields["value"]) for p in node.walk() if p.kind == "Literal" and p.fields["dataType"] == "string"]
    found = next((match for text in texts if (match := _GAP.fullmatch(text))), None)
    return int(found[1]) * _UNITS[found[2]] if found else 1


_UNITS = {"millisecond": 1_000, "second": SECOND, "minute": MINUTE, "hour": HOUR, "day": 24 * HOUR}
_GAP = re.compile(rf"(\d+)\s*({'|'.join(_UNITS)})s?", re.IGNORECASE)


def bucket(time: Column, width: int) -> Expr:
    """Returns the number of the window of a time."""
    micros = Call("UNIX_MICROS", (time,)) if time.type == TIMESTAMP else time
    return Arithmetic(Operator.DIVIDE, micros, Literal(width, BIGINT))
