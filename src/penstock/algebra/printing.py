"""Expressions as SQL, plans as pictures and as JSON: what `penstock explain` shows and tests compare.

A column is written with its scope, as `b.price`, so that a line can be read without the lines below it. A picture has
one line per node; the inputs of a node stand below it, from left to right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from penstock.algebra.bucket_counts import BucketCounts, CertifiedGroups, FallBack
from penstock.algebra.copies import written
from penstock.algebra.expressions import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Expr,
    In,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Operator,
    Or,
    Value,
)
from penstock.algebra.link_monitor import LinkMonitor
from penstock.algebra.physical import Keep
from penstock.algebra.relations import (
    NOW,
    Aggregate,
    Aggregation,
    AntiJoin,
    Join,
    Materialised,
    OuterJoin,
    Output,
    PartitionRows,
    Project,
    Query,
    Range,
    Relation,
    Repeat,
    Rows,
    Schema,
    Select,
    SemiJoin,
    SetOp,
    Shared,
    Table,
    ToStream,
    Unbounded,
    Window,
    WindowSpec,
)
from penstock.algebra.user_functions import UserCall
from penstock.algebra.zones import DEFAULT
from penstock.effort import nesting
from penstock.types import DAY, Kind, TimeUnit, Type, duration_text

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"
Node = Relation | ToStream

# How tightly an expression holds together: an operand that binds more loosely than its operator asks for goes in
# parentheses.
_OR, _AND, _NOT, _COMPARE, _ADD, _MULTIPLY, _NEGATE, _ATOM = range(8)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def expression_text(expr: Expr) -> str:
    """The expression as SQL, with no more parentheses than it needs.

    >>> from penstock.algebra.expressions import Comparator
    >>> from penstock.types import BIGINT
    >>> price, two, ten = Column("b", "price", BIGINT), Literal(2, BIGINT), Literal(10, BIGINT)
    >>> double = Arithmetic(Operator.MULTIPLY, price, two)
    >>> expression_text(Compare(Comparator.GT, double, ten))
    'b.price * 2 > 10'
    >>> expression_text(Arithmetic(Operator.MULTIPLY, Arithmetic(Operator.ADD, price, two), ten))
    '(b.price + 2) * 10'
    """
    return _bound_text(expr)[0]


def window_text(spec: WindowSpec) -> str:
    """A window as it is written behind its stream.

    >>> window_text(Range(600_000_000, slide=60_000_000))
    '[RANGE 10 MINUTES SLIDE 1 MINUTE]'
    """
    match spec:
        case Unbounded():
            return "[UNBOUNDED]"
        case Range() if spec == NOW:
            return "[NOW]"
        case Range(width, None):
            return f"[RANGE {duration_text(width)}]"
        case Range(width, int(slide)):
            return f"[RANGE {duration_text(width)} SLIDE {duration_text(slide)}]"
        case Rows(count):
            return f"[ROWS {count}]"
        case PartitionRows(by, count):
            return f"[PARTITION BY {', '.join(_name(column.name) for column in by)} ROWS {count}]"
    raise AssertionError(f"no window {spec}")


@nesting
def plan_text(plan: Query | Node) -> str:
    """Returns a plan as a picture, under the query's name if there is one.

    >>> import penstock
    >>> script = penstock.bind_text(
    ...     "CREATE TABLE category (id BIGINT); CREATE QUERY ids AS SELECT DISTINCT id FROM category AS c"
    ... )
    >>> print(penstock.plan_text(script.queries[0]))
    ids
    └─ Distinct
       └─ Project c.id
          └─ category AS c
    """
    if not isinstance(plan, Query):
        return "\n".join(_picture(plan, set()))
    title = f"{plan.name} (ALLOW UNBOUNDED)" if plan.allow_unbounded else plan.name
    title += f" ({plan.approximate})" if plan.approximate else ""
    title += "" if plan.zone == DEFAULT else f" (time zone {plan.zone})"
    return "\n".join([title, *_indented(_picture(plan.root, set()), last=True)])


@nesting
def plan_json(query: Query) -> dict[str, Json]:
    """A plan as nested plain values: each node's kind, its arguments as text, its schema and its inputs.

    >>> from penstock.types import BIGINT
    >>> category = Table("category", "c", (Column("c", "id", BIGINT),))
    >>> plan_json(Query("ids", category))["plan"]
    {'node': 'Table', 'table': 'category', 'occurrence': 'c',
     'schema': [{'name': 'c.id', 'type': 'BIGINT'}], 'inputs': []}
    """
    zone: dict[str, Json] = {} if query.zone == DEFAULT else {"time_zone": query.zone}
    if query.approximate is not None:
        zone["approximate"] = str(query.approximate)
    return {"name": query.name, "allow_unbounded": query.allow_unbounded, **zone, "plan": _node_json(query.root)}


def _picture(node: Node, shared: set[int]) -> list[str]:
    """`shared`: the relations with several readers that have been drawn, by their identity."""
    inputs = _inputs(node)
    if isinstance(node, Shared):
        if id(node.input) in shared:
            return ["Shared, as above"]
        shared.add(id(node.input))
    lines = [_line(node)]
    for number, below in enumerate(inputs, start=1):
        lines += _indented(_picture(below, shared), last=number == len(inputs))
    return lines


def _indented(lines: list[str], last: bool) -> list[str]:
    first, rest = ("└─ ", "   ") if last else ("├─ ", "│  ")
    return [first + lines[0], *(rest + line for line in lines[1:])]


def _inputs(node: Node) -> tuple[Relation, ...]:
    return (node.input,) if isinstance(node, ToStream) else node.inputs


def _line(node: Node) -> str:
    match node:
        case Window(stream, spec):
            return f"{_name(stream.name)} {window_text(spec)}{_alias(stream.name, stream.occurrence)}"
        case Table(name, occurrence):
            return f"{_name(name)}{_alias(name, occurrence)}"
        case Repeat(_, times):
            return f"Repeat {_column(times)} times"
        case Select(_, predicates):
            return f"Select {_conjunction(predicates)}"
        case Materialised():
            return "Materialised"
        case Shared():
            return "Shared"
        case Project(_, outputs):
            return f"Project {_list(map(_output, outputs))}"
        case Join(_, on) | SemiJoin(_, _, on) | AntiJoin(_, _, on):
            return f"{type(node).__name__} on {_conjunction(on)}" if on else type(node).__name__
        case OuterJoin(on=on):
            name = f"{node.side.capitalize()}OuterJoin"
            return f"{name} on {_conjunction(on)}" if on else name
        case Aggregate():
            return _aggregate_line(node)
        case BucketCounts():
            return _bucket_counts_line(node)
        case CertifiedGroups():
            return "CertifiedGroups: the groups, and whether what they lean on was broken"
        case FallBack():
            return "FallBack to an exact count where an interval is too wide"
        case LinkMonitor():
            return f"LinkMonitor of {_list(each.claim for each in node.promises if each.is_watched)}"
        case Keep(_, kept):
            return f"Keep {_list(map(_column, kept)) or 'nothing'}"
        case SetOp():
            renamed = "" if node.columns == node.left.schema else f" AS {_list(map(_column, node.columns))}"
            return f"{_set_operator(node)}{renamed}"
        case ToStream(kind, _):
            return kind.value
    return type(node).__name__


def _aggregate_line(node: Aggregate) -> str:
    keys = f" by {_list(map(_output, node.keys))}" if node.keys else ""
    given = _list(f"{_aggregation(a)} AS {_column(a.column)}" for a in node.aggregations)
    return f"Aggregate{keys}{':' if keys and given else ''}{' ' if given else ''}{given}"


def _bucket_counts_line(node: BucketCounts) -> str:
    buckets = node.buckets
    begun = f" begun at {(-buckets.shift) % buckets.width}" if buckets.shift else ""
    others = "".join(f", {_column(key)}" for key in node.further_keys)
    counted = [f"{'minus' if each.subtracts else 'joined'} within {each.delay}" for each in node.counted]
    when = ", when they close" if node.emits else ""
    by = "windows that slide by" if node.slides else "buckets of"
    return f"BucketCounts by {by} {buckets.width}{begun}{others}{': ' if counted else ''}{_list(counted)}{when}"


def _alias(name: str, occurrence: str) -> str:
    return "" if written(occurrence) == name else f" AS {_name(occurrence)}"


def _output(output: Output) -> str:
    """`expr AS column`, or `expr` alone where the column is named after it."""
    column, expr = output.column, output.expr
    named_alike = isinstance(expr, Column) and column.name == expr.name and column.scope in ("", expr.scope)
    return _text(expr) if named_alike else f"{_text(expr)} AS {_column(column)}"


def _aggregation(aggregation: Aggregation) -> str:
    argument = "*" if aggregation.argument is None else _text(aggregation.argument)
    return f"{aggregation.function.value}({'DISTINCT ' if aggregation.distinct else ''}{argument})"


def _set_operator(node: SetOp) -> str:
    return f"{node.op.value} ALL" if node.all else node.op.value


def _node_json(node: Node) -> dict[str, Json]:
    kind = type(node).__name__
    inputs: list[Json] = [_node_json(below) for below in _inputs(node)]
    return {"node": kind, **_arguments(node), "schema": _schema_json(node.schema), "inputs": inputs}


def _schema_json(schema: Schema) -> list[Json]:
    return [{"name": _column(column), "type": str(column.type)} for column in schema]


def _arguments(node: Node) -> dict[str, Json]:
    """What a node has besides its inputs. Expressions that compute columns stand in the order of the schema."""
    match node:
        case Window(stream, spec):
            window = {"window": window_text(spec), "timestamp": _column(stream.timestamp)}
            unit = {} if stream.unit is TimeUnit.MICROSECONDS else {"unit": stream.unit.name}
            return {"stream": stream.name, "occurrence": written(stream.occurrence), **window, **unit}
        case Table(name, occurrence):
            return {"table": name, "occurrence": written(occurrence)}
        case Repeat(_, times):
            return {"times": _column(times)}
        case Select(_, predicates):
            return {"predicates": _texts(predicates)}
        case Project(_, outputs):
            return {"outputs": _texts(output.expr for output in outputs)}
        case Join(_, on) | SemiJoin(_, _, on) | AntiJoin(_, _, on):
            return {"on": _texts(on)}
        case OuterJoin(on=on):
            return {"side": node.side, "on": _texts(on)}
        case Aggregate(_, keys, aggregations):
            by = _texts(key.expr for key in keys)
            return {"by": by, "aggregations": [_aggregation(a) for a in aggregations]}
        case BucketCounts():
            counted: list[Json] = [{"delay": each.delay, "subtracts": each.subtracts} for each in node.counted]
            kind = {"width": node.buckets.width, "shift": node.buckets.shift, "slides": node.slides}
            return {**kind, "counted": counted, "emits": node.emits}
        case SetOp():
            return {"operator": _set_operator(node)}
        case ToStream(kind, _):
            return {"kind": kind.value}
    return {}


def _texts(expressions: Iterable[Expr]) -> list[Json]:
    return [expression_text(expr) for expr in expressions]


def _list(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _conjunction(predicates: tuple[Expr, ...]) -> str:
    if len(predicates) == 1:
        return _text(predicates[0])
    return " AND ".join(_text(predicate, _NOT) for predicate in predicates)


def _text(expr: Expr, at_least: int = _OR) -> str:
    """The expression as an operand of something that asks for operands that bind at least so tightly."""
    text, binding = _bound_text(expr)
    return text if binding >= at_least else f"({text})"


def _bound_text(expr: Expr) -> tuple[str, int]:
    """The expression's text, and how tightly it holds together."""
    match expr:
        case Column():
            return _column(expr), _ATOM
        case Literal(value, type_):
            return _literal(value, type_)
        case Or(args):
            return " OR ".join(_text(arg, _AND) for arg in args), _OR
        case And(args):
            return " AND ".join(_text(arg, _NOT) for arg in args), _AND
        case Not(IsNull() | In() | Like() as arg):
            return _test_text(arg, " NOT"), _COMPARE
        case Not(arg):
            return f"NOT {_text(arg, _NOT)}", _NOT
        case Compare(op, left, right):
            return f"{_text(left, _ADD)} {op.value} {_text(right, _ADD)}", _COMPARE
        case IsNull() | In() | Like():
            return _test_text(expr, ""), _COMPARE
        case Arithmetic(op, left, right):
            binding = _ADD if op in (Operator.ADD, Operator.SUBTRACT) else _MULTIPLY
            return f"{_text(left, binding)} {op.value} {_text(right, binding + 1)}", binding
        case Negate(arg):
            # Not `--x`: that starts a comment.
            return f"-{_text(arg, _ATOM)}", _NEGATE
        case Case():
            return _case_text(expr), _ATOM
        case Cast(arg, type_):
            return f"CAST({_text(arg)} AS {type_})", _ATOM
        case UserCall(function, args):
            return f"{function.name}({_list(map(_text, args))})", _ATOM
        case Call(function, args):
            return f"{function}({_list(map(_text, args))})", _ATOM
    raise AssertionError(f"no expression {expr}")


def _test_text(expr: IsNull | In | Like, negation: str) -> str:
    arg = _text(expr.arg, _ADD)
    match expr:
        case IsNull():
            return f"{arg} IS{negation} NULL"
        case In(_, options):
            return f"{arg}{negation} IN ({_list(map(_text, options))})"
        case Like(_, pattern, escape):
            escaped = "" if escape == "\\" else f" ESCAPE {_quoted(escape)}"
            return f"{arg}{negation} LIKE {_quoted(pattern)}{escaped}"


def _case_text(expr: Case) -> str:
    branches = zip(expr.conditions, expr.values, strict=True)
    when = " ".join(f"WHEN {_text(condition)} THEN {_text(value)}" for condition, value in branches)
    without_else = isinstance(expr.otherwise, Literal) and expr.otherwise.value is None
    return f"CASE {when} END" if without_else else f"CASE {when} ELSE {_text(expr.otherwise)} END"


def _literal(value: Value, type_: Type) -> tuple[str, int]:
    match value:
        case None:
            return "NULL", _ATOM
        case bool():
            return str(value).upper(), _ATOM
        case str():
            return _quoted(value), _ATOM
        case bytes():
            return f"X'{value.hex().upper()}'", _ATOM
        case float() if not math.isfinite(value):
            return f"CAST('{_NOT_FINITE[str(value)]}' AS DOUBLE)", _ATOM
        case int() if type_.kind in _TIMES:
            return _TIMES[type_.kind](value), _ATOM
    number = str(value) if type_.kind is not Kind.DECIMAL else f"{value:f}"
    return number, _NEGATE if number.startswith("-") else _ATOM


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _timestamp(microseconds: int) -> str:
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:  # a year that has no literal
        return f"TIMESTAMP_MICROS({microseconds})"
    fraction = f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else ""
    return f"TIMESTAMP '{moment.date().isoformat()} {moment:%H:%M:%S}{fraction}'"


def _date(days: int) -> str:
    try:
        return f"DATE '{(_EPOCH.date() + timedelta(days=days)).isoformat()}'"
    except OverflowError:
        return f"CAST({_timestamp(days * DAY)} AS DATE)"


def _interval(microseconds: int) -> str:
    return f"INTERVAL {duration_text(microseconds)}"


_TIMES = {
    Kind.TIMESTAMP: _timestamp,
    Kind.DATE: _date,
    Kind.INTERVAL: _interval,
}


_ESCAPES = str.maketrans({"'": "''", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"})


def _quoted(text: str) -> str:
    """The string as it is written in SQL, in one line."""
    return f"'{text.translate(_ESCAPES)}'"


def _column(column: Column) -> str:
    return f"{_name(column.scope)}.{_name(column.name)}" if column.scope else _name(column.name)


def _name(name: str) -> str:
    """The name as the user wrote it, in backquotes where it is not one word."""
    name = written(name)
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"
