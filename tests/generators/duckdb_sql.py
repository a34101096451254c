"""A generated query as DuckDB's SQL: what its relation holds at the instant `$t`.

Each occurrence of a stream becomes a subquery that selects the window's rows from the stream's table, which holds the
rows that are not late, with `_ts` and `_n`, their time and their place in the order of arrival. `*`, views, WITH and
casts that SQL leaves out are written out; every expression is in parentheses.

DuckDB differs from us in what is written around here: integer division is `//`; an overflow, a division by zero and
a failed cast are errors, and NULL here; a cast of a DOUBLE to an integer rounds; SUM of integers is wider.

`Features.as_duckdb` leaves out what cannot be written this way: AVG of integers that are not small (DuckDB rounds
twice), SUM and AVG of DOUBLEs that are not exact (it depends on the order of rows), AVG and `/ %` of DECIMAL (DOUBLE in
DuckDB), ROUND to digits (of the binary value in DuckDB), EXP, LN, POWER (another library), SUBSTRING at 0 (before the
first character in DuckDB), STRING to DOUBLE, DECIMAL, TIMESTAMP and DATE (other formats), `(a, b) IN` a correlated
subquery (not in DuckDB yet).
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.types import BIGINT, Kind, Type, as_decimal
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
    With,
    common,
    outputs,
    renamed_outputs,
)

_TYPES = {Kind.INT: "INTEGER", Kind.STRING: "VARCHAR", Kind.BINARY: "BLOB"}


def type_sql(type_: Type) -> str:
    return _TYPES.get(type_.kind, str(type_))


def query_sql(query: Query, types: tuple[Type, ...] | None = None) -> str:
    """The text of a query, whose columns are cast to `types`, if they are given."""
    match query:
        case With(_, body):
            return query_sql(body, types)
        case SetOperation(op, all_, left, right):
            shape = types or tuple(output.type for output in outputs(query))
            return f"({query_sql(left, shape)}) {op}{' ALL' if all_ else ''} ({query_sql(right, shape)})"
        case Select():
            return _select(query, types)


def _select(query: Select, types: tuple[Type, ...] | None) -> str:
    exprs = [(column, None) for item in query.items for column in _item(item)]
    shape = types or [expr.type for expr, _ in exprs]
    items = ", ".join(_as(expr, type_) for (expr, _), type_ in zip(exprs, shape, strict=True))
    text = f"SELECT {'DISTINCT ' if query.distinct else ''}{items} FROM {', '.join(map(_source, query.sources))}"
    if query.where:
        text += f" WHERE {' AND '.join(map(expr_sql, query.where))}"
    if query.group_by:
        text += f" GROUP BY {', '.join(map(expr_sql, query.group_by))}"
    if query.having:
        text += f" HAVING {' AND '.join(map(expr_sql, query.having))}"
    return text


def _item(item: Item | Star) -> tuple[Expr, ...]:
    return item.columns if isinstance(item, Star) else (item.expr,)


def _named(query: Query, name: str, renamed: tuple[str, ...]) -> str:
    """A query with a name for itself and for its columns."""
    columns = ", ".join(output.name for output in renamed_outputs(query, renamed))
    return f"({query_sql(query)}) AS {name}({columns})"


def _source(source: Source) -> str:
    match source:
        case StreamUse(stream, _, alias):
            return f"({_window(source)}) AS {alias or stream.name}"
        case TableUse(table, alias):
            return f"{table.name} AS {alias or table.name}"
        case NamedUse(named, alias):
            return _named(named.query, alias or named.name, named.renamed)
        case Derived(query, alias, renamed):
            return _named(query, alias, renamed)
        case JoinOn(left, right, None):
            return f"{_source(left)} CROSS JOIN {_source(right)}"
        case JoinOn(left, right, on, side):
            assert on is not None
            return f"{_source(left)} {side} JOIN {_source(right)} ON {expr_sql(on)}"
        case HalfJoin(kind, left, right, on):
            return f"{_source(left)} {kind} JOIN {_source(right)} ON {expr_sql(on)}"
        case JoinUsing(left, right, columns, side):
            return f"{_source(left)} {side} JOIN {_source(right)} USING ({', '.join(columns)})"


def _window(use: StreamUse) -> str:
    columns = ", ".join(name for name, _ in use.stream.columns)
    rows = f"SELECT {columns} FROM {use.stream.name} WHERE _ts <= $t"
    match use.window:
        case Unbounded():
            return rows
        case Now():
            return f"{rows} AND _ts = $t"
        case Range(width, None):
            return f"{rows} AND _ts BETWEEN $t - {width} AND $t"
        case Range(width, slide):
            turn = f"($t // {slide} * {slide})"
            return f"{rows} AND _ts BETWEEN {turn} - {width} AND {turn}"
        case Rows(count, ()):
            return f"{rows} ORDER BY _ts DESC, _n DESC LIMIT {count}"
        case Rows(count, by):
            rank = f"row_number() OVER (PARTITION BY {', '.join(by)} ORDER BY _ts DESC, _n DESC)"
            return f"{rows} QUALIFY {rank} <= {count}"


def _as(expr: Expr, type_: Type) -> str:
    """The expression as a value of a type that it widens to."""
    text = expr_sql(expr)
    return text if expr.type == type_ else f"CAST({text} AS {type_sql(type_)})"


def expr_sql(expr: Expr) -> str:
    match expr:
        case Ref(qualifier, name):
            return f"{qualifier}.{name}"
        case Const(value, type_):
            return literal(value, type_)
        case TimeText(value, type_):
            return literal(value, type_)
        case BareNull(type_):
            return literal(None, type_)
        case Binary():
            return _binary(expr)
        case Minus(arg):
            if expr.type.is_integer:
                return f"TRY_CAST(-CAST({expr_sql(arg)} AS HUGEINT) AS {type_sql(expr.type)})"
            return f"(-{expr_sql(arg)})"
        case Shift(op, arg, microseconds):
            return f"({expr_sql(arg)} {op} to_microseconds({microseconds}))"
        case Gap(op, left, right, microseconds, factor):
            gap = f"(epoch_us({expr_sql(left)}) - epoch_us({expr_sql(right)}))"
            if factor is None:
                return f"({gap} {op} {microseconds})"
            return f"({gap} {op} TRY_CAST({microseconds} * CAST({expr_sql(factor)} AS HUGEINT) AS BIGINT))"
        case Compare(op, left, right):
            a, b = _unified(left, right)
            return f"({a} {'IS NOT DISTINCT FROM' if op == '<=>' else op} {b})"
        case Logic(op, args):
            return f"({f' {op} '.join(map(expr_sql, args))})"
        case Not(arg):
            return f"(NOT {expr_sql(arg)})"
        case IsNull(arg, negated):
            return f"({expr_sql(arg)} IS {_not(negated)}NULL)"
        case IsTruth(arg, truth, negated):
            return f"({expr_sql(arg)} IS {'' if negated else 'NOT '}DISTINCT FROM {truth})"
        case InList(arg, options, negated):
            value, *listed = _unified(arg, *options)
            return f"({value} {_not(negated)}IN ({', '.join(listed)}))"
        case Like(arg, pattern, escape, negated, fold):
            escaping = f" ESCAPE {quoted(escape)}" if escape else ""
            return f"({expr_sql(arg)} {_not(negated)}{'ILIKE' if fold else 'LIKE'} {quoted(pattern)}{escaping})"
        case Between(arg, low, high, negated):
            both = Logic("AND", (Compare(">=", arg, low), Compare("<=", arg, high)))
            return expr_sql(Not(both) if negated else both)
        case CaseWhen():
            return _case(expr)
        case Cast(arg, type_):
            return _cast(expr_sql(arg), arg.type, type_)
        case Call():
            return _call(expr)
        case Aggregate():
            return _aggregate(expr)
        case ScalarQuery(query):
            return f"({query_sql(query)})"
        case Exists(query):
            return f"EXISTS ({query_sql(query)})"
        case InQuery(args, query, negated):
            shape = tuple(common(pair) for pair in zip(args, outputs(query), strict=True))
            row = ", ".join(_as(arg, type_) for arg, type_ in zip(args, shape, strict=True))
            return f"(({row}) {_not(negated)}IN ({query_sql(query, shape)}))"


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _unified(*exprs: Expr) -> list[str]:
    """The expressions as values of their common type."""
    shape = common(exprs)
    return [_as(expr, shape) for expr in exprs]


def _binary(expr: Binary) -> str:
    if expr.type.is_integer:
        left, right = (f"CAST({expr_sql(arg)} AS HUGEINT)" for arg in (expr.left, expr.right))
        if expr.op in "/%":
            right = f"NULLIF({right}, 0)"
        return f"TRY_CAST({left} {'//' if expr.op == '/' else expr.op} {right} AS {type_sql(expr.type)})"
    if expr.type.kind is Kind.DOUBLE:
        left, right = _as(expr.left, expr.type), _as(expr.right, expr.type)
        if expr.op in "/%":
            right = f"NULLIF({right}, 0)"
        return f"({left} {expr.op} {right})"
    if expr.op == "||":
        return f"({expr_sql(expr.left)} || {expr_sql(expr.right)})"
    left, right = (_as(arg, as_decimal(arg.type)) for arg in (expr.left, expr.right))
    return f"CAST({left} {expr.op} {right} AS {type_sql(expr.type)})"


def _case(expr: CaseWhen) -> str:
    """Written without an operand: a comparison for each WHEN."""
    conditions = [expr_sql(when if expr.operand is None else Compare("=", expr.operand, when)) for when in expr.whens]
    branches = "".join(
        f" WHEN {condition} THEN {_as(then, expr.type)}" for condition, then in zip(conditions, expr.thens, strict=True)
    )
    otherwise = f" ELSE {_as(expr.otherwise, expr.type)}" if expr.otherwise is not None else ""
    return f"CASE{branches}{otherwise} END"


def _cast(text: str, source: Type, target: Type) -> str:
    written = type_sql(target)
    match source.kind, target.kind:
        case _ if source == target:
            return text
        case ((Kind.DOUBLE | Kind.DECIMAL), (Kind.INT | Kind.BIGINT)):
            return f"TRY_CAST(trunc({text}) AS {written})"
        case Kind.STRING, (Kind.INT | Kind.BIGINT):
            digits = f"regexp_full_match(trim({text}), '[+-]?[0-9]+')"
            return f"CASE WHEN {digits} THEN TRY_CAST(trim({text}) AS {written}) END"
        case Kind.STRING, Kind.BOOLEAN:
            return (
                f"CASE WHEN lower(trim({text})) IN ('true', 't', 'yes', 'y', '1') THEN TRUE "
                f"WHEN lower(trim({text})) IN ('false', 'f', 'no', 'n', '0') THEN FALSE END"
            )
        case Kind.STRING, Kind.BINARY:
            return f"encode({text})"
        case Kind.BINARY, Kind.STRING:
            return f"TRY(decode({text}))"
    return f"TRY_CAST({text} AS {written})"


def _call(expr: Call) -> str:
    args = [expr_sql(arg) for arg in expr.args]
    if expr.function in ("COALESCE", "GREATEST", "LEAST"):
        args = _unified(*expr.args)
    if expr.function == "NULLIF":
        first, second = _unified(*expr.args)
        return f"CASE WHEN {first} = {second} THEN NULL ELSE {args[0]} END"
    if expr.function == "IF":
        return expr_sql(CaseWhen(None, expr.args[:1], expr.args[1:2], expr.args[2], expr.type))
    if expr.function == "ABS" and expr.type.is_integer:
        return f"TRY_CAST(abs(CAST({args[0]} AS HUGEINT)) AS {type_sql(expr.type)})"
    if expr.function == "LENGTH" and expr.args[0].type.kind is Kind.BINARY:
        return f"CAST(octet_length({args[0]}) AS INTEGER)"
    if expr.function in _CALLS:
        return _CALLS[expr.function](*args)
    return f"CAST({expr.function}({', '.join(args)}) AS {type_sql(expr.type)})"


#: Functions that DuckDB calls by another name, or that do something else there.
_CALLS: dict[str, Callable[..., str]] = {
    "RLIKE": lambda text, pattern: f"regexp_matches({text}, {pattern})",
    "REGEXP_EXTRACT": lambda text, pattern, group: (
        f"regexp_extract({text}, {pattern}, {group.split('(')[-1].split(' ')[0]})"
    ),
    "CONCAT": lambda *args: f"({' || '.join(args)})",
    "CEIL": lambda arg: f"TRY_CAST(ceil({arg}) AS BIGINT)",
    "FLOOR": lambda arg: f"TRY_CAST(floor({arg}) AS BIGINT)",
    "STARTSWITH": lambda text, part: f"starts_with({text}, {part})",
    "ENDSWITH": lambda text, part: f"ends_with({text}, {part})",
    "UNIX_MICROS": lambda time: f"epoch_us({time})",
    "UNIX_MILLIS": lambda time: f"CAST(floor(epoch_us({time}) / 1000) AS BIGINT)",
    "UNIX_SECONDS": lambda time: f"CAST(floor(epoch_us({time}) / 1000000) AS BIGINT)",
    "TIMESTAMP_SECONDS": lambda seconds: f"make_timestamp(CAST({seconds} AS BIGINT) * 1000000)",
    "TIMESTAMP_MICROS": lambda micros: f"make_timestamp({micros})",
}


def _extreme_by(expr: Aggregate) -> str:
    """Of rows that are alike in what is compared, the one with the most extreme value; NULL is the least."""
    assert expr.arg is not None
    assert expr.by is not None
    value, by = expr_sql(expr.arg), expr_sql(expr.by)
    where = f"{by} IS NOT NULL" + (f" AND {expr_sql(expr.where)}" if expr.where is not None else "")
    packed = f"struct_pack(by := {by}, known := ({value}) IS NOT NULL, it := {value})"
    return f"({expr.function[:3].lower()}({packed}) FILTER (WHERE {where})).it"


def _aggregate(expr: Aggregate) -> str:
    if expr.by is not None:
        return _extreme_by(expr)
    inside = "*" if expr.arg is None else expr_sql(expr.arg)
    text = f"{expr.function}({'DISTINCT ' if expr.distinct else ''}{inside})"
    if expr.where is not None:
        text += f" FILTER (WHERE {expr_sql(expr.where)})"
    if expr.function == "SUM" and expr.type == BIGINT:
        return f"TRY_CAST({text} AS BIGINT)"
    return f"CAST({text} AS {type_sql(expr.type)})"


def literal(value: Value, type_: Type) -> str:
    if value is None:
        return f"CAST(NULL AS {type_sql(type_)})"
    match value:
        case bool():
            return str(value)
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case str():
            return quoted(value)
        case bytes():
            escaped = "".join(f"\\x{byte:02X}" for byte in value)
            return f"CAST('{escaped}' AS BLOB)"
    if type_.kind is Kind.TIMESTAMP:
        return f"make_timestamp(CAST({value} AS BIGINT))"
    if type_.kind is Kind.DATE:
        return f"(DATE '1970-01-01' + ({value}))"
    return f"CAST({value} AS {type_sql(type_)})"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
