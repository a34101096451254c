"""A generated query as Penstock's SQL, with no more parentheses than the precedence of operators asks for."""

from __future__ import annotations

from penstock.types import STRING, Kind, Type
from tests.generators.declarations import Value
from tests.generators.syntax import (
    Aggregate,
    BareNull,
    Between,
    Binary,
    Call,
    CaseWhen,
    Cast,
    Compare,
    Const,
    Derived,
    Exists,
    Expr,
    Gap,
    HalfJoin,
    InList,
    InQuery,
    IsNull,
    IsTruth,
    Item,
    JoinOn,
    JoinUsing,
    Like,
    Logic,
    Minus,
    NamedUse,
    Not,
    Now,
    Query,
    Range,
    Ref,
    Rows,
    ScalarQuery,
    Select,
    SetOperation,
    Shift,
    Source,
    Star,
    StreamUse,
    TableUse,
    TimeText,
    Unbounded,
    Window,
    With,
)
from tests.reference.casts import cast

# From loosest to tightest.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _UNARY, _ATOM = range(8)


def query_sql(query: Query, stream_operator: str | None = None) -> str:
    """The text of a query; a relation-to-stream operator goes to its outermost SELECT."""
    match query:
        case With(named, body):
            queries = ", ".join(f"{n.name}{_renamed(n.renamed)} AS ({query_sql(n.query)})" for n in named)
            return f"WITH {queries} {query_sql(body, stream_operator)}"
        case SetOperation():
            assert stream_operator is None
            return _set_operation(query)
        case Select():
            return _select(query, stream_operator)


def _set_operation(query: SetOperation) -> str:
    """The same or a tighter operator may stand on the left without parentheses: they associate to the left."""
    tight = query.op == "INTERSECT"
    left, right = query_sql(query.left), query_sql(query.right)
    looser = isinstance(query.left, SetOperation) and tight and query.left.op != "INTERSECT"
    if looser or isinstance(query.left, With):
        left = f"({left})"
    if not isinstance(query.right, Select):
        right = f"({right})"
    return f"{left} {query.op}{' ALL' if query.all else ''} {right}"


def _select(query: Select, stream_operator: str | None) -> str:
    items = ", ".join(_item(item) for item in query.items)
    distinct = "DISTINCT " if query.distinct else ""
    if stream_operator is None:
        items = f"{distinct}{items}"
    elif items == "*" and not distinct:
        items = f"{stream_operator} *"
    else:
        items = f"{stream_operator}({distinct}{items})"
    text = f"SELECT {items} FROM {', '.join(map(_source, query.sources))}"
    if query.where:
        text += f" WHERE {_conjunction(query.where)}"
    if query.group_by:
        text += f" GROUP BY {', '.join(_key(key, query) for key in query.group_by)}"
    if query.having:
        text += f" HAVING {_conjunction(query.having)}"
    return text


def _key(key: Expr, query: Select) -> str:
    places = [number for number, item in enumerate(query.items, 1) if isinstance(item, Item) and item.expr == key]
    return str(places[0]) if query.by_number and places else expr_sql(key)


def _renamed(names: tuple[str, ...]) -> str:
    return f"({', '.join(names)})" if names else ""


def _conjunction(conjuncts: tuple[Expr, ...]) -> str:
    return expr_sql(conjuncts[0]) if len(conjuncts) == 1 else " AND ".join(_at(arg, _NOT) for arg in conjuncts)


def _item(item: Item | Star) -> str:
    if isinstance(item, Star):
        return f"{item.qualifier}.*" if item.qualifier else "*"
    return f"{expr_sql(item.expr)} AS {item.alias}" if item.alias else expr_sql(item.expr)


def _source(source: Source) -> str:
    match source:
        case StreamUse(stream, window, alias):
            brackets = _window(window)
            return stream.name + (f" {brackets}" if brackets else "") + _alias(alias)
        case TableUse(table, alias):
            return table.name + _alias(alias)
        case NamedUse(named, alias):
            return named.name + _alias(alias)
        case Derived(query, alias, renamed):
            return f"({query_sql(query)}) AS {alias}{_renamed(renamed)}"
        case JoinOn(left, right, None):
            return f"{_source(left)} CROSS JOIN {_source(right)}"
        case JoinOn(left, right, on, side):
            assert on is not None
            return f"{_source(left)} {side} JOIN {_source(right)} ON {expr_sql(on)}"
        case HalfJoin(kind, left, right, on):
            return f"{_source(left)} LEFT {kind} JOIN {_source(right)} ON {expr_sql(on)}"
        case JoinUsing(left, right, columns, side):
            return f"{_source(left)} {side} JOIN {_source(right)} USING ({', '.join(columns)})"


def _alias(alias: str | None) -> str:
    return f" AS {alias}" if alias else ""


def _window(window: Window) -> str:
    match window:
        case Unbounded(text):
            return text
        case Now():
            return "[NOW]"
        case Range(width, slide):
            sliding = f" SLIDE {slide} MICROSECONDS" if slide else ""
            return f"[RANGE {width} MICROSECONDS{sliding}]"
        case Rows(count, by):
            partition = f"PARTITION BY {', '.join(by)} " if by else ""
            return f"[{partition}ROWS {count}]"


def expr_sql(expr: Expr) -> str:
    return _text(expr)[0]


def _at(expr: Expr, least: int) -> str:
    """The text of an expression, in parentheses if it binds less tightly than `least`."""
    text, precedence = _text(expr)
    return text if precedence >= least else f"({text})"


def _text(expr: Expr) -> tuple[str, int]:
    match expr:
        case Ref(qualifier, name):
            return (name if expr.bare else f"{qualifier}.{name}"), _ATOM
        case Const(value, type_):
            text = literal(value, type_)
            return text, _UNARY if text.startswith("-") else _ATOM
        case TimeText(value, type_):
            return quoted(str(cast(value, type_, STRING))), _ATOM
        case BareNull():
            return "NULL", _ATOM
        case Binary(op, left, right):
            level = _SUM if op in ("+", "-", "||") else _PRODUCT
            return f"{_at(left, level)} {op} {_at(right, level + 1)}", level
        case Minus(arg):
            return f"-{_at(arg, _ATOM)}", _UNARY
        case Shift(op, arg, microseconds):
            return f"{_at(arg, _SUM)} {op} INTERVAL {microseconds} MICROSECONDS", _SUM
        case Gap(op, left, right, microseconds, factor):
            gap = f"{_at(left, _SUM)} - {_at(right, _PRODUCT)}"
            times = f" * {_at(factor, _UNARY)}" if factor is not None else ""
            return f"{gap} {op} INTERVAL {microseconds} MICROSECONDS{times}", _COMPARISON
        case Compare(op, left, right):
            return f"{_at(left, _SUM)} {op} {_at(right, _SUM)}", _COMPARISON
        case Logic(op, args):
            level = _AND if op == "AND" else _OR
            return f" {op} ".join(_at(arg, level + 1) for arg in args), level
        case Not(arg):
            return f"NOT {_at(arg, _COMPARISON)}", _NOT
        case IsNull(arg, negated):
            return f"{_at(arg, _SUM)} IS {_not(negated)}NULL", _COMPARISON
        case IsTruth(arg, truth, negated):
            return f"{_at(arg, _SUM)} IS {_not(negated)}{str(truth).upper()}", _COMPARISON
        case InList(arg, options, negated):
            return f"{_at(arg, _SUM)} {_not(negated)}IN ({', '.join(map(expr_sql, options))})", _COMPARISON
        case Like(arg, pattern, escape, negated, fold):
            escaping = f" ESCAPE {quoted(escape)}" if escape else ""
            word = "ILIKE" if fold else "LIKE"
            return f"{_at(arg, _SUM)} {_not(negated)}{word} {quoted(pattern)}{escaping}", _COMPARISON
        case Between(arg, low, high, negated):
            bounds = f"{_at(low, _SUM)} AND {_at(high, _SUM)}"
            return f"{_at(arg, _SUM)} {_not(negated)}BETWEEN {bounds}", _COMPARISON
        case CaseWhen():
            return _case(expr), _ATOM
        case Cast(arg, type_):
            return f"CAST({expr_sql(arg)} AS {type_})", _ATOM
        case Call(function, args):
            return f"{function}({', '.join(map(expr_sql, args))})", _ATOM
        case Aggregate(function, argument, distinct):
            inside = "*" if argument is None else expr_sql(argument)
            inside += f", {expr_sql(expr.by)}" if expr.by is not None else ""
            condition = f" FILTER (WHERE {expr_sql(expr.where)})" if expr.where is not None else ""
            return f"{function}({'DISTINCT ' if distinct else ''}{inside}){condition}", _ATOM
        case ScalarQuery(query):
            return f"({query_sql(query)})", _ATOM
        case Exists(query):
            return f"EXISTS ({query_sql(query)})", _ATOM
        case InQuery((arg,), query, negated):
            return f"{_at(arg, _SUM)} {_not(negated)}IN ({query_sql(query)})", _COMPARISON
        case InQuery(args, query, negated):
            row = ", ".join(map(expr_sql, args))
            return f"({row}) {_not(negated)}IN ({query_sql(query)})", _COMPARISON


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _case(expr: CaseWhen) -> str:
    operand = f" {expr_sql(expr.operand)}" if expr.operand is not None else ""
    branches = "".join(
        f" WHEN {expr_sql(when)} THEN {expr_sql(then)}" for when, then in zip(expr.whens, expr.thens, strict=True)
    )
    otherwise = f" ELSE {expr_sql(expr.otherwise)}" if expr.otherwise is not None else ""
    return f"CASE{operand}{branches}{otherwise} END"


def literal(value: Value, type_: Type) -> str:
    if value is None:
        return f"CAST(NULL AS {type_})"
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return _double(value)
        case str():
            return quoted(value)
        case bytes():
            return f"X'{value.hex().upper()}'"
        case int() if type_.kind in (Kind.TIMESTAMP, Kind.DATE):
            return f"{type_} '{cast(value, type_, STRING)!s}'"
    return str(value)


def _double(value: float) -> str:
    finite = value - value == 0
    return f"{value!r}E0" if finite else f"CAST('{value}' AS DOUBLE)"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
