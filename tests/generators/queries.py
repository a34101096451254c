"""Strategies for queries: select lists, WHERE with subqueries, grouping, set operations.

A query is made from its sources up: they say which columns there are, and every other clause is made of those. Aliases
of sources and of outputs are never used twice in a case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from penstock.algebra.functions import AggregateFunction, aggregate_type
from penstock.types import BIGINT, BOOLEAN, DOUBLE, INT, Kind, Type
from tests.generators.expressions import COMPARATORS, Draw, Scope, chance, choose, equality, leaf_type, predicate, value
from tests.generators.sources import Environment, From, from_clause, with_other_windows
from tests.generators.syntax import (
    Aggregate,
    Binary,
    CaseWhen,
    Compare,
    Const,
    Exists,
    Expr,
    InQuery,
    IsNull,
    IsTruth,
    Item,
    Logic,
    Not,
    Query,
    Ref,
    ScalarQuery,
    Select,
    SetOperation,
    Star,
    is_exact,
    outputs,
    refs,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a query's outputs have to be: of types that widen to `types`, and with names, no two the same."""

    types: tuple[Type, ...] | None = None
    named: bool = False


ANY = Shape()


def query(draw: Draw, env: Environment, shape: Shape = ANY) -> Query:
    combined = env.features.set_operations and env.level > 0 and chance(draw, 25)
    if not combined:
        return select(draw, env, shape)
    below = replace(env, level=env.level - 1)
    left = query(draw, below, shape)
    if isinstance(left, Select) and chance(draw, 60):
        right: Query = _varied(draw, below, left)
    else:
        right = query(draw, below, Shape(tuple(output.type for output in outputs(left))))
    op = choose(draw, ("UNION", "EXCEPT", "INTERSECT"))
    return SetOperation(op, draw(st.booleans()), left, right)


def _varied(draw: Draw, env: Environment, select: Select) -> Select:
    """The same query over other windows and with fewer conditions: operands of EXCEPT should have rows in common."""
    where = tuple(condition for condition in select.where if draw(st.booleans()))
    return replace(select, sources=tuple(with_other_windows(draw, env, s) for s in select.sources), where=where)


def named_query(draw: Draw, env: Environment) -> Query:
    return query(draw, env, Shape(named=True))


def select(draw: Draw, env: Environment, shape: Shape = ANY, outer: Sequence[Ref] = ()) -> Select:
    """One SELECT. As a correlated subquery it may speak of `outer`, the columns of the query around it."""
    from_ = from_clause(draw, env, 3 if env.level == env.features.max_level else 2)
    below = Scope(from_.columns(bare=len(from_.entries) == 1 or draw(st.booleans())), env.features)
    inside = env.inside(from_)
    names = {ref.name for entry in from_.entries for ref in entry.refs}
    outer = [replace(ref, bare=ref.bare and ref.name not in names) for ref in outer]
    where = (*from_.conditions, *_where(draw, inside, below, outer))
    if env.features.aggregates and not outer and chance(draw, 35):
        grouped = _grouped(draw, inside, below, shape)
        return replace(grouped, sources=from_.sources, where=where)
    above = _with_scalar(draw, inside, below.having(outer) if shape.types else below)
    star = _star(draw, from_, shape)
    items: tuple[Item | Star, ...] = (star,) if star else ()
    if star is None or chance(draw, 30):
        taken = frozenset(column.name for column in star.columns) if star else frozenset()
        items += _items(draw, inside, above, shape, taken)
    return Select(items, from_.sources, where, distinct=_distinct(draw, env))


def _distinct(draw: Draw, env: Environment) -> bool:
    return env.features.distinct and chance(draw, 12)


def _where(draw: Draw, inside: Environment, below: Scope, outer: Sequence[Ref]) -> list[Expr]:
    conditions: list[Expr] = []
    if outer:
        tie = equality(draw, below.leaves, outer)
        conditions.append(tie if tie and chance(draw, 90) else predicate(draw, below.having(outer), 1))
    scope = _with_scalar(draw, inside, below)
    for scalar in scope.leaves[len(below.leaves) :]:
        conditions.append(Compare(choose(draw, COMPARATORS), value(draw, below, scalar.type, 1), scalar))
    conditions += [predicate(draw, scope) for _ in range(choose(draw, (0, 0, 0, 1, 1, 2)))]
    columns = [leaf for leaf in below.leaves if isinstance(leaf, Ref)]
    conditions += _existence(draw, inside, scope, columns)
    return conditions


def _existence(draw: Draw, inside: Environment, scope: Scope, columns: Sequence[Ref]) -> list[Expr]:
    """Now and then one of [NOT] EXISTS and [NOT] IN."""
    if not inside.features.subqueries or inside.level < 0 or not chance(draw, 20):
        return []
    outer = columns if inside.features.correlated and columns and chance(draw, 60) else ()
    counts = (0, 0, 1, 1) if outer and inside.features.as_duckdb else (0, 0, 0, 1, 1, 2)
    args = tuple(value(draw, scope, leaf_type(draw, scope), 1) for _ in range(choose(draw, counts)))
    shape = Shape(tuple(arg.type for arg in args)) if args else ANY
    if outer:
        found: Query = select(draw, inside, shape, outer)
    else:
        found = query(draw, replace(inside, taken=frozenset()), shape)
    condition: Expr = InQuery(args, found, draw(st.booleans())) if args else Exists(found)
    condition = Not(condition) if chance(draw, 40) else condition
    return [_marked(draw, scope, condition) if inside.features.marks and chance(draw, 40) else condition]


def _marked(draw: Draw, scope: Scope, condition: Expr) -> Expr:
    """The condition as a part of another one."""
    match choose(draw, ("or", "or", "null", "truth", "case")):
        case "null":
            return IsNull(condition, negated=draw(st.booleans()))
        case "truth":
            return IsTruth(condition, draw(st.booleans()), draw(st.booleans()))
        case "case":
            whens, thens = (condition,), (predicate(draw, scope, 0),)
            return IsTruth(CaseWhen(None, whens, thens, predicate(draw, scope, 0), BOOLEAN), True, False)
    parts = (condition, predicate(draw, scope, 0))
    return Logic("OR", parts if draw(st.booleans()) else parts[::-1])


def _with_scalar(draw: Draw, inside: Environment, scope: Scope) -> Scope:
    """The scope, now and then with a scalar subquery in it."""
    if not inside.features.scalar_subqueries or inside.level < 0 or not chance(draw, 8):
        return scope
    from_ = from_clause(draw, replace(inside, taken=frozenset()), 1)
    below = Scope(from_.columns(bare=True), inside.features)
    where = tuple(predicate(draw, below, 1) for _ in range(draw(st.integers(0, 1))))
    total = aggregate(draw, below)
    scalar = ScalarQuery(Select((Item(total, None),), from_.sources, where), total.type)
    return scope.having([scalar])


def _grouped(draw: Draw, inside: Environment, below: Scope, shape: Shape) -> Select:
    """The select list, GROUP BY and HAVING of a query with aggregates; without keys there is an aggregate in it."""
    keys = tuple(dict.fromkeys(_key(draw, below) for _ in range(choose(draw, (0, 1, 1, 2)))))
    aggregates = [aggregate(draw, below) for _ in range(choose(draw, (0, 1, 1, 2) if keys else (1, 1, 2)))]
    above = _with_scalar(draw, inside, replace(below, leaves=(*keys, *aggregates)))
    having = [predicate(draw, above, 1)] if chance(draw, 30) else []
    having += _existence(draw, inside, above, [key for key in keys if isinstance(key, Ref)])
    items = _items(draw, inside, above, shape)
    if not keys and not having and not any(map(_is_aggregate, items)):
        having = [IsNull(aggregates[0], negated=draw(st.booleans()))]
    return Select(items, (), (), keys, tuple(having), _distinct(draw, inside), by_number=chance(draw, 20))


def _key(draw: Draw, below: Scope) -> Expr:
    """A column, or an expression with a column in it: a constant would be the number of an output."""
    key = value(draw, below, leaf_type(draw, below), 1)
    return key if any(refs(key)) else choose(draw, below.leaves)


def _is_aggregate(item: Item | Star) -> bool:
    return isinstance(item, Item) and isinstance(item.expr, Aggregate)


def aggregate(draw: Draw, below: Scope) -> Expr:
    function = choose(draw, ("COUNT", "COUNT", "SUM", "MAX", "MIN", "AVG", "other"))
    if function == "other":
        return _composed(draw, below)
    arg: Expr | None = None
    if function in ("MIN", "MAX"):
        arg = value(draw, below, leaf_type(draw, below), 1)
    elif function == "COUNT":
        arg = value(draw, below, leaf_type(draw, below), 1) if draw(st.booleans()) else None
    else:
        arg = _addend(draw, below, function)
    type_ = aggregate_type(AggregateFunction(function), None if arg is None else arg.type)
    assert type_ is not None
    where = predicate(draw, below, 0) if chance(draw, 15) else None
    return Aggregate(function, arg, arg is not None and chance(draw, 20), type_, where)


def _composed(draw: Draw, below: Scope) -> Expr:
    """An aggregate that is composed of others. DuckDB has some of them, but with other results."""
    names = ("MIN_BY", "MAX_BY")
    if not below.features.as_duckdb:
        names += ("VAR_POP", "STDDEV", "APPROX_COUNT_DISTINCT")
    function = choose(draw, names)
    where = predicate(draw, below, 0) if chance(draw, 15) else None
    if function in ("VAR_POP", "STDDEV"):
        arg = value(draw, below, INT, 1)
        return Aggregate(function, Binary("%", arg, Const(1000, INT), arg.type), False, DOUBLE, where)
    arg = value(draw, below, leaf_type(draw, below), 1)
    if function == "APPROX_COUNT_DISTINCT":
        return Aggregate(function, arg, False, BIGINT, where)
    by = value(draw, below, leaf_type(draw, below), 1)
    return Aggregate(function, arg, False, arg.type, where, by)


def _addend(draw: Draw, below: Scope, function: str) -> Expr:
    """What SUM and AVG take: for DuckDB only what needs no rounding on the way."""
    numbers = [leaf.type for leaf in below.leaves if leaf.type.is_numeric]
    if below.features.as_duckdb and function == "AVG":
        numbers = [type_ for type_ in numbers if type_.kind is not Kind.DECIMAL]
    type_ = choose(draw, [*numbers, BIGINT, INT])
    if not below.features.as_duckdb:
        return value(draw, below, type_, 1)
    if type_ == DOUBLE:
        exact = [leaf for leaf in below.of_type(DOUBLE) if is_exact(leaf)]
        return choose(draw, exact) if exact else Const(1.5, DOUBLE)
    arg = value(draw, below, type_, 1)
    return Binary("%", arg, Const(1000, INT), arg.type) if function == "AVG" else arg


def _items(
    draw: Draw, inside: Environment, scope: Scope, shape: Shape, star: frozenset[str] = frozenset()
) -> tuple[Item, ...]:
    """The select list, or what follows a star in it that stands for columns of these names."""
    types = shape.types
    if types is None:
        types = tuple(leaf_type(draw, scope) for _ in range(choose(draw, (1, 1, 2, 2, 3))))
    taken = set(star)
    items = []
    for type_ in types:
        expr = value(draw, scope, type_)
        own = expr.name if isinstance(expr, Ref) and expr.name not in taken else None
        alias = None if (own or not shape.named) and chance(draw, 50) else inside.fresh("c")
        taken.add(alias or own or "")
        items.append(Item(expr, alias))
    return tuple(items)


def _star(draw: Draw, from_: From, shape: Shape) -> Star | None:
    """Now and then `*` or `x.*`, where the names of the columns allow it."""
    if shape.types is not None or not chance(draw, 20):
        return None
    star = Star(None, from_.star)
    if len(from_.entries) > 1 and chance(draw, 40):
        entry = choose(draw, from_.entries)
        star = Star(entry.qualifier, entry.refs)
    names = {column.name for column in star.columns}
    return None if shape.named and len(names) < len(star.columns) else star
