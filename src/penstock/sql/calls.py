"""Calls of functions: which function a name means, and what it takes. What it gives is in the algebra's table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from sqlglot import exp

from penstock import types
from penstock.algebra.expressions import Case, Comparator, Expr, Literal, Operator, call_in
from penstock.algebra.functions import FUNCTIONS, TRUNCATION_UNITS, AggregateFunction
from penstock.algebra.text_patterns import FORMAT_HINT, PATTERN_HINT, groups_of, pattern_problem, read_format
from penstock.algebra.user_functions import UserCall, UserFunction
from penstock.sql.coercion import widen
from penstock.sql.context import Context
from penstock.sql.diagnostics import counted, did_you_mean
from penstock.sql.dialect import RELATION_TO_STREAM
from penstock.sql.operations import arithmetic, cast, choose, compare
from penstock.sql.refused import COMPUTE_FIRST, INSTEAD, NO_CLOCK
from penstock.sql.syntax import Tree
from penstock.sql.zone import current_zone
from penstock.types import BOOLEAN, STRING, common_type

BASIC_AGGREGATES = {function.value: function for function in AggregateFunction}
COMPOSED_AGGREGATES = frozenset(
    {
        *("MIN_BY", "MAX_BY", "FIRST", "FIRST_VALUE", "LAST", "LAST_VALUE", "APPROX_COUNT_DISTINCT", "COUNT_IF"),
        *("VARIANCE", "VAR_SAMP", "VAR_POP", "STDDEV", "STDDEV_SAMP", "STDDEV_POP"),
    }
)
AGGREGATES = frozenset(BASIC_AGGREGATES) | COMPOSED_AGGREGATES

_NO_CHANCE = "choose rows by their values, such as id % 10 = 0"

#: The hint where a function is not known, and no name is near.


def check_function(tree: exp.Anonymous, context: Context) -> None:
    """Refuses a function that there is not."""
    name = _FUNCTION_ALIASES.get(tree.name.upper(), tree.name.upper())
    if any(isinstance(arg, exp.Distinct) for arg in tree.expressions):
        context.fail(f"DISTINCT stands only in an aggregate, and {tree.name.upper()} is none", None, tree)
    if name in FUNCTIONS or name in _SPECIAL_FUNCTIONS:
        return
    if not _overloads(name, context):
        _unknown_function(tree, name, context)
    if context.callables.refusal is not None:
        message, hint = context.callables.refusal
        context.fail(f"{message}: {tree.name}", hint, tree)


def call_function(tree: exp.Anonymous, args: tuple[Expr, ...], context: Context, place: Tree | None = None) -> Expr:
    special = _SPECIAL_FUNCTIONS.get(tree.name.upper())
    name = _FUNCTION_ALIASES.get(tree.name.upper(), tree.name.upper())
    if special is None and name not in FUNCTIONS:
        return _call_user(name, args, tree, context)
    return special(args, place or tree, context) if special else call(name, args, place or tree, context)


def is_taken(name: str) -> bool:
    """Whether no user function may have this name: the language has it, or speaks of it."""
    names = (FUNCTIONS, _FUNCTION_ALIASES, _SPECIAL_FUNCTIONS, AGGREGATES, RELATION_TO_STREAM, _NOT_OF_THE_INPUT)
    return any(name.upper() in some for some in names)


def _overloads(name: str, context: Context) -> list[UserFunction]:
    """The user functions of a name, those with fewer arguments first."""
    found = [function for (own, _), function in context.callables.functions.items() if own == name]
    return sorted(found, key=lambda function: len(function.arguments))


def _call_user(name: str, args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    overloads = _overloads(name, context)
    usage = f"write {' or '.join(function.signature for function in overloads)}"
    function = context.callables.functions.get((name, len(args)))
    if function is None:
        takes = " or ".join(str(len(each.arguments)) for each in overloads)
        noun = "argument" if takes == "1" else "arguments"
        context.fail(f"{overloads[0].name} takes {takes} {noun}, not {len(args)}", usage, tree)
    pairs = list(zip(args, function.arguments, strict=True))
    if not all(common_type(arg.type, type_) == type_ for arg, type_ in pairs):
        given = ", ".join(str(arg.type) for arg in args)
        context.fail(f"{function.name} does not take ({given})", usage, tree)
    return UserCall(function, tuple(widen(arg, type_) for arg, type_ in pairs))


def _unknown_function(tree: exp.Anonymous, name: str, context: Context) -> NoReturn:
    if name in _NOT_OF_THE_INPUT:
        hint = _NO_CHANCE if name in ("RAND", "RANDOM", "UUID") else NO_CLOCK[1]
        context.fail(f"there is no {name}: a result depends on the input alone", hint, tree)
    if name in RELATION_TO_STREAM:
        hint = f"write SELECT {name}(a, b) FROM ..."
        context.fail(f"{name} stands right after the outermost SELECT, around the whole list", hint, tree)
    own = [function.name for function in context.callables.functions.values()]
    known = [*FUNCTIONS, *_FUNCTION_ALIASES, *_SPECIAL_FUNCTIONS, *AGGREGATES, *own]
    if name in ("SESSION_WINDOW", "SESSION"):
        hint = "window(ts, '10 minutes') is; or compute the session in the DataFrame first"
        context.fail("session windows are not supported", hint, tree)
    hint = INSTEAD.get(name) or did_you_mean(name, known, at_least=0.75) or COMPUTE_FIRST
    context.fail(f"there is no function {tree.name}", hint, tree)


def call(name: str, args: tuple[Expr, ...], place: Tree, context: Context) -> Expr:
    function = FUNCTIONS[name]
    fit = function.rule(tuple(arg.type for arg in args))
    if fit is None:
        given = ", ".join(str(arg.type) for arg in args)
        context.fail(f"{name} does not take ({given})", f"write {function.usage}", place)
    return call_in(name, tuple(widen(arg, type_) for arg, type_ in zip(args, fit[0], strict=True)), current_zone())


def _date_trunc(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    unit = args[0].value if args and isinstance(args[0], Literal) else None
    if not isinstance(unit, str) or unit.upper() not in TRUNCATION_UNITS:
        context.fail("DATE_TRUNC takes a unit in quotes first", f"units are {', '.join(TRUNCATION_UNITS)}", tree)
    return call("DATE_TRUNC", (Literal(unit.upper(), STRING), *args[1:]), tree, context)


def _take(count: int, args: tuple[Expr, ...], usage: str, tree: Tree, context: Context) -> tuple[Expr, ...]:
    if len(args) != count:
        context.fail(f"this takes {counted(count, 'argument')}, not {len(args)}", f"write {usage}", tree)
    return args


def _if(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    condition, yes, no = _take(3, args, "IF(condition, then, else)", tree, context)
    condition = widen(condition, BOOLEAN) if condition.type == types.NULL else condition
    if condition.type != BOOLEAN:
        context.fail("IF takes a condition first", "write IF(condition, then, else)", tree)
    return choose((condition,), (yes,), no, tree, context)


def _null_if(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    value, null = _take(2, args, "NULLIF(value, null)", tree, context)
    condition = compare(Comparator.EQ, value, null, tree, context)
    return Case((condition,), (Literal(None, value.type),), value)


def _mod(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    left, right = _take(2, args, "MOD(dividend, divisor)", tree, context)
    return arithmetic(Operator.MODULO, left, right, tree, context)


def _locate(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    part, string = _take(2, args, "LOCATE(part, string)", tree, context)
    return call("INSTR", (string, part), tree, context)


def _date(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    (arg,) = _take(1, args, "DATE(timestamp)", tree, context)
    return cast(arg, types.DATE, tree, context)


def _pattern(args: tuple[Expr, ...], tree: Tree, context: Context) -> str:
    """The regular expression that is the second argument."""
    literal = args[1] if len(args) > 1 else None
    if not isinstance(literal, Literal) or not isinstance(literal.value, str):
        context.fail("a regular expression stands in quotes", "write RLIKE(text, 'a+b')", tree)
    problem = pattern_problem(literal.value)
    if problem is not None:
        context.fail(f"this is not a regular expression: {problem}", PATTERN_HINT, tree)
    return literal.value


def _rlike(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    args = _take(2, args, "RLIKE(text, 'pattern')", tree, context)
    _pattern(args, tree, context)
    return call("RLIKE", args, tree, context)


def _regexp_extract(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    """Without a number it is the first group, as in Spark."""
    pattern = _pattern(args, tree, context)
    group = args[2] if len(args) > 2 else Literal(1, types.INT)
    number = group.value if isinstance(group, Literal) else None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= groups_of(pattern):
        hint = f"this pattern has {counted(groups_of(pattern), 'group')} in parentheses, and 0 is all of it"
        context.fail("REGEXP_EXTRACT takes the number of a group", hint, tree)
    return call("REGEXP_EXTRACT", (*args[:2], Literal(number, types.INT)), tree, context)


def _format(args: tuple[Expr, ...], tree: Tree, context: Context) -> None:
    literal = args[1]
    form = literal.value if isinstance(literal, Literal) else None
    if not isinstance(form, str) or read_format(form) is None:
        context.fail("a format of times stands in quotes, such as 'yyyy-MM-dd HH:mm:ss'", FORMAT_HINT, tree)


def _to_timestamp(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    if len(args) == 1:
        return args[0] if args[0].type == types.TIMESTAMP else cast(args[0], types.TIMESTAMP, tree, context)
    args = _take(2, args, "TO_TIMESTAMP(string, 'format')", tree, context)
    _format(args, tree, context)
    return call("TO_TIMESTAMP", args, tree, context)


def _date_format(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    args = _take(2, args, "DATE_FORMAT(timestamp, 'format')", tree, context)
    _format(args, tree, context)
    return call("DATE_FORMAT", args, tree, context)


_FUNCTION_ALIASES = {
    "REGEXP": "RLIKE",
    "REGEXP_LIKE": "RLIKE",
    "CEILING": "CEIL",
    "POW": "POWER",
    "SUBSTR": "SUBSTRING",
    "LEN": "LENGTH",
    "CHAR_LENGTH": "LENGTH",
    "CHARACTER_LENGTH": "LENGTH",
    "UCASE": "UPPER",
    "LCASE": "LOWER",
    "NVL": "COALESCE",
    "IFNULL": "COALESCE",
    "DAYOFMONTH": "DAY",
}

_SPECIAL_FUNCTIONS: dict[str, Callable[[tuple[Expr, ...], Tree, Context], Expr]] = {
    "DATE": _date,
    "DATE_TRUNC": _date_trunc,
    "IF": _if,
    "LOCATE": _locate,
    "MOD": _mod,
    "NULLIF": _null_if,
    "POSITION": _locate,
    "RLIKE": _rlike,
    "REGEXP": _rlike,
    "REGEXP_LIKE": _rlike,
    "REGEXP_EXTRACT": _regexp_extract,
    "TO_TIMESTAMP": _to_timestamp,
    "DATE_FORMAT": _date_format,
}

#: Functions of other systems whose value is not a function of the input.
_NOT_OF_THE_INPUT = frozenset(
    {"NOW", "CURRENT_TIMESTAMP", "CURRENT_DATE", "CURDATE", "LOCALTIMESTAMP", "RAND", "RANDOM", "UUID"}
)
