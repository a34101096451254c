"""Names of columns: which column a name means where it stands, or why none."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from penstock.algebra.expressions import Column, Expr
from penstock.sql.context import Context
from penstock.sql.diagnostics import did_you_mean, listed


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
    alias = f"{qualifier}.{name}".lower() if qualifier else name.lower()
    if alias in context.aliases:
        return context.aliases[alias]()
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
    if (left_out := scope.left_out(qualifier, name)) is not None:
        hint = f"compute what you need of it first, in a column of its own: .withColumn(..., F.col({name!r})...)"
        context.fail(f"no query can read {name}: {left_out.why}", hint, tree)
    if qualifier is not None and scope.item(qualifier) is None:
        known = [item.qualifier for item in scope.items if item.qualifier]
        hint = did_you_mean(qualifier, known) or f"{context.clause} has {listed(known)}"
        context.fail(f"there is no {qualifier} in {context.clause}", hint, tree)
    names = list(dict.fromkeys(scope.names(qualifier)))
    where = f" in {qualifier}" if qualifier else ""
    near = did_you_mean(name, [*names, *context.aliases])
    context.fail(f"there is no column {name}{where}", near or f"columns are {listed(names)}", tree)
