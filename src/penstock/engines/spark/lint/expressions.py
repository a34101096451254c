"""Spark's expressions in our algebra, where we have the same; nothing where we have not.

An attribute is a column named by its number, and an expression that we do not have is opaque: a column named by its
text, which equals another only if Spark computes it from the same. A predicate without a counterpart is left out, which
can only make a relation look larger than it is.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from penstock.algebra.expressions import (
    AlgebraError,
    And,
    Arithmetic,
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
    INT,
    INTERVAL,
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

#: Intervals that are so many microseconds; months are not.
_EXACT_INTERVALS = ("interval day", "interval hour", "interval minute", "interval second")

_COMPARATORS = {
    "EqualTo": Comparator.EQ,
    "EqualNullSafe": Comparator.SAME,
    "LessThan": Comparator.LT,
    "LessThanOrEqual": Comparator.LE,
    "GreaterThan": Comparator.GT,
    "GreaterThanOrEqual": Comparator.GE,
}
#: What two values are compared by; IN compares the first with all others.
_COMPARING = frozenset({*_COMPARATORS, "In"})
_OPERATORS = {
    "Add": Operator.ADD,
    "Subtract": Operator.SUBTRACT,
    "Remainder": Operator.MODULO,
    "TimestampAddInterval": Operator.ADD,
}
#: What stands for its only child.
_TRANSPARENT = {"Alias", "KnownNullable", "KnownNotNull", "PromotePrecision"}


def type_of(data_type: Any) -> Type:
    """Returns our type for one of Spark's; others are compared for equality only, as strings."""
    if not isinstance(data_type, str):
        return STRING
    if data_type.startswith("decimal("):
        precision, _, scale = data_type[8:-1].partition(",")
        return decimal(int(precision), int(scale))
    return INTERVAL if data_type.startswith(_EXACT_INTERVALS) else _TYPES.get(data_type, STRING)


def column(node: PlanNode, type_: Type | None = None) -> Column:
    """Returns the column that stands for an attribute, or for an expression that we do not have."""
    return Column("spark", canonical(node), type_ or result_type(node) or STRING)


def canonical(node: PlanNode) -> str:
    """Returns a text that two expressions share only if they compute the same."""
    if node.kind == "AttributeReference":
        return str(node.identity)
    taken = struct_field(node)
    if taken is not None:  # Spark parses only the fields of a JSON text that are read, so that their places differ
        return f"{canonical(node.children[0])}.{taken['name']}: {taken['type']}"
    own = {key: value for key, value in sorted(node.fields.items()) if key not in _NOT_COMPUTED}
    return f"{node.kind}{own or ''}({', '.join(map(canonical, node.children))})"


#: What a node carries besides what it computes.
_NOT_COMPUTED = frozenset(
    {"class", "num-children", "exprId", "resultId", "qualifier", "metadata", "nullable", "schema"}
)

#: What gives another value each time.
FRESH = frozenset(
    {"Rand", "Randn", "Uuid", "MonotonicallyIncreasingID", "CurrentTimestamp", "Now", "InputFileName", "Shuffle"}
)


def struct_field(node: PlanNode) -> dict[str, Any] | None:
    """Returns name and type of a field that is taken from a struct, such as one that `from_json` made."""
    if node.kind != "GetStructField":
        return None
    below = node.children[0]
    struct = below.fields.get("dataType", below.fields.get("schema"))
    if below.kind == "GetStructField":
        inner = struct_field(below)
        struct = inner["type"] if inner is not None else None
    fields = struct.get("fields", []) if isinstance(struct, dict) else []
    place = int(node.fields["ordinal"])
    return dict(fields[place]) if place < len(fields) else None


def result_type(node: PlanNode) -> Type | None:
    """Returns the type of an expression, where Spark writes it."""
    taken = struct_field(node)
    if taken is not None:
        return type_of(taken["type"])
    return type_of(node.fields["dataType"]) if "dataType" in node.fields else None


def predicates(node: PlanNode) -> tuple[Expr, ...]:
    """Returns the conjuncts of the condition of a filter or join that our algebra has."""
    parts = (part for condition in node.expressions("condition") for part in conjuncts_of(condition))
    return tuple(expr for part in parts if (expr := expression(part)) is not None)


def conjuncts_of(condition: PlanNode) -> tuple[PlanNode, ...]:
    if condition.kind == "And":
        return tuple(part for child in condition.children for part in conjuncts_of(child))
    return (condition,)


def expression(node: PlanNode) -> Expr | None:
    """Returns the expression in our algebra."""
    try:
        return _expression(node)
    except AlgebraError:
        return None


def _expression(node: PlanNode) -> Expr | None:
    if node.kind == "AttributeReference":
        return column(node)
    if node.kind == "Literal":
        return _literal(node.fields.get("value"), type_of(node.fields["dataType"]))
    if node.kind in _TRANSPARENT and node.children:
        return _expression(node.children[0])
    parts = [_expression(child) for child in node.children]
    if node.kind in _COMPARING:
        peer = next((part.type for part in parts if part is not None), None)
        parts = [
            _opaque(child, peer) if part is None else part for child, part in zip(node.children, parts, strict=True)
        ]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not known:
        return None
    return _built(node, tuple(known))


def _opaque(node: PlanNode, peer: Type | None) -> Column | None:
    """Returns a column for what is compared; its type is that of what it is compared with, where Spark writes none."""
    if node.kind == "Literal" or any(part.kind in FRESH for part in node.walk()):
        return None
    return column(node, result_type(node) or peer)


def _built(node: PlanNode, parts: tuple[Expr, ...]) -> Expr | None:
    match node.kind:
        case "And":
            return And(parts)
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


def _cast(arg: Expr, target: Type) -> Expr | None:
    if isinstance(arg, Literal) and arg.type == INT and target == BIGINT:
        return Literal(arg.value, BIGINT)
    if arg.type == target:
        return arg
    return Cast(arg, target) if can_cast(arg.type, target) else None


def _literal(value: Any, type_: Type) -> Literal | None:
    """Returns a literal, which Spark writes as a string."""
    if value is None or isinstance(value, dict | list):
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
