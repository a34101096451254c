"""FROM: occurrences of streams, tables, views and subqueries, and the joins between them.

Each occurrence gets a scope of its own, so a stream that stands twice is two relations. Comma and inner joins gather
operands and predicates of one n-way join; LEFT SEMI and LEFT ANTI JOIN close over what stands before them, and outer
joins over what stands between the last comma and them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sqlglot import exp

from penstock.algebra.expressions import Column, Comparator, Expr, columns, conjuncts
from penstock.algebra.relations import AntiJoin, Join, OuterJoin, Output, Project, Relation, Schema, SemiJoin
from penstock.catalog import AssertionDef, StreamDef, TableDef, ViewDef
from penstock.sql.calls import call
from penstock.sql.context import Callables, Context, Refusal
from penstock.sql.diagnostics import Consequence, Diagnostics, counted, listed, tree_span
from penstock.sql.environment import BoundRelation, CommonTable, Environment, refuse_others
from penstock.sql.operations import compare
from penstock.sql.scalars import bind_predicate
from penstock.sql.scope import Item, Scope
from penstock.sql.sources import bind_stream, bind_table, refuse_window, unknown_source
from penstock.sql.syntax import Tree
from penstock.sql.system_streams import SCHEMA, system_definition, system_views
from penstock.sql.waiting_joins import Presence, join_cases, waiting_join

#: Binds a subquery: its tree, the scope for its columns, and what it is bound in.
BindDerivedTable = Callable[[Tree, str, Environment], BoundRelation]

_NO_AGGREGATE_IN_ON = Refusal("ON joins rows and has no aggregate", "aggregate in a subquery of FROM, and join that")
_NO_SUBQUERY_IN_ON = Refusal("ON joins rows and has no subquery", "put the condition into WHERE")

#: Words that sqlglot takes for an alias where a clause was cut short.
_NOT_ALIASES = frozenset({"GROUP", "ORDER", "WHERE", "HAVING", "LIMIT", "ON", "ALLOW", "WINDOW", "RANGE", "ROWS"})


def bind_from(
    tree: exp.Select, scope: Scope, env: Environment, subquery: BindDerivedTable, waits: bool = False
) -> Relation:
    """The relation of a FROM clause; its items go into `scope`. Where it `waits`, outer joins wait for partners."""
    from_ = tree.args.get("from_")
    if from_ is None:
        env.fail("a query reads a stream, and this one has no FROM", "write SELECT ... FROM stream", tree)
    clause = _FromClause(scope, env, subquery, waits)
    clause.add(from_.this)
    for join in tree.args.get("joins") or ():
        clause.join(join)
    env.diagnostics.stop_if_failed(scope.incomplete)
    return clause.relation()


class _FromClause:
    """The joins of one FROM while they are gathered."""

    def __init__(self, scope: Scope, env: Environment, subquery: BindDerivedTable, waits: bool) -> None:
        self._scope = scope
        self._env = env
        self._subquery = subquery
        self._operands: list[Relation] = []
        self._on: list[Expr] = []
        #: The items since the last comma, and how many operands stand before it.
        self._joined: list[Item] = []
        self._before = 0
        self._waits = waits
        #: Of an outer join that waits: its cases, and where it stands.
        self._cases: list[Presence] = []
        self._place: Tree = exp.Null()

    def relation(self) -> Relation:
        if self._cases:
            return waiting_join(self._cases, self._columns, self._place, self._env)
        if len(self._operands) == 1 and not self._on:
            return self._operands[0]
        return Join(tuple(self._operands), tuple(self._on))

    def add(self, tree: Tree) -> Item | None:
        with self._gathering():
            relation, item = self._bind(tree)
            self._operands.append(relation)
            self._scope.items.append(item)
            self._joined.append(item)
            return item
        return None

    def join(self, tree: exp.Join) -> None:
        side, kind = (tree.args.get("side") or "").upper(), (tree.args.get("kind") or "").upper()
        if (tree.args.get("method") or "").upper() == "ASOF":
            with self._gathering():
                hint = "join the latest row of each key: JOIN b [PARTITION BY key ROWS 1] ON a.key = b.key"
                self._env.fail("ASOF JOIN is not supported", hint, tree.this)
            return
        if kind in ("SEMI", "ANTI"):
            with self._gathering():
                self._semi_join(tree, side, kind)
            return
        if side or kind == "OUTER":
            with self._gathering():
                self._outer_join(tree, side or "FULL")
            return
        is_comma = not kind and not tree.args.get("on") and not tree.args.get("using")
        if is_comma:
            self._joined, self._before = [], len(self._operands)
        if self._cases:
            with self._gathering():
                hint = "put inner joins before outer joins, or their conditions into WHERE"
                self._env.fail("with ISTREAM an outer join comes last in FROM", hint, tree.this)
        item = self.add(tree.this)
        with self._gathering():
            refuse_others(tree, {"this", "on", "using", "side", "kind"}, self._env)
            if not self._scope.incomplete and item and (using := tree.args.get("using")):
                self._on += self._using(using, item)
            self._on += self._predicates(tree.args.get("on"), self._scope)

    def _gathering(self) -> _Gathering:
        return _Gathering(self._scope, self._env.diagnostics)

    def _semi_join(self, tree: exp.Join, side: str, kind: str) -> None:
        refuse_others(tree, {"this", "on", "using", "side", "kind"}, self._env)
        if side not in ("", "LEFT"):
            hint = f"exchange the two sides and write LEFT {kind} JOIN"
            self._env.fail(f"{side} {kind} JOIN is not supported", hint, tree.this)
        if not tree.args.get("on") and not tree.args.get("using"):
            self._env.fail(f"{kind} JOIN needs a condition", f"write LEFT {kind} JOIN ... ON condition", tree.this)
        right, item = self._bind(tree.this)
        both = replace(self._scope, items=[*self._scope.items, item])
        on = self._predicates(tree.args.get("on"), both)
        self._env.diagnostics.stop_if_failed(self._scope.incomplete)
        on += tuple(equality for equality, _, _ in self._pairs(tree.args.get("using") or [], item))
        join = SemiJoin if kind == "SEMI" else AntiJoin
        self._operands = [join(self.relation(), right, on)]
        self._on = []

    def _outer_join(self, tree: exp.Join, side: str) -> None:
        """Of what was joined since the last comma with one more relation."""
        refuse_others(tree, {"this", "on", "using", "side", "kind"}, self._env)
        on, using = tree.args.get("on"), tree.args.get("using")
        right, item = self._bind(tree.this)
        self._env.diagnostics.stop_if_failed(self._scope.incomplete)
        left = self._operands[0] if self._cases else self._last_joined(tree)
        pairs = list(self._pairs(using or [], item))
        predicates = self._predicates(on, replace(self._scope, items=[*self._joined, item]))
        predicates += tuple(equality for equality, _, _ in pairs)
        self._scope.items.append(item)
        self._joined.append(item)
        if self._env.insert_only:
            self._wait(tree, side, left, right, predicates)
            if pairs and side == "FULL":
                hint = "write ON, and COALESCE(a.id, b.id)"
                self._env.fail("with ISTREAM a FULL JOIN has no USING", hint, tree.this)
            self._shown_once(left, side, pairs)
            return
        joined = OuterJoin(left, right, predicates, side != "RIGHT", side != "LEFT")
        self._operands[self._before :] = [self._shown_once(joined, side, pairs)]

    @property
    def _columns(self) -> Schema:
        return tuple(column for operand in self._operands for column in operand.schema)

    def _wait(self, tree: exp.Join, side: str, left: Relation, right: Relation, on: tuple[Expr, ...]) -> None:
        """Adds the cases of an outer join whose result has insertions only."""
        if not self._waits or self._before:
            hint = "leave ISTREAM or EMIT ON CLOSE out, to have its changes; or read just the outer join"
            message = "with ISTREAM an outer join is all that a query reads, and is neither grouped nor in a subquery"
            self._env.fail(message, hint, tree.this)
        cases = self._cases or [Presence((left,))]
        found = join_cases(cases, side, right, on, self._columns)
        if found is None:
            hint = "write it as a LEFT JOIN, with its right side first"
            self._env.fail(f"with ISTREAM a {side} JOIN does not follow another outer join", hint, tree.this)
        # Each case reads its relations anew, so that joins in a row read as many as the square of their number.
        self._env.refuse_beyond(sum(len(case.present) + len(case.absent) for case in found))
        self._cases, self._place = found, tree.this
        self._operands.append(right)

    def _last_joined(self, tree: exp.Join) -> Relation:
        """What stands between the last comma and an outer join."""
        operands = self._operands[self._before :]
        known = {column for operand in operands for column in operand.schema}
        own = [predicate for predicate in self._on if columns(predicate) & known]
        if any(not columns(predicate) <= known for predicate in own):
            hint = "write JOIN instead of the comma, or put the condition into WHERE"
            self._env.fail("a condition before this outer join reaches over a comma", hint, tree.this)
        self._on = [predicate for predicate in self._on if predicate not in own]
        return operands[0] if len(operands) == 1 and not own else Join(tuple(operands), tuple(own))

    def _shown_once(self, joined: Relation, side: str, pairs: list[tuple[Expr, Column, Column]]) -> Relation:
        """Columns of USING: of a LEFT JOIN the left one is never missing, of a RIGHT JOIN the right one."""
        chain = self._scope.using.setdefault(self._joined[0], [])
        if side != "FULL" or not pairs:
            for _, left, right in pairs:
                shown, hidden = (left, right) if side == "LEFT" else (right, left)
                self._scope.merged.add(hidden)
                chain[:] = [shown, *(column for column in chain if column not in (shown, hidden))]
            return joined
        label, context = self._env.names.fresh("using"), Context(self._env.diagnostics, self._scope)
        either = []
        for _, left, right in pairs:
            value = call("COALESCE", (left, right), exp.Null(), context)
            either.append(Output(Column(label, left.name, value.type), value))
            self._scope.merged.update((left, right))
            chain[:] = [either[-1].column, *(column for column in chain if column not in (left, right))]
        item = Item("", tuple((output.column.name, output.column) for output in either))
        self._scope.items.append(item)
        self._joined.append(item)
        return Project(joined, (*either, *(Output(column, column) for column in joined.schema)))

    def _predicates(self, on: Tree | None, scope: Scope) -> tuple[Expr, ...]:
        if on is None:
            return ()
        inner = replace(scope, closed_because=scope.closed_because or "ON sees only its own FROM")
        callables = Callables(self._env.catalog.functions)
        context = Context(self._env.diagnostics, inner, _NO_AGGREGATE_IN_ON, _NO_SUBQUERY_IN_ON, callables=callables)
        return conjuncts(bind_predicate(on, context))

    def _using(self, names: list[Tree], item: Item) -> list[Expr]:
        """JOIN ... USING (a): equal, and shown once. The left side reaches back to the last comma."""
        pairs = list(self._pairs(names, item))
        self._scope.merged.update(right for _, _, right in pairs)
        chain = self._scope.using.setdefault(self._joined[0], [])
        chain[:0] = [left for _, left, _ in pairs if left not in chain]
        return [equality for equality, _, _ in pairs]

    def _pairs(self, names: list[Tree], item: Item) -> Iterator[tuple[Expr, Column, Column]]:
        """For each name of USING the equality, and its two columns."""
        context = Context(self._env.diagnostics, self._scope)
        for name in names:
            left = self._using_column([c for i in self._joined if i is not item for c in i.named(name.name)], name)
            right = self._using_column(item.named(name.name), name)
            yield compare(Comparator.EQ, left, right, name, context), left, right

    def _using_column(self, found: list[Column], name: Tree) -> Column:
        found = [column for column in found if column not in self._scope.merged]
        if len(found) != 1:
            problem = "is ambiguous" if found else "is not"
            self._env.fail(f"{name.name} {problem} on both sides of the join", "join with ON instead", name)
        return found[0]

    def _bind(self, tree: Tree) -> tuple[Relation, Item]:
        if isinstance(tree, exp.Subquery):
            return self._bind_derived(tree)
        if not isinstance(tree, exp.Table) or not isinstance(tree.this, exp.Identifier):
            hint = "a table's rows come from USING ... OPTIONS (...)" if isinstance(tree, exp.Values) else None
            self._env.fail("FROM reads streams, tables, views and subqueries", hint, tree)
        is_system = tree.db.lower() == SCHEMA
        refuse_others(tree, {"this", "alias", "window", *(["db"] if is_system else [])}, self._env)
        alias = tree.args.get("alias")
        if alias is not None and alias.columns:
            self._env.fail("the columns of a stream keep their names", "rename them in the select list", alias)
        qualifier = self._qualifier(tree)
        if is_system:
            return self._bind_declared(f"{SCHEMA}.{tree.name}", tree, qualifier)
        common = self._env.common.get(tree.name.lower())
        if common is not None:
            return self._bind_common(common, tree, qualifier)
        return self._bind_declared(tree.name, tree, qualifier)

    def _bind_declared(self, name: str, tree: exp.Table, qualifier: str) -> tuple[Relation, Item]:
        env = self._env
        env.reads.add(name.lower())
        match env.catalog.get(name) or system_definition(name):
            case StreamDef() as stream:
                occurrence = env.occurrence(tree.alias or stream.name)
                env.note_place(occurrence, tree)
                return bind_stream(stream, occurrence, qualifier, tree, env.diagnostics)
            case TableDef() as table:
                return bind_table(table, env.occurrence(tree.alias or table.name), qualifier, tree, env.diagnostics)
            case ViewDef() as view:
                refuse_window(tree, f"{view.name} is a view", env.diagnostics)
                inside = env.inside or tree_span(tree)
                return self._derived(view.query, qualifier, (), replace(env, common={}, inside=inside))
            case AssertionDef() as assertion:
                env.fail(f"{assertion.name} is an assertion, which has no rows", None, tree)
        if name.lower() in env.broken:
            raise Consequence("", None, env.diagnostics.source, env.diagnostics.whole)
        if name.lower() in env.queries:
            hint = f"write CREATE VIEW {name} AS SELECT ..."
            env.fail(f"{name} is a query, and only views can be read", hint, tree)
        if tree.db:
            env.fail(f"there is no system view {name}", f"there are {listed(sorted(system_views()))}", tree)
        unknown_source(tree, env.catalog, list(env.common), env.diagnostics)

    def _bind_common(self, common: CommonTable, tree: exp.Table, qualifier: str) -> tuple[Relation, Item]:
        refuse_window(tree, f"{tree.name} is a query of WITH", self._env.diagnostics)
        return self._derived(common.query, qualifier, common.columns, replace(self._env, common=common.before))

    def _bind_derived(self, tree: exp.Subquery) -> tuple[Relation, Item]:
        refuse_others(tree, {"this", "alias", "window", "with_"}, self._env)
        refuse_window(tree, "a subquery is a relation", self._env.diagnostics)
        if isinstance(tree.this, exp.Table):
            return self._bind_parenthesised(tree)
        if not tree.alias:
            return self._derived(tree.this, "", (), self._env)
        names = tuple(column.name for column in tree.args["alias"].columns)
        return self._derived(tree.this, self._qualifier(tree), names, self._env)

    def _bind_parenthesised(self, tree: exp.Subquery) -> tuple[Relation, Item]:
        """`(CarStr [PARTITION BY cid ROWS 1]) AS LastRep`: the alias may stand outside."""
        table = tree.this.copy()
        if tree.args.get("alias"):
            table.set("alias", tree.args["alias"].copy())
        return self._bind(table)

    def _derived(
        self, query: Tree, qualifier: str, renamed: tuple[str, ...], env: Environment
    ) -> tuple[Relation, Item]:
        bound = self._subquery(query, env.names.fresh(qualifier or "subquery"), env)
        if renamed and len(renamed) != len(bound.names):
            has, given = counted(len(bound.names), "column"), counted(len(renamed), "name")
            message = f"{qualifier} has {has}, and {given} for them"
            env.fail(message, "name all columns or none", query)
        named = zip(renamed or bound.names, bound.relation.schema, strict=True)
        return bound.relation, Item(qualifier, tuple(named))

    def _qualifier(self, tree: Tree) -> str:
        qualifier: str = tree.alias or tree.name
        alias = tree.args.get("alias")
        if alias is not None and not alias.this.args.get("quoted") and qualifier.upper() in _NOT_ALIASES:
            self._env.fail(f"{qualifier} is not expected here", None, alias)
        if self._scope.item(qualifier) is not None:
            hint = f"give one of them another name: {tree.name or '(...)'} AS {qualifier}_2"
            self._env.fail(f"{qualifier} stands twice in FROM", hint, tree)
        return qualifier


class _Gathering:
    """Notes an error in FROM, and that names may now be missing from the scope."""

    def __init__(self, scope: Scope, diagnostics: Diagnostics) -> None:
        self._scope = scope
        self._gather = diagnostics.gathering()

    def __enter__(self) -> None:
        self._gather.__enter__()

    def __exit__(self, *error: object) -> bool:
        self._scope.incomplete |= error[0] is not None
        return bool(self._gather.__exit__(*error))  # type: ignore[arg-type]
