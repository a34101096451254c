"""Scalar expressions: trees to typed expressions over columns of one occurrence each.

What a tree means depends on where it stands: which names are in scope, whether aggregates are legal there, and who
takes a scalar subquery. A `Context` says so; `bind_scalar` does the rest by a table with one entry per kind of tree. A
kind that is not in the table is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple, NoReturn

from sqlglot import exp

from penstock import types
from penstock.algebra.expressions import (
    FALSE,
    TRUE,
    UNTYPED_NULL,
    And,
    Arithmetic,
    Call,
    Case,
    Column,
    Comparator,
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
    arithmetic_type,
    can_cast,
)
from penstock.algebra.functions import FUNCTIONS, TRUNCATION_UNITS, AggregateFunction
from penstock.sql import literals
from penstock.sql.coercion import unify, unify_all, widen
from penstock.sql.diagnostics import Diagnostics, counted, did_you_mean, listed
from penstock.sql.dialect import RELATION_TO_STREAM
from penstock.sql.scope import Scope
from penstock.sql.syntax import Tree
from penstock.types import BIGINT, BOOLEAN, DOUBLE, INTERVAL, STRING, TIMESTAMP, Kind, Type, as_decimal

AGGREGATES = {function.value: function for function in AggregateFunction}


class Refusal(NamedTuple):
    message: str
    hint: str | None = None


NO_AGGREGATE = Refusal("there is no aggregate here")
NO_SUBQUERY = Refusal("there is no subquery here")


@dataclass(frozen=True, slots=True)
class Context:
    """Where an expression stands."""

    diagnostics: Diagnostics
    scope: Scope
    #: Takes an aggregate call (and the condition of its FILTER), or says why there may be none.
    aggregate: Callable[[exp.Anonymous, Tree | None], Expr] | Refusal = NO_AGGREGATE
    #: Takes a scalar subquery, or says why there may be none.
    subquery: Callable[[exp.Subquery], Expr] | Refusal = NO_SUBQUERY
    #: Names that are looked up after the columns in scope: aliases of the select list or of GROUP BY.
    aliases: Mapping[str, Callable[[], Expr]] = field(default_factory=dict)
    #: Those aliases that are looked up before.
    hiding: frozenset[str] = frozenset()
    #: The clause that gives names to rows.
    clause: str = "FROM"

    def fail(self, message: str, hint: str | None, place: Tree) -> NoReturn:
        self.diagnostics.fail(message, hint, place)


def bind_scalar(tree: Tree, context: Context) -> Expr:
    binder = _BINDERS.get(type(tree))
    if binder is None:
        context.fail(*_REFUSED.get(type(tree), ("this is not supported in an expression", None)), tree)
    return binder(tree, context)


def bind_predicate(tree: Tree, context: Context) -> Expr:
    """A scalar that is a boolean."""
    expr = bind_scalar(tree, context)
    if expr.type == types.NULL:
        return widen(expr, BOOLEAN)
    if expr.type != BOOLEAN:
        context.fail(f"a condition is true or false, and this is a {expr.type}", "compare it with something", tree)
    return expr


def bind_column(tree: exp.Column, context: Context) -> Expr:
    if isinstance(tree.this, exp.Star):
        context.fail("* stands only in a select list and in COUNT(*)", None, tree)
    if len(tree.parts) > 2:
        context.fail("a column's name has at most two parts", "write occurrence.column", tree)
    qualifier, name = (tree.table or None), tree.name
    if qualifier is None and name.lower() in context.hiding:
        return context.aliases[name.lower()]()
    found = context.scope.find(qualifier, name)
    if len(found) > 1:
        _ambiguous(tree, found, context)
    if found:
        return found[0]
    if qualifier is None and name.lower() in context.aliases:
        return context.aliases[name.lower()]()
    return _outer_column(tree, qualifier, name, context)


def _ambiguous(tree: exp.Column, found: list[Column], context: Context) -> NoReturn:
    choices = list(dict.fromkeys(str(column) for column in found))
    if tree.table:
        context.fail(f"{tree.sql()} is ambiguous: it has {len(found)} columns of that name", "rename one with AS", tree)
    context.fail(f"{tree.name} is ambiguous: {listed(choices)}", "write which one you mean", tree)


def _outer_column(tree: exp.Column, qualifier: str | None, name: str, context: Context) -> Expr:
    scope = context.scope
    outer = scope.outer.find(qualifier, name) if scope.outer else []
    if outer and scope.closed_because:
        message = f"{tree.sql()} is a column of the query around, and {scope.closed_because}"
        context.fail(message, "join the two, in a WHERE that sees both", tree)
    if len(outer) == 1:
        return outer[0]
    if outer:
        _ambiguous(tree, outer, context)
    further = scope.outer.outer if scope.outer else None
    while further and not further.find(qualifier, name):
        further = further.outer
    if further:
        message = f"{tree.sql()} is a column of a query further out"
        context.fail(message, "a subquery may refer only to the query right around it", tree)
    _unknown_column(tree, qualifier, name, context)


def _unknown_column(tree: exp.Column, qualifier: str | None, name: str, context: Context) -> NoReturn:
    scope = context.scope
    if scope.incomplete or (scope.outer and scope.outer.incomplete):
        raise context.diagnostics.errors[0]
    if scope.is_virtual(qualifier, name):
        context.fail(f"{name} is virtual: no row has it", "virtual columns stand only in assertions", tree)
    if qualifier is not None and scope.item(qualifier) is None:
        known = [item.qualifier for item in scope.items]
        hint = did_you_mean(qualifier, known) or f"{context.clause} has {listed(known)}"
        context.fail(f"there is no {qualifier} in {context.clause}", hint, tree)
    names = list(dict.fromkeys(scope.names(qualifier)))
    where = f" in {qualifier}" if qualifier else ""
    near = did_you_mean(name, [*names, *context.aliases])
    context.fail(f"there is no column {name}{where}", near or f"columns are {listed(names)}", tree)


def _bind_literal(tree: exp.Literal, context: Context) -> Expr:
    if tree.is_string:
        return Literal(tree.name, STRING)
    literal = literals.number(tree.name)
    if literal is None:
        hint = f"a number has at most {types.MAX_PRECISION} digits, and a DOUBLE is at most 1.79e308"
        context.fail(f"no type holds {tree.name}", hint, tree)
    return literal


def _bind_hex(tree: exp.HexString, context: Context) -> Expr:
    value = literals.hex_bytes(tree.name)
    if value is None:
        context.fail("this is not a string of hexadecimal digits", None, tree)
    return Literal(value, types.BINARY)


def _bind_logic(connective: type[And] | type[Or]) -> Callable[[Tree, Context], Expr]:
    def bind(tree: Tree, context: Context) -> Expr:
        assert isinstance(tree, exp.Connector)
        return connective(tuple(bind_predicate(part, context) for part in tree.flatten(unnest=False)))

    return bind


def _bind_comparison(op: Comparator) -> Callable[[Tree, Context], Expr]:
    def bind(tree: Tree, context: Context) -> Expr:
        left, right = bind_scalar(tree.this, context), bind_scalar(tree.expression, context)
        return compare(op, left, right, tree, context)

    return bind


def compare(op: Comparator, left: Expr, right: Expr, place: Tree, context: Context) -> Expr:
    both = unify(left, right)
    if both is None:
        message = f"cannot compare {left.type} with {right.type}"
        context.fail(message, _comparison_hint(left, right), place)
    return Compare(op, *both)


def _comparison_hint(left: Expr, right: Expr) -> str:
    kinds = {left.type.kind, right.type.kind}
    if Kind.INTERVAL in kinds and (left.type.is_numeric or right.type.is_numeric):
        return "write a time as INTERVAL 5 SECONDS"
    if Kind.TIMESTAMP in kinds and (left.type.is_numeric or right.type.is_numeric):
        return "use UNIX_MICROS(timestamp), or TIMESTAMP_MICROS(number)"
    literal = next((e for e in (left, right) if isinstance(e, Literal) and isinstance(e.value, str)), None)
    if literal is not None and kinds & {Kind.TIMESTAMP, Kind.DATE}:
        return f"'{literal.value!s}' does not read as a time; write it as '2026-01-31 12:00:00'"
    if Kind.BOOLEAN in kinds and any(isinstance(expr, Compare) for expr in (left, right)):
        return "compare two values at a time, and join the comparisons with AND"
    narrow, wide = (left, right) if left.type == STRING else (right, left)
    return f"say what is meant: CAST(... AS {wide.type if narrow.type == STRING else narrow.type})"


def _bind_not_same(tree: Tree, context: Context) -> Expr:
    return Not(_bind_comparison(Comparator.SAME)(tree, context))


def _bind_is(tree: Tree, context: Context) -> Expr:
    arg = bind_scalar(tree.this, context)
    if isinstance(tree.expression, exp.Null):
        return IsNull(arg)
    if isinstance(tree.expression, exp.Boolean) and arg.type == BOOLEAN:
        return Compare(Comparator.SAME, arg, TRUE if tree.expression.this else FALSE)
    context.fail("IS takes NULL, TRUE or FALSE", "compare other values with =", tree)


def _bind_between(tree: Tree, context: Context) -> Expr:
    arg = bind_scalar(tree.this, context)
    low, high = bind_scalar(tree.args["low"], context), bind_scalar(tree.args["high"], context)
    if tree.args.get("symmetric"):
        context.fail("BETWEEN SYMMETRIC is not supported", "write the smaller bound first", tree)
    return And((compare(Comparator.GE, arg, low, tree, context), compare(Comparator.LE, arg, high, tree, context)))


def _bind_in(tree: Tree, context: Context) -> Expr:
    if tree.args.get("query"):
        context.fail(*_MISPLACED_SUBQUERY, tree)
    if not tree.expressions:
        context.fail("IN takes a list or a subquery", None, tree)
    arg = bind_scalar(tree.this, context)
    options = tuple(bind_scalar(option, context) for option in tree.expressions)
    alike = unify_all((arg, *options))
    if alike is None:
        for option in options:
            compare(Comparator.EQ, arg, option, tree, context)
        kinds = listed(dict.fromkeys(str(option.type) for option in options))
        context.fail(f"the list has values of different types: {kinds}", "CAST them to one type", tree)
    if alike[0].type == types.NULL:
        return Literal(None, BOOLEAN)
    return In(alike[0], alike[1:])


def _bind_like(tree: Tree, context: Context) -> Expr:
    return _like(tree, "\\", context)


def _bind_escape(tree: Tree, context: Context) -> Expr:
    if not isinstance(tree.this, (exp.Like, exp.ILike)) or len(tree.expression.name) != 1:
        context.fail("ESCAPE takes one character, after LIKE", None, tree)
    return _like(tree.this, tree.expression.name, context)


def _like(tree: Tree, escape: str, context: Context) -> Expr:
    arg, pattern = bind_scalar(tree.this, context), tree.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        context.fail("LIKE takes a pattern in quotes", "CONTAINS, STARTSWITH and ENDSWITH take expressions", tree)
    if arg.type.kind not in (Kind.STRING, Kind.NULL):
        context.fail(f"LIKE takes a string, not a {arg.type}", "CAST it to STRING", tree)
    units = _pattern_units(pattern.name, escape)
    if units and units[-1] == escape:
        context.fail("this pattern ends in its escape character", f"write it twice: {escape}{escape}", pattern)
    arg = widen(arg, STRING)
    if isinstance(tree, exp.ILike):
        # An escape character may be a letter, which must not be taken for another in lower case.
        lower = (f"\\{unit[-1].lower()}" if unit[0] in (escape, "\\") else unit.lower() for unit in units)
        return Like(Call("LOWER", (arg,)), "".join(lower))
    return Like(arg, pattern.name, escape)


def _pattern_units(pattern: str, escape: str) -> list[str]:
    """The characters of a LIKE pattern, each with the escape character before it, if there is one."""
    return re.findall(rf"{re.escape(escape)}?.|{re.escape(escape)}", pattern, re.DOTALL)


def _bind_arithmetic(op: Operator) -> Callable[[Tree, Context], Expr]:
    def bind(tree: Tree, context: Context) -> Expr:
        left, right = bind_scalar(tree.this, context), bind_scalar(tree.expression, context)
        return arithmetic(op, left, right, tree, context)

    return bind


def arithmetic(op: Operator, left: Expr, right: Expr, place: Tree, context: Context) -> Expr:
    left, right = _operands(op, left, right)
    if arithmetic_type(op, left.type, right.type) is None:
        context.fail(f"there is no {left.type} {op.value} {right.type}", _arithmetic_hint(op, left, right), place)
    return Arithmetic(op, left, right)


def _arithmetic_hint(op: Operator, left: Expr, right: Expr) -> str | None:
    kinds = {left.type.kind, right.type.kind}
    is_number = left.type.is_numeric or right.type.is_numeric
    if Kind.TIMESTAMP in kinds and is_number:
        return "write a time as INTERVAL 5 SECONDS, or count with UNIX_MICROS(timestamp)"
    if Kind.DATE in kinds and is_number:
        return "write a time as INTERVAL 1 DAY"
    if Kind.STRING in kinds and kinds & {Kind.INTERVAL, Kind.TIMESTAMP, Kind.DATE}:
        return "write a time as TIMESTAMP '2026-01-31 12:00:00'"
    if Kind.STRING in kinds:
        return "strings are joined with ||" if op is Operator.ADD else "CAST the string to a number"
    return None


def _operands(op: Operator, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """The operands in the order and of the types that the operator takes, where there are such."""
    commutes = op in (Operator.ADD, Operator.MULTIPLY)
    if commutes and left.type == INTERVAL and right.type.kind in (Kind.TIMESTAMP, Kind.DATE) and op is Operator.ADD:
        left, right = right, left
    if op is Operator.MULTIPLY and right.type == INTERVAL:
        left, right = right, left
    if left.type == INTERVAL and op is Operator.MULTIPLY and right.type.is_integer:
        return left, widen(right, BIGINT)
    times = (Kind.TIMESTAMP, Kind.DATE, Kind.INTERVAL)
    if left.type.kind is Kind.DATE and right.type.kind in times:
        left = widen(left, TIMESTAMP)
    if right.type.kind is Kind.DATE and left.type.kind in times:
        right = widen(right, TIMESTAMP)
    if left.type.is_numeric and right.type.is_numeric:
        return _numbers(left, right)
    if types.NULL in (left.type, right.type):
        return unify(left, right) or (left, right)
    return left, right


def _numbers(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    kinds = {left.type.kind, right.type.kind}
    if Kind.DOUBLE in kinds:
        return widen(left, DOUBLE), widen(right, DOUBLE)
    if Kind.DECIMAL in kinds:
        return widen(left, as_decimal(left.type)), widen(right, as_decimal(right.type))
    both = unify(left, right)
    assert both is not None
    return both


def _bind_int_div(tree: Tree, context: Context) -> Expr:
    left, right = bind_scalar(tree.this, context), bind_scalar(tree.expression, context)
    if not (left.type.is_integer and right.type.is_integer):
        context.fail("DIV divides whole numbers", "write / for others", tree)
    return arithmetic(Operator.DIVIDE, left, right, tree, context)


def _bind_negate(tree: Tree, context: Context) -> Expr:
    if isinstance(tree.this, exp.Literal) and not tree.this.is_string and tree.this.name.isdecimal():
        # The smallest BIGINT is a constant too, though its digits alone are not.
        literal = literals.whole_number(-int(tree.this.name)) if len(tree.this.name) <= 60 else None
        if literal is not None:
            return literal
    arg = bind_scalar(tree.this, context)
    if not arg.type.is_numeric and arg.type != INTERVAL:
        context.fail(f"there is no -{arg.type}", "CAST it to a number" if arg.type == STRING else None, tree)
    if isinstance(arg, Literal) and isinstance(arg.value, Decimal):
        return Literal(arg.value.copy_negate(), arg.type)
    if isinstance(arg, Literal) and isinstance(arg.value, float):
        return Literal(-arg.value, arg.type)
    smallest = types.INT_RANGE[0] if arg.type == types.INT else types.BIGINT_RANGE[0]
    if isinstance(arg, Literal) and isinstance(arg.value, int) and arg.value > smallest:
        return Literal(-arg.value, arg.type)
    return Negate(arg)


def _bind_concat(tree: Tree, context: Context) -> Expr:
    """`a || b || c`, and strings that stand side by side."""
    parts = tuple(tree.flatten(unnest=False)) if isinstance(tree, exp.DPipe) else tree.expressions
    return _call("CONCAT", tuple(bind_scalar(part, context) for part in parts), tree, context)


def _bind_case(tree: Tree, context: Context) -> Expr:
    conditions, values = [], []
    subject = tree.this and bind_scalar(tree.this, context)
    for branch in tree.args["ifs"]:
        if subject is not None:
            option = bind_scalar(branch.this, context)
            conditions.append(compare(Comparator.EQ, subject, option, branch.this, context))
        else:
            conditions.append(bind_predicate(branch.this, context))
        values.append(bind_scalar(branch.args["true"], context))
    default = tree.args.get("default")
    otherwise = bind_scalar(default, context) if default else UNTYPED_NULL
    return _choice(tuple(conditions), tuple(values), otherwise, tree, context)


def _choice(
    conditions: tuple[Expr, ...], values: tuple[Expr, ...], otherwise: Expr, place: Tree, context: Context
) -> Expr:
    alike = unify_all((*values, otherwise))
    if alike is None:
        kinds = listed(dict.fromkeys(str(value.type) for value in (*values, otherwise)))
        context.fail(f"the branches are of different types: {kinds}", "CAST them to one type", place)
    return Case(conditions, alike[:-1], alike[-1])


def _bind_cast(tree: Tree, context: Context) -> Expr:
    target = literals.bind_type(tree.args["to"], context.diagnostics)
    if any(tree.args.get(part) for part in ("format", "default", "action")):
        context.fail("CAST takes a type and nothing else", "where a value cannot be cast it is NULL", tree)
    return cast(bind_scalar(tree.this, context), target, tree, context)


def cast(arg: Expr, target: Type, place: Tree, context: Context) -> Expr:
    if isinstance(arg, Literal) and isinstance(arg.value, str) and target.kind in (Kind.TIMESTAMP, Kind.DATE):
        read = literals.timestamp_value if target == TIMESTAMP else literals.date_value
        value = read(arg.value)
        if value is None:
            context.fail(f"'{arg.value}' is not a {target}", "write it as '2026-01-31 12:00:00'", place)
        return Literal(value, target)
    if not can_cast(arg.type, target):
        hint = None
        if {arg.type.kind, target.kind} <= {Kind.TIMESTAMP, Kind.INT, Kind.BIGINT, Kind.DOUBLE}:
            hint = "use UNIX_MICROS(timestamp), or TIMESTAMP_MICROS(number)"
        context.fail(f"a {arg.type} cannot be cast to {target}", hint, place)
    return widen(arg, target)


def _bind_extract(tree: Tree, context: Context) -> Expr:
    part = tree.name.upper()
    if part not in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"):
        context.fail(f"cannot extract {part}", "YEAR, MONTH, DAY, HOUR, MINUTE and SECOND can be", tree)
    return _call(part, (bind_scalar(tree.expression, context),), tree, context)


def _bind_position(tree: Tree, context: Context) -> Expr:
    args = (bind_scalar(tree.this, context), bind_scalar(tree.args["substr"], context))
    return _call("INSTR", args, tree, context)


def _bind_function(tree: Tree, context: Context) -> Expr:
    assert isinstance(tree, exp.Anonymous)
    name = tree.name.upper()
    if name in AGGREGATES:
        return _bind_aggregate(tree, None, context)
    if any(isinstance(arg, exp.Distinct) for arg in tree.expressions):
        context.fail(f"DISTINCT stands only in an aggregate, and {name} is none", None, tree)
    special = _SPECIAL_FUNCTIONS.get(name)
    name = _FUNCTION_ALIASES.get(name, name)
    if special is None and name not in FUNCTIONS:
        _unknown_function(tree, name, context)
    args = tuple(bind_scalar(arg, context) for arg in tree.expressions)
    return special(args, tree, context) if special else _call(name, args, tree, context)


def _unknown_function(tree: exp.Anonymous, name: str, context: Context) -> NoReturn:
    if name in _NOT_OF_THE_INPUT:
        hint = _NO_CHANCE if name in ("RAND", "RANDOM", "UUID") else _NO_CLOCK[1]
        context.fail(f"there is no {name}: a result depends on the input alone", hint, tree)
    if name in RELATION_TO_STREAM:
        hint = f"write SELECT {name}(a, b) FROM ..."
        context.fail(f"{name} stands right after the outermost SELECT, around the whole list", hint, tree)
    known = [*FUNCTIONS, *_FUNCTION_ALIASES, *_SPECIAL_FUNCTIONS, *AGGREGATES]
    context.fail(f"there is no function {tree.name}", did_you_mean(name, known, at_least=0.75), tree)


def _call(name: str, args: tuple[Expr, ...], place: Tree, context: Context) -> Expr:
    function = FUNCTIONS[name]
    fit = function.rule(tuple(arg.type for arg in args))
    if fit is None:
        given = ", ".join(str(arg.type) for arg in args)
        context.fail(f"{name} does not take ({given})", f"write {function.usage}", place)
    return Call(name, tuple(widen(arg, type_) for arg, type_ in zip(args, fit[0], strict=True)))


def _date_trunc(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    unit = args[0].value if args and isinstance(args[0], Literal) else None
    if not isinstance(unit, str) or unit.upper() not in TRUNCATION_UNITS:
        context.fail("DATE_TRUNC takes a unit in quotes first", f"units are {', '.join(TRUNCATION_UNITS)}", tree)
    return _call("DATE_TRUNC", (Literal(unit.upper(), STRING), *args[1:]), tree, context)


def _take(count: int, args: tuple[Expr, ...], usage: str, tree: Tree, context: Context) -> tuple[Expr, ...]:
    if len(args) != count:
        context.fail(f"this takes {counted(count, 'argument')}, not {len(args)}", f"write {usage}", tree)
    return args


def _if(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    condition, yes, no = _take(3, args, "IF(condition, then, else)", tree, context)
    condition = widen(condition, BOOLEAN) if condition.type == types.NULL else condition
    if condition.type != BOOLEAN:
        context.fail("IF takes a condition first", "write IF(condition, then, else)", tree)
    return _choice((condition,), (yes,), no, tree, context)


def _null_if(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    value, null = _take(2, args, "NULLIF(value, null)", tree, context)
    condition = compare(Comparator.EQ, value, null, tree, context)
    return Case((condition,), (Literal(None, value.type),), value)


def _mod(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    left, right = _take(2, args, "MOD(dividend, divisor)", tree, context)
    return arithmetic(Operator.MODULO, left, right, tree, context)


def _locate(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    part, string = _take(2, args, "LOCATE(part, string)", tree, context)
    return _call("INSTR", (string, part), tree, context)


def _date(args: tuple[Expr, ...], tree: Tree, context: Context) -> Expr:
    (arg,) = _take(1, args, "DATE(timestamp)", tree, context)
    return cast(arg, types.DATE, tree, context)


def _bind_filter(tree: Tree, context: Context) -> Expr:
    call = tree.this
    if not isinstance(call, exp.Anonymous) or call.name.upper() not in AGGREGATES:
        context.fail("FILTER stands only after an aggregate", None, tree)
    return _bind_aggregate(call, tree.expression.this, context)


def _bind_aggregate(tree: exp.Anonymous, condition: Tree | None, context: Context) -> Expr:
    if isinstance(context.aggregate, Refusal):
        message, hint = context.aggregate
        context.fail(f"{message}: {tree.name.upper()}", _aggregate_hint(tree) or hint, tree)
    return context.aggregate(tree, condition)


def _aggregate_hint(tree: exp.Anonymous) -> str | None:
    if len(tree.expressions) > 1 and tree.name.upper() in ("MIN", "MAX"):
        return f"of several values take {'LEAST' if tree.name.upper() == 'MIN' else 'GREATEST'}"
    return None


def _bind_subquery(tree: Tree, context: Context) -> Expr:
    assert isinstance(tree, exp.Subquery)
    if isinstance(context.subquery, Refusal):
        context.fail(*context.subquery, tree)
    return context.subquery(tree)


_BINDERS: dict[type[Tree], Callable[[Tree, Context], Expr]] = {
    exp.Column: bind_column,  # type: ignore[dict-item]
    exp.Literal: _bind_literal,  # type: ignore[dict-item]
    exp.RawString: lambda tree, context: Literal(tree.name, STRING),
    exp.HexString: _bind_hex,  # type: ignore[dict-item]
    exp.Boolean: lambda tree, context: TRUE if tree.this else FALSE,
    exp.Null: lambda tree, context: UNTYPED_NULL,
    exp.Interval: lambda tree, context: literals.interval(tree, context.diagnostics),  # type: ignore[arg-type]
    exp.Paren: lambda tree, context: bind_scalar(tree.this, context),
    exp.And: _bind_logic(And),
    exp.Or: _bind_logic(Or),
    exp.Not: lambda tree, context: Not(bind_predicate(tree.this, context)),
    exp.EQ: _bind_comparison(Comparator.EQ),
    exp.NEQ: _bind_comparison(Comparator.NE),
    exp.LT: _bind_comparison(Comparator.LT),
    exp.LTE: _bind_comparison(Comparator.LE),
    exp.GT: _bind_comparison(Comparator.GT),
    exp.GTE: _bind_comparison(Comparator.GE),
    exp.NullSafeEQ: _bind_comparison(Comparator.SAME),
    exp.NullSafeNEQ: _bind_not_same,
    exp.Is: _bind_is,
    exp.Between: _bind_between,
    exp.In: _bind_in,
    exp.Like: _bind_like,
    exp.ILike: _bind_like,
    exp.Escape: _bind_escape,
    exp.Add: _bind_arithmetic(Operator.ADD),
    exp.Sub: _bind_arithmetic(Operator.SUBTRACT),
    exp.Mul: _bind_arithmetic(Operator.MULTIPLY),
    exp.Div: _bind_arithmetic(Operator.DIVIDE),
    exp.Mod: _bind_arithmetic(Operator.MODULO),
    exp.IntDiv: _bind_int_div,
    exp.Neg: _bind_negate,
    exp.DPipe: _bind_concat,
    exp.Concat: _bind_concat,
    exp.Case: _bind_case,
    exp.Cast: _bind_cast,
    exp.TryCast: _bind_cast,
    exp.Extract: _bind_extract,
    exp.StrPosition: _bind_position,
    exp.Anonymous: _bind_function,
    exp.Filter: _bind_filter,
    exp.Subquery: _bind_subquery,
}

_MISPLACED_SUBQUERY = (
    "EXISTS and IN (SELECT ...) stand only as conditions of WHERE or HAVING that are joined by AND",
    "write one query for each case and UNION ALL them",
)

_NO_CLOCK = (
    "there is no clock: a result depends on the input alone",
    "compare with the stream's own time column, or use a window such as [RANGE 1 HOUR]",
)

PER_GROUPING = "write one query per grouping and UNION ALL them"

_NO_CHANCE = "choose rows by their values, such as id % 10 = 0"

_REFUSED: dict[type[Tree], tuple[str, str | None]] = {
    exp.CurrentTimestamp: _NO_CLOCK,
    exp.CurrentDate: _NO_CLOCK,
    exp.CurrentTime: _NO_CLOCK,
    exp.Localtimestamp: _NO_CLOCK,
    exp.Exists: _MISPLACED_SUBQUERY,
    exp.Window: (
        "OVER is not supported",
        "aggregate over a window of the stream, such as s [RANGE 1 HOUR] or s [PARTITION BY a ROWS 5]",
    ),
    exp.All: ("ALL (SELECT ...) is not supported", "compare with (SELECT MAX(...) ...), or write NOT EXISTS"),
    exp.Any: ("ANY (SELECT ...) is not supported", "write IN or EXISTS"),
    exp.Tuple: ("a row of values is not supported here", "compare the columns one by one"),
    exp.Star: ("* stands only in a select list and in COUNT(*)", None),
    exp.Distinct: ("DISTINCT stands only after SELECT and in an aggregate", None),
    **dict.fromkeys(
        (exp.Array, exp.Bracket, exp.Dot, exp.JSONExtract, exp.Lambda, exp.Struct),
        ("arrays, maps and structs are not supported", None),
    ),
    exp.Select: ("a subquery stands in parentheses", None),
    exp.RegexpLike: ("RLIKE is not supported", "LIKE, CONTAINS and STARTSWITH are"),
    **dict.fromkeys((exp.Parameter, exp.Placeholder), ("there are no parameters in a query", None)),
    exp.Alias: ("a name is given only in a select list and in GROUP BY", None),
    **dict.fromkeys(
        (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift),
        ("bit operations are not supported", None),
    ),
    exp.Cube: ("CUBE is not supported", PER_GROUPING),
    exp.Rollup: ("ROLLUP is not supported", PER_GROUPING),
    exp.GroupingSets: ("GROUPING SETS is not supported", PER_GROUPING),
}

_FUNCTION_ALIASES = {
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
}

#: Functions of other systems whose value is not a function of the input.
_NOT_OF_THE_INPUT = frozenset(
    {"NOW", "CURRENT_TIMESTAMP", "CURRENT_DATE", "CURDATE", "LOCALTIMESTAMP", "RAND", "RANDOM", "UUID"}
)
