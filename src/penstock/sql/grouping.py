"""GROUP BY: which expressions are keys, which are aggregates, and that nothing else is left above the grouping.

Expressions above a grouping are bound as if they stood below it, with each aggregate replaced by the column that it
fills; then `lift` puts the key's column in place of each key. A column that remains is neither grouped nor aggregated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from penstock import types
from penstock.algebra.expressions import And, Call, Case, Column, Expr, Literal, Or, columns
from penstock.algebra.functions import AggregateFunction, aggregate_type
from penstock.algebra.relations import Aggregate, Aggregation, Output, Relation
from penstock.sql.calls import AGGREGATES, BASIC_AGGREGATES, COMPOSED_AGGREGATES
from penstock.sql.composed_aggregates import compose
from penstock.sql.context import Context, Refusal
from penstock.sql.environment import Environment, refuse_others
from penstock.sql.group_windows import OverlappingWindows, bind_group_window, is_group_window
from penstock.sql.scalars import bind_predicate, bind_scalar
from penstock.sql.syntax import Tree

_NO_NESTED_AGGREGATE = Refusal(
    "an aggregate has no aggregate inside", "take the inner one in a subquery of FROM, and the outer one over that"
)
_NO_SUBQUERY_IN_KEY = Refusal("GROUP BY has no subquery", "take it in a subquery of FROM, and group its result")
_NO_AGGREGATE_IN_KEY = Refusal("GROUP BY has no aggregate", "aggregate in a subquery of FROM, and group its result")


class Grouping:
    def __init__(self, source: Relation, label: str, context: Context, env: Environment) -> None:
        self.env = env
        #: FROM, and its columns.
        self.source = source
        self.columns = source.schema
        self.label = label
        #: What arguments and keys are bound in: below the grouping, where there are no aggregates.
        self.below = replace(context, aggregate=_NO_NESTED_AGGREGATE)
        self.keys_context = replace(context, aggregate=_NO_AGGREGATE_IN_KEY, subquery=_NO_SUBQUERY_IN_KEY)
        self.keys: list[Output] = []
        #: A key could not be bound, so a column that is not found among the keys may be grouped all the same.
        self.incomplete = False
        self.aggregations: list[Aggregation] = []
        #: The windows of the keys that overlap, if there are such.
        self.overlapping: OverlappingWindows | None = None

    def add_key(self, expr: Expr, name: str) -> None:
        if all(key.expr != expr for key in self.keys):
            self.keys.append(Output(Column(self.label, self._fresh(name), expr.type), expr))

    def aggregate(self, call: exp.Anonymous, condition: Tree | None) -> Expr:
        """The column of an aggregate, which is added if it is new."""
        if call.name.upper() in COMPOSED_AGGREGATES:
            return compose(self, call, condition)
        function = BASIC_AGGREGATES[call.name.upper()]
        argument, distinct = self._argument(function, call)
        if condition is not None:
            argument = self._filtered(function, argument, bind_predicate(condition, self.below))
        type_ = aggregate_type(function, None if argument is None else argument.type)
        if type_ is None:
            given = argument.type if argument is not None else "*"
            hint = "CAST it to a number" if argument is not None and argument.type == types.STRING else None
            self.below.fail(f"{function.value} does not take {given}", hint, call)
        return self._known(function, argument, distinct, type_)

    def column_of(self, function: AggregateFunction, argument: Expr, distinct: bool = False) -> Column:
        """The column of an aggregate of an expression over the columns of FROM."""
        type_ = aggregate_type(function, argument.type)
        assert type_ is not None
        return self._known(function, argument, distinct, type_)

    def _known(self, function: AggregateFunction, argument: Expr | None, distinct: bool, type_: types.Type) -> Column:
        for known in self.aggregations:
            if (known.function, known.argument, known.distinct) == (function, argument, distinct):
                return known.column
        return self._add(function, argument, distinct, type_)

    def lift(self, expr: Expr, place: Tree) -> Expr:
        """An expression above the grouping, over the grouping's columns."""
        key = self._key(expr)
        if key is not None:
            return key
        if isinstance(expr, (And, Or)) or (isinstance(expr, Call) and expr.function == "CONCAT"):
            # `a || b || c` is one chain, though it is (a || b) || c, and a || b may be a key.
            for size in range(len(expr.parts) - 1, 1, -1):
                if (key := self._key(expr.with_parts(expr.parts[:size]))) is not None:
                    return expr.with_parts((key, *(self.lift(part, place) for part in expr.parts[size:])))
        if isinstance(expr, Column) and expr in self.columns and not self.incomplete:
            self._neither_grouped_nor_aggregated(expr, place)
        if not expr.parts or not columns(expr):
            return expr
        return expr.with_parts(tuple(self.lift(part, place) for part in expr.parts))

    def _key(self, expr: Expr) -> Column | None:
        return next((key.column for key in self.keys if key.expr == expr), None)

    def relation(self, below: Relation) -> Relation:
        if self.overlapping is not None:
            below = self.overlapping.over(below, self.env)
        if not self.keys and not self.aggregations:  # HAVING alone: one row, of which nothing is shown
            self._add(AggregateFunction.COUNT, None, False, types.BIGINT)
        return Aggregate(below, tuple(self.keys), tuple(self.aggregations))

    def _add(self, function: AggregateFunction, argument: Expr | None, distinct: bool, type_: types.Type) -> Column:
        column = Column(self.label, self._fresh(function.value.lower()), type_)
        self.aggregations.append(Aggregation(column, function, argument, distinct))
        return column

    def _argument(self, function: AggregateFunction, call: exp.Anonymous) -> tuple[Expr | None, bool]:
        arguments, distinct = call.expressions, False
        if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
            arguments, distinct = arguments[0].expressions, True
        if len(arguments) != 1:
            hints = {
                "MIN": "of several values take LEAST(a, b)",
                "MAX": "of several values take GREATEST(a, b)",
                "COUNT": "count the rows of (SELECT DISTINCT a, b FROM ...) AS q",
            }
            message = f"{function.value} takes one argument, not {len(arguments)}"
            self.below.fail(message, hints.get(function.value), call)
        if isinstance(arguments[0], exp.Star):
            if distinct:
                self.below.fail("DISTINCT takes a column, not *", "count the rows of (SELECT DISTINCT ...) AS q", call)
            if function is not AggregateFunction.COUNT:
                self.below.fail(f"{function.value} takes a column, not *", "only COUNT takes *", call)
            return None, False
        argument = bind_scalar(arguments[0], self.below)
        # The largest of a bag and of its set are one, so MIN and MAX need not know of DISTINCT.
        return argument, distinct and function not in (AggregateFunction.MIN, AggregateFunction.MAX)

    def _filtered(self, function: AggregateFunction, argument: Expr | None, condition: Expr) -> Expr:
        """FILTER (WHERE condition): NULL, which aggregates pass over, where the condition is not true."""
        value = argument if argument is not None else Literal(1, types.INT)
        return Case((condition,), (value,), Literal(None, value.type))

    def _fresh(self, wanted: str) -> str:
        columns_ = [key.column for key in self.keys] + [known.column for known in self.aggregations]
        taken = {column.name.lower() for column in columns_}
        name, number = wanted, 1
        while name.lower() in taken:
            number += 1
            name = f"{wanted}_{number}"
        return name

    def _neither_grouped_nor_aggregated(self, column: Column, place: Tree) -> None:
        named = (part for part in place.find_all(exp.Column) if part.name.lower() == column.name.lower())
        hint = f"add {column} to GROUP BY, or take an aggregate such as MIN({column})"
        self.below.fail(f"{column} is neither grouped nor aggregated", hint, next(named, place))


def bind_keys(group: Tree | None, items: list[Tree], grouping: Grouping, env: Environment) -> Aliases:
    """Adds the keys of GROUP BY, and gives the names that they have above it.

    A key is an expression, the number or the name of an entry of the select list, or named itself with AS.
    """
    aliases: dict[str, Callable[[], Expr]] = {}
    if group is None:
        return aliases
    refuse_others(group, {"expressions"}, env)
    errors = len(env.diagnostics.errors)
    # A list in parentheses is a list.
    trees = [tree for key in group.expressions for tree in (key.expressions if isinstance(key, exp.Tuple) else [key])]
    for tree in trees:
        with env.diagnostics.gathering():
            named = tree.alias if isinstance(tree, exp.Alias) else None
            key = _key_tree(tree.this if named else tree, items, grouping.keys_context)
            if isinstance(key, exp.Anonymous) and is_group_window(key):
                aliases |= _window_key(key, named, grouping)
                continue
            expr = bind_scalar(key, grouping.keys_context)
            if expr.type == types.NULL:
                grouping.below.fail("NULL alone is not a key", None, key)
            grouping.add_key(expr, named or (expr.name if isinstance(expr, Column) else "key"))
            if named:
                aliases[named.lower()] = _constant(expr)
    grouping.incomplete = len(env.diagnostics.errors) > errors
    return aliases


Aliases = dict[str, Callable[[], Expr]]


def _window_key(tree: exp.Anonymous, named: str | None, grouping: Grouping) -> Aliases:
    """Adds the start of a window as a key, and gives the names of both its ends."""
    name, context = tree.name.upper(), grouping.keys_context
    args = tuple(bind_scalar(arg, context) for arg in tree.expressions)
    window = bind_group_window(tree, args, context, name)
    start = window.start()
    if window.overlaps > 1:
        if grouping.overlapping is not None:
            hint = "group by one of them in a subquery of FROM, and by the other around it"
            context.fail("GROUP BY has one window that overlaps others", hint, tree)
        start = Column(grouping.env.names.fresh("window"), "start", types.TIMESTAMP)
        grouping.overlapping = OverlappingWindows(window, start)
    grouping.add_key(start, "start")
    called = (named or "window").lower()

    def whole() -> Expr:
        hint = f"write {called}.start, {called}.end"
        context.fail(f"{called} is two times, the start and the end of a window", hint, tree)

    ends = {"start": _constant(start), "end": _constant(window.end(start))}
    functions = {f"{name.lower()}_{end}": value for end, value in ends.items()}
    return {called: whole, **{f"{called}.{end}": value for end, value in ends.items()}, **functions}


def _constant(expr: Expr) -> Callable[[], Expr]:
    return lambda: expr


def _key_tree(tree: Tree, items: list[Tree], below: Context) -> Tree:
    """What a key stands for: entries of the select list may be grouped by their number or their name."""
    if isinstance(tree, exp.Literal) and not tree.is_string and tree.name.isdecimal():
        number = int(tree.name) if len(tree.name) < 10 else 0
        if not 1 <= number <= len(items):
            hint = f"its entries count from 1 to {len(items)}"
            below.fail(f"the select list has no entry {tree.name}", hint, tree)
        return _entry(items[number - 1], tree, below)
    if isinstance(tree, exp.Column) and not tree.table and not below.scope.find(None, tree.name):
        named = [item for item in items if isinstance(item, exp.Alias) and item.alias.lower() == tree.name.lower()]
        if len(named) > 1:
            below.fail(f"{tree.name} is ambiguous: it stands twice in the select list", None, tree)
        if named:
            return _entry(named[0], tree, below)
    return tree


def _entry(item: Tree, place: Tree, below: Context) -> Tree:
    if isinstance(item, exp.Star) or has_aggregate(item):
        hint = "it stands for several columns" if isinstance(item, exp.Star) else "it is an aggregate of the groups"
        below.fail("this entry of the select list cannot be grouped by", hint, place)
    return item.this if isinstance(item, exp.Alias) else item


def has_aggregate(tree: Tree) -> bool:
    """Whether an aggregate is called in a tree, outside of subqueries."""
    nodes = tree.walk(prune=lambda node: isinstance(node, (exp.Subquery, exp.Exists, exp.Select)))
    return any(isinstance(node, exp.Anonymous) and node.name.upper() in AGGREGATES for node in nodes)
