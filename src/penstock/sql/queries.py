"""Queries: SELECT, set operations and subqueries, to relations.

A query is bound from the inside out: FROM gives a relation and a scope, WHERE selects, GROUP BY aggregates, HAVING
selects again, the select list projects. [NOT] EXISTS and [NOT] IN become semi-joins and anti-joins whose predicates are
the subquery's correlated conditions; a scalar subquery of one row is joined in. Views and WITH are bound anew at each
use, so that each use has occurrences, and windows, of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from penstock import types
from penstock.algebra.expressions import Column, Expr, columns
from penstock.algebra.named_joins import no_join_of
from penstock.algebra.relations import (
    Aggregate,
    Distinct,
    Join,
    Output,
    Project,
    Query,
    Relation,
    Select,
    SetOp,
    SetOperator,
    StreamKind,
    ToStream,
)
from penstock.sql.approximation import with_intervals
from penstock.sql.cases import Mark, marked
from penstock.sql.coercion import widen
from penstock.sql.conditions import Condition, Lift, Subquery, apply, bind_conditions, bind_mark
from penstock.sql.context import NO_AGGREGATE, Callables, Context, Refusal
from penstock.sql.diagnostics import TooLarge, counted, did_you_mean, listed
from penstock.sql.dialect import StreamList
from penstock.sql.emission import check_on_close
from penstock.sql.environment import BoundRelation, CommonTable, Environment, refuse_others
from penstock.sql.from_clause import bind_from
from penstock.sql.grouping import Grouping, bind_keys, has_aggregate
from penstock.sql.scalars import bind_scalar
from penstock.sql.scope import Scope, UniqueNames
from penstock.sql.statements import DIALECT
from penstock.sql.syntax import CreateQuery, QueryOptions, Tree
from penstock.sql.zone import current_zone
from penstock.types import common_type


def bind_root(name: str, statement: CreateQuery, env: Environment) -> Query:
    """A whole query: the only place where ISTREAM, DSTREAM, RSTREAM, APPROXIMATE and EMIT ON CLOSE may stand."""
    tree, on_close = statement.query, statement.on_close
    stream_list = _stream_list(_unwrapped(tree))
    is_istream = stream_list is not None and stream_list.args["kind"] == "ISTREAM"
    # Groups that show when they close have their last values: what an outer join took back before does not count.
    shows_groups = on_close is not None and _ends_in_groups(_unwrapped(tree))
    env = replace(env, insert_only=(is_istream or on_close is not None) and not shows_groups)
    waits = env.insert_only and _reads_an_outer_join(_unwrapped(tree))
    relation = bind_query(tree, "", env, outermost=True).relation
    for position, column in enumerate(relation.schema):
        _check_output(column, env, _output_tree(tree, position))
    kind = StreamKind[stream_list.args["kind"]] if stream_list else None
    approximate = None
    if statement.approximate is not None:
        approximate, place = statement.approximate
        relation = with_intervals(relation, env, place)
    if waits:
        _check_waiting(relation, env, tree)
        kind = StreamKind.ON_CLOSE
    elif on_close is not None:
        check_on_close(relation, kind, env, on_close, approximate is not None)
        kind = StreamKind.ON_CLOSE
    root = ToStream(kind, relation) if kind else relation
    query = Query(name, root, statement.allow_unbounded, current_zone(), statement.options.adaptive, approximate)
    return _with_options(query, statement.options, env)


def _with_options(query: Query, options: QueryOptions, env: Environment) -> Query:
    """The query with what it says of its run; of trees of joins, each is about one of its joins."""
    for tree, place in options.trees:
        if fault := no_join_of(tree, query):
            env.diagnostics.fail(*fault, place)
    return replace(query, trees=tuple(tree for tree, _ in options.trees), early=options.early)


def _ends_in_groups(tree: Tree) -> bool:
    return isinstance(tree, exp.Select) and _is_grouped(tree)


def _reads_an_outer_join(tree: Tree) -> bool:
    """Whether a query is an outer join, of which conditions choose rows, and no more."""
    if not isinstance(tree, exp.Select) or _is_grouped(tree) or tree.args.get("distinct"):
        return False
    stream_list = _stream_list(tree)
    if stream_list and (stream_list.args.get("distinct") or any(map(has_aggregate, stream_list.expressions))):
        return False
    return any(
        (join.args.get("side") or (join.args.get("kind") or "").upper() == "OUTER")
        and (join.args.get("kind") or "").upper() not in ("SEMI", "ANTI")
        for join in tree.args.get("joins") or ()
    )


def _check_waiting(relation: Relation, env: Environment, tree: Tree) -> None:
    while isinstance(relation, Select | Project):
        relation = relation.input
    if not isinstance(relation, SetOp):
        hint = "leave ISTREAM or EMIT ON CLOSE out, to have its changes"
        env.fail("with ISTREAM an outer join is not joined further, by subqueries either", hint, tree)


def _check_output(column: Column, env: Environment, tree: Tree) -> None:
    if column.name.lower() in ("_ts", "_op"):
        env.fail(f"{column.name} is a column of every output", "give this one another name with AS", tree)
    if column.type == types.INTERVAL:
        hint = "count it: UNIX_MICROS(a) - UNIX_MICROS(b)"
        env.fail(f"the output {column.name} is an interval, which no sink can hold", hint, tree)
    if column.type == types.NULL:
        env.fail(f"the output {column.name} is NULL and nothing else", "give it a type: CAST(NULL AS STRING)", tree)


def _output_tree(tree: Tree, position: int) -> Tree:
    """The entry of the select list that gives an output, where that can be told."""
    query = _unwrapped(tree)
    while isinstance(query, exp.SetOperation):
        query = _unwrapped(query.this)
    stream_list = _stream_list(query)
    items = stream_list.expressions if stream_list else query.expressions
    has_star = any(item.is_star for item in items)
    return tree if has_star else items[position]


@dataclass(frozen=True, slots=True)
class Around:
    """The query around a subquery, and why it is out of reach, if it is."""

    scope: Scope | None = None
    closed_because: str | None = None

    def closed(self, because: str) -> Around:
        return replace(self, closed_because=self.closed_because or because)


NOTHING_AROUND = Around()


def bind_query(
    tree: Tree, label: str, env: Environment, around: Around = NOTHING_AROUND, outermost: bool = False
) -> BoundRelation:
    """A query whose columns get the scope `label`."""
    env = _with_common_tables(tree, env)
    if isinstance(tree, exp.Subquery):
        refuse_others(tree, {"this", "alias", "with_"}, env)
        return bind_query(tree.this, label, env, around, outermost)
    if isinstance(tree, exp.SetOperation):
        return _bind_set_operation(
            tree, label, env, around.closed("a subquery with UNION, EXCEPT or INTERSECT sees only its own FROM")
        )
    if not isinstance(tree, exp.Select):
        env.fail("this is not a query", "a query starts with SELECT", tree)
    return _bind_select(tree, label, env, around, outermost)


def _unwrapped(tree: Tree) -> Tree:
    while isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query):
        tree = tree.this
    return tree


def _with_common_tables(tree: Tree, env: Environment) -> Environment:
    with_ = tree.args.get("with_")
    if not with_:
        return env
    if with_.args.get("recursive"):
        env.fail("WITH RECURSIVE is not supported", None, with_)
    common = dict(env.common)
    own: set[str] = set()
    for table in with_.expressions:
        name = table.alias.lower()
        if not isinstance(table.this, exp.Query):
            env.fail("WITH takes queries", "write WITH name AS (SELECT ...)", table)
        if name in own:
            env.fail(f"{table.alias} stands twice in WITH", "give one of them another name", table.args["alias"])
        own.add(name)
        names = tuple(column.name for column in table.args["alias"].columns)
        common[name] = CommonTable(table.this, names, dict(common))
    read = {table.name.lower() for table in tree.find_all(exp.Table)}
    for name in sorted(own - read):  # nobody else would see what is wrong with it
        with env.diagnostics.gathering():
            bind_query(common[name].query, name, replace(env, common=common[name].before, names=UniqueNames()))
    return replace(env, common=common)


def _bind_set_operation(tree: exp.SetOperation, label: str, env: Environment, around: Around) -> BoundRelation:
    refuse_others(tree, {"this", "expression", "distinct", "with_"}, env)
    left = bind_query(tree.this, env.names.fresh("left"), env, around)
    right = bind_query(tree.expression, env.names.fresh("right"), env, around)
    op = SetOperator[type(tree).__name__.upper()]
    if len(left.names) != len(right.names):
        one, other = counted(len(left.names), "column"), counted(len(right.names), "column")
        message = f"{op.value} of {one} and {other}"
        env.fail(message, "both sides list the same columns, in the same order", tree.expression)
    types_ = []
    for a, b, name in zip(left.relation.schema, right.relation.schema, left.names, strict=True):
        type_ = common_type(a.type, b.type)
        if type_ is None:
            message = f"{name} is a {a.type} on one side of {op.value} and a {b.type} on the other"
            env.fail(message, "CAST one of them", tree.expression)
        types_.append(type_)
    schema = _columns(label, left.names, tuple(types_))
    env.note_place(label, tree)
    left_, right_ = (_cast_columns(side.relation, schema, env) for side in (left, right))
    return BoundRelation(SetOp(op, not tree.args.get("distinct"), left_, right_, schema), left.names)


def _cast_columns(relation: Relation, schema: tuple[Column, ...], env: Environment) -> Relation:
    """The relation with its columns widened to the types of `schema`."""
    pairs = tuple(zip(relation.schema, schema, strict=True))
    if all(column.type == target.type for column, target in pairs):
        return relation
    label = env.names.fresh("cast")
    outputs = (Output(Column(label, target.name, target.type), widen(column, target.type)) for column, target in pairs)
    return Project(relation, tuple(outputs))


def _columns(label: str, names: tuple[str, ...], types_: tuple[types.Type, ...]) -> tuple[Column, ...]:
    """Columns of one scope under the names that the user sees; a name that repeats gets a number."""
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    schema = []
    for name, type_ in zip(names, types_, strict=True):
        unique = name
        while unique.lower() in taken:
            numbers[name.lower()] += 1
            unique = f"{name}_{numbers[name.lower()]}"
        taken.add(unique.lower())
        schema.append(Column(label, unique, type_))
    return tuple(schema)


#: SELECT *, * in a query around the same grows with the power of two.
MOST_COLUMNS = 5000

_NO_AGGREGATE_IN_WHERE = Refusal(
    "WHERE chooses rows before they are grouped, and has no aggregate", "conditions on aggregates stand in HAVING"
)

_SELECT_PARTS = {"expressions", "from_", "joins", "where", "group", "having", "distinct", "with_"}


def _bind_select(tree: exp.Select, label: str, env: Environment, around: Around, outermost: bool) -> BoundRelation:
    items, distinct = _select_items(tree, env, outermost)
    scope = Scope(outer=around.scope, closed_because=around.closed_because)
    waits = outermost and env.insert_only and _reads_an_outer_join(tree)
    source = bind_from(tree, scope, env, _derived(scope), waits)
    below = Stage(scope, env)
    where = below.conditions(tree.args.get("where"), below.context(_NO_AGGREGATE_IN_WHERE))
    group, having = tree.args.get("group"), tree.args.get("having")
    if group or having or any(has_aggregate(item) for item in items):
        relation, outputs = _bind_grouped(tree, items, source, below, where)
    else:
        above = Stage(scope, env)
        outputs = _bind_items(items, above.context(NO_AGGREGATE), _as_it_is)
        env.diagnostics.stop_if_failed()
        relation = above.join_to(apply(where, below.join_to(source)))
    if len(outputs) > MOST_COLUMNS:
        message = f"this query has {len(outputs)} columns, and {MOST_COLUMNS} are the most"
        raise TooLarge(env.diagnostics.error(message, "list those that you need", tree))
    if distinct:
        env.note_place(label, items[0])
    names = tuple(name for name, _ in outputs)
    schema = _columns(label, names, tuple(expr.type for _, expr in outputs))
    projected = Project(relation, tuple(Output(c, expr) for c, (_, expr) in zip(schema, outputs, strict=True)))
    return BoundRelation(Distinct(projected) if distinct else projected, names)


def _bind_grouped(
    tree: exp.Select, items: list[Tree], source: Relation, below: Stage, where: list[Condition]
) -> tuple[Relation, list[tuple[str, Expr]]]:
    """GROUP BY, the aggregates and HAVING: the relation above them, and the select list over it."""
    env, scope = below.env, below.scope
    grouping = Grouping(source, env.names.fresh("agg"), below.context(NO_AGGREGATE), env)
    env.note_place(grouping.label, tree.args.get("group") or next(filter(has_aggregate, items), tree))
    aliases = bind_keys(tree.args.get("group"), items, grouping, env)
    above = Stage(scope, env, grouping.lift)
    context = replace(above.context(grouping.aggregate), aliases=aliases)
    outputs = _bind_items(items, context, grouping.lift)
    having = above.conditions(tree.args.get("having"), _having_context(items, grouping, context))
    env.diagnostics.stop_if_failed()
    grouped = grouping.relation(apply(where, below.join_to(source)))
    return apply(having, above.join_to(grouped)), outputs


def _having_context(items: list[Tree], grouping: Grouping, context: Context) -> Context:
    """HAVING may also use the names of the select list. They hide columns that are not grouped, as in Spark."""
    grouped = {key.expr.name.lower() for key in grouping.keys if isinstance(key.expr, Column)}
    computed: dict[str, Callable[[], Expr]] = {}
    for item in items:
        if isinstance(item, exp.Alias):
            repeated = item.alias.lower() in computed
            computed[item.alias.lower()] = partial(_selected, item, repeated, context)
    return replace(context, aliases={**computed, **context.aliases}, hiding=frozenset(computed) - grouped)


def _selected(item: exp.Alias, repeated: bool, context: Context) -> Expr:
    if repeated:
        context.fail(f"{item.alias} is ambiguous: it stands twice in the select list", None, item)
    return bind_scalar(item.this, context)


def _select_items(tree: exp.Select, env: Environment, outermost: bool) -> tuple[list[Tree], bool]:
    """The select list, and whether it is DISTINCT."""
    stream_list = _stream_list(tree)
    if stream_list and not outermost:
        kind = stream_list.args["kind"]
        hint = f"leave it out here, and put SELECT {kind} * FROM (...) AS q around the whole query"
        env.fail(f"{kind} stands only on the outermost SELECT of a query", hint, stream_list)
    refuse_others(tree, _SELECT_PARTS, env)
    items = stream_list.expressions if stream_list else tree.expressions
    if not items:
        env.fail("the select list is empty", "write SELECT * for all columns", tree)
    distinct = tree.args.get("distinct")
    if distinct and distinct.args.get("on"):
        env.fail("DISTINCT ON is not supported", "write GROUP BY", distinct)
    return items, bool(distinct) or bool(stream_list and stream_list.args.get("distinct"))


def _stream_list(tree: Tree) -> StreamList | None:
    selected = tree.expressions if isinstance(tree, exp.Select) else []
    return next((item for item in selected if isinstance(item, StreamList)), None)


def _as_it_is(expr: Expr, place: Tree) -> Expr:
    return expr


def _derived(scope: Scope) -> Callable[[Tree, str, Environment], BoundRelation]:
    """Binds subqueries of FROM, which do not see the entries beside them."""
    around = Around(scope, "a subquery in FROM sees only its own FROM")
    return lambda tree, label, env: bind_query(tree, label, env, around)


class Stage:
    """Expressions that stand at one place of a SELECT, and the scalar subqueries in them, which are joined in there."""

    def __init__(self, scope: Scope, env: Environment, lift: Lift = _as_it_is) -> None:
        self.scope = scope
        self.env = env
        self._lift = lift
        self._scalars: list[Relation] = []
        self._marks: list[Mark] = []

    def context(self, aggregate: Callable[[exp.Anonymous, Tree | None], Expr] | Refusal) -> Context:
        callables = Callables(self.env.catalog.functions)
        return Context(self.env.diagnostics, self.scope, aggregate, self._scalar, self._mark, callables)

    def conditions(self, clause: Tree | None, context: Context) -> list[Condition]:
        return bind_conditions(clause, context, self._subquery, self._lift)

    def join_to(self, relation: Relation) -> Relation:
        joined = Join((relation, *self._scalars), ()) if self._scalars else relation
        for mark in self._marks:
            joined = marked(joined, mark, self.env)
        return joined

    def _subquery(self, tree: Tree) -> Subquery:
        return bind_subquery(tree, self.scope, self.env)

    def _mark(self, tree: Tree, context: Context) -> Expr:
        name = self.env.names.fresh("exists" if isinstance(tree, exp.Exists) else "in")
        self._marks.append(bind_mark(tree, name, context, self._subquery, self._lift))
        return self._marks[-1].column

    def _scalar(self, tree: exp.Subquery) -> Expr:
        around = Around(self.scope, "a subquery that is a value sees only its own FROM")
        bound = bind_query(tree, self.env.names.fresh("scalar"), self.env, around)
        if len(bound.names) != 1:
            self.env.fail(f"a scalar subquery has one column, not {len(bound.names)}", None, tree)
        if not _has_one_row(bound.relation):
            hint = "aggregate it without GROUP BY, as in (SELECT MAX(x) FROM ...), or join it"
            self.env.fail("this subquery may have more rows than one, or none", hint, tree)
        self._scalars.append(bound.relation)
        return bound.relation.schema[0]


def _has_one_row(relation: Relation) -> bool:
    match relation:
        case Project(input=below):
            return _has_one_row(below)
        case Join(operands=operands, on=()):
            return all(_has_one_row(operand) for operand in operands)
        case Aggregate(keys=()):
            return True
    return False


def bind_subquery(tree: Tree, scope: Scope, env: Environment) -> Subquery:
    """The subquery of EXISTS or IN. Whether its rows repeat does not matter, so DISTINCT is passed over."""
    query = _unwrapped(tree)
    if not isinstance(query, exp.Select) or query.args.get("with_") or _is_grouped(query):
        around = Around(scope, "a subquery with GROUP BY, aggregates, UNION or WITH sees only its own FROM")
        bound = bind_query(tree, env.names.fresh("sub"), env, around)
        return Subquery(bound.relation, bound.relation.schema, ())
    items, _ = _select_items(query, env, outermost=False)
    inner = Scope(outer=scope)
    source = bind_from(query, inner, env, _derived(inner))
    stage, above = Stage(inner, env), Stage(inner, env)
    conditions = stage.conditions(query.args.get("where"), stage.context(_NO_AGGREGATE_IN_WHERE))
    outputs = _bind_items(items, above.context(NO_AGGREGATE), _as_it_is)
    env.diagnostics.stop_if_failed()
    joined = stage.join_to(source)
    own = [c for c in conditions if not isinstance(c, Expr) or columns(c) <= frozenset(joined.schema)]
    correlated = tuple(c for c in conditions if isinstance(c, Expr) and c not in own)
    relation = above.join_to(apply(own, joined))
    return Subquery(relation, tuple(expr for _, expr in outputs), correlated)


def _is_grouped(query: exp.Select) -> bool:
    grouped = query.args.get("group") or query.args.get("having")
    return bool(grouped) or any(has_aggregate(item) for item in query.expressions)


def _bind_items(items: list[Tree], context: Context, lift: Lift) -> list[tuple[str, Expr]]:
    """The select list: the name and the expression of each output."""
    outputs: list[tuple[str, Expr]] = []
    for item in items:
        with context.diagnostics.gathering():
            outputs += [(name, lift(expr, item)) for name, expr in _bind_item(item, context)]
    return outputs


def _bind_item(item: Tree, context: Context) -> list[tuple[str, Expr]]:
    if isinstance(item, exp.Star):
        return _bind_star(item, None, context)
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        return _bind_star(item.this, item.table, context)
    if isinstance(item, exp.Alias):
        if not isinstance(item.args["alias"], exp.Identifier):
            context.fail("this is not a name for a column", None, item)
        return [(item.alias, bind_scalar(item.this, context))]
    return [(output_name(item), bind_scalar(item, context))]


def _bind_star(star: exp.Star, qualifier: str | None, context: Context) -> list[tuple[str, Expr]]:
    if any(star.args.values()):
        context.fail("SELECT * with changes is not supported", "list the columns", star)
    scope = context.scope
    if qualifier and scope.item(qualifier) is None:
        known = [item.qualifier for item in scope.items if item.qualifier]
        hint = did_you_mean(qualifier, known) or f"FROM has {listed(known)}"
        context.fail(f"there is no {qualifier} in FROM", hint, star.parent or star)
    return list(scope.visible(qualifier))


def output_name(item: Tree) -> str:
    """The name of an output that the user did not name: the column's, or the expression itself without qualifiers."""
    while isinstance(item, exp.Paren):
        item = item.this
    if isinstance(item, exp.Column):
        return str(item.name)
    plain = item.copy()
    for column in list(plain.find_all(exp.Column)):
        column.set("table", None)
    return str(DIALECT.generate(plain, normalize_functions="lower", comments=False))
