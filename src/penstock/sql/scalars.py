"""Scalar expressions: trees to typed expressions over columns of one occurrence each.

What a tree means depends on where it stands: which names are in scope, whether aggregates are legal there, and who
takes a scalar subquery. A `Context` says so; `bind_scalar` does the rest by a table with one entry per kind of tree. A
kind that is not in the table is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from penstock import types
from penstock.algebra.expressions import (
    FALSE,
    TRUE,
    UNTYPED_NULL,
    And,
    Call,
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
)
from penstock.sql import literals
from penstock.sql.calls import AGGREGATES, call, call_function, check_function
from penstock.sql.coercion import unify_all, widen
from penstock.sql.column_names import bind_column
from penstock.sql.context import Context, Refusal
from penstock.sql.diagnostics import listed
from penstock.sql.group_windows import WINDOW_ENDS, bind_group_window, is_group_window
from penstock.sql.operations import arithmetic, cast, choose, compare
from penstock.sql.refused import REFUSED
from penstock.sql.syntax import Tree
from penstock.types import BOOLEAN, INTERVAL, STRING, Kind


def bind_scalar(tree: Tree, context: Context) -> Expr:
    binder = _BINDERS.get(type(tree))
    if binder is None:
        context.fail(*REFUSED.get(type(tree), ("this is not supported in an expression", None)), tree)
    return binder(tree, context)


def bind_predicate(tree: Tree, context: Context) -> Expr:
    """A scalar that is a boolean."""
    expr = bind_scalar(tree, context)
    if expr.type == types.NULL:
        return widen(expr, BOOLEAN)
    if expr.type != BOOLEAN:
        context.fail(f"a condition is true or false, and this is a {expr.type}", "compare it with something", tree)
    return expr


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
        return _bind_existence(tree, context)
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


def _bind_rlike(tree: Tree, context: Context) -> Expr:
    args = (bind_scalar(tree.this, context), bind_scalar(tree.expression, context))
    return call_function(exp.Anonymous(this="RLIKE"), args, context, tree)


def _bind_arithmetic(op: Operator) -> Callable[[Tree, Context], Expr]:
    def bind(tree: Tree, context: Context) -> Expr:
        left, right = bind_scalar(tree.this, context), bind_scalar(tree.expression, context)
        return arithmetic(op, left, right, tree, context)

    return bind


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
    return call("CONCAT", tuple(bind_scalar(part, context) for part in parts), tree, context)


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
    return choose(tuple(conditions), tuple(values), otherwise, tree, context)


def _bind_cast(tree: Tree, context: Context) -> Expr:
    target = literals.bind_type(tree.args["to"], context.diagnostics)
    if any(tree.args.get(part) for part in ("format", "default", "action")):
        context.fail("CAST takes a type and nothing else", "where a value cannot be cast it is NULL", tree)
    return cast(bind_scalar(tree.this, context), target, tree, context)


def _bind_extract(tree: Tree, context: Context) -> Expr:
    part = tree.name.upper()
    if part not in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"):
        context.fail(f"cannot extract {part}", "YEAR, MONTH, DAY, HOUR, MINUTE and SECOND can be", tree)
    return call(part, (bind_scalar(tree.expression, context),), tree, context)


def _bind_position(tree: Tree, context: Context) -> Expr:
    args = (bind_scalar(tree.this, context), bind_scalar(tree.args["substr"], context))
    return call("INSTR", args, tree, context)


def _bind_function(tree: Tree, context: Context) -> Expr:
    assert isinstance(tree, exp.Anonymous)
    if tree.name.upper() in AGGREGATES:
        return _bind_aggregate(tree, None, context)
    if tree.name.upper() in WINDOW_ENDS:
        return _bind_window_end(tree, *WINDOW_ENDS[tree.name.upper()], context)
    if is_group_window(tree):
        hint = "write GROUP BY window(ts, '10 minutes'), and window.start and window.end in the select list"
        context.fail(f"{tree.name.upper()} stands in GROUP BY", hint, tree)
    check_function(tree, context)
    return call_function(tree, tuple(bind_scalar(arg, context) for arg in tree.expressions), context)


def _bind_window_end(tree: exp.Anonymous, name: str, end: str, context: Context) -> Expr:
    """TUMBLE_START(ts, INTERVAL 10 MINUTES) and its like. Of windows that overlap it is that of GROUP BY."""
    args = tuple(bind_scalar(arg, context) for arg in tree.expressions)
    window = bind_group_window(tree, args, context, name)
    if window.overlaps > 1:
        grouped = context.aliases.get(f"{name}_{end}".lower())
        if grouped is None:
            context.fail(f"{tree.name.upper()} is of windows that stand in GROUP BY", None, tree)
        return grouped()
    return window.start() if end == "START" else window.end(window.start())


def _bind_dot(tree: Tree, context: Context) -> Expr:
    """`window(ts, '10 minutes').start`."""
    call, end = tree.this, tree.expression.name.upper()
    if not is_group_window(call) or end not in ("START", "END"):
        context.fail(*REFUSED[exp.Dot], tree)
    return _bind_window_end(call, call.name.upper(), end, context)


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


def _bind_existence(tree: Tree, context: Context) -> Expr:
    """EXISTS or IN (SELECT ...) as a value."""
    if isinstance(context.existence, Refusal):
        context.fail(*context.existence, tree)
    return context.existence(tree, context)


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
    exp.RegexpLike: _bind_rlike,
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
    exp.Exists: _bind_existence,
    exp.Dot: _bind_dot,
}
