"""Conditions of WHERE and HAVING: predicates, and subqueries that become semi-joins and anti-joins.

`EXISTS` is a semi-join on the subquery's correlated conditions, `IN` one on an equality too. `x NOT IN (...)` is true
only where no row of the subquery makes `x = y` true *or unknown*; so its anti-join also matches where a side is NULL.
Where one of them is not a condition of its own, but stands under OR or in CASE, each row is marked with its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock import types
from penstock.algebra.expressions import Column, Comparator, Expr, IsNull, Literal, Or, columns
from penstock.algebra.relations import Relation, Select
from penstock.sql.cases import Existence, Mark
from penstock.sql.context import Context
from penstock.sql.diagnostics import counted
from penstock.sql.operations import compare
from penstock.sql.scalars import bind_predicate, bind_scalar
from penstock.sql.syntax import Tree

Lift = Callable[[Expr, Tree], Expr]


@dataclass(frozen=True, slots=True)
class Subquery:
    """The subquery of EXISTS or IN: its rows, its select list, and what ties it to the query around."""

    relation: Relation
    outputs: tuple[Expr, ...]
    correlated: tuple[Expr, ...]


Condition = Expr | Existence


#: Binds the subquery of EXISTS or IN.
BindSubquery = Callable[[Tree], Subquery]


def bind_conditions(clause: Tree | None, context: Context, subquery: BindSubquery, lift: Lift) -> list[Condition]:
    """The conditions that a WHERE or HAVING joins by AND, each lifted to where it stands."""
    conditions: list[Condition] = []
    for tree in _conjuncts(clause.this) if clause is not None else ():
        with context.diagnostics.gathering():
            conditions.append(_bind_condition(tree, context, subquery, lift))
    return conditions


def apply(conditions: list[Condition], relation: Relation) -> Relation:
    predicates = tuple(condition for condition in conditions if isinstance(condition, Expr))
    if predicates:
        relation = Select(relation, predicates)
    for condition in conditions:
        if isinstance(condition, Existence):
            relation = condition.among(relation)
    return relation


def bind_mark(tree: Tree, name: str, context: Context, subquery: BindSubquery, lift: Lift) -> Mark:
    """EXISTS or IN (SELECT ...) anywhere in an expression: what its value is for each row.

    Where only truth counts, as in operands of OR, a value of IN that is unknown need not be told from one that is
    false.
    """
    column = Column(name, "is_there", types.BOOLEAN)
    if isinstance(tree, exp.Exists):
        rows = subquery(tree.this)
        on = _lifted(rows, lift, tree)
        return Mark(column, tuple((there, (Existence(rows.relation, on, not there),)) for there in (True, False)))
    assert isinstance(tree, exp.In)
    is_in, is_not_in = (_bind_in(tree, negated, context, subquery, lift) for negated in (False, True))
    never_equal = Existence(is_in.relation, is_in.on, True)
    if _only_truth_counts(tree):
        return Mark(column, ((True, (is_in,)), (False, (never_equal,))))
    unknown = Existence(is_not_in.relation, is_not_in.on, False)
    return Mark(column, ((True, (is_in,)), (False, (is_not_in,)), (None, (never_equal, unknown))))


def _only_truth_counts(tree: Tree) -> bool:
    around = tree.parent
    while isinstance(around, (exp.And, exp.Or, exp.Paren)):
        around = around.parent
    return isinstance(around, (exp.Where, exp.Having))


def _conjuncts(tree: Tree) -> Iterator[Tree]:
    if isinstance(tree, exp.And):
        for part in tree.flatten():
            yield from _conjuncts(part)
    elif isinstance(tree, exp.Paren):
        yield from _conjuncts(tree.this)
    else:
        yield tree


def _bind_condition(tree: Tree, context: Context, subquery: BindSubquery, lift: Lift) -> Condition:
    core, negated = tree, False
    while isinstance(core, (exp.Not, exp.Paren)):
        negated ^= isinstance(core, exp.Not)
        core = core.this
    if isinstance(core, exp.Exists):
        rows = subquery(core.this)
        return Existence(rows.relation, _lifted(rows, lift, tree), negated)
    if isinstance(core, exp.In) and core.args.get("query"):
        return _bind_in(core, negated, context, subquery, lift)
    return lift(bind_predicate(tree, context), tree)


def _bind_in(tree: exp.In, negated: bool, context: Context, subquery: BindSubquery, lift: Lift) -> Existence:
    trees = tree.this.expressions if isinstance(tree.this, exp.Tuple) else [tree.this]
    values = [lift(bind_scalar(value, context), value) for value in trees]
    if any(column in _outer_columns(context) for value in values for column in columns(value)):
        context.fail("a subquery inside this one tests a column of the query around it", "join the two instead", tree)
    rows = subquery(tree.args["query"])
    if len(rows.outputs) != len(values):
        left, right = counted(len(values), "value"), counted(len(rows.outputs), "column")
        message = f"IN compares {left} with a subquery of {right}"
        context.fail(message, "the subquery has a column for each value on the left", tree)
    outputs = [lift(output, tree) for output in rows.outputs]
    equalities = [compare(Comparator.EQ, a, b, tree, context) for a, b in zip(values, outputs, strict=True)]
    matches = tuple(_or_unknown(equality) for equality in equalities) if negated else tuple(equalities)
    return Existence(rows.relation, _lifted(rows, lift, tree) + matches, negated)


def _lifted(subquery: Subquery, lift: Lift, place: Tree) -> tuple[Expr, ...]:
    return tuple(lift(expr, place) for expr in subquery.correlated)


def _outer_columns(context: Context) -> set[Expr]:
    outer = context.scope.outer
    return {column for item in outer.items for _, column in item.columns} if outer else set()


def _or_unknown(equality: Expr) -> Expr:
    """True where the equality is true or unknown."""
    nullable = tuple(part for part in equality.parts if not (isinstance(part, Literal) and part.value is not None))
    return Or((equality, *(IsNull(part) for part in nullable))) if nullable else equality
